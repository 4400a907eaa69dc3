//! How the model does within groups: tables with intervals, the confusion matrix, calibration, thresholds.

use feasible_run::GroupTables;
use feasible_run::groups::{CountedRate, GroupRates, GroupTable};
use minijinja::value::Value;
use serde::Serialize;

use crate::chart::{Axis, Bar, Bars, Chart, Mark, Series, grouped, number};
use crate::figures::Figure;
use crate::format::percent;
use crate::layout::{drawn, name};
use crate::requirements::MOST;
use crate::run::Run;

/// Groups, and rates, of fewer rows are greyed.
const FEW: u64 = 10;
/// It stands below the mean probability.
const CALIBRATION_ERROR: &str = "calibration error";
/// Classes whose confusion is shown, and groups whose rates are drawn.
const MOST_CLASSES: usize = 12;
const MOST_DRAWN: usize = 3;

/// What the template is given.
#[derive(Serialize)]
pub(crate) struct GroupSection {
    part: String,
    confidence: String,
    everyone: GroupRow,
    measures: Vec<String>,
    tables: Vec<GroupGrid>,
    crossed: Vec<GroupGrid>,
    /// The recall of each class, of more than two.
    classes: Vec<GroupRow>,
    confusion: Option<Confusion>,
}

#[derive(Serialize)]
struct GroupGrid {
    columns: String,
    /// From where to where a rate goes, in a sentence.
    sentence: String,
    rows: Vec<GroupRow>,
    left_out: usize,
}

#[derive(Serialize)]
struct GroupRow {
    group: String,
    rows: String,
    few: bool,
    cells: Vec<GroupCell>,
}

#[derive(Serialize)]
struct GroupCell {
    value: String,
    interval: String,
    few: bool,
}

#[derive(Serialize)]
struct Confusion {
    classes: Vec<String>,
    rows: Vec<(String, Vec<(String, String)>)>,
}

/// The section, if the run has groups.
pub(crate) fn section(run: &Run) -> Option<GroupSection> {
    let groups = run.groups.as_ref()?;
    let everyone = &groups.everyone;
    let rates = everyone.rates.iter().map(|rate| name(&rate.name));
    let means = everyone.means.iter().filter(|mean| mean.name != CALIBRATION_ERROR);
    let measures = rates.chain(means.map(|mean| name(&mean.name)));
    let (tables, crossed): (Vec<&GroupTable>, Vec<&GroupTable>) =
        groups.tables.iter().partition(|table| table.columns.len() == 1);
    let all = |tables: Vec<&GroupTable>| tables.into_iter().take(MOST).map(grid).collect();
    Some(GroupSection {
        part: name(&groups.part),
        confidence: format!("{}\u{a0}%", number(100.0 * groups.confidence)),
        everyone: row(everyone),
        measures: measures.take(MOST).collect(),
        tables: all(tables),
        crossed: all(crossed),
        classes: classes(everyone),
        confusion: confusion(run),
    })
}

fn grid(table: &GroupTable) -> GroupGrid {
    let columns: Vec<String> = table.columns.iter().map(|column| name(column)).collect();
    GroupGrid {
        columns: columns.join(" and "),
        sentence: range(table),
        rows: table.groups.iter().take(MOST).map(row).collect(),
        left_out: table.left_out + table.groups.len().saturating_sub(MOST),
    }
}

fn row(of: &GroupRates) -> GroupRow {
    let rate = |rate: &CountedRate| GroupCell {
        value: rate.share().map_or("–".into(), percent),
        interval: match rate.rows {
            0 => "no rows".into(),
            n if n < FEW => format!("{} of {n} rows", rate.hits),
            _ => format!("{:.1} to {:.1} %", 100.0 * rate.low, 100.0 * rate.high),
        },
        few: rate.rows < FEW,
    };
    let mean = |mean: &feasible_run::groups::NamedMean| GroupCell {
        value: match mean.name.as_str() {
            "mean probability" if mean.value.is_finite() => percent(mean.value),
            _ if mean.value.is_nan() => "–".into(),
            _ => number(mean.value),
        },
        // Both are about the same probabilities: one column.
        interval: match of.means.iter().find(|other| other.name == CALIBRATION_ERROR) {
            Some(error) if error.value.is_finite() => format!("off by {}", percent(error.value)),
            _ => String::new(),
        },
        few: of.rows < FEW,
    };
    let means = of.means.iter().filter(|mean| mean.name != CALIBRATION_ERROR);
    GroupRow {
        group: name(&of.group),
        rows: grouped(&of.rows.to_string()),
        few: of.rows < FEW,
        cells: of.rates.iter().map(rate).chain(means.map(mean)).take(MOST).collect(),
    }
}

/// Of more than two classes the rows of each, and the share that is predicted to be of it.
fn classes(everyone: &GroupRates) -> Vec<GroupRow> {
    let of_class = |rate: &CountedRate| {
        let class = rate.name.strip_prefix("recall of '")?.strip_suffix('\'')?;
        let (group, rows) = (class.to_string(), rate.rows);
        Some(row(&GroupRates { group, rows, rates: vec![rate.clone()], means: Vec::new() }))
    };
    let found: Vec<GroupRow> = everyone.rates.iter().filter_map(of_class).take(MOST).collect();
    if found.len() > 1 { found } else { Vec::new() }
}

/// Whether a measure is this one, of whatever class.
pub(crate) fn is_called(measure: &str, name: &str) -> bool {
    measure.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(" of '"))
}

/// `The selection rate goes from 8.1 % (Female) to 26.0 % (Male); the accuracy from …`, of groups that are not small.
fn range(table: &GroupTable) -> String {
    let large: Vec<&GroupRates> = table.groups.iter().filter(|group| group.rows >= FEW).collect();
    let of = |measure: &str| -> Option<String> {
        let value = |group: &&GroupRates| -> Option<(f64, String)> {
            let rate = group.rates.iter().find(|rate| is_called(&rate.name, measure));
            let value = match rate {
                Some(rate) => rate.share()?,
                None => group.means.iter().find(|mean| mean.name == measure)?.value,
            };
            value.is_finite().then(|| (value, name(&group.group)))
        };
        let values: Vec<(f64, String)> = large.iter().filter_map(value).collect();
        let (low, first) = values.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let (high, last) = values.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let shown = |x: f64| match measure {
            "bias" => number(x),
            _ => format!("{:.1} %", 100.0 * x),
        };
        let rates = &large.first()?.rates;
        let full = rates.iter().find(|rate| is_called(&rate.name, measure));
        let measure = full.map_or(measure.to_string(), |rate| name(&rate.name));
        (values.len() > 1 && low < high).then(|| {
            format!("{measure} from {} ({first}) to {} ({last})", shown(*low), shown(*high))
        })
    };
    let found: Vec<String> =
        ["selection rate", "accuracy", "bias"].into_iter().filter_map(of).collect();
    if found.is_empty() { String::new() } else { format!("Between groups: {}.", found.join("; ")) }
}

/// The confusion matrix of the rows the model is judged by.
fn confusion(run: &Run) -> Option<Confusion> {
    let (_, judged) = run.summary.judged();
    let (table, classes) = (judged.confusion.as_ref()?, judged.by_class.as_ref()?);
    if table.len() > MOST_CLASSES || classes.len() != table.len() {
        return None;
    }
    let classes: Vec<String> = classes.iter().map(|class| name(&class.class)).collect();
    let line = |(class, counts): (&String, &Vec<u64>)| {
        let all: u64 = counts.iter().fold(0, |sum, n| sum.saturating_add(*n));
        let cell = |n: &u64| {
            let share = if all > 0 { percent(*n as f64 / all as f64) } else { String::new() };
            (grouped(&n.to_string()), share)
        };
        (class.clone(), counts.iter().map(cell).collect())
    };
    let rows = classes.iter().zip(table).map(line).collect();
    Some(Confusion { classes, rows })
}

/// Rates by group, the calibration curve, rates against the threshold.
pub(crate) fn figures(run: &Run) -> Vec<Figure> {
    let Some(groups) = &run.groups else { return Vec::new() };
    let mut figures = Vec::new();
    let single = groups.tables.iter().filter(|table| table.columns.len() == 1);
    for (at, table) in single.take(MOST_DRAWN).enumerate() {
        figures.extend(by_group(table, at + 1, groups));
    }
    figures.extend(calibration(run, groups));
    figures.extend(thresholds(run, groups));
    figures
}

/// The figures as the template takes them.
pub(crate) fn drawn_figures(run: &Run) -> Vec<Value> {
    drawn(&figures(run))
}

fn by_group(table: &GroupTable, at: usize, groups: &GroupTables) -> Option<Figure> {
    let column = table.columns.first()?;
    let wanted = ["selection rate", "accuracy"];
    let of = |group: &GroupRates| {
        let rate =
            |wanted: &&str| group.rates.iter().find(|rate| is_called(&rate.name, wanted)).cloned();
        wanted.iter().find_map(rate)
    };
    let measure = of(&groups.everyone)?.name;
    let everyone = of(&groups.everyone)?.share();
    let bar = |group: &GroupRates| {
        let rate = of(group)?;
        Some(Bar {
            name: group.group.clone(),
            value: 100.0 * rate.share()?,
            interval: Some((100.0 * rate.low, 100.0 * rate.high)),
            reference: everyone.map(|share| 100.0 * share),
            colour: 0,
        })
    };
    let bars: Vec<Bar> =
        table.groups.iter().filter(|group| group.rows >= FEW).filter_map(bar).collect();
    if bars.len() < 2 {
        return None;
    }
    let mut title = measure.clone();
    title.replace_range(..1, &measure[..1].to_uppercase());
    let title = format!("{title} by {column}");
    let axis = format!("{measure} in %, with its interval; the tall tick is everyone");
    Some(Figure::bars(&format!("rates-{at}"), Bars::new(&title, &axis, bars)))
}

fn calibration(run: &Run, groups: &GroupTables) -> Option<Figure> {
    if groups.calibration.is_empty() {
        return None;
    }
    let positive = positive(run);
    let x = |predicted: f64| 100.0 * predicted;
    let bins = || groups.calibration.iter().filter(|bin| bin.rows > 0);
    let points =
        bins().map(|bin| (x(bin.predicted), 100.0 * bin.hits as f64 / bin.rows as f64)).collect();
    let band = bins().map(|bin| (x(bin.predicted), 100.0 * bin.low, 100.0 * bin.high)).collect();
    let note = |bin: &feasible_run::groups::CalibrationBin| {
        let share = percent(bin.hits as f64 / bin.rows as f64);
        format!(
            "{share} of {} rows; predicted {}",
            grouped(&bin.rows.to_string()),
            percent(bin.predicted)
        )
    };
    let observed = Series::new("what happened", Mark::LineAndDots, points);
    let observed = observed.with_band(band).with_notes(bins().map(note).collect());
    let chart = Chart::new("Calibration")
        .note(&format!("How often {positive} occurs, against how probable it was predicted to be."))
        .x(Axis::new(&format!("predicted probability of {positive}, %")).including(&[0.0, 100.0]))
        .y(Axis::new(&format!("share of {positive}, %")).including(&[0.0, 100.0]))
        .series(observed)
        .series(
            Series::line("if probabilities were right", vec![(0.0, 0.0), (100.0, 100.0)]).muted(),
        );
    Some(Figure::chart("calibration", chart))
}

/// The positive class of two, quoted.
fn positive(run: &Run) -> String {
    match run.summary.judged().1.by_class.as_deref() {
        Some([_, positive]) => format!("'{}'", name(&positive.class)),
        _ => "the positive class".into(),
    }
}

fn thresholds(run: &Run, groups: &GroupTables) -> Option<Figure> {
    if groups.thresholds.is_empty() {
        return None;
    }
    let positive = positive(run);
    let line = |name: &str, of: &dyn Fn(&feasible_run::groups::ThresholdRates) -> Option<f64>| {
        let point =
            |at: &feasible_run::groups::ThresholdRates| Some((at.threshold, 100.0 * of(at)?));
        Series::line(name, groups.thresholds.iter().filter_map(point).collect())
    };
    let decision = run.summary.decision.as_ref();
    let mut chart = Chart::new("Rates against the threshold")
        .note(&format!(
            "What the rates would be if {positive} were predicted above another probability."
        ))
        .x(Axis::new("threshold").including(&[0.0, 1.0]))
        .y(Axis::new("%").including(&[0.0, 100.0]))
        .series(line(&format!("selection rate of {positive}"), &|at| Some(at.selection_rate)))
        .series(line(&format!("recall of {positive}"), &|at| at.true_positive_rate))
        .series(line(&format!("false positive rate of {positive}"), &|at| at.false_positive_rate))
        .series(line("accuracy", &|at| Some(at.accuracy)));
    let own = decision.and_then(|decision| decision.groups.as_ref());
    match own {
        Some(own) => {
            for (group, threshold) in own.thresholds.iter().take(4) {
                chart = chart.rule(*threshold, group);
            }
        }
        None => chart = chart.rule(decision.map_or(0.5, |one| one.threshold), "chosen"),
    }
    Some(Figure::chart("thresholds", chart))
}
