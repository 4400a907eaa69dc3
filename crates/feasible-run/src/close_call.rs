//! Whether the epoch that was kept hangs on one validation row.
//!
//! Epochs are compared by whether they meet the limits on the validation rows, and a rate of few rows moves in large steps: with 48 of them, an
//! epoch that is much better may be given up for one row. The choice stands, because the limit is what was asked for; but it is said.

use feasible::Problem;
use feasible_problem::plan::Plan;
use feasible_problem::spec::Keep;
use feasible_problem::text::short;

use crate::metrics::EpochMetrics;

/// By what share of the objective another epoch must be better.
const BETTER: f64 = 0.1;

/// The sentence, if another epoch has a clearly lower objective on the validation rows and misses one limit there by one row.
pub(crate) fn close_call(plan: &Plan, kept: u64, epochs: &[EpochMetrics]) -> Option<String> {
    let validation = plan.validation()?;
    if plan.settings().training.keep != Keep::Best {
        return None;
    }
    let objective = |of: &EpochMetrics| of.validation.as_ref().map_or(f64::NAN, |v| v.objective);
    let own = epochs.iter().find(|of| of.epoch == kept)?;
    let within = limits_kept(plan, own)?;
    let limit = objective(own) - BETTER * objective(own).abs();
    let better = epochs.iter().filter(|of| of.feasible && objective(of) < limit);
    let missed = |of: &EpochMetrics| {
        Some((one_row_short(validation, of, &within)?, objective(of), of.epoch))
    };
    let best = better.filter_map(missed).min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (at, other, epoch) = best;
    let (requirement, rows) = (&validation.requirements()[at], fewest_rows(validation, at));
    Some(format!(
        "The best epoch, {kept}, hangs on one validation row: epoch {epoch} has an objective of {} on the validation rows instead of {}, and \
         misses '{}' there by one of {rows} rows, with the room that is left for new rows. More validation rows make the choice firmer.",
        short(other),
        short(objective(own)),
        requirement.name(),
    ))
}

/// The violations up to which the epoch that was kept counts as meeting each limit: with all of the room for new rows, or without it. `None` if it
/// meets not even that.
fn limits_kept(plan: &Plan, kept: &EpochMetrics) -> Option<Vec<f64>> {
    let violations: Vec<f64> =
        kept.validation.as_ref()?.requirements.iter().map(|r| r.worst_violation).collect();
    let rooms = |at: usize| plan.rooms().get(at).copied().unwrap_or(0.0);
    let all: Vec<f64> = vec![0.0; violations.len()];
    let some: Vec<f64> = (0..violations.len()).map(rooms).collect();
    let meets = |limits: &Vec<f64>| violations.iter().zip(limits).all(|(v, limit)| v <= limit);
    [all, some].into_iter().find(meets)
}

/// The one rate that an epoch misses by no more than a row, if it meets all else.
fn one_row_short(validation: &Problem, of: &EpochMetrics, within: &[f64]) -> Option<usize> {
    let violations = of.validation.as_ref()?.requirements.iter().map(|r| r.worst_violation);
    let beyond: Vec<f64> = violations.zip(within).map(|(v, limit)| v - limit).collect();
    let mut missed = (0..beyond.len()).filter(|&at| beyond[at] > 0.0);
    let (at, None) = (missed.next()?, missed.next()) else { return None };
    let terms = validation.requirements().get(at)?.terms();
    let is_rate = !terms[0].measure().is_differentiable();
    let row = 1.0 / fewest_rows(validation, at) as f64;
    (is_rate && beyond[at] <= row * (1.0 + 1e-9)).then_some(at)
}

fn fewest_rows(validation: &Problem, requirement: usize) -> usize {
    let terms = validation.requirements()[requirement].terms();
    terms.iter().map(|term| term.population().len()).min().unwrap_or(1).max(1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop")]
mod tests {
    use feasible_problem::ProblemSource;

    use super::*;
    use crate::metrics::{RequirementMetrics, ValidationMetrics};

    fn plan() -> Plan {
        let rows: String =
            (0..600).map(|i| format!("{},{},{}\n", i % 17, i % 2, i % 5 / 3)).collect();
        let csv = format!("x,group,y\n{rows}");
        let table = feasible_data::Table::from_bytes("t", csv.as_bytes(), &Default::default());
        let text = "[data]\ntarget = \"y\"\n[decision]\nthreshold = 0.5\n[[requirement]]\nname = \"q\"\nrate = \"error\"\nwhere = \"group == 1\"\nat_most = 0.2\n";
        Plan::with_table(&ProblemSource::new("t.toml", text), table.unwrap()).unwrap()
    }

    fn epoch(epoch: u64, objective: f64, worst_violation: f64) -> EpochMetrics {
        let requirement = RequirementMetrics {
            name: "q".into(),
            value: 0.2 + worst_violation,
            worst_violation,
            violated: 0.0,
            met: worst_violation <= 0.0,
            multiplier: 1.0,
            multipliers_at_zero: 0.0,
        };
        EpochMetrics {
            fold: None,
            activation: None,
            epoch,
            objective,
            penalty: 0.0,
            lagrangian: objective,
            gap: 0.0,
            feasible: true,
            best: false,
            requirements: vec![requirement.clone()],
            validation: Some(ValidationMetrics { objective, requirements: vec![requirement] }),
        }
    }

    #[test]
    fn a_much_better_epoch_that_was_given_up_for_one_validation_row_is_named() {
        let plan = plan();
        let rows = fewest_rows(plan.validation().unwrap(), 0);
        let row = 1.0 / rows as f64;
        let said = |objective, violation| {
            close_call(&plan, 5, &[epoch(3, objective, violation), epoch(5, 0.465, 0.0)])
        };
        let sentence = said(0.342, row).unwrap();
        assert!(sentence.contains("epoch 3 has an objective of 0.342"), "{sentence}");
        assert!(sentence.contains(&format!("'q' there by one of {rows} rows")), "{sentence}");
        // Two rows, or hardly better; or met, so that another rule decided.
        assert_eq!(said(0.342, 2.0 * row), None);
        assert_eq!(said(0.45, row), None);
        assert_eq!(said(0.342, -row), None);
    }
}
