//! The search that a run's settings come from: what was tried, what was dropped and when, what was chosen.

use feasible_run::Search;
use feasible_run::tune::TrialRecord;
use serde::Serialize;

use crate::chart::{Axis, Chart, Mark, Scale, Series, grouped, number};
use crate::figures::Figure;
use crate::format::counted;
use crate::layout::{bounded, name};
use crate::requirements::MOST;
use crate::run::Run;

/// Trials that are drawn, the best ones.
const DRAWN: usize = 100;

#[derive(Serialize)]
pub(crate) struct Section {
    lead: String,
    gain: String,
    chosen: Vec<(String, String)>,
    space: Vec<(String, String)>,
    trials: Vec<TrialRow>,
    left_out: usize,
}

#[derive(Serialize)]
struct TrialRow {
    number: usize,
    chosen: bool,
    epochs: String,
    objective: String,
    violation: String,
    met: &'static str,
    fate: String,
    settings: String,
}

/// What the page says of a run whose settings were searched.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let search = run.search.as_ref()?;
    let (n, chosen) = search.chosen()?;
    let all = |text: &str| bounded(text, 400);
    let settings = chosen.settings.iter().map(|(key, value)| (name(key), all(&value.to_string())));
    let space =
        search.design.space.keys().map(|(key, values)| (name(key), all(&values.describe())));
    let ranked = search.ranked();
    Some(Section {
        lead: lead(search),
        gain: gain(search, n, chosen),
        chosen: settings.collect(),
        space: space.take(MOST).collect(),
        left_out: ranked.len().saturating_sub(MOST),
        trials: ranked.into_iter().take(MOST).map(|at| row(search, at, at == n)).collect(),
    })
}

fn lead(search: &Search) -> String {
    let rounds = &search.design.rounds;
    let trials = match search.trials.len() {
        1 => "1 trial".to_string(),
        n => format!("{} trials", grouped(&n.to_string())),
    };
    let kept = match rounds.len() {
        1 => "each trained in full".to_string(),
        n => format!(
            "all trained for 1/{} of their epochs, the better third three times as long, and so on: {n} rounds",
            number((1.0 / rounds[0]).round())
        ),
    };
    format!(
        "{trials}, {kept}; trial 0 has the settings of the problem file and stays to the end. They were compared by \
         their best epoch on the {} validation rows, those that meet every requirement with room first, then by the objective, its mean over the epochs around the best one. No test row and no \
         row that is kept back for a certificate was looked at before the choice.",
        grouped(&search.design.validation_rows.to_string())
    )
}

fn gain(search: &Search, n: usize, chosen: &TrialRecord) -> String {
    let last =
        |trial: &TrialRecord| trial.last().and_then(|last| Some((last.objective?, last.with_room)));
    let shown = |(objective, with_room): (f64, bool)| {
        format!("{}{}", number(objective), if with_room { "" } else { ", room missed" })
    };
    match (n, last(chosen), search.trials.first().and_then(last)) {
        (0, _, _) => "The settings of the problem file were kept: no other trial is better by more than the luck of the best \
                      of so many."
            .into(),
        (n, Some(now), Some(before)) => format!(
            "Trial {n} was chosen: a validation objective of {}, with the settings of the problem file {}{}. The \
             figures of what is chosen among many flatter it a little; those on test rows do not.",
            shown(now),
            shown(before),
            difference(chosen)
        ),
        (n, ..) => format!("Trial {n} was chosen."),
    }
}

/// `, a difference of −0.02 ± 0.005, row by row`.
fn difference(chosen: &TrialRecord) -> String {
    let by = chosen.last().and_then(|last| last.difference);
    by.map_or(String::new(), |by| {
        let (mean, error) = (number(by.mean), number(by.standard_error));
        format!(", a difference of {mean} ± {error} (standard error, row by row)")
    })
}

fn row(search: &Search, at: usize, chosen: bool) -> TrialRow {
    let trial = &search.trials[at];
    let last = trial.last();
    let of = |x: Option<f64>| x.map_or(String::new(), number);
    TrialRow {
        number: at,
        chosen,
        epochs: format!("{} of {}", last.map_or(0, |last| last.epochs), trial.epochs),
        objective: of(last.and_then(|last| last.objective)),
        violation: of(last.and_then(|last| last.worst_violation)),
        met: last.map_or("", |last| last.met()),
        fate: match trial.dropped_after {
            _ if chosen => "chosen".into(),
            _ if last.is_some_and(|last| last.diverged()) => "diverged".into(),
            Some(round) => format!("dropped after round {round}"),
            None => "trained in full".into(),
        },
        settings: bounded(&trial.settings_text(), 600),
    }
}

/// The validation objective of the trials as they go on.
pub(crate) fn figures(run: &Run) -> Vec<Figure> {
    let Some(search) = &run.search else { return Vec::new() };
    let points = |trial: &TrialRecord| -> Vec<(f64, f64)> {
        trial.rounds.iter().filter_map(|r| Some((r.epochs as f64, r.objective?))).collect()
    };
    let notes = |n: usize, trial: &TrialRecord| -> Vec<String> {
        let note = |(epochs, objective, met): (u64, f64, &str)| {
            let objective = number(objective);
            let epochs = counted(epochs as usize, "epoch");
            format!("trial {n}: {objective}, {met}, after {epochs}")
        };
        let rounds = trial.rounds.iter();
        rounds.filter_map(|r| Some(note((r.epochs, r.objective?, r.met())))).collect()
    };
    let series = |title: &str, n: usize| {
        let trial = &search.trials[n];
        Series::new(title, Mark::LineAndDots, points(trial)).with_notes(notes(n, trial))
    };
    let x = Axis::new("epochs").scaled(Scale::Log);
    let mut chart = Chart::new("Search").x(x).y(Axis::new("validation objective")).note(
        "The best epoch of each trial so far, after each round that it took part in. Where a trial misses the room, \
         others come before it whatever their objective.",
    );
    let chosen = search.chosen.unwrap_or(0);
    let others = search.ranked().into_iter().filter(|&n| n != chosen && n != 0);
    for n in others.take(DRAWN) {
        chart = chart.series(series(&format!("trial {n}"), n).muted());
    }
    if chosen != 0 {
        chart = chart.series(series(&format!("trial {chosen}, chosen"), chosen));
    }
    chart = chart.series(series("settings of the file", 0));
    vec![Figure::chart("search", chart)]
}
