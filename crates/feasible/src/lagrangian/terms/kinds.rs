//! The kinds of rows in a chunk.

use std::ops::Range;

use crate::dedup::{Dedup, Pool};
use crate::lagrangian::terms::Weight;
use crate::real::Real;
use crate::source::{NOT_A_MEMBER, Source, SourceTerm};

/// The kinds in a chunk, and memory that is reused from chunk to chunk.
#[derive(Clone, Debug, Default)]
pub(in crate::lagrangian) struct Kinds<T> {
    /// Per kind of the source: the chunk that last saw it, and its place there.
    pub(super) mark: Vec<Mark>,
    pub(super) chunk: u32,
    /// The kinds in this chunk; how many rows each has; and the place of each row's kind.
    pub(super) kinds: Vec<u32>,
    pub(super) counts: Vec<u32>,
    pub(super) place_of_row: Vec<u32>,
    /// Per distinct input of the pool: as `mark`, the place among those the model is asked about.
    pub(super) input_mark: Vec<Mark>,
    // Per kind of the chunk, for one term:
    pub(super) weights: Vec<T>,
    pub(super) members: Vec<u32>,
    /// What the members weigh; of weighted terms only.
    pub(super) mass: Vec<f64>,
    pub(super) values: Vec<T>,
    pub(super) measured: Vec<T>,
    pub(super) entry_of: Vec<u32>,
}

/// When something was last seen, and its place then.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    pub(super) seen: u32,
    pub(super) place: u32,
}

impl<T: Real> Kinds<T> {
    /// Finds the kinds among `rows`.
    pub(in crate::lagrangian) fn collect(&mut self, dedup: &Dedup, rows: &[u32]) {
        self.mark.resize(dedup.representative.len(), Mark::default());
        self.chunk += 1;
        self.kinds.clear();
        self.counts.clear();
        self.place_of_row.clear();
        for &row in rows {
            let kind = dedup.kind_of_row[row as usize];
            let mark = &mut self.mark[kind as usize];
            if mark.seen != self.chunk {
                *mark = Mark { seen: self.chunk, place: self.kinds.len() as u32 };
                self.kinds.push(kind);
                self.counts.push(0);
            }
            self.counts[mark.place as usize] += 1;
            self.place_of_row.push(mark.place);
        }
    }

    /// The same for a part of [`Dedup::rows`], which come kind by kind, the kinds consecutive.
    pub(in crate::lagrangian) fn collect_sorted(&mut self, dedup: &Dedup, part: Range<usize>) {
        self.chunk += 1;
        self.kinds.clear();
        self.counts.clear();
        self.place_of_row.clear();
        let of_rows = &dedup.kinds[part];
        let (Some(&first), Some(&last)) = (of_rows.first(), of_rows.last()) else { return };
        self.place_of_row.extend(of_rows.iter().map(|kind| kind - first));
        self.kinds.extend(first..=last);
        self.counts.extend_from_slice(&dedup.counts[first as usize..=last as usize]);
    }

    /// The rows the model is asked about: one of each kind, or the distinct inputs they show.
    pub(in crate::lagrangian) fn ask(
        &mut self,
        dedup: &Dedup,
        pool: Option<&Pool>,
        asked: &mut Vec<u32>,
    ) {
        asked.clear();
        let Some(pool) = pool else {
            asked.extend(self.kinds.iter().map(|&k| dedup.representative[k as usize]));
            return;
        };
        self.input_mark.resize(pool.inputs.rows(), Mark::default());
        for &kind in &self.kinds {
            for &input in &pool.shown[pool.range(kind)] {
                let mark = &mut self.input_mark[input as usize];
                if mark.seen != self.chunk {
                    *mark = Mark { seen: self.chunk, place: asked.len() as u32 };
                    asked.push(input);
                }
            }
        }
    }

    /// Weights and numbers of members of each kind for one view of a term.
    pub(super) fn weigh(
        &mut self,
        (of, term): (&Source, &SourceTerm),
        weight: Option<&Weight<'_>>,
        rows: &[u32],
        point: impl Fn(u32) -> usize,
    ) {
        let kinds = self.kinds.len();
        self.weights.clear();
        self.members.clear();
        self.weigh_samples(of, term, rows);
        match (&term.member_of_row, weight) {
            (None, None | Some(Weight::Uniform(_))) => {
                self.members.extend_from_slice(&self.counts);
                let one = weight.map_or(0.0, |weight| weight.at(0, 0));
                let of = |&count: &u32| T::from_f64(one * f64::from(count));
                self.weights.extend(self.counts.iter().map(of));
            }
            (member_of_row, _) => {
                self.weights.resize(kinds, T::ZERO);
                self.members.resize(kinds, 0);
                for (&row, &place) in rows.iter().zip(&self.place_of_row) {
                    let member = member_of_row.as_ref().map_or(row, |of| of[row as usize]);
                    if member != NOT_A_MEMBER {
                        self.members[place as usize] += 1;
                        if let Some(weight) = weight {
                            let weight = weight.at(point(member), row);
                            self.weights[place as usize] += T::from_f64(weight);
                        }
                    }
                }
            }
        }
    }

    /// What the members of each kind weigh, if a term counts them by their weights.
    pub(super) fn weigh_samples(&mut self, of: &Source, term: &SourceTerm, rows: &[u32]) {
        let Some(weights) = of.weights_of(term) else { return };
        self.mass.clear();
        self.mass.resize(self.kinds.len(), 0.0);
        for (&row, &place) in rows.iter().zip(&self.place_of_row) {
            if term.member_of_row.as_ref().is_none_or(|of| of[row as usize] != NOT_A_MEMBER) {
                self.mass[place as usize] += weights[row as usize];
            }
        }
    }
}
