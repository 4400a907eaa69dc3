//! Certificates of optimality: how far (θ, μ, λ) is from a saddle point.
//!
//! At a solution of a convex problem the four conditions of Karush, Kuhn and Tucker hold:
//!
//! - stationarity: ∇_θ L̂(θ, μ, λ) = 0,
//! - primal feasibility: every violation s ≤ 0,
//! - dual feasibility: μ, λ ≥ 0 (always true here, by projection),
//! - complementary slackness: μᵢ sᵢ = 0 and λⱼₙ sⱼₙ = 0.
//!
//! For networks they are necessary, not sufficient; the numbers say the same, the conclusion is
//! weaker. The duality gap F̂₀(θ) − d̂(μ, λ) is measured with d̂ ≈ L̂(θ, μ, λ) − ρ, ρ being what
//! the minimisation over θ is known to have missed.
//!
//! A requirement that is measured by another loss than the one θ follows has the measured violation in
//! all of these: it is the one that must not be positive and that moves the multiplier. The pair is then
//! judged for the problem in which the limit of the surrogate stands where, at θ, it means the same as
//! the measured one; the gradient does not depend on a limit.

use serde::{Deserialize, Serialize};

use crate::lagrangian::Lagrangian;
use crate::measurement::Measurement;
use crate::model::Model;
use crate::multiplier::Multipliers;
use crate::real::Real;

/// Everything known about how optimal a (θ, μ, λ) is.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimality<T> {
    /// L̂(θ, μ, λ).
    pub lagrangian: f64,
    /// ∇_θ L̂.
    pub gradient: Vec<T>,
    /// The duality gap, with L̂ at θ as the dual value.
    pub gap: Gap,
    /// KKT residuals.
    pub kkt: Kkt,
}

/// The duality gap of a pair, relative to the objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// F̂₀(θ) − L̂(θ, μ, λ) + ρ. Negative if θ is infeasible and cheap.
    #[serde(deserialize_with = "crate::json::or_nan")]
    pub absolute: f64,
    /// |absolute| / |F̂₀(θ)|.
    #[serde(deserialize_with = "crate::json::or_nan")]
    pub relative: f64,
}

impl Gap {
    /// The gap of a measured θ and multipliers, the inner minimisation being ρ short.
    pub fn new(measurement: &Measurement, multipliers: &Multipliers, rho: f64) -> Self {
        let means = measurement.weighted(multipliers, |of| &of.measured, |s| s);
        let violation: f64 = means.iter().sum();
        let absolute = rho - violation;
        let size = measurement.minimised().abs().max(f64::MIN_POSITIVE);
        Self { absolute, relative: absolute.abs() / size }
    }
}

/// KKT residuals of (θ, μ, λ).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kkt {
    /// ‖∇_θ L̂‖ in the maximum norm.
    #[serde(deserialize_with = "crate::json::or_nan")]
    pub stationarity: f64,
    /// max(0, largest violation), margins included, of the points that may not violate their requirement.
    #[serde(deserialize_with = "crate::json::or_nan")]
    pub violation: f64,
    /// max over requirements of |μ s|, or of (1/N) Σ |λ(n) s(n)|.
    #[serde(deserialize_with = "crate::json::or_nan")]
    pub complementarity: f64,
}

impl Kkt {
    /// The largest of the three; NaN if one is.
    pub fn residual(&self) -> f64 {
        [self.stationarity, self.violation, self.complementarity].into_iter().fold(0.0, larger)
    }

    pub(crate) fn new<M: Model>(
        lagrangian: &mut Lagrangian<M>,
        theta: &[M::Real],
        measurement: &Measurement,
        multipliers: &Multipliers,
    ) -> Self {
        let gradient = lagrangian.full_gradient(theta, multipliers);
        let stationarity = gradient.iter().map(|g| g.to_f64().abs()).fold(0.0, larger);
        let mut violation: f64 = 0.0;
        let mut complementarity: f64 = 0.0;
        let requirements = lagrangian.problem().requirements().iter();
        let products = measurement.weighted(multipliers, |of| &of.measured, f64::abs);
        for ((violations, products), requirement) in
            measurement.violations.iter().zip(products).zip(requirements)
        {
            let worst = violations.worst_but(requirement.all_but);
            violation = larger(violation, worst + violations.margin);
            complementarity = larger(complementarity, products);
        }
        Self { stationarity, violation, complementarity }
    }
}

/// The larger of two numbers; NaN if one is, which `f64::max` would pass over.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}
