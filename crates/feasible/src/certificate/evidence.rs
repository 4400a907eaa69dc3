//! What held-out rows prove about one number of the population.

use super::contrast::Contrast;
use super::count::Count;
use super::delta::Delta;
use super::difference::{Difference, smallest_ln_delta};
use super::shift::ByClass;
use super::unbounded::Unbounded;
use super::values::{Method, Values};

/// Evidence about one number of the population: a probability, an expectation, or a sum of such.
///
/// ```
/// use feasible::certificate::{Count, Delta, Difference, Evidence, Method, Values};
/// let delta = Delta::confidence(0.95)?;
/// // Forty of a hundred women and 25 of a hundred men were selected.
/// let (women, men) = (Count::new(40, 100)?, Count::new(25, 100)?);
/// let apart = Difference::Apart { a: women, b: men };
/// let against_all = Difference::Within { part: women, rest: Some(men) };
/// assert!((apart.estimate() - 0.15).abs() < 1e-12);
/// assert!((against_all.estimate() - 0.075).abs() < 1e-12);
/// // Of groups that share rows it counts which; whatever the dependence, two bounds share δ.
/// let shared = Difference::Shared { a: women, b: men, both: Count::new(10, 40)? };
/// let any = Difference::Any { a: women, b: men };
/// assert!(apart.upper(delta) < any.upper(delta) && shared.upper(delta) < any.upper(delta));
/// // Rejections differ by as much, the other way round.
/// assert!((apart.complement().estimate() + 0.15).abs() < 1e-12);
/// assert_eq!(women.complement().hits(), 60);
///
/// // Losses in [0, 1], by any of the bounds.
/// let losses = Values::new(vec![0.1, 0.3, 0.2, 0.0], 1.0)?;
/// assert!((losses.complement().mean() - 0.85).abs() < 1e-12);
/// use Method::{Betting, EmpiricalBernstein, Hoeffding, HoeffdingBentkus};
/// for method in [Hoeffding, EmpiricalBernstein, HoeffdingBentkus, Betting] {
///     let mean = Evidence::Mean { values: losses.clone(), method };
///     assert!(mean.lower(delta) <= 0.15 && mean.upper(delta) >= 0.15);
///     // "At least 0.9" is less probable than "at least 0.5".
///     assert!(mean.ln_p_at_least(0.9, delta) <= losses.ln_p_at_least(method, 0.5, delta));
/// }
///
/// // A combination of numbers; each has a part of δ.
/// let sum = Evidence::Sum(vec![
///     (1.0, Evidence::Share(women)),
///     (-0.5, Evidence::Difference(apart)),
/// ]);
/// assert!((sum.estimate() - 0.325).abs() < 1e-12);
/// // 40 of 100 where every second is selected: one time in 35.
/// assert!((women.ln_p_at_least(0.5).exp() - 0.0284).abs() < 1e-4);
/// assert_eq!(Evidence::Share(women).ln_p_at_most(0.5, delta), women.ln_p_at_most(0.5));
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Evidence {
    /// About a probability: rows that were counted (Clopper-Pearson).
    Share(Count),
    /// About an expectation: losses in [0, B].
    Mean {
        /// The losses.
        values: Values,
        /// The bound, chosen before the losses were seen.
        method: Method,
    },
    /// About the expectation of a loss without an upper bound: rows bound it from below at most.
    Unbounded(Unbounded),
    /// About the difference of two probabilities.
    Difference(Difference),
    /// About the difference of two expectations.
    Contrast(Contrast),
    /// About a probability in a population whose classes are as common as is said.
    ByClass(ByClass),
    /// About Σ a E: each term at an equal part of δ, whatever their dependence.
    Sum(Vec<(f64, Evidence)>),
}

impl Evidence {
    /// The number in the sample.
    pub fn estimate(&self) -> f64 {
        match self {
            Self::Share(count) => count.rate(),
            Self::Mean { values, .. } => values.mean(),
            Self::Unbounded(unbounded) => unbounded.mean(),
            Self::Difference(difference) => difference.estimate(),
            Self::Contrast(contrast) => contrast.estimate(),
            Self::ByClass(by_class) => by_class.estimate(),
            Self::Sum(terms) => terms.iter().map(|(a, e)| a * e.estimate()).sum(),
        }
    }

    /// Rows it is made of.
    pub fn rows(&self) -> u64 {
        match self {
            Self::Share(count) => count.rows(),
            Self::Mean { values, .. } => values.rows(),
            Self::Unbounded(unbounded) => unbounded.rows(),
            Self::Difference(difference) => difference.rows(),
            Self::Contrast(contrast) => contrast.rows(),
            Self::ByClass(by_class) => by_class.rows(),
            Self::Sum(terms) => terms.iter().map(|(_, e)| e.rows()).sum(),
        }
    }

    /// What the bound is called.
    pub fn method(&self) -> String {
        match self {
            Self::Share(_) => "Clopper-Pearson".into(),
            Self::Mean { method, .. } => method.to_string(),
            Self::Unbounded(unbounded) => unbounded.method(),
            Self::Difference(difference) => difference.method().into(),
            Self::Contrast(_) => Method::Betting.to_string(),
            Self::ByClass(_) => "Clopper-Pearson in either class, δ/2 each".into(),
            Self::Sum(terms) => match terms.first() {
                Some((_, first)) => format!("{}, δ/{} each", first.method(), terms.len()),
                None => "nothing".into(),
            },
        }
    }

    /// The upper bound at 1 − δ.
    pub fn upper(&self, delta: Delta) -> f64 {
        self.upper_designed(delta, delta)
    }

    /// The upper bound at 1 − δ, with bets and orders as suit a bound at `design`: for a fixed design, bounds at
    /// different δ are nested.
    pub(crate) fn upper_designed(&self, delta: Delta, design: Delta) -> f64 {
        match self {
            Self::Share(count) => count.upper(delta),
            Self::Mean { values, method } => values.upper_designed(*method, delta, design),
            Self::Unbounded(_) => f64::INFINITY,
            Self::Difference(difference) => difference.upper_designed(delta, design),
            Self::Contrast(contrast) => contrast.upper_designed(delta, design),
            Self::ByClass(by_class) => by_class.upper(delta),
            Self::Sum(terms) => {
                let (each, design) = (delta.among(terms.len()), design.among(terms.len()));
                let side = |(a, e): &(f64, Self)| match *a > 0.0 {
                    true => a * e.upper_designed(each, design),
                    false => a * e.lower_designed(each, design),
                };
                terms.iter().map(side).sum()
            }
        }
    }

    /// The lower bound at 1 − δ.
    pub fn lower(&self, delta: Delta) -> f64 {
        self.lower_designed(delta, delta)
    }

    pub(crate) fn lower_designed(&self, delta: Delta, design: Delta) -> f64 {
        match self {
            Self::Share(count) => count.lower(delta),
            Self::Mean { values, method } => values.lower_designed(*method, delta, design),
            Self::Unbounded(unbounded) => unbounded.lower(delta, design),
            Self::Difference(difference) => -difference.complement().upper_designed(delta, design),
            Self::Contrast(contrast) => -contrast.complement().upper_designed(delta, design),
            Self::ByClass(by_class) => by_class.lower(delta),
            Self::Sum(_) => -self.negative().upper_designed(delta, design),
        }
    }

    /// log of the p-value of "the number is at least `limit`". `design` is the δ that bets are made for.
    pub fn ln_p_at_least(&self, limit: f64, design: Delta) -> f64 {
        match self {
            Self::Share(count) => count.ln_p_at_least(limit),
            Self::Mean { values, method } => values.ln_p_at_least(*method, limit, design),
            Self::Unbounded(_) => 0.0,
            Self::Difference(difference) => difference.ln_p_at_least(limit, design),
            Self::Contrast(contrast) => contrast.ln_p_at_least(limit, design),
            Self::ByClass(by_class) => smallest_ln_delta(|delta| by_class.upper(delta) < limit),
            Self::Sum(_) if self.estimate() >= limit => 0.0,
            Self::Sum(_) if self.upper_designed(design, design) == f64::INFINITY => 0.0,
            Self::Sum(_) => smallest_ln_delta(|delta| self.upper_designed(delta, design) < limit),
        }
    }

    /// log of the p-value of "the number is at most `limit`".
    pub fn ln_p_at_most(&self, limit: f64, design: Delta) -> f64 {
        match self {
            Self::Share(count) => count.ln_p_at_most(limit),
            Self::Mean { values, method } => {
                values.complement().ln_p_at_least(*method, values.bound() - limit, design)
            }
            Self::Unbounded(unbounded) => unbounded.ln_p_at_most(limit, design),
            Self::Difference(difference) => {
                Self::Difference(difference.complement()).ln_p_at_least(-limit, design)
            }
            Self::Contrast(contrast) => contrast.complement().ln_p_at_least(-limit, design),
            Self::ByClass(by_class) => smallest_ln_delta(|delta| by_class.lower(delta) > limit),
            Self::Sum(_) => self.negative().ln_p_at_least(-limit, design),
        }
    }

    /// The least and the largest value that it can have; `None` where a change of the population is part of it.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        Some(match self {
            Self::Share(_) => (0.0, 1.0),
            Self::Mean { values, .. } => (0.0, values.bound()),
            Self::Unbounded(_) => (0.0, f64::INFINITY),
            Self::Difference(_) => (-1.0, 1.0),
            Self::Contrast(contrast) => (-contrast.bound(), contrast.bound()),
            Self::ByClass(_) => return None,
            Self::Sum(terms) => {
                let (mut least, mut most) = (0.0, 0.0);
                for (a, term) in terms {
                    let (low, high) = term.range()?;
                    let (one, other) = (a * low, a * high);
                    (least, most) = (least + one.min(other), most + one.max(other));
                }
                (least, most)
            }
        })
    }

    /// Whether a loss without an upper bound is part of it.
    pub(crate) fn is_unbounded(&self) -> bool {
        match self {
            Self::Unbounded(_) => true,
            Self::Sum(terms) => terms.iter().any(|(_, term)| term.is_unbounded()),
            _ => false,
        }
    }

    /// The same evidence about losses clipped at B, and for each term the rows whose loss is above B; `None` if a loss
    /// without an upper bound was not clipped, or none is without one.
    pub(crate) fn clipped(&self) -> Option<(Self, f64, Vec<Count>)> {
        match self {
            Self::Unbounded(unbounded) => {
                let clipped = unbounded.clipped()?;
                let (values, method) = (clipped.values.clone(), clipped.method);
                Some((Self::Mean { values, method }, clipped.values.bound(), vec![clipped.above]))
            }
            Self::Sum(terms) => {
                let (mut all, mut at, mut above) = (Vec::new(), None, Vec::new());
                for (a, term) in terms {
                    let unbounded = matches!(term, Self::Unbounded(_));
                    let term = match unbounded {
                        true => {
                            let (term, bound, counts) = term.clipped()?;
                            at = Some(bound);
                            above.extend(counts);
                            term
                        }
                        false => term.clone(),
                    };
                    all.push((*a, term));
                }
                Some((Self::Sum(all), at?, above))
            }
            _ => None,
        }
    }

    fn negative(&self) -> Self {
        match self {
            Self::Sum(terms) => Self::Sum(terms.iter().map(|(a, e)| (-a, e.clone())).collect()),
            other => Self::Sum(vec![(-1.0, other.clone())]),
        }
    }

    /// The sample that `rows` rows with the same proportions might be, rounded towards a larger number if
    /// `up`.
    pub(crate) fn scaled(&self, rows: u64, up: bool) -> Self {
        let factor = rows as f64 / self.rows() as f64;
        let count = |c: Count, up: bool| {
            let n = ((c.rows() as f64 * factor).round() as u64).max(1);
            let hits = c.rate() * n as f64;
            let hits = if up { (hits - 1e-9).ceil() } else { (hits + 1e-9).floor() };
            Count::new((hits as u64).min(n), n).unwrap_or(c)
        };
        match self {
            Self::Share(c) => Self::Share(count(*c, up)),
            Self::Mean { values, method } => {
                Self::Mean { values: values.cycled(rows), method: *method }
            }
            Self::Unbounded(unbounded) => Self::Unbounded(unbounded.clone()),
            Self::Difference(difference) => Self::Difference(match *difference {
                Difference::Apart { a, b } => {
                    Difference::Apart { a: count(a, up), b: count(b, !up) }
                }
                Difference::Any { a, b } => Difference::Any { a: count(a, up), b: count(b, !up) },
                Difference::Shared { a, b, both } => {
                    // Each part by itself, so that no part is larger than the whole.
                    let part = |whole: Count, up: bool| {
                        let only =
                            Count::new(whole.hits() - both.hits(), whole.rows() - both.rows());
                        only.map_or((0, 0), |only| {
                            let only = count(only, up);
                            (only.hits(), only.rows())
                        })
                    };
                    let shared = count(both, up);
                    let with = |(hits, rows): (u64, u64)| {
                        Count::new(hits + shared.hits(), rows + shared.rows()).unwrap_or(shared)
                    };
                    Difference::Shared { a: with(part(a, up)), b: with(part(b, !up)), both: shared }
                }
                Difference::Within { part, rest } => Difference::Within {
                    part: count(part, up),
                    rest: rest.map(|rest| count(rest, !up)),
                },
            }),
            Self::Contrast(contrast) => Self::Contrast(contrast.cycled(rows)),
            Self::ByClass(by_class) => Self::ByClass(ByClass {
                of_class: count(by_class.of_class, up != by_class.discoveries),
                of_others: count(by_class.of_others, up),
                ..*by_class
            }),
            Self::Sum(terms) => {
                let share = |e: &Self| (e.rows() as f64 * factor).round().max(1.0) as u64;
                let scale = |(a, e): &(f64, Self)| (*a, e.scaled(share(e), up == (*a > 0.0)));
                Self::Sum(terms.iter().map(scale).collect())
            }
        }
    }
}
