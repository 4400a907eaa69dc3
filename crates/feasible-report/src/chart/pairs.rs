//! Two shares of each of several groups on one line: that of some, and that of everyone.
//!
//! Each number stands on the outer side of its own mark, so that it cannot be read as that of the other.

use super::description::NAME;
use super::frame::{COLUMN, look};
use super::scale::Scale;
use super::svg::{Svg, title};
use super::text::{columns, shortened};
use super::values::Values;

/// Two shares of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The group.
    pub name: String,
    /// Its share of those who are spoken of, from 0 to 1.
    pub value: f64,
    /// From where to where that may be.
    pub interval: Option<(f64, f64)>,
    /// Its share of everyone.
    pub other: f64,
}

/// Pairs under one another, in the order given.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    pub(crate) title: String,
    pub(crate) ours: String,
    pub(crate) other: String,
    pub(crate) pairs: Vec<Pair>,
}

const WIDTH: f64 = 480.0;
/// Names up to so many columns stand beside their marks, longer ones above.
const BESIDE: f64 = 24.0;
/// Room for a number on either side.
const NUMBER: f64 = 54.0;

super::drawn_by_hand!(Pairs);

impl Pairs {
    /// Pairs of shares: `ours` and `other` say of whom.
    pub fn new(title: &str, ours: &str, other: &str, pairs: Vec<Pair>) -> Self {
        let finite = |pair: &Pair| pair.value.is_finite() && pair.other.is_finite();
        Self {
            title: title.to_string(),
            ours: ours.to_string(),
            other: other.to_string(),
            pairs: pairs.into_iter().filter(finite).collect(),
        }
    }

    /// The chart in words.
    pub fn description(&self) -> String {
        let words: Vec<String> = self.pairs.iter().map(|pair| self.words(pair)).collect();
        match words.is_empty() {
            true => "No groups.".into(),
            false => format!("{}.", words.join("; ")),
        }
    }

    /// Its values as a table.
    pub fn values(&self) -> Values {
        Values::of_pairs(self)
    }

    fn words(&self, pair: &Pair) -> String {
        let interval = pair.interval.map_or(String::new(), |(low, high)| {
            format!(" (from {} to {})", share(low), share(high))
        });
        format!(
            "{}: {} {}{interval}, {} {}",
            shortened(&pair.name, NAME),
            share(pair.value),
            self.ours,
            share(pair.other),
            self.other
        )
    }

    fn drawing(&self) -> (Svg, (f64, f64)) {
        let mut svg = Svg::default();
        svg.text("t", 0.0, 16.0, &shortened(&self.title, 56));
        let mut x = 0.0;
        for (class, name) in [("f mute", &self.other), ("f c0", &self.ours)] {
            let name = shortened(name, 34);
            svg.dot(class, (x + 5.0, 36.0), 5.0, "");
            svg.text("s", x + 15.0, 40.0, &name);
            x += 15.0 + columns(&name) * COLUMN + 18.0;
        }
        let widest = self.pairs.iter().map(|pair| columns(&pair.name)).fold(1.0, f64::max);
        let above = widest > BESIDE;
        let (row, top) = (if above { 40.0 } else { 26.0 }, 56.0);
        let end = top + row * self.pairs.len().max(1) as f64;
        let most =
            self.pairs.iter().flat_map(|p| [p.value, p.other, p.interval.map_or(0.0, |i| i.1)]);
        let most = most.fold(0.0, f64::max).clamp(1e-6, 1.0);
        let left = if above { NUMBER } else { widest * COLUMN + 10.0 + NUMBER };
        let plot = Plot { left, right: WIDTH - NUMBER, most, above };
        if self.pairs.is_empty() {
            svg.text("s m", WIDTH / 2.0, top + 16.0, "There is nothing to show.");
            return (svg, (WIDTH, end + 6.0));
        }
        let (ticks, _) = Scale::Linear.ticks((0.0, 100.0 * most), 4);
        for tick in &ticks {
            let at = plot.at(tick.position / 100.0);
            svg.line("grid", (at, top), (at, end));
            svg.text("s m", at, end + 16.0, &format!("{} %", tick.label));
        }
        for (at, pair) in self.pairs.iter().enumerate() {
            plot.pair(&mut svg, pair, &self.words(pair), top + row * at as f64, row);
        }
        (svg, (WIDTH, end + 24.0))
    }
}

/// Where marks are on the page.
struct Plot {
    left: f64,
    right: f64,
    most: f64,
    above: bool,
}

impl Plot {
    fn at(&self, share: f64) -> f64 {
        self.left + share.clamp(0.0, self.most) / self.most * (self.right - self.left)
    }

    fn pair(&self, svg: &mut Svg, pair: &Pair, words: &str, y: f64, row: f64) {
        svg.raw("<g>");
        svg.raw(&title(words));
        svg.rect("hit", (0.0, y), (WIDTH, row), "");
        let middle = if self.above { y + 27.0 } else { y + row / 2.0 };
        match self.above {
            true => svg.text("", 0.0, y + 13.0, &shortened(&pair.name, (WIDTH / COLUMN) as usize)),
            false => svg.text("e", self.left - NUMBER, middle + 4.0, &pair.name),
        }
        let (ours, other) = (self.at(pair.value), self.at(pair.other));
        let (class, _) = look(0);
        svg.line("join", (ours.min(other), middle), (ours.max(other), middle));
        let mut ends = (ours, ours);
        if let Some((low, high)) = pair.interval.filter(|(a, b)| !a.is_nan() && !b.is_nan()) {
            ends = (self.at(low).min(ours), self.at(high).max(ours));
            svg.line("whisker", (ends.0, middle), (ends.1, middle));
        }
        svg.dot("f mute", (other, middle), 5.0, "");
        svg.dot(&format!("f {class}"), (ours, middle), 5.0, "");
        // The smaller number to the left of everything, the larger one to the right.
        let (left, right) = (ends.0.min(other) - 9.0, ends.1.max(other) + 9.0);
        let (first, last) = match pair.value < pair.other {
            true => (("e", pair.value), ("s", pair.other)),
            false => (("s e", pair.other), ("", pair.value)),
        };
        svg.text(first.0, left, middle + 4.0, &share(first.1));
        svg.text(last.0, right, middle + 4.0, &share(last.1));
        svg.raw("</g>");
    }
}

/// A share to two digits: `13 %`, `3.0 %`, `0.64 %`.
pub(crate) fn share(x: f64) -> String {
    let points = 100.0 * x;
    match points.abs() {
        _ if !points.is_finite() => "unknown".into(),
        0.0 => "0 %".into(),
        p if p < 0.01 => "below 0.01 %".into(),
        p if p < 0.995 => format!("{points:.2} %"),
        p if p < 9.95 => format!("{points:.1} %"),
        _ => format!("{points:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_two_digits() {
        let shown = [0.0, 0.000_05, 0.0064, 0.0301, 0.0996, 0.1326, 1.0].map(share);
        assert_eq!(shown, ["0 %", "below 0.01 %", "0.64 %", "3.0 %", "10 %", "13 %", "100 %"]);
    }

    #[test]
    fn each_number_stands_on_the_outer_side_of_its_own_mark() {
        let pair =
            |name: &str, value, other| Pair { name: name.into(), value, interval: None, other };
        let svg = Pairs::new(
            "t",
            "of the hardest",
            "of everyone",
            vec![pair("under", 0.02, 0.10), pair("over", 0.30, 0.10)],
        )
        .to_svg();
        let x = |text: &str| -> f64 {
            let before = &svg[..svg.find(&format!(">{text}</text>")).unwrap()];
            let from = before.rfind(" x=\"").unwrap() + 4;
            before[from..].split('"').next().unwrap().parse().unwrap()
        };
        assert!(x("2.0 %") < x("10 %") && x("10 %") < x("30 %"), "{svg}");
    }
}
