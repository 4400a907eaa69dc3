//! The plot's rectangle, its axes and its legend.

use super::scale::Scale;
use super::style::{COLOURS, DASHES};
use super::svg::{Svg, title};
use super::text::{columns, shortened};
use super::xy::Axis;

/// Pixels per column of 12-pixel text.
pub(crate) const COLUMN: f64 = 7.0;

/// Where values are on the page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
    pub(crate) x: (f64, f64),
    pub(crate) y: (f64, f64),
    pub(crate) x_scale: Scale,
    pub(crate) y_scale: Scale,
}

impl Frame {
    /// Pixels of a position on the x axis.
    pub(crate) fn at_x(&self, position: f64) -> f64 {
        self.left + (position - self.x.0) / (self.x.1 - self.x.0) * (self.right - self.left)
    }

    /// Pixels of a position on the y axis.
    pub(crate) fn at_y(&self, position: f64) -> f64 {
        self.bottom - (position - self.y.0) / (self.y.1 - self.y.0) * (self.bottom - self.top)
    }

    /// Pixels of a point, if it has a place.
    pub(crate) fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        let x = self.x_scale.position(x).filter(|x| (self.x.0..=self.x.1).contains(x))?;
        let y = self.y_scale.position(y)?.clamp(self.y.0, self.y.1);
        Some((self.at_x(x), self.at_y(y)))
    }
}

/// The class and dash of the series in place `at` of those that are not muted.
pub(crate) fn look(at: usize) -> (String, &'static str) {
    (format!("c{}", at % COLOURS), DASHES[at % COLOURS])
}

/// Draws the legend from (x, y) on, wrapping at `right`; gives the y below it.
pub(crate) fn legend(
    svg: &mut Svg,
    names: &[String],
    muted: &[&str],
    (left, mut y): (f64, f64),
    right: f64,
) -> f64 {
    let mut x = left;
    let others = match muted {
        [] => None,
        [one] => Some(one.to_string()),
        all => Some(format!("{} others", all.len())),
    };
    let others = others.as_ref();
    for (at, name) in names.iter().chain(others).enumerate() {
        let shown = shortened(name, ((right - left - 26.0) / COLUMN) as usize);
        let width = 26.0 + columns(&shown) * COLUMN;
        if x > left && x + width > right {
            x = left;
            y += 17.0;
        }
        let (class, dash) = if at < names.len() { look(at) } else { ("mute".to_string(), "") };
        svg.path(&format!("l {class}"), dash, &[Some((x, y - 4.0)), Some((x + 18.0, y - 4.0))]);
        svg.raw("<g>");
        svg.raw(&title(name));
        svg.text("s", x + 23.0, y, &shown);
        svg.raw("</g>");
        x += width + 12.0;
    }
    y + 15.0
}

/// Draws grid, ticks and labels.
pub(crate) fn axes(svg: &mut Svg, frame: &Frame, x: &Axis, y: &Axis) {
    let (x_ticks, x_note) = x.ticks(frame.x, 6);
    let (y_ticks, y_note) = y.ticks(frame.y, 5);
    let is_zero = |position: f64| position == 0.0 && frame.y_scale != Scale::Log;
    let zero = y_ticks.iter().find(|tick| is_zero(tick.position)).map(|_| frame.at_y(0.0));
    // Labels do not touch; that of 0 goes first.
    let mut taken: Vec<f64> = zero.into_iter().collect();
    for tick in &y_ticks {
        let at = frame.at_y(tick.position);
        let class = if is_zero(tick.position) { "zero" } else { "grid" };
        svg.line(class, (frame.left, at), (frame.right, at));
        let free = taken.iter().all(|other| (other - at).abs() >= 13.0);
        if free || is_zero(tick.position) {
            svg.text("s e", frame.left - 6.0, at + 4.0, &tick.label);
            taken.push(at);
        }
    }
    svg.line("zero", (frame.left, frame.bottom), (frame.right, frame.bottom));
    let mut free = f64::NEG_INFINITY;
    for tick in &x_ticks {
        let at = frame.at_x(tick.position);
        svg.line("zero", (at, frame.bottom), (at, frame.bottom + 4.0));
        let half = columns(&tick.label) * COLUMN / 2.0;
        if at - half > free {
            svg.text("s m", at, frame.bottom + 17.0, &tick.label);
            free = at + half + 4.0;
        }
    }
    let label = |axis: &Axis, note: &str| format!("{}{note}", shortened(&axis.label, 60));
    svg.text("s e", frame.right, frame.bottom + 33.0, &label(x, &x_note));
    svg.text("s", 0.0, frame.top - 8.0, &label(y, &y_note));
}

/// Pixels that the labels of the y axis need.
pub(crate) fn gutter(scale: Scale, domain: (f64, f64)) -> f64 {
    let (ticks, _) = scale.ticks(domain, 5);
    let widest = ticks.iter().map(|tick| columns(&tick.label)).fold(1.0, f64::max);
    widest * COLUMN + 10.0
}
