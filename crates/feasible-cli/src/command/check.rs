//! `feasible check`.

use feasible_problem::{Plan, Spec};
use serde::Serialize;

use super::source;
use crate::arguments::CheckArguments;
use crate::exit::{Exit, Result};
use crate::terminal::Terminal;

/// What `--json` prints.
#[derive(Serialize)]
struct CheckReport<'a> {
    problem: &'a str,
    rows: PartSizes,
    columns: Vec<String>,
    /// What was decided about the data and the training without being asked.
    notes: Vec<&'a String>,
    parameters: usize,
    multipliers: usize,
    /// An estimate, in bytes.
    memory: usize,
    /// The requirements, groups and changes written out.
    requirements: Vec<&'a str>,
    /// The problem file with every default filled in.
    resolved: &'a Spec,
}

#[derive(Serialize)]
struct PartSizes {
    train: usize,
    validation: usize,
    test: usize,
}

/// Validates and explains a problem file.
pub fn check(arguments: &CheckArguments, terminal: &Terminal) -> Result<Exit> {
    let plan = Plan::check(&source(&arguments.problem, &[], &arguments.overrides)?)?;
    let [train, validation, test] = plan.part_sizes();
    let report = CheckReport {
        problem: plan.name(),
        rows: PartSizes { train, validation, test },
        columns: plan.data().encoder.names(),
        notes: plan.notes().chain(&plan.data().store_notes).collect(),
        parameters: plan.parameters(),
        multipliers: plan.multipliers(),
        memory: plan.memory(),
        requirements: plan.clauses().iter().map(|clause| clause.name.as_str()).collect(),
        resolved: plan.spec(),
    };
    if arguments.resolved && !terminal.json {
        terminal.print(plan.spec().to_toml().as_bytes())?;
        return Ok(Exit::Met);
    }
    terminal.result(&report, |page| plan.describe_on(page))?;
    Ok(Exit::Met)
}
