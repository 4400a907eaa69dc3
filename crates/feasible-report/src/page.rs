//! The page of a run: what its template is given.

use feasible::sensitivity::{Among, Prevalence};
use feasible_run::{Calibration, ClassRates, Evaluation};
use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::chart::{grouped, number};
use crate::cost;
use crate::data;
use crate::error::Result;
use crate::figures::Figure;
use crate::format::{dual, duration, percent};
use crate::groups;
use crate::hard::{Hard, INDIVIDUALS, Options, Who};
use crate::layout::{bounded, drawn, name, page, value};
use crate::monitor;
use crate::requirements::{MOST, RELAXED, certified, free, prices, rows, tiles, verdict};
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
}

pub(crate) fn render(
    run: &Run,
    options: &Options,
    who: &[Who],
    [hard, groups, training, attacked, monitored, searched]: [&[Figure]; 6],
) -> Result<String> {
    let (part, judged) = run.summary.judged();
    let parts: Vec<&str> = run.summary.parts().iter().map(|(name, _)| *name).collect();
    let certificate = certified(run);
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
        verified => verified.map(|prices| context! { drift => number(prices.drift()) }),
        relaxed => format!("{} %", number(100.0 * relaxed)),
        decision => run.summary.decision.as_ref().map(|decision| bounded(&decision.to_text(), 2_000)),
        started => run.info.started_from.as_deref().map(name),
        part => part,
        advice => run.summary.advice.iter().map(|line| bounded(line, 600)).collect::<Vec<_>>(),
        confidence => format!("{} %", number(100.0 * options.confidence)),
        judged_on_train => part == "train",
        tiles => value(&tiles(run))?,
        rows => value(&rows(run))?,
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
        hard => drawn(hard),
        groups => drawn(groups),
        training => drawn(training),
        attacked => drawn(attacked),
        monitor => value(&monitor::section(run))?,
        monitored => drawn(monitored),
        search => value(&tune::section(run))?,
        searched => drawn(searched),
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
    page(include_str!("page.html"), content)
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
    let lines = [
        line("rows", &|e| Some(grouped(&e.rows.to_string()))),
        line("accuracy", &|e| e.accuracy.map(percent)),
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
        [_, _] => {
            all.push(("recall (true positive rate)".into(), of(1, |r| r.recall)));
            all.push(("specificity".into(), of(0, |r| r.recall)));
            all.push(("precision".into(), of(1, |r| r.precision)));
            all.push(("negative predictive value".into(), of(0, |r| r.precision)));
            all.push(("balanced accuracy".into(), Box::new(|e| e.balanced_accuracy)));
            all.push(("F1".into(), Box::new(|e| e.f1)));
        }
        classes => {
            for (at, rates) in classes.iter().enumerate().take(MOST) {
                let class = name(&rates.class);
                all.push((format!("recall of {class}"), of(at, |r| r.recall)));
                all.push((format!("precision of {class}"), of(at, |r| r.precision)));
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
        "Training took {} for {epochs} epochs, {} each: {:.0} % to move the parameters, {:.0} % to \
         measure the requirements and move the multipliers.",
        duration(all),
        duration(all / epochs as f64),
        100.0 * primal / all,
        100.0 * dual / all
    )
}

fn pointwise(run: &Run, options: &Options, who: &[Who]) -> Vec<Pointwise> {
    let one = |(of, who): (&Multiplied, &Who)| {
        let hard = who.hard.as_ref().ok();
        let none = Vec::new();
        let individual = |(at, point): (usize, Point)| Individual {
            row: point.row.map_or(String::new(), |row| grouped(&row.to_string())),
            multiplier: number(point.multiplier),
            violation: number(point.violation),
            violated: point.violation > 0.0,
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
