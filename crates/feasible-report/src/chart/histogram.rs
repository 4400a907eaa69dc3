//! How values are spread: counts in bins of equal, round width.
//!
//! The width is the round number nearest to that of Freedman and Diaconis, 2 · IQR / n^(1/3),
//! with about 8 to 40 bins over the range of the values.

use super::scale::round_step;
use super::series::{Mark, Series};
use super::text::{grouped, number};
use super::xy::{Axis, Chart};

/// A histogram of the finite ones of some values; how many there are is said in the description.
pub fn histogram(title: &str, x: &str, values: &[f64]) -> Chart {
    let mut finite: Vec<f64> = values.iter().copied().filter(|x| x.abs() <= 1e300).collect();
    finite.sort_unstable_by(f64::total_cmp);
    let chart = Chart::new(title).x(Axis::new(x)).y(Axis::new("count"));
    let left_out = values.len() - finite.len();
    let mut note = format!("{} values.", grouped(&finite.len().to_string()));
    if left_out > 0 {
        note += &format!(" {left_out} that are not finite are left out.");
    }
    let chart = chart.note(&note);
    let (Some(&low), Some(&high)) = (finite.first(), finite.last()) else { return chart };
    let width = bin_width(&finite, low, high);
    let first = (low / width).floor();
    let bins = (((high / width).floor() - first) as usize).min(200) + 1;
    let mut counts = vec![0_u64; bins];
    for x in &finite {
        let at = ((x / width).floor() - first).clamp(0.0, (bins - 1) as f64) as usize;
        counts[at] += 1;
    }
    let total = finite.len() as f64;
    let mut points = Vec::new();
    let mut notes = Vec::new();
    for (at, &count) in counts.iter().enumerate() {
        let start = (first + at as f64) * width;
        points.push((start, count as f64));
        let share = 100.0 * count as f64 / total;
        let count = grouped(&count.to_string());
        notes.push(format!(
            "{} to {}: {count} ({share:.1} %)",
            number(start),
            number(start + width)
        ));
    }
    chart.series(Series::new("count", Mark::Bars, points).with_notes(notes))
}

fn bin_width(sorted: &[f64], low: f64, high: f64) -> f64 {
    let span = high - low;
    if span <= low.abs().max(high.abs()) * 1e-9 {
        return if high == 0.0 { 1.0 } else { round_step(high.abs(), 10) };
    }
    let quantile = |q: f64| sorted[((sorted.len() - 1) as f64 * q).round() as usize];
    let spread = quantile(0.75) - quantile(0.25);
    let rule = 2.0 * spread / (sorted.len() as f64).cbrt();
    let bins = if rule > 0.0 { (span / rule).clamp(8.0, 40.0) } else { 20.0 };
    round_step(span, bins as usize)
}
