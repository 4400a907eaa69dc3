//! Who was hard: which groups have more than their share of the largest multipliers.
//!
//! The multipliers λ of a pointwise requirement show for which individuals it is costly. Take
//! the hardest n, the top share q by λ. Of the N individuals a group has K, of the hardest it has
//! k; its prevalence is k/n among them against K/N among all, and their ratio shows whether it is
//! over-represented. Three numbers measure how certain that is:
//!
//! - the exact interval of Clopper and Pearson (1934) for the prevalence among the hardest: all p
//!   for which neither Pr\[X ≥ k\] nor Pr\[X ≤ k\] is below (1 − confidence)/2, X ~ binomial(n, p);
//! - Fisher's exact test: the probability, were the hardest drawn at random, of a count at most as
//!   likely as k under the hypergeometric distribution
//!
//! $$ \Pr(k) = \binom{K}{k} \binom{N-K}{n-k} \Big/ \binom{N}{n} ; $$
//!
//! - the same after Holm's (1979) correction for the number of groups tested, which keeps the
//!   chance of even one false discovery below the level whatever the groups have in common.
//!
//! All three treat individuals as independent draws. Rows that are alike share their λ, so there
//! are fewer of them than it seems: the ratio is a fact of the run, its p-value is optimistic.
//!
//! Where most λ are 0, the top 20 % of all individuals are mostly ties: use [`Among::Positive`]
//! then, and state which it was.
//!
//! ```
//! use feasible::sensitivity::{Among, Group, Hardest, Prevalence, prevalence};
//! let lambda = [0.0, 3.0, 0.0, 2.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0];
//! let hardest = Hardest::of(&lambda, 0.5, Among::Positive)?;
//! assert_eq!(hardest.members, [1, 3]);
//! assert_eq!(Hardest::of(&lambda, 0.1, Among::All)?.members, [1]);
//! let groups = [Group::new("women", [1, 3, 5]), Group::new("men", [0, 2, 4, 6, 7, 8, 9])];
//! let found: Vec<Prevalence> = prevalence(lambda.len(), &hardest, &groups, 0.95)?;
//! assert_eq!((found[0].name.as_str(), found[0].ratio), ("women", 1.0 / 0.3));
//! # Ok::<(), feasible::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::certificate::{Count, Delta};
use crate::error::{Error, Result};

/// Of whom the top share is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Among {
    /// Of all individuals.
    All,
    /// Of those with λ > 0.
    Positive,
}

/// The hardest individuals: those with the largest multipliers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hardest {
    /// Their positions, ascending.
    pub members: Vec<u32>,
    /// Of how many they are the top share.
    pub of: usize,
    /// The smallest of their multipliers.
    pub least: f64,
    /// Individuals with that same multiplier who did not get in: where there are any, the order
    /// of the rows decided.
    pub tied: usize,
}

impl Hardest {
    /// The ⌈share · n⌉ individuals with the largest multipliers; equal ones in the order of their
    /// positions.
    ///
    /// # Errors
    /// A share that is not in (0, 1], multipliers that are negative or not finite, or none to
    /// choose from.
    pub fn of(multipliers: &[f64], share: f64, among: Among) -> Result<Self> {
        Error::unless(share > 0.0 && share <= 1.0, "top share", share, "above 0 and at most 1")?;
        if let Some(bad) = multipliers.iter().find(|m| !(m.is_finite() && **m >= 0.0)) {
            Error::unless(false, "multiplier", *bad, "finite and at least 0")?;
        }
        let positive = |&at: &u32| among == Among::All || multipliers[at as usize] > 0.0;
        let mut order: Vec<u32> = (0..multipliers.len() as u32).filter(positive).collect();
        let of = order.len();
        if of == 0 {
            let requirement = "the hardest individuals".to_string();
            return Err(Error::EmptyPopulation { requirement });
        }
        order.sort_by(|&a, &b| {
            multipliers[b as usize].total_cmp(&multipliers[a as usize]).then(a.cmp(&b))
        });
        // 0.2 · 10 is 2.0000000000000004: what is whole but for that counts as whole.
        let count = ((share * of as f64 - 1e-9).ceil() as usize).clamp(1, of);
        let least = multipliers[order[count - 1] as usize];
        let tied = order[count..].iter().filter(|&&at| multipliers[at as usize] == least).count();
        order.truncate(count);
        order.sort_unstable();
        Ok(Self { members: order, of, least, tied })
    }
}

/// A group of individuals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// What it is called.
    pub name: String,
    /// The positions of its members.
    pub members: Vec<u32>,
}

impl Group {
    /// A group.
    pub fn new(name: &str, members: impl IntoIterator<Item = u32>) -> Self {
        Self { name: name.to_string(), members: members.into_iter().collect() }
    }
}

/// How much of the hardest a group makes up, and how sure that is. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prevalence {
    /// The group.
    pub name: String,
    /// Its members among the hardest, k.
    pub among_hardest: usize,
    /// Its members among all, K.
    pub among_all: usize,
    /// Its prevalence among the hardest, k/n.
    pub share: f64,
    /// Its prevalence among all, K/N.
    pub share_of_all: f64,
    /// The ratio of the two: above 1 if it is over-represented.
    pub ratio: f64,
    /// The exact interval for the prevalence among the hardest.
    pub interval: (f64, f64),
    /// Fisher's exact test, two-sided.
    pub p: f64,
    /// After Holm's correction for the number of groups.
    pub adjusted: f64,
}

/// The prevalence of each group, the most over-represented first. Groups without members are left
/// out and not counted as tested.
///
/// # Errors
/// A confidence that is not in (0, 1), or members that are repeated or not below `population`.
pub fn prevalence(
    population: usize,
    hardest: &Hardest,
    groups: &[Group],
    confidence: f64,
) -> Result<Vec<Prevalence>> {
    let tail = Delta::confidence(confidence)?.among(2);
    let is_hard = positions(&hardest.members, population, "the hardest")?;
    let n = hardest.members.len();
    let mut found = Vec::new();
    for group in groups.iter().filter(|group| !group.members.is_empty()) {
        let members = positions(&group.members, population, &group.name)?;
        let k = members.iter().filter(|at| is_hard.binary_search(at).is_ok()).count();
        let all = group.members.len();
        let seen_of = Count::new(k as u64, n as u64)?;
        let (share, share_of_all) = (k as f64 / n as f64, all as f64 / population as f64);
        found.push(Prevalence {
            name: group.name.clone(),
            among_hardest: k,
            among_all: all,
            share,
            share_of_all,
            ratio: share / share_of_all,
            interval: (seen_of.lower(tail), seen_of.upper(tail)),
            p: fisher(population, all, n, k),
            adjusted: 1.0,
        });
    }
    holm(&mut found);
    // Stable: equal ratios stay in the order of the groups.
    found.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    Ok(found)
}

/// Members in ascending order.
fn positions(members: &[u32], population: usize, whose: &str) -> Result<Vec<u32>> {
    let mut members = members.to_vec();
    members.sort_unstable();
    if let Some(pair) = members.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::DuplicateId { id: u64::from(pair[0]) });
    }
    match members.last() {
        Some(&last) if last as usize >= population => Err(Error::Shape {
            what: format!("members of {whose}"),
            expected: format!("positions below {population}"),
            found: last as usize,
        }),
        _ => Ok(members),
    }
}

/// Holm's step-down correction: the j-th smallest of m is multiplied by m − j + 1, and none is
/// below the one before.
#[doc(hidden)]
pub fn holm(found: &mut [Prevalence]) {
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by(|&a, &b| found[a].p.total_cmp(&found[b].p));
    let mut least: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        least = least.max((found[at].p * (found.len() - rank) as f64).min(1.0));
        found[at].adjusted = least;
    }
}

/// The two-sided p-value of k of a group's `all` among n drawn from `population`.
#[doc(hidden)]
pub fn fisher(population: usize, all: usize, n: usize, k: usize) -> f64 {
    let (low, high) = ((n + all).saturating_sub(population), n.min(all));
    let outside = population - all;
    let ln = |k: usize| ln_choose(all, k) + ln_choose(outside, n - k) - ln_choose(population, n);
    // Counts as likely as k, but for rounding, count as at most as likely.
    let bound = ln(k) + 1e-7;
    let mut p = 0.0;
    // Away from k the probabilities fall on both sides of the mode: each side is summed from its
    // first count that is unlikely enough, until nothing is added.
    let mode = ((n + 1) as f64 * (all + 1) as f64 / (population as f64 + 2.0)) as usize;
    let mode = mode.clamp(low, high);
    let mut add = |k: usize| {
        let term = ln(k);
        if term > bound {
            return true;
        }
        let before = p;
        p += term.exp();
        p > before
    };
    for k in mode..=high {
        if !add(k) {
            break;
        }
    }
    for k in (low..mode).rev() {
        if !add(k) {
            break;
        }
    }
    p.min(1.0)
}

fn ln_choose(n: usize, k: usize) -> f64 {
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
}

/// log n!, by Stirling's series; exact products below 16.
fn ln_factorial(n: usize) -> f64 {
    if n < 16 {
        return (1..=n).map(|i| i as f64).product::<f64>().ln();
    }
    let x = n as f64;
    let m = 1.0 / (x * x);
    let series = (1.0 / 12.0 - m * (1.0 / 360.0 - m * (1.0 / 1260.0 - m / 1680.0))) / x;
    x * x.ln() - x + 0.5 * (std::f64::consts::TAU * x).ln() + series
}
