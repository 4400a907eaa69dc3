//! The Lagrangian, or its augmented form, as a smooth function of θ at fixed multipliers.
//!
//! With a penalty r the term of a multiplier m and slack s is (\[m + r s\]₊² − m²)/(2r) instead
//! of m s. It has the same saddle points, a minimiser even where the Lagrangian has none, and
//! the gradient of the plain Lagrangian at the multipliers \[m + r s\]₊, so that one dual
//! step with rate r leaves θ stationary (Bertsekas 1982; Rockafellar 1973).

use crate::lagrangian::{Lagrangian, Scope};
use crate::learner::lbfgs::Smooth;
use crate::measurement::Measurement;
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::real::Real;

/// L̂(·, m), augmented if there is a penalty, restricted to the lagrangian's scope.
pub(crate) struct Augmented<'l, 'a, M: Model> {
    lagrangian: &'l mut Lagrangian<'a, M>,
    multipliers: &'l Multipliers,
    penalty: Option<f64>,
    theta: Vec<M::Real>,
}

impl<'l, 'a, M: Model> Augmented<'l, 'a, M> {
    pub(crate) fn new(
        lagrangian: &'l mut Lagrangian<'a, M>,
        multipliers: &'l Multipliers,
        penalty: Option<f64>,
    ) -> Self {
        Self { lagrangian, multipliers, penalty, theta: Vec::new() }
    }

    fn value(&self, measurement: &Measurement) -> f64 {
        let objective = match self.lagrangian.scope() {
            Scope::Everything => measurement.value(),
            Scope::RequirementsOnly => 0.0,
        };
        let Some(r) = self.penalty else { return measurement.lagrangian(self.multipliers) };
        let term = |(m, s): (&f64, f64)| {
            let shifted = (m + r * s).max(0.0);
            (shifted * shifted - m * m) / (2.0 * r)
        };
        let rows = measurement.slacks.iter().zip(self.multipliers.iter());
        objective
            + rows
                .map(|(slacks, m)| {
                    m.iter().zip(slacks.primal()).map(term).sum::<f64>() / m.len() as f64
                })
                .sum::<f64>()
    }
}

impl<M: Model> Smooth for Augmented<'_, '_, M> {
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        self.theta.clear();
        self.theta.extend(x.iter().map(|&x| M::Real::from_f64(x)));
        let measurement = self.lagrangian.measure(&self.theta);
        let at = match self.penalty {
            None => self.multipliers.clone(),
            Some(r) => self.multipliers.stepped(r, &measurement),
        };
        let exact = self.lagrangian.full_gradient(&self.theta, &at);
        for (out, g) in gradient.iter_mut().zip(exact) {
            *out = g.to_f64();
        }
        self.value(&measurement)
    }
}
