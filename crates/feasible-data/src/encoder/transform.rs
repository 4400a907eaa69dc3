//! Applying a fitted encoder: rows of a table to rows of inputs.

use feasible::{Inputs, InputsBuilder};

use super::sight::Sight;
use super::{Encoder, Encoding, Seen};
use crate::error::{Error, Result};
use crate::table::Table;

/// One variable, ready to write its columns of a row.
struct Writer<'t> {
    column: &'t str,
    sight: Sight<'t>,
    missing: Option<Seen>,
    unseen: Option<Seen>,
    start: u32,
    width: u32,
    /// Mean and standard deviation of a number.
    scale: (f64, f64),
}

impl Encoder {
    /// Encodes rows of a table, in the order given.
    ///
    /// # Errors
    /// A missing or unseen cell that is not allowed, a number out of range, or a column that is
    /// not there or not of the kind that was fitted.
    pub fn transform(&self, table: &Table, rows: &[u32]) -> Result<Inputs> {
        let mut writers = Vec::with_capacity(self.variables.len());
        let mut dense_columns = Vec::new();
        for (at, variable) in self.variables.iter().enumerate() {
            let (missing, unseen) = variable.stand_ins(self.unseen);
            let (start, end) = (self.starts[at], self.starts[at + 1]);
            let scale = match variable.encoding {
                Encoding::Number { mean, sd, .. } => (mean, sd),
                _ => (0.0, 1.0),
            };
            if matches!(variable.encoding, Encoding::Number { .. }) && scale.1 != 0.0 {
                dense_columns.push(start);
            }
            let (column, width) = (variable.column.as_str(), end - start);
            let sight = Sight::new(table, variable)?;
            writers.push(Writer { column, sight, missing, unseen, start, width, scale });
        }
        if rows.len() as u64 * writers.len() as u64 > u64::from(u32::MAX) {
            let reason = "more than 4 billion cells at once: encode fewer rows at a time";
            return Err(Error::Nothing { what: "inputs".into(), reason: reason.into() });
        }
        let mut builder = InputsBuilder::new(self.width(), dense_columns, rows.len())?;
        let (mut dense, mut hot) = (Vec::new(), Vec::new());
        for &row in rows {
            let row = row as usize;
            if row >= table.rows() {
                let reason = format!("row {row} of {} rows", table.rows());
                return Err(Error::Nothing { what: table.name().into(), reason });
            }
            dense.clear();
            hot.clear();
            for writer in &writers {
                writer.write(table, row, &mut dense, &mut hot)?;
            }
            builder.push(&dense, &hot)?;
        }
        Ok(builder.finish())
    }
}

impl Writer<'_> {
    #[inline(always)]
    fn write(
        &self,
        table: &Table,
        row: usize,
        dense: &mut Vec<f32>,
        hot: &mut Vec<u32>,
    ) -> Result<()> {
        let seen = self.sight.at(row);
        let stands_for = match seen {
            Seen::Missing => self
                .missing
                .ok_or_else(|| Error::Missing { place: table.place(row, self.column) })?,
            Seen::Unseen => self.unseen.ok_or_else(|| Error::UnseenLevel {
                place: table.place(row, self.column),
                level: table.column(self.column).ok().and_then(|c| c.text(row)).unwrap_or_default(),
            })?,
            seen => seen,
        };
        match (stands_for, self.width) {
            (Seen::Level(1), 1) => hot.push(self.start),
            (Seen::Level(level), width) if width > 2 => hot.push(self.start + level),
            (Seen::Number(x), width) => {
                let (mean, sd) = self.scale;
                let mut next = self.start;
                if sd != 0.0 {
                    let scaled = ((x - mean) / sd) as f32;
                    if !scaled.is_finite() {
                        let place = table.place(row, self.column);
                        return Err(Error::TooLarge { place, value: x });
                    }
                    dense.push(scaled);
                    next += 1;
                }
                if seen == Seen::Missing && next < self.start + width {
                    hot.push(next);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
