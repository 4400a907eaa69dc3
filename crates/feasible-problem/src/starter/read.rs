//! Reading a table of which nothing is known: how it is written is found out, and said in the problem file.

use feasible_data::{Categories, Cells, Duplicates, Error as DataError, Format, Table};

use crate::error::{Error, Result};

/// Texts that stand for missing cells among numbers.
const MARKS: [&str; 18] = [
    "NA", "N/A", "n/a", "na", "NaN", "nan", "NAN", "null", "NULL", "Null", "None", "none", "?",
    "-", "--", ".", "missing", "#N/A",
];

/// Reads a table by `read`, and again in another format where it has two columns of one name, numbers among which a mark
/// like `NA` stands for missing cells, numbers with a decimal comma, or no header; gives that format.
///
/// # Errors
/// As `read`, where no other format helps.
pub fn read_for_starter(mut read: impl FnMut(&Format) -> Result<Table>) -> Result<(Table, Format)> {
    let mut format = Format::default();
    // Each round learns something new, or is the last.
    for _ in 0..MARKS.len() {
        match read(&format) {
            Ok(table) if !learn(&table, &mut format) => return Ok((table, format)),
            Ok(_) => {}
            Err(Error::Data(DataError::DuplicateColumn { .. }))
                if format.duplicates == Duplicates::Reject =>
            {
                format.duplicates = Duplicates::Number;
            }
            Err(Error::Data(DataError::NotFinite { value, .. }))
                if value.to_lowercase().contains("nan") && !format.missing.contains(&value) =>
            {
                format.missing.push(value);
            }
            Err(Error::Data(DataError::DecimalComma { .. })) if format.decimal.is_none() => {
                format.decimal = Some(',');
            }
            Err(error) => return Err(error),
        }
    }
    Ok((read(&format)?, format))
}

/// Learns from the cells how the table is written; whether anything new.
fn learn(table: &Table, format: &mut Format) -> bool {
    let before = format.clone();
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    if format.header && table.columns().iter().all(|column| is_number(&column.name)) {
        // What were two names alike are two cells.
        (format.header, format.duplicates) = (false, Duplicates::Reject);
        return true;
    }
    let texts = table.columns().iter().filter_map(|column| match &column.cells {
        Cells::Categories(categories) => Some(categories),
        Cells::Numbers(_) => None,
    });
    for categories in texts {
        let (numbers, others) = parted(categories, &is_number);
        // Marks beside text may be categories.
        if numbers > 0 && !others.is_empty() && others.iter().all(|text| MARKS.contains(text)) {
            for mark in others {
                if !format.missing.iter().any(|known| known == mark) {
                    format.missing.push(mark.to_string());
                }
            }
            continue;
        }
        let unmarked = || others_of(categories).filter(|text| !is_number(text));
        if format.decimal.is_none() && unmarked().next().is_some() && unmarked().all(has_comma) {
            format.decimal = Some(',');
        }
    }
    *format != before
}

fn others_of(categories: &Categories) -> impl Iterator<Item = &str> {
    categories.names.iter().map(String::as_str).filter(|text| !MARKS.contains(text))
}

/// How many categories are numbers, and the others.
fn parted<'a>(
    categories: &'a Categories,
    is_number: &dyn Fn(&str) -> bool,
) -> (usize, Vec<&'a str>) {
    let others: Vec<&str> =
        categories.names.iter().map(String::as_str).filter(|text| !is_number(text)).collect();
    (categories.names.len() - others.len(), others)
}

/// Whether a text is a number with a decimal comma.
fn has_comma(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    text.split_once(',').is_some_and(|(whole, part)| digits(whole) && digits(part))
}
