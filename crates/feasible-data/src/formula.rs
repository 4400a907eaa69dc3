//! Text that a spreadsheet would run as a formula.
//!
//! A spreadsheet takes a cell of a CSV file that begins with `=`, `+`, `-` or `@` for a formula, quotes of CSV or
//! not, and `=HYPERLINK(…)` then sends what stands beside it to whoever wrote the cell. An apostrophe before it
//! makes it text. Numbers are left alone.
//!
//! ```
//! use feasible_data::formula::{quoted, unquoted};
//! assert_eq!(quoted("=HYPERLINK(\"https://example.org\")"), "'=HYPERLINK(\"https://example.org\")");
//! assert_eq!(quoted("-1.5e3"), "-1.5e3");
//! assert_eq!(unquoted(&quoted("@SUM(A1)")), "@SUM(A1)");
//! ```

use std::borrow::Cow;

/// Whether a spreadsheet would take the text for a formula. Apostrophes before one count with it, so that
/// [`unquoted`] undoes [`quoted`] whatever the text.
fn is_formula(text: &str) -> bool {
    let bare = text.trim_start_matches('\'');
    let start = bare.trim_start_matches(|c: char| c.is_whitespace() || c.is_control());
    // Also the wide forms, which some spreadsheets read as the narrow ones.
    start.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']) && bare.parse::<f64>().is_err()
}

/// The text with an apostrophe before it, if a spreadsheet would take it for a formula.
pub fn quoted(text: &str) -> Cow<'_, str> {
    match is_formula(text) {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

/// The text that [`quoted`] was given.
pub fn unquoted(text: &str) -> &str {
    match text.strip_prefix('\'') {
        Some(rest) if is_formula(rest) => rest,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_get_an_apostrophe_and_numbers_do_not() {
        let formulas =
            ["=1+1", "=HYPERLINK(\"x\")", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1"];
        for formula in formulas.into_iter().chain([" =1", "＝1", "-", "- 1", "+1 555"]) {
            assert_eq!(quoted(formula), format!("'{formula}"));
        }
        for plain in ["", "-1", "+1", "-1.5e-3", "1", "a=b", "<=50K", "'", "'quoted'", "O'Neill"] {
            assert_eq!(quoted(plain), plain);
        }
    }

    #[test]
    fn what_was_quoted_is_found_again_whatever_it_was() {
        for text in ["=1", "'=1", "''=1", "'", "'-1", "-1", "plain", "'plain", "' =1", "''-x", ""] {
            assert_eq!(unquoted(&quoted(text)), text);
            assert_eq!(unquoted(&quoted(&quoted(text))), quoted(text));
        }
    }
}
