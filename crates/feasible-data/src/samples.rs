//! Encoded rows as the core takes them: inputs, targets and ids.

use feasible::Samples;

use crate::encoder::Encoder;
use crate::error::Result;
use crate::table::Table;
use crate::target::TargetEncoder;

/// The samples of some rows of a table; their ids are the row numbers.
///
/// # Errors
/// As [`Encoder::transform`] and [`TargetEncoder::transform`]; or rows that are repeated.
pub fn samples(
    table: &Table,
    rows: &[u32],
    inputs: &Encoder,
    target: &TargetEncoder,
) -> Result<Samples> {
    let x = inputs.transform(table, rows)?;
    let y = target.transform(table, rows)?;
    Ok(Samples::with_ids(x, y, rows.iter().map(|&row| u64::from(row)).collect())?)
}
