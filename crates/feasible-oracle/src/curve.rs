//! The convex functions φ(u) losses are made of.

/// φ, of a vector u.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Curve {
    /// ‖u‖²: squared error (u = f − y), squared distance (u = f(x) − f(ρ(x))).
    Squares,
    /// log(1 + Σ exp uⱼ): cross-entropy (u = z_j − z_y for j ≠ y), logistic loss (u = −m).
    LogSumExp,
    /// max(0, u)²: squared hinge (u = 1 − m).
    SquaredPlus,
    /// u itself.
    Linear,
    /// ½u² up to δ, δ|u| − ½δ² beyond.
    Huber(f64),
}

impl Curve {
    /// φ(u).
    pub fn value(self, u: &[f64]) -> f64 {
        match self {
            Self::Squares => u.iter().map(|u| u * u).sum(),
            Self::LogSumExp => {
                let top = u.iter().copied().fold(0.0, f64::max);
                top + ((-top).exp() + u.iter().map(|u| (u - top).exp()).sum::<f64>()).ln()
            }
            Self::Linear => u[0],
            Self::SquaredPlus => u[0].max(0.0).powi(2),
            Self::Huber(delta) if u[0].abs() <= delta => 0.5 * u[0] * u[0],
            Self::Huber(delta) => delta * u[0].abs() - 0.5 * delta * delta,
        }
    }

    /// ∇φ(u).
    pub fn slopes(self, u: &[f64]) -> Vec<f64> {
        match self {
            Self::Squares => u.iter().map(|u| 2.0 * u).collect(),
            Self::LogSumExp => {
                let log = self.value(u);
                u.iter().map(|u| (u - log).exp()).collect()
            }
            Self::Linear => vec![1.0],
            Self::SquaredPlus => vec![2.0 * u[0].max(0.0)],
            Self::Huber(delta) => vec![u[0].clamp(-delta, delta)],
        }
    }
}
