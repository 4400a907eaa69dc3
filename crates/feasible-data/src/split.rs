//! Training, validation and test rows.
//!
//! A split is lists of row numbers, ascending, and the row numbers are the samples' ids. By
//! fraction: rows are drawn with a portable generator (ChaCha8), so that a seed means the same
//! rows on every machine; ⌊fraction · n⌋ of them go to each part, and what rounding leaves goes
//! to the last part when the fractions add up to 1.
//!
//! ```
//! use feasible_data::{Fractions, Split};
//! let rows: Vec<u32> = (0..6172).collect();
//! let fractions = Fractions { train: 0.8, test: 0.2, seed: 1, ..Fractions::default() };
//! let split = Split::by_fraction(&rows, &fractions)?;
//! assert_eq!((split.train.len(), split.validation.len(), split.test.len()), (4937, 0, 1235));
//! # Ok::<(), feasible_data::Error>(())
//! ```

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::column::{Categories, MISSING};
use crate::encoder::as_categories;
use crate::error::{Error, Result};
use crate::nearest::nearest;
use crate::table::Table;

/// The rows of each part. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// Rows to train on.
    pub train: Vec<u32>,
    /// Rows to choose models by.
    pub validation: Vec<u32>,
    /// Rows to judge by.
    pub test: Vec<u32>,
}

/// A split by fractions, as a user writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fractions {
    /// Fraction of rows to train on. Default 0.8.
    pub train: f64,
    /// Fraction of rows to validate on. Default 0.
    pub validation: f64,
    /// Fraction of rows to test on. Default 0.2.
    pub test: f64,
    /// Default 0.
    pub seed: u64,
    /// A column whose categories have about the same share in every part. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stratify: Option<String>,
}

impl Default for Fractions {
    fn default() -> Self {
        Self { train: 0.8, validation: 0.0, test: 0.2, seed: 0, stratify: None }
    }
}

/// A split by the categories of a column, as a user writes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ByColumn {
    /// The column that says which part a row is in.
    pub column: String,
    /// Its categories that mean training.
    pub train: Vec<String>,
    /// Its categories that mean validation.
    pub validation: Vec<String>,
    /// Its categories that mean test.
    pub test: Vec<String>,
}

impl Split {
    /// Draws the parts at random; `stratify` is ignored here, see [`Split::stratified`].
    ///
    /// # Errors
    /// Fractions outside 0 to 1 or that add up to more than 1, or a part that gets no row.
    pub fn by_fraction(rows: &[u32], fractions: &Fractions) -> Result<Self> {
        let counts = counts(rows.len(), fractions)?;
        let mut random = ChaCha8Rng::seed_from_u64(fractions.seed);
        let mut drawn = rows.to_vec();
        shuffle(&mut drawn, &mut random);
        Ok(Self::cut(&drawn, counts).sorted())
    }

    /// As [`Split::by_fraction`], so that each category of the column in `fractions.stratify` has
    /// its share of every part, to within one row.
    ///
    /// # Errors
    /// As [`Split::by_fraction`], or a column that does not exist.
    pub fn stratified(table: &Table, rows: &[u32], fractions: &Fractions) -> Result<Self> {
        let Some(column) = &fractions.stratify else {
            return Self::by_fraction(rows, fractions);
        };
        let [train, validation, _] = counts(rows.len(), fractions)?;
        let categories = as_categories(&table.column(column)?.cells);
        let mut random = ChaCha8Rng::seed_from_u64(fractions.seed);
        let mut drawn = rows.to_vec();
        shuffle(&mut drawn, &mut random);
        // Dealing the rows out category by category, in even steps, gives each category its share.
        drawn.sort_by_key(|&row| categories.codes.get(row as usize));
        let mut split = Self::default();
        let (n, mut dealt) = (rows.len() as u64, [0_u64; 2]);
        let shares = [train as u64, (train + validation) as u64];
        let used = shares[1] + counts(rows.len(), fractions)?[2] as u64;
        for (at, row) in drawn.into_iter().enumerate() {
            let due = |share: u64| (at as u64 + 1) * share / n.max(1);
            let all = due(used);
            if due(shares[0]) > dealt[0] {
                dealt[0] += 1;
                split.train.push(row);
            } else if due(shares[1]) > dealt[0] + dealt[1] {
                dealt[1] += 1;
                split.validation.push(row);
            } else if all > dealt[0] + dealt[1] + split.test.len() as u64 {
                split.test.push(row);
            }
        }
        Ok(split.sorted())
    }

    /// Takes the parts from the categories of a column. Rows of other categories are in no part.
    ///
    /// # Errors
    /// Unknown column or categories, a category in two parts, or a part without rows.
    pub fn by_column(table: &Table, rows: &[u32], by: &ByColumn) -> Result<Self> {
        let categories = as_categories(&table.column(&by.column)?.cells);
        let mut part = vec![0_u8; categories.names.len()];
        for (number, names) in [(1, &by.train), (2, &by.validation), (3, &by.test)] {
            for name in names {
                let at = position(&categories, &by.column, name)?;
                if part[at] != 0 {
                    let reason = format!("category '{name}' of '{}' is in two parts", by.column);
                    return Err(Error::Split { reason });
                }
                part[at] = number;
            }
        }
        let of = |number: u8| -> Vec<u32> {
            let is = |&row: &u32| match categories.codes.get(row as usize) {
                MISSING => false,
                code => part[code as usize] == number,
            };
            rows.iter().copied().filter(is).collect()
        };
        let split = Self { train: of(1), validation: of(2), test: of(3) }.sorted();
        for (name, names, rows) in [
            ("train", &by.train, &split.train),
            ("validation", &by.validation, &split.validation),
            ("test", &by.test, &split.test),
        ] {
            if rows.is_empty() && (name == "train" || !names.is_empty()) {
                let reason =
                    format!("no row is in {name}: check the categories of '{}'", by.column);
                return Err(Error::Split { reason });
            }
        }
        Ok(split)
    }

    fn cut(drawn: &[u32], [train, validation, test]: [usize; 3]) -> Self {
        let (first, rest) = drawn.split_at(train);
        let (second, rest) = rest.split_at(validation);
        Self { train: first.to_vec(), validation: second.to_vec(), test: rest[..test].to_vec() }
    }

    fn sorted(mut self) -> Self {
        for part in [&mut self.train, &mut self.validation, &mut self.test] {
            part.sort_unstable();
        }
        self
    }
}

fn position(categories: &Categories, column: &str, category: &str) -> Result<usize> {
    categories.names.iter().position(|known| known == category).ok_or_else(|| {
        Error::UnknownCategory {
            column: column.to_string(),
            category: category.to_string(),
            nearest: nearest(category, categories.names.iter().map(String::as_str)),
            known: categories.names.clone(),
        }
    })
}

/// Rows of each part.
fn counts(rows: usize, fractions: &Fractions) -> Result<[usize; 3]> {
    let parts = [fractions.train, fractions.validation, fractions.test];
    let names = ["train", "validation", "test"];
    let total: f64 = parts.iter().sum();
    if parts.iter().any(|f| !(0.0..=1.0).contains(f)) || total > 1.0 + 1e-9 {
        let reason =
            format!("fractions {parts:?}: give numbers from 0 to 1 that add up to 1 or less");
        return Err(Error::Split { reason });
    }
    // 0.1 + 0.2 is a little more than 0.3: what is whole but for that counts as whole.
    let mut counts = parts.map(|fraction| (fraction * rows as f64 + 1e-9).floor() as usize);
    if total > 1.0 - 1e-9
        && let Some(last) = (0..3).rev().find(|&part| parts[part] > 0.0)
    {
        counts[last] += rows.saturating_sub(counts.iter().sum());
    }
    for part in 0..3 {
        if counts[part] == 0 && (part == 0 || parts[part] > 0.0) {
            let reason = format!("{} gets none of the {rows} rows: give it more", names[part]);
            return Err(Error::Split { reason });
        }
    }
    Ok(counts)
}

/// Fisher–Yates with unbiased draws, spelt out so that it is the same in every version of every
/// library.
pub(crate) fn shuffle(rows: &mut [u32], random: &mut ChaCha8Rng) {
    for last in (1..rows.len()).rev() {
        let choices = last as u64 + 1;
        let limit = u64::MAX - u64::MAX % choices;
        let draw = loop {
            let draw = random.next_u64();
            if draw < limit {
                break draw;
            }
        };
        rows.swap(last, (draw % choices) as usize);
    }
}
