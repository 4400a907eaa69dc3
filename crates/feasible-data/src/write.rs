//! A table as CSV.

use std::io::Write;

use crate::error::{Error, Result};
use crate::table::Table;

impl Table {
    /// Writes the table as CSV with a header; missing cells are empty.
    ///
    /// ```
    /// use feasible_data::{Format, Table};
    /// let csv = b"age,gender\n41,Male\n,Female\n";
    /// let table = Table::from_bytes("people.csv", csv, &Format::default())?;
    /// let mut out = Vec::new();
    /// table.write_csv(&mut out)?;
    /// assert_eq!(out, csv);
    /// # Ok::<(), feasible_data::Error>(())
    /// ```
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_csv(&self, out: impl Write) -> Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        let failed = |error: csv::Error| Error::io(self.name())(error.into());
        writer.write_record(self.columns().iter().map(|c| &c.name)).map_err(failed)?;
        for row in 0..self.rows() {
            for column in self.columns() {
                writer.write_field(column.text(row).unwrap_or_default()).map_err(failed)?;
            }
            writer.write_record(None::<&[u8]>).map_err(failed)?;
        }
        writer.flush().map_err(Error::io(self.name()))
    }
}
