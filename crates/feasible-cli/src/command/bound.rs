//! `feasible bound`.

use feasible_problem::Plan;
use feasible_run::bound::Question;

use super::source;
use crate::arguments::BoundArguments;
use crate::exit::{Exit, Result};
use crate::terminal::Terminal;

/// What a number of rows can certify, and how many are needed.
pub fn bound(arguments: &BoundArguments, terminal: &Terminal) -> Result<Exit> {
    let mut question = Question {
        rows: arguments.rows,
        limit: arguments.limit,
        rate: arguments.rate,
        confidence: arguments.confidence,
        dimension: arguments.dimension,
        ..Question::default()
    };
    if let Some(problem) = &arguments.problem {
        question = question.about(&Plan::check(&source(problem, &[], &arguments.overrides)?)?);
    }
    if let Some(requirements) = arguments.requirements {
        question.requirements = requirements as usize;
    }
    let answer = question.answer()?;
    terminal.result(&answer, |page| answer.text_on(page))?;
    Ok(Exit::Met)
}
