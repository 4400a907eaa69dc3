//! Populations of rows, tables drawn from them, and tables that re-use what was trained on.
#![allow(dead_code, reason = "the test and the example use a part each")]

use std::collections::BTreeSet;

use feasible::stream::{Purpose, Stream};
use feasible_data::{Column, Table};
use feasible_problem::Fingerprints;

/// What rows look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rows {
    /// So many rows, equally probable.
    Distinct(u32),
    /// So many rows, the i-th with probability proportional to 1/i.
    Zipf(u32),
    /// One row in nine of ten cases, otherwise one of so many.
    Common(u32),
    /// A normal variable, rounded to so many decimals.
    Rounded(u32),
    /// A number that never occurs twice.
    Continuous,
}

pub const POPULATIONS: [Rows; 14] = [
    Rows::Distinct(6),
    Rows::Distinct(40),
    Rows::Distinct(300),
    Rows::Distinct(3_000),
    Rows::Distinct(30_000),
    Rows::Distinct(300_000),
    Rows::Zipf(50),
    Rows::Zipf(3_000),
    Rows::Zipf(1_000_000),
    Rows::Common(100),
    Rows::Common(100_000),
    Rows::Rounded(1),
    Rows::Rounded(3),
    Rows::Continuous,
];

impl Rows {
    pub fn name(self) -> String {
        match self {
            Self::Distinct(n) => format!("{n} distinct rows"),
            Self::Zipf(n) => format!("{n} rows by Zipf's law"),
            Self::Common(n) => format!("one common row, {n} rare ones"),
            Self::Rounded(d) => format!("normal, {d} decimals"),
            Self::Continuous => "continuous".into(),
        }
    }

    fn draw(self, stream: &mut Stream) -> f64 {
        match self {
            Self::Distinct(n) => f64::from(stream.below(n)),
            // The inverse of the law's distribution function, log-uniform.
            Self::Zipf(n) => ((f64::from(n) + 1.0).powf(stream.uniform())).floor(),
            Self::Common(n) if stream.uniform() < 0.1 => 1.0 + f64::from(stream.below(n)),
            Self::Common(_) => 0.0,
            Self::Rounded(decimals) => {
                let (u, v) = (1.0 - stream.uniform(), stream.uniform());
                let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
                let scale = 10f64.powi(decimals as i32);
                (normal * scale).round() / scale
            }
            Self::Continuous => stream.uniform(),
        }
    }

    pub fn sample(self, n: usize, stream: &mut Stream) -> Vec<f64> {
        (0..n).map(|_| self.draw(stream)).collect()
    }
}

pub fn stream(salt: u64, trial: u64) -> Stream {
    Stream::new(salt, Purpose::View, trial, 0)
}

/// A table of a used column and a number that the model has no use for, from `first` on.
pub fn table(values: &[f64], first: usize) -> Table {
    let ids: Vec<String> = (first..first + values.len()).map(|i| format!("p{i}")).collect();
    let ids = Column::categories("id", ids.iter().map(|id| Some(id.as_str())));
    Table::new("t.csv", vec![ids, Column::numbers("x", values.to_vec())]).unwrap()
}

/// A table of the used column alone.
pub fn bare(values: &[f64]) -> Table {
    Table::new("bare.csv", vec![Column::numbers("x", values.to_vec())]).unwrap()
}

/// What is kept of the training.
pub fn trained(values: &[f64]) -> Fingerprints {
    let table = table(values, 0);
    Fingerprints::of(&table, &table.all_rows(), &BTreeSet::from(["x".to_string()]))
}

/// Whether a table, its rows under new numbers, is refused.
pub fn refused(prints: &Fingerprints, values: &[f64]) -> bool {
    prints.compare(&table(values, 1_000_000)).is_err()
}

/// `n` rows of which a share was trained on.
pub fn reused(rows: Rows, trained: &[f64], n: usize, share: f64, stream: &mut Stream) -> Vec<f64> {
    let old = ((n as f64 * share).round() as usize).min(trained.len());
    let mut order: Vec<u32> = (0..trained.len() as u32).collect();
    stream.shuffle(&mut order);
    let mut values: Vec<f64> = order[..old].iter().map(|&i| trained[i as usize]).collect();
    values.extend(rows.sample(n - old, stream));
    values
}
