//! The paper's bounds for a run, beside what was certified: those whose conditions hold, and of the others the
//! condition that is missing.

use feasible::certificate::Delta;
use feasible::requirement::{Limit, Term};
use feasible::theory::{approximation_error, dimension, is_vacuous, squared_violations, zeta};
use feasible::{Kind, Loss, Model, Multipliers, Solution, View};
use feasible_nn::Activation;
use feasible_problem::network::{Network, NetworkShape};
use feasible_problem::plan::Plan;
use feasible_problem::settings::{ExactDual, LearnerSettings};
use feasible_problem::text::{grouped, short};
use serde::{Deserialize, Serialize};

/// The paper's bounds for the class of models a run searches: Proposition 3 and what Theorems 2 and 3 are made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Theory {
    /// Proposition 3, for every requirement.
    pub bounds: Vec<UniformBound>,
    /// Theorem 2's ε₀, and S of Theorem 3.
    pub approximation: Approximation,
    /// If the learner is the theorem's (exact, with a fixed dual rate): what Theorem 3 assumes and does not hold
    /// or is not known. No interval for P* is given. There is always something: the theorem assumes losses that
    /// are convex and bounded in the outputs, and such a loss is constant unless outputs are confined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub theorem_3_missing: Vec<String>,
}

/// Proposition 3 for one requirement: how far from the training rows' average the population's may be, for
/// every model of the class at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UniformBound {
    /// The requirement.
    pub requirement: String,
    /// Nᵢ: training rows of its population; of a difference, of both.
    pub rows: Vec<usize>,
    /// The class of sets whose VC dimension counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<SetClass>,
    /// What is not known, if no bound is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// ζ(Nᵢ) in units of B; of a difference, their sum.
    pub zeta: Option<f64>,
    /// Whether it says nothing: ζ ≥ 1.
    pub vacuous: bool,
}

/// A class of sets of samples and its VC dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetClass {
    /// `{f > 0}`.
    pub sets: String,
    /// The VC dimension, or an upper bound on it.
    pub dimension: f64,
}

/// What the multipliers say about the price of the requirements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approximation {
    /// ‖μ‖₁ of the run.
    pub mu: f64,
    /// ‖λ‖₁ of the run: the sum of the mean multipliers of pointwise requirements.
    pub lambda: f64,
    /// ε₀/ν = (1 + ‖μ‖₁ + ‖λ‖₁) M, with the multipliers of the run where the theorem has optimal ones; `None` if
    /// a loss has no Lipschitz constant.
    pub error_per_nu: Option<f64>,
    /// S; `None` if a loss has no bound.
    pub squared_violations: Option<f64>,
}

/// The VC dimension of the sets {f > 0} of a network's class, f the output or the difference of two, or an upper
/// bound on it. `None` where it is not known: for more than two outputs, for kernel expansions, whose centres
/// are training rows, so that the class depends on them, and for convolutional networks, whose bounds would
/// be far beyond any number of images.
pub fn dimension_of(network: &Network) -> Option<f64> {
    if network.output_width() > 2 {
        return None;
    }
    match network.shape() {
        NetworkShape::Linear { inputs, .. } => Some(dimension::linear(inputs)),
        // A shortcut adds a linear unit, of which the bounds below know nothing.
        NetworkShape::Mlp { shortcut: true, .. } => None,
        NetworkShape::Mlp { mut widths, activation, .. } => {
            if let Some(last) = widths.last_mut() {
                *last = 1;
            }
            Some(match activation {
                _ if widths.len() == 2 => dimension::linear(widths[0]),
                Activation::Relu => dimension::piecewise_linear(&widths),
                Activation::Sigmoid | Activation::Tanh => dimension::sigmoid(&widths),
                Activation::Silu => dimension::exponential(&widths),
            })
        }
        NetworkShape::Kernel { .. } | NetworkShape::Cnn(_) | NetworkShape::Resnet18(_) => None,
    }
}

/// The sets of samples whose frequencies must be close to their probabilities for a term's average to be: {ℓ > t}.
fn class_of(network: &Network, term: &Term) -> Result<SetClass, String> {
    let unknown = |why: &str| Err(format!("the VC dimension of the sets {why} is not known"));
    let loss = term.measure();
    if !matches!(term.population().view(), View::Identity) {
        return unknown(&format!("{{{loss} > c}}, with x changed,"));
    }
    match network.shape() {
        NetworkShape::Kernel { .. } => {
            return Err("the centres of the kernels are training rows".into());
        }
        NetworkShape::Cnn(_) | NetworkShape::Resnet18(_) => {
            return Err("the VC dimension of convolutional networks is not computed".into());
        }
        _ if network.output_width() > 2 && !is_of_coordinates(loss) => {
            return unknown(&format!("{{{loss} > c}} with more than two classes"));
        }
        _ => {}
    }
    let linear = match network.shape() {
        NetworkShape::Linear { inputs, .. } => Some(inputs),
        NetworkShape::Mlp { widths, .. } if widths.len() == 2 => Some(widths[0]),
        _ => None,
    };
    match (linear, dimension_of(network)) {
        // Wrong predictions are {f > 0} turned round where y = 0, which does not change what can be told apart.
        (_, Some(dimension)) if matches!(loss, Loss::Error | Loss::Selected { .. }) => {
            Ok(SetClass { sets: "{f > 0}".into(), dimension })
        }
        (Some(inputs), _) if is_of_the_margin(loss) => {
            Ok(SetClass { sets: "{y f < t}".into(), dimension: dimension::linear_margin(inputs) })
        }
        _ => unknown(&format!("{{{loss} > c}}")),
    }
}

/// Whether it is of several numbers.
fn is_of_coordinates(loss: &Loss) -> bool {
    match loss {
        Loss::Coordinates(_) => true,
        Loss::Bounded(bounded) => is_of_coordinates(bounded.loss()),
        _ => false,
    }
}

/// Whether it is a falling function of y f (y = ±1), f the output or the difference of two.
fn is_of_the_margin(loss: &Loss) -> bool {
    match loss {
        Loss::CrossEntropy | Loss::Logistic | Loss::Hinge | Loss::SquaredHinge => true,
        Loss::Brier | Loss::SmoothedError => true,
        Loss::Bounded(bounded) => is_of_the_margin(bounded.loss()),
        _ => false,
    }
}

impl Theory {
    /// For a plan and what its training ended with.
    pub(crate) fn of(plan: &Plan, solution: &Solution<f32>, delta: Delta) -> Self {
        Self {
            bounds: bounds(plan, delta),
            approximation: approximation(plan, &solution.multipliers),
            theorem_3_missing: theorem_3_missing(plan),
        }
    }

    /// In a sentence or two.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let what = "The paper's bound for all models of this class at once (Proposition 3)";
        for bound in self.bounds.iter().filter(|bound| !bound.vacuous) {
            let (Some(zeta), Some(class)) = (bound.zeta, &bound.class) else { continue };
            let rows: Vec<String> = bound.rows.iter().map(|n| grouped(*n)).collect();
            text += &format!(
                "{what}: '{}', if met on its {} training rows, is met on the population up to ζ = {} (times B \
                 for an average; VC dimension at most {}, of the sets {}).\n",
                bound.requirement,
                rows.join(" and "),
                short(zeta),
                short(class.dimension),
                class.sets
            );
        }
        let vacuous: Vec<&UniformBound> = self.bounds.iter().filter(|b| b.vacuous).collect();
        let least = vacuous.iter().filter_map(|bound| bound.zeta).fold(f64::INFINITY, f64::min);
        if let [first, ..] = &vacuous[..] {
            let class = first.class.as_ref();
            text += &format!(
                "{what} is vacuous for {}: ζ = {} is not below 1{}.\n",
                names(&vacuous),
                short(least),
                class.map_or(String::new(), |class| format!(
                    " (VC dimension at most {}, of the sets {})",
                    short(class.dimension),
                    class.sets
                ))
            );
        }
        let mut reasons: Vec<&String> = Vec::new();
        for reason in self.bounds.iter().filter_map(|bound| bound.missing.as_ref()) {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        for reason in reasons {
            let of = |bound: &&UniformBound| bound.missing.as_ref() == Some(reason);
            let of: Vec<&UniformBound> = self.bounds.iter().filter(of).collect();
            text += &format!("{what} is not given for {}: {reason}.\n", names(&of));
        }
        if !self.theorem_3_missing.is_empty() {
            text += &format!(
                "Theorem 3 gives no interval for the optimal value here: {}.\n",
                self.theorem_3_missing.join("; ")
            );
        }
        text
    }
}

/// `'a'`, `'a' and 'b'`, `'a' and 5 more`.
fn names(bounds: &[&UniformBound]) -> String {
    match bounds {
        [] => String::new(),
        [one] => format!("'{}'", one.requirement),
        [one, other] => format!("'{}' and '{}'", one.requirement, other.requirement),
        [one, rest @ ..] => format!("'{}' and {} more", one.requirement, rest.len()),
    }
}

fn bounds(plan: &Plan, delta: Delta) -> Vec<UniformBound> {
    let requirements = plan.train().requirements();
    // Each average has to be close to its expectation, both of a difference.
    let averages = requirements.iter().map(|requirement| requirement.terms().len()).sum();
    let width = plan.model().output_width();
    let bound = |requirement: &feasible::Requirement| {
        let terms = requirement.terms();
        let rows: Vec<usize> = terms.iter().map(|term| term.population().len()).collect();
        let class: Result<Option<SetClass>, String> = terms.iter().try_fold(None, |_, term| {
            let class = class_of(plan.model(), term)?;
            let bounded = term.measure().properties(width).bound.is_some();
            match bounded || requirement.kind() == Kind::Pointwise {
                true => Ok(Some(class)),
                false => Err(format!("{} has no bound B", term.measure())),
            }
        });
        let (class, missing) = match class {
            Ok(class) => (class, None),
            Err(missing) => (None, Some(missing)),
        };
        let zeta = class.as_ref().map(|class: &SetClass| {
            let of = |(term, rows): (&Term, &usize)| {
                term.coefficient().abs() * zeta(*rows as u64, class.dimension, averages, delta)
            };
            terms.iter().zip(&rows).map(of).sum::<f64>()
        });
        UniformBound {
            requirement: requirement.name().to_string(),
            rows,
            class,
            missing,
            zeta,
            vacuous: zeta.is_some_and(|zeta| is_vacuous(zeta, 1.0)),
        }
    };
    requirements.iter().map(bound).collect()
}

/// What Theorem 3 assumes and is not so, or not known.
fn theorem_3_missing(plan: &Plan) -> Vec<String> {
    let learner = &plan.settings().training.learner;
    if !matches!(learner, LearnerSettings::Exact(ExactDual::Ascent { .. })) {
        return Vec::new();
    }
    let (problem, width) = (plan.train(), plan.model().output_width());
    let mut missing = Vec::new();
    let mut losses: Vec<&Loss> = vec![problem.objective().loss()];
    for requirement in problem.requirements() {
        losses.extend(requirement.terms().iter().map(Term::measure));
    }
    for (at, loss) in losses.iter().enumerate() {
        if losses[..at].iter().any(|earlier| earlier.to_string() == loss.to_string()) {
            continue;
        }
        let properties = loss.properties(width);
        if !properties.convex {
            missing.push(format!("{loss} is not convex in the outputs"));
        }
        if properties.bound.is_none() {
            missing.push(format!("{loss} has no bound B"));
        }
    }
    missing.push(
        "the optimal multipliers, from which U₀ and the number of iterations follow, are not known"
            .into(),
    );
    missing.push("nor is ρ, the distance of inner minimisations from the minimum".into());
    missing
}

fn approximation(plan: &Plan, multipliers: &Multipliers) -> Approximation {
    let width = plan.model().output_width();
    let problem = plan.train();
    let (mut mu, mut lambda) = (0.0, 0.0);
    let mut lipschitz = problem.objective().loss().properties(width).lipschitz;
    let (mut average, mut pointwise, mut bounded) = (Vec::new(), Vec::new(), true);
    for (i, requirement) in problem.requirements().iter().enumerate() {
        let of = multipliers.of(i);
        let mean = of.iter().sum::<f64>() / of.len() as f64;
        // A sum of terms varies as much as its terms together: twice M, and from −B to B, for a difference.
        let (mut steepest, mut low, mut high) = (Some(0.0), 0.0, 0.0);
        for term in requirement.terms() {
            let a = term.coefficient();
            let own = term.loss().properties(width).lipschitz;
            steepest = steepest.zip(own).map(|(sum, own)| sum + a.abs() * own);
            let b = term.measure().properties(width).bound;
            bounded &= b.is_some();
            let end = a * b.unwrap_or(0.0);
            (low, high) = (low + end.min(0.0), high + end.max(0.0));
        }
        lipschitz = lipschitz.zip(steepest).map(|(a, b)| a.max(b));
        // Of single limits for every point, the one that S is largest for.
        let limit = requirement.limit();
        let limits = 0..if matches!(limit, Limit::Common(_)) { 1 } else { of.len() };
        let violations = limits.map(|point| (low - limit.of(point), high - limit.of(point)));
        let largest = |(low, high): (f64, f64)| low.abs().max(high.abs());
        let range = violations.fold((0.0, 0.0), |a, b| if largest(b) > largest(a) { b } else { a });
        match requirement.kind() {
            Kind::Average => {
                mu += mean;
                average.push(range);
            }
            Kind::Pointwise => {
                lambda += mean;
                pointwise.push((range, of.len() as u64));
            }
        }
    }
    Approximation {
        mu,
        lambda,
        error_per_nu: lipschitz.map(|m| approximation_error(mu, lambda, m, 1.0)),
        squared_violations: bounded.then(|| squared_violations(&average, &pointwise)),
    }
}
