//! A chart in words, for those who do not see it.

use super::series::{Mark, Series};
use super::text::{number, shortened};
use super::xy::Chart;

/// Columns of a name.
pub(crate) const NAME: usize = 90;
/// Series that are described one by one.
const MOST: usize = 10;

pub(crate) fn describe(chart: &Chart) -> String {
    let mut sentences = vec![format!(
        "{} against {}.",
        shortened(&chart.y.label, NAME),
        shortened(&chart.x.label, NAME)
    )];
    let mut unplaced = 0;
    for (at, series) in chart.series.iter().enumerate() {
        let placed: Vec<(f64, f64)> = series
            .points
            .iter()
            .copied()
            .filter(|p| chart.x.scale.position(p.0).is_some())
            .filter(|p| chart.y.scale.position(p.1).is_some())
            .collect();
        unplaced += series.points.len() - placed.len();
        if at < MOST {
            sentences.push(of_series(series, &placed, &shortened(&chart.x.label, NAME)));
        }
    }
    if chart.series.len() > MOST {
        sentences.push(format!("And {} more.", chart.series.len() - MOST));
    }
    if unplaced > 0 {
        sentences.push(format!("{unplaced} values that have no place on the axes are not shown."));
    }
    sentences.join(" ")
}

fn of_series(series: &Series, placed: &[(f64, f64)], x: &str) -> String {
    let name = shortened(&series.name, NAME);
    let by_y = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
    let (Some(low), Some(high)) = (placed.iter().min_by(by_y), placed.iter().max_by(by_y)) else {
        return format!("{name}: no values.");
    };
    let (first, last) = (placed[0], placed[placed.len() - 1]);
    match (placed, series.mark) {
        ([one], _) => format!("{name}: {} at {x} {}.", number(one.1), number(one.0)),
        (_, Mark::Bars | Mark::Dots) => format!(
            "{name}: {} values from {} to {}, highest at {x} {}.",
            placed.len(),
            number(low.1),
            number(high.1),
            number(high.0)
        ),
        _ => format!(
            "{name}: {} at {x} {}, {} at {x} {}; lowest {}, highest {}.",
            number(first.1),
            number(first.0),
            number(last.1),
            number(last.0),
            number(low.1),
            number(high.1)
        ),
    }
}
