//! Applying a fitted encoder: rows of a table to rows of inputs.

use feasible::{Inputs, InputsBuilder};

use super::column_view::ColumnView;
use super::piecewise::{atom_of, pieces};
use super::{Cycle, EncodedCell, Encoder, Encoding, Variable};
use crate::error::{Error, Result};
use crate::numbers::BLOCK;
use crate::table::Table;

/// One variable, ready to write its columns of a row.
struct Writer<'t> {
    column: &'t str,
    view: ColumnView<'t>,
    missing: Option<EncodedCell>,
    unseen: Option<EncodedCell>,
    start: u32,
    width: u32,
    /// Whether the last column says that the number was missing.
    indicator: bool,
    number: NumberColumns<'t>,
}

/// How the dense columns of a number follow from it.
enum NumberColumns<'t> {
    None,
    Scaled { mean: f64, sd: f64 },
    Pieces { knots: &'t [f64], atoms: &'t [f64] },
    Date { mean: f64, sd: f64, cycles: &'t [Cycle] },
}

impl Encoder {
    /// Encodes rows of a table, in the order given.
    ///
    /// # Errors
    /// A missing or unseen cell that is not allowed, a number out of range, or a column that is
    /// not there or not of the kind that was fitted.
    pub fn transform(&self, table: &Table, rows: &[u32]) -> Result<Inputs> {
        let mut writers = Vec::with_capacity(self.variables.len());
        for (at, variable) in self.variables.iter().enumerate() {
            writers.push(self.writer(at, ColumnView::new(table, variable)?));
        }
        let mut builder = self.builder(rows.len())?;
        write_rows(&writers, table, rows, &mut builder)?;
        Ok(builder.finish())
    }

    /// As [`Encoder::transform`], for several parts of a table, each ascending; and takes all columns
    /// that `keep` does not name out of the table while it goes, so that never much more than the
    /// table or its encoding is held. [`Table::column`] does not give them any more.
    ///
    /// # Errors
    /// As [`Encoder::transform`]; or rows that do not ascend.
    pub fn transform_out(
        &self,
        table: &mut Table,
        parts: &[&[u32]],
        keep: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<Inputs>> {
        if !parts.iter().all(|rows| rows.is_sorted()) {
            let reason = "its rows must ascend, to be encoded while the table is freed";
            return Err(Error::Nothing {
                what: "a part of the table".into(),
                reason: reason.into(),
            });
        }
        let mut taken = table.take(&|name| !keep(name));
        let table = &*table;
        let mut writers = Vec::with_capacity(self.variables.len());
        for (at, variable) in self.variables.iter().enumerate() {
            let view = match taken.remove(&variable.column) {
                Some(cells) => ColumnView::owning(table.name(), cells, variable)?,
                None => ColumnView::new(table, variable)?,
            };
            writers.push(self.writer(at, view));
        }
        drop(taken);
        let builders = parts.iter().map(|rows| self.builder(rows.len()));
        let mut builders = builders.collect::<Result<Vec<_>>>()?;
        for block in 0..table.rows().div_ceil(BLOCK) {
            let here = block * BLOCK..(block + 1) * BLOCK;
            for (rows, builder) in parts.iter().zip(&mut builders) {
                let from = rows.partition_point(|&row| (row as usize) < here.start);
                let to = rows.partition_point(|&row| (row as usize) < here.end);
                write_rows(&writers, table, &rows[from..to], builder)?;
            }
            writers.iter_mut().for_each(|writer| writer.view.release(block));
        }
        Ok(builders.into_iter().map(InputsBuilder::finish).collect())
    }

    fn writer<'t>(&'t self, at: usize, view: ColumnView<'t>) -> Writer<'t> {
        let variable = &self.variables[at];
        let (missing, unseen) = variable.stand_ins(self.unseen);
        let (start, end) = (self.starts[at], self.starts[at + 1]);
        let number = match &variable.encoding {
            Encoding::Number { mean, sd, .. } if *sd != 0.0 => {
                NumberColumns::Scaled { mean: *mean, sd: *sd }
            }
            Encoding::Piecewise { knots, atoms, .. } => NumberColumns::Pieces { knots, atoms },
            Encoding::Dates { mean, sd, cycles, .. } => {
                NumberColumns::Date { mean: *mean, sd: *sd, cycles }
            }
            _ => NumberColumns::None,
        };
        let indicator = matches!(
            variable.encoding,
            Encoding::Number { indicator: true, .. }
                | Encoding::Piecewise { indicator: true, .. }
                | Encoding::Dates { indicator: true, .. }
        );
        let (column, width) = (variable.column.as_str(), end - start);
        Writer { column, view, missing, unseen, start, width, indicator, number }
    }

    fn builder(&self, rows: usize) -> Result<InputsBuilder> {
        // A number that is missing may count as one of its atoms.
        let hot = |variable: &Variable| {
            1 + u64::from(matches!(variable.encoding, Encoding::Piecewise { .. }))
        };
        if rows as u64 * self.variables.iter().map(hot).sum::<u64>() > u64::from(u32::MAX) {
            let reason = "more than 4 billion cells at once: encode fewer rows at a time";
            return Err(Error::Nothing { what: "inputs".into(), reason: reason.into() });
        }
        let columns =
            |(variable, &start): (&Variable, &u32)| start..start + variable.dense_width() as u32;
        let dense = self.variables.iter().zip(&self.starts).flat_map(columns).collect();
        Ok(InputsBuilder::new(self.width(), dense, rows)?)
    }
}

fn write_rows(
    writers: &[Writer<'_>],
    table: &Table,
    rows: &[u32],
    builder: &mut InputsBuilder,
) -> Result<()> {
    let (mut dense, mut hot) = (Vec::new(), Vec::new());
    for &row in rows {
        let row = row as usize;
        if row >= table.rows() {
            let reason = format!("row {row} of {} rows", table.rows());
            return Err(Error::Nothing { what: table.name().into(), reason });
        }
        dense.clear();
        hot.clear();
        for writer in writers {
            writer.write(table, row, &mut dense, &mut hot)?;
        }
        builder.push(&dense, &hot)?;
    }
    Ok(())
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
        let seen = self.view.at(row);
        let stands_for = match seen {
            EncodedCell::Missing => self
                .missing
                .ok_or_else(|| Error::Missing { place: table.place(row, self.column) })?,
            EncodedCell::Unseen => self.unseen.ok_or_else(|| {
                let place = table.place(row, self.column);
                let value = self.view.category(row).unwrap_or_default().to_string();
                match matches!(self.number, NumberColumns::Date { .. }) {
                    true => Error::NotADate { place, value },
                    false => Error::UnseenCategory { place, category: value },
                }
            })?,
            seen => seen,
        };
        match (stands_for, self.width) {
            (EncodedCell::Category(1), 1) => hot.push(self.start),
            (EncodedCell::Category(category), width) if width > 2 => {
                hot.push(self.start + category)
            }
            (EncodedCell::Number(x), width) => {
                let too_large =
                    || Error::TooLarge { place: table.place(row, self.column), value: x };
                match self.number {
                    NumberColumns::None => {}
                    NumberColumns::Scaled { mean, sd } => {
                        let scaled = ((x - mean) / sd) as f32;
                        if !scaled.is_finite() {
                            return Err(too_large());
                        }
                        dense.push(scaled);
                    }
                    NumberColumns::Pieces { knots, atoms } => {
                        if !x.is_finite() {
                            return Err(too_large());
                        }
                        dense.extend(pieces(knots, x));
                        let first = self.start + knots.len() as u32 - 1;
                        hot.extend(atom_of(atoms, x).map(|at| first + at as u32));
                    }
                    NumberColumns::Date { mean, sd, cycles } => {
                        if sd != 0.0 {
                            dense.push(((x - mean) / sd) as f32);
                        }
                        let known = seen != EncodedCell::Missing;
                        for cycle in cycles {
                            dense.extend(if known { cycle.at(x) } else { [0.0; 2] });
                        }
                    }
                }
                if seen == EncodedCell::Missing && self.indicator {
                    hot.push(self.start + width - 1);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
