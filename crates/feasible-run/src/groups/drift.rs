//! What the data look like: rows of each part, missing cells, and whether the rows that a model is judged by look like
//! those it was trained on.
//!
//! How far two samples of n and m rows of one column are apart is, of numbers, the largest distance D of their cumulative
//! distributions (Kolmogorov and Smirnov), and of k categories the largest difference of a category's shares. If both are drawn
//! from one population, D is above
//!
//! $$ \sqrt{\tfrac12 \ln\tfrac{4}{\alpha}} \, \Big(\tfrac{1}{\sqrt n} + \tfrac{1}{\sqrt m}\Big) $$
//!
//! with a probability of at most α: each sample is within its own half of it but for α/2, by the inequality of Dvoretzky,
//! Kiefer, Wolfowitz and Massart. For categories it is Hoeffding's with 4k in the place of 4. With α = 0.05 over the number of
//! columns, no column is marked by chance in 95 % of all tables. Rows that depend on each other are marked too soon.

use feasible_data::{Cells, Column};
use feasible_problem::data::Data;
use serde::{Deserialize, Serialize};

/// The probability that any column is marked by chance.
const ALPHA: f64 = 0.05;
/// Rows of a part that are compared: every so many, if there are more.
const COMPARED: usize = 50_000;
/// Columns that are listed.
const MOST_COLUMNS: usize = 200;
/// Rows that a table may have.
const MOST_ROWS: u64 = u32::MAX as u64;

/// What the data look like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSummary {
    /// The rows of each part that has some.
    pub parts: Vec<PartSummary>,
    /// The part that the training rows are compared with, if it is another one.
    pub compared_with: Option<String>,
    /// Each column that is at hand, in the order of the table.
    pub columns: Vec<ColumnSummary>,
    /// Columns that are left out: of large tables all that only the encoder needed.
    pub left_out: usize,
}

/// How many rows a part has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartSummary {
    /// `train`, `validation`, `test` or `reserve`.
    pub part: String,
    /// Its rows.
    pub rows: u64,
}

/// What a column looks like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSummary {
    /// The column.
    pub column: String,
    /// Missing cells in each part, in the order of [`DataSummary::parts`].
    pub missing: Vec<u64>,
    /// How the judged rows differ from the training rows; `None` if nothing can be compared.
    pub drift: Option<Drift>,
}

/// How far two samples of a column are apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drift {
    /// The largest distance of the distributions, or the largest difference of a category's shares.
    pub distance: f64,
    /// What chance alone exceeds in no column of 95 % of all tables.
    pub chance: f64,
    /// The category that differs most; `None` for numbers.
    pub category: Option<String>,
    /// The mean of the training rows, or the share of that category among them.
    pub train: f64,
    /// The same among the rows compared.
    pub compared: f64,
}

impl Drift {
    /// Whether chance is no explanation.
    pub fn is_beyond_chance(&self) -> bool {
        self.distance > self.chance
    }
}

impl DataSummary {
    /// Of the data of a problem, whose model is judged by the rows of `judged`.
    pub(crate) fn of(data: &Data, judged: &str) -> Self {
        let split = &data.split;
        let parts = [
            ("train", &split.train),
            ("validation", &split.validation),
            ("test", &split.test),
            ("reserve", &data.reserve_rows),
        ];
        let parts: Vec<(&str, &Vec<u32>)> =
            parts.into_iter().filter(|(_, rows)| !rows.is_empty()).collect();
        let with = parts.iter().find(|(part, _)| *part == judged && judged != "train");
        let columns = data.table.columns();
        let alpha = ALPHA / columns.len().max(1) as f64;
        let column = |column: &Column| {
            let missing = |(_, rows): &(&str, &Vec<u32>)| {
                rows.iter().filter(|&&row| is_missing(column, row)).count() as u64
            };
            let drift = with.and_then(|(_, rows)| drift(column, &split.train, rows, alpha));
            let missing = parts.iter().map(missing).collect();
            ColumnSummary { column: column.name.clone(), missing, drift }
        };
        Self {
            compared_with: with.map(|(part, _)| part.to_string()),
            columns: columns.iter().take(MOST_COLUMNS).map(column).collect(),
            left_out: data.table.taken().len() + columns.len().saturating_sub(MOST_COLUMNS),
            parts: parts
                .iter()
                .map(|(part, rows)| PartSummary { part: part.to_string(), rows: rows.len() as u64 })
                .collect(),
        }
    }

    /// Whether its numbers can be of one table; what is wrong is a sentence.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.parts.len() > 4 || self.parts.iter().any(|part| part.rows > MOST_ROWS) {
            return Err("the parts of its data are not those of a table".into());
        }
        if self.columns.len() > MOST_COLUMNS {
            return Err(format!("its data have more than {MOST_COLUMNS} columns"));
        }
        for column in &self.columns {
            let share = |x: f64| (0.0..=1.0).contains(&x);
            let sound = column.drift.as_ref().is_none_or(|drift| {
                let values =
                    drift.category.is_none() || share(drift.train) && share(drift.compared);
                let finite = drift.train.is_finite() && drift.compared.is_finite();
                share(drift.distance) && drift.chance >= 0.0 && values && finite
            });
            let rows = self.parts.iter().map(|part| part.rows);
            let fits = column.missing.len() == self.parts.len()
                && column.missing.iter().zip(rows).all(|(missing, rows)| *missing <= rows);
            if !sound || !fits {
                return Err(format!(
                    "what it says of column '{}' contradicts itself",
                    column.column
                ));
            }
        }
        Ok(())
    }
}

fn is_missing(column: &Column, row: u32) -> bool {
    match &column.cells {
        Cells::Numbers(numbers) => numbers.get(row as usize).is_nan(),
        Cells::Categories(categories) => {
            categories.codes.get(row as usize) as usize >= categories.names.len()
        }
    }
}

fn some(rows: &[u32]) -> impl Iterator<Item = u32> + '_ {
    rows.iter().copied().step_by(rows.len().div_ceil(COMPARED).max(1))
}

fn drift(column: &Column, train: &[u32], other: &[u32], alpha: f64) -> Option<Drift> {
    let chance = |n: usize, m: usize, ways: usize| {
        let half = (0.5 * (4.0 * ways as f64 / alpha).ln()).sqrt();
        half * (1.0 / (n as f64).sqrt() + 1.0 / (m as f64).sqrt())
    };
    match &column.cells {
        Cells::Numbers(numbers) => {
            let known = |rows: &[u32]| -> Vec<f64> {
                let cells = some(rows).map(|row| numbers.get(row as usize));
                let mut known: Vec<f64> = cells.filter(|x| !x.is_nan()).collect();
                known.sort_by(f64::total_cmp);
                known
            };
            let (a, b) = (known(train), known(other));
            if a.is_empty() || b.is_empty() {
                return None;
            }
            let mean = |x: &[f64]| {
                let largest = x.iter().fold(0.0, |most: f64, x| most.max(x.abs())).max(1.0);
                // Sums of numbers near the largest there is overflow.
                x.iter().map(|x| x / largest).sum::<f64>() / x.len() as f64 * largest
            };
            Some(Drift {
                distance: distance(&a, &b),
                chance: chance(a.len(), b.len(), 1),
                category: None,
                train: mean(&a),
                compared: mean(&b),
            })
        }
        Cells::Categories(categories) => {
            let shares = |rows: &[u32]| -> (Vec<f64>, usize) {
                let mut counts = vec![0.0; categories.names.len()];
                let mut known = 0;
                for row in some(rows) {
                    let code = categories.codes.get(row as usize) as usize;
                    if let Some(count) = counts.get_mut(code) {
                        *count += 1.0;
                        known += 1;
                    }
                }
                let all = f64::from(known.max(1));
                (counts.into_iter().map(|n: f64| n / all).collect(), known as usize)
            };
            let ((a, n), (b, m)) = (shares(train), shares(other));
            if n == 0 || m == 0 {
                return None;
            }
            let apart = |at: usize| (a[at] - b[at]).abs();
            // Of equals the first.
            let most = (0..a.len()).rev().max_by(|x, y| apart(*x).total_cmp(&apart(*y)))?;
            Some(Drift {
                distance: apart(most),
                chance: chance(n, m, a.len()),
                category: Some(categories.names[most].clone()),
                train: a[most],
                compared: b[most],
            })
        }
    }
}

/// The largest distance of the cumulative distributions of two sorted samples.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let (mut i, mut j, mut most) = (0, 0, 0.0_f64);
    while i < a.len() && j < b.len() {
        let x = a[i].min(b[j]);
        i += a[i..].iter().take_while(|y| **y == x).count();
        j += b[j..].iter().take_while(|y| **y == x).count();
        most = most.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    most
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_distance_of_distributions_is_the_largest_anywhere() {
        assert_eq!(distance(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), 0.0);
        assert_eq!(distance(&[1.0, 1.0], &[2.0, 3.0]), 1.0);
        // At 2: three quarters of the one, a quarter of the other.
        assert_eq!(distance(&[1.0, 2.0, 2.0, 9.0], &[2.0, 5.0, 6.0, 7.0]), 0.5);
    }

    #[test]
    fn a_column_that_moved_is_told_from_one_that_did_not() {
        let half: Vec<u32> = (0..1000).collect();
        let rest: Vec<u32> = (1000..2000).collect();
        let same = Column::numbers("same", (0..2000).map(|n| f64::from(n % 100)).collect());
        let moved = Column::numbers(
            "moved",
            (0..2000).map(|n| f64::from(n % 100 + n / 1000 * 30)).collect(),
        );
        assert!(!drift(&same, &half, &rest, 0.05).unwrap().is_beyond_chance());
        let found = drift(&moved, &half, &rest, 0.05).unwrap();
        assert!(found.is_beyond_chance());
        assert!(
            (found.distance - 0.3).abs() < 1e-12
                && (found.compared - found.train - 30.0).abs() < 1e-9
        );
        let letter = |n: u32| Some(if n < 1000 && n.is_multiple_of(2) { "a" } else { "b" });
        let letters = Column::categories("letter", (0..2000).map(letter));
        let found = drift(&letters, &half, &rest, 0.05).unwrap();
        assert_eq!((found.category.as_deref(), found.train, found.compared), (Some("a"), 0.5, 0.0));
        assert!(found.is_beyond_chance());
        assert_eq!(drift(&letters, &half, &[], 0.05), None);
    }

    #[test]
    fn chance_marks_a_column_as_rarely_as_it_says() {
        // Two samples of 200 from one population: the bound holds for 95 % of all tables of one column, and is not
        // loose by more than a factor of two.
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let rows: Vec<u32> = (0..400).collect();
        let (mut marked, mut largest) = (0, 0.0_f64);
        for _ in 0..400 {
            let column = Column::numbers("x", (0..400).map(|_| uniform()).collect());
            let found = drift(&column, &rows[..200], &rows[200..], 0.05).unwrap();
            marked += usize::from(found.is_beyond_chance());
            largest = largest.max(found.distance / found.chance);
        }
        assert!(marked <= 20 && largest > 0.5, "{marked} marked, largest {largest}");
    }
}
