//! Figures of robustness: accuracy against ε, and the law of ε that was trained with.

use feasible::adversary::Prior;
use feasible_problem::ProblemSource;
use feasible_problem::spec::RequirementSpec;
use feasible_run::{Curve, EpochMetrics};

use crate::chart::{Axis, Chart, Mark, Series};
use crate::figures::Figure;
use crate::run::Run;

/// Accuracy against ε of one or several models, with their intervals.
pub fn accuracy(curves: &[(&str, &Curve)]) -> Figure {
    let mut chart = Chart::new("Accuracy under attack")
        .x(Axis::new("ε"))
        .y(Axis::new("accuracy, %").including(&[0.0, 100.0]));
    if let [(_, curve), ..] = curves {
        let samples = curve.points.first().map_or(0, |point| point.total);
        let confidence = 100.0 * curve.attack.confidence;
        let (method, data) = (curve.method(), &curve.data);
        chart = chart.note(&format!(
            "{method}; {samples} samples of {data}; bands are exact intervals of {confidence} % confidence."
        ));
    }
    for (name, curve) in curves {
        let points = curve.points.iter().map(|p| (p.epsilon, 100.0 * p.accuracy)).collect();
        let band = curve.points.iter().map(|p| (p.epsilon, 100.0 * p.low, 100.0 * p.high));
        let series = Series::new(name, Mark::LineAndDots, points).with_band(band.collect());
        chart = chart.series(series);
    }
    Figure::chart("accuracy-under-attack", chart)
}

/// Of a run: its curve, if it was attacked, and the law of ε it was trained with, if it has a density.
pub fn of(run: &Run) -> Vec<Figure> {
    let curve = run.curve.iter().map(|curve| accuracy(&[("this model", curve)]));
    let adversary = |requirement: &RequirementSpec| {
        density(&requirement.adversary.as_ref()?.epsilon.prior().ok()?)
    };
    let spec = ProblemSource::new("problem.toml", run.problem.clone()).parse(&[]);
    let requirements = spec.map_or(Vec::new(), |spec| spec.requirements);
    curve.chain(requirements.iter().filter_map(adversary).take(1)).collect()
}

/// The density of ε of a prior that has one.
pub fn density(prior: &Prior) -> Option<Figure> {
    let points: Vec<(f64, f64)> = match prior {
        Prior::Beta { scale, alpha, beta } => {
            let at = |i: u32| f64::from(i) / 200.0;
            // Up to the factor that makes the area 1, which is then taken from the points themselves.
            let f = |x: f64| x.powf(alpha - 1.0) * (1.0 - x).powf(beta - 1.0);
            let inner: Vec<f64> = (1..200).map(|i| f(at(i))).collect();
            let area = inner.iter().sum::<f64>() / 200.0 * scale;
            (1..200).zip(inner).map(|(i, f)| (scale * at(i), f / area)).collect()
        }
        Prior::Exponential { mean } => (0..=200)
            .map(|i| f64::from(i) / 40.0 * mean)
            .map(|x| (x, (-x / mean).exp() / mean))
            .collect(),
        Prior::Uniform { low, high } if high > low => {
            vec![(*low, 1.0 / (high - low)), (*high, 1.0 / (high - low))]
        }
        _ => return None,
    };
    let chart = Chart::new("Density of ε in training")
        .x(Axis::new("ε").including(&[0.0]))
        .y(Axis::new("density").including(&[0.0]))
        .series(Series::line("ε", points));
    Some(Figure::chart("density-of-epsilon", chart))
}

/// How the trainings went: the objective on validation images, the loss under attack over its limit, and
/// the multiplier.
pub fn training(runs: &[(String, Run)]) -> Vec<Figure> {
    let chart =
        |title: &str, y: &str| Chart::new(title).x(Axis::new("epoch").whole()).y(Axis::new(y));
    let mut objective = chart("Validation images", "objective as judged");
    let mut violation = chart("Loss under attack, validation images", "loss over its limit").shade(
        f64::NEG_INFINITY,
        0.0,
        "feasible",
    );
    let mut multiplier = chart("Multiplier of the requirement", "μ");
    for (name, run) in runs {
        let points = |of: &dyn Fn(&EpochMetrics) -> Option<f64>| -> Vec<(f64, f64)> {
            run.epochs.iter().filter_map(|e| Some((e.epoch as f64, of(e)?))).collect()
        };
        let judged = points(&|epoch| Some(epoch.validation.as_ref()?.objective));
        objective = objective.series(Series::line(name, judged));
        let violations =
            points(&|epoch| Some(epoch.validation.as_ref()?.requirements.first()?.worst_violation));
        let mu = points(&|epoch| Some(epoch.requirements.first()?.multiplier));
        if !violations.is_empty() {
            violation = violation.series(Series::line(name, violations));
            multiplier = multiplier.series(Series::line(name, mu));
        }
    }
    vec![
        Figure::chart("training-objective", objective),
        Figure::chart("training-loss-under-attack", violation),
        Figure::chart("training-multiplier", multiplier),
    ]
}
