//! The Lagrangian, or its augmented form, as a smooth function of z = Kᵀθ at fixed multipliers.
//!
//! With a penalty r the term of a multiplier m and violation s is (\[m + r s\]₊² − m²)/(2r) instead
//! of m s. It has the same saddle points, a minimiser even where the Lagrangian has none, and
//! the gradient of the plain Lagrangian at the multipliers \[m + r s\]₊, so that one dual
//! step with rate r leaves θ stationary (Bertsekas 1982; Rockafellar 1973).
//!
//! Violations are those of the losses that have a gradient, less an offset of their own: where a requirement is
//! measured by another loss, the offset says where the surrogate's limit stands; at +∞ nothing is required. The penalty of a rate is 0: see
//! [`rates`](super::rates).

use crate::lagrangian::{Lagrangian, Scope};
use crate::learner::lbfgs::Smooth;
use crate::learner::metric::Metric;
use crate::learner::sizes::mean_limit;
use crate::measurement::{Measurement, Violations};
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::real::Real;
use crate::sums::Compensated;

/// What is subtracted from each violation, per requirement and multiplier; an empty list is 0.
pub(crate) type Offsets = [Vec<f64>];

/// The violations of a requirement that the augmented Lagrangian has.
pub(crate) fn shifted<'s>(
    violations: &'s Violations,
    offsets: &'s [f64],
) -> impl Iterator<Item = f64> + 's {
    let offset = move |n: usize| offsets.get(n).copied().unwrap_or(0.0);
    violations.primal().enumerate().map(move |(n, s)| s - offset(n))
}

/// \[m + r s\]₊ for every multiplier, with the r of its requirement.
pub(crate) fn stepped(
    multipliers: &Multipliers,
    penalties: &[f64],
    offsets: &Offsets,
    measurement: &Measurement,
) -> Multipliers {
    let mut stepped = multipliers.clone();
    for (i, violations) in measurement.violations.iter().enumerate() {
        for (m, s) in stepped.of_mut(i).iter_mut().zip(shifted(violations, &offsets[i])) {
            *m = (*m + penalties[i] * s).max(0.0);
        }
    }
    stepped
}

/// L̂(·, m), augmented if there are penalties, restricted to the lagrangian's scope.
pub(crate) struct Augmented<'l, M: Model> {
    pub(crate) lagrangian: &'l mut Lagrangian<M>,
    pub(crate) metric: &'l Metric,
    pub(crate) multipliers: &'l Multipliers,
    /// Per requirement; `None` for the plain Lagrangian.
    pub(crate) penalties: Option<&'l [f64]>,
    pub(crate) offsets: &'l Offsets,
    /// What the value last returned may be wrong by.
    pub(crate) rounding: f64,
}

impl<M: Model> Augmented<'_, M> {
    /// The value, `relative` being the rounding of its terms.
    fn value(&mut self, measurement: &Measurement, relative: f64) -> f64 {
        let objective = match self.lagrangian.scope() {
            Scope::Everything => measurement.minimised(),
            Scope::RequirementsOnly => 0.0,
        };
        let (mut value, mut size) = (objective, objective.abs());
        for (i, (violations, multipliers)) in
            measurement.violations.iter().zip(self.multipliers.iter()).enumerate()
        {
            let term = |m: f64, s: f64| match self.penalties.map(|r| r[i]) {
                None if m == 0.0 => 0.0,
                None => m * s,
                Some(0.0) if m > 0.0 => m * s,
                Some(0.0) => 0.0,
                Some(r) if m + r * s > 0.0 => s * (m + 0.5 * r * s),
                Some(r) => -0.5 * m * m / r,
            };
            // A violation is a difference, of a loss and a limit: its rounding is theirs.
            let elsewhere = &violations.elsewhere;
            let limit = mean_limit(&self.lagrangian.problem().requirements()[i], elsewhere);
            let lost = if limit > 0.0 { limit } else { objective.abs() };
            let shifted: Vec<f64> = shifted(violations, &self.offsets[i]).collect();
            let [sum, parts] = elsewhere.sums(multipliers.len(), |range| {
                let (mut sum, mut parts) = (Compensated::default(), Compensated::default());
                for (&m, &s) in multipliers[range.clone()].iter().zip(&shifted[range]) {
                    let slope = match self.penalties.map(|r| r[i]) {
                        Some(r) => (m + r * s).max(0.0),
                        None => m,
                    };
                    let term = term(m, s);
                    sum.add(term);
                    parts.add(term.abs() + slope * lost);
                }
                [sum.total(), parts.total()]
            });
            let count = elsewhere.count(multipliers.len());
            value += sum / count;
            size += parts / count;
        }
        self.rounding = relative * size;
        value
    }
}

impl<M: Model> Smooth for Augmented<'_, M> {
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.copy_from_slice(x);
        self.metric.to_theta(gradient);
        let rounding = self.metric.rounding::<M::Real>(gradient, x);
        let theta: Vec<M::Real> = gradient.iter().map(|&x| M::Real::from_f64(x)).collect();
        let measurement = self.lagrangian.measure(&theta);
        let exact = match self.penalties {
            None => self.lagrangian.full_gradient(&theta, self.multipliers),
            Some(r) => {
                let at = stepped(self.multipliers, r, self.offsets, &measurement);
                self.lagrangian.full_gradient(&theta, &at)
            }
        };
        for (out, g) in gradient.iter_mut().zip(exact) {
            *out = g.to_f64();
        }
        self.metric.gradient_by_z(gradient);
        self.value(&measurement, rounding)
    }

    fn rounding(&self, _: f64) -> f64 {
        self.rounding
    }

    fn first_step(&self, gradient_norm: f64) -> f64 {
        // In z the curvature is about 1.
        if self.metric.is_whitening() { 1.0 } else { (1.0 / gradient_norm).min(1.0) }
    }
}
