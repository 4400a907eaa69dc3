//! Values on hover, by CSS alone: the chart is covered with invisible strips, and the strip under
//! the pointer shows a hairline, a dot on every line and a box with the numbers.

use super::frame::{COLUMN, Frame, look};
use super::series::{Mark, Series};
use super::svg::Svg;
use super::text::{columns, number, shortened};
use super::xy::Chart;

/// Strips at most; a chart with more points shows every second, third, … of them.
const STRIPS: usize = 60;
/// Lines of a box at most.
const LINES: usize = 8;

/// Covers the chart with strips, if it has lines that are not muted.
pub(crate) fn readouts(svg: &mut Svg, frame: &Frame, chart: &Chart) {
    let lines: Vec<&Series> = chart
        .series
        .iter()
        .filter(|s| !s.muted && !matches!(s.mark, Mark::Bars))
        .take(LINES)
        .collect();
    let mut xs: Vec<f64> = lines
        .iter()
        .flat_map(|s| s.points.iter().filter(|&&p| frame.at(p).is_some()).map(|p| p.0))
        .collect();
    xs.sort_unstable_by(f64::total_cmp);
    xs.dedup();
    let every = xs.len().div_ceil(STRIPS).max(1);
    // From the end, so that the last value is always among them.
    let mut chosen: Vec<f64> = xs.iter().rev().step_by(every).copied().collect();
    chosen.reverse();
    let middles: Vec<f64> =
        chosen.iter().filter_map(|&x| Some(frame.at_x(frame.x_scale.position(x)?))).collect();
    for (at, (&x, &middle)) in chosen.iter().zip(&middles).enumerate() {
        let before = at.checked_sub(1).map_or(frame.left, |b| (middles[b] + middle) / 2.0);
        let after = middles.get(at + 1).map_or(frame.right, |next| (next + middle) / 2.0);
        svg.raw(r#"<g class="tip">"#);
        let height = frame.bottom - frame.top;
        svg.rect("hit", (before, frame.top), (after - before, height), "<title/>");
        svg.raw(r#"<g class="on">"#);
        svg.line("rule", (middle, frame.top), (middle, frame.bottom));
        boxed(svg, frame, chart, &lines, x, middle);
        svg.raw("</g></g>");
    }
}

/// The point of a series nearest to x, if there is one within half a pixel.
fn nearest(frame: &Frame, series: &Series, x: f64) -> Option<(f64, f64)> {
    let gap = |&(px, _): &(f64, f64)| (px - x).abs();
    let found = match series.mark {
        Mark::Dots => series.points.iter().min_by(|a, b| gap(a).total_cmp(&gap(b)))?,
        _ => {
            let end = series.points.partition_point(|p| p.0 < x);
            let near = [end.checked_sub(1), Some(end)].into_iter().flatten();
            near.filter_map(|at| series.points.get(at)).min_by(|a, b| gap(a).total_cmp(&gap(b)))?
        }
    };
    let at = |x: f64| frame.x_scale.position(x).map(|p| frame.at_x(p));
    let close = (at(found.0)? - at(x)?).abs() <= 0.5;
    (close && frame.at(*found).is_some()).then_some(*found)
}

fn boxed(svg: &mut Svg, frame: &Frame, chart: &Chart, lines: &[&Series], x: f64, middle: f64) {
    let head = format!("{} {}", shortened(&chart.x.label, 24), number(x));
    let mut rows = Vec::new();
    for (at, series) in lines.iter().enumerate() {
        let Some(point) = nearest(frame, series, x) else { continue };
        let (class, _) = look(at);
        if let Some(place) = frame.at(point) {
            svg.dot(&format!("f {class}"), place, 3.5, "");
        }
        rows.push((class, shortened(&series.name, 42), number(point.1)));
    }
    let widest = rows.iter().map(|(_, name, value)| columns(name) + columns(value) + 3.5);
    let width = widest.fold(columns(&head), f64::max) * COLUMN + 16.0;
    let height = 22.0 + 16.0 * rows.len() as f64;
    let left = match middle + 10.0 + width <= frame.right {
        true => middle + 10.0,
        false => (middle - 10.0 - width).max(0.0),
    };
    let top = frame.top + 4.0;
    svg.rect("box", (left, top), (width, height), "");
    svg.text("s", left + 8.0, top + 15.0, &head);
    for (at, (class, name, value)) in rows.iter().enumerate() {
        let y = top + 31.0 + 16.0 * at as f64;
        svg.dot(&format!("f {class}"), (left + 12.0, y - 4.0), 3.5, "");
        svg.text("", left + 20.0, y, name);
        svg.text("e", left + width - 8.0, y, value);
    }
}
