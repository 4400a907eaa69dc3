//! What the terms of a problem were found to be in a pass: sums of losses, and violations of single points.

use std::ops::Range;

use crate::lagrangian::pass::LANES;
use crate::reduce::Workers;

/// Sums of a term's losses over the points of a pass, and how many those were.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::lagrangian) struct TermSums {
    /// By the loss θ follows.
    pub(in crate::lagrangian) primal: f64,
    /// By the loss the term is measured with.
    pub(in crate::lagrangian) measured: f64,
    pub(in crate::lagrangian) points: f64,
}

impl TermSums {
    fn numbers(&self) -> [f64; 3] {
        [self.primal, self.measured, self.points]
    }
}

/// The violation of one point of a pointwise requirement.
#[derive(Clone, Copy, Debug)]
pub(in crate::lagrangian) struct PointViolation {
    pub(in crate::lagrangian) requirement: u32,
    pub(in crate::lagrangian) point: u32,
    pub(in crate::lagrangian) measured: f64,
    pub(in crate::lagrangian) primal: f64,
}

/// The violations of a pointwise requirement for rows that come kind by kind, one for each kind: they are dealt out to
/// the rows when the pass is over.
#[derive(Clone, Debug)]
pub(in crate::lagrangian) struct SeenKinds {
    pub(in crate::lagrangian) requirement: usize,
    pub(in crate::lagrangian) source: usize,
    /// The multiplier of row 0.
    pub(in crate::lagrangian) point: usize,
    /// Which of [`Dedup::rows`](crate::dedup::Dedup::rows).
    pub(in crate::lagrangian) rows: Range<usize>,
    pub(in crate::lagrangian) first_kind: u32,
    /// Where the violations of the kinds start in [`Found::of_kinds`].
    pub(in crate::lagrangian) measured: usize,
    /// By the loss θ follows, where that is another one.
    pub(in crate::lagrangian) primal: Option<usize>,
}

/// What a pass, or a part of one, has found.
#[derive(Clone, Debug, Default)]
pub(in crate::lagrangian) struct Found {
    /// Per term.
    pub(in crate::lagrangian) sums: Vec<TermSums>,
    pub(in crate::lagrangian) seen: Vec<PointViolation>,
    pub(in crate::lagrangian) seen_kinds: Vec<SeenKinds>,
    pub(in crate::lagrangian) of_kinds: Vec<f64>,
    /// The sums, one after the other, to be added up.
    flat: Vec<f64>,
}

impl Found {
    /// Nothing yet, of this number of terms.
    pub(in crate::lagrangian) fn clear(&mut self, terms: usize) {
        self.sums.clear();
        self.sums.resize(terms, TermSums::default());
        self.seen.clear();
        self.seen_kinds.clear();
        self.of_kinds.clear();
    }

    /// Adds what other lanes have found, in order: the sums of all workers, and the single points of this one.
    pub(in crate::lagrangian) fn add_up<'f>(
        &mut self,
        others: impl Iterator<Item = &'f mut Self>,
        workers: &Workers,
    ) {
        self.flatten();
        let mut first = std::mem::take(&mut self.flat);
        {
            let mut parts: [&mut [f64]; LANES] = std::array::from_fn(|_| Default::default());
            parts[0] = &mut first;
            let mut count = 1;
            for (part, other) in parts[1..].iter_mut().zip(others) {
                self.take_points(other);
                other.flatten();
                *part = &mut other.flat;
                count += 1;
            }
            workers.add(&mut parts[..count]);
        }
        for (to, of) in self.sums.iter_mut().zip(first.chunks_exact(3)) {
            *to = TermSums { primal: of[0], measured: of[1], points: of[2] };
        }
        self.flat = first;
    }

    /// Writes the sums one after the other.
    fn flatten(&mut self) {
        self.flat.clear();
        self.flat.extend(self.sums.iter().flat_map(TermSums::numbers));
    }

    fn take_points(&mut self, other: &mut Self) {
        self.seen.append(&mut other.seen);
        let before = self.of_kinds.len();
        self.of_kinds.append(&mut other.of_kinds);
        self.seen_kinds.extend(other.seen_kinds.drain(..).map(|seen| SeenKinds {
            measured: seen.measured + before,
            primal: seen.primal.map(|at| at + before),
            ..seen
        }));
    }
}
