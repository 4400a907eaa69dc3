//! What the losses of a group of terms are evaluated at, laid out as a loss reads it.

use crate::dedup::Pool;
use crate::lagrangian::terms::distinct::Task;
use crate::lagrangian::terms::kinds::{Kinds, Mark};
use crate::real::Real;

/// What the losses of a group of terms are evaluated at, laid out as a loss reads it.
#[derive(Clone, Debug, Default)]
pub(in crate::lagrangian) struct Entries<T> {
    /// Per pair of inputs: the group that last saw it, and its entry.
    pub(super) mark: Vec<Mark>,
    pub(super) group: u32,
    /// Where entries are pairs, those of each kind's shown inputs, and where each kind's start; that
    /// of x with itself is [`NONE`].
    pub(super) of_shown: Vec<u32>,
    pub(super) starts: Vec<u32>,
    /// The weight of each view, of the terms that weigh all rows alike.
    pub(super) of_view: Vec<T>,
    /// The same by what one kind shows.
    of_this: Vec<T>,
    /// Per group of terms.
    uniform: Vec<Uniform<T>>,
    /// Where entries are kinds: per term and view, per kind of the chunk, the entry, or [`NONE`].
    pub(super) of_term: Vec<u32>,
    /// The output rows, and the sample whose target counts.
    pub(super) rows: Vec<(u32, u32)>,
    pub(super) samples: Vec<u32>,
    pub(super) positions: Vec<u32>,
    pub(super) weights: Vec<T>,
    pub(super) at: Vec<T>,
    pub(super) against: Vec<T>,
}

/// The weights of what kinds show, as long as those of the views stay the same: between two dual steps.
#[derive(Clone, Debug, Default)]
struct Uniform<T> {
    pool: u32,
    of_view: Vec<T>,
    /// As [`Pool::shown`]; empty until the views' weights are seen for the second time.
    of_shown: Vec<T>,
}

/// No entry: the value is 0.
pub(super) const NONE: u32 = u32::MAX;

impl<T: Real> Entries<T> {
    /// Forgets the last group's entries; the next one is about this number of views.
    pub(super) fn begin(&mut self, slots: usize) {
        self.group += 1;
        self.of_view.clear();
        self.of_view.resize(slots, T::ZERO);
        self.of_term.clear();
        self.rows.clear();
        self.samples.clear();
        self.weights.clear();
    }

    /// Adds the pairs of x and what else each kind shows, with the weights of views that are the same for all
    /// rows but for the factor `scale`. `pool` has a number; `group` is the terms' number.
    pub(super) fn add_pairs(
        &mut self,
        kinds: &Kinds<T>,
        (pool, version): (&Pool, u32),
        group: usize,
        scale: T,
        keep: bool,
    ) {
        self.mark.resize(pool.pairs.max(self.mark.len()), Mark::default());
        self.of_shown.clear();
        self.starts.clear();
        let uniform = self.uniform_weights(pool, version, group);
        let keep = keep || uniform.is_empty();
        for (&kind, &count) in kinds.kinds.iter().zip(&kinds.counts) {
            let range = pool.range(kind);
            let output = |input: u32| kinds.input_mark[input as usize].place;
            let at = output(pool.shown[range.start]);
            let count = scale * T::from_f64(f64::from(count));
            if keep {
                self.starts.push(self.of_shown.len() as u32);
                self.of_shown.push(NONE);
            }
            for shown in range.start + 1..range.end {
                let mark = &mut self.mark[pool.pair_of[shown] as usize];
                if mark.seen != self.group {
                    *mark = Mark { seen: self.group, place: self.rows.len() as u32 };
                    self.rows.push((at, output(pool.shown[shown])));
                    self.weights.push(T::ZERO);
                }
                if let Some(&weight) = uniform.get(shown) {
                    self.weights[mark.place as usize] += count * weight;
                }
                if keep {
                    self.of_shown.push(mark.place);
                }
            }
        }
        if uniform.is_empty() {
            self.weigh_views(kinds, pool, scale);
        }
        self.uniform[group].of_shown = uniform;
        // Losses that vanish between equal outputs do not ask for the target.
        self.samples.resize(self.rows.len(), 0);
    }

    /// What each kind's shown inputs weigh, taken out of its place; nothing if the views' weights are new.
    fn uniform_weights(&mut self, pool: &Pool, version: u32, group: usize) -> Vec<T> {
        if self.uniform.len() <= group {
            self.uniform.resize_with(group + 1, Uniform::default);
        }
        let uniform = &mut self.uniform[group];
        let mut of_shown = std::mem::take(&mut uniform.of_shown);
        if uniform.pool != version || uniform.of_view != self.of_view {
            uniform.pool = version;
            uniform.of_view.clone_from(&self.of_view);
            of_shown.clear();
        } else if of_shown.is_empty() {
            of_shown.resize(pool.shown.len(), T::ZERO);
            for (kind, by) in pool.shown_by.chunks_exact(pool.slots).enumerate() {
                let of_kind = &mut of_shown[pool.range(kind as u32)];
                for (&shown, &weight) in by.iter().zip(&self.of_view) {
                    of_kind[shown as usize] += weight;
                }
            }
        }
        of_shown
    }

    /// The entry that each kind has for a view.
    pub(super) fn pairs_of(
        &self,
        kinds: &Kinds<T>,
        pool: &Pool,
        slot: usize,
        entry_of: &mut Vec<u32>,
    ) {
        entry_of.extend(kinds.kinds.iter().zip(&self.starts).map(|(&kind, &start)| {
            let shown = pool.shown_by[kind as usize * pool.slots + slot];
            self.of_shown[(start + shown) as usize]
        }));
    }

    /// Adds the kinds' weights for one view to their pairs.
    pub(super) fn weigh_pairs(&mut self, kinds: &Kinds<T>, pool: &Pool, slot: usize) {
        for ((&kind, &start), &weight) in kinds.kinds.iter().zip(&self.starts).zip(&kinds.weights) {
            let shown = pool.shown_by[kind as usize * pool.slots + slot];
            let entry = self.of_shown[(start + shown) as usize];
            if entry != NONE {
                self.weights[entry as usize] += weight;
            }
        }
    }

    /// Adds the weights that views have for all rows alike.
    fn weigh_views(&mut self, kinds: &Kinds<T>, pool: &Pool, scale: T) {
        if self.of_view.iter().all(|&w| w == T::ZERO) {
            return;
        }
        let mut of_this = std::mem::take(&mut self.of_this);
        for ((&kind, &start), &count) in kinds.kinds.iter().zip(&self.starts).zip(&kinds.counts) {
            let shown = pool.range(kind).len();
            of_this.clear();
            of_this.resize(shown, T::ZERO);
            let by = &pool.shown_by[kind as usize * pool.slots..][..pool.slots];
            for (&shown, &weight) in by.iter().zip(&self.of_view) {
                of_this[shown as usize] += weight;
            }
            let count = scale * T::from_f64(f64::from(count));
            let entries = &self.of_shown[start as usize..][..shown];
            for (&entry, &weight) in entries.iter().zip(&of_this).skip(1) {
                self.weights[entry as usize] += count * weight;
            }
        }
        self.of_this = of_this;
    }

    /// Adds a view of every kind as entries of their own.
    pub(super) fn add_kinds(
        &mut self,
        kinds: &Kinds<T>,
        task: &Task<'_>,
        slot: usize,
        wants_values: bool,
        pair: bool,
    ) {
        let count = kinds.kinds.len() as u32;
        for (place, &kind) in kinds.kinds.iter().enumerate() {
            let (weight, members) = (kinds.weights[place], kinds.members[place]);
            if members == 0 || !(wants_values || weight != T::ZERO) {
                self.of_term.push(NONE);
                continue;
            }
            let output = |slot: usize| match task.pool {
                None => slot as u32 * count + place as u32,
                Some(pool) => {
                    let shown = pool.shown_by[kind as usize * pool.slots + slot] as usize;
                    let input = pool.shown[pool.range(kind).start + shown];
                    kinds.input_mark[input as usize].place
                }
            };
            let at = if pair { 0 } else { slot };
            self.of_term.push(self.rows.len() as u32);
            self.rows.push((output(at), output(slot)));
            self.samples.push(task.dedup.representative[kind as usize]);
            self.weights.push(weight);
        }
    }

    /// Lines up the outputs.
    pub(super) fn read(&mut self, outputs: &[T], width: usize, pair: bool) {
        let entries = self.rows.len();
        self.positions.clear();
        self.positions.extend(0..entries as u32);
        self.at.resize(entries * width, T::ZERO);
        self.against.resize(if pair { entries * width } else { 0 }, T::ZERO);
        match width {
            1 => self.copy::<1>(outputs, 1, pair),
            2 => self.copy::<2>(outputs, 2, pair),
            _ => self.copy::<0>(outputs, width, pair),
        }
    }

    /// W is the width, or 0 for any.
    #[inline(always)]
    fn copy<const W: usize>(&mut self, outputs: &[T], width: usize, pair: bool) {
        let width = if W == 0 { width } else { W };
        let row = |r: u32| &outputs[r as usize * width..][..width];
        for (to, &(at, _)) in self.at.chunks_exact_mut(width).zip(&self.rows) {
            to.copy_from_slice(row(at));
        }
        if pair {
            for (to, &(_, against)) in self.against.chunks_exact_mut(width).zip(&self.rows) {
                to.copy_from_slice(row(against));
            }
        }
    }

    /// Adds the entries' seeds to those of the outputs they were read from.
    pub(super) fn scatter(
        &self,
        by_at: &[T],
        by_against: &[T],
        width: usize,
        pair: bool,
        seeds: &mut [T],
    ) {
        match width {
            1 => self.add::<1>(by_at, by_against, 1, pair, seeds),
            2 => self.add::<2>(by_at, by_against, 2, pair, seeds),
            _ => self.add::<0>(by_at, by_against, width, pair, seeds),
        }
    }

    #[inline(always)]
    fn add<const W: usize>(
        &self,
        by_at: &[T],
        by_against: &[T],
        width: usize,
        pair: bool,
        seeds: &mut [T],
    ) {
        let width = if W == 0 { width } else { W };
        let mut add = |r: u32, by: &[T]| {
            let to = &mut seeds[r as usize * width..][..width];
            for (seed, &g) in to.iter_mut().zip(by) {
                *seed += g;
            }
        };
        for (by, &(at, _)) in by_at.chunks_exact(width).zip(&self.rows) {
            add(at, by);
        }
        if pair {
            for (by, &(_, against)) in by_against.chunks_exact(width).zip(&self.rows) {
                add(against, by);
            }
        }
    }
}
