//! A chart of points on two axes.

use super::description::describe;
use super::frame::{COLUMN, Frame, axes, gutter, legend, look};
use super::readout::readouts;
use super::scale::{Scale, Tick};
use super::series::{Mark, Series};
use super::svg::{Svg, title};
use super::text::{columns, number, shortened};
use super::thin;
use super::values::Values;

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub(crate) label: String,
    pub(crate) scale: Scale,
    pub(crate) includes: Vec<f64>,
    whole: bool,
}

impl Axis {
    /// A linear axis.
    pub fn new(label: &str) -> Self {
        Self { label: label.to_string(), scale: Scale::Linear, includes: Vec::new(), whole: false }
    }

    /// Of things that are counted, such as epochs: no tick stands between two whole numbers.
    pub fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    pub(crate) fn ticks(&self, ends: (f64, f64), count: usize) -> (Vec<Tick>, String) {
        match self.whole {
            true => self.scale.whole_ticks(ends, count),
            false => self.scale.ticks(ends, count),
        }
    }

    /// With another scale.
    pub fn scaled(mut self, scale: Scale) -> Self {
        self.scale = scale;
        self
    }

    /// Long enough to show these values too.
    pub fn including(mut self, values: &[f64]) -> Self {
        self.includes.extend_from_slice(values);
        self
    }
}

/// A chart of points on two axes. See the [module](super).
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    shades: Vec<(f64, f64, String)>,
    rules: Vec<(f64, String)>,
    note: String,
    size: (f64, f64),
}

super::drawn_by_hand!(Chart);

impl Chart {
    /// An empty chart, 480 × 300.
    pub fn new(title: &str) -> Self {
        Self {
            title: title.to_string(),
            x: Axis::new("x"),
            y: Axis::new("y"),
            series: Vec::new(),
            shades: Vec::new(),
            rules: Vec::new(),
            note: String::new(),
            size: (480.0, 300.0),
        }
    }

    /// The x axis.
    pub fn x(mut self, axis: Axis) -> Self {
        self.x = axis;
        self
    }

    /// The y axis.
    pub fn y(mut self, axis: Axis) -> Self {
        self.y = axis;
        self
    }

    /// One more series.
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Shades the values of y between two (which may be infinite), such as the feasible ones.
    pub fn shade(mut self, low: f64, high: f64, label: &str) -> Self {
        self.shades.push((low, high, label.to_string()));
        self
    }

    /// A vertical line, such as the iterate that was chosen.
    pub fn rule(mut self, x: f64, label: &str) -> Self {
        self.rules.push((x, label.to_string()));
        self
    }

    /// A sentence to begin the description with.
    pub fn note(mut self, note: &str) -> Self {
        self.note = note.to_string();
        self
    }

    /// Width and height in pixels; at least 200 × 150.
    pub fn size(mut self, width: f64, height: f64) -> Self {
        let bounded =
            |x: f64, least: f64| if x.is_finite() { x.clamp(least, 4000.0) } else { least };
        self.size = (bounded(width, 200.0), bounded(height, 150.0));
        self
    }

    /// The chart in words: what the `<desc>` says.
    pub fn description(&self) -> String {
        let words = describe(self);
        if self.note.is_empty() { words } else { format!("{} {words}", self.note) }
    }

    /// Its values as a table: those of x, and of every series there.
    pub fn values(&self) -> Values {
        Values::of_chart(self)
    }

    fn drawing(&self) -> (Svg, (f64, f64)) {
        let (width, mut height) = self.size;
        let mut svg = Svg::default();
        svg.text("t", 0.0, 16.0, &shortened(&self.title, (width / 7.6) as usize));
        let lettered = self.is_lettered();
        let named = self.series.iter().filter(|s| !s.muted).enumerate();
        let names: Vec<String> = named
            .map(|(at, s)| match lettered {
                true => format!("{} {}", letter(at), s.name),
                false => s.name.clone(),
            })
            .collect();
        let muted: Vec<&str> =
            self.series.iter().filter(|s| s.muted).map(|s| s.name.as_str()).collect();
        let top = match names.len() + muted.len() {
            0 | 1 => 24.0,
            _ => legend(&mut svg, &names, &muted, (0.0, 38.0), width),
        };
        // A long legend makes the chart higher, not the plot lower.
        height += (top - 56.0).max(0.0);
        if let Some(frame) = self.frame(top + 12.0, height) {
            self.back(&mut svg, &frame);
            axes(&mut svg, &frame, &self.x, &self.y);
            self.marks(&mut svg, &frame);
            self.front(&mut svg, &frame);
            if lettered {
                self.letters(&mut svg, &frame);
            }
            readouts(&mut svg, &frame, self);
        } else {
            svg.text("s m", width / 2.0, height / 2.0, "There is nothing to show.");
        }
        (svg, (width, height))
    }

    /// Scales and rectangle; `None` without a point to show.
    fn frame(&self, top: f64, height: f64) -> Option<Frame> {
        let (x_scale, y_scale) = (self.x.scale, self.y.scale);
        let place = |&(x, y): &(f64, f64)| Some((x_scale.position(x)?, y_scale.position(y)?));
        let points: Vec<(f64, f64)> =
            self.series.iter().flat_map(|s| s.points.iter().filter_map(place)).collect();
        let bands = self.series.iter().flat_map(|s| &s.band);
        let ends: Vec<f64> = bands.flat_map(|&(_, low, high)| [low, high]).collect();
        let bars = self.series.iter().any(|s| s.mark == Mark::Bars);
        let zero = if bars { Some(0.0) } else { None };
        let more = |axis: &Axis, extra: &[f64]| -> Vec<f64> {
            axis.includes.iter().chain(extra).filter_map(|&v| axis.scale.position(v)).collect()
        };
        let rules: Vec<f64> = self.rules.iter().map(|(x, _)| *x).collect();
        // A chart needs a point: rules and included values alone show nothing.
        if points.is_empty() {
            return None;
        }
        let x = points.iter().map(|p| p.0).chain(more(&self.x, &rules));
        let mut x = x_scale.domain(x)?;
        if bars {
            // The last bar is as wide as the others.
            let step = self.bar_width();
            x.1 = x.1.max(points.iter().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max) + step);
        }
        let y = points.iter().map(|p| p.1).chain(more(&self.y, &ends));
        let (low, high) = y_scale.domain(y.chain(zero.and_then(|z| y_scale.position(z))))?;
        // A little air above and below; bars stand on the axis.
        let air = (high - low) * 0.06;
        let y = (if bars && low >= 0.0 { low } else { low - air }, high + air);
        let left = gutter(y_scale, y);
        let right = self.size.0 - if self.is_lettered() { 22.0 } else { 8.0 };
        let bottom = height - 40.0;
        let top = (top + 14.0).min(bottom - 60.0);
        Some(Frame { left, right, top, bottom, x, y, x_scale, y_scale })
    }

    /// Whether lines carry letters at their ends, because colours alone would be hard to follow.
    fn is_lettered(&self) -> bool {
        let lines = self.series.iter().filter(|s| !s.muted && s.mark != Mark::Bars).count();
        lines > 2 || (lines > 1 && lines < self.series.len())
    }

    /// A letter at the end of each line, apart from one another.
    fn letters(&self, svg: &mut Svg, frame: &Frame) {
        let shown = self.series.iter().filter(|s| !s.muted).enumerate();
        let end = |(at, series): (usize, &Series)| {
            series.points.iter().rev().find_map(|&point| Some((at, frame.at(point)?)))
        };
        let mut ends: Vec<(usize, (f64, f64))> = shown.filter_map(end).collect();
        ends.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
        // Only letters at about the same x can be in each other's way: they go down, and where that would be below
        // the plot, those above them go up.
        let near = |a: f64, b: f64| (a - b).abs() < 14.0;
        for at in 1..ends.len() {
            let (above, own) = ends.split_at_mut(at);
            let (x, y) = &mut own[0].1;
            let others = above.iter().filter(|(_, other)| near(other.0, *x));
            *y = others.map(|(_, other)| other.1 + 12.0).fold(*y, f64::max);
        }
        for at in (0..ends.len()).rev() {
            let (own, below) = ends.split_at_mut(at + 1);
            let (x, y) = &mut own[at].1;
            let others = below.iter().filter(|(_, other)| near(other.0, *x));
            *y = others.map(|(_, other)| other.1 - 12.0).fold(y.min(frame.bottom), f64::min);
        }
        for (at, (x, y)) in ends {
            svg.text(&format!("f {}", look(at).0), x + 5.0, y + 4.0, &letter(at));
        }
    }

    /// The step of x of a histogram.
    fn bar_width(&self) -> f64 {
        let bars = self.series.iter().find(|s| s.mark == Mark::Bars);
        let step = bars.and_then(|s| s.points.windows(2).map(|w| w[1].0 - w[0].0).reduce(f64::min));
        step.filter(|step| *step > 0.0 && step.is_finite()).unwrap_or(1.0)
    }

    fn back(&self, svg: &mut Svg, frame: &Frame) {
        for (low, high, label) in &self.shades {
            let end = |x: f64, other: f64| match frame.y_scale.position(x) {
                Some(p) => frame.at_y(p.clamp(frame.y.0, frame.y.1)),
                None => other,
            };
            let (bottom, top) = (end(*low, frame.bottom), end(*high, frame.top));
            let at = (frame.left, top);
            svg.rect("shade", at, (frame.right - frame.left, bottom - top), &title(label));
            // Named above the plot, where no line crosses the name.
            let shown = shortened(label, 34);
            let left = frame.right - columns(&shown) * COLUMN - 18.0;
            svg.rect("shade", (left, frame.top - 18.0), (12.0, 12.0), "");
            svg.text("s e", frame.right, frame.top - 8.0, &shown);
        }
    }

    fn marks(&self, svg: &mut Svg, frame: &Frame) {
        let mut coloured = 0;
        // Those that are muted lie below the others.
        let (muted, shown): (Vec<&Series>, Vec<&Series>) =
            self.series.iter().partition(|s| s.muted);
        for series in muted.into_iter().chain(shown) {
            let (class, dash) = match series.muted {
                true => ("mute".to_string(), ""),
                false => look(coloured),
            };
            coloured += usize::from(!series.muted);
            band(svg, frame, series, &class);
            match series.mark {
                Mark::Line | Mark::LineAndDots | Mark::Step => {
                    let path = path(frame, series);
                    svg.path(&format!("l {class}"), dash, &path);
                    let single = lone(&path);
                    let dots: Vec<(f64, f64)> = match series.mark {
                        Mark::LineAndDots => path.into_iter().flatten().collect(),
                        _ => single,
                    };
                    for at in thin::dots(dots, 400) {
                        svg.dot(&format!("f {class}"), at, 3.0, "");
                    }
                }
                Mark::Dots => {
                    let points: Vec<(f64, f64)> =
                        series.points.iter().filter_map(|&p| frame.at(p)).collect();
                    for at in thin::dots(points, 1_500) {
                        svg.dot(&format!("f {class}"), at, 3.0, "");
                    }
                }
                Mark::Bars => self.bars(svg, frame, series, &class),
            }
        }
    }

    fn bars(&self, svg: &mut Svg, frame: &Frame, series: &Series, class: &str) {
        let step = self.bar_width();
        let zero =
            frame.y_scale.position(0.0).map_or(frame.bottom, |p| frame.at_y(p.max(frame.y.0)));
        for (at, &(x, y)) in series.points.iter().enumerate() {
            let (Some((left, top)), Some(end)) =
                (frame.at((x, y)), frame.x_scale.position(x + step))
            else {
                continue;
            };
            let width = frame.at_x(end) - left;
            let words = match series.notes.get(at) {
                Some(note) => note.clone(),
                None => format!("{} to {}: {}", number(x), number(x + step), number(y)),
            };
            let gap = if width > 3.0 { 1.0 } else { 0.0 };
            let (high, low) = (top.min(zero), top.max(zero));
            let size = (width - gap, (low - high).max(if y == 0.0 { 0.0 } else { 1.0 }));
            svg.rect(&format!("f bar {class}"), (left, high), size, &title(&words));
        }
    }

    fn front(&self, svg: &mut Svg, frame: &Frame) {
        for (x, label) in &self.rules {
            let Some(position) = frame.x_scale.position(*x) else { continue };
            let at = frame.at_x(position);
            svg.raw("<g>");
            svg.raw(&title(label));
            svg.line("rule", (at, frame.top), (at, frame.bottom));
            let shown = shortened(label, 30);
            let fits = at + 5.0 + columns(&shown) * COLUMN < frame.right;
            let (class, x) = if fits { ("s", at + 5.0) } else { ("s e", at - 5.0) };
            svg.text(class, x, frame.top + 9.0, &shown);
            svg.raw("</g>");
        }
    }
}

/// A, B, C …
fn letter(at: usize) -> String {
    char::from(b'A' + (at % 26) as u8).to_string()
}

/// The line of a series in pixels, thinned; `None` where it is broken.
fn path(frame: &Frame, series: &Series) -> Vec<Option<(f64, f64)>> {
    let mut path: Vec<Option<(f64, f64)>> = Vec::new();
    let mut run: Vec<(f64, f64)> = Vec::new();
    let pixels = (frame.left, frame.right);
    let flush = |run: &mut Vec<(f64, f64)>, path: &mut Vec<Option<(f64, f64)>>| {
        let mut last: Option<(f64, f64)> = None;
        for at in thin::line(run, pixels, 300) {
            if let Some(before) = last.filter(|_| series.mark == Mark::Step) {
                path.push(Some((at.0, before.1)));
            }
            path.push(Some(at));
            last = Some(at);
        }
        if !run.is_empty() {
            path.push(None);
        }
        run.clear();
    };
    for &point in &series.points {
        match frame.at(point) {
            Some(at) => run.push(at),
            None => flush(&mut run, &mut path),
        }
    }
    flush(&mut run, &mut path);
    path
}

/// Points with a gap on either side, which no line would show.
fn lone(path: &[Option<(f64, f64)>]) -> Vec<(f64, f64)> {
    let none = |at: Option<usize>| at.and_then(|at| path.get(at)).is_none_or(Option::is_none);
    let alone =
        |&(at, _): &(usize, &Option<(f64, f64)>)| none(at.checked_sub(1)) && none(Some(at + 1));
    path.iter().enumerate().filter(alone).filter_map(|(_, p)| *p).collect()
}

fn band(svg: &mut Svg, frame: &Frame, series: &Series, class: &str) {
    let edge = |upper: bool| -> Vec<(f64, f64)> {
        let end = |&(x, low, high): &(f64, f64, f64)| {
            // Both ends or none, so that the edges have the same corners.
            let (a, b) = (frame.at((x, low))?, frame.at((x, high))?);
            Some(if upper { b } else { a })
        };
        thin::line(
            &series.band.iter().filter_map(end).collect::<Vec<_>>(),
            (frame.left, frame.right),
            150,
        )
    };
    let mut outline: Vec<Option<(f64, f64)>> = edge(true).into_iter().map(Some).collect();
    outline.extend(edge(false).into_iter().rev().map(Some));
    if outline.len() > 2 {
        svg.path(&format!("f band {class}"), "", &outline);
    }
}
