//! The paper's bounds for a run, beside what was certified.

use feasible::certificate::Delta;
use feasible::theory::{
    Neighbourhood, approximation_error, dimension, initial_distance, is_vacuous, squared_slacks,
    zeta,
};
use feasible::{Model, Multipliers, Solution};
use feasible_nn::Activation;
use serde::{Deserialize, Serialize};

use crate::clause::Clause;
use crate::network::{Network, Shape};
use crate::plan::Plan;
use crate::spec::LearnerName;
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
    /// Theorem 3, where it applies: to Algorithm 1 (the exact learner with a fixed dual rate) and losses with
    /// a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theorem_3: Option<Theorem3>,
}

/// Where the optimal value P* lies, by Theorem 3 and what was measured in the run. Without ε₀, as ν is
/// nothing that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Theorem3 {
    /// L̂ at the end.
    pub lagrangian: f64,
    /// ρ: how far L̂ may be above its minimum over θ, ‖∇L̂‖²/2α for a convex problem with weight decay α;
    /// `None` if that is not known, and then left out.
    pub rho: Option<f64>,
    /// η.
    pub eta: f64,
    /// β: the precision asked for, a hundredth of B.
    pub beta: f64,
    /// P* is at least this.
    pub low: f64,
    /// P* is at most this.
    pub high: f64,
    /// T: iterations that suffice.
    pub iterations: f64,
    /// Whether it says nothing: P* is in [0, B] in any case.
    pub vacuous: bool,
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

/// The VC dimension of a network's class, or an upper bound on it; `None` for convolutional networks,
/// whose bounds would be far beyond any number of images.
pub fn dimension_of(network: &Network) -> Option<f64> {
    Some(match network.shape() {
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
        Shape::Cnn(_) | Shape::Resnet18(_) => return None,
    })
}

impl Theory {
    /// For a plan and what its training ended with; `None` if nothing is known of the class.
    pub(crate) fn of(plan: &Plan, solution: &Solution<f32>, delta: Delta) -> Option<Self> {
        let (network, clauses) = (plan.model(), plan.clauses());
        let approximation = approximation(plan, clauses, &solution.multipliers);
        let rows = plan.data().split.train.len();
        let dimension = dimension_of(network)?;
        let zeta = zeta(rows as u64, dimension, clauses.len(), delta);
        Some(Self {
            rows,
            dimension,
            zeta,
            vacuous: is_vacuous(zeta, 1.0),
            approximation,
            theorem_3: theorem_3(plan, solution, &approximation, zeta),
        })
    }

    /// In a sentence or two.
    pub fn to_text(&self) -> String {
        let n = grouped(self.rows);
        let zeta = short(self.zeta);
        let dimension = short(self.dimension);
        let mut text = if self.vacuous {
            format!(
                "The paper's bound for all models of this class at once (Proposition 3, VC dimension at \
                 most {dimension}) is vacuous: ζ({n}) = {zeta} is not below 1.\n"
            )
        } else {
            format!(
                "The paper's bound for all models of this class at once (Proposition 3, VC dimension at \
                 most {dimension}): a requirement met on the {n} training rows is met up to ζ({n}) = {zeta} \
                 (times B for an average).\n"
            )
        };
        if let Some(t) = &self.theorem_3 {
            let (low, high) = (short(t.low), short(t.high));
            text += &match t.vacuous {
                true => format!("Theorem 3 is vacuous: P* in [{low}, {high}].\n"),
                false => format!("Theorem 3: P* in [{low}, {high}], but for ε₀.\n"),
            };
        }
        text
    }
}

fn theorem_3(
    plan: &Plan,
    solution: &Solution<f32>,
    approximation: &Approximation,
    zeta: f64,
) -> Option<Theorem3> {
    let training = &plan.spec().training;
    if training.learner != Some(LearnerName::Exact) {
        return None;
    }
    let eta = training.dual.and_then(|dual| dual.rate)?;
    let (problem, model) = (plan.train(), plan.model());
    let b = problem.objective().loss().properties(model.output_width()).bound?;
    let decay = problem.decay();
    let rho = (decay > 0.0 && problem.is_convex(model)).then(|| {
        // The residual is the largest component of the gradient.
        let squared = model.parameter_count() as f64 * solution.kkt.stationarity.powi(2);
        squared / (2.0 * decay)
    });
    let run = Neighbourhood {
        rho: rho.unwrap_or(0.0),
        eta,
        squared_slacks: approximation.squared_slacks?,
        beta: 0.01 * b,
        estimation: b * zeta,
        approximation: 0.0,
    };
    let lagrangian = solution.measurement.lagrangian(&solution.multipliers);
    let (low, high) = run.optimum(lagrangian);
    Some(Theorem3 {
        lagrangian,
        rho,
        eta,
        beta: run.beta,
        low,
        high,
        iterations: run.iterations(approximation.initial_distance),
        vacuous: low <= 0.0 && high >= b,
    })
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
