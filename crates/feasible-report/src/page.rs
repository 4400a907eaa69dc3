//! The page of a run: what its template is given.

use feasible::sensitivity::{Among, Prevalence};
use feasible_problem::spec::RequirementKind;
use feasible_run::{Calibration, ClassRates, Evaluation};
use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::attacked;
use crate::certain;
use crate::chart::{grouped, number, share};
use crate::cost;
use crate::data;
use crate::error::Result;
use crate::figures::Figure;
use crate::format::{counted, dual, duration, percent};
use crate::groups;
use crate::hard::{Hard, INDIVIDUALS, Options, Who, is_settled};
use crate::layout::{bounded, drawn, name, page, value};
use crate::monitor;
use crate::requirements::{MOST, RELAXED, free, prices, rows, tiles, verdict};
use crate::run::Run;
use crate::tune;

use feasible_run::multipliers::{Multiplied, Point};

#[derive(Serialize)]
struct Line {
    label: String,
    values: Vec<String>,
}

#[derive(Serialize)]
struct Pointwise {
    name: String,
    points: String,
    at_zero: String,
    /// Multipliers have moved apart, so that their order says something.
    settled: bool,
    /// None is 0: training ended before they had come to rest.
    restless: bool,
    /// The group that is over-represented most, in a sentence.
    lead: String,
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
    violation: String,
    violated: bool,
    values: Vec<String>,
    /// Columns that have no room of their own: `age 41`.
    others: Vec<String>,
}

/// Columns of individuals that have room of their own.
const SHOWN: usize = 4;

pub(crate) fn render(
    run: &Run,
    options: &Options,
    who: &[Who],
    [hard, groups, training, attacked, monitored, searched]: [&[Figure]; 6],
) -> Result<String> {
    let (part, judged) = run.summary.judged();
    let parts: Vec<&str> = run.summary.parts().iter().map(|(name, _)| *name).collect();
    let certificate = run.summary.certificate.as_ref().and_then(certain::of);
    let no_certificate =
        run.summary.no_certificate.as_ref().filter(|_| !judged.requirements.is_empty());
    let verified = run.prices.as_ref();
    let relaxed = verified.map_or(RELAXED, |prices| prices.share);
    let content = context! {
        eyebrow => "Feasible report",
        title => name(run.title()),
        verdict => value(&verdict(run))?,
        certificate => value(&certificate)?,
        no_certificate => no_certificate.map(|reason| bounded(reason, 400)),
        verified => verified.map(|prices| context! { drift => prices.drift().map(number) }),
        relaxed => format!("{} %", number(100.0 * relaxed)),
        folds => run.summary.cross_validation.as_ref().map(|folds| bounded(&folds.to_text(), 600)),
        decision => run.summary.decision.as_ref().map(|decision| bounded(&decision.to_text(), 2_000)),
        started => run.info.started_from.as_deref().map(name),
        part => part,
        doubts => run.summary.doubt_lines().iter().map(|line| bounded(line, 600)).collect::<Vec<_>>(),
        // The last line says what to try; what would be met stands with each requirement.
        advice => run.summary.advice.last().map(|line| bounded(line, 800)),
        confidence => format!("{} %", number(100.0 * options.confidence)),
        judged_on_train => part == "train",
        tiles => value(&tiles(run))?,
        rows => value(&rows(run))?,
        any_pointwise => judged.requirements.iter().any(|r| r.kind == RequirementKind::Pointwise),
        left_out => judged.requirements.len().saturating_sub(MOST),
        parts => value(&parts)?,
        lines => value(&lines(run))?,
        flip_rates => value(&flip_rates(run))?,
        prices => value(&prices(run))?,
        time => time(run),
        dual => dual(run),
        free => free(run),
        cost => value(&cost::section(run))?,
        by_group => value(&groups::section(run))?,
        by_group_figures => groups::drawn_figures(run),
        data_summary => value(&data::section(run))?,
        pointwise => value(&pointwise(run, options, who))?,
        hard => drawn(&matching(hard, |name| !name.starts_with("lambda-"))),
        // Of each pointwise requirement: its groups, and how its multipliers are spread.
        groups => (1..=who.len()).map(|at| {
            let mut own = matching(groups, |name| name == format!("groups-{at}"));
            own.extend(matching(hard, |name| name == format!("lambda-{at}")));
            drawn(&own)
        }).collect::<Vec<_>>(),
        training => drawn(training),
        attacked => drawn(attacked),
        under_attack => value(&attacked::section(run))?,
        monitor => value(&monitor::section(run))?,
        monitored => drawn(monitored),
        search => value(&tune::section(run))?,
        searched => drawn(searched),
        kept => run.summary.kept_epoch,
        epochs => counted(run.summary.epochs as usize, "epoch"),
        problem => context! {
            // Its lines stay lines; what else is hidden in it, the template writes out.
            text => run.problem.chars().take(60_000).collect::<String>(),
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
    page(include_str!("page.html"), content)
}

/// Figures by their names.
fn matching(figures: &[Figure], wanted: impl Fn(&str) -> bool) -> Vec<Figure> {
    figures.iter().filter(|figure| wanted(&figure.name)).cloned().collect()
}

fn flip_rates(run: &Run) -> Vec<Line> {
    let parts: Vec<&Evaluation> = run.summary.parts().into_iter().map(|(_, e)| e).collect();
    let line = |(at, flip): (usize, &feasible_run::FlipRate)| Line {
        label: name(&flip.counterfactual),
        values: parts
            .iter()
            .map(|e| e.flip_rates.get(at).map_or(String::new(), |f| percent(f.share)))
            .collect(),
    };
    run.summary.train.flip_rates.iter().enumerate().take(MOST).map(line).collect()
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
    let constant = &run.summary.train.constant;
    let lines = [
        line("rows", &|e| Some(grouped(&e.rows.to_string()))),
        line("accuracy", &|e| e.accuracy.map(percent)),
        constant.as_ref().and_then(|first| {
            line(&name(&first.label()), &|e| Some(first.measure.shown(e.constant.as_ref()?.value)))
        }),
        line(run.summary.train.rmse_name(), &|e| e.rmse.map(number)),
        line("objective", &|e| Some(number(e.objective))),
    ];
    let targets = run.summary.train.by_target.iter().enumerate().take(MOST);
    let of_target = |(at, of): (usize, &feasible_run::TargetError)| {
        let label = format!("root mean squared error of {}", name(&of.target));
        line(&label, &|e| e.by_target.get(at).map(|of| number(of.rmse)))
    };
    let targets: Vec<Line> = targets.filter_map(of_target).collect();
    lines.into_iter().flatten().chain(targets).chain(rates(run)).collect()
}

/// Recall, precision and F1, top-k accuracy and calibration: of each part where it is known.
fn rates(run: &Run) -> Vec<Line> {
    type Rate = Box<dyn Fn(&Evaluation) -> Option<f64>>;
    let train = &run.summary.train;
    let of = |at: usize, rate: fn(&ClassRates) -> Option<f64>| -> Rate {
        Box::new(move |e| e.by_class.as_ref()?.get(at).and_then(rate))
    };
    let mut all: Vec<(String, Rate)> = Vec::new();
    match train.by_class.as_deref().unwrap_or_default() {
        [negative, positive] => {
            for (at, class) in [(1, positive), (0, negative)] {
                let class = name(&class.class);
                all.push((format!("recall of '{class}'"), of(at, |r| r.recall)));
                all.push((format!("precision of '{class}'"), of(at, |r| r.precision)));
            }
            all.push(("balanced accuracy".into(), Box::new(|e| e.balanced_accuracy)));
            let label = format!("F1 of '{}'", name(&positive.class));
            all.push((label, Box::new(|e| e.f1)));
        }
        classes => {
            for (at, rates) in classes.iter().enumerate().take(MOST) {
                let class = name(&rates.class);
                all.push((format!("recall of '{class}'"), of(at, |r| r.recall)));
                all.push((format!("precision of '{class}'"), of(at, |r| r.precision)));
            }
            all.push(("balanced accuracy".into(), Box::new(|e| e.balanced_accuracy)));
            all.push(("F1, mean of classes".into(), Box::new(|e| e.f1)));
        }
    }
    for (at, top) in train.top.iter().enumerate() {
        let label = format!("top-{} accuracy", top.k);
        all.push((label, Box::new(move |e| e.top.get(at).map(|top| top.share))));
    }
    let parts: Vec<&Evaluation> = run.summary.parts().into_iter().map(|(_, e)| e).collect();
    let rates = all.into_iter().map(|(label, rate)| Line {
        label,
        values: parts.iter().map(|e| rate(e).map_or(String::new(), percent)).collect(),
    });
    let rates = rates.filter(|line| line.values.iter().any(|value| !value.is_empty()));
    let calibration = train.calibration.iter().take(MOST).map(|group| Line {
        label: format!("predicted and observed share, {}", name(&group.group)),
        values: parts
            .iter()
            .map(|e| e.calibration.iter().find(|other| other.group == group.group))
            .map(|found| found.map_or(String::new(), calibrated))
            .collect(),
    });
    rates.chain(calibration).collect()
}

/// `24.1 % and 23.8 % (23.1 to 24.5)`.
fn calibrated(of: &Calibration) -> String {
    let (low, high) = of.interval;
    let share = |x: f64| format!("{:.1}", 100.0 * x);
    format!(
        "{} % and {} % ({} to {})",
        share(of.predicted),
        share(of.observed),
        share(low),
        share(high)
    )
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
        "Training took {} for {}, {} each: {:.0} % to move the parameters, {:.0} % to measure the \
         requirements and move the multipliers.",
        duration(all),
        counted(epochs, "epoch"),
        duration(all / epochs as f64),
        100.0 * primal / all,
        100.0 * dual / all
    )
}

fn pointwise(run: &Run, options: &Options, who: &[Who]) -> Vec<Pointwise> {
    let one = |(of, who): (&Multiplied, &Who)| {
        let hard = who.hard.as_ref().ok();
        let order = hard.map_or(Vec::new(), |hard| decisive(run, &of.name, hard));
        let (first, rest) = order.split_at(order.len().min(SHOWN));
        let column = |at: &usize| hard.map_or(String::new(), |hard| name(&hard.columns[*at]));
        let individual = |(at, point): (usize, Point)| {
            let none = Vec::new();
            let values = hard.and_then(|hard| hard.individuals.get(at)).unwrap_or(&none);
            let value = |at: &usize| values.get(*at).map_or(String::new(), |v| bounded(v, 60));
            Individual {
                row: point.row.map_or(String::new(), |row| grouped(&row.to_string())),
                multiplier: number(point.multiplier),
                violation: number(point.violation),
                violated: point.violation > 0.0,
                values: first.iter().map(value).collect(),
                others: rest.iter().map(|at| format!("{} {}", column(at), value(at))).collect(),
            }
        };
        // Beyond chance, most over-represented first; the figure has those at both ends.
        let sure = |group: &&Prevalence| group.adjusted < 0.05;
        let settled = is_settled(of);
        let largest = if settled { of.largest(INDIVIDUALS) } else { Vec::new() };
        Pointwise {
            name: name(&of.name),
            points: counted(of.points.len(), "multiplier"),
            at_zero: percent(of.at_zero()),
            settled,
            restless: settled && of.at_zero() == 0.0,
            // Of multipliers that still fall from where they began, nothing is put in large letters.
            lead: hard.filter(|_| of.at_zero() > 0.0).and_then(lead).unwrap_or_default(),
            chosen: hard.map_or(String::new(), |hard| chosen(hard, options)),
            sentence: who.hard.as_ref().err().map_or(String::new(), |s| bounded(s, 400)),
            columns: first.iter().map(column).collect(),
            largest: largest.into_iter().enumerate().map(individual).collect(),
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

/// `‘marital-status = Widowed’ makes up 3.0 % of all cases but 13 % of the hardest.`
fn lead(hard: &Hard) -> Option<String> {
    let over = hard.groups.iter().find(|group| group.adjusted < 0.05 && group.ratio > 1.0)?;
    Some(format!(
        "‘{}’ makes up {} of all cases but {} of the hardest.",
        name(&over.name),
        share(over.share_of_all),
        share(over.share)
    ))
}

/// Columns in the order in which they matter: those that the requirement names, then those whose categories are
/// over- or under-represented most among the hardest, then the rest.
fn decisive(run: &Run, requirement: &str, hard: &Hard) -> Vec<usize> {
    let named = named_columns(run, requirement);
    let weight = |column: &str| {
        let of = hard.groups.iter().filter(|group| {
            let rest = group.name.strip_prefix(column);
            group.adjusted < 0.05 && rest.is_some_and(|rest| rest.starts_with(' '))
        });
        let size = |group: &Prevalence| (group.share - group.share_of_all).abs();
        let size = of.map(size).fold(0.0, f64::max);
        if named.iter().any(|one| one == column) { 2.0 } else { size }
    };
    let mut order: Vec<(usize, f64)> =
        hard.columns.iter().map(|column| weight(column)).enumerate().collect();
    // Stable: the rest stays in the order of the data.
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    order.into_iter().map(|(at, _)| at).collect()
}

/// Words in the counterfactuals and conditions of a requirement: its protected columns are among them.
fn named_columns(run: &Run, requirement: &str) -> Vec<String> {
    let mut words = Vec::new();
    let all = run.settings.get("requirement").and_then(toml::Value::as_array);
    for one in all.into_iter().flatten() {
        let own = one.get("name").and_then(toml::Value::as_str).unwrap_or_default();
        if !requirement.starts_with(own) {
            continue;
        }
        for key in ["counterfactual", "where", "between", "groups"] {
            let text = one.get(key).map_or(String::new(), toml::Value::to_string);
            let ends = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-' || c == '.');
            words.extend(text.split(ends).filter(|word| !word.is_empty()).map(String::from));
        }
    }
    words
}

fn group_row(group: &Prevalence) -> GroupRow {
    GroupRow {
        name: name(&group.name),
        share: share(group.share),
        interval: format!("{} to {}", share(group.interval.0), share(group.interval.1)),
        share_of_all: share(group.share_of_all),
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
