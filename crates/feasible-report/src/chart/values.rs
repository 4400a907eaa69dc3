//! The numbers of a chart as a table: for those who use a keyboard or a screen reader, or want the digits.

use serde::Serialize;

use super::bars::Bars;
use super::description::NAME;
use super::pairs::{Pairs, share};
use super::series::{Mark, Series};
use super::text::{number, shortened};
use super::xy::Chart;

/// Rows of a table at most; a chart with more points gives every second, third, … of them, and the last.
const ROWS: usize = 24;
/// Series that have a column.
const COLUMNS: usize = 8;

/// The numbers of a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Values {
    /// The name of each column.
    pub head: Vec<String>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
    /// How many values of x have no row.
    pub left_out: usize,
}

impl Values {
    pub(crate) fn of_chart(chart: &Chart) -> Self {
        // Those that are grey are drawn as a crowd, and left out as one.
        let series = || chart.series.iter().filter(|s| !s.muted).take(COLUMNS);
        let mut xs: Vec<f64> = series().flat_map(|s| s.points.iter().map(|p| p.0)).collect();
        xs.retain(|x| chart.x.scale.position(*x).is_some());
        xs.sort_unstable_by(f64::total_cmp);
        xs.dedup();
        let bars = chart.series.iter().any(|s| s.mark == Mark::Bars);
        let every = if bars { 1 } else { xs.len().div_ceil(ROWS).max(1) };
        // From the end, so that the last value is always among them.
        let mut chosen: Vec<f64> = xs.iter().rev().step_by(every).copied().collect();
        chosen.reverse();
        let name = |text: &str| shortened(text, NAME);
        let head = std::iter::once(name(&chart.x.label)).chain(series().map(|s| name(&s.name)));
        let row = |x: &f64| {
            let cell = |s: &Series| match s.points.iter().position(|p| p.0 == *x) {
                Some(at) if s.mark == Mark::Bars && s.notes.len() == s.points.len() => {
                    // Notes of a histogram begin with their range.
                    s.notes[at].split_once(": ").map_or(String::new(), |(_, n)| n.to_string())
                }
                Some(at) => number(s.points[at].1),
                None => String::new(),
            };
            std::iter::once(number(*x)).chain(series().map(cell)).collect()
        };
        let left_out = xs.len() - chosen.len();
        Self { head: head.collect(), rows: chosen.iter().map(row).collect(), left_out }
    }

    pub(crate) fn of_bars(bars: &Bars) -> Self {
        let intervals = bars.bars.iter().any(|bar| bar.interval.is_some());
        let references = bars.bars.iter().any(|bar| bar.reference.is_some());
        let mut head = vec!["name".to_string(), shortened(&bars.axis, NAME)];
        head.extend(intervals.then(|| "interval".to_string()));
        let reference =
            if bars.reference.is_empty() { "reference" } else { bars.reference.as_str() };
        head.extend(references.then(|| reference.to_string()));
        let row = |bar: &super::bars::Bar| {
            let mut row = vec![shortened(&bar.name, NAME), number(bar.value)];
            if intervals {
                row.push(bar.interval.map_or(String::new(), |(low, high)| {
                    format!("{} to {}", number(low), number(high))
                }));
            }
            if references {
                row.push(bar.reference.map_or(String::new(), number));
            }
            row
        };
        Self { head, rows: bars.bars.iter().map(row).collect(), left_out: 0 }
    }

    pub(crate) fn of_pairs(pairs: &Pairs) -> Self {
        let head = ["group", &pairs.ours, "interval", &pairs.other].map(|h| shortened(h, NAME));
        let row = |pair: &super::pairs::Pair| {
            let interval = pair
                .interval
                .map_or(String::new(), |(low, high)| format!("{} to {}", share(low), share(high)));
            vec![shortened(&pair.name, NAME), share(pair.value), interval, share(pair.other)]
        };
        Self { head: head.to_vec(), rows: pairs.pairs.iter().map(row).collect(), left_out: 0 }
    }
}
