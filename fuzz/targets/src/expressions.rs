//! `where` expressions.

use feasible_data::{Expression, Table, UnknownCategories};

use crate::people;

thread_local! {
    static TABLE: Table = people::table();
}

/// An expression that is accepted is printed as one that says the same, and selects the same rows.
///
/// # Panics
/// If it does not.
pub fn run(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(expression) = Expression::parse(text) else { return false };
    let printed = expression.to_string();
    let again = match Expression::parse(&printed) {
        Ok(again) => again,
        Err(error) => panic!("printed as {printed:?}, which does not parse: {error}"),
    };
    assert!(again.same_as(&expression), "{printed:?} says something else");
    assert_eq!(again.to_string(), printed, "printing is not stable");
    assert_eq!(again.columns(), expression.columns());
    TABLE.with(|table| {
        for unknown in [UnknownCategories::Reject, UnknownCategories::MatchNothing] {
            let masks = [&expression, &again]
                .map(|e| e.bind(table, None, unknown).map(|filter| filter.mask().to_vec()).ok());
            assert_eq!(masks[0], masks[1], "{printed:?} selects other rows");
            if let Some(mask) = &masks[0] {
                assert_eq!(mask.len(), table.rows());
            }
        }
    });
    true
}
