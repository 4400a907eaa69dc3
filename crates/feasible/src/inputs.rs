//! The inputs x of a data set: a matrix whose indicator columns are kept as indices.
//!
//! A row of a table is a few numbers and many one-hot indicators. [`Inputs`] stores the
//! numbers densely and, for the indicators, only the columns that are 1, so that a model
//! adds the rows of its weight matrix that are switched on and never multiplies by zero.
//! Columns keep the numbers the user gave them: column `c` of the matrix is row `c` of the
//! first layer's weights, however it is stored.
//!
//! ```
//! use feasible::Inputs;
//! // Two rows of (age, is_male, is_married): column 0 is dense, 1 and 2 are indicators.
//! let x = Inputs::new(vec![0.3, 1.0, 0.0, -1.2, 0.0, 1.0], 3)?;
//! assert_eq!(x.dense_columns(), [0]);
//! assert_eq!(x.hot(0), [1]);
//! assert_eq!(x.row(1), [-1.2, 0.0, 1.0]);
//! # Ok::<(), feasible::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::row_offsets::RowOffsets;

/// A matrix of inputs, one row per sample. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Inputs {
    rows: usize,
    width: usize,
    /// The columns stored in `dense`, ascending.
    dense_columns: Vec<u32>,
    /// `rows × dense_columns.len()`, row by row.
    dense: Vec<f32>,
    offsets: RowOffsets,
    /// Column numbers whose value is 1, ascending within a row; where lists are even, filled up
    /// with `width`.
    hot: Vec<u32>,
    /// See [`Inputs::exclusive`].
    exclusive: Vec<u32>,
}

/// [`Inputs`] as they were sent.
#[derive(Deserialize)]
struct Unchecked {
    rows: usize,
    width: usize,
    dense_columns: Vec<u32>,
    dense: Vec<f32>,
    offsets: RowOffsets,
    hot: Vec<u32>,
    exclusive: Vec<u32>,
}

impl TryFrom<Unchecked> for Inputs {
    type Error = &'static str;

    fn try_from(of: Unchecked) -> Result<Self, Self::Error> {
        let Unchecked { rows, width, dense_columns, dense, offsets, hot, exclusive } = of;
        let ascending = |columns: &[u32]| {
            columns.is_sorted_by(|a, b| a < b)
                && columns.last().is_none_or(|&last| (last as usize) < width)
        };
        // Lists of one length are filled up with the width.
        let filled = matches!(offsets, RowOffsets::Even { .. });
        let most = width + usize::from(filled);
        let sound = (1..=MOST_COLUMNS).contains(&width)
            && ascending(&dense_columns)
            && ascending(&exclusive)
            && rows.checked_mul(dense_columns.len()) == Some(dense.len())
            && dense.iter().all(|x| x.is_finite())
            && offsets.fits(rows, hot.len())
            && hot.iter().all(|&column| (column as usize) < most);
        let inputs = Self { rows, width, dense_columns, dense, offsets, hot, exclusive };
        if sound { Ok(inputs) } else { Err("these are no inputs") }
    }
}

/// The most columns.
const MOST_COLUMNS: usize = 1 << 28;

impl Inputs {
    /// From a matrix in row order; columns of only 0 and 1 become indicators.
    ///
    /// # Errors
    /// A length that is not a multiple of `width`, or a value that is not finite.
    pub fn new(values: Vec<f32>, width: usize) -> Result<Self> {
        let rows = Self::check(&values, width)?;
        let mut indicator = vec![true; width];
        for row in values.chunks_exact(width) {
            for (is, &x) in indicator.iter_mut().zip(row) {
                *is &= x == 0.0 || x == 1.0;
            }
        }
        let dense_columns: Vec<u32> =
            (0..width as u32).filter(|&c| !indicator[c as usize]).collect();
        let mut builder = InputsBuilder::new(width, dense_columns.clone(), rows)?;
        let (mut dense, mut hot) = (Vec::new(), Vec::new());
        for row in values.chunks_exact(width) {
            dense.clear();
            dense.extend(dense_columns.iter().map(|&c| row[c as usize]));
            hot.clear();
            hot.extend(
                (0..width as u32).filter(|&c| indicator[c as usize] && row[c as usize] == 1.0),
            );
            builder.push(&dense, &hot)?;
        }
        Ok(builder.finish())
    }

    /// From a matrix in row order, every column stored densely (images, embeddings).
    ///
    /// # Errors
    /// As [`Inputs::new`].
    pub fn dense(values: Vec<f32>, width: usize) -> Result<Self> {
        let rows = Self::check(&values, width)?;
        Ok(Self {
            rows,
            width,
            dense_columns: (0..width as u32).collect(),
            dense: values,
            offsets: RowOffsets::Even { length: 0 },
            hot: Vec::new(),
            exclusive: Vec::new(),
        })
    }

    /// Makes this a dense matrix of `rows` rows, each written by `write`; keeps its memory.
    pub(crate) fn rewrite(
        &mut self,
        rows: usize,
        width: usize,
        mut write: impl FnMut(usize, &mut [f32]),
    ) {
        if self.width != width {
            self.width = width;
            self.dense_columns = (0..width as u32).collect();
        }
        self.rows = rows;
        self.dense.resize(rows * width, 0.0);
        self.offsets = RowOffsets::Even { length: 0 };
        self.exclusive.clear();
        for (r, row) in self.dense.chunks_exact_mut(width).enumerate() {
            write(r, row);
        }
    }

    /// Some rows, in this order, stored in the same way: models compute the same outputs of them, to the last bit.
    pub(crate) fn chosen(&self, rows: &[u32]) -> Self {
        let each = || rows.iter().map(|&row| row as usize);
        let mut dense = Vec::with_capacity(rows.len() * self.dense_columns.len());
        each().for_each(|row| dense.extend_from_slice(self.dense_row(row)));
        let (offsets, hot) = self.offsets.chosen(&self.hot, each());
        Self {
            rows: rows.len(),
            width: self.width,
            dense_columns: self.dense_columns.clone(),
            dense,
            offsets,
            hot,
            exclusive: self.exclusive.clone(),
        }
    }

    /// About how many bytes they take.
    pub(crate) fn bytes(&self) -> usize {
        4 * (self.dense.len() + self.hot.len() + self.rows)
    }

    fn check(values: &[f32], width: usize) -> Result<usize> {
        if !(1..=MOST_COLUMNS).contains(&width) || !values.len().is_multiple_of(width) {
            return Err(Error::Shape {
                what: "inputs".into(),
                expected: format!(
                    "a multiple of the width {width}, which is at least 1 and at most {MOST_COLUMNS}"
                ),
                found: values.len(),
            });
        }
        match values.iter().position(|x| !x.is_finite()) {
            Some(at) => Err(Error::NonFiniteInput {
                row: at / width,
                column: at % width,
                value: values[at],
            }),
            None => Ok(values.len() / width),
        }
    }

    /// Number of samples.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns a model sees.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The columns that are stored densely, ascending.
    pub fn dense_columns(&self) -> &[u32] {
        &self.dense_columns
    }

    /// Row `r` of the dense columns, in the order of [`Inputs::dense_columns`].
    #[inline(always)]
    pub fn dense_row(&self, r: usize) -> &[f32] {
        let n = self.dense_columns.len();
        &self.dense[r * n..(r + 1) * n]
    }

    /// The indicator columns that are 1 in row `r`, ascending.
    #[inline(always)]
    pub fn hot(&self, r: usize) -> &[u32] {
        let mut hot = &self.hot[self.offsets.range(r)];
        while let [rest @ .., last] = hot
            && *last as usize == self.width
        {
            hot = rest;
        }
        hot
    }

    /// As [`Inputs::hot`], if all rows' lists are kept at one length: shorter ones are filled up
    /// with the number of columns, so that a loop over them has no end to guess.
    #[inline(always)]
    pub fn even_hot(&self, r: usize) -> Option<&[u32]> {
        matches!(self.offsets, RowOffsets::Even { .. }).then(|| &self.hot[self.offsets.range(r)])
    }

    /// Whether [`Inputs::even_hot`] gives lists.
    pub fn is_even(&self) -> bool {
        matches!(self.offsets, RowOffsets::Even { .. })
    }

    /// Where groups of neighbouring columns start of which no row has two indicators, so that each is
    /// something like the categories of one column: the fewest groups there can be. Together they hold every
    /// indicator that is 1 anywhere.
    pub fn exclusive(&self) -> &[u32] {
        &self.exclusive
    }

    /// A group may reach up to a column whose predecessor in some row is in the group.
    fn find_exclusive(&mut self) {
        let mut before = vec![None; self.width];
        for r in 0..self.rows {
            for pair in self.hot(r).windows(2) {
                let latest = &mut before[pair[1] as usize];
                *latest = (*latest).max(Some(pair[0]));
            }
        }
        self.exclusive = vec![0];
        for (c, before) in before.into_iter().enumerate() {
            if before >= self.exclusive.last().copied() {
                self.exclusive.push(c as u32);
            }
        }
    }

    /// Writes row `r` in full into `out`, which has [`Inputs::width`] entries.
    pub fn write_row(&self, r: usize, out: &mut [f32]) {
        out.fill(0.0);
        for (&c, &x) in self.dense_columns.iter().zip(self.dense_row(r)) {
            out[c as usize] = x;
        }
        for &c in self.hot(r) {
            out[c as usize] = 1.0;
        }
    }

    /// Row `r` in full.
    pub fn row(&self, r: usize) -> Vec<f32> {
        let mut out = vec![0.0; self.width];
        self.write_row(r, &mut out);
        out
    }
}

/// Builds [`Inputs`] row by row without ever holding the full matrix.
///
/// ```
/// use feasible::InputsBuilder;
/// // (age, is_male, is_female, is_married): of a row its numbers, and the indicators that are 1.
/// let mut builder = InputsBuilder::new(4, vec![0], 2)?;
/// builder.push(&[0.3], &[1, 3])?;
/// builder.push(&[-1.2], &[2, 3])?;
/// let x = builder.finish();
/// assert_eq!((x.dense_row(1), x.hot(1)), (&[-1.2][..], &[2, 3][..]));
/// // Lists of one length are kept as such, and columns of which a row has only one 1 are a group.
/// assert!(x.is_even());
/// assert_eq!((x.even_hot(0), x.exclusive()), (Some(&[1, 3][..]), &[0, 3][..]));
/// let mut row = [0.0; 4];
/// x.write_row(0, &mut row);
/// assert_eq!(row, [0.3, 1.0, 0.0, 1.0]);
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct InputsBuilder {
    inputs: Inputs,
    /// Rows there will be, about.
    expected: usize,
    is_dense: Vec<bool>,
}

impl InputsBuilder {
    /// For rows of `width` columns of which `dense_columns` hold numbers and all others
    /// indicators; `rows` is a hint for the allocation.
    ///
    /// # Errors
    /// Dense columns that are not ascending or lie outside the width.
    pub fn new(width: usize, dense_columns: Vec<u32>, rows: usize) -> Result<Self> {
        let ascending = dense_columns.windows(2).all(|w| w[0] < w[1]);
        let inside = dense_columns.last().is_none_or(|&c| (c as usize) < width);
        if !(1..=MOST_COLUMNS).contains(&width) || !ascending || !inside {
            return Err(Error::Shape {
                what: "dense columns".into(),
                expected: format!(
                    "strictly ascending column numbers below {width}, at most {MOST_COLUMNS}"
                ),
                found: dense_columns.len(),
            });
        }
        let mut is_dense = vec![false; width];
        for &c in &dense_columns {
            is_dense[c as usize] = true;
        }
        let mut dense = Vec::new();
        // A hint that no memory can hold is none.
        let _ = dense.try_reserve_exact(rows.saturating_mul(dense_columns.len()));
        let offsets = RowOffsets::ragged(rows);
        let inputs = Inputs { width, dense_columns, dense, offsets, ..Inputs::default() };
        Ok(Self { inputs, expected: rows, is_dense })
    }

    /// Adds a row: the values of the dense columns in their order, and the indicators that
    /// are 1, ascending.
    ///
    /// # Errors
    /// A wrong number of dense values, a value that is not finite, or an indicator that is
    /// repeated, out of order, out of range or a dense column.
    pub fn push(&mut self, dense: &[f32], hot: &[u32]) -> Result<()> {
        let row = self.inputs.rows;
        let shape = |expected: String, found: usize| Error::Shape {
            what: format!("inputs, row {row}"),
            expected,
            found,
        };
        let columns = self.inputs.dense_columns.len();
        if dense.len() != columns {
            return Err(shape(format!("{columns} dense values"), dense.len()));
        }
        if let Some(at) = dense.iter().position(|x| !x.is_finite()) {
            let column = self.inputs.dense_columns[at] as usize;
            return Err(Error::NonFiniteInput { row, column, value: dense[at] });
        }
        let ascending = hot.windows(2).all(|w| w[0] < w[1]);
        let width = self.inputs.width;
        let allowed = |&c: &u32| (c as usize) < width && !self.is_dense[c as usize];
        if !ascending || !hot.iter().all(allowed) {
            let expected = format!("ascending indicator columns below {width}, none of them dense");
            return Err(shape(expected, hot.len()));
        }
        if row == 0 {
            // Rows of a table have about as many each; growing by doubling would hold twice as much.
            let expected = self.expected.saturating_mul((hot.len() + 1).min(64));
            let _ = self.inputs.hot.try_reserve_exact(expected);
        }
        self.inputs.dense.extend_from_slice(dense);
        self.inputs.hot.extend_from_slice(hot);
        self.inputs.offsets.end_at(self.inputs.hot.len());
        self.inputs.rows += 1;
        Ok(())
    }

    /// The finished matrix.
    pub fn finish(self) -> Inputs {
        let mut inputs = self.inputs;
        if let Some(even) = inputs.offsets.even() {
            even.fill_up(&inputs.offsets, &mut inputs.hot, inputs.width as u32);
            inputs.offsets = even;
        }
        inputs.find_exclusive();
        inputs
    }
}
