//! The paper's bounds for a run, beside what was certified.

use feasible::certificate::Delta;
use feasible::theory::{
    approximation_error, dimension, initial_distance, is_vacuous, squared_slacks, zeta,
};
use feasible::{Model, Multipliers};
use feasible_nn::Activation;
use serde::{Deserialize, Serialize};

use crate::clause::Clause;
use crate::network::{Network, Shape};
use crate::plan::Plan;
use crate::text::{grouped, short};

/// The paper's bounds for the class of models a run searches: Proposition 3 and Theorems 2 and 3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Theory {
    /// N: training rows.
    pub rows: usize,
    /// The VC dimension of the class, or an upper bound on it.
    pub dimension: f64,
    /// ζ(N): how far from the training rows' averages the population's may be, in units of B, for every
    /// model of the class at once.
    pub zeta: f64,
    /// Whether it says nothing: ζ(N) ≥ 1.
    pub vacuous: bool,
    /// Theorem 2's ε₀, and U₀ and S of Theorem 3.
    pub approximation: Approximation,
}

/// What the multipliers say about the price of the requirements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approximation {
    /// ‖μ‖₁.
    pub mu: f64,
    /// ‖λ‖₁: the sum of the mean multipliers of pointwise requirements.
    pub lambda: f64,
    /// ε₀/ν = (1 + ‖μ‖₁ + ‖λ‖₁) M; `None` if a loss has no Lipschitz constant.
    pub error_per_nu: Option<f64>,
    /// U₀, with the multipliers of the run for the optimal ones.
    pub initial_distance: f64,
    /// S; `None` if a loss has no bound.
    pub squared_slacks: Option<f64>,
}

/// The VC dimension of a network's class, or an upper bound on it.
pub fn dimension_of(network: &Network) -> f64 {
    match network.shape() {
        Shape::Linear { inputs, .. } => dimension::affine(inputs),
        Shape::Kernel { inputs, .. } => {
            dimension::kernel(network.centres().map_or(0, |c| c.len() / inputs.max(1)))
        }
        Shape::Mlp { mut widths, activation } => {
            if let Some(last) = widths.last_mut() {
                *last = 1;
            }
            match activation {
                _ if widths.len() == 2 => dimension::affine(widths[0]),
                Activation::Relu => dimension::piecewise_linear(&widths),
                Activation::Sigmoid | Activation::Tanh => dimension::sigmoid(&widths),
                Activation::Silu => dimension::exponential(&widths),
            }
        }
    }
}

impl Theory {
    /// For a plan and the multipliers its training ended with.
    pub(crate) fn of(plan: &Plan, multipliers: &Multipliers, delta: Delta) -> Self {
        let (network, clauses) = (plan.model(), plan.clauses());
        let rows = plan.data().split.train.len();
        let dimension = dimension_of(network);
        let zeta = zeta(rows as u64, dimension, clauses.len(), delta);
        Self {
            rows,
            dimension,
            zeta,
            vacuous: is_vacuous(zeta, 1.0),
            approximation: approximation(plan, clauses, multipliers),
        }
    }

    /// In a sentence or two.
    pub fn to_text(&self) -> String {
        let n = grouped(self.rows);
        let zeta = short(self.zeta);
        if self.vacuous {
            return format!(
                "The paper's bound for all models of this class at once (Proposition 3, VC dimension at \
                 most {}) is vacuous: ζ({n}) = {zeta} is not below 1.\n",
                short(self.dimension)
            );
        }
        format!(
            "The paper's bound for all models of this class at once (Proposition 3, VC dimension {}): a \
             requirement met on the {n} training rows is met up to ζ({n}) = {zeta} (times B for an \
             average).\n",
            short(self.dimension)
        )
    }
}

fn approximation(plan: &Plan, clauses: &[Clause], multipliers: &Multipliers) -> Approximation {
    let width = plan.model().output_width();
    let problem = plan.train();
    let (mut mu, mut lambda) = (0.0, 0.0);
    let mut lipschitz = problem.objective().loss().properties(width).lipschitz;
    let (mut average, mut pointwise, mut bounded) = (Vec::new(), Vec::new(), true);
    let mut distance = 0.0;
    for (i, (requirement, clause)) in problem.requirements().iter().zip(clauses).enumerate() {
        let of = multipliers.of(i);
        let mean = of.iter().sum::<f64>() / of.len() as f64;
        let properties = requirement.terms()[0].loss().properties(width);
        lipschitz = lipschitz.zip(properties.lipschitz).map(|(a, b)| a.max(b));
        distance += initial_distance(clause.start, of);
        bounded &= properties.bound.is_some();
        let (b, c) = (properties.bound.unwrap_or(0.0), clause.bound.level());
        match requirement.kind() {
            feasible::Kind::Average => {
                mu += mean;
                average.push((b, c));
            }
            feasible::Kind::Pointwise => {
                lambda += mean;
                pointwise.push((b, c, of.len() as u64));
            }
        }
    }
    Approximation {
        mu,
        lambda,
        error_per_nu: lipschitz.map(|m| approximation_error(mu, lambda, m, 1.0)),
        initial_distance: distance,
        squared_slacks: bounded.then(|| squared_slacks(&average, &pointwise)),
    }
}
