//! Sections of a problem file that must go together, and with the data.

use feasible::Targets;
use feasible_data::{Cells, Change};

use crate::clause::Clause;
use crate::data::Data;
use crate::error::Result;
use crate::loss::LossName;
use crate::spec::{ProblemSource, Spec};

/// Whether a threshold can be chosen.
pub(crate) fn check_decision(
    source: &ProblemSource,
    spec: &Spec,
    data: &Data,
    clauses: &[Clause],
    changes: &[Change],
) -> Result<()> {
    let Some(decision) = &spec.decision else { return Ok(()) };
    let wrong = |key: &str, message: &str| Err(source.at(key, message));
    if let Some(threshold) = decision.threshold {
        return match (threshold == 0.5, &decision.per) {
            (true, None) => Ok(()),
            (true, Some(_)) => {
                wrong("decision.per", "has no effect beside `threshold`. Remove one of them")
            }
            (false, _) => {
                let message = "only 0.5 is allowed, which predicts the more probable class; leave it out to have one chosen on the validation rows";
                wrong("decision.threshold", message)
            }
        };
    }
    match data.target.classes().map(<[String]>::len) {
        Some(2) => {}
        Some(_) => return wrong("decision", "a threshold separates two classes: leave it out"),
        None => return wrong("decision", "a number is predicted, not a class: leave it out"),
    }
    if data.validation.is_none() {
        let message = "the threshold is chosen on validation rows, but there are none: set, for example, data.split.validation = 0.2";
        return wrong("decision", message);
    }
    if clauses.iter().any(|clause| clause.adversary.is_some()) {
        let message =
            "requirements with an adversary are judged at a threshold of 1/2: leave it out";
        return wrong("decision", message);
    }
    let Some(per) = &decision.per else { return Ok(()) };
    let column = data.table.column(per).map_err(|error| source.about("decision.per", error))?;
    if let Cells::Numbers(_) = column.cells {
        let message = "is a column of numbers, and groups are categories (`data.format.kinds` can make it categorical)";
        return wrong("decision.per", message);
    }
    let changed = clauses.iter().filter_map(|clause| clause.change.as_ref()).chain(changes);
    if let Some(change) = changed.into_iter().find(|change| change.columns().contains(per)) {
        let message = format!(
            "the counterfactual {} changes this column, and with it the threshold: leave one of them out (`evaluation.\
             counterfactual` says which are reported)",
            change.name()
        );
        return wrong("decision.per", &message);
    }
    Ok(())
}

/// Whether the losses of numbers agree on what the output is, and the targets are counts where it is the log of one.
pub(crate) fn check_counts(
    source: &ProblemSource,
    spec: &Spec,
    objective: LossName,
    data: &Data,
) -> Result<()> {
    let of_counts = |loss: LossName| loss == LossName::Poisson;
    for (at, requirement) in spec.requirements.iter().enumerate() {
        let losses = [requirement.loss, requirement.measured_by].into_iter().flatten();
        if losses.filter(|l| l.is_of_numbers()).any(|l| of_counts(l) != of_counts(objective)) {
            let message = "of a Poisson loss the model gives the log of the expectation, of other losses the number \
                           itself: use `poisson` for the objective and all requirements on errors, or for none";
            return Err(source.at(&format!("requirement[{at}].loss"), message));
        }
    }
    if !of_counts(objective) {
        return Ok(());
    }
    let parts = [Some(&data.train), data.validation.as_ref(), data.test.as_ref()];
    for samples in parts.into_iter().chain([data.reserve.as_ref()]).flatten() {
        let columns = data.target.columns();
        let below = match samples.targets() {
            Targets::Classes(_) => None,
            Targets::Values(y) => y.iter().position(|y| *y < 0.0).map(|at| (at, columns[0], y[at])),
            Targets::Vectors(y) => columns.iter().enumerate().find_map(|(j, column)| {
                let below = y.coordinate(j).enumerate().find(|(_, y)| *y < 0.0);
                below.map(|(at, y)| (at, *column, y))
            }),
        };
        if let Some((at, column, y)) = below {
            let place = data.table.place(samples.ids()[at] as usize, column);
            let message = format!("{place}: {y} is below 0, but `poisson` is for counts");
            return Err(source.at("objective.loss", message));
        }
    }
    Ok(())
}
