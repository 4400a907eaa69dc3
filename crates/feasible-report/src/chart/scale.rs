//! Scales: from values to pixels, and the round numbers to mark.
//!
//! | scale | position of x |
//! | --- | --- |
//! | linear | x |
//! | log | log₁₀ x, x > 0 |
//! | signed log | sgn(x) log₁₀(1 + abs(x)/c): linear near 0, logarithmic away from it |

use super::text::{grouped, number, power_of_ten};

/// How values become positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Equal steps are equally long.
    Linear,
    /// Equal ratios are equally long; values ≤ 0 are not shown.
    Log,
    /// Linear within about ± `linear`, logarithmic beyond: for numbers of both signs.
    SignedLog {
        /// Where it turns from linear to logarithmic; positive.
        linear: f64,
    },
}

/// Values further from 0 than this are treated as infinite, so that differences stay finite.
const LARGEST: f64 = 1e300;

impl Scale {
    /// The position of a value; `None` if it has none.
    pub(crate) fn position(self, x: f64) -> Option<f64> {
        if !x.is_finite() || x.abs() > LARGEST {
            return None;
        }
        match self {
            Self::Linear => Some(x),
            Self::Log => (x > 0.0).then(|| x.log10()),
            Self::SignedLog { linear } => {
                let c = usable(linear);
                let position = (x.abs() / c).ln_1p() / std::f64::consts::LN_10;
                position.is_finite().then_some(x.signum() * position)
            }
        }
    }

    /// The range of positions to draw: that of the values, a little more, and never empty.
    pub(crate) fn domain(self, positions: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
        let (low, high) = positions
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p), high.max(p)));
        if low > high {
            return None;
        }
        let least = match self {
            Self::Linear => low.abs().max(high.abs()) * 1e-9,
            Self::Log | Self::SignedLog { .. } => 1e-6,
        };
        if high - low > least {
            return Some((low, high));
        }
        // One value: it stands in the middle of something.
        let half = match self {
            Self::Linear => {
                if low == 0.0 {
                    1.0
                } else {
                    low.abs() * 0.1
                }
            }
            Self::Log | Self::SignedLog { .. } => 0.5,
        };
        Some((low - half, high + half))
    }

    /// Positions and labels of about `count` round values in a range of positions, and what to
    /// add to the axis's label.
    pub(crate) fn ticks(self, (low, high): (f64, f64), count: usize) -> (Vec<Tick>, String) {
        match self {
            Self::Linear => linear(low, high, round_step(high - low, count)),
            Self::Log => (log(low, high, count), String::new()),
            Self::SignedLog { .. } => (self.signed(low, high), String::new()),
        }
    }

    /// As [`Scale::ticks`], of things that are counted: a linear axis has no tick between two whole numbers.
    pub(crate) fn whole_ticks(self, ends: (f64, f64), count: usize) -> (Vec<Tick>, String) {
        match self {
            Self::Linear => linear(ends.0, ends.1, round_step(ends.1 - ends.0, count).max(1.0)),
            _ => self.ticks(ends, count),
        }
    }

    fn signed(self, low: f64, high: f64) -> Vec<Tick> {
        let mut ticks = Vec::new();
        let mut at = |x: f64| {
            if let Some(position) = self.position(x)
                && (low..=high).contains(&position)
            {
                ticks.push(Tick { position, label: number(x) });
            }
        };
        at(0.0);
        let Self::SignedLog { linear } = self else { return ticks };
        let first = usable(linear).log10().ceil() as i32;
        // One label per decade while they are few, else every second or third.
        let decades = high.abs().max(low.abs()).max(1.0).ceil() as i32 + 1;
        let step = (decades / 4).max(1);
        for k in (0..=decades).step_by(step as usize) {
            let x = 10f64.powi(first + k);
            at(x);
            at(-x);
        }
        ticks.sort_by(|a, b| a.position.total_cmp(&b.position));
        ticks
    }
}

/// A constant to divide by, whatever was given.
fn usable(linear: f64) -> f64 {
    if linear.is_finite() && linear > 0.0 { linear.clamp(1.0 / LARGEST, LARGEST) } else { 1.0 }
}

/// A marked value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) position: f64,
    pub(crate) label: String,
}

/// The round step (1, 2 or 5 times a power of ten) nearest, as a ratio, to `count` equal steps.
pub(crate) fn round_step(span: f64, count: usize) -> f64 {
    let rough = span / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let digit = match rough / power {
        r if r < 2f64.sqrt() => 1.0,
        r if r < 10f64.sqrt() => 2.0,
        r if r < 50f64.sqrt() => 5.0,
        _ => 10.0,
    };
    digit * power
}

fn linear(low: f64, high: f64, step: f64) -> (Vec<Tick>, String) {
    if !(step.is_finite() && step > 0.0) {
        return (Vec::new(), String::new());
    }
    // Very large or small labels share one power of ten, named beside the axis's label.
    let size = low.abs().max(high.abs());
    let exponent = match size {
        s if (1e-3..1e5).contains(&s) => 0,
        s => s.log10().floor() as i32,
    };
    let unit = 10f64.powi(exponent);
    let decimals = (-(step / unit).log10().floor()).clamp(0.0, 12.0) as usize;
    let (first, last) = ((low / step - 1e-6).ceil() as i64, (high / step + 1e-6).floor() as i64);
    let tick = |k: i64| {
        let position = k as f64 * step;
        let text = grouped(&format!("{:.decimals$}", position.abs() / unit));
        let label = if k < 0 { format!("−{text}") } else { text };
        Tick { position, label }
    };
    let ticks = (first..=last.min(first + 50)).map(tick).collect();
    let note =
        if exponent == 0 { String::new() } else { format!(" (× {})", power_of_ten(exponent)) };
    (ticks, note)
}

fn log(low: f64, high: f64, count: usize) -> Vec<Tick> {
    let (first, last) = ((low - 1e-9).ceil() as i32, (high + 1e-9).floor() as i32);
    let decades = last - first + 1;
    let inside = |p: &f64| *p >= low - 1e-9 && *p <= high + 1e-9;
    if decades >= 3 {
        let step = (decades as usize).div_ceil(count.max(2)).max(1);
        let label =
            |k: i32| if (-2..=3).contains(&k) { number(10f64.powi(k)) } else { power_of_ten(k) };
        let tick = |k: i32| Tick { position: f64::from(k), label: label(k) };
        return (first..=last).step_by(step).map(tick).collect();
    }
    let multiples = (low.floor() as i32..=high.floor() as i32)
        .flat_map(|k| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(k)));
    let ticks: Vec<Tick> = multiples
        .map(|x| Tick { position: x.log10(), label: number(x) })
        .filter(|tick| inside(&tick.position))
        .collect();
    if ticks.len() >= 2 {
        return ticks;
    }
    // Less than a factor of two or so: round steps of the values themselves.
    let (low_value, high_value) = (10f64.powf(low), 10f64.powf(high));
    let (ticks, _) = linear(low_value, high_value, round_step(high_value - low_value, count));
    let place = |tick: Tick| {
        let position = tick.position.max(f64::MIN_POSITIVE).log10();
        Tick { position, label: number(tick.position) }
    };
    ticks.into_iter().map(place).filter(|tick| inside(&tick.position)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, low: f64, high: f64) -> Vec<String> {
        scale.ticks((low, high), 5).0.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(labels(Scale::Linear, 0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(Scale::Linear, -3.2, 7.0), ["−2", "0", "2", "4", "6"]);
        assert_eq!(labels(Scale::Linear, 0.0, 80.0), ["0", "20", "40", "60", "80"]);
        assert_eq!(labels(Scale::Linear, 0.3385, 0.3475), ["0.340", "0.342", "0.344", "0.346"]);
        assert_eq!(labels(Scale::Linear, 0.0, 40_000.0)[1], "10,000");
    }

    #[test]
    fn what_is_counted_has_whole_ticks() {
        let labels = |low, high| -> Vec<String> {
            Scale::Linear.whole_ticks((low, high), 6).0.into_iter().map(|tick| tick.label).collect()
        };
        assert_eq!(labels(1.0, 3.0), ["1", "2", "3"]);
        assert_eq!(labels(0.9, 1.1), ["1"]);
        assert_eq!(labels(1.0, 80.0)[..2], ["10", "20"]);
    }

    #[test]
    fn very_large_and_small_ticks_share_a_power_of_ten() {
        let (ticks, note) = Scale::Linear.ticks((0.0, 4e-6), 4);
        let labels: Vec<&str> = ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!((labels, note.as_str()), (vec!["0", "1", "2", "3", "4"], " (× 10⁻⁶)"));
    }

    #[test]
    fn log_ticks_are_powers_or_their_multiples() {
        assert_eq!(labels(Scale::Log, -6.0, -1.0), ["10⁻⁶", "10⁻⁴", "0.01"]);
        assert_eq!(labels(Scale::Log, 0.0, 1.0), ["1", "2", "5", "10"]);
        assert_eq!(labels(Scale::Log, 0.31, 0.40), ["2.1", "2.2", "2.3", "2.4", "2.5"]);
    }

    #[test]
    fn signed_log_has_zero_in_its_place() {
        let scale = Scale::SignedLog { linear: 1e-3 };
        assert_eq!(scale.position(0.0), Some(0.0));
        assert_eq!(scale.position(-0.5), scale.position(0.5).map(|p| -p));
        let (low, high) = (scale.position(-1e-3), scale.position(10.0));
        let (Some(low), Some(high)) = (low, high) else { panic!() };
        assert_eq!(labels(scale, low, high), ["−0.001", "0", "0.001", "0.01", "0.1", "1", "10"]);
    }

    #[test]
    fn values_without_a_position_have_none() {
        for x in [f64::NAN, f64::INFINITY, -f64::INFINITY, f64::MAX] {
            assert_eq!(Scale::Linear.position(x), None);
        }
        assert_eq!((Scale::Log.position(0.0), Scale::Log.position(-1.0)), (None, None));
        assert_eq!(Scale::Linear.domain(std::iter::empty()), None);
        assert_eq!(Scale::Linear.domain([5.0].into_iter()), Some((4.5, 5.5)));
        assert_eq!(Scale::Linear.domain([0.0].into_iter()), Some((-1.0, 1.0)));
    }
}
