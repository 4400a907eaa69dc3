//! The problem as raw numbers: values, gradients and KKT residuals, written out a second time.

use super::Curve;

/// u = slopes · θ + constant, entry by entry.
#[derive(Clone, Debug)]
pub struct Point {
    pub slopes: Vec<Vec<f64>>,
    pub constants: Vec<f64>,
}

impl Point {
    fn at(&self, theta: &[f64]) -> Vec<f64> {
        self.slopes.iter().zip(&self.constants).map(|(a, b)| dot(a, theta) + b).collect()
    }
}

/// A curve and its points.
#[derive(Clone, Debug)]
pub struct Rows {
    pub curve: Curve,
    pub points: Vec<Point>,
}

impl Rows {
    /// φ at every point.
    pub fn values(&self, theta: &[f64]) -> Vec<f64> {
        self.points.iter().map(|point| self.curve.value(&point.at(theta))).collect()
    }

    /// The mean of φ.
    pub fn mean(&self, theta: &[f64]) -> f64 {
        self.values(theta).iter().sum::<f64>() / self.points.len() as f64
    }

    /// ∇_θ of φ at point `n`.
    pub fn gradient(&self, n: usize, theta: &[f64]) -> Vec<f64> {
        let point = &self.points[n];
        let mut gradient = vec![0.0; theta.len()];
        for (slope, a) in self.curve.slopes(&point.at(theta)).iter().zip(&point.slopes) {
            add(&mut gradient, *slope, a);
        }
        gradient
    }

    /// Adds Σ weights(n) ∇φₙ / N.
    pub fn add_gradient(&self, theta: &[f64], weight: impl Fn(usize) -> f64, out: &mut [f64]) {
        let count = self.points.len() as f64;
        for n in (0..self.points.len()).filter(|&n| weight(n) != 0.0) {
            add(out, weight(n) / count, &self.gradient(n, theta));
        }
    }
}

/// How a requirement holds, with its limits.
#[derive(Clone, Debug)]
pub enum Scope {
    /// The mean is at most c.
    Average(f64),
    /// Each point is at most its c.
    Pointwise(Vec<f64>),
}

/// A convex problem in numbers.
#[derive(Clone, Debug)]
pub struct Program {
    pub parameters: usize,
    pub decay: f64,
    pub objective: Rows,
    pub requirements: Vec<(Rows, Scope)>,
}

/// KKT residuals; `complementarity` with the crate's 1/N.
#[derive(Clone, Copy, Debug)]
pub struct Kkt {
    pub stationarity: f64,
    pub violation: f64,
    pub complementarity: f64,
}

impl Kkt {
    pub fn residual(&self) -> f64 {
        self.stationarity.max(self.violation).max(self.complementarity)
    }
}

impl Program {
    /// The objective at θ.
    pub fn value(&self, theta: &[f64]) -> f64 {
        self.objective.mean(theta) + 0.5 * self.decay * dot(theta, theta)
    }

    /// Violations, one per multiplier.
    pub fn violations(&self, theta: &[f64]) -> Vec<Vec<f64>> {
        let of = |(rows, scope): &(Rows, Scope)| match scope {
            Scope::Average(c) => vec![rows.mean(theta) - c],
            Scope::Pointwise(c) => rows.values(theta).iter().zip(c).map(|(v, c)| v - c).collect(),
        };
        self.requirements.iter().map(of).collect()
    }

    /// ∇_θ of the Lagrangian.
    pub fn gradient(&self, theta: &[f64], multipliers: &[Vec<f64>]) -> Vec<f64> {
        let mut gradient: Vec<f64> = theta.iter().map(|t| self.decay * t).collect();
        self.objective.add_gradient(theta, |_| 1.0, &mut gradient);
        for ((rows, scope), m) in self.requirements.iter().zip(multipliers) {
            match scope {
                Scope::Average(_) => rows.add_gradient(theta, |_| m[0], &mut gradient),
                Scope::Pointwise(_) => rows.add_gradient(theta, |n| m[n], &mut gradient),
            }
        }
        gradient
    }

    /// KKT residuals of a pair.
    pub fn kkt(&self, theta: &[f64], multipliers: &[Vec<f64>]) -> Kkt {
        let largest = |x: f64, y: &f64| x.max(y.abs());
        let stationarity = self.gradient(theta, multipliers).iter().fold(0.0, largest);
        let (mut violation, mut complementarity) = (0.0f64, 0.0f64);
        for (violations, m) in self.violations(theta).iter().zip(multipliers) {
            violation = violations.iter().copied().fold(violation, f64::max);
            let sum: f64 = violations.iter().zip(m).map(|(s, m)| (s * m).abs()).sum();
            complementarity = complementarity.max(sum / m.len() as f64);
        }
        Kkt { stationarity, violation, complementarity }
    }

    /// Whether the multipliers at a solution are unique *and* numerically well determined.
    ///
    /// Strict complementarity: every constraint is either clearly active (m > `clear`) or clearly
    /// not (s < −`clear`). LICQ: the active constraints' gradients, each of length 1, keep at
    /// least `independent` of their length when projected away from the others before them
    /// (Gram and Schmidt with pivoting: the largest remaining one is taken each time).
    pub fn multipliers_are_unique(&self, theta: &[f64], multipliers: &[Vec<f64>]) -> bool {
        let (clear, independent) = (1e-4, 3e-2);
        let mut active: Vec<Vec<f64>> = Vec::new();
        let violations = self.violations(theta);
        for (i, (rows, scope)) in self.requirements.iter().enumerate() {
            for (n, (&s, &m)) in violations[i].iter().zip(&multipliers[i]).enumerate() {
                match (m > clear, s < -clear) {
                    (true, false) => {
                        let mut gradient = vec![0.0; theta.len()];
                        match scope {
                            Scope::Average(_) => rows.add_gradient(theta, |_| 1.0, &mut gradient),
                            Scope::Pointwise(_) => gradient = rows.gradient(n, theta),
                        }
                        let norm = dot(&gradient, &gradient).sqrt();
                        active.push(gradient.iter().map(|g| g / norm).collect());
                    }
                    (false, true) => {}
                    _ => return false,
                }
            }
        }
        while !active.is_empty() {
            let norms: Vec<f64> = active.iter().map(|g| dot(g, g).sqrt()).collect();
            let pivot = (0..norms.len()).fold(0, |a, b| if norms[b] > norms[a] { b } else { a });
            if norms[pivot] < independent {
                return false;
            }
            let taken = active.swap_remove(pivot);
            for gradient in &mut active {
                let share = dot(gradient, &taken) / (norms[pivot] * norms[pivot]);
                add(gradient, -share, &taken);
            }
        }
        true
    }

    /// A θ that trades the objective against weighted requirements: gradient descent, far from
    /// exact. `weights` has one number per multiplier.
    pub fn compromise(&self, weights: &[Vec<f64>]) -> Vec<f64> {
        let total = |theta: &[f64]| {
            let of = |((rows, scope), w): (&(Rows, Scope), &Vec<f64>)| match scope {
                Scope::Average(_) => w[0] * rows.mean(theta),
                Scope::Pointwise(_) => {
                    let sum: f64 = rows.values(theta).iter().zip(w).map(|(v, w)| v * w).sum();
                    sum / w.len() as f64
                }
            };
            self.value(theta) + self.requirements.iter().zip(weights).map(of).sum::<f64>()
        };
        let mut theta = vec![0.0; self.parameters];
        let mut value = total(&theta);
        let mut step = 1.0;
        for _ in 0..300 {
            let gradient = self.gradient(&theta, weights);
            let square = dot(&gradient, &gradient);
            for _ in 0..60 {
                let mut trial = theta.clone();
                add(&mut trial, -step, &gradient);
                let at = total(&trial);
                if at <= value - 0.5 * step * square {
                    (theta, value) = (trial, at);
                    break;
                }
                step *= 0.5;
            }
            step *= 1.5;
        }
        theta
    }
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(out: &mut [f64], factor: f64, x: &[f64]) {
    for (o, x) in out.iter_mut().zip(x) {
        *o += factor * x;
    }
}
