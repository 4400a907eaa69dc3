//! Margins that are learned from validation rows.
//!
//! A requirement that is met on the training rows may be missed on others: θ was fitted to the former. How much it
//! misses can be seen on rows that θ was not fitted to. With v and t the violation of an average requirement on
//! validation and training rows, the dual steps see t + m instead of t, where m follows
//!
//! $$ m \leftarrow (1 - \alpha)\, m + \alpha\, \min\{[v - t]_+, \bar m\} $$
//!
//! after every epoch. Where m has settled, a violation of t + m = 0 is one of v = 0: the multiplier answers to the
//! validation rows while θ never sees them (Cotter et al. 2019 drive multipliers by a second sample for the same
//! reason; one number per requirement is all that is fitted to it). A validation problem with limits that are stricter than
//! stated, by what chance may add on future rows, makes v larger by that much, and m with it.
//!
//! The caller says what m̄ of each requirement is: less than the limit leaves, so that a model that meets the stricter one
//! can exist, and 0 where the validation rows are too few to tell anything. Pointwise requirements have
//! multipliers of training rows only, and learn none.

use crate::measurement::{Measurement, Violations};
use crate::problem::Problem;
use crate::requirement::{Kind, Requirement};

/// α: an epoch's share of the margin.
const SHARE: f64 = 0.3;

/// The margins after an epoch that measured these violations; `most` are m̄.
#[doc(hidden)]
pub fn learned(
    before: &[f64],
    problem: &Problem,
    most: &[f64],
    training: &Measurement,
    validation: &Measurement,
) -> Vec<f64> {
    let of = |i: usize, requirement: &Requirement, on: [&Violations; 2]| {
        if requirement.kind() != Kind::Average {
            return 0.0;
        }
        let before = before.get(i).copied().unwrap_or(0.0);
        // A violation that is no number says nothing.
        if on.iter().any(|violations| violations.measured.iter().any(|s| !s.is_finite())) {
            return before;
        }
        let gap = (on[1].worst() - on[0].worst()).clamp(0.0, most[i]);
        before + SHARE * (gap - before)
    };
    let pairs = training.violations.iter().zip(&validation.violations);
    let each = problem.requirements().iter().zip(pairs).enumerate();
    each.map(|(i, (requirement, (training, validation)))| {
        of(i, requirement, [training, validation])
    })
    .collect()
}
