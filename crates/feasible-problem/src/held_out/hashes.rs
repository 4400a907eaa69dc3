//! Hashes of rows: the sum of the hashes of their cells, whatever the order of columns and the format of the file.

use feasible_data::{Cells, Column, Table};

/// Where cells of a grid begin, as a share of their width: numbers of few digits lie far from it.
const OFFSET: f64 = 0.381_966;

/// What stands for a number.
#[derive(Clone, Copy)]
pub(crate) enum Rounding {
    /// Itself.
    None,
    /// Its cell on a grid of this step.
    Grid(f64),
    /// The number rounded to so many significant digits, as it is when it is written.
    Significant(u32),
}

impl Rounding {
    fn of(self, x: f64) -> f64 {
        match self {
            Self::None => x,
            Self::Grid(step) => (x / step + OFFSET).floor(),
            Self::Significant(digits) => significant(x, digits),
        }
    }
}

/// The hashes of some rows by these columns; `None` if one is missing.
pub fn of_rows(table: &Table, rows: &[u32], names: &[String]) -> Option<Vec<u64>> {
    of_rounded_rows(table, rows, names.iter().map(|name| (name.as_str(), Rounding::None)))
}

/// The same with the numbers of each column rounded.
pub(crate) fn of_rounded_rows<'n>(
    table: &Table,
    rows: &[u32],
    columns: impl Iterator<Item = (&'n str, Rounding)>,
) -> Option<Vec<u64>> {
    let mut sums = vec![0; rows.len()];
    for (name, rounding) in columns {
        add(table.column(name).ok()?, rounding, rows, &mut sums);
    }
    Some(sums)
}

/// The hashes of the cells of a column in some rows.
pub(crate) fn of_cells(column: &Column, rows: &[u32]) -> Vec<u64> {
    let mut hashes = vec![0; rows.len()];
    add(column, Rounding::None, rows, &mut hashes);
    hashes
}

/// Adds the hashes of a column's cells in some rows.
fn add(column: &Column, rounding: Rounding, rows: &[u32], sums: &mut [u64]) {
    let own = of_text(&column.name);
    let number = |x: f64| mix(own ^ mix((rounding.of(x) + 0.0).to_bits()));
    let missing = mix(own ^ 0x6d69_7373_696e_6721);
    match &column.cells {
        Cells::Numbers(values) => {
            for (sum, row) in sums.iter_mut().zip(rows) {
                let x = values.get(*row as usize);
                *sum = sum.wrapping_add(if x.is_nan() { missing } else { number(x) });
            }
        }
        Cells::Categories(categories) => {
            // A number is the same cell in a column that some other cell makes categorical.
            let category = |text: &String| match text.parse::<f64>() {
                Ok(x) if x.is_finite() => number(x),
                _ => mix(own ^ of_text(text)),
            };
            let hashes: Vec<u64> = categories.names.iter().map(category).collect();
            for (sum, row) in sums.iter_mut().zip(rows) {
                let code = categories.codes.get(*row as usize);
                *sum = sum.wrapping_add(hashes.get(code as usize).copied().unwrap_or(missing));
            }
        }
    }
}

/// Whether no two of the rows are equal in a column, and none lacks its cell.
pub(crate) fn tells_apart(column: &Column, rows: &[u32]) -> bool {
    let few = matches!(&column.cells, Cells::Categories(categories) if categories.names.len() < rows.len());
    if few || rows.iter().any(|&row| is_missing(column, row)) {
        return false;
    }
    let mut hashes = of_cells(column, rows);
    hashes.sort_unstable();
    hashes.windows(2).all(|pair| pair[0] != pair[1])
}

pub(crate) fn is_missing(column: &Column, row: u32) -> bool {
    match &column.cells {
        Cells::Numbers(values) => values.get(row as usize).is_nan(),
        Cells::Categories(categories) => categories.get(row as usize).is_none(),
    }
}

/// x rounded to significant digits, half way as its exact value says.
fn significant(x: f64, digits: u32) -> f64 {
    let places = digits as i32 - 1 - x.abs().log10().floor().clamp(-400.0, 400.0) as i32;
    let scaled = x * 10f64.powi(places);
    // Powers of ten up to 10²² are exact.
    if places.abs() > 22 || ((scaled - scaled.floor()) - 0.5).abs() < 1e-6 {
        return format!("{x:.*e}", digits as usize - 1).parse().unwrap_or(x);
    }
    let whole = scaled.round();
    if places < 0 { whole * 10f64.powi(-places) } else { whole / 10f64.powi(places) }
}

fn of_text(text: &str) -> u64 {
    text.bytes().fold(0x9e37_79b9_7f4a_7c15, |hash, byte| mix(hash ^ u64::from(byte)))
}

/// The finaliser of SplitMix64: a permutation that spreads every bit.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
