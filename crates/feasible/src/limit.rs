//! Which limits make sense.
//!
//! A requirement is about Σ aₜ E over 𝔇ₜ of ℓₜ, and a loss lies in \[0, B\]. So its value lies in
//!
//! $$ \Big[ \sum_t \min(0, a_t B_t), \; \sum_t \max(0, a_t B_t) \Big] , $$
//!
//! \[0, 1\] for a rate, \[−1, 1\] for a difference of two, \[0, ∞) for cross-entropy. A limit outside is met by
//! every model or by none, whatever the data: a slip of the pen, 15 for 15 % for instance, and an error. A limit
//! at the very edge is taken at its word: an error of at most 0 is strict, one of at most 1 is
//! [always met](Requirement::is_always_met).

use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::requirement::{Limit, Requirement, Sense};

/// The largest size of a limit: beyond it a loss, computed in `f32`, soon overflows.
const LARGEST: f64 = 1e30;

/// A share for a number that was meant in per cent: 0.15 for 15, nothing for 0.15 or 1500.
///
/// ```
/// use feasible::limit::meant_in_percent;
/// assert_eq!(meant_in_percent(15.0), Some(0.15));
/// assert_eq!((meant_in_percent(0.15), meant_in_percent(1500.0)), (None, None));
/// ```
pub fn meant_in_percent(number: f64) -> Option<f64> {
    // Twelve digits: 99.9 is 0.999, and not 0.9990000000000001.
    (number > 1.0 && number <= 100.0).then(|| (number * 1e10).round() / 1e12)
}

/// "; did you mean 0.15?", or nothing.
///
/// ```
/// use feasible::limit::suggestion;
/// assert_eq!((suggestion(15.0), suggestion(0.15)), ("; did you mean 0.15?".into(), String::new()));
/// ```
pub fn suggestion(number: f64) -> String {
    match meant_in_percent(number.abs()) {
        Some(share) => format!("; did you mean {}?", share.copysign(number)),
        None => String::new(),
    }
}

/// A limit as a person would write it: 1e308, not a one with 308 zeros.
///
/// ```
/// use feasible::limit::written;
/// assert_eq!((written(0.15), written(15.0), written(1e308)), ("0.15".into(), "15".into(), "1e308".into()));
/// ```
pub fn written(limit: f64) -> String {
    if limit.abs() >= 1e16 { format!("{limit:e}") } else { limit.to_string() }
}

/// Whether `c` is a limit of this sense for what lies in `range`.
///
/// ```
/// use feasible::limit::check;
/// use feasible::requirement::Sense;
/// let error = check("the error rate", Sense::AtMost, 15.0, (0.0, 1.0)).unwrap_err();
/// assert_eq!(error, "is one that every model meets: the error rate is never above 1; did you mean 0.15?");
/// ```
///
/// # Errors
/// Why not, as the end of a sentence that starts with the limit.
pub fn check(what: &str, sense: Sense, c: f64, (low, high): (f64, f64)) -> Result<(), String> {
    if c.is_nan() || c.abs() > LARGEST {
        return Err(format!("is out of all proportion: give one of at most {LARGEST:e}"));
    }
    if (low..=high).contains(&c) {
        return Ok(());
    }
    let everyone = match sense {
        Sense::AtMost => c > high,
        Sense::AtLeast => c < low,
    };
    let who = if everyone { "every model" } else { "no model" };
    let edge = if c > high { format!("above {high}") } else { format!("below {low}") };
    let hint = if high <= 1.0 && low >= -1.0 { suggestion(c) } else { String::new() };
    Err(format!("is one that {who} meets: {what} is never {edge}{hint}"))
}

/// Whether what is known of a loss does not depend on the number of outputs.
fn is_known(loss: &Loss) -> bool {
    !matches!(loss, Loss::Custom(_))
}

impl Requirement {
    /// The smallest and the largest value it can have, whatever the model; infinite where nothing is known.
    pub fn range(&self, width: usize) -> (f64, f64) {
        let add = |(low, high): (f64, f64), (a, b): (f64, f64)| (low + a, high + b);
        let ranges = self.terms().iter().map(|term| {
            let bound = term.measure().properties(width).bound;
            let (least, most) = match bound {
                // A loss of the user's own that says nothing of itself may be negative.
                None if !is_known(term.measure()) => (f64::NEG_INFINITY, f64::INFINITY),
                None => (0.0, f64::INFINITY),
                Some(bound) => (0.0, bound),
            };
            match term.coefficient() {
                0.0 => (0.0, 0.0),
                a if a > 0.0 => (a * least, a * most),
                a => (a * most, a * least),
            }
        });
        // Not −0, which is how a negative coefficient writes 0.
        let (low, high) = ranges.fold((0.0, 0.0), add);
        (low + 0.0, high + 0.0)
    }

    /// Whether every model meets it: a rate of at most 1, or of at least 0.
    pub fn is_always_met(&self, width: usize) -> bool {
        let (low, high) = self.range(width);
        let met = |c: f64| match self.sense() {
            Sense::AtMost => c >= high,
            Sense::AtLeast => c <= low,
        };
        match self.limit() {
            Limit::Common(c) => met(*c),
            Limit::PerPoint(limits) => limits.iter().all(|&c| met(c)),
        }
    }

    /// Whether its limits make sense for a model with `width` outputs, where that is known and matters.
    ///
    /// # Errors
    /// A limit outside the range, or a margin that leaves none inside.
    pub(crate) fn check_limit(&self, width: Option<usize>) -> Result<()> {
        if self.moved || width.is_none() && !self.terms().iter().all(|t| is_known(t.measure())) {
            return Ok(());
        }
        let range = self.range(width.unwrap_or(1));
        match self.limit() {
            Limit::Common(c) => self.check_one(*c, None, range),
            Limit::PerPoint(limits) => {
                let mut all = limits.iter().enumerate();
                all.try_for_each(|(n, &c)| self.check_one(c, Some(n), range))
            }
        }
    }

    fn check_one(&self, c: f64, sample: Option<usize>, (low, high): (f64, f64)) -> Result<()> {
        let what = match self.terms() {
            [term] => term.measure().to_string(),
            [term, ..] => format!("this combination of {}", term.measure()),
            [] => return Ok(()),
        };
        check(&what, self.sense(), c, (low, high)).map_err(|reason| Error::Limit {
            requirement: self.name().into(),
            value: c,
            sample,
            reason,
        })?;
        let trained = c - self.sense().sign() * self.margin;
        let (side, reachable) = match self.sense() {
            Sense::AtMost => ("at most", trained >= low),
            Sense::AtLeast => ("at least", trained <= high),
        };
        let allowed = format!(
            "smaller: it leaves {side} {trained} to train for, and {what} lies in [{low}, {high}]"
        );
        Error::unless(reachable, &format!("{}: margin", self.who()), self.margin, &allowed)
    }
}
