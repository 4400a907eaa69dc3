//! How much better than its limit a requirement must be on validation rows so that it holds on rows to come.
//!
//! A mean over n rows misses the mean of the population by a multiple of σ/√n, and so does that over the n' rows on which it will be
//! looked at (the test rows, or as many as there are for validation). Iterates are therefore chosen, and margins
//! [learned](feasible::learner::margin), by a limit on the validation rows that is stricter by
//!
//! $$ z \, \sigma \sqrt{1/n + 1/n'} , \qquad z = 2 , $$
//!
//! which holds on the other rows in 97 of 100 draws, were the limit met exactly by an iterate that was not chosen for it; the
//! choice among the epochs takes some of that back. σ is that of the requirement at its limit:
//!
//! | requirement | σ² |
//! | --- | --- |
//! | a rate ≤ c or ≥ c | c(1 − c) |
//! | a difference of rates | π(1 − π), π the share of the positive class; ½ · ½ among positives |
//! | the mean of another loss ≤ c | (3c/2)²: losses are more spread than they are large, a few being very large |
//! | pointwise | none: λ belongs to training rows |
//!
//! Where that is more than 0.3 of what the limit allows (the limit itself, or 1 minus it for a rate that must be large), chance
//! cannot be ruled out by a margin that leaves a good model. The allowance falls again there, as the inverse of what would be
//! needed, to no less than 0.3/√K of what the limit allows, K requirements there being. The largest margin that is learned is half of what
//! the limit allows, less what chance moves, and no less than that over √K.
//!
//! Fewer than [`FEWEST`] rows, and a difference that chance moves by more than twice its limit, are not judged on validation rows at all: few
//! models but constant ones would pass. The training rows stand in for them.

use feasible::requirement::Sense;
use feasible::{Kind, Requirement};

/// Deviations that chance may add, the normal quantile of 97.7 %.
const Z: f64 = 2.0;
/// The deviation of a loss that is no rate, as a multiple of its mean.
const SPREAD: f64 = 1.5;
/// The share of what a limit allows that is left to chance,
const MOST: f64 = 0.3;
/// and that a learned margin may take.
const LEARNED: f64 = 0.5;
/// Fewer rows judge nothing.
const FEWEST: f64 = 10.0;

/// What chance asks for on validation rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Allowance {
    /// By how much the limit is stricter on validation rows.
    pub(crate) on_validation: f64,
    /// The largest margin that is learned from them.
    pub(crate) most_learned: f64,
    /// Whether they are too few to judge it at all.
    pub(crate) is_chance: bool,
}

/// What an allowance depends on beside the requirement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// n'/n, 0 for none.
    pub(crate) ahead: f64,
    /// π, the share of the positive class.
    pub(crate) positives: f64,
    /// K.
    pub(crate) requirements: usize,
    /// Outputs of the model.
    pub(crate) width: usize,
}

/// The allowance for `requirement`, on validation samples, of this class alone if there is one.
pub(crate) fn allowance(requirement: &Requirement, class: Option<u32>, of: Sample) -> Allowance {
    if requirement.kind() == Kind::Pointwise {
        return Allowance::default();
    }
    let limit = requirement.limit().of(0);
    let terms = requirement.terms();
    let rows = |at: usize| terms[at].population().len().max(1) as f64;
    let is_rate = !terms[0].measure().is_differentiable();
    let bound = terms[0].measure().properties(of.width).bound;
    // A difference that must be at least −c has no more room than one that must be at most c.
    let allowed = match (requirement.sense(), bound) {
        (Sense::AtLeast, Some(bound)) if terms.len() == 1 => (bound - limit).abs(),
        _ => limit.abs(),
    };
    let variance = match (is_rate, terms.len()) {
        (true, 1) => limit * (1.0 - limit),
        (true, _) if class == Some(1) => 0.25,
        (true, _) => of.positives * (1.0 - of.positives),
        (false, _) => (SPREAD * limit).powi(2),
    };
    let inverse = match terms.len() {
        1 => 1.0 / rows(0),
        // The second population may hold the first: its mean then moves with the other's.
        _ => 1.0 / rows(0) + if rows(1) > rows(0) { 0.0 } else { 1.0 / rows(1) },
    };
    let again = if of.ahead > 0.0 { 1.0 + 1.0 / of.ahead } else { 1.0 };
    let needed = Z * (variance.max(0.0) * inverse * again).sqrt();
    let each = (of.requirements.max(1) as f64).sqrt();
    let most = MOST * allowed;
    let on_validation = match needed <= most {
        true => needed,
        false => (most * most / needed).max(most / each),
    };
    let is_chance = rows(0) < FEWEST || (terms.len() > 1 && needed > 2.0 * allowed);
    let most_learned = (LEARNED * (allowed - needed)).max(LEARNED * allowed / each);
    Allowance { on_validation, most_learned, is_chance }
}

#[cfg(test)]
mod tests {
    use feasible::{Inputs, Loss, Population, Samples, Targets};

    use super::*;

    fn everyone(rows: usize) -> Population {
        let inputs = Inputs::new(vec![0.0; rows], 1).unwrap();
        Population::new(Samples::new(inputs, Targets::Classes(vec![1; rows])).unwrap())
    }

    const ONE: Sample = Sample { ahead: 2.0, positives: 0.5, requirements: 1, width: 2 };

    fn recall(rows: usize, limit: f64) -> Requirement {
        Requirement::average("recall", &everyone(rows), Loss::Probability { class: 1 })
            .measured_by(Loss::Selected { class: 1 })
            .at_least(limit)
    }

    #[test]
    fn a_rate_is_asked_for_by_the_spread_of_two_samples_of_its_size() {
        let found = allowance(&recall(1000, 0.8), Some(1), ONE).on_validation;
        let expected = 2.0 * (0.8 * 0.2 * (1.0 / 1000.0 + 1.0 / 2000.0_f64)).sqrt();
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }

    #[test]
    fn a_model_is_left_that_can_meet_it_however_few_the_rows() {
        assert!(allowance(&recall(9, 0.98), Some(1), ONE).is_chance);
        let few = allowance(&recall(10, 0.98), Some(1), ONE);
        assert!(!few.is_chance);
        assert!((few.on_validation - 0.006).abs() < 1e-9, "{few:?}");
        assert!((few.most_learned - 0.01).abs() < 1e-9, "{few:?}");
        let among = allowance(&recall(10, 0.98), Some(1), Sample { requirements: 100, ..ONE });
        assert!(among.on_validation < 0.0007 && among.most_learned < 0.0011, "{among:?}");
        let each = Requirement::pointwise("each", &everyone(3), Loss::CrossEntropy).at_most(0.1);
        assert_eq!(allowance(&each, None, ONE), Allowance::default());
    }

    #[test]
    fn a_difference_is_asked_for_by_as_much_from_below_as_from_above() {
        let rate = |name: &str| {
            Requirement::average(name, &everyone(300), Loss::Probability { class: 1 })
                .measured_by(Loss::Selected { class: 1 })
                .minus(&everyone(700))
        };
        let above = allowance(&rate("not above").at_most(0.05), None, ONE);
        let below = allowance(&rate("not below").at_least(-0.05), None, ONE);
        assert_eq!(above, below);
        assert!(above.on_validation < 0.05 && above.most_learned < 0.05, "{above:?}");
    }
}
