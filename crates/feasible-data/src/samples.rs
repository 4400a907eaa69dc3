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
    Ok(Samples::with_ids(x, y, ids(rows))?)
}

/// As [`samples`], for parts of a table whose columns are freed unless `keep` names them
/// while they are encoded ([`Encoder::transform_out`]).
///
/// # Errors
/// As [`samples`]; or rows that do not ascend.
pub fn samples_out(
    table: &mut Table,
    parts: &[&[u32]],
    inputs: &Encoder,
    target: &TargetEncoder,
    keep: &dyn Fn(&str) -> bool,
) -> Result<Vec<Samples>> {
    let targets = parts.iter().map(|rows| target.transform(table, rows));
    let targets = targets.collect::<Result<Vec<_>>>()?;
    let inputs = inputs.transform_out(table, parts, keep)?;
    let each = inputs.into_iter().zip(targets).zip(parts);
    each.map(|((x, y), rows)| Ok(Samples::with_ids(x, y, ids(rows))?)).collect()
}

fn ids(rows: &[u32]) -> Vec<u64> {
    rows.iter().map(|&row| u64::from(row)).collect()
}
