//! Where the list of each row lies among all lists.
//!
//! Lists of nearly one length are filled up to it: then no places need to be kept, and a loop over a
//! list always has the same number of rounds. With lists of seven to nine indicators a processor
//! that guesses the end wrongly loses as much time as adding them up takes.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The places of the rows' lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum RowOffsets {
    /// Row r's list is `starts[r]..starts[r + 1]`.
    Ragged {
        /// From 0 on, one more than there are rows.
        starts: Vec<u32>,
    },
    /// All lists have this length.
    Even {
        /// Of each.
        length: usize,
    },
}

impl Default for RowOffsets {
    fn default() -> Self {
        Self::Even { length: 0 }
    }
}

impl RowOffsets {
    /// No list yet; `rows` is a hint for the allocation.
    pub fn ragged(rows: usize) -> Self {
        let mut starts = vec![0];
        // A hint that no memory can hold is none.
        let _ = starts.try_reserve_exact(rows);
        Self::Ragged { starts }
    }

    /// Adds the list that ends at `end`.
    pub fn end_at(&mut self, end: usize) {
        if let Self::Ragged { starts } = self {
            starts.push(end as u32);
        }
    }

    /// The place of row `r`'s list.
    #[inline(always)]
    pub(crate) fn range(&self, r: usize) -> Range<usize> {
        match self {
            Self::Ragged { starts } => starts[r] as usize..starts[r + 1] as usize,
            Self::Even { length } => r * length..(r + 1) * length,
        }
    }

    /// Whether so many rows have lists among so many numbers.
    pub(crate) fn fits(&self, rows: usize, numbers: usize) -> bool {
        match self {
            Self::Ragged { starts } => {
                starts.len() > rows
                    && starts.is_sorted()
                    && starts[starts.len() - 1] as usize == numbers
            }
            Self::Even { length } => {
                rows.checked_mul(*length).is_some_and(|least| least <= numbers)
            }
        }
    }

    /// The lists of some rows, in this order, and where they lie then.
    pub(crate) fn chosen<T: Copy>(
        &self,
        lists: &[T],
        rows: impl Iterator<Item = usize>,
    ) -> (Self, Vec<T>) {
        let mut chosen = Vec::new();
        let offsets = match self {
            Self::Even { length } => {
                rows.for_each(|row| chosen.extend_from_slice(&lists[self.range(row)]));
                Self::Even { length: *length }
            }
            Self::Ragged { .. } => {
                let mut offsets = Self::ragged(0);
                for row in rows {
                    chosen.extend_from_slice(&lists[self.range(row)]);
                    offsets.end_at(chosen.len());
                }
                offsets
            }
        };
        (offsets, chosen)
    }

    /// The even lists these can be filled up to, if that takes no more memory than the places of
    /// the ragged ones and half as much again.
    pub fn even(&self) -> Option<Self> {
        let Self::Ragged { starts } = self else { return None };
        let (rows, total) = (starts.len() - 1, starts[starts.len() - 1] as usize);
        let length = (0..rows).map(|r| self.range(r).len()).max().unwrap_or(0);
        (length * rows <= total + total / 2 + rows).then_some(Self::Even { length })
    }

    /// Moves lists that lie as `from` says to where these lie, and fills them up.
    pub fn fill_up<T: Copy>(&self, from: &Self, lists: &mut Vec<T>, filling: T) {
        let Self::Ragged { starts } = from else { return };
        let rows = starts.len() - 1;
        lists.resize(rows * self.range(0).len(), filling);
        // From the last row on: no list moves to the front, so none is overwritten.
        for r in (0..rows).rev() {
            let (from, to) = (from.range(r), self.range(r));
            let end = to.start + from.len();
            lists.copy_within(from, to.start);
            lists[end..to.end].fill(filling);
        }
    }
}
