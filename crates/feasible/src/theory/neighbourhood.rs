//! Theorem 3: where Algorithm 1 ends.
//!
//! With a step η and an inner tolerance ρ, for any β > 0 the Lagrangian comes, with probability at least
//! 1 − δ, into
//!
//! $$ P^\star - \rho - \tfrac{\eta}{2} S - \beta - \varepsilon \;\le\;
//!    \hat L(\theta^{(T)}, \mu^{(T)}, \lambda^{(T)}) \;\le\; P^\star + \rho + \varepsilon_0 + \varepsilon
//!    \qquad \text{for some } T \le \frac{U_0}{2 \eta \beta} + 1 , $$
//!
//! where ε = B ζ(N₀) is the estimation error and ε₀ the approximation error of Theorem 2.

/// ε₀ = (1 + ‖μ‖₁ + ‖λ‖₁) M ν of Theorem 2, M the largest Lipschitz constant: 2M of the loss for a requirement on
/// a difference of two averages. The multipliers are optimal ones. ‖λ‖₁ is Σⱼ E\[λⱼ\], in a sample the sum of the mean multipliers.
/// ν is how closely the class approximates any function of the hypothesis space, which cannot be measured; use
/// ν = 1 for the factor.
pub fn approximation_error(mu: f64, lambda: f64, lipschitz: f64, nu: f64) -> f64 {
    (1.0 + mu + lambda) * lipschitz * nu
}

/// S = Σᵢ (B − cᵢ)² + Σⱼ (B − cⱼ)²/Nⱼ, from the range of each requirement's violation, and N of the pointwise
/// ones.
///
/// A violation ℓ − c of a loss in [0, B] lies in [−c, B − c], so where c > B/2 its square needs c² in the place of
/// (B − c)², which the paper passes over. That of a difference of two losses lies in [−B − c, B − c]. Hence
/// ranges.
pub fn squared_violations(average: &[(f64, f64)], pointwise: &[((f64, f64), u64)]) -> f64 {
    let square = |(low, high): (f64, f64)| low.abs().max(high.abs()).powi(2);
    let averages: f64 = average.iter().map(|&range| square(range)).sum();
    let points: f64 = pointwise.iter().map(|&(range, n)| square(range) / n as f64).sum();
    averages + points
}

/// U₀ = ‖μ⁽⁰⁾ − μ*‖² + Σⱼ ‖λⱼ⁽⁰⁾ − λⱼ*‖² for multipliers that all start at `start`. The paper writes the
/// distance from 0; its proof uses that from the start.
pub fn initial_distance<'a>(start: f64, optimum: impl IntoIterator<Item = &'a f64>) -> f64 {
    optimum.into_iter().map(|m| (m - start).powi(2)).sum()
}

/// The quantities of Theorem 3, for who knows them: the theorem assumes losses that are convex, bounded and
/// Lipschitz, T iterations done, and U₀ from *optimal* multipliers.
///
/// ```
/// use feasible::theory::Neighbourhood;
/// let run = Neighbourhood {
///     rho: 1e-3,
///     eta: 0.1,
///     squared_violations: 0.5,
///     beta: 0.01,
///     estimation: 0.05,
///     approximation: 0.0,
/// };
/// let (low, high) = run.lagrangian(0.4);
/// assert!((low - 0.314).abs() < 1e-12 && (high - 0.451).abs() < 1e-12);
/// // What a Lagrangian of 0.4 implies about P*: the same, the other way round.
/// let (low, high) = run.optimum(0.4);
/// assert!((low - 0.349).abs() < 1e-12 && (high - 0.486).abs() < 1e-12);
/// assert_eq!(run.iterations(2.0), 1001.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbourhood {
    /// ρ: how far inner minimisations are from the minimum.
    pub rho: f64,
    /// η: the dual step.
    pub eta: f64,
    /// S.
    pub squared_violations: f64,
    /// β: the desired precision.
    pub beta: f64,
    /// ε: the estimation error.
    pub estimation: f64,
    /// ε₀: the approximation error.
    pub approximation: f64,
}

impl Neighbourhood {
    fn below(&self) -> f64 {
        self.rho + 0.5 * self.eta * self.squared_violations + self.beta + self.estimation
    }

    fn above(&self) -> f64 {
        self.rho + self.approximation + self.estimation
    }

    /// Where L̂ lies if the optimal value is `optimum`.
    pub fn lagrangian(&self, optimum: f64) -> (f64, f64) {
        (optimum - self.below(), optimum + self.above())
    }

    /// Where the optimal value P* lies if the Lagrangian is `lagrangian`.
    pub fn optimum(&self, lagrangian: f64) -> (f64, f64) {
        (lagrangian - self.above(), lagrangian + self.below())
    }

    /// T ≤ U₀/(2ηβ) + 1.
    pub fn iterations(&self, initial_distance: f64) -> f64 {
        initial_distance / (2.0 * self.eta * self.beta) + 1.0
    }
}
