//! The figures of a run.

use feasible::sensitivity::Prevalence;

use feasible_run::EpochMetrics;

use crate::chart::{Axis, Bar, Bars, Chart, Pair, Pairs, Scale, Series, Values, histogram};
use crate::format::time_unit;
use crate::hard::{Who, is_settled};
use crate::layout::name;
use crate::run::Run;

/// A figure: what its file is called, and what is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What its files are called, without `.svg`.
    pub name: String,
    drawing: Drawing,
}

#[derive(Clone, Debug, PartialEq)]
enum Drawing {
    Chart(Chart),
    Bars(Bars),
    Pairs(Pairs),
}

impl Figure {
    /// Of a chart.
    pub fn chart(name: &str, chart: Chart) -> Self {
        Self { name: name.to_string(), drawing: Drawing::Chart(chart) }
    }

    /// Of bars.
    pub fn bars(name: &str, bars: Bars) -> Self {
        Self { name: name.to_string(), drawing: Drawing::Bars(bars) }
    }

    /// Of pairs of shares.
    pub fn pairs(name: &str, pairs: Pairs) -> Self {
        Self { name: name.to_string(), drawing: Drawing::Pairs(pairs) }
    }

    /// What it is headed.
    pub fn title(&self) -> &str {
        match &self.drawing {
            Drawing::Chart(chart) => &chart.title,
            Drawing::Bars(bars) => &bars.title,
            Drawing::Pairs(pairs) => &pairs.title,
        }
    }

    /// Its numbers as a table.
    pub fn values(&self) -> Values {
        match &self.drawing {
            Drawing::Chart(chart) => chart.values(),
            Drawing::Bars(bars) => bars.values(),
            Drawing::Pairs(pairs) => pairs.values(),
        }
    }

    /// As an SVG file of its own.
    pub fn svg(&self) -> String {
        match &self.drawing {
            Drawing::Chart(chart) => chart.to_svg(),
            Drawing::Bars(bars) => bars.to_svg(),
            Drawing::Pairs(pairs) => pairs.to_svg(),
        }
    }

    /// For a page with [`css`](crate::chart::css) in its head.
    pub fn inline(&self) -> String {
        match &self.drawing {
            Drawing::Chart(chart) => chart.to_inline(&self.name),
            Drawing::Bars(bars) => bars.to_inline(&self.name),
            Drawing::Pairs(pairs) => pairs.to_inline(&self.name),
        }
    }

    /// In words.
    pub fn description(&self) -> String {
        match &self.drawing {
            Drawing::Chart(chart) => chart.description(),
            Drawing::Bars(bars) => bars.description(),
            Drawing::Pairs(pairs) => pairs.description(),
        }
    }
}

/// Requirements that are drawn in colour if there are more than fit a legend; the others are grey.
const COLOURED: usize = 3;
/// Requirements that fit a legend.
const FIT: usize = 5;

/// How the networks of an average came to do on the rows that each has not seen.
fn networks(run: &Run) -> Figure {
    let y = Axis::new("average loss");
    let mut chart = Chart::new("Objective on unseen rows").x(Axis::new("epoch").whole()).y(y);
    for fold in 1..=run.epochs.iter().filter_map(|epoch| epoch.fold).max().unwrap_or(0) {
        let own = run.epochs.iter().filter(|epoch| epoch.fold == Some(fold));
        let unseen =
            |epoch: &EpochMetrics| Some((epoch.epoch as f64, epoch.validation.as_ref()?.objective));
        chart = chart
            .series(Series::line(&format!("network {fold}"), own.filter_map(unseen).collect()));
    }
    Figure::chart("objective", chart)
}

/// How training went: objective, violations, multipliers, gap, times.
pub fn training(run: &Run) -> Vec<Figure> {
    let mut figures = Vec::new();
    if run.epochs.is_empty() {
        return figures;
    }
    let Some(kept) = run.summary.kept_epoch else { return vec![networks(run)] };
    let chart = |title: &str, y: Axis| {
        Chart::new(title).x(Axis::new("epoch").whole()).y(y).rule(kept as f64, "kept")
    };
    let points = |of: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
        run.epochs.iter().enumerate().map(|(at, e)| (e.epoch as f64, of(at))).collect()
    };
    let mut objective = chart("Objective", Axis::new("average loss"))
        .series(Series::line("training rows", points(&|at| run.epochs[at].objective)));
    if run.epochs.iter().any(|epoch| epoch.validation.is_some()) {
        let of = |at: usize| run.epochs[at].validation.as_ref().map_or(f64::NAN, |v| v.objective);
        // Where iterates are judged by another loss, the line says so.
        let judged =
            run.settings.get("objective").and_then(|objective| objective.get("measured_by"));
        let name = match judged.and_then(toml::Value::as_str) {
            Some(loss) => format!("validation rows ({loss})"),
            None => "validation rows".into(),
        };
        objective = objective.series(Series::line(&name, points(&of)));
    }
    figures.push(Figure::chart("objective", objective));
    if run.epochs.iter().any(|epoch| !epoch.requirements.is_empty()) {
        let violation = |at: usize, r: usize| {
            run.epochs[at].requirements.get(r).map_or(f64::NAN, |r| r.worst_violation)
        };
        let violations = run.epochs.iter().flat_map(|e| &e.requirements).map(|r| r.worst_violation);
        let scale = signed_scale(violations);
        let mut violations =
            chart("Violations", Axis::new("largest violation").scaled(scale).including(&[0.0]))
                .shade(f64::NEG_INFINITY, 0.0, "feasible: violation ≤ 0");
        let mut multipliers =
            chart("Multipliers", Axis::new("μ, or the mean of λ").including(&[0.0]));
        let multiplier = |at: usize, r: usize| {
            run.epochs[at].requirements.get(r).map_or(f64::NAN, |r| r.multiplier)
        };
        let names: Vec<&str> = run.epochs[0].requirements.iter().map(|r| r.name.as_str()).collect();
        let prefix = common_prefix(&names);
        let line = |(r, coloured): (usize, bool), of: &dyn Fn(usize, usize) -> f64| {
            let series = Series::line(&names[r][prefix..], points(&|at| of(at, r)));
            if coloured { series } else { series.muted() }
        };
        // What matters is what is violated most in the model that was kept, and what is dearest in it.
        let kept_at = run.epochs.iter().position(|e| e.epoch == kept);
        let kept_at = kept_at.unwrap_or(run.epochs.len() - 1);
        let left = run.summary.decision.as_ref().and_then(|decision| decision.left.as_deref());
        if let Some(left) = left {
            violations = violations.note(&format!(
                "'{}' is left to the threshold, which is chosen after training: until then it has no limit and is not shown.",
                name(left)
            ));
        }
        let is_shown = |(r, _): &(usize, bool)| left != Some(names[*r]);
        for one in ranked(names.len(), |r| violation(kept_at, r)).into_iter().filter(is_shown) {
            violations = violations.series(line(one, &violation));
        }
        for one in ranked(names.len(), |r| multiplier(kept_at, r)).into_iter().filter(is_shown) {
            multipliers = multipliers.series(line(one, &multiplier));
        }
        figures.push(Figure::chart("violations", violations));
        figures.push(Figure::chart("multipliers", multipliers));
        let gap = chart("Duality gap", Axis::new("relative to the objective").scaled(Scale::Log))
            .series(Series::line("gap", points(&|at| run.epochs[at].gap)));
        figures.push(Figure::chart("gap", gap));
    }
    if !run.timings.is_empty() {
        let seconds = |of: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
            run.timings.iter().enumerate().map(|(at, t)| (t.epoch as f64, of(at))).collect()
        };
        let longest = run.timings.iter().map(|t| t.primal.max(t.dual)).fold(0.0, f64::max);
        let (unit, per_second) = time_unit(longest);
        let times = Chart::new("Time per epoch")
            .x(Axis::new("epoch").whole())
            .y(Axis::new(unit).including(&[0.0]))
            .series(Series::line(
                "moving the parameters",
                seconds(&|at| per_second * run.timings[at].primal),
            ))
            .series(Series::line(
                "measuring, moving multipliers",
                seconds(&|at| per_second * run.timings[at].dual),
            ));
        figures.push(Figure::chart("times", times));
    }
    figures
}

/// Bytes up to and with the `: ` that all of several names begin with: in a chart they only take
/// room.
pub(crate) fn common_prefix(names: &[&str]) -> usize {
    let Some((first, rest)) = names.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return 0;
    };
    let end = first.find(": ").map_or(0, |at| at + 2);
    let prefix = &first[..end];
    let common = rest.iter().all(|name| name.starts_with(prefix) && name.len() > end);
    if common && first.len() > end { end } else { 0 }
}

/// Requirements with whether they are coloured: all if they are few, else those with the largest values, which
/// come first.
fn ranked(count: usize, value: impl Fn(usize) -> f64) -> Vec<(usize, bool)> {
    let mut order: Vec<usize> = (0..count).collect();
    if count <= FIT {
        return order.into_iter().map(|r| (r, true)).collect();
    }
    // Stable: equal values stay in the order of the problem. What is not a number comes last.
    let value = |r: usize| Some(value(r)).filter(|x| !x.is_nan()).unwrap_or(f64::NEG_INFINITY);
    order.sort_by(|&a, &b| value(b).total_cmp(&value(a)));
    order.into_iter().enumerate().map(|(at, r)| (r, at < COLOURED)).collect()
}

/// A scale for values of both signs and of very different sizes: linear up to a tenth of a
/// typical one.
pub(crate) fn signed_scale(values: impl Iterator<Item = f64>) -> Scale {
    let sizes = values.map(f64::abs).filter(|s| s.is_finite() && *s > 0.0);
    let mut sizes: Vec<f64> = sizes.collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let (Some(&largest), Some(&middle)) = (sizes.last(), sizes.get(sizes.len() / 2)) else {
        return Scale::Linear;
    };
    // A factor of 30 between the usual and the largest fits a linear axis.
    if largest < 30.0 * middle {
        return Scale::Linear;
    }
    Scale::SignedLog { linear: 10f64.powf(middle.log10().floor()) }
}

/// Where multipliers are: μ ranked, λ spread.
pub fn multipliers(run: &Run) -> Vec<Figure> {
    let mut figures = Vec::new();
    let names: Vec<&str> =
        run.multipliers.iter().filter(|m| !m.pointwise).map(|m| m.name.as_str()).collect();
    let prefix = common_prefix(&names);
    let mut averages: Vec<Bar> = run
        .multipliers
        .iter()
        .filter(|m| !m.pointwise)
        .filter_map(|m| Some(Bar::new(&m.name[prefix..], m.points.first()?.multiplier)))
        .collect();
    if !averages.is_empty() {
        averages.sort_by(|a, b| b.value.total_cmp(&a.value));
        let title = "Training multipliers of the average requirements";
        // Many zeros are one number.
        let zeros = averages.iter().filter(|bar| bar.value == 0.0).count();
        let axis = if zeros > 4 && zeros < averages.len() {
            averages.retain(|bar| bar.value != 0.0);
            format!("μ, largest first; {zeros} more are 0")
        } else {
            "μ, largest first".into()
        };
        figures.push(Figure::bars("mu", Bars::new(title, &axis, averages)));
    }
    let pointwise = run.multipliers.iter().filter(|m| m.pointwise).enumerate();
    for (at, of) in pointwise.filter(|(_, of)| is_settled(of)) {
        let positive: Vec<f64> =
            of.points.iter().map(|p| p.multiplier).filter(|&l| l > 0.0).collect();
        let title = format!("λ > 0 of '{}'", of.name);
        let chart = histogram(&title, "λ", &positive);
        figures.push(Figure::chart(&format!("lambda-{}", at + 1), chart));
    }
    figures
}

/// Groups whose part of the hardest is not their part of all, beyond chance; at most seven of
/// the most over-represented and three of the least.
pub(crate) fn prevalence(who: &[Who]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (at, who) in who.iter().enumerate() {
        let Ok(hard) = &who.hard else { continue };
        let sure: Vec<&Prevalence> = hard.groups.iter().filter(|g| g.adjusted < 0.05).collect();
        let (over, under): (Vec<_>, Vec<_>) = sure.into_iter().partition(|g| g.ratio > 1.0);
        let pairs: Vec<Pair> = over
            .into_iter()
            .take(7)
            .chain(under.into_iter().rev().take(3).rev())
            .map(|group| Pair {
                name: group.name.clone(),
                value: group.share,
                interval: Some(group.interval),
                other: group.share_of_all,
            })
            .collect();
        if pairs.is_empty() {
            continue;
        }
        let title = format!("Who was hard for '{}'", who.name);
        let pairs = Pairs::new(&title, "of the hardest, with its interval", "of everyone", pairs);
        figures.push(Figure::pairs(&format!("groups-{}", at + 1), pairs));
    }
    figures
}
