//! Hashes of rows: the sum of the hashes of their cells, whatever the order of columns and the format of the file.

use feasible_data::{Cells, Column, Table};

/// Where cells of a grid begin, as a share of their width: numbers of few digits lie far from it.
const OFFSET: f64 = 0.381_966;

/// The hashes of some rows by these columns; `None` if one is missing.
pub fn of_rows(table: &Table, rows: &[u32], names: &[String]) -> Option<Vec<u64>> {
    let mut all = vec![0u64; table.rows()];
    for name in names {
        add(table.column(name).ok()?, 0.0, &mut all);
    }
    Some(rows.iter().map(|&row| all[row as usize]).collect())
}

/// The same with the numbers of each column on a grid of this step; 0 takes them as they are.
pub(crate) fn of_rounded_rows(
    table: &Table,
    rows: &[u32],
    steps: &[(String, f64)],
) -> Option<Vec<u64>> {
    let mut all = vec![0u64; table.rows()];
    for (name, step) in steps {
        add(table.column(name).ok()?, *step, &mut all);
    }
    Some(rows.iter().map(|&row| all[row as usize]).collect())
}

/// The hashes of the cells of a column.
pub(crate) fn of_cells(column: &Column) -> Vec<u64> {
    let mut all = vec![0; column.len()];
    add(column, 0.0, &mut all);
    all
}

/// Adds the hashes of a column's cells.
fn add(column: &Column, step: f64, all: &mut [u64]) {
    let own = of_text(&column.name);
    let number = |x: f64| {
        let x = if step > 0.0 { (x / step + OFFSET).floor() } else { x };
        mix(own ^ mix((x + 0.0).to_bits()))
    };
    let missing = mix(own ^ 0x6d69_7373_696e_6721);
    match &column.cells {
        Cells::Numbers(values) => {
            for (sum, x) in all.iter_mut().zip(values.iter()) {
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
            for (sum, code) in all.iter_mut().zip(categories.codes.iter()) {
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
    let all = of_cells(column);
    let mut some: Vec<u64> = rows.iter().map(|&row| all[row as usize]).collect();
    some.sort_unstable();
    some.windows(2).all(|pair| pair[0] != pair[1])
}

pub(crate) fn is_missing(column: &Column, row: u32) -> bool {
    match &column.cells {
        Cells::Numbers(values) => values.get(row as usize).is_nan(),
        Cells::Categories(categories) => categories.get(row as usize).is_none(),
    }
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
