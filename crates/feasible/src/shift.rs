//! ρ(x) − x: what a counterfactual changes, for every row of a data set.
//!
//! A transformation ρ of the paper ("had their gender been reversed") changes few columns of
//! a row. It is applied once, before training, and kept as the list of changes, so that
//! asking a model about ρ(x) costs in proportion to what ρ changes.
//!
//! ```
//! use feasible::{Inputs, Shift, rho};
//! let x = Inputs::new(vec![0.5, 1.0, 0.25, 0.0], 2)?;
//! let reversed = Shift::new(&x, rho::flip(1))?;
//! assert_eq!(reversed.row(0).collect::<Vec<_>>(), [(1, -1.0)]);
//! assert_eq!(reversed.row(1).collect::<Vec<_>>(), [(1, 1.0)]);
//! # Ok::<(), feasible::Error>(())
//! ```
//! Lists of the same length, of which few differ, are kept so that models work on them without branches:
//!
//! ```
//! use feasible::rho::{self, Rho};
//! use feasible::{Inputs, Shift, ShiftBuilder};
//! let mut builder = ShiftBuilder::new(3);
//! for changes in [&[(0, -1.0), (1, 1.0)][..], &[(0, 1.0), (1, -1.0)], &[]] {
//!     builder.push(changes)?;
//! }
//! let swapped = builder.finish();
//! assert!(swapped.is_even() && swapped.is_identity(2) && !swapped.is_identity(0));
//! assert_eq!((swapped.rows(), swapped.last_column()), (3, Some(1)));
//! assert_eq!(swapped.even_row(0), Some((&[0, 1][..], &[-1.0, 1.0][..])));
//! let moves = swapped.moves().expect("three lists that differ are few");
//! assert_eq!((moves.count(), moves.of_row(1)), (3, 1));
//! // The same from one-hot columns; any transformation can be written.
//! let x = Inputs::new(vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0], 2)?;
//! assert_eq!(Shift::new(&x, Rho::Swap(0, 1))?, swapped);
//! let doubled = rho::Transformation::from(Box::new(|x: &mut [f32]| x[0] *= 2.0));
//! let both = Rho::Custom(doubled).and(Rho::Set(1, 0.5));
//! assert_eq!(Shift::new(&x, both)?.row(0).collect::<Vec<_>>(), [(0, 1.0), (1, 0.5)]);
//! # Ok::<(), feasible::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::inputs::Inputs;
use crate::rho::Rho;
use crate::row_offsets::RowOffsets;

/// The changes ρ(x) − x, sparse, one list per row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Shift {
    rows: usize,
    offsets: RowOffsets,
    /// Where lists are even, filled up with changes of column 0 by 0.
    columns: Vec<u32>,
    deltas: Vec<f32>,
    last_column: Option<u32>,
    moves: Option<Moves>,
}

/// A [`Shift`] as it was sent.
#[derive(Deserialize)]
struct Unchecked {
    rows: usize,
    offsets: RowOffsets,
    columns: Vec<u32>,
    deltas: Vec<f32>,
    last_column: Option<u32>,
    moves: Option<Moves>,
}

impl TryFrom<Unchecked> for Shift {
    type Error = &'static str;

    fn try_from(of: Unchecked) -> Result<Self, Self::Error> {
        let Unchecked { rows, offsets, columns, deltas, last_column, moves } = of;
        let fit =
            |moves: &Moves| {
                // Examples come after the last row.
                moves.example.iter().all(|&row| {
                    offsets.fits((row as usize).saturating_add(1).max(rows), columns.len())
                }) && moves.of_row.len() == rows
                    && moves.of_row.iter().all(|&number| usize::from(number) < moves.example.len())
            };
        let last = columns.iter().copied().max();
        let sound = columns.len() == deltas.len()
            && offsets.fits(rows, columns.len())
            && deltas.iter().all(|delta| delta.is_finite())
            && last <= last_column.or(Some(0))
            && moves.as_ref().is_none_or(fit);
        let shift = Self { rows, offsets, columns, deltas, last_column, moves };
        if sound { Ok(shift) } else { Err("these are no changes of inputs") }
    }
}

/// The lists of changes that differ, if they are few: a reversal of two categories has two.
///
/// What depends on the changes alone can then be computed once for all rows that share them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moves {
    /// The move of each row.
    of_row: Vec<u8>,
    /// A row that makes it, for each move.
    example: Vec<u32>,
}

/// The most moves that are kept track of.
const MOST_MOVES: usize = 16;

impl Moves {
    /// Those of a shift with even lists; none if there are more than [`MOST_MOVES`].
    fn of(shift: &Shift) -> Option<Self> {
        let mut moves = Self::default();
        moves.of_row.reserve(shift.rows);
        for row in 0..shift.rows {
            let list = shift.even_row(row)?;
            let same = |&example: &u32| shift.even_row(example as usize) == Some(list);
            let number = moves.example.iter().position(same).unwrap_or(moves.example.len());
            if number == moves.example.len() {
                moves.example.push(row as u32);
            }
            if number == MOST_MOVES {
                return None;
            }
            moves.of_row.push(number as u8);
        }
        Some(moves)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.example.len()
    }

    /// The move of row `r`, less than [`Moves::count`].
    #[inline(always)]
    pub fn of_row(&self, r: usize) -> usize {
        usize::from(self.of_row[r])
    }

    /// A row that makes move `number`.
    pub fn example(&self, number: usize) -> usize {
        self.example[number] as usize
    }
}

impl Shift {
    /// Applies `rho` to each row, in place and in full, and keeps what it changed.
    ///
    /// # Errors
    /// A column outside the inputs, or a ρ(x) that is not finite.
    pub fn new(inputs: &Inputs, rho: impl Into<Rho>) -> Result<Self> {
        let rho = rho.into();
        rho.check(inputs.width())?;
        let mut builder = ShiftBuilder::new(inputs.rows());
        let mut x = vec![0.0; inputs.width()];
        let mut moved = x.clone();
        let mut changes = Vec::new();
        for r in 0..inputs.rows() {
            inputs.write_row(r, &mut x);
            moved.copy_from_slice(&x);
            rho.apply(&mut moved);
            changes.clear();
            for (c, (from, to)) in x.iter().zip(&moved).enumerate() {
                if from != to {
                    changes.push((c as u32, to - from));
                }
            }
            builder.push(&changes)?;
        }
        Ok(builder.finish())
    }

    /// The changes of some rows, in this order, stored in the same way. One example of each list, if few lists differ, comes
    /// after the last row.
    pub(crate) fn chosen(&self, rows: &[u32]) -> Self {
        let examples = self.moves.iter().flat_map(|moves| &moves.example);
        let each = || rows.iter().chain(examples.clone()).map(|&row| row as usize);
        let (offsets, columns) = self.offsets.chosen(&self.columns, each());
        let (_, deltas) = self.offsets.chosen(&self.deltas, each());
        let first = rows.len() as u32;
        let moves = self.moves.as_ref().map(|moves| Moves {
            of_row: rows.iter().map(|&row| moves.of_row[row as usize]).collect(),
            example: (first..first + moves.example.len() as u32).collect(),
        });
        Self { rows: rows.len(), offsets, columns, deltas, last_column: self.last_column, moves }
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        8 * self.columns.len() + 5 * self.rows
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The changes of row `r`: column and difference.
    #[inline(always)]
    pub fn row(&self, r: usize) -> impl Iterator<Item = (u32, f32)> + '_ {
        let range = self.offsets.range(r);
        let changes = self.columns[range.clone()].iter().zip(&self.deltas[range]);
        changes.map(|(&column, &delta)| (column, delta)).take_while(|&(_, delta)| delta != 0.0)
    }

    /// Columns and differences of row `r`, if all rows' lists are kept at one length: shorter ones
    /// are filled up with differences of 0.
    #[inline(always)]
    pub fn even_row(&self, r: usize) -> Option<(&[u32], &[f32])> {
        let range = self.offsets.range(r);
        self.is_even().then(|| (&self.columns[range.clone()], &self.deltas[range]))
    }

    /// Whether [`Shift::even_row`] gives lists.
    pub fn is_even(&self) -> bool {
        matches!(self.offsets, RowOffsets::Even { .. })
    }

    /// The lists that differ, if there are at most 16 and lists are even.
    #[inline(always)]
    pub fn moves(&self) -> Option<&Moves> {
        self.moves.as_ref()
    }

    /// Whether ρ leaves row `r` unchanged.
    pub fn is_identity(&self, r: usize) -> bool {
        self.row(r).next().is_none()
    }

    /// The largest column number changed in any row.
    pub fn last_column(&self) -> Option<u32> {
        self.last_column
    }
}

/// Builds a [`Shift`] row by row.
#[derive(Clone, Debug)]
pub struct ShiftBuilder {
    shift: Shift,
}

impl ShiftBuilder {
    /// Empty; `rows` is a hint for the allocation.
    pub fn new(rows: usize) -> Self {
        let offsets = RowOffsets::ragged(rows);
        let (columns, deltas) = (Vec::new(), Vec::new());
        let (last_column, moves) = (None, None);
        Self { shift: Shift { rows: 0, offsets, columns, deltas, last_column, moves } }
    }

    /// Adds the changes of the next row.
    ///
    /// # Errors
    /// A difference that is not finite.
    pub fn push(&mut self, changes: &[(u32, f32)]) -> Result<()> {
        for &(column, value) in changes {
            if !value.is_finite() {
                let row = self.shift.rows();
                return Err(Error::NonFiniteInput { row, column: column as usize, value });
            }
            if value != 0.0 {
                self.shift.last_column = self.shift.last_column.max(Some(column));
                self.shift.columns.push(column);
                self.shift.deltas.push(value);
            }
        }
        self.shift.offsets.end_at(self.shift.columns.len());
        self.shift.rows += 1;
        Ok(())
    }

    /// The finished shift.
    pub fn finish(self) -> Shift {
        let mut shift = self.shift;
        if let Some(even) = shift.offsets.even() {
            even.fill_up(&shift.offsets, &mut shift.columns, 0);
            even.fill_up(&shift.offsets, &mut shift.deltas, 0.0);
            shift.offsets = even;
            shift.moves = Moves::of(&shift);
        }
        shift
    }
}
