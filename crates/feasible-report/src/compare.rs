//! Runs side by side.

use std::path::PathBuf;

use feasible_run::{EpochMetrics, RequirementResult, RunDirectory};
use minijinja::context;
use serde::Serialize;

use crate::chart::{Axis, Bar, Bars, Chart, Scale, Series, grouped, number};
use crate::error::{Error, Result};
use crate::figures::{Figure, common_prefix, signed_scale};
use crate::format::{duration, listed, percent};
use crate::layout::PageVerdict;
use crate::layout::{drawn, name, page, value};
use crate::requirements::{MOST, ended, limit, verdict};
use crate::run::Run;

/// Runs that are compared at most.
const RUNS: usize = 24;
/// Requirements that have a chart of their own.
const CHARTS: usize = 6;

#[derive(Serialize)]
struct Column {
    label: String,
    title: String,
    met: bool,
    none: bool,
    sentence: String,
}

/// A table with a row for each run.
#[derive(Serialize)]
struct Table {
    head: Vec<&'static str>,
    rows: Vec<TableRow>,
}

#[derive(Serialize)]
struct TableRow {
    #[serde(flatten)]
    run: Column,
    values: Vec<String>,
}

#[derive(Serialize)]
struct Cell {
    known: bool,
    met: bool,
    value: String,
    multiplier: String,
}

#[derive(Serialize)]
struct Row {
    name: String,
    limit: String,
    cells: Vec<Cell>,
    /// Runs that do not meet it.
    missed: usize,
}

/// The runs of some directories; that of several seeds stands for all of them.
pub(crate) fn open(directories: &[PathBuf]) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    for directory in directories {
        match Run::open(directory) {
            Err(Error::Seeds { .. }) => {
                for inner in RunDirectory::new(directory).seed_directories()? {
                    runs.push(Run::open(inner.path())?);
                }
            }
            run => runs.push(run?),
        }
    }
    if runs.len() > RUNS {
        return Err(Error::TooMany { runs: runs.len(), most: RUNS });
    }
    Ok(runs)
}

/// What tells the runs apart: the last parts of their paths.
fn labels(runs: &[Run]) -> Vec<String> {
    let part = |run: &Run, depth: usize| -> String {
        let path = std::path::absolute(&run.directory).unwrap_or_else(|_| run.directory.clone());
        let parts: Vec<String> =
            path.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
        parts[parts.len().saturating_sub(depth)..].join("/")
    };
    (1..=6)
        .map(|depth| runs.iter().map(|run| part(run, depth)).collect::<Vec<_>>())
        .find(|labels| labels.iter().enumerate().all(|(at, l)| !labels[..at].contains(l)))
        .unwrap_or_else(|| runs.iter().map(|run| run.directory.display().to_string()).collect())
}

/// The page, and its figures.
pub(crate) fn render(runs: &[Run]) -> Result<(String, Vec<Figure>)> {
    let labels: Vec<String> = labels(runs).iter().map(|label| name(label)).collect();
    let figures = figures(runs, &labels);
    let columns: Vec<Column> = runs.iter().zip(&labels).map(column).collect();
    let commands: Vec<_> = runs
        .iter()
        .zip(&labels)
        .map(|(run, label)| {
            context! {
                label,
                problem => name(&run.summary.problem),
                seed => run.summary.seed,
                version => name(&run.info.feasible),
                model => run.model_sha256.clone(),
                started => run.info.started_from.as_deref().map(name),
            }
        })
        .collect();
    let same_data = runs.windows(2).all(|pair| pair[0].info.tables == pair[1].info.tables);
    let rows = rows(runs);
    let content = context! {
        eyebrow => "Feasible comparison",
        title => name(&format!("{} runs side by side", runs.len())),
        verdict => value(&overall(runs, &labels))?,
        columns => value(&columns)?,
        results => value(&table(runs, &labels, &results()))?,
        settings => value(&table(runs, &labels, &settings()))?,
        rows => value(&rows)?,
        same_data,
        figures_of_runs => drawn(&figures),
        commands,
    };
    Ok((page(include_str!("compare.html"), content)?, figures))
}

fn column((run, label): (&Run, &String)) -> Column {
    let verdict = verdict(run);
    Column {
        label: label.clone(),
        title: name(run.title()),
        met: verdict.state == "met",
        none: verdict.state == "none",
        sentence: verdict.sentence,
    }
}

fn overall(runs: &[Run], labels: &[String]) -> PageVerdict {
    let bound: Vec<&Run> =
        runs.iter().filter(|run| !run.summary.judged().1.requirements.is_empty()).collect();
    let met = bound.iter().filter(|run| run.summary.met()).count();
    let (all, free) = (bound.len(), runs.len() - bound.len());
    let failed: Vec<&str> = runs
        .iter()
        .zip(labels)
        .filter(|(run, _)| !run.summary.judged().1.requirements.is_empty() && !run.summary.met())
        .map(|(_, label)| label.as_str())
        .collect();
    let sentence = match (all, met) {
        (0, _) => "No requirements in any of the runs.".to_string(),
        (1, 1) => "The run with requirements meets them.".into(),
        (2, 2) => "Both runs meet their requirements.".into(),
        (all, met) if met == all => format!("All {all} runs meet their requirements."),
        (all, 0) if all > 1 => format!("None of {all} runs meets its requirements."),
        (all, met) => {
            let counted = match (all, met) {
                (1, _) => String::new(),
                (_, 1) => format!("; 1 of {all} runs meets its requirements"),
                _ => format!("; {met} of {all} runs meet theirs"),
            };
            format!("Requirements not met by {}{counted}.", listed(&failed))
        }
    };
    let more = match free {
        0 => String::new(),
        _ if all == 0 => String::new(),
        1 => "1 more run has no requirements.".into(),
        n => format!("{n} more runs have no requirements."),
    };
    let state = match all {
        0 => "none",
        all if met == all => "met",
        _ => "missed",
    };
    PageVerdict { state, sentence, more }
}

/// A measure of a run, if it has it.
type Measure = (&'static str, Box<dyn Fn(&Run) -> Option<String>>);

/// Measures that some run has, a row for each run.
fn table(runs: &[Run], labels: &[String], measures: &[Measure]) -> Table {
    let known: Vec<&Measure> =
        measures.iter().filter(|(_, of)| runs.iter().any(|run| of(run).is_some())).collect();
    let row = |(run, label): (&Run, &String)| TableRow {
        run: column((run, label)),
        values: known.iter().map(|(_, of)| of(run).unwrap_or_default()).collect(),
    };
    Table {
        head: known.iter().map(|(name, _)| *name).collect(),
        rows: runs.iter().zip(labels).map(row).collect(),
    }
}

fn results() -> Vec<Measure> {
    vec![
        ("accuracy", Box::new(|run| run.summary.judged().1.accuracy.map(percent))),
        ("root mean squared error", Box::new(|run| run.summary.judged().1.rmse.map(number))),
        ("objective", Box::new(|run| Some(number(run.summary.judged().1.objective)))),
        (
            "flip rate",
            Box::new(|run| {
                let rates = run.summary.judged().1.flip_rates.iter().map(|f| f.share);
                rates.reduce(f64::max).map(percent)
            }),
        ),
        (
            "judged by",
            Box::new(|run| {
                let (part, judged) = run.summary.judged();
                Some(format!("{} {part} rows", grouped(&judged.rows.to_string())))
            }),
        ),
        (
            "training took",
            Box::new(|run| {
                let seconds: f64 = run.timings.iter().map(|t| t.primal + t.dual).sum();
                (seconds > 0.0).then(|| duration(seconds))
            }),
        ),
    ]
}

fn settings() -> Vec<Measure> {
    let setting = |run: &Run, key: &str| {
        let value = run.settings.get("training")?.get(key)?;
        Some(name(&value.as_str().map_or_else(|| value.to_string(), String::from)))
    };
    vec![
        ("best epoch", Box::new(|run| run.summary.best_epoch())),
        ("objective, train", Box::new(|run| Some(number(run.summary.train.objective)))),
        ("parameters", Box::new(|run| Some(grouped(&run.summary.parameters.to_string())))),
        ("recipe", Box::new(move |run| setting(run, "recipe"))),
        ("seed", Box::new(|run| Some(run.summary.seed.to_string()))),
        ("how it ended", Box::new(|run| Some(ended(run)))),
    ]
}

/// Every requirement that any run has, in the order they come up.
fn names(runs: &[Run]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for standing in runs.iter().flat_map(|run| &run.summary.judged().1.requirements) {
        if seen.insert(standing.name.as_str()) {
            names.push(&standing.name);
        }
    }
    names.truncate(MOST);
    names
}

fn of<'a>(standings: &'a [RequirementResult], name: &str) -> Option<&'a RequirementResult> {
    standings.iter().find(|s| s.name == name)
}

fn rows(runs: &[Run]) -> Vec<Row> {
    let row = |one: &str| {
        let cell = |run: &Run| {
            let judged = of(&run.summary.judged().1.requirements, one);
            let multiplier = of(&run.summary.train.requirements, one).and_then(|s| s.multiplier);
            Cell {
                known: judged.is_some_and(RequirementResult::is_known),
                met: judged.is_some_and(|s| s.met),
                value: judged.and_then(|s| s.value).map_or(String::new(), number),
                multiplier: multiplier.map_or(String::new(), number),
            }
        };
        let limits = runs.iter().filter_map(|run| of(&run.summary.judged().1.requirements, one));
        let mut limits: Vec<String> = limits.map(|s| limit(s, s.limit)).collect();
        limits.dedup();
        let cells: Vec<Cell> = runs.iter().map(cell).collect();
        let missed = cells.iter().filter(|cell| cell.known && !cell.met).count();
        Row { name: name(one), limit: limits.join(", "), cells, missed }
    };
    let mut rows: Vec<Row> = names(runs).into_iter().map(row).collect();
    // Failures first; the rest in the order they come up.
    rows.sort_by_key(|row| row.missed == 0);
    rows
}

fn figures(runs: &[Run], labels: &[String]) -> Vec<Figure> {
    let mut figures = Vec::new();
    let chart = |title: &str, y: Axis| Chart::new(title).x(Axis::new("epoch").whole()).y(y);
    let overlaid = |mut chart: Chart, of: &dyn Fn(&EpochMetrics) -> f64| {
        for (run, label) in runs.iter().zip(labels) {
            // The networks of an average have several epochs of one number.
            let single = run.epochs.iter().filter(|epoch| epoch.fold.is_none());
            let points: Vec<_> = single.map(|e| (e.epoch as f64, of(e))).collect();
            if !points.is_empty() {
                chart = chart.series(Series::line(label, points));
            }
        }
        chart
    };
    if runs.iter().all(|run| run.epochs.is_empty()) {
        return figures;
    }
    // Losses of different problems may be of very different sizes.
    let sizes = || runs.iter().flat_map(|run| &run.epochs).map(|e| e.objective);
    let (low, high) = sizes().fold((f64::INFINITY, 0.0_f64), |(a, b), x| (a.min(x), b.max(x)));
    let scale = if low > 0.0 && high > 30.0 * low { Scale::Log } else { Scale::Linear };
    let objective =
        chart("Objective on the training rows", Axis::new("average loss").scaled(scale));
    figures.push(Figure::chart("objective", overlaid(objective, &|e| e.objective)));
    let worst = |epoch: &EpochMetrics| {
        let violations = epoch.requirements.iter().map(|r| r.worst_violation);
        violations.fold(f64::NEG_INFINITY, f64::max)
    };
    let names = names(runs);
    if !names.is_empty() {
        let scale = signed_scale(runs.iter().flat_map(|run| &run.epochs).map(worst));
        let violation =
            chart("Largest violation", Axis::new("violation").scaled(scale).including(&[0.0]))
                .shade(f64::NEG_INFINITY, 0.0, "feasible: violation ≤ 0");
        figures.push(Figure::chart("violations", overlaid(violation, &worst)));
        let prefix = common_prefix(&names);
        if names.len() <= CHARTS {
            for (at, one) in names.iter().enumerate() {
                let y = Axis::new("μ, or the mean of λ").including(&[0.0]);
                let title = format!("Multiplier of '{}'", &one[prefix..]);
                let of = |epoch: &EpochMetrics| {
                    let found = epoch.requirements.iter().find(|r| r.name == *one);
                    found.map_or(f64::NAN, |r| r.multiplier)
                };
                let file = format!("multiplier-{}", at + 1);
                figures.push(Figure::chart(&file, overlaid(chart(&title, y), &of)));
            }
        } else {
            let y = Axis::new("sum of all multipliers").including(&[0.0]);
            let of =
                |epoch: &EpochMetrics| epoch.requirements.iter().map(|r| r.multiplier).sum::<f64>();
            figures.push(Figure::chart("multipliers", overlaid(chart("Multipliers", y), &of)));
        }
    }
    let accuracy: Vec<Bar> = runs
        .iter()
        .zip(labels)
        .filter_map(|(run, label)| Some(Bar::new(label, 100.0 * run.summary.judged().1.accuracy?)))
        .collect();
    if accuracy.len() > 1 {
        let title = "Accuracy on the rows each is judged by";
        figures.push(Figure::bars("accuracy", Bars::new(title, "% of rows", accuracy)));
    }
    figures
}
