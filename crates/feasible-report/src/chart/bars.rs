//! Named values as horizontal bars, with intervals where they are known.

use super::description::NAME;
use super::frame::{COLUMN, look};
use super::scale::Scale;
use super::svg::{Svg, title};
use super::text::{columns, number, shortened};
use super::values::Values;

/// A named value.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// What it is.
    pub name: String,
    /// How much.
    pub value: f64,
    /// From where to where it may be.
    pub interval: Option<(f64, f64)>,
    /// Another value to compare it with, drawn as a tick.
    pub reference: Option<f64>,
    /// Its colour, from 0: for bars of different kinds.
    pub colour: usize,
}

impl Bar {
    /// A value without an interval.
    pub fn new(name: &str, value: f64) -> Self {
        Self { name: name.to_string(), value, interval: None, reference: None, colour: 0 }
    }
}

/// Bars under one another, in the order given.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    pub(crate) title: String,
    pub(crate) axis: String,
    pub(crate) bars: Vec<Bar>,
    /// What the other values are of; empty if that is not said.
    pub(crate) reference: String,
}

/// Bars that are drawn; the rest is counted.
const MOST: usize = 40;
const WIDTH: f64 = 480.0;

super::drawn_by_hand!(Bars);

impl Bars {
    /// Bars of values that `axis` names.
    pub fn new(title: &str, axis: &str, bars: Vec<Bar>) -> Self {
        let reference = String::new();
        Self { title: title.to_string(), axis: axis.to_string(), bars, reference }
    }

    /// With the name of what the ticks show: "paper".
    pub fn comparing(mut self, reference: &str) -> Self {
        self.reference = reference.to_string();
        self
    }

    /// What stands beside a bar: its value, and the one it is compared with.
    fn shown(&self, bar: &Bar) -> String {
        let value = number(bar.value);
        match bar.reference.filter(|x| !x.is_nan() && !self.reference.is_empty()) {
            Some(other) => format!("{value} ({}: {})", self.reference, number(other)),
            None => value,
        }
    }

    /// Its values as a table.
    pub fn values(&self) -> Values {
        Values::of_bars(self)
    }

    /// The chart in words.
    pub fn description(&self) -> String {
        let words: Vec<String> = self.bars.iter().take(10).map(words).collect();
        let more = match self.bars.len() {
            n if n > 10 => format!(" And {} more.", n - 10),
            _ => String::new(),
        };
        match words.is_empty() {
            true => format!("{}: no values.", self.axis),
            false => format!("{}: {}.{more}", self.axis, words.join("; ")),
        }
    }

    fn drawing(&self) -> (Svg, (f64, f64)) {
        let mut svg = Svg::default();
        svg.text("t", 0.0, 16.0, &shortened(&self.title, 56));
        svg.text("s", 0.0, 36.0, &shortened(&self.axis, 70));
        let shown = &self.bars[..self.bars.len().min(MOST)];
        let widest = shown.iter().map(|b| columns(&b.name)).fold(1.0, f64::max);
        // Long names stand above their bars, short ones beside.
        let above = widest > 34.0;
        let (row, top) = (if above { 38.0 } else { 24.0 }, 46.0);
        let more = self.bars.len() - shown.len();
        let end = top + row * shown.len().max(1) as f64;
        let height = end + if more > 0 { 22.0 } else { 6.0 };
        let ends = |bar: &Bar| {
            let (low, high) = bar.interval.unzip();
            [Some(bar.value), low, high, bar.reference]
        };
        let values = shown.iter().flat_map(ends).flatten();
        let positions = values.filter_map(|x| Scale::Linear.position(x)).chain([0.0]);
        match Scale::Linear.domain(positions) {
            Some((low, high)) if !shown.is_empty() => {
                let numbers = shown.iter().map(|b| columns(&self.shown(b))).fold(1.0, f64::max);
                let plot = Plot {
                    left: if above { 0.0 } else { widest * COLUMN + 10.0 },
                    right: WIDTH - numbers * COLUMN - 14.0,
                    low: low.min(0.0),
                    high: high.max(0.0),
                    above,
                };
                for (at, bar) in shown.iter().enumerate() {
                    plot.bar(&mut svg, bar, &self.shown(bar), top + row * at as f64, row);
                }
                if !above {
                    svg.line("zero", (plot.at(0.0), top - 2.0), (plot.at(0.0), end));
                }
            }
            _ => svg.text("s m", WIDTH / 2.0, top + 16.0, "There is nothing to show."),
        }
        if more > 0 {
            svg.text("s", 0.0, height - 6.0, &format!("and {more} more"));
        }
        (svg, (WIDTH, height))
    }
}

/// Where bars are on the page.
struct Plot {
    left: f64,
    right: f64,
    low: f64,
    high: f64,
    above: bool,
}

impl Plot {
    fn at(&self, x: f64) -> f64 {
        let share = (x.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        self.left + share * (self.right - self.left)
    }

    fn bar(&self, svg: &mut Svg, bar: &Bar, shown: &str, y: f64, row: f64) {
        svg.raw("<g>");
        svg.raw(&title(&words(bar)));
        svg.rect("hit", (0.0, y), (WIDTH, row), "");
        let (y, middle) = if self.above { (y + 18.0, y + 26.0) } else { (y + 4.0, y + 12.0) };
        if self.above {
            svg.text("", 0.0, y - 4.0, &shortened(&bar.name, (WIDTH / COLUMN) as usize));
        } else {
            svg.text("e", self.left - 8.0, middle + 4.0, &bar.name);
        }
        let mut end = self.at(0.0);
        if Scale::Linear.position(bar.value).is_some() && bar.value != 0.0 {
            let (from, to) = (end.min(self.at(bar.value)), end.max(self.at(bar.value)));
            let (class, _) = look(bar.colour);
            svg.rect(&format!("f bar {class}"), (from, y), ((to - from).max(1.0), 16.0), "");
            end = to;
        }
        if let Some((low, high)) = bar.interval.filter(|(a, b)| !a.is_nan() && !b.is_nan()) {
            svg.line("whisker", (self.at(low), middle), (self.at(high), middle));
            for x in [low, high] {
                svg.line("whisker", (self.at(x), middle - 4.0), (self.at(x), middle + 4.0));
            }
            end = end.max(self.at(high));
        }
        if let Some(reference) = bar.reference.filter(|x| !x.is_nan()) {
            svg.line("whisker", (self.at(reference), y - 1.0), (self.at(reference), y + 17.0));
        }
        // Beside a tick a number could be read as that of the tick: it stands in a column at the end of the row.
        match bar.reference {
            Some(_) => svg.text("s e", WIDTH, middle + 4.0, shown),
            None => svg.text("s", end + 6.0, middle + 4.0, shown),
        }
        svg.raw("</g>");
    }
}

fn words(bar: &Bar) -> String {
    let mut words = format!("{}: {}", shortened(&bar.name, NAME), number(bar.value));
    if let Some((low, high)) = bar.interval {
        words += &format!(" (from {} to {})", number(low), number(high));
    }
    if let Some(reference) = bar.reference {
        words += &format!(", against {}", number(reference));
    }
    words
}
