//! What is kept of a table for a requirement: the logarithms of its capitals.

use serde::{Deserialize, Serialize};

use super::deal::deals;
use super::wager::{STAKES, Wager};
use crate::certificate::{Count, Delta, Evidence, Values};

/// The part of α that goes to the share π of a group, half of it to either side.
pub(crate) const FOR_SIZE: f64 = 0.1;

/// The capitals that bets on the rows of one table lead to, for every stake. See the [module](super).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wealth {
    /// Values that were bet on: rows, or rows of the smaller group.
    pub units: u64,
    /// log capital of those who bet that values are large.
    pub up: Vec<f64>,
    /// log capital of those who bet that values are small.
    pub down: Vec<f64>,
    /// For a group against everyone: what was bet against instead of the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
}

/// A group against everyone: p_a − p = (1 − π)(p_a − p_r), where π is the group's share and r the rest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Within {
    /// What bets upwards on p_a − p_r are against: the largest c/(1 − π).
    pub up: f64,
    /// What bets downwards are against: the smallest c/(1 − π).
    pub down: f64,
    /// The smallest 1 − π.
    pub least: f64,
    /// The largest 1 − π.
    pub most: f64,
}

impl Wealth {
    /// Of a share.
    pub fn of_count(count: Count, wager: &Wager) -> Self {
        let (hits, misses) = (count.hits() as f64, (count.rows() - count.hits()) as f64);
        let bet = |stake: f64, sign: f64| {
            let factor = |x: f64| (sign * stake * (x - wager.limit)).ln_1p();
            // 0 · log 0 is nothing.
            let times = |n: f64, ln: f64| if n > 0.0 { n * ln } else { 0.0 };
            times(hits, factor(1.0)) + times(misses, factor(0.0))
        };
        let up = wager.up().map(|stake| bet(stake, 1.0)).to_vec();
        let down = wager.down().map(|stake| bet(stake, -1.0)).to_vec();
        Self { units: count.rows(), up, down, within: None }
    }

    /// Of the mean of losses.
    pub fn of_values(values: &Values, wager: &Wager) -> Self {
        Self::of_deals(&[losses(values)], wager, [wager.limit; 2])
    }

    /// Of the difference of the means of two groups without common rows; `None` if one is empty. `seed` deals the
    /// rows: it must not depend on their order in the file.
    fn of_groups(a: &[f64], b: &[f64], wager: &Wager, seed: u64) -> Option<Self> {
        let deals = deals(a, b, seed);
        (!deals.is_empty()).then(|| Self::of_deals(&deals, wager, [wager.limit; 2]))
    }

    /// Of the rate of a group minus that of everyone, in table number `at` = 0, 1, …; `alpha` is the error that
    /// the requirement may make. `None` if there is no one else, or hardly anyone.
    pub fn of_part(
        part: Count,
        rest: Count,
        wager: &Wager,
        (alpha, at): (Delta, usize),
        seed: u64,
    ) -> Option<Self> {
        // The smallest and the largest 1 − π, wrong in this table with a probability of which the sum over all tables is
        // a tenth of α.
        let side = alpha.times(0.5 * FOR_SIZE * weight(at));
        let others = Count::new(rest.rows(), part.rows() + rest.rows()).ok()?;
        let (least, most) = (others.lower(side), others.upper(side));
        let ends = [wager.limit / least, wager.limit / most];
        let (up, down) = (ends[0].max(ends[1]), ends[0].min(ends[1]));
        if !(least > 0.0 && down >= -1.0 && up <= 1.0) {
            return None;
        }
        let deals = deals(&rows(part), &rows(rest), seed);
        let wealth = Self::of_deals(&deals, wager, [up, down]);
        Some(Self { within: Some(Within { up, down, least, most }), ..wealth })
    }

    /// Of the difference of two rates of groups without common rows.
    pub fn of_counts(a: Count, b: Count, wager: &Wager, seed: u64) -> Option<Self> {
        Self::of_groups(&rows(a), &rows(b), wager, seed)
    }

    /// Of the difference of two numbers, each with its own evidence from rows that are not the other's; `None` if it is
    /// not of rows.
    pub fn of_evidence(a: &Evidence, b: &Evidence, wager: &Wager, seed: u64) -> Option<Self> {
        let values = |evidence: &Evidence| match evidence {
            Evidence::Share(count) => Some(rows(*count)),
            Evidence::Mean { values, .. } => Some(losses(values)),
            Evidence::Unbounded(_)
            | Evidence::Difference(_)
            | Evidence::Contrast(_)
            | Evidence::ByClass(_)
            | Evidence::Sum(_) => None,
        };
        Self::of_groups(&values(a)?, &values(b)?, wager, seed)
    }

    /// Of values in one or several deals, of which capitals are averaged; `against` is what is bet against, upwards and
    /// downwards.
    fn of_deals(deals: &[Vec<f64>], wager: &Wager, against: [f64; 2]) -> Self {
        let bet = |stake: f64, sign: f64, against: f64| {
            let logs = deals.iter().map(|values| {
                // A few factors at a time: logarithms are dear, and so few neither overflow nor vanish.
                let product = |some: &[f64]| -> f64 {
                    some.iter().map(|x| 1.0 + sign * stake * (x - against)).product()
                };
                values.chunks(16).map(|some| product(some).ln()).sum::<f64>()
            });
            ln_mean(&logs.collect::<Vec<f64>>())
        };
        let [above, below] = against;
        Self {
            units: deals.first().map_or(0, |values| values.len() as u64),
            up: wager.up().map(|stake| bet(stake, 1.0, above)).to_vec(),
            down: wager.down().map(|stake| bet(stake, -1.0, below)).to_vec(),
            within: None,
        }
    }

    /// Whether it has a finite number for every stake, as one read from a file must.
    pub fn is_whole(&self) -> bool {
        let whole = |logs: &[f64]| logs.len() == STAKES && logs.iter().all(|x| x.is_finite());
        let within = self.within.is_none_or(|w| {
            w.least > 0.0
                && w.least <= w.most
                && w.most <= 1.0
                && w.down.abs() <= 1.0
                && w.up.abs() <= 1.0
        });
        whole(&self.up) && whole(&self.down) && within
    }
}

fn losses(values: &Values) -> Vec<f64> {
    values.shares().iter().map(|x| x * values.bound()).collect()
}

/// Rows that were counted, and the others.
fn rows(count: Count) -> Vec<f64> {
    (0..count.rows()).map(|row| if row < count.hits() { 1.0 } else { 0.0 }).collect()
}

/// The weight of bets that start at table `at` = 0, 1, …: 1/((at + 1)(at + 2)), which sum to 1.
pub(crate) fn weight(at: usize) -> f64 {
    let s = at as f64 + 1.0;
    1.0 / (s * (s + 1.0))
}

/// log of the mean of exponentials.
fn ln_mean(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !most.is_finite() {
        return most;
    }
    most + (logs.iter().map(|x| (x - most).exp()).sum::<f64>() / logs.len() as f64).ln()
}
