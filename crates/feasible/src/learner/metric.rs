//! The coordinates the exact learner minimises in.
//!
//! Inputs in different units, or nearly dependent ones, make a Lagrangian whose curvature differs by
//! many orders of magnitude between directions, and no method that sees only gradients gets far. For
//! a model that is linear in θ the cause is known before anything is solved: it is the Gram matrix of
//! the outputs,
//!
//! $$ \theta^\top G \theta = \sum_t \mathbb{E}_{\mathfrak{D}_t} \lVert f_\theta(x) \rVert^2 , $$
//!
//! one column of it a gradient of ½‖f‖². Where the objective counts each output in a unit of its own, so does this norm. With κ, the curvature of the objective by the outputs, and the
//! weight decay α, P = κG + αI is the objective's curvature up to the shape of its loss. P = KKᵀ
//! by Cholesky, and z = Kᵀθ are the coordinates: lengths in them are the same in every unit, ½‖∇_z F‖² is what a
//! Newton step would gain, and ½‖z‖² is of the size of the objective.
//!
//! Other models, and those with very many parameters, keep the coordinates they have.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::lagrangian::Lagrangian;
use crate::loss::{CustomLoss, Loss, Properties};
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::problem::Problem;
use crate::real::Real;
use crate::requirement::Requirement;
use crate::samples::Target;

/// The largest θ whose Gram matrix is worth its price.
const LARGEST: usize = 1000;

/// z = Kᵀθ; K is lower triangular, by rows, or the identity if there is none.
#[derive(Clone, Debug, Default)]
pub struct Metric {
    size: usize,
    factor: Vec<f64>,
    /// √P_jj: the lengths of K's rows.
    lengths: Vec<f64>,
}

/// ½ Σ c_j f_j²; c_j = 1 where none is given.
#[derive(Debug)]
struct HalfSquare {
    curvatures: Vec<f64>,
}

impl HalfSquare {
    /// As the objective's loss weighs the outputs: by w/u² where it is of coordinates. What it is not of counts as the least.
    fn of(loss: &Loss) -> Self {
        let of = match loss {
            Loss::Coordinates(of) => of,
            _ => return Self { curvatures: Vec::new() },
        };
        let each = || of.terms().iter().map(|of| (of.index, of.weight / of.unit / of.unit));
        let least = each().map(|(_, c)| c).fold(f64::INFINITY, f64::min);
        let last = each().map(|(index, _)| index).max().unwrap_or(0);
        let mut curvatures = vec![least; last + 1];
        each().for_each(|(index, c)| curvatures[index] = c);
        Self { curvatures }
    }

    fn each<'a>(&'a self, at: &'a [f64]) -> impl Iterator<Item = f64> {
        let least = self.curvatures.iter().copied().fold(f64::INFINITY, f64::min);
        let rest = if least.is_finite() { least } else { 1.0 };
        let curvatures = self.curvatures.iter().copied().chain(std::iter::repeat(rest));
        at.iter().zip(curvatures).map(|(f, c)| c * f)
    }
}

impl CustomLoss for HalfSquare {
    fn name(&self) -> String {
        "half the squared outputs".into()
    }

    fn value(&self, at: &[f64], _: &[f64], _: Target<'_>) -> f64 {
        0.5 * self.each(at).zip(at).map(|(g, f)| g * f).sum::<f64>()
    }

    fn gradient(&self, at: &[f64], _: &[f64], _: Target<'_>, by_at: &mut [f64], _: &mut [f64]) {
        by_at.iter_mut().zip(self.each(at)).for_each(|(by, g)| *by = g);
    }

    fn properties(&self, _: usize) -> Properties {
        Properties { convex: true, ..Properties::default() }
    }
}

impl Metric {
    /// The metric of a problem around `start`; `None` if interrupted.
    pub(crate) fn new<M: Model>(
        lagrangian: &mut Lagrangian<M>,
        start: &[M::Real],
        interrupt: &AtomicBool,
    ) -> Option<Self> {
        let (problem, model) = (&lagrangian.problem().clone(), lagrangian.model());
        let p = model.parameter_count();
        if !model.is_linear() || p > LARGEST || problem.has_adaptive_views() {
            return Some(Self::default());
        }
        let Some(gram) = gram(problem, model, interrupt)? else { return Some(Self::default()) };
        let (alpha, curvature) = (problem.decay(), curvature(lagrangian, start, &gram));
        let mut factor: Vec<f64> = gram.iter().map(|g| curvature * g).collect();
        for j in 0..p {
            factor[j * p + j] += alpha;
        }
        // What is lost in the sums of a gradient must stay small beside the gradient in z.
        let floor = if M::Real::EPSILON.to_f64() > 1e-10 { 1e-3 } else { 1e-13 };
        cholesky(&mut factor, p, floor);
        Some(Self::of(p, factor))
    }

    /// Of K, lower triangular, by rows.
    pub fn of(size: usize, factor: Vec<f64>) -> Self {
        let lengths = (0..size).map(|i| norm(&factor[i * size..i * size + i + 1])).collect();
        Self { size, factor, lengths }
    }

    /// Whether there is a K.
    pub(crate) fn is_whitening(&self) -> bool {
        self.size > 0
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.factor[i * self.size..i * self.size + i + 1]
    }

    /// z = Kᵀθ, in place.
    pub fn coordinates(&self, x: &mut [f64]) {
        for i in 0..self.size {
            let of = x[i];
            x[i] = 0.0;
            for (z, k) in x[..=i].iter_mut().zip(self.row(i)) {
                *z += k * of;
            }
        }
    }

    /// θ = K⁻ᵀz, in place.
    pub fn to_theta(&self, x: &mut [f64]) {
        for i in (0..self.size).rev() {
            let row = self.row(i);
            let of = x[i] / row[i];
            x[i] = of;
            for (z, k) in x[..i].iter_mut().zip(row) {
                *z -= k * of;
            }
        }
    }

    /// ∇_z = K⁻¹∇_θ, in place.
    pub fn gradient_by_z(&self, x: &mut [f64]) {
        for i in 0..self.size {
            let row = self.row(i);
            let below: f64 = row[..i].iter().zip(&x[..i]).map(|(k, x)| k * x).sum();
            x[i] = (x[i] - below) / row[i];
        }
    }

    /// ‖∇_θ‖₂ of a gradient in z: ∇_θ = K∇_z.
    pub fn norm_by_theta(&self, gradient: &[f64]) -> f64 {
        if self.size == 0 {
            return norm(gradient);
        }
        let of = |i| self.row(i).iter().zip(gradient).map(|(k, g)| k * g).sum::<f64>();
        (0..self.size).map(of).map(|g: f64| g * g).sum::<f64>().sqrt()
    }
}

impl Metric {
    /// The relative rounding of outputs at θ: Σ |θ_j| √P_jj, of which they are made, beside ‖z‖.
    /// No more than 1e-6, to which a gradient must be small whatever the inputs.
    pub(crate) fn rounding<T: Real>(&self, theta: &[f64], z: &[f64]) -> f64 {
        let parts: f64 = self.lengths.iter().zip(theta).map(|(l, t)| l * t.abs()).sum();
        let cancelled = parts / norm(z);
        let epsilon = 64.0 * T::EPSILON.to_f64();
        if cancelled > 1.0 { (epsilon * cancelled).min(1e-6) } else { epsilon }
    }
}

/// ‖x‖₂.
pub fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// G, whole; `None` if interrupted, `Some(None)` if there is no such problem.
fn gram<M: Model>(
    problem: &Problem,
    model: &Arc<M>,
    interrupt: &AtomicBool,
) -> Option<Option<Vec<f64>>> {
    let p = model.parameter_count();
    let half_square = Loss::Custom(Arc::new(HalfSquare::of(problem.objective().loss())));
    let objective = &problem.objective().population;
    let mut draft = Problem::minimise(objective, half_square.clone());
    let terms = problem.requirements().iter().flat_map(|r| r.terms());
    for (i, term) in terms.enumerate() {
        let of = Requirement::average(i.to_string(), term.population(), half_square.clone());
        draft = draft.subject_to(of.at_most(0.0));
    }
    let Ok(squares) = draft.build().spread_as(problem) else {
        return Some(None);
    };
    let Ok(lagrangian) = Lagrangian::new(&squares, model.clone(), 1, 0) else { return Some(None) };
    let mut lagrangian = lagrangian.sharing();
    let ones = Multipliers::constant(&squares, 1.0);
    let mut theta = vec![M::Real::ZERO; p];
    let offset: Vec<f64> =
        lagrangian.full_gradient(&theta, &ones).iter().map(|g| g.to_f64()).collect();
    let mut gram = vec![0.0; p * p];
    for j in 0..p {
        if problem.interrupted(interrupt) {
            return None;
        }
        theta[j] = M::Real::ONE;
        let column = lagrangian.full_gradient(&theta, &ones);
        for (i, (g, offset)) in column.iter().zip(&offset).enumerate() {
            gram[i * p + j] = g.to_f64() - offset;
        }
        theta[j] = M::Real::ZERO;
    }
    Some(gram.iter().all(|g| g.is_finite()).then_some(gram))
}

/// κ: the curvature of the objective by outputs of mean square 1, along its gradient at `start`.
fn curvature<M: Model>(lagrangian: &mut Lagrangian<M>, start: &[M::Real], gram: &[f64]) -> f64 {
    let (problem, p) = (&lagrangian.problem().clone(), start.len());
    let none = Multipliers::constant(problem, 0.0);
    let at = |lagrangian: &mut Lagrangian<M>, theta: &[M::Real]| -> Vec<f64> {
        let gradient = lagrangian.full_gradient(theta, &none).iter();
        gradient.zip(theta).map(|(g, t)| g.to_f64() - problem.decay() * t.to_f64()).collect()
    };
    let here = at(lagrangian, start);
    let rows = gram.chunks_exact(p).zip(&here);
    let square: f64 =
        rows.map(|(row, g)| g * row.iter().zip(&here).map(|(r, g)| r * g).sum::<f64>()).sum();
    let unit = square.sqrt().recip();
    let slope = norm(&here).powi(2) * unit;
    if !(unit.is_finite() && slope > 0.0) {
        return 1.0;
    }
    // κy = slope and ½κy² = F of a squared loss.
    let value = lagrangian.measure(start).minimised().abs();
    let mut most = if value > 0.0 { slope * slope / (2.0 * value) } else { 0.0 };
    for step in [1e-3, 1.0] {
        let moved = |(t, g): (&M::Real, &f64)| M::Real::from_f64(t.to_f64() - step * unit * g);
        let there: Vec<M::Real> = start.iter().zip(&here).map(moved).collect();
        let change = at(lagrangian, &there);
        let change = change.iter().zip(&here).map(|(a, b)| (b - a) * b).sum::<f64>();
        most = most.max(change * unit / step);
    }
    if most.is_finite() && most > 0.0 { most } else { 1.0 }
}

/// The factor K of a symmetric matrix, in place, by rows. Diagonals are made 1 first, and pivots no
/// smaller than `floor`.
pub fn cholesky(a: &mut [f64], p: usize, floor: f64) {
    let largest = (0..p).map(|j| a[j * p + j]).fold(0.0, f64::max);
    let usual = if largest > 0.0 { largest } else { 1.0 };
    let diagonal = |j: usize| {
        let own: f64 = a[j * p + j];
        if own > 1e-30 * usual { own.sqrt() } else { usual.sqrt() }
    };
    let scale: Vec<f64> = (0..p).map(diagonal).collect();
    for i in 0..p {
        for j in 0..=i {
            let below: f64 = (0..j).map(|k| a[i * p + k] * a[j * p + k]).sum();
            let rest = a[i * p + j] / (scale[i] * scale[j]) - below;
            a[i * p + j] = match i == j {
                true => rest.max(floor).sqrt(),
                false => rest / a[j * p + j],
            };
        }
    }
    for i in 0..p {
        for j in 0..=i {
            a[i * p + j] *= scale[i];
        }
    }
}
