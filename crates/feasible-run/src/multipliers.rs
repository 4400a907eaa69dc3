//! `multipliers.csv`: the final multipliers, by requirement; written and read.

use std::io::{self, Read, Write};

use feasible::requirement::Kind;
use feasible::{Measurement, Multipliers, Problem};
use feasible_data::formula::{quoted, unquoted};
use feasible_problem::clause::Clause;
use serde::Deserialize;

use crate::error::{Error, Result};

/// The multipliers of one requirement.
#[derive(Clone, Debug, PartialEq)]
pub struct Multiplied {
    /// The requirement.
    pub name: String,
    /// Whether there is one for each row.
    pub pointwise: bool,
    /// Rows (none for an average requirement), multipliers and violations.
    pub points: Vec<Point>,
}

/// A multiplier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The row of the data, for a pointwise requirement.
    pub row: Option<u64>,
    /// μ or λ.
    pub multiplier: f64,
    /// Positive if violated.
    pub violation: f64,
}

impl Multiplied {
    /// The share of multipliers that are 0.
    pub fn at_zero(&self) -> f64 {
        let zero = self.points.iter().filter(|point| point.multiplier == 0.0).count();
        zero as f64 / self.points.len().max(1) as f64
    }

    /// The largest multipliers, largest first; equal ones by row.
    pub fn largest(&self, count: usize) -> Vec<Point> {
        let point = |at: u32| &self.points[at as usize];
        let mut largest: Vec<u32> =
            (0..self.points.len() as u32).filter(|&at| point(at).multiplier > 0.0).collect();
        let order = |a: &u32, b: &u32| {
            let (p, q) = (point(*a), point(*b));
            q.multiplier.total_cmp(&p.multiplier).then(p.row.cmp(&q.row)).then(a.cmp(b))
        };
        if count < largest.len() {
            largest.select_nth_unstable_by(count, order);
            largest.truncate(count);
        }
        largest.sort_unstable_by(order);
        largest.into_iter().map(|at| *point(at)).collect()
    }
}

#[derive(Deserialize)]
struct Record<'a> {
    requirement: &'a str,
    kind: &'a str,
    row: &'a str,
    multiplier: f64,
    violation: f64,
}

/// Reads `multipliers.csv`, `shown` in messages.
///
/// # Errors
/// A file that cannot be read, or a line that is none of it.
pub fn read_multipliers(shown: &str, file: impl Read) -> Result<Vec<Multiplied>> {
    let at = |line: Option<u64>| match line {
        Some(line) => format!("{shown}, line {line},"),
        None => shown.to_string(),
    };
    let damaged = |error: csv::Error| {
        let line = error.position().map(csv::Position::line);
        let reason = error.to_string();
        match error.into_kind() {
            csv::ErrorKind::Io(source) => {
                Error::Storage { operation: "read", path: at(None), source }
            }
            _ => Error::Damaged { path: at(line), reason },
        }
    };
    let mut reader = csv::Reader::from_reader(file);
    let headers = reader.headers().map_err(damaged)?.clone();
    let mut all: Vec<Multiplied> = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(damaged)? {
        let line = record.position().map(csv::Position::line);
        let wrong = |reason: String| Error::Damaged { path: at(line), reason };
        let read: Record<'_> =
            record.deserialize(Some(&headers)).map_err(|error| wrong(error.to_string()))?;
        let row = match read.row {
            "" => None,
            text => Some(text.parse().map_err(|_| wrong(format!("'{text}' is not a row number")))?),
        };
        let pointwise = read.kind == "pointwise";
        // Rows of a requirement stand together.
        let name = unquoted(read.requirement);
        if all.last().is_none_or(|last| last.name != name) {
            let name = name.to_string();
            all.push(Multiplied { name, pointwise, points: Vec::new() });
        }
        if let Some(last) = all.last_mut() {
            last.points.push(Point { row, multiplier: read.multiplier, violation: read.violation });
        }
    }
    Ok(all)
}

/// `multipliers.csv`; names that a spreadsheet would take for a formula get an apostrophe before them.
pub(crate) fn multipliers_csv(
    problem: &Problem,
    clauses: &[Clause],
    multipliers: &Multipliers,
    measurement: &Measurement,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let mut record = |fields: [&str; 6]| csv.write_record(fields).map_err(io::Error::from);
    record(["requirement", "kind", "row", "counterfactual", "multiplier", "violation"])?;
    for (i, (requirement, clause)) in problem.requirements().iter().zip(clauses).enumerate() {
        let change = quoted(clause.change.as_ref().map_or("", |change| change.name()));
        let name = quoted(requirement.name());
        let violations = &measurement.violations[i].measured;
        let values = multipliers.of(i).iter().zip(violations);
        match requirement.kind() {
            Kind::Average => {
                for (m, s) in values {
                    let (m, s) = (m.to_string(), s.to_string());
                    record([&name, "average", "", &change, &m, &s])?;
                }
            }
            Kind::Pointwise => {
                for ((id, _), (m, s)) in requirement.points().into_iter().zip(values) {
                    let (id, m, s) = (id.to_string(), m.to_string(), s.to_string());
                    record([&name, "pointwise", &id, &change, &m, &s])?;
                }
            }
        }
    }
    csv.flush()
}
