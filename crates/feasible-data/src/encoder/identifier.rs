//! Text that names rows: a name, an e-mail address, a remark. It is different in nearly every row, so it tells nothing
//! about other rows, and as indicators it would let a model learn the training rows by heart.

use hashbrown::HashSet;

use crate::column::{Categories, MISSING};
use crate::column_name;
use crate::dates;
use crate::numbers::Numbers;
use crate::stray::signs_of;

/// Fewer cells than this may be different by chance.
const LEAST_CELLS: usize = 20;
/// The share of the cells that must be different from all others.
const DIFFERENT: f64 = 0.9;

/// Why a column of numbers is left out, if they number the rows: whole, different in nearly every one of these rows,
/// and named for it.
pub(super) fn numbers_rows(name: &str, values: &Numbers, rows: &[u32]) -> Option<String> {
    // A column without a name must count the rows, one by one.
    let mut after_row = rows.iter().map(|&row| values.get(row as usize) - f64::from(row));
    let first = after_row.next();
    let mut counts = || column_name::is_nameless(name) && after_row.all(|by| Some(by) == first);
    if !column_name::is_identifier(name) && !counts() {
        return None;
    }
    let present = || rows.iter().map(|&row| values.get(row as usize)).filter(|x| !x.is_nan());
    let distinct: HashSet<u64> = present().map(f64::to_bits).collect();
    let (count, cells) = (distinct.len(), present().count());
    let differs = cells >= LEAST_CELLS && count as f64 >= DIFFERENT * cells as f64;
    (differs && present().all(|x| x.fract() == 0.0)).then(|| {
        format!(
            "left out: its name suggests a row number, and it differs in nearly every row ({count} of {cells} \
             training rows); `standardise` or `columns` under [data], naming it, keeps it"
        )
    })
}

/// What to know of a column of numbers that is named as one of codes.
pub(super) fn codes(name: &str, values: &Numbers, rows: &[u32]) -> Option<String> {
    let whole = |row: &u32| {
        let x = values.get(*row as usize);
        x.is_nan() || x.fract() == 0.0
    };
    // Two values need no categories: their number is an indicator.
    let many = rows
        .iter()
        .any(|&row| !matches!(values.get(row as usize), x if x.is_nan() || x == 0.0 || x == 1.0));
    let coded = column_name::is_code(name) && many && rows.iter().all(whole);
    coded.then(|| {
        format!(
            "its numbers are used as numbers, although its name suggests codes; categorical = [{name:?}] under \
             [data] makes categories of them"
        )
    })
}

/// Why a column of text is left out, if its cells are different in nearly every one of these rows.
pub(super) fn identifies(source: &Categories, rows: &[u32]) -> Option<String> {
    // Numbers with a mistake among them are not names: see `Mixed`.
    if source.mixed.is_some() || source.names.len() < LEAST_CELLS {
        return None;
    }
    let codes = rows.iter().map(|&row| source.codes.get(row as usize)).filter(|&c| c != MISSING);
    let (mut cells, mut distinct) = (0_usize, HashSet::new());
    for code in codes {
        cells += 1;
        distinct.insert(code);
    }
    let count = distinct.len();
    if cells < LEAST_CELLS || (count as f64) < DIFFERENT * cells as f64 {
        return None;
    }
    let ordered =
        distinct.iter().all(|&code| dates::is_of_other_order(&source.names[code as usize]));
    let hint = match signs_of(source) {
        _ if ordered => "; if they are dates, write them as 2024-03-31".to_string(),
        Some(signs) => format!("; if they are numbers, write them without {signs}"),
        None => String::new(),
    };
    Some(format!(
        "left out, because its text differs in nearly every row ({count} of {cells} training rows); `categorical` \
         under [data] keeps it{hint}"
    ))
}
