//! What is decided about a column when nobody says: dates, names of rows, too many categories.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use std::fmt::Write;

use feasible_data::{
    Counterfactual, Cycle, Dates, Encoder, Encoding, Error, Format, Missing, Preprocessing, SetTo,
    Table, Unseen,
};
use proptest::prelude::*;

fn table(csv: &str) -> Table {
    Table::from_bytes("t.csv", csv.as_bytes(), &Format::default()).unwrap()
}

fn fit(table: &Table, spec: &Preprocessing) -> Result<(Encoder, Vec<String>), Error> {
    Encoder::fit_noted(table, &table.all_rows(), spec, &[])
}

/// A column of `n` cells by a function of the row, and a number beside it.
fn column(n: usize, cell: impl Fn(usize) -> String) -> String {
    let mut csv = String::from("c,x\n");
    (0..n).for_each(|row| writeln!(csv, "{},{row}", cell(row)).unwrap());
    csv
}

#[test]
fn dates_become_days_and_cycles() {
    // Thursday, Friday and the Monday half a year later at noon.
    let table = table("joined\n1970-01-01\n1970-01-02\n1970-07-06T12:00\n");
    let (encoder, notes) = fit(&table, &Preprocessing::default()).unwrap();
    assert_eq!(
        encoder.names(),
        [
            "joined",
            "joined time of day (sin)",
            "joined time of day (cos)",
            "joined weekday (sin)",
            "joined weekday (cos)",
            "joined time of year (sin)",
            "joined time of year (cos)"
        ]
    );
    assert!(notes[0].starts_with("column 'joined': dates become days"), "{notes:?}");
    let Encoding::Dates { mean, sd, .. } = encoder.variables()[0].encoding.clone() else {
        panic!("not dates")
    };
    // Days 0, 1 and 186.5.
    assert!((mean - 62.5).abs() < 1e-12 && (sd - 87.682_191).abs() < 1e-6, "{mean} {sd}");
    let x = encoder.transform(&table, &[0, 2]).unwrap();
    let turn = std::f64::consts::TAU;
    let close = |row: usize, expected: [f64; 7]| {
        for (got, expected) in x.row(row).iter().zip(expected) {
            assert!((f64::from(*got) - expected).abs() < 1e-6, "row {row}: {got} {expected}");
        }
    };
    let (thursday, july) = (turn * 3.0 / 7.0, turn * 186.0 / 365.0);
    close(0, [-mean / sd, 0.0, 1.0, thursday.sin(), thursday.cos(), 0.0, 1.0]);
    close(1, [(186.5 - mean) / sd, 0.0, -1.0, 0.0, 1.0, july.sin(), july.cos()]);
    assert_eq!(Encoder::from_json(&encoder.to_json()).unwrap(), encoder);
    assert!(encoder.standardised().is_empty(), "no adversary moves dates");
}

#[test]
fn cycles_that_do_not_move_and_dates_that_are_one_are_left_out() {
    // Three Mondays of one year.
    let table = table("d,x\n2024-01-01,1\n2024-01-08,2\n2024-01-15,3\n");
    let (encoder, _) = fit(&table, &Preprocessing::default()).unwrap();
    let Encoding::Dates { cycles, .. } = &encoder.variables()[0].encoding else { panic!() };
    assert_eq!(*cycles, [Cycle::Year]);
    let same = self::table("d,x\n2024-01-01,1\n2024-01-01,2\n");
    let (encoder, _) = fit(&same, &Preprocessing::default()).unwrap();
    assert_eq!((encoder.names(), encoder.constant()), (vec!["x".to_string()], vec!["d"]));
}

#[test]
fn missing_dates_are_as_other_missing_numbers() {
    let table = table("d,x\n2024-01-01,1\n,2\n2024-01-11,3\n2024-03-11,3\n");
    let reject = fit(&table, &Preprocessing::default()).unwrap_err().to_string();
    assert!(reject.starts_with("t.csv, line 3, column 'd': the value is missing"), "{reject}");
    let spec = Preprocessing { missing: Missing::Category, ..Preprocessing::default() };
    let (encoder, _) = fit(&table, &spec).unwrap();
    assert_eq!(encoder.names()[5], "d is missing");
    let x = encoder.transform(&table, &[1]).unwrap().row(0);
    assert_eq!(x[..6], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    let spec = Preprocessing { missing: Missing::Impute, ..Preprocessing::default() };
    let (encoder, _) = fit(&table, &spec).unwrap();
    let x = encoder.transform(&table, &[1, 2]).unwrap();
    assert_eq!(x.row(0)[0], x.row(1)[0], "the median");
    assert_eq!(x.row(0)[1..5], [0.0; 4]);
}

#[test]
fn a_cell_that_is_no_date_is_named_in_training_and_at_prediction() {
    let dates = |row: usize| format!("2024-01-{:02}", row % 28 + 1);
    let csv = column(30, |row| if row == 7 { "soon".into() } else { dates(row) });
    let error = fit(&table(&csv), &Preprocessing::default()).unwrap_err().to_string();
    assert!(error.starts_with("t.csv, line 9, column 'c': 'soon' is not a date"), "{error}");
    let listed: Preprocessing = toml::from_str("categorical = ['c']").unwrap();
    assert!(fit(&table(&csv), &listed).is_ok());
    let (encoder, _) = fit(&table(&column(30, dates)), &Preprocessing::default()).unwrap();
    for unseen in [Unseen::Error, Unseen::Other] {
        let encoder = encoder.clone().with_unseen(unseen);
        let new = table("c,x\n2030-01-01,1\n31/12/2030,2\n");
        assert!(encoder.transform(&new, &[0]).is_ok(), "a date that training rows lack");
        let error = encoder.transform(&new, &[0, 1]).unwrap_err().to_string();
        assert!(error.starts_with("t.csv, line 3, column 'c': '31/12/2030' is not a date"));
        let numbers = encoder.transform(&table("c,x\n20300101,1\n"), &[0]).unwrap_err();
        assert!(matches!(numbers, Error::NotADate { .. }), "{numbers}");
    }
}

#[test]
fn dates_can_be_text_or_asked_for() {
    let csv = "d,e,x\n2024-01-01,a,1\n2024-02-01,b,2\n2024-03-01,a,3\n";
    let names = |spec: &str| -> Result<Vec<String>, Error> {
        let spec = toml::from_str(spec).unwrap();
        fit(&table(csv), &spec).map(|(encoder, notes)| {
            assert!(notes.is_empty(), "{notes:?}");
            encoder.names()
        })
    };
    let text = ["d = 2024-01-01", "d = 2024-02-01", "d = 2024-03-01", "e = b", "x"];
    assert_eq!(names("dates = false").unwrap(), text);
    assert_eq!(names("dates = []").unwrap(), text);
    assert_eq!(names("categorical = ['d']").unwrap(), text);
    assert_eq!(names("dates = ['d']").unwrap()[0], "d");
    let error = names("dates = ['e']").unwrap_err().to_string();
    assert!(error.starts_with("t.csv, line 2, column 'e': 'a' is not a date"), "{error}");
    let error = names("dates = ['d']\ncategorical = ['d']").unwrap_err().to_string();
    assert!(error.contains("choose one"), "{error}");
    assert!(names("dates = ['f']").is_err());
}

#[test]
fn a_counterfactual_sets_a_date_and_all_that_follows_from_it() {
    let table = table("d,x\n2024-01-01,1\n2024-02-14,2\n2024-07-30,3\n");
    let (encoder, _) = fit(&table, &Preprocessing::default()).unwrap();
    let set = |to| Counterfactual { set: [("d".to_string(), to)].into(), ..Default::default() };
    let change = &set(SetTo::Category("2024-02-14".into())).changes(&encoder).unwrap()[0];
    let x = encoder.transform(&table, &[0, 1, 2]).unwrap();
    let shift = change.shift(&x).unwrap();
    for row in 0..3 {
        let mut moved = x.row(row);
        shift.row(row).for_each(|(column, by)| moved[column as usize] += by);
        for (moved, there) in moved.iter().zip(x.row(1)).take(5) {
            assert!((moved - there).abs() < 1e-6);
        }
    }
    for (to, part) in [
        (SetTo::Category("May".into()), "'May' is not a date"),
        (SetTo::Number(3.0), "is a date: set it to one such as"),
    ] {
        let error = set(to).changes(&encoder).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let swapped = Counterfactual::swap("d", "2024-01-01", "2024-02-14").changes(&encoder);
    assert!(swapped.unwrap_err().to_string().contains("is a date, but category"));
    assert!(Counterfactual::pairs("d").changes(&encoder).is_err());
}

#[test]
fn text_that_is_different_in_nearly_every_row_is_left_out_with_a_note() {
    let names = column(30, |row| format!("person {}", row.max(2)));
    let (encoder, notes) = fit(&table(&names), &Preprocessing::default()).unwrap();
    assert_eq!(encoder.names(), ["x"]);
    assert_eq!(
        notes,
        [
            "column 'c': left out, because its text differs in nearly every row (28 of 30 training rows); \
             `categorical` under [data] keeps it"
        ]
    );
    for kept in ["categorical = ['c']", "columns = ['c', 'x']"] {
        let (encoder, notes) = fit(&table(&names), &toml::from_str(kept).unwrap()).unwrap();
        assert_eq!((encoder.width(), notes.len()), (29, 0), "{kept}");
    }
    let (encoder, _) =
        fit(&table(&column(19, |row| format!("p{row}"))), &Default::default()).unwrap();
    assert_eq!(encoder.width(), 20, "few rows may differ by chance");
    let other_order = column(30, |row| format!("{}/4/2024", row + 1));
    let (_, notes) = fit(&table(&other_order), &Preprocessing::default()).unwrap();
    assert!(notes[0].ends_with("if they are dates, write them as 2024-03-31"), "{notes:?}");
}

/// Category k of 0..n occurs in n − k rows.
fn triangle(n: usize) -> Table {
    let mut csv = String::from("c,x\n");
    for k in 0..n {
        (k..n).for_each(|row| writeln!(csv, "k{k:03},{row}").unwrap());
    }
    table(&csv)
}

#[test]
fn of_too_many_categories_the_most_frequent_are_kept() {
    let table = triangle(12);
    let spec = Preprocessing { max_categories: 4, ..Preprocessing::default() };
    let (encoder, notes) = fit(&table, &spec).unwrap();
    assert_eq!(encoder.variables()[0].categories().unwrap(), ["(other)", "k000", "k001", "k002"]);
    assert_eq!(
        notes,
        [
            "column 'c': 12 categories are more than max_categories = 4: the 3 most frequent are kept, the others \
             (45 training rows) become (other), and so do unseen ones"
        ]
    );
    // Unseen categories are of the others, whatever `unseen` says.
    let new = self::table("c,x\nk001,1\nk011,1\nnever,1\n");
    let x = encoder.transform(&new, &[0, 1, 2]).unwrap();
    assert_eq!(x.row(0)[..4], [0.0, 0.0, 1.0, 0.0]);
    assert_eq!(
        (&x.row(1)[..4], &x.row(2)[..4]),
        (&[1.0, 0.0, 0.0, 0.0][..], &[1.0, 0.0, 0.0, 0.0][..])
    );
    assert_eq!(Encoder::from_json(&encoder.to_json()).unwrap(), encoder);
    let broken = encoder.to_json().replace("\"(other)\"", "\"others\"");
    assert!(Encoder::from_json(&broken).unwrap_err().to_string().contains("pooled"));
}

#[test]
fn rare_categories_are_gathered_before_they_are_counted() {
    let table = triangle(12);
    let spec = Preprocessing { rare: 10, max_categories: 4, ..Preprocessing::default() };
    let (encoder, notes) = fit(&table, &spec).unwrap();
    assert_eq!(encoder.variables()[0].categories().unwrap(), ["(other)", "k000", "k001", "k002"]);
    assert!(notes.is_empty(), "{notes:?}");
    let error = encoder.transform(&self::table("c,x\nnever,1\n"), &[0]).unwrap_err();
    assert!(matches!(error, Error::UnseenCategory { .. }), "as `unseen` says: {error}");
}

#[test]
fn numbers_with_a_mistake_among_them_are_not_pooled_but_named() {
    let csv = column(50, |row| if row == 40 { "n/a".into() } else { format!("{row}.5") });
    let categorical = vec!["c".to_string()];
    let spec = Preprocessing { max_categories: 10, categorical, ..Preprocessing::default() };
    let error = fit(&table(&csv), &spec).unwrap_err().to_string();
    assert!(error.contains("would be numeric but for 'n/a' on line 42"), "{error}");
    let error = fit(&table(&csv), &Preprocessing::default()).unwrap_err().to_string();
    assert!(error.starts_with("t.csv, line 42, column 'c': 'n/a' is no number"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Pooling keeps at most max_categories, every row has one category, and swaps exchange exactly two.
    #[test]
    fn pooled_categories_are_a_partition_and_swaps_stay_exact(
        cells in prop::collection::vec(0_u32..40, 2..200),
        max in 3_usize..12,
    ) {
        let csv = column(cells.len(), |row| format!("k{}", cells[row]));
        let table = table(&csv);
        let spec = Preprocessing {
            max_categories: max, categorical: vec!["c".into()], ..Preprocessing::default()
        };
        let encoder = Encoder::fit(&table, &table.all_rows(), &spec, &[]).unwrap();
        let categories = encoder.variables()[0].categories().unwrap().to_vec();
        prop_assert!(categories.len() <= max);
        let x = encoder.transform(&table, &table.all_rows()).unwrap();
        if categories.len() > 2 {
            for row in 0..x.rows() {
                let hot = x.hot(row).iter().filter(|&&c| (c as usize) < categories.len()).count();
                prop_assert_eq!(hot, 1);
            }
            let (a, b) = (&categories[1], &categories[2]);
            let swap = &Counterfactual::swap("c", a, b).changes(&encoder).unwrap()[0];
            let shift = swap.shift(&x).unwrap();
            for row in 0..x.rows() {
                let text = format!("k{}", cells[row]);
                let concerned = text == *a || text == *b;
                prop_assert_eq!(shift.row(row).count(), if concerned { 2 } else { 0 });
            }
        }
    }

    /// Any text beside dates is refused or read, and never breaks.
    #[test]
    fn odd_dates_do_not_break(text in "[0-9T:.Z+ -]{0,25}") {
        let csv = column(12, |row| match row {
            3 => format!("\"{text}\""),
            _ => format!("2024-0{}-11T0{}:30", row % 9 + 1, row % 10),
        });
        let spec = Preprocessing { missing: Missing::Impute, ..Preprocessing::default() };
        let table = table(&csv);
        if let Ok((encoder, _)) = fit(&table, &spec) {
            let x = encoder.transform(&table, &table.all_rows()).unwrap();
            for row in 0..x.rows() {
                prop_assert!(x.row(row).iter().all(|x| x.is_finite()));
            }
        }
    }
}

#[test]
fn dates_are_all_or_listed() {
    let spec: Preprocessing = toml::from_str("dates = ['a']").unwrap();
    assert_eq!(spec.dates, Dates::Only(vec!["a".into()]));
    assert_eq!(Preprocessing::default().dates, Dates::All(true));
}

#[test]
fn numbers_that_count_the_rows_are_left_out_where_they_are_named_for_it_or_not_at_all() {
    let names = |header: &str, from: usize| {
        let csv: String = (0..30).map(|row| format!("{},{}\n", row + from, row % 7)).collect();
        let table = table(&format!("{header}\n{csv}"));
        fit(&table, &Preprocessing::default()).unwrap().0.names()
    };
    assert_eq!(names("id,x", 100), ["x"]);
    assert_eq!(names(",x", 1), ["x"]);
    assert_eq!(names("count,x", 1), ["count", "x"]);
    let squares: String = (0..30).map(|row| format!("{},{}\n", row * row, row % 7)).collect();
    let nameless = table(&format!(",x\n{squares}"));
    assert_eq!(fit(&nameless, &Preprocessing::default()).unwrap().0.width(), 2);
    let kept: Preprocessing = toml::from_str("columns = ['id', 'x']").unwrap();
    let ids: String = (0..30).map(|row| format!("{row},{}\n", row % 7)).collect();
    assert_eq!(fit(&table(&format!("id,x\n{ids}")), &kept).unwrap().0.width(), 2);
}

#[test]
fn a_few_cells_that_are_no_numbers_are_named_among_numbers() {
    let spec = Preprocessing::default();
    let bad =
        |at: usize| table(&column(300, |i| if i == at { "abc".into() } else { format!("{i}.5") }));
    let message = fit(&bad(250), &spec).unwrap_err().to_string();
    assert!(message.starts_with("t.csv, line 252, column 'c': 'abc' is no number"), "{message}");
    // By the cells of the whole table: the bad one may be in another part of the split.
    let train: Vec<u32> = (0..200).collect();
    assert!(matches!(Encoder::fit(&bad(250), &train, &spec, &[]), Err(Error::StrayText { .. })));
    let named = Preprocessing {
        categorical: vec!["c".into()],
        unseen: Unseen::Other,
        ..Preprocessing::default()
    };
    assert!(fit(&bad(250), &named).is_ok());
    let comma = Format { decimal: Some(','), delimiter: Some(';'), ..Format::default() };
    let csv = column(300, |i| if i == 9 { "-".into() } else { format!("{i},5") }).replace(",", ";");
    let csv = csv.replace(";5;", ",5;");
    let commas = Table::from_bytes("t.csv", csv.as_bytes(), &comma).unwrap();
    let message = fit(&commas, &spec).unwrap_err().to_string();
    assert!(message.starts_with("t.csv, line 11, column 'c': '-' is no number"), "{message}");
}

#[test]
fn codes_among_which_some_are_words_stay_categories() {
    let spec = Preprocessing { unseen: Unseen::Other, ..Preprocessing::default() };
    // One of twenty-five is a word; each is in several rows.
    let codes =
        table(&column(500, |i| if i % 25 == 7 { "V27".into() } else { (i % 60).to_string() }));
    let (_, notes) = fit(&codes, &spec).unwrap();
    assert!(notes[0].contains("because of 'V27' on line 9"), "{notes:?}");
    let few = table(&column(500, |i| if i == 7 { "none".into() } else { (i % 9).to_string() }));
    assert!(fit(&few, &spec).is_ok());
}

#[test]
fn amounts_that_are_left_out_are_said_to_be_numbers_with_signs() {
    let table = table(&column(300, |i| format!("${i}.50")));
    let (_, notes) = fit(&table, &Preprocessing::default()).unwrap();
    assert!(notes[0].contains("if they are numbers, write them without '$'"), "{notes:?}");
}
