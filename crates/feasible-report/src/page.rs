//! The page: what the template is given. All text goes through the template's escaping; only
//! charts, which escape their own, are put in as they are.

use feasible::sensitivity::{Among, Prevalence};
use feasible_run::{Evaluation, Standing};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, context};
use serde::{Deserialize, Serialize};

use crate::chart::{css, grouped, number};
use crate::error::{Error, Result};
use crate::figures::Figure;
use crate::hard::{Data, Hard, Options};
use crate::multipliers::Multiplied;
use crate::run::Run;
use crate::words::{dual, duration, kind, percent};

/// Characters of a name that are shown.
const NAME: usize = 160;
/// Individuals that are listed for each pointwise requirement.
const INDIVIDUALS: usize = 10;
/// Pointwise requirements whose individuals are shown.
const REQUIREMENTS: usize = 20;
/// Requirements and parts of a page that are listed.
const MOST: usize = 500;

#[derive(Serialize)]
struct Verdict {
    met: bool,
    /// `met`, `missed` or `none`: also a class.
    state: &'static str,
    sentence: String,
}

#[derive(Serialize)]
struct Tile {
    label: &'static str,
    value: String,
    note: String,
}

#[derive(Serialize)]
struct Row {
    name: String,
    kind: &'static str,
    level: String,
    /// The level in training, if it was stricter.
    trained: String,
    value: String,
    worst: String,
    violated: String,
    met: bool,
    train_met: bool,
    train_value: String,
    multiplier: String,
    at_zero: String,
}

#[derive(Serialize)]
struct Price {
    name: String,
    multiplier: String,
    change: String,
}

#[derive(Serialize)]
struct Line {
    label: String,
    values: Vec<String>,
}

/// Who was hard for a pointwise requirement, or why that cannot be said.
pub(crate) struct Who {
    pub(crate) name: String,
    pub(crate) hard: std::result::Result<Hard, String>,
}

/// Who was hard, for each pointwise requirement that is listed.
pub(crate) fn who(run: &Run, options: &Options) -> Vec<Who> {
    let mut pointwise =
        run.multipliers.iter().filter(|m| m.pointwise).take(REQUIREMENTS).peekable();
    if pointwise.peek().is_none() {
        return Vec::new();
    }
    let data = Data::of(run);
    let one = |of: &Multiplied| Who {
        name: of.name.clone(),
        hard: data.as_ref().map_err(String::clone).and_then(|d| d.hard(of, options, INDIVIDUALS)),
    };
    pointwise.map(one).collect()
}

#[derive(Serialize)]
struct Pointwise {
    name: String,
    points: String,
    at_zero: String,
    /// Of whom the hardest are taken, in words.
    chosen: String,
    /// Why nothing is known of groups.
    sentence: String,
    columns: Vec<String>,
    largest: Vec<Individual>,
    groups: Vec<GroupRow>,
    /// Groups that were tested.
    tested: usize,
}

#[derive(Serialize)]
struct GroupRow {
    name: String,
    share: String,
    interval: String,
    share_of_all: String,
    ratio: String,
    adjusted: String,
}

#[derive(Serialize)]
struct Individual {
    row: String,
    multiplier: String,
    slack: String,
    violated: bool,
    values: Vec<String>,
}

pub(crate) fn render(
    run: &Run,
    options: &Options,
    who: &[Who],
    [hard, groups, training]: [&[Figure]; 3],
) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_template("page", include_str!("page.html"))?;
    let drawn = |figures: &[Figure]| -> Vec<Value> {
        let one = |figure: &Figure| {
            let svg = Value::from_safe_string(figure.inline.clone());
            context! { svg, description => bounded(&figure.description, 6_000) }
        };
        figures.iter().map(one).collect()
    };
    let (part, judged) = run.summary.judged();
    let parts: Vec<&str> = run.summary.parts().iter().map(|(name, _)| *name).collect();
    let page = context! {
        css => Value::from_safe_string(format!("{}{}", css(), include_str!("page.css"))),
        title => name(run.title()),
        verdict => value(&verdict(part, judged))?,
        outcome => name(&run.summary.outcome.to_string()),
        part => part,
        confidence => format!("{} %", number(100.0 * options.confidence)),
        judged_on_train => part == "train",
        tiles => value(&tiles(run))?,
        rows => value(&rows(run))?,
        left_out => judged.requirements.len().saturating_sub(MOST),
        parts => value(&parts)?,
        lines => value(&lines(run))?,
        flips => value(&flips(run))?,
        prices => value(&prices(run))?,
        time => time(run),
        dual => dual(run),
        free => free(run),
        pointwise => value(&pointwise(run, options, who))?,
        hard => drawn(hard),
        groups => drawn(groups),
        training => drawn(training),
        kept => run.summary.kept_epoch,
        problem => context! {
            text => bounded(&run.problem, 60_000),
            name => name(&run.summary.problem),
        },
        seed => run.summary.seed,
        version => name(&run.info.feasible),
        tables => run.info.tables.iter().take(MOST).map(|table| {
            context! { name => name(&table.table), sha256 => name(&table.sha256) }
        }).collect::<Vec<Value>>(),
        model => run.model_sha256.clone(),
        gap => number(run.summary.gap.relative),
        kkt => value(&[
            ("stationarity", number(run.summary.kkt.stationarity)),
            ("violation", number(run.summary.kkt.violation)),
            ("complementarity", number(run.summary.kkt.complementarity)),
        ])?,
    };
    Ok(environment.get_template("page")?.render(page)?)
}

/// A value as the template takes it.
fn value(of: &impl Serialize) -> Result<Value> {
    let json = serde_json::to_value(of).map_err(|e| Error::Layout { reason: e.to_string() })?;
    Value::deserialize(json).map_err(|e| Error::Layout { reason: e.to_string() })
}

/// A name as it is shown: of bounded length, without what turns text around.
fn name(text: &str) -> String {
    bounded(text, NAME)
}

fn bounded(text: &str, most: usize) -> String {
    let turns = |c: &char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut shown: String = text.chars().filter(|c| !turns(c)).take(most).collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

fn verdict(part: &str, judged: &Evaluation) -> Verdict {
    let (all, missed) =
        (judged.requirements.len(), judged.requirements.iter().filter(|r| !r.met).count());
    let (state, sentence) = match (all, missed) {
        (0, _) => ("none", "There are no requirements.".into()),
        (1, 0) => ("met", format!("The requirement is met on the {part} rows.")),
        (_, 0) => ("met", format!("All {all} requirements are met on the {part} rows.")),
        (1, _) => ("missed", format!("The requirement is not met on the {part} rows.")),
        (_, 1) => ("missed", format!("1 of {all} requirements is not met on the {part} rows.")),
        _ => ("missed", format!("{missed} of {all} requirements are not met on the {part} rows.")),
    };
    Verdict { met: missed == 0, state, sentence }
}

fn tiles(run: &Run) -> Vec<Tile> {
    let summary = &run.summary;
    let (part, judged) = summary.judged();
    let mut tiles = Vec::new();
    let on = || format!("on {} {part} rows", grouped(&judged.rows.to_string()));
    if let Some(accuracy) = judged.accuracy {
        tiles.push(Tile { label: "Accuracy", value: percent(accuracy), note: on() });
    }
    if let Some(rmse) = judged.rmse {
        tiles.push(Tile { label: "Root mean squared error", value: number(rmse), note: on() });
    }
    tiles.push(Tile { label: "Objective", value: number(judged.objective), note: on() });
    if let Some(worst) = judged.flips.iter().max_by(|a, b| a.share.total_cmp(&b.share)) {
        let note = match judged.flips.len() {
            1 => format!("of predictions, {}", name(&worst.counterfactual)),
            n => format!("of predictions, most of {n} counterfactuals"),
        };
        tiles.push(Tile { label: "Flips", value: percent(worst.share), note });
    }
    let seconds: f64 = run.timings.iter().map(|t| t.primal + t.dual).sum();
    if !run.timings.is_empty() {
        let note = format!("{} epochs, number {} kept", summary.epochs, summary.kept_epoch);
        tiles.push(Tile { label: "Training", value: duration(seconds), note });
    }
    let note = format!("and {} multipliers", grouped(&summary.multipliers.to_string()));
    let value = grouped(&summary.parameters.to_string());
    tiles.push(Tile { label: "Parameters", value, note });
    tiles
}

fn rows(run: &Run) -> Vec<Row> {
    let (_, judged) = run.summary.judged();
    let train = &run.summary.train.requirements;
    let row = |(at, standing): (usize, &Standing)| {
        let trained = train.get(at);
        let multiplier = trained.and_then(|t| t.multiplier);
        let margin = run.margins.get(at).copied().unwrap_or(0.0);
        let stricter = if standing.sense == ">=" { margin } else { -margin };
        let or_none = |x: Option<f64>| x.map_or("no rows".into(), number);
        Row {
            name: name(&standing.name),
            kind: kind(standing.kind),
            level: format!(
                "{} {}",
                standing.sense.replace("<=", "≤").replace(">=", "≥"),
                number(standing.level)
            ),
            trained: match margin {
                0.0 => String::new(),
                _ => format!("in training {}", number(standing.level + stricter)),
            },
            value: or_none(standing.value),
            worst: or_none(standing.worst_slack),
            violated: standing.violated.map_or(String::new(), percent),
            met: standing.met,
            train_met: trained.is_none_or(|t| t.met),
            train_value: or_none(trained.and_then(|t| t.value)),
            multiplier: multiplier.map_or(String::new(), number),
            at_zero: trained.and_then(|t| t.multipliers_at_zero).map_or(String::new(), percent),
        }
    };
    judged.requirements.iter().enumerate().take(MOST).map(row).collect()
}

/// The price of each requirement that has one, dearest first: dF₀/dc = −μ, or minus the mean of
/// λ. The level that training sees moves with the one stated.
fn prices(run: &Run) -> Vec<Price> {
    let mut priced: Vec<(f64, Price)> = Vec::new();
    for (at, standing) in run.summary.train.requirements.iter().enumerate() {
        let Some(multiplier) = standing.multiplier.filter(|&m| m > 0.0) else { continue };
        let margin = run.margins.get(at).copied().unwrap_or(0.0);
        let trained = (standing.level.abs() - margin).max(0.0);
        let change = -0.1 * trained * multiplier;
        let price = Price {
            name: name(&standing.name),
            multiplier: number(multiplier),
            change: number(change),
        };
        priced.push((change, price));
    }
    priced.sort_by(|a, b| a.0.total_cmp(&b.0));
    priced.into_iter().map(|(_, price)| price).take(20).collect()
}

fn flips(run: &Run) -> Vec<Line> {
    let parts: Vec<&Evaluation> = run.summary.parts().into_iter().map(|(_, e)| e).collect();
    let line = |(at, flips): (usize, &feasible_run::Flips)| Line {
        label: name(&flips.counterfactual),
        values: parts
            .iter()
            .map(|e| e.flips.get(at).map_or(String::new(), |f| percent(f.share)))
            .collect(),
    };
    run.summary.train.flips.iter().enumerate().take(MOST).map(line).collect()
}

fn lines(run: &Run) -> Vec<Line> {
    let parts: Vec<&Evaluation> = run.summary.parts().into_iter().map(|(_, e)| e).collect();
    let line = |label: &str, of: &dyn Fn(&Evaluation) -> Option<String>| -> Option<Line> {
        let values: Vec<Option<String>> = parts.iter().map(|e| of(e)).collect();
        values.iter().any(Option::is_some).then(|| Line {
            label: label.to_string(),
            values: values.into_iter().map(Option::unwrap_or_default).collect(),
        })
    };
    let lines = [
        line("rows", &|e| Some(grouped(&e.rows.to_string()))),
        line("accuracy", &|e| e.accuracy.map(percent)),
        line("root mean squared error", &|e| e.rmse.map(number)),
        line("objective", &|e| Some(number(e.objective))),
    ];
    lines.into_iter().flatten().collect()
}

fn time(run: &Run) -> String {
    let (mut primal, mut dual) = (0.0, 0.0);
    for timing in &run.timings {
        primal += timing.primal;
        dual += timing.dual;
    }
    let (all, epochs) = (primal + dual, run.timings.len());
    if all <= 0.0 {
        return String::new();
    }
    format!(
        "Training took {} for {epochs} epochs, {} each: {:.0} % to move the parameters, {:.0} % to \
         measure the requirements and move the multipliers.",
        duration(all),
        duration(all / epochs as f64),
        100.0 * primal / all,
        100.0 * dual / all
    )
}

/// Requirements that cost nothing.
fn free(run: &Run) -> String {
    let averages: Vec<f64> = run
        .multipliers
        .iter()
        .filter(|m| !m.pointwise)
        .filter_map(|m| Some(m.points.first()?.multiplier))
        .collect();
    let free = averages.iter().filter(|&&m| m == 0.0).count();
    match (free, averages.len()) {
        (0, _) | (_, 0) => String::new(),
        (1, 1) => "Its multiplier is 0: the objective alone would meet it.".into(),
        (free, all) => format!(
            "{free} of {all} have a multiplier of 0: here the objective and the other requirements \
             imply them, and without them this would still be a solution."
        ),
    }
}

fn pointwise(run: &Run, options: &Options, who: &[Who]) -> Vec<Pointwise> {
    let one = |(of, who): (&Multiplied, &Who)| {
        let hard = who.hard.as_ref().ok();
        let none = Vec::new();
        let individual = |(at, point): (usize, crate::Point)| Individual {
            row: point.row.map_or(String::new(), |row| grouped(&row.to_string())),
            multiplier: number(point.multiplier),
            slack: number(point.slack),
            violated: point.slack > 0.0,
            values: hard
                .and_then(|hard| hard.individuals.get(at))
                .unwrap_or(&none)
                .iter()
                .map(|value| bounded(value, 60))
                .collect(),
        };
        // Beyond chance, most over-represented first; the figure has those at both ends.
        let sure = |group: &&Prevalence| group.adjusted < 0.05;
        Pointwise {
            name: name(&of.name),
            points: grouped(&of.points.len().to_string()),
            at_zero: percent(of.at_zero()),
            chosen: hard.map_or(String::new(), |hard| chosen(hard, options)),
            sentence: who.hard.as_ref().err().map_or(String::new(), |s| bounded(s, 400)),
            columns: hard.map_or(&none, |hard| &hard.columns).iter().map(|c| name(c)).collect(),
            largest: of.largest(INDIVIDUALS).into_iter().enumerate().map(individual).collect(),
            groups: hard
                .map_or(&[][..], |hard| &hard.groups)
                .iter()
                .filter(sure)
                .take(MOST)
                .map(group_row)
                .collect(),
            tested: hard.map_or(0, |hard| hard.groups.len()),
        }
    };
    run.multipliers.iter().filter(|m| m.pointwise).zip(who).map(one).collect()
}

fn group_row(group: &Prevalence) -> GroupRow {
    GroupRow {
        name: name(&group.name),
        share: percent(group.share),
        interval: format!("{:.1} to {:.1} %", 100.0 * group.interval.0, 100.0 * group.interval.1),
        share_of_all: percent(group.share_of_all),
        ratio: format!("{:.2}", group.ratio),
        adjusted: if group.adjusted < 1e-4 {
            "below 0.0001".into()
        } else {
            format!("{:.4}", group.adjusted)
        },
    }
}

/// `the hardest 20 %, 985 of the 4,923 individuals with λ > 0 …`.
fn chosen(hard: &Hard, options: &Options) -> String {
    let count = |n: usize| grouped(&n.to_string());
    let whom = match options.among {
        Among::All => "individuals",
        Among::Positive => "individuals with λ > 0",
    };
    let mut text = format!(
        "the hardest {} %, that is {} of the {} {whom}, each with a λ of at least {}",
        number(100.0 * options.top),
        count(hard.hardest.members.len()),
        count(hard.hardest.of),
        number(hard.hardest.least)
    );
    if hard.hardest.tied > 0 {
        text += &format!(
            " ({} more have that λ too: the order of the rows decided)",
            count(hard.hardest.tied)
        );
    }
    text
}
