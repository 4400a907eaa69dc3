//! The multipliers of average requirements that belong to a θ, whatever moved them in training.
//!
//! At a minimum θ of F₀ under ℓᵢ ≤ cᵢ there are μ ≥ 0 with
//!
//! $$ \nabla F_0(\theta) + \sum_i \mu_i \nabla \ell_i(\theta) + \sum_j \frac{1}{N_j} \sum_n \lambda_{j,n} \nabla \ell_{j,n}(\theta) = 0,
//!    \qquad \mu_i (\ell_i(\theta) - c_i) = 0 . $$
//!
//! A first-order learner moves its multipliers by steps that say little about their size, but its θ may be close to a minimum all the same. So
//! the μ that fit it best are found from the gradients: those of requirements that are clearly inside their limits are 0, and the others
//! minimise ‖∇L‖ under μ ≥ 0, a small non-negative least-squares problem on the Gram matrix of the gradients. It takes a pass over all rows for
//! each requirement that is at its limit. The λ of pointwise requirements are those of the training.
//!
//! What is left of the gradient, ‖∇L‖/‖∇F₀‖, shows how far this can be trusted; where no requirement holds θ back it is compared with the ∇F₀ of an
//! untrained model. Only where it is below [`Stationarity::RESIDUAL`] are multipliers other than 0 given: with Adam on random convex problems those were
//! then within 2 % of Clarabel's, and above it off by up to several times (`feasible-oracle/tests/stationarity.rs`). Where a rate is limited,
//! gradient and multiplier are those of its surrogate.
//!
//! ```
//! # use feasible::{Inputs, Learner, Loss, Population, Problem, Requirement, Samples, Targets};
//! # use feasible_nn::Linear;
//! # let of = |x: &[f32], y: &[f32]| -> feasible::Result<Population> {
//! #     let samples = Samples::new(Inputs::dense(x.to_vec(), 1)?, Targets::Values(y.to_vec()))?;
//! #     Ok(Population::new(samples))
//! # };
//! use feasible::stationarity::Stationarity;
//! // ½(u − 1)² + ½ v² subject to (u + 1)² ≤ 1, where u = f(1) and v = f(−1): u = v = 0 and μ = ½.
//! let near = Requirement::average("near −1", &of(&[1.0], &[-1.0])?, Loss::Squared).at_most(1.0);
//! let far = Requirement::average("far", &of(&[1.0], &[-1.0])?, Loss::Squared).at_most(9.0);
//! let problem = Problem::minimise(&of(&[1.0, -1.0], &[1.0, 0.0])?, Loss::Squared);
//! let problem = problem.subject_to(near).subject_to(far).check()?;
//! let model = Linear::new(1, 1)?.double();
//! let start = feasible::Multipliers::start(&problem);
//! let found: Stationarity = problem.stationarity(&model, &[0.0, 0.0], &start, &[])?;
//! assert!((found.multipliers[0].unwrap() - 0.5).abs() < 1e-12 && found.multipliers[1] == Some(0.0));
//! assert!(found.residual < 1e-12);
//! // At another θ the gradients do not cancel, and nothing is said of the multiplier.
//! let found = problem.stationarity(&model, &[0.1, 0.2], &start, &[])?;
//! assert!(found.residual > Stationarity::RESIDUAL && found.multipliers[0].is_none());
//! # Ok::<(), feasible::Error>(())
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::erased::{Engine, Erased};
use crate::error::Result;
use crate::lagrangian::{Lagrangian, Scope};
use crate::measurement::Violations;
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::problem::{Problem, check_theta};
use crate::real::Real;
use crate::requirement::{Kind, Requirement};

/// The multipliers that belong to a θ. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stationarity {
    /// ‖∇L‖/‖∇F₀‖.
    #[serde(deserialize_with = "crate::json::or_nan")]
    pub residual: f64,
    /// μ of each average requirement: 0 clearly inside its limit. `None` where gradients do not determine it, and of pointwise requirements.
    pub multipliers: Vec<Option<f64>>,
}

/// The share of its limit by which a requirement may be off it and still be at it. A multiplier changes about as fast as the limit does, so this
/// is half of [`PRECISE`].
const AT_LIMIT: f64 = 0.01;
/// The share of its limit by which a requirement is so far inside it that its multiplier is 0 even if θ is still on its way, as long as the residual is below
/// [`UNDERWAY`]. Of the random problems, requirements that bind were up to 12 % inside their limits by then.
const FAR: f64 = 0.3;
const UNDERWAY: f64 = 0.5;
/// Gradients of length 1 of which less than this is left beside the others' span do not determine a multiplier.
const INDEPENDENT: f64 = 0.03;
/// The error of a multiplier that is given, relative to it, if the gradients are wrong by all that is left of them.
const PRECISE: f64 = 0.02;

/// Where a requirement is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    FarInside,
    Inside,
    AtLimit,
    Violated,
}

impl Stationarity {
    /// The largest residual with which multipliers are given.
    pub const RESIDUAL: f64 = 0.02;

    pub(crate) fn new<M: Model>(
        lagrangian: &mut Lagrangian<M>,
        theta: &[M::Real],
        multipliers: &Multipliers,
        slack: &[f64],
    ) -> Self {
        let problem = &lagrangian.problem().clone();
        let requirements = problem.requirements();
        let measurement = lagrangian.measure(theta);
        let average = |i: &usize| requirements[*i].kind() == Kind::Average;
        let place = |i: usize| {
            let slack = slack.get(i).copied().unwrap_or(0.0);
            place(&requirements[i], &measurement.violations[i], slack)
        };
        let followed: Vec<usize> = (0..requirements.len())
            .filter(|i| average(i) && !matches!(place(*i), Place::Inside | Place::FarInside))
            .collect();
        let mut of = |weights: &Multipliers| -> Vec<f64> {
            lagrangian.full_gradient(theta, weights).iter().map(|g| g.to_f64()).collect()
        };
        let mut weights = Multipliers::constant(problem, 0.0);
        let objective = of(&weights);
        let has_points = (0..requirements.len()).any(|i| !average(&i));
        for i in (0..requirements.len()).filter(|i| !average(i)) {
            weights.of_mut(i).copy_from_slice(multipliers.of(i));
        }
        let given = if has_points { of(&weights) } else { objective.clone() };
        weights = Multipliers::constant(problem, 0.0);
        let scope = lagrangian.scope();
        lagrangian.set_scope(Scope::RequirementsOnly);
        let mut gradients: Vec<Vec<f64>> = Vec::with_capacity(followed.len());
        for &i in &followed {
            weights.of_mut(i)[0] = 1.0;
            let gradient = lagrangian.full_gradient(theta, &weights);
            gradients.push(gradient.iter().map(|g| g.to_f64()).collect());
            weights.of_mut(i)[0] = 0.0;
        }
        lagrangian.set_scope(scope);
        let fitted = Fit::of(&given, &gradients);
        let points = (0..requirements.len()).filter(|i| !average(i));
        let has_lambda = points.flat_map(|i| multipliers.of(i)).any(|&m| m > 0.0);
        let holds_back = has_lambda || fitted.weights.iter().any(|&w| w > 0.0);
        let size = match holds_back {
            true => norm(&objective),
            false => {
                let untrained = lagrangian.model().initial(0);
                let gradient = lagrangian.full_gradient(&untrained, &weights);
                norm(&gradient.iter().map(|g| g.to_f64()).collect::<Vec<_>>())
            }
        };
        let residual = if fitted.rest == 0.0 { 0.0 } else { fitted.rest / size };
        let known = residual <= Self::RESIDUAL;
        let is_zero = |i: &usize| {
            let far = residual <= UNDERWAY && place(*i) == Place::FarInside;
            average(i) && (known || far)
        };
        let mut found: Vec<Option<f64>> =
            (0..requirements.len()).map(|i| is_zero(&i).then_some(0.0)).collect();
        for (at, &i) in followed.iter().enumerate() {
            let known = known && place(i) == Place::AtLimit && fitted.is_determined(at);
            found[i] = known.then_some(fitted.weights[at]);
        }
        Self { residual, multipliers: found }
    }
}

/// Where an average requirement is beside the limit that it was trained with, which may have been stricter by `slack`.
fn place(requirement: &Requirement, violations: &Violations, slack: f64) -> Place {
    let terms = || requirement.terms().iter().map(|term| term.population().len().max(1) as f64);
    // A rate moves in steps of one row.
    let step = match violations.surrogate {
        Some(_) => terms().map(f64::recip).fold(0.0, f64::max),
        None => 0.0,
    };
    let near = AT_LIMIT * requirement.limit().of(0).abs() + step;
    let far = near.max(FAR * requirement.limit().of(0).abs());
    match violations.worst() + violations.margin {
        violation if violation < -(far + slack) => Place::FarInside,
        violation if violation < -(near + slack) => Place::Inside,
        violation if violation > near => Place::Violated,
        _ => Place::AtLimit,
    }
}

/// Weights w ≥ 0 with which Σ wᵢ gᵢ is nearest to −g.
struct Fit {
    weights: Vec<f64>,
    /// ‖g + Σ wᵢ gᵢ‖.
    rest: f64,
    /// The length of each gᵢ beside the span of all others.
    distances: Vec<f64>,
    norms: Vec<f64>,
}

impl Fit {
    fn of(g: &[f64], gradients: &[Vec<f64>]) -> Self {
        let norms: Vec<f64> = gradients.iter().map(|g| norm(g)).collect();
        let scale = |i: usize| if norms[i] > 0.0 { norms[i] } else { 1.0 };
        let count = gradients.len();
        let product =
            |i: usize, j: usize| dot(&gradients[i], &gradients[j]) / (scale(i) * scale(j));
        let gram: Vec<Vec<f64>> =
            (0..count).map(|i| (0..count).map(|j| product(i, j)).collect()).collect();
        let aim: Vec<f64> = (0..count).map(|i| -dot(&gradients[i], g) / scale(i)).collect();
        let mut weights = non_negative_least_squares(&gram, &aim);
        weights.iter_mut().enumerate().for_each(|(i, w)| *w /= scale(i));
        let mut rest = g.to_vec();
        for (w, gradient) in weights.iter().zip(gradients) {
            rest.iter_mut().zip(gradient).for_each(|(r, x)| *r += w * x);
        }
        let distance = |i: usize| {
            let others: Vec<usize> = (0..count).filter(|&j| j != i).collect();
            let aim: Vec<f64> = (0..count).map(|j| gram[j][i]).collect();
            let span = least_squares(&gram, &aim, &others);
            let explained: f64 = others.iter().map(|&j| span[j] * aim[j]).sum();
            norms[i] * (gram[i][i] - explained).max(0.0).sqrt()
        };
        let distances = (0..count).map(distance).collect();
        Self { weights, rest: norm(&rest), distances, norms }
    }

    /// Whether a weight would be about the same if the gradients had errors as large as what is left of them.
    fn is_determined(&self, i: usize) -> bool {
        let independent = self.distances[i] > INDEPENDENT * self.norms[i];
        let error = self.rest / self.distances[i];
        independent && (self.weights[i] == 0.0 || error <= PRECISE * self.weights[i])
    }
}

/// min ½ wᵀ A w − bᵀ w subject to w ≥ 0, for a positive semidefinite A with ones on its diagonal: the active-set method of Lawson and Hanson (1974).
fn non_negative_least_squares(a: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let count = b.len();
    let largest = b.iter().fold(0.0_f64, |x, y| x.max(y.abs()));
    let (mut w, mut free) = (vec![0.0; count], vec![false; count]);
    // Every change of the set lowers the objective; the bound is for rounding.
    for _ in 0..10 * count {
        let descent = |i: usize| b[i] - dot(&a[i], &w);
        let next =
            (0..count).filter(|&i| !free[i]).max_by(|&i, &j| descent(i).total_cmp(&descent(j)));
        let Some(next) = next.filter(|&i| descent(i) > 1e-12 * largest) else { break };
        free[next] = true;
        loop {
            let set: Vec<usize> = (0..count).filter(|&i| free[i]).collect();
            let solved = least_squares(a, b, &set);
            if set.iter().all(|&i| solved[i] > 0.0) {
                w = solved;
                break;
            }
            // As far as no weight gets negative, and those that get to 0 stay there.
            let blocked = set.iter().filter(|&&i| solved[i] <= 0.0);
            let step = blocked.map(|&i| w[i] / (w[i] - solved[i])).fold(1.0, f64::min).max(0.0);
            for &i in &set {
                w[i] += step * (solved[i] - w[i]);
                if solved[i] <= 0.0 && w[i] <= 1e-14 * largest {
                    (w[i], free[i]) = (0.0, false);
                }
            }
        }
    }
    w
}

/// min ½ wᵀ A w − bᵀ w over the w that are 0 outside `set`, by Cholesky's decomposition; what depends on others gets 0.
fn least_squares(a: &[Vec<f64>], b: &[f64], set: &[usize]) -> Vec<f64> {
    let n = set.len();
    let mut l = vec![vec![0.0; n]; n];
    let mut w = vec![0.0; b.len()];
    for i in 0..n {
        for j in 0..=i {
            let sum = a[set[i]][set[j]] - dot(&l[i][..j], &l[j][..j]);
            l[i][j] = match i == j {
                // Rounding of the Gram matrix is 1e-16 of its diagonal.
                true => {
                    if sum > 1e-12 {
                        sum.sqrt()
                    } else {
                        f64::INFINITY
                    }
                }
                false => sum / l[j][j],
            };
        }
    }
    let mut y = vec![0.0; n];
    for i in 0..n {
        y[i] = (b[set[i]] - dot(&l[i][..i], &y[..i])) / l[i][i];
    }
    for i in (0..n).rev() {
        let below: f64 = (i + 1..n).map(|j| l[j][i] * w[set[j]]).sum();
        w[set[i]] = (y[i] - below) / l[i][i];
    }
    w
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

impl Problem {
    /// The multipliers of average requirements that belong to θ, with the λ of pointwise ones given. `slack` is by how much each
    /// requirement may have been trained stricter than its limit and margin say; nothing, where it is shorter than the requirements.
    ///
    /// # Errors
    /// As [`Problem::measure`]; multipliers of another problem.
    pub fn stationarity<M: Model>(
        &self,
        model: &M,
        theta: &[M::Real],
        multipliers: &Multipliers,
        slack: &[f64],
    ) -> Result<Stationarity> {
        let multipliers = &multipliers.clone().own(self)?;
        multipliers.check(self)?;
        check_theta(model, theta)?;
        M::Real::stationarity(self, Erased::new(model), theta, (multipliers, slack))
    }

    pub(crate) fn stationarity_here<R: Real>(
        &self,
        model: Erased<'_, R>,
        theta: &[R],
        (multipliers, slack): (&Multipliers, &[f64]),
    ) -> Result<Stationarity> {
        let mut lagrangian = Lagrangian::new(self, Arc::new(model), 1, 0)?;
        Ok(Stationarity::new(&mut lagrangian, theta, multipliers, slack))
    }
}
