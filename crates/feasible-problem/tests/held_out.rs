//! Which rows count as held out: re-used rows are known again, fresh ones are not refused.
#![allow(clippy::unwrap_used, reason = "a test may stop")]

use crate::overlap;

use feasible_data::{Column, Table};
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

/// Numbers of two columns, rewritten; the second is far from 0.
fn rewritten(values: &[(f64, f64)], how: &dyn Fn(f64) -> f64) -> Table {
    let [a, b]: [Vec<f64>; 2] =
        [values.iter().map(|x| how(x.0)).collect(), values.iter().map(|x| how(x.1)).collect()];
    let y = values.iter().map(|x| Some(if x.0 > 0.0 { "yes" } else { "no" }));
    let columns =
        vec![Column::numbers("a", a), Column::numbers("b", b), Column::categories("y", y)];
    Table::new("again.csv", columns).unwrap()
}

fn normal_pairs(n: usize, stream: &mut feasible::stream::Stream) -> Vec<(f64, f64)> {
    let mut normal = || {
        let (u, v) = (1.0 - stream.uniform(), stream.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    (0..n).map(|_| (normal(), 100.0 + 20.0 * normal())).collect()
}

fn digits(x: f64, significant: usize) -> f64 {
    format!("{x:.*e}", significant - 1).parse().unwrap()
}

#[test]
fn rows_are_known_again_however_they_were_rounded() {
    let mut stream = stream(20, 0);
    let values = normal_pairs(400, &mut stream);
    let trained = rewritten(&values, &|x| x);
    let needed = ["a", "b", "y"].map(String::from).into();
    let prints = Fingerprints::of(&trained, &trained.all_rows(), &needed);
    type Rewrite = fn(f64) -> f64;
    let ways: [(&str, Rewrite); 6] = [
        ("single precision", |x| f64::from(x as f32)),
        ("%.6g", |x| digits(x, 6)),
        ("%.6f", |x| format!("{x:.6}").parse().unwrap()),
        ("%.3g", |x| digits(x, 3)),
        ("%.3f", |x| format!("{x:.3}").parse().unwrap()),
        ("noise", |x| x + 1e-9),
    ];
    for (name, way) in ways {
        let error = prints.compare(&rewritten(&values, &way));
        assert!(error.is_err(), "{name}: {error:?}");
        // A tenth of them among others.
        let mixed = [&values[..40], &normal_pairs(360, &mut stream)].concat();
        let error = prints.compare(&rewritten(&mixed, &way));
        assert!(error.is_err(), "{name}: {error:?}");
        let fresh = prints.compare(&rewritten(&normal_pairs(400, &mut stream), &way));
        assert!(fresh.is_ok(), "{name}: {fresh:?}");
    }
}

#[test]
fn nothing_is_said_of_digits_that_a_table_does_not_have() {
    use feasible_problem::held_out::HeldOut;
    let mut stream = stream(22, 0);
    let three = |x: &f64| digits(*x, 3);
    let values = Rows::Continuous.sample(400, &mut stream);
    let prints = trained(&values);
    let fresh = Rows::Continuous.sample(400, &mut stream);
    assert_eq!(prints.compare(&bare(&fresh)).unwrap(), HeldOut::NoOverlap { digits: 6 });
    // Of one column in 3 digits, a tenth of re-used rows cannot be told from none, and neither can be certified without that remark.
    let mixed = [&values[..40], &fresh[..360]].concat();
    for table in [&fresh, &mixed] {
        let written: Vec<f64> = table.iter().map(three).collect();
        let found = prints.compare(&bare(&written)).unwrap();
        let (clause, sentence) = (found.clause(), found.sentence());
        assert!(!clause.contains("none of which"), "{clause}");
        assert!(sentence.contains("in their first 3 digits"), "{sentence}");
        assert!(sentence.contains("the certificate holds if none"), "{sentence}");
    }
    // Of one digit, nothing.
    let written: Vec<f64> = values.iter().map(|x| digits(*x, 1)).collect();
    let found = prints.compare(&bare(&written)).unwrap();
    assert!(matches!(found, HeldOut::CannotTell { .. }), "{found:?}");
    // Numbers that the training has in 3 digits, too, are compared in all of them.
    let written: Vec<f64> = values.iter().map(three).collect();
    let found = trained(&written).compare(&bare(&fresh.iter().map(three).collect::<Vec<_>>()));
    assert!(matches!(found, Ok(HeldOut::Explained { digits: 6, .. })), "{found:?}");
}

#[test]
fn a_grid_that_both_tables_follow_is_not_called_rows_that_were_trained_on() {
    let grid: Vec<(f64, f64)> =
        (0..400).map(|at| (f64::from(at % 20), 5.0 * f64::from(at / 20))).collect();
    let trained = rewritten(&grid, &|x| x);
    let needed = ["a", "b", "y"].map(String::from).into();
    let prints = Fingerprints::of(&trained, &trained.all_rows(), &needed);
    let error = prints.compare(&rewritten(&grid, &|x| x)).unwrap_err().to_string();
    assert!(error.contains("400 of its 400 rows equal training rows. "), "{error}");
    assert!(error.contains("or both tables were laid out by one plan"), "{error}");
    assert!(error.contains("rows that were drawn independently"), "{error}");
}

#[test]
fn the_rows_that_a_fresh_sample_has_in_common_are_estimated() {
    use feasible_problem::held_out::HeldOut;
    for (at, rows) in POPULATIONS.into_iter().enumerate() {
        let (mut expected, mut found) = (0.0, 0.0);
        for trial in 0..10 {
            let mut stream = stream(400 + at as u64, trial);
            let prints = trained(&rows.sample(600, &mut stream));
            match prints.compare(&bare(&rows.sample(600, &mut stream))).unwrap() {
                HeldOut::Explained { equal, expected: chance, .. }
                | HeldOut::CannotTell { equal, expected: chance, .. } => {
                    (expected, found) = (expected + chance, found + equal as f64);
                }
                other => assert!(matches!(other, HeldOut::NoOverlap { .. }), "{other:?}"),
            }
        }
        // Of 6,000 rows; neighbouring samples differ by some standard deviations of their counts.
        let error = 8.0 * f64::sqrt(expected + found + 1.0);
        assert!((expected - found).abs() < error, "{}: {expected} {found}", rows.name());
    }
}

#[test]
fn a_row_that_is_repeated_thousands_of_times_is_no_table() {
    let mut stream = stream(21, 0);
    let values = normal_pairs(300, &mut stream);
    let trained = rewritten(&values, &|x| x);
    let needed = ["a", "b", "y"].map(String::from).into();
    let prints = Fingerprints::of(&trained, &trained.all_rows(), &needed);
    let one = rewritten(&vec![normal_pairs(1, &mut stream)[0]; 5000], &|x| x);
    let once = prints.once(&one, &one.all_rows()).unwrap();
    assert_eq!(once.rows.len(), 1);
    assert_eq!(prints.distinct_rows(&one), 1);
    // Of a population of few rows it is not known which are copies: refused.
    let few = trained_few(&mut stream);
    let one = bare(&vec![7.0; 5000]);
    assert!(few.once(&one, &one.all_rows()).is_err());
    assert_eq!(few.distinct_rows(&one), 1);
}

fn trained_few(stream: &mut feasible::stream::Stream) -> Fingerprints {
    trained(&Rows::Distinct(300).sample(600, stream))
}
