//! The pool of a pass that asks about some views only.
//!
//! What [`inactive_rows`](super::inactive_rows) is for rows, this is for views: one whose requirements all have μ = 0
//! weighs nothing in a step, for anyone. Where inputs are shared, the model is not asked about what only such
//! views show. The pool without them is kept from step to step, and may show too much for a while.

use crate::dedup::Pool;
use crate::lagrangian::terms::{Ask, Terms, Weight};

/// Passes after which a pool that shows too much is made again.
const LIFETIME: u32 = 16;

/// What a source shows in steps of training.
#[derive(Clone, Debug, Default)]
pub(super) struct ActiveViews {
    /// For the slots that were asked about when it was made.
    made: Option<(Vec<bool>, Pool)>,
    asked: Vec<bool>,
    age: u32,
    /// How often it was made.
    version: u32,
    /// Whether this pass uses it.
    applies: bool,
}

impl ActiveViews {
    /// Sees to it that the pool fits the pass.
    pub(super) fn fit(&mut self, terms: &Terms, source: usize, pool: &Pool, ask: Ask<'_>) {
        self.applies = false;
        let Some(multipliers) = ask.multipliers().filter(|_| !ask.wants_values()) else { return };
        self.asked.clear();
        self.asked.resize(pool.slots, false);
        self.asked[0] = true;
        let of = &terms.problem.sources()[source];
        for term in &of.terms {
            if !Weight::of(term, of, terms, multipliers, 1.0).is_zero() {
                for &slot in &term.slots {
                    self.asked[slot] = true;
                }
            }
        }
        if self.asked.iter().all(|&asked| asked) {
            return;
        }
        self.applies = true;
        self.age += 1;
        let fits = self.made.as_ref().is_some_and(|(made, _)| {
            let covered = self.asked.iter().zip(made).all(|(asked, made)| made | !asked);
            covered && (self.age < LIFETIME || *made == self.asked)
        });
        if !fits {
            self.age = 0;
            self.version += 1;
            self.made = Some((self.asked.clone(), pool.restricted(&self.asked)));
        }
    }

    /// The pool to use instead, if any, and its number.
    pub(super) fn pool(&self) -> Option<(&Pool, u32)> {
        self.made.as_ref().filter(|_| self.applies).map(|(_, pool)| (pool, self.version))
    }
}
