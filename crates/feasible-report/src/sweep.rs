//! The page of a sweep: what a stricter limit costs.

use feasible_problem::spec::RequirementKind;
use feasible_run::Frontier;
use feasible_run::summary::Spread;
use feasible_run::sweep::{Key, Point, Starts};
use minijinja::context;
use serde::Serialize;

use crate::chart::{Axis, Chart, Mark, Scale, Series, number};
use crate::error::Result;
use crate::figures::{Figure, signed_scale};
use crate::format::percent;
use crate::layout::PageVerdict;
use crate::layout::{bounded, drawn, name, page, value};
use crate::requirements::Tile;

#[derive(Serialize)]
struct Row {
    limit: String,
    cells: Vec<Cell>,
}

/// A mean and its spread.
#[derive(Serialize)]
struct Cell {
    value: String,
    spread: Option<String>,
}

impl Cell {
    /// Of text such as `0.31 ± 0.02 %`.
    fn of(text: String) -> Self {
        match text.split_once(" ± ") {
            Some((mean, sd)) => {
                let unit = if sd.ends_with(" %") { " %" } else { "" };
                Self { value: format!("{mean}{unit}"), spread: Some(format!("± {sd}")) }
            }
            None => Self { value: text, spread: None },
        }
    }
}

/// The page, and its figures.
pub(crate) fn render(frontier: &Frontier, command: &str) -> Result<(String, Vec<Figure>)> {
    let figures = figures(frontier);
    let part = frontier.part();
    let seeds: Vec<String> = frontier.seeds.iter().map(u64::to_string).collect();
    let (head, rows) = table(frontier);
    let content = context! {
        eyebrow => "Feasible sweep",
        title => name(&format!("{}: the limit of ‘{}’", frontier.problem, frontier.requirement)),
        verdict => value(&verdict(frontier))?,
        tiles => value(&tiles(frontier))?,
        requirement => name(&frontier.requirement),
        part => part,
        several => frontier.seeds.len() > 1,
        seeds => bounded(&seeds.join(", "), 200),
        starts => match frontier.starts {
            Starts::Chain => {
                "Limits were solved from the loosest to the strictest, each from the solution of \
                 the one before."
            }
            Starts::Loosest => {
                "Every limit was solved from the solution of the loosest one, with the same epochs."
            }
            Starts::Afresh => {
                "Every limit was solved afresh, with the same epochs, batches and initial \
                 parameters."
            }
        },
        pointwise => frontier.kind == RequirementKind::Pointwise,
        head => value(&head)?,
        rows => value(&rows)?,
        figures_of_sweep => drawn(&figures),
        numbers => frontier.points.iter().any(|p| p.train.rmse.is_some()),
        command => bounded(command, 2_000),
    };
    Ok((page(include_str!("sweep.html"), content)?, figures))
}

/// The strictest and the loosest limit.
fn ends(frontier: &Frontier) -> Option<(f64, f64)> {
    let (first, last) = (*frontier.limits.first()?, *frontier.limits.last()?);
    Some(if frontier.key == Key::AtLeast { (last, first) } else { (first, last) })
}

fn verdict(frontier: &Frontier) -> PageVerdict {
    let accuracy = |limit: f64| frontier.spread(limit, |p| p.at_last().accuracy);
    let rmse = |limit: f64| frontier.spread(limit, |p| p.at_last().rmse);
    let part = frontier.part();
    let sentence = ends(frontier).and_then(|(strict, loose)| {
        let from = format!("From {} to {}", number(loose), number(strict));
        let (what, a, b) = match (accuracy(loose), accuracy(strict)) {
            (Some(a), Some(b)) => ("accuracy", percent(a.mean), percent(b.mean)),
            _ => ("the error", number(rmse(loose)?.mean), number(rmse(strict)?.mean)),
        };
        Some(match a == b {
            true => format!("{from}, {what} on the {part} rows stays at {a}."),
            false => format!("{from}, {what} on the {part} rows goes from {a} to {b}."),
        })
    });
    let sentence = sentence.unwrap_or_else(|| "There is nothing to compare.".into());
    let met = frontier.points.iter().filter(|p| p.at_last().met).count();
    let all = frontier.points.len();
    let more = format!("{met} of {all} models meet every requirement on the {part} rows.");
    PageVerdict { state: "none", sentence, more }
}

fn tiles(frontier: &Frontier) -> Vec<Tile> {
    let strictest = frontier
        .limits
        .iter()
        .filter(|&&limit| frontier.at(limit).all(|point| point.at_last().met))
        .copied()
        .reduce(if frontier.key == Key::AtLeast { f64::max } else { f64::min });
    let sign = frontier.key.sign();
    let mut tiles = vec![
        Tile {
            label: "Limits",
            value: frontier.limits.len().to_string(),
            note: match ends(frontier) {
                Some((strict, loose)) => {
                    format!("{sign} {} to {sign} {}", number(loose), number(strict))
                }
                None => String::new(),
            },
        },
        Tile {
            label: "Seeds",
            value: frontier.seeds.len().to_string(),
            note: "each limit with each seed".into(),
        },
    ];
    tiles.push(Tile {
        label: "Strictest limit met",
        value: strictest.map_or("none".into(), |limit| format!("{sign} {}", number(limit))),
        note: format!("by all seeds, on the {} rows", frontier.part()),
    });
    tiles
}

fn figures(frontier: &Frontier) -> Vec<Figure> {
    let part = frontier.part().to_string();
    let judged = part != "train";
    let positive = frontier.limits.iter().all(|&limit| limit > 0.0);
    let wide =
        frontier.limits.last().zip(frontier.limits.first()).is_some_and(|(b, a)| b / a > 5.0);
    let x_scale = if positive && wide { Scale::Log } else { Scale::Linear };
    let x = || Axis::new(&format!("limit of '{}'", frontier.requirement)).scaled(x_scale);
    let series = |name: &str, of: &dyn Fn(&Point) -> Option<f64>| -> Series {
        let spreads: Vec<(f64, Spread)> = frontier
            .limits
            .iter()
            .filter_map(|&limit| Some((limit, frontier.spread(limit, of)?)))
            .collect();
        let points = spreads.iter().map(|(limit, s)| (*limit, s.mean)).collect();
        let several = spreads.iter().any(|(_, s)| s.n > 1);
        let band = spreads.iter().map(|(limit, s)| (*limit, s.mean - s.sd, s.mean + s.sd));
        let series = Series::new(name, Mark::LineAndDots, points);
        if several { series.with_band(band.collect()) } else { series }
    };
    let both = |mut chart: Chart, of: &dyn Fn(&feasible_run::sweep::Achieved) -> Option<f64>| {
        chart = chart.series(series("training rows", &|p| of(&p.train)));
        if judged {
            let name = format!("{part} rows");
            chart = chart.series(series(&name, &|p| p.judged.as_ref().and_then(of)));
        }
        chart
    };
    let share = |x: Option<f64>| x.map(|x| 100.0 * x);
    let mut figures = Vec::new();
    let objective = Chart::new("Objective").x(x()).y(Axis::new("average loss"));
    figures.push(Figure::chart("objective", both(objective, &|a| a.objective)));
    let numbers = frontier.points.iter().any(|p| p.train.rmse.is_some());
    if numbers {
        let chart = Chart::new("Error").x(x()).y(Axis::new("root mean squared error"));
        figures.push(Figure::chart("error", both(chart, &|a| a.rmse)));
    } else {
        let chart = Chart::new("Accuracy").x(x()).y(Axis::new("% of rows"));
        figures.push(Figure::chart("accuracy", both(chart, &|a| share(a.accuracy))));
    }
    if frontier.kind == RequirementKind::Pointwise {
        let chart =
            Chart::new("Violation").x(x()).y(Axis::new("% over the limit").including(&[0.0, 1.0]));
        figures.push(Figure::chart("violation", both(chart, &|a| share(a.violated))));
    } else {
        let violations = || {
            let of = |p: &Point| [p.train.worst_violation, p.at_last().worst_violation];
            frontier.points.iter().flat_map(of).flatten()
        };
        let axis =
            Axis::new("largest violation").scaled(signed_scale(violations())).including(&[0.0]);
        let chart = Chart::new("Violation").x(x()).y(axis);
        let chart = chart.shade(f64::NEG_INFINITY, 0.0, "feasible: violation ≤ 0");
        figures.push(Figure::chart("violation", both(chart, &|a| a.worst_violation)));
    }
    let scale = signed_scale(frontier.points.iter().filter_map(|p| p.multiplier));
    let axis = match frontier.kind {
        RequirementKind::Pointwise => "mean of λ",
        RequirementKind::Average => "μ, summed over its constraints",
    };
    let axis = Axis::new(axis).scaled(scale).including(&[0.0]);
    let chart = Chart::new("Multiplier").x(x()).y(axis);
    figures
        .push(Figure::chart("multiplier", chart.series(series("multiplier", &|p| p.multiplier))));
    figures
}

fn table(frontier: &Frontier) -> (Vec<String>, Vec<Row>) {
    let part = frontier.part();
    let numbers = frontier.points.iter().any(|p| p.train.rmse.is_some());
    let over = if frontier.kind == RequirementKind::Pointwise {
        "over the limit"
    } else {
        "largest violation"
    };
    let head = vec![
        format!("met on {part}"),
        if numbers { format!("error, {part}") } else { format!("accuracy, {part}") },
        format!("{over}, {part}"),
        format!("{over}, train"),
        format!("objective, {part}"),
        "objective, train".to_string(),
        "multiplier".into(),
    ];
    let n = frontier.seeds.len();
    let row = |&limit: &f64| {
        let rounded = |s: Spread| if s.n == 1 { number(s.mean) } else { s.as_rounded() };
        let numbered = |of: &dyn Fn(&Point) -> Option<f64>| {
            frontier.spread(limit, of).map_or(String::new(), rounded)
        };
        let shared = |of: &dyn Fn(&Point) -> Option<f64>| {
            frontier.spread(limit, of).map_or(String::new(), |s| s.as_percent(2))
        };
        let over = |of: &dyn Fn(&Point) -> &feasible_run::sweep::Achieved| match frontier.kind {
            RequirementKind::Pointwise => shared(&|p| of(p).violated),
            RequirementKind::Average => numbered(&|p| of(p).worst_violation),
        };
        let met = frontier.at(limit).filter(|p| p.at_last().met).count();
        Row {
            limit: format!("{} {}", frontier.key.sign(), number(limit)),
            cells: vec![
                format!("{met} of {n}"),
                match numbers {
                    true => numbered(&|p| p.at_last().rmse),
                    false => shared(&|p| p.at_last().accuracy),
                },
                over(&|p| p.at_last()),
                over(&|p| &p.train),
                numbered(&|p| p.at_last().objective),
                numbered(&|p| p.train.objective),
                numbered(&|p| p.multiplier),
            ]
            .into_iter()
            .map(Cell::of)
            .collect(),
        }
    };
    let mut rows: Vec<Row> = frontier.limits.iter().map(row).collect();
    if frontier.key == Key::AtLeast {
        rows.reverse();
    }
    (head, rows)
}
