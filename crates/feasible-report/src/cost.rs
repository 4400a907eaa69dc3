//! What the requirements cost: the run beside a model of the same recipe without them.

use feasible_run::groups::{GroupRates, GroupTable};
use feasible_run::{Baseline, Difference, RequirementResult};
use serde::Serialize;

use crate::chart::number;
use crate::format::percent;
use crate::groups::is_called;
use crate::layout::{name, unbroken};
use crate::requirements::MOST;
use crate::run::Run;

/// Groups of fewer rows are not compared.
const FEWEST: u64 = 10;

/// What the template is given; nothing without requirements.
#[derive(Serialize)]
pub(crate) struct CostSection {
    /// The rows.
    part: &'static str,
    /// What it comes to, or why nothing is known.
    sentences: Vec<String>,
    lines: Vec<CostLine>,
    requirements: Vec<CostLine>,
    groups: Vec<GroupCost>,
    /// How to get a baseline, if there is none.
    how: bool,
}

#[derive(Serialize)]
struct CostLine {
    label: String,
    with: String,
    without: String,
    difference: String,
    /// Of a requirement: whether the model without requirements meets it.
    met: Option<bool>,
}

/// The groups of a column.
#[derive(Serialize)]
struct GroupCost {
    column: String,
    /// What is compared, each with a value with and without.
    measures: Vec<String>,
    rows: Vec<GroupCostRow>,
}

#[derive(Serialize)]
struct GroupCostRow {
    group: String,
    rows: String,
    cells: Vec<(String, String, String)>,
}

pub(crate) fn section(run: &Run) -> Option<CostSection> {
    let (part, judged) = run.summary.judged();
    if judged.requirements.is_empty() {
        return None;
    }
    let mut section = CostSection {
        part,
        sentences: Vec::new(),
        lines: Vec::new(),
        requirements: Vec::new(),
        groups: Vec::new(),
        how: false,
    };
    let cost: Vec<&Difference> =
        run.summary.cost.iter().filter(|one| one.part == part).take(MOST).collect();
    let Some(baseline) = run.baseline.as_ref().filter(|_| !cost.is_empty()) else {
        section.how = true;
        return Some(section);
    };
    section.sentences = sentences(&cost, part).iter().map(|text| unbroken(text)).collect();
    section.lines = cost.iter().map(|one| line(one)).collect();
    let pairs = judged.requirements.iter().zip(&baseline.judged().requirements);
    section.requirements = pairs.take(MOST).map(requirement).collect();
    section.groups = groups(run, baseline);
    Some(section)
}

/// What it comes to, for somebody who reads nothing else.
fn sentences(cost: &[&Difference], part: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(of) = cost.iter().find(|one| one.measure == "accuracy") {
        let points = 100.0 * of.difference.abs();
        let change = match of.difference {
            _ if points < 0.005 => "the requirements cost no accuracy".to_string(),
            d if d < 0.0 => format!("the requirements cost {} points", rounded(points)),
            _ => format!("{} points more", rounded(points)),
        };
        sentences.push(format!(
            "Without the requirements the same recipe reaches an accuracy of {} on the {part} rows; with them it is \
             {}: {change}.",
            percent(of.without),
            percent(of.with)
        ));
    } else if let Some(of) = cost.iter().find(|one| one.measure.starts_with("root mean")) {
        sentences.push(format!(
            "Without the requirements the same recipe has a {} of {} on the {part} rows; with them it is {}.",
            of.measure,
            number(of.without),
            number(of.with)
        ));
    }
    let flips = cost.iter().filter(|one| one.measure.starts_with("flip rate, "));
    if let Some(of) = flips.max_by(|a, b| a.without.total_cmp(&b.without)) {
        let of_whom = of.measure.trim_start_matches("flip rate, ");
        sentences.push(format!(
            "Under {}, {} of its predictions change without the requirements, {} with them.",
            name(of_whom),
            percent(of.without),
            percent(of.with)
        ));
    }
    sentences
}

fn rounded(points: f64) -> String {
    if points < 1.0 { format!("{points:.2}") } else { format!("{points:.1}") }
}

/// `+1.20 points`, `−0.003`.
fn signed(x: f64, share: bool) -> String {
    let sign = if x > 0.0 { "+" } else { "" };
    match share {
        true => format!("{sign}{:.2} points", 100.0 * x).replace('-', "−"),
        false => format!("{sign}{}", number(x)),
    }
}

fn line(of: &Difference) -> CostLine {
    let share = of.is_share();
    let shown = |x: f64| if share { percent(x) } else { number(x) };
    CostLine {
        label: name(&of.measure),
        with: shown(of.with),
        without: shown(of.without),
        difference: signed(of.difference, share),
        met: None,
    }
}

fn requirement((with, without): (&RequirementResult, &RequirementResult)) -> CostLine {
    let value = |of: &RequirementResult| of.value.map_or("no rows".into(), number);
    let difference = with.value.zip(without.value).map(|(a, b)| a - b);
    CostLine {
        label: name(&with.name),
        with: value(with),
        without: value(without),
        difference: difference.map_or(String::new(), |d| signed(d, false)),
        met: without.is_known().then_some(without.met),
    }
}

/// The groups of single columns, with and without.
fn groups(run: &Run, baseline: &Baseline) -> Vec<GroupCost> {
    let Some(groups) = &run.groups else { return Vec::new() };
    let one = |table: &GroupTable| {
        let other = baseline.groups.tables.iter().find(|other| other.columns == table.columns)?;
        let first = table.groups.first()?;
        let measures: Vec<String> = match first.rates.is_empty() {
            true => first.means.iter().skip(1).map(|mean| mean.name.clone()).collect(),
            false => ["accuracy", "selection rate", "recall", "false positive rate"]
                .into_iter()
                .filter_map(|wanted| first.rates.iter().find(|rate| is_called(&rate.name, wanted)))
                .map(|rate| rate.name.clone())
                .collect(),
        };
        let row = |with: &GroupRates| {
            let without = other.groups.iter().find(|other| other.group == with.group)?;
            let cell = |measure: &String| {
                let (a, b) = (measured(with, measure), measured(without, measure));
                let share = !first.rates.is_empty();
                let shown = |x: Option<f64>| match x {
                    Some(x) if share => percent(x),
                    Some(x) => number(x),
                    None => "–".into(),
                };
                let difference = a.zip(b).map_or(String::new(), |(a, b)| signed(a - b, share));
                (shown(a), shown(b), difference)
            };
            Some(GroupCostRow {
                group: name(&with.group),
                rows: crate::chart::grouped(&with.rows.to_string()),
                cells: measures.iter().map(cell).collect(),
            })
        };
        let many = table.groups.iter().filter(|group| group.rows >= FEWEST);
        let rows: Vec<GroupCostRow> = many.filter_map(row).take(MOST).collect();
        let column = name(table.columns.first()?);
        (!rows.is_empty()).then_some(GroupCost { column, measures, rows })
    };
    groups.tables.iter().filter(|table| table.columns.len() == 1).filter_map(one).collect()
}

fn measured(of: &GroupRates, measure: &str) -> Option<f64> {
    match of.rates.iter().find(|rate| rate.name == measure) {
        Some(rate) => rate.share(),
        None => of.means.iter().find(|mean| mean.name == measure).map(|mean| mean.value),
    }
}
