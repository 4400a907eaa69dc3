//! The pool of a pass that asks about some views only.
//!
//! What [`still`](super::still) is for rows, this is for views: one whose requirements all have μ = 0
//! weighs nothing in a step, for anyone. Where inputs are shared, the model is not asked about what only such
//! views show. The pool without them is kept from step to step, and may show too much for a while.

use crate::alike::Pool;
use crate::lagrangian::Ask;
use crate::lagrangian::chunk::{Ground, Weigh};
use crate::model::Model;

/// Passes after which a pool that shows too much is made again.
const LIFETIME: u32 = 16;

/// What a source shows in steps of training.
#[derive(Clone, Debug, Default)]
pub(super) struct Narrow {
    /// For the slots that were asked about when it was made.
    made: Option<(Vec<bool>, Pool)>,
    asked: Vec<bool>,
    age: u32,
    /// How often it was made.
    version: u32,
    /// Whether this pass uses it.
    applies: bool,
}

impl Narrow {
    /// Sees to it that the pool fits the pass.
    pub(super) fn fit<M: Model>(
        &mut self,
        ground: &Ground<M>,
        source: usize,
        pool: &Pool,
        ask: Ask<'_>,
    ) {
        self.applies = false;
        let Some(multipliers) = ask.multipliers().filter(|_| !ask.wants_values()) else { return };
        self.asked.clear();
        self.asked.resize(pool.slots, false);
        self.asked[0] = true;
        for term in &ground.problem.sources()[source].terms {
            if !Weigh::of(term.owner, ground, multipliers, 1.0).is_zero() {
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
