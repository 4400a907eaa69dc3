//! Numbers that are piecewise linear between quantiles, values of many rows apart.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use feasible_data::encoder::piecewise::{ATOM, PIECES};
use feasible_data::{
    Bins, Counterfactual, Encoder, Encoding, Error, Expression, Format, Piecewise, Preprocessing,
    Table, UnknownCategories,
};
use proptest::prelude::*;

fn of(cells: &[String]) -> Table {
    // The other column is constant, and left out; without it an empty cell would be an empty line.
    let csv = format!("x,one\n{},1\n", cells.join(",1\n"));
    Table::from_bytes("t.csv", csv.as_bytes(), &Format::default()).unwrap()
}

fn numbers(values: impl IntoIterator<Item = f64>) -> Table {
    let cells: Vec<String> = values.into_iter().map(|x| x.to_string()).collect();
    of(&cells)
}

fn spec(toml: &str) -> Preprocessing {
    toml::from_str(toml).unwrap()
}

fn fit(table: &Table, toml: &str) -> Encoder {
    Encoder::fit(table, &table.all_rows(), &spec(toml), &[]).unwrap()
}

fn parts(encoder: &Encoder) -> (Vec<f64>, Vec<f64>) {
    match &encoder.variables()[0].encoding {
        Encoding::Piecewise { knots, atoms, .. } => (knots.clone(), atoms.clone()),
        other => panic!("{other:?}"),
    }
}

fn is_piecewise(encoder: &Encoder) -> bool {
    matches!(encoder.variables()[0].encoding, Encoding::Piecewise { .. })
}

/// Mostly zeros, and a long tail: 0 in 1,840 of 2,000 rows, then squares up to 25,600.
fn gains() -> Vec<f64> {
    (0..2000).map(|i| if i < 1840 { 0.0 } else { f64::from(i - 1839).powi(2) }).collect()
}

#[test]
fn zeros_have_an_indicator_and_the_others_their_quantiles() {
    let table = numbers(gains());
    let encoder = fit(&table, "piecewise = ['x']");
    let (knots, atoms) = parts(&encoder);
    assert_eq!(atoms, [0.0]);
    assert_eq!((knots.len(), knots[0], knots[PIECES]), (PIECES + 1, 1.0, 25600.0));
    // Ten of the others in each piece: numpy.quantile(np.arange(1, 161) ** 2, 1 / 16) = 119.6875.
    assert_eq!(knots[1], 119.6875);
    let names = encoder.names();
    assert_eq!(names.len(), PIECES + 1);
    assert_eq!((names[0].as_str(), names[PIECES].as_str()), ("x from 1 to 119.6875", "x = 0"));
    let x = encoder.transform(&table, &[0, 1999, 1840]).unwrap();
    let mut zero = vec![0.0; PIECES];
    zero.push(1.0);
    assert_eq!(x.row(0), zero);
    let mut largest = vec![1.0; PIECES];
    largest.push(0.0);
    assert_eq!(x.row(1), largest);
    assert_eq!(x.row(2), [0.0; PIECES + 1]);
    assert!(encoder.standardised().is_empty(), "its unit is no standard deviation");
}

#[test]
fn beyond_the_training_values_the_columns_are_constant() {
    let encoder = fit(&numbers((0..100).map(f64::from)), "piecewise = true");
    let new = numbers([-1e300, -1.0, 0.0, 99.0, 100.0, 1e300]);
    let x = encoder.transform(&new, &new.all_rows()).unwrap();
    assert!((0..3).all(|row| x.row(row) == [0.0; PIECES]));
    assert!((3..6).all(|row| x.row(row) == [1.0; PIECES]));
}

#[test]
fn few_distinct_values_are_knots_and_a_constant_is_left_out() {
    let (knots, atoms) =
        parts(&fit(&numbers((0..60).map(|i| f64::from(i % 3))), "piecewise = true"));
    assert_eq!((knots.as_slice(), atoms.as_slice()), ([0.0, 1.0, 2.0].as_slice(), [].as_slice()));
    let two = fit(&numbers([5.0, 7.0, 7.0]), "piecewise = true");
    assert_eq!(parts(&two).0, [5.0, 7.0]);
    assert_eq!(two.transform(&numbers([5.0, 6.0, 7.0]), &[1]).unwrap().row(0), [0.5]);
    // Nothing but atoms, more of them than there are pieces.
    let twenty: Vec<f64> = (0..400).map(|i| f64::from(i % 20)).collect();
    assert_eq!(parts(&fit(&numbers(twenty), "piecewise = true")).0.len(), 20);
    let csv = "x,y\n3,1\n3,2\n";
    let table = Table::from_bytes("t.csv", csv.as_bytes(), &Format::default()).unwrap();
    assert_eq!(fit(&table, "piecewise = true").constant(), ["x"]);
}

#[test]
fn the_rule_takes_long_tails_and_values_of_many_rows_and_leaves_the_rest() {
    let auto = |values: Vec<f64>| is_piecewise(&fit(&numbers(values), "piecewise = 'auto'"));
    assert!(auto(gains()));
    assert!(auto((0..2000).map(f64::from).chain([1e5]).collect()));
    assert!(!auto((0..2000).map(f64::from).collect()), "uniform");
    assert!(!auto((0..2000).map(|i| f64::from(i % 2)).collect()), "yes and no");
    assert!(!auto((0..2000).map(|i| f64::from(i % 5)).collect()), "a scale from 0 to 4");
    assert!(!auto(gains().split_off(1000)), "too few rows");
}

#[test]
fn it_is_chosen_for_all_some_or_none_and_named_columns_win() {
    let csv: String = gains().iter().map(|x| format!("{x},{x},{x}\n")).collect();
    let table = Table::from_bytes("t.csv", format!("a,b,c\n{csv}").as_bytes(), &Format::default());
    let table = table.unwrap();
    let widths = |toml: &str| -> Vec<usize> {
        fit(&table, toml).variables().iter().map(|variable| variable.width()).collect()
    };
    let all = PIECES + 1;
    assert_eq!(widths(""), [1, 1, 1], "asked for nothing");
    assert_eq!(widths("piecewise = true"), [all; 3]);
    assert_eq!(widths("piecewise = 'auto'"), [all; 3]);
    assert_eq!(widths("piecewise = ['b']"), [1, all, 1]);
    assert_eq!(widths("piecewise = true\nstandardise = ['b']"), [all, 1, all]);
    // Numbers as they are were asked for.
    assert_eq!(widths("piecewise = 'auto'\nstandardise = false"), [1, 1, 1]);
    assert_eq!(widths("piecewise = ['a']\nstandardise = false"), [all, 1, 1]);
    assert_eq!(widths("piecewise = true\nbin = { c = { edges = [0] } }"), [all, all, 1]);
    for (toml, message) in [
        ("piecewise = ['b']\nstandardise = ['b']", "choose one"),
        ("piecewise = ['b']\nbin = { b = { quantiles = 2 } }", "choose one"),
        ("piecewise = ['d']", "'d'"),
    ] {
        let error = Encoder::fit(&table, &table.all_rows(), &spec(toml), &[]).unwrap_err();
        assert!(error.to_string().contains(message), "{toml}: {error}");
    }
    let error = toml::from_str::<Preprocessing>("piecewise = 'always'").unwrap_err().to_string();
    assert!(error.contains("give true, false, \"auto\" or a list of columns"), "{error}");
    let words = Table::from_bytes("t.csv", b"x,y\na,1\nb,2\n", &Format::default()).unwrap();
    let error = Encoder::fit(&words, &[0, 1], &spec("piecewise = ['x']"), &[]).unwrap_err();
    assert!(error.to_string().contains("`piecewise` needs numbers"), "{error}");
}

#[test]
fn missing_cells_are_those_of_other_numbers() {
    let mut cells: Vec<String> = gains().iter().map(ToString::to_string).collect();
    cells[3] = String::new();
    let table = of(&cells);
    let strict = Encoder::fit(&table, &table.all_rows(), &spec("piecewise = true"), &[]);
    assert!(matches!(strict, Err(Error::Missing { .. })));
    // The mean, 1,378,160 / 1,999, which is somewhere between the knots, and an indicator.
    let encoder = fit(&table, "piecewise = true\nmissing = 'category'");
    assert_eq!(encoder.names().last().unwrap(), "x is missing");
    let x = encoder.transform(&table, &[3, 4]).unwrap();
    assert_eq!(x.row(0)[PIECES..], [0.0, 1.0]);
    assert!(x.row(0)[0] == 1.0 && x.row(0)[PIECES - 1] == 0.0);
    assert_eq!(x.row(1)[PIECES..], [1.0, 0.0]);
    // The median is 0, which is an atom.
    let encoder = fit(&table, "piecewise = true\nmissing = 'impute'");
    let x = encoder.transform(&table, &[3, 4]).unwrap();
    assert_eq!(x.row(0), x.row(1));
}

#[test]
fn a_counterfactual_changes_every_column_of_the_number() {
    let mut values = gains();
    values.extend([50.0, 70.0]);
    let table = numbers(values);
    let encoder = fit(&table, "piecewise = true");
    let x = encoder.transform(&table, &table.all_rows()).unwrap();
    for to in ["0", "50", "70", "-3", "1e6", "25600"] {
        let change: Counterfactual = toml::from_str(&format!("set = {{ x = {to} }}")).unwrap();
        let change = &change.changes(&encoder).unwrap()[0];
        let expected = encoder.transform(&numbers([to.parse().unwrap()]), &[0]).unwrap().row(0);
        let shift = change.shift(&x).unwrap();
        for row in 0..x.rows() {
            let mut moved = x.row(row);
            shift.row(row).for_each(|(column, delta)| moved[column as usize] += delta);
            for (got, expected) in moved.iter().zip(&expected) {
                // x + (ρ(x) − x), rounded once or twice between 0 and 1.
                assert!((got - expected).abs() <= f32::EPSILON, "{to}, row {row}");
            }
            assert_eq!(shift.is_identity(row), x.row(row) == expected, "{to}, row {row}");
        }
    }
    let swap = Counterfactual::swap("x", "0", "1").changes(&encoder).unwrap_err().to_string();
    assert!(swap.contains("a number"), "{swap}");
    assert!(Counterfactual::pairs("x").changes(&encoder).is_err());
    let nan: Counterfactual = toml::from_str("set = { x = nan }").unwrap();
    assert!(nan.changes(&encoder).unwrap_err().to_string().contains("out of range"));
    // Expressions speak of the column of the table.
    let above = Expression::parse("x > 50").unwrap();
    let above = above.bind(&table, Some(&encoder), UnknownCategories::Reject).unwrap();
    assert_eq!(above.select(&table.all_rows()).len(), 154);
}

#[test]
fn a_set_to_a_number_puts_out_the_indicator_of_missing_cells() {
    let mut cells: Vec<String> = gains().iter().map(ToString::to_string).collect();
    cells[3] = String::new();
    let table = of(&cells);
    let encoder = fit(&table, "piecewise = true\nmissing = 'category'");
    let x = encoder.transform(&table, &[3]).unwrap();
    let change: Counterfactual = toml::from_str("set = { x = 0 }").unwrap();
    let shift = change.changes(&encoder).unwrap()[0].shift(&x).unwrap();
    let mut moved = x.row(0);
    shift.row(0).for_each(|(column, delta)| moved[column as usize] += delta);
    assert_eq!(moved[PIECES..], [1.0, 0.0]);
}

#[test]
fn extreme_numbers_are_encoded_or_refused_with_their_place() {
    let encoder = fit(&numbers([-1.7e308, 0.0, 1.7e308]), "piecewise = true");
    let x = encoder.transform(&numbers([-8.5e307, 8.5e307]), &[0, 1]).unwrap();
    assert_eq!([x.row(0), x.row(1)], [[0.5, 0.0], [1.0, 0.5]]);
    let tiny = fit(&numbers([0.0, 5e-324, 1e-323]), "piecewise = true");
    assert_eq!(tiny.transform(&numbers([5e-324]), &[0]).unwrap().row(0), [1.0, 0.0]);
}

#[test]
fn a_saved_encoder_that_cannot_be_is_refused() {
    let encoder = fit(&numbers((0..40).map(f64::from)), "piecewise = true");
    let good = encoder.to_json();
    assert_eq!(Encoder::from_json(&good).unwrap(), encoder);
    let with = |knots: &str, atoms: &str, missing: &str| {
        format!(
            r#"{{"unseen": "error", "variables": [{{"column": "x", "encoding": {{"piecewise":
               {{"knots": {knots}, "atoms": {atoms}, "missing": {missing}, "indicator": false}}}}}}]}}"#
        )
    };
    assert!(Encoder::from_json(&with("[0, 1]", "[0]", "null")).is_ok());
    for (knots, atoms, missing, message) in [
        ("[1, 0]", "[]", "null", "must ascend"),
        ("[0, 0]", "[]", "null", "must ascend"),
        ("[0]", "[]", "null", "two knots"),
        ("[]", "[]", "null", "two knots"),
        ("[0, 1]", "[2, 2]", "null", "must ascend"),
        ("[0, null]", "[]", "null", "f64"),
        ("[0, 1e999]", "[]", "null", "out of range"),
        ("[0, NaN]", "[]", "null", "expected"),
    ] {
        let error = Encoder::from_json(&with(knots, atoms, missing)).unwrap_err().to_string();
        assert!(error.contains(message), "{knots} {atoms}: {error}");
    }
}

#[test]
fn quantile_bins_do_not_collapse_where_values_repeat() {
    let spec = Preprocessing {
        bin: [("x".to_string(), Bins::quantiles(16))].into(),
        piecewise: Piecewise::AUTO,
        ..Preprocessing::default()
    };
    let table = numbers(gains());
    let encoder = Encoder::fit(&table, &table.all_rows(), &spec, &[]).unwrap();
    assert_eq!(encoder.width(), 16);
    assert_eq!(encoder.names()[0], "x <= 0");
}

/// Values with ties, zeros and a long tail.
fn values() -> impl Strategy<Value = Vec<f64>> {
    let value = prop_oneof![
        3 => Just(0.0),
        2 => (-3_i32..3).prop_map(f64::from),
        3 => -1e3_f64..1e3,
        1 => (-30.0_f64..30.0).prop_map(|e| e.exp2()),
    ];
    prop::collection::vec(value, 2..120)
}

proptest! {
    #[test]
    fn columns_are_those_of_the_formula_in_f64(values in values()) {
        prop_assume!(values.iter().any(|x| *x != values[0]));
        let table = numbers(values.clone());
        let encoder = fit(&table, "piecewise = true");
        prop_assert_eq!(&Encoder::from_json(&encoder.to_json()).unwrap(), &encoder);
        let (knots, atoms) = parts(&encoder);
        prop_assert!(knots.len() <= PIECES + 1 || atoms.is_empty());
        for atom in &atoms {
            let rows = values.iter().filter(|x| *x == atom).count();
            prop_assert!(rows as f64 >= ATOM * values.len() as f64);
            prop_assert!(!knots.is_empty());
        }
        let x = encoder.transform(&table, &table.all_rows()).unwrap();
        for (row, &value) in values.iter().enumerate() {
            let mut expected: Vec<f64> = knots
                .windows(2)
                .map(|w| ((value - w[0]) / (w[1] - w[0])).clamp(0.0, 1.0))
                .collect();
            expected.extend(atoms.iter().map(|&atom| f64::from(u8::from(atom == value))));
            for (got, expected) in x.row(row).iter().zip(&expected) {
                // One rounding to f32 of a number between 0 and 1.
                prop_assert!((f64::from(*got) - expected).abs() <= f64::from(f32::EPSILON));
            }
        }
        // Different training values are told apart, unless f32 cannot.
        for (a, &at) in values.iter().enumerate() {
            for (b, &bt) in values.iter().enumerate().take(a) {
                let same = x.row(a) == x.row(b);
                prop_assert!(!same || (at - bt).abs() <= 1e-6 * (knots[knots.len() - 1] - knots[0]));
            }
        }
    }
}
