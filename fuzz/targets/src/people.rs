//! The small table that problems, expressions and runs are about.

use feasible_data::{Format, Table};

/// How many people.
pub const ROWS: usize = 60;

/// The table as CSV. It names an ordinary column, one with spaces and one with a backtick.
pub fn csv() -> String {
    let mut text = String::from("age,gender,degree,years of study,odd`name,income\n");
    // Multiplicative steps through a prime field: the same for ever, and no pattern that matters.
    let mut x = 7_u32;
    let mut draw = |n: u32| {
        x = x * 75 % 65_537;
        x % n
    };
    for _ in 0..ROWS {
        let age = 20 + draw(40);
        let gender = ["Male", "Female"][draw(2) as usize];
        let degree = ["none", "bachelor", "master"][draw(3) as usize];
        let years = if draw(9) == 0 { String::new() } else { draw(20).to_string() };
        let odd = ["it's", "a \"b\"", "c"][draw(3) as usize].replace('"', "\"\"");
        let income = if age + draw(30) > 50 { "high" } else { "low" };
        text += &format!("{age},{gender},{degree},{years},\"{odd}\",{income}\n");
    }
    text
}

/// The table.
///
/// # Panics
/// If it cannot be read: a bug of this crate.
pub fn table() -> Table {
    match Table::from_bytes("people.csv", csv().as_bytes(), &Format::default()) {
        Ok(table) => table,
        Err(error) => panic!("the people cannot be read: {error}"),
    }
}
