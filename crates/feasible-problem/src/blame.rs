//! Which key of a problem file an error is about.

use feasible::ProblemDraft;

use crate::clause::Clause;
use crate::error::Error;
use crate::network::Network;
use crate::sampled_table::SampledTable;
use crate::spec::ProblemSource;

/// An error of a requirement on its rows, at the key it names.
pub(crate) fn at_clause(source: &ProblemSource, error: Error) -> Error {
    let Error::Requirement { index, key, error, .. } = error else { return error };
    let at = format!("requirement[{index}].{key}");
    match *error {
        Error::Data(error) => source.about(&at, error),
        other => source.at(&at, other.to_string()),
    }
}

/// An error of the core, at its cause: the objective, or the first requirement that fails without the others.
pub(crate) fn at_core(
    source: &ProblemSource,
    clauses: &[Clause],
    sampled: &mut SampledTable<'_>,
    objective: &ProblemDraft,
    model: &Network,
    error: feasible::Error,
) -> Error {
    let fails = |draft: ProblemDraft| match draft.check() {
        Ok(problem) => problem.check_model(model).is_err(),
        Err(_) => true,
    };
    let setting = match &error {
        feasible::Error::Setting { setting, .. } => setting.rsplit(": ").next().unwrap_or(setting),
        _ => "",
    };
    if let feasible::Error::DuplicateName { name } = &error
        && let Some(clause) = clauses.iter().rev().find(|clause| clause.name == *name)
    {
        return source.at(&format!("requirement[{}].name", clause.from), error.to_string());
    }
    if fails(objective.clone()) {
        let key = if setting == "weight decay" { "objective.weight_decay" } else { "objective" };
        return source.at(key, error.to_string());
    }
    for clause in clauses {
        let Ok(Some(requirement)) = clause.tightened().on(sampled) else { continue };
        if fails(objective.clone().subject_to(requirement)) {
            let section = format!("requirement[{}]", clause.from);
            let key = match setting {
                "margin" | "start" | "all_but" => format!("{section}.{setting}"),
                _ => section,
            };
            return source.at(&key, error.to_string());
        }
    }
    Error::Core(error)
}
