//! `feasible tune`.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use feasible_problem::spec::Override;
use feasible_problem::store;
use feasible_run::tune::{SharedSearch, Tuning};
use feasible_run::{Event, Fitted, RunDirectory, RunVerdict, Search, TuneOptions, files};
use serde::Serialize;

use super::fit::{on_pages, unused, workers};
use super::{source, stem};
use crate::arguments::TuneArguments;
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;
use crate::outputs::Inputs;
use crate::progress::Progress;
use crate::ranks;
use crate::terminal::Terminal;

/// What `--json` prints.
#[derive(Serialize)]
struct TuneReport<'a> {
    directory: &'a Path,
    /// Whether every requirement is met on the rows the model is judged by.
    met: bool,
    /// What the run comes to; none while other jobs have to do their part.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<RunVerdict>,
    search: &'a Search,
    runs: &'a [Fitted],
}

/// Searches settings and trains the best.
pub fn tune(arguments: &TuneArguments, terminal: &Terminal) -> Result<Exit> {
    let start = Instant::now();
    store::set_place(arguments.output.as_deref().unwrap_or(Path::new("runs")));
    let settings: Vec<Override> = arguments.seed.map(Override::Seed).into_iter().collect();
    let source = source(&arguments.problem, &settings, &arguments.overrides)?;
    let tuning = Tuning::check(&source, arguments.trials)?;
    let plan = tuning.plan_of_file();
    plan.notes().for_each(|note| terminal.note(note));
    plan.data().store_notes.iter().for_each(|note| terminal.note(note));
    let stem = format!("{}-tuned", stem(&arguments.problem));
    let directory = arguments.output.clone().unwrap_or_else(|| unused(&stem));
    Inputs::new().problem(&arguments.problem, plan.spec()).refuse_directory(&directory)?;
    let progress = Arc::new(Progress::of_trials(tuning.trainings(), terminal));
    let kept = {
        let directory = directory.clone();
        move || {
            let shown = directory.display();
            match RunDirectory::new(&directory).has(files::SUMMARY) {
                true => format!(
                    "interrupted: the search in {shown} is complete; `feasible report {shown}` writes its page"
                ),
                false => format!(
                    "interrupted: what is trained is kept in {shown}; the same command with -o {shown} continues"
                ),
            }
        }
    };
    let options = TuneOptions {
        trials: arguments.trials,
        threads: workers(arguments.threads),
        directory: Some(directory.clone()),
        force: arguments.force,
        interrupt: interrupt::listen(&progress, kept.clone()),
    };
    let observe = |event: &Event| progress.observe(event);
    let tuned = match (&arguments.part, ranks::all_that_share()) {
        (Some(part), _) => tuning.run_part(part, &options, &observe).map(Some),
        (None, Some(ranks)) => {
            let ended = |tuned| SharedSearch::Ended(Box::new(tuned));
            tuning.run_on(&*ranks, &options, &observe).map(|tuned| tuned.map(ended))
        }
        (None, None) => {
            let tuned = tuning.run(&options, &observe);
            tuned.map(|tuned| Some(SharedSearch::Ended(Box::new(tuned))))
        }
    };
    progress.clear();
    let tuned = tuned.map_err(|error| match options.interrupt.is_raised() {
        true => Failure::interrupted(kept()),
        false => error.into(),
    })?;
    let tuned = match tuned {
        Some(SharedSearch::Ended(tuned)) => tuned,
        Some(SharedSearch::UnderWay { search, trials, missing }) => {
            let report = TuneReport {
                directory: &directory,
                met: false,
                verdict: None,
                search: &search,
                runs: &[],
            };
            let text = under_way(&search, trials, &missing, &directory);
            terminal.result(&report, |_| text.clone())?;
            return Ok(Exit::Met);
        }
        // Rank 0 says how it ended.
        None => return Ok(Exit::Met),
    };
    let (search, fit) = (&tuned.search, &tuned.fit);
    let met = fit.met();
    let verdict = Some(fit.verdict_state());
    let report = TuneReport { directory: &directory, met, verdict, search, runs: fit.runs() };
    terminal.result(&report, |page| format!("{}\n{}", fit.text_on(page), search.text_on(page)))?;
    // What only training needed is dropped before the page is made.
    let data = tuning.into_training_data();
    let pages = || on_pages(fit, &directory, Some(&data), terminal);
    let failed = (!arguments.no_report).then(pages).flatten();
    let seconds = start.elapsed().as_secs_f64();
    terminal.note(&format!("{seconds:.1} s. Run directory: {}", directory.display()));
    Ok(failed.unwrap_or(Exit::met(met)))
}

/// What a job says that has done its part.
fn under_way(search: &Search, trials: usize, missing: &[usize], directory: &Path) -> String {
    let shown = directory.display();
    if missing.is_empty() {
        return format!(
            "all trials are trained, and another job is at work on the result in {shown}\n"
        );
    }
    let (round, rounds) = (search.rounds_done() + 1, search.design.rounds.len());
    format!(
        "round {round} of {rounds}: {} of {trials} trials are trained; once other parts have trained the rest, the same parts \
         again go on with the search\n",
        trials - missing.len()
    )
}
