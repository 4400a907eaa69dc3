//! Which rows count as held out: re-used rows are known again, fresh ones are not refused.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::overlap;

use feasible_problem::Fingerprints;

use overlap::{POPULATIONS, Rows, bare, refused, reused, stream, table, trained};

#[test]
fn a_new_number_in_a_column_that_is_not_used_hides_no_row() {
    let mut stream = stream(1, 0);
    let values = Rows::Rounded(3).sample(600, &mut stream);
    assert!(refused(&trained(&values), &values));
}

#[test]
fn rows_that_repeat_hide_no_copy() {
    for (rows, share) in [(Rows::Distinct(40), 1.0), (Rows::Distinct(300), 0.5)] {
        let mut stream = stream(2, 0);
        let values = rows.sample(1000, &mut stream);
        let again = reused(rows, &values, (1000.0 * share) as usize, 1.0, &mut stream);
        assert!(refused(&trained(&values), &again), "{rows:?} {share}");
    }
}

#[test]
fn fresh_tables_are_not_refused_whatever_their_population_repeats() {
    // Each is refused once in 10,000 draws at most: one of 336 is a surprise, two are none.
    let mut wrong = 0;
    for (at, rows) in POPULATIONS.into_iter().enumerate() {
        for (m, n) in [(50, 300), (300, 300), (1000, 100)] {
            for trial in 0..8 {
                let mut stream = stream(10 + at as u64, trial * 1000 + n as u64);
                let prints = trained(&rows.sample(m, &mut stream));
                let fresh = rows.sample(n, &mut stream);
                wrong += u32::from(prints.compare(&bare(&fresh)).is_err());
                wrong += u32::from(refused(&prints, &fresh));
            }
        }
    }
    assert!(wrong <= 2, "{wrong} of 672 fresh tables were refused");
}

#[test]
fn a_row_with_a_number_of_its_own_is_refused_alone() {
    let mut stream = stream(3, 0);
    let values = Rows::Distinct(50).sample(400, &mut stream);
    let prints: Fingerprints = trained(&values);
    // p399 again, and 200 others.
    let mut mixed = vec![values[399]];
    mixed.extend(Rows::Distinct(50).sample(200, &mut stream));
    let error = prints.compare(&table(&mixed, 399)).unwrap_err().to_string();
    assert!(error.contains("1 of its 201 rows"), "{error}");
}
