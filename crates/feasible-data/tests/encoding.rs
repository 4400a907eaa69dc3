//! Encoders, targets, splits and counterfactuals on small tables worked out by hand.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use feasible::Targets;
use feasible_data::{
    Bins, ByColumn, Change, Column, Counterfactual, DataSet, Encoder, Error, Format, Fractions,
    Missing, Preprocessing, SetTo, Split, Standardise, Table, TargetEncoder, TargetSpec, Unseen,
    samples, samples_out,
};
use proptest::prelude::*;

fn table(csv: &str) -> Table {
    Table::from_bytes("t.csv", csv.as_bytes(), &Format::default()).unwrap()
}

fn fit(table: &Table, spec: &Preprocessing) -> Result<Encoder, Error> {
    Encoder::fit(table, &table.all_rows(), spec, &[])
}

#[test]
fn numbers_are_standardised_with_training_rows_only() {
    let table = table("a\n1\n3\n100\n");
    let encoder = Encoder::fit(&table, &[0, 1], &Preprocessing::default(), &[]).unwrap();
    let x = encoder.transform(&table, &[0, 1, 2]).unwrap();
    // Mean 2, standard deviation 1 of the first two rows.
    assert_eq!([x.row(0)[0], x.row(1)[0], x.row(2)[0]], [-1.0, 1.0, 98.0]);
}

#[test]
fn standardise_can_be_off_or_for_some() {
    let table = table("a,b\n1,1\n3,3\n");
    let spec = Preprocessing {
        standardise: Standardise::Only(vec!["b".into()]),
        ..Preprocessing::default()
    };
    assert_eq!(fit(&table, &spec).unwrap().transform(&table, &[1]).unwrap().row(0), [3.0, 1.0]);
    let spec: Preprocessing = toml::from_str("standardise = false").unwrap();
    assert_eq!(fit(&table, &spec).unwrap().transform(&table, &[1]).unwrap().row(0), [3.0, 3.0]);
}

#[test]
fn missing_cells_become_a_category_or_are_imputed() {
    let table = table("n,c,b\n1,x,1\n,x,2\n4,,\n7,y,9\n");
    let bin = [("b".to_string(), Bins::edges(&[5.0]))];
    let category =
        Preprocessing { missing: Missing::Category, bin: bin.clone().into(), ..Default::default() };
    let encoder = fit(&table, &category).unwrap();
    assert_eq!(
        encoder.names(),
        ["n", "n is missing", "c = x", "c = y", "c is missing", "b <= 5", "b > 5", "b is missing"]
    );
    let x = encoder.transform(&table, &[1, 2]).unwrap();
    assert_eq!(x.row(0), [0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(x.row(1), [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    let impute = Preprocessing {
        missing: Missing::Impute,
        bin: bin.into(),
        standardise: Standardise::All(false),
        ..Default::default()
    };
    let encoder = fit(&table, &impute).unwrap();
    let x = encoder.transform(&table, &[1, 2]).unwrap();
    // The median of 1, 4, 7 is 4; x is the most frequent category; b <= 5 the most frequent bin.
    assert_eq!((x.row(0), x.row(1)), (vec![4.0, 0.0, 0.0], vec![4.0, 0.0, 0.0]));
}

#[test]
fn a_cell_may_be_missing_that_no_training_row_lacks() {
    let table = table("n,c,two,b,d\n1,x,u,1,2024-01-01\n3,y,u,9,2024-01-11\n5,z,v,2,2024-03-11\n");
    let bin = [("b".to_string(), Bins::edges(&[5.0]))];
    let spec = Preprocessing { missing: Missing::Category, bin: bin.into(), ..Default::default() };
    let encoder = fit(&table, &spec).unwrap();
    let new = self::table("n,c,two,b,d\n1,x,u,1,2024-01-01\n,,,,\n");
    for unseen in [Unseen::Error, Unseen::Other] {
        let x = encoder.clone().with_unseen(unseen).transform(&new, &[1]).unwrap().row(0);
        // The mean; no category; of two categories the more frequent one; the mean date, at no time of the year.
        assert!(x.iter().all(|&x| x == 0.0), "{x:?}, {:?}", encoder.names());
    }
}

#[test]
fn categories_can_be_grouped_declared_and_gathered_when_rare() {
    let table = table("c\nb\nb\na\nd\ne\n");
    let spec: Preprocessing = toml::from_str(
        "[group.c]\nvowel = ['a', 'e']\n[categories]\nc = ['vowel', 'd', 'b', 'z']\n",
    )
    .unwrap();
    let names = fit(&table, &spec).unwrap().names();
    assert_eq!(names, ["c = vowel", "c = d", "c = b", "c = z"]);
    let rare = Preprocessing { rare: 2, ..Preprocessing::default() };
    let encoder = fit(&table, &rare).unwrap();
    assert_eq!(encoder.variables()[0].categories().unwrap(), ["(other)", "b"]);
}

#[test]
fn numbers_can_be_categories() {
    let table = table("c\n10\n9\n9\n2.5\n");
    let spec: Preprocessing = toml::from_str("categorical = ['c']").unwrap();
    assert_eq!(fit(&table, &spec).unwrap().names(), ["c = 2.5", "c = 9", "c = 10"]);
}

#[test]
fn columns_can_be_listed_in_an_order() {
    let table = table("a,b,c\n1,2,3\n4,5,6\n");
    let spec: Preprocessing = toml::from_str("columns = ['c', 'a']").unwrap();
    assert_eq!(fit(&table, &spec).unwrap().names(), ["c", "a"]);
}

#[test]
fn mistakes_in_the_steps_are_explained() {
    let table = table("a,c\n1,x\n2,y\n3,z\n");
    for (spec, part) in [
        ("drop = ['d']", "no column 'd'"),
        ("drop = ['a']\nbin = { a = { quantiles = 2 } }", "not used"),
        ("columns = ['c']\ncategorical = ['a']", "not listed in `columns`"),
        ("columns = ['c', 'c']", "listed twice"),
        ("bin = { c = { quantiles = 2 } }", "`bin` needs numbers"),
        ("standardise = ['c']", "`standardise` needs numbers"),
        ("bin = { a = { quantiles = 2, edges = [1] } }", "either quantiles or edges"),
        ("bin = { a = { edges = [2, 1] } }", "ascending"),
        ("bin = { a = { quantiles = 1 } }", "2 to 1000"),
        ("bin = { a = { edges = [1], labels = ['low'] } }", "1 labels for 2 bins"),
        ("bin = { a = { edges = [1], labels = ['low', 'low'] } }", "twice"),
        ("bin = { a = { quantiles = 2 } }\nstandardise = ['a']", "choose one"),
        ("group = { c = { v = ['x', 'q'] } }", "no category 'q'"),
        ("group = { c = { v = ['x'], w = ['x'] } }", "in both 'v' and 'w'"),
        ("group = { c = { z = ['x'] } }", "'z' is also a category"),
        ("categories = { c = ['x', 'y'] }", "no category 'z'"),
        ("drop = ['a', 'c']", "no column is left"),
    ] {
        let spec: Preprocessing = toml::from_str(spec).unwrap();
        let message = fit(&table, &spec).unwrap_err().to_string();
        assert!(message.contains(part), "{spec:?}: {message}");
    }
    assert!(toml::from_str::<Preprocessing>("dorp = []").is_err());
    assert!(Encoder::fit(&table, &[], &Preprocessing::default(), &[]).is_err());
}

#[test]
fn a_column_of_the_wrong_kind_at_prediction_is_explained() {
    let train = table("a\n1\n2\n");
    let encoder = fit(&train, &Preprocessing::default()).unwrap();
    let new = table("a\n1\nlots\n");
    let message = encoder.transform(&new, &[0]).unwrap_err().to_string();
    assert!(message.contains("because of 'lots' on line 3"), "{message}");
    assert!(encoder.transform(&table("b\n1\n"), &[0]).is_err());
    assert!(encoder.transform(&train, &[9]).is_err());
}

#[test]
fn a_saved_encoder_is_equal_and_a_damaged_one_refused() {
    let table = table("a,b,c\n0.1,1,x\n0.7,2,y\n0.30000000000000004,30,z\n");
    let spec = Preprocessing {
        bin: [("b".to_string(), Bins::quantiles(2))].into(),
        ..Preprocessing::default()
    };
    let encoder = fit(&table, &spec).unwrap();
    let json = encoder.to_json();
    assert_eq!(Encoder::from_json(&json).unwrap(), encoder);
    for (from, to) in [
        ("\"x\",", ""),
        ("\"usual\": \"x\"", "\"usual\": \"w\""),
        ("\"column\": \"a\"", "\"column\": \"b\""),
        ("\"unseen\"", "\"unsen\""),
        ("{", ""),
    ] {
        let damaged = json.replacen(from, to, 1);
        assert!(Encoder::from_json(&damaged).is_err(), "{damaged}");
    }
}

#[test]
fn several_targets_are_numbers_with_deviations_of_the_training_rows() {
    let csv = b"x,y,z,word\n1,10,5,a\n3,10,7,b\n100,200,9,a\n2,,1,b\n";
    let table = Table::from_bytes("t.csv", csv, &Format::default()).unwrap();
    let fit = |spec: TargetSpec| TargetEncoder::fit(&table, &[0, 1], &spec);
    let and = |names: &[&str]| {
        let others: Vec<String> = names.iter().map(ToString::to_string).collect();
        TargetSpec::new("x").and(&others)
    };
    let target = fit(and(&["y", "z"])).unwrap();
    assert_eq!(target.columns(), ["x", "y", "z"]);
    let of = target.coordinates();
    // y does not change in these rows.
    assert_eq!(of.iter().map(|of| of.deviation).collect::<Vec<_>>(), [1.0, 1.0, 1.0]);
    let Targets::Vectors(y) = target.transform(&table, &[2, 0]).unwrap() else { panic!("vectors") };
    assert_eq!((y.row(0), y.row(1)), (&[100.0, 200.0, 9.0][..], &[1.0, 10.0, 5.0][..]));
    let missing = target.transform(&table, &[3]).unwrap_err().to_string();
    assert!(missing.contains("'y'") && missing.contains("5"), "{missing}");
    for (spec, message) in [
        (and(&["word"]), "column 'word'"),
        (and(&["y", "x"]), "it is named twice"),
        (and(&["y"]).positive("1"), "each is a number"),
    ] {
        let found = fit(spec).unwrap_err().to_string();
        assert!(found.contains(message), "{found}");
    }
    assert!(target.check().is_ok());
    let wide = TargetEncoder::fit(&table, &[0, 2], &and(&["z"])).unwrap();
    assert_eq!(wide.coordinates()[0].deviation, 49.5);
}

#[test]
fn targets_are_classes_or_numbers() {
    let table = table("two,three,number,word\n0,b,1.5,no\n1,a,2.5,yes\n0,c,9,no\n");
    let rows = table.all_rows();
    let targets = |spec: &TargetSpec| {
        TargetEncoder::fit(&table, &rows, spec).unwrap().transform(&table, &rows).unwrap()
    };
    assert_eq!(targets(&TargetSpec::new("two")), Targets::Classes(vec![0, 1, 0]));
    assert_eq!(targets(&TargetSpec::new("two").positive("0")), Targets::Classes(vec![1, 0, 1]));
    assert_eq!(targets(&TargetSpec::new("three")), Targets::Classes(vec![1, 0, 2]));
    assert_eq!(targets(&TargetSpec::new("number")), Targets::Values(vec![1.5, 2.5, 9.0]));
    let grouped: TargetSpec =
        toml::from_str("column = 'three'\npositive = 'a'\ngroup = { rest = ['b', 'c'] }").unwrap();
    assert_eq!(targets(&grouped), Targets::Classes(vec![0, 1, 0]));
    let fit = |spec: TargetSpec| TargetEncoder::fit(&table, &rows, &spec);
    assert!(fit(TargetSpec::new("three").positive("a")).is_err());
    assert!(fit(TargetSpec::new("wrd")).unwrap_err().to_string().contains("'word'"));
}

#[test]
fn a_class_or_value_missing_is_refused_with_its_place() {
    let train = table("y\na\nb\n");
    let target = TargetEncoder::fit(&train, &[0, 1], &TargetSpec::new("y")).unwrap();
    let new = table("y,x\nc,1\n,2\n");
    let message = |row| target.transform(&new, &[row]).unwrap_err().to_string();
    assert!(message(0).starts_with("t.csv, line 2, column 'y': class 'c' does not occur"));
    assert!(message(1).starts_with("t.csv, line 3, column 'y': the target is missing"));
}

#[test]
fn a_split_is_the_same_for_a_seed_and_its_parts_are_disjoint() {
    let rows: Vec<u32> = (0..100).collect();
    let fractions =
        Fractions { train: 0.7, validation: 0.1, test: 0.2, seed: 3, ..Fractions::default() };
    let split = Split::by_fraction(&rows, &fractions).unwrap();
    assert_eq!(split, Split::by_fraction(&rows, &fractions).unwrap());
    assert_eq!((split.train.len(), split.validation.len(), split.test.len()), (70, 10, 20));
    let mut all = [split.train.clone(), split.validation, split.test].concat();
    all.sort_unstable();
    assert_eq!(all, rows);
    // Written down, so that a change of generator is noticed.
    assert_eq!(split.train[..8], [0, 1, 2, 3, 6, 7, 8, 10]);
    let other = Split::by_fraction(&rows, &Fractions { seed: 4, ..fractions }).unwrap();
    assert_ne!(other.train, split.train);
}

#[test]
fn impossible_fractions_are_refused() {
    for (train, test) in [(0.8, 0.3), (-0.1, 0.5), (f64::NAN, 0.5), (0.0, 0.5), (0.9, 0.01)] {
        let fractions = Fractions { train, test, ..Fractions::default() };
        assert!(Split::by_fraction(&[0, 1, 2], &fractions).is_err(), "{train} {test}");
    }
}

#[test]
fn a_column_can_say_which_part_a_row_is_in() {
    let table = table("part\nlearn\njudge\nlearn\nspare\n");
    let by: ByColumn =
        toml::from_str("column = 'part'\ntrain = ['learn']\ntest = ['judge']").unwrap();
    let split = Split::by_column(&table, &table.all_rows(), &by).unwrap();
    assert_eq!((split.train, split.validation, split.test), (vec![0, 2], vec![], vec![1]));
    for wrong in [
        "column = 'part'\ntrain = ['lern']",
        "column = 'part'\ntest = ['judge']",
        "column = 'part'\ntrain = ['learn']\ntest = ['learn']",
    ] {
        let by: ByColumn = toml::from_str(wrong).unwrap();
        assert!(Split::by_column(&table, &table.all_rows(), &by).is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn a_stratified_split_has_the_right_sizes_and_shares(
        categories in prop::collection::vec(0..4_u8, 30..300),
        train in 0.1..0.6_f64, validation in 0.1..0.2_f64, seed in any::<u64>(),
    ) {
        let column: Vec<f64> = categories.iter().map(|&category| f64::from(category)).collect();
        let table = Table::new("t", vec![Column::numbers("c", column)]).unwrap();
        let rows = table.all_rows();
        let stratify = Some("c".to_string());
        let fractions = Fractions { train, validation, test: 0.2, seed, stratify };
        let split = Split::stratified(&table, &rows, &fractions).unwrap();
        let plain = Split::by_fraction(&rows, &fractions).unwrap();
        prop_assert_eq!(split.train.len(), plain.train.len());
        prop_assert_eq!(split.validation.len(), plain.validation.len());
        prop_assert_eq!(split.test.len(), plain.test.len());
        for category in 0..4_u8 {
            let of = |rows: &[u32]| rows.iter().filter(|&&r| categories[r as usize] == category).count() as f64;
            for part in [&split.train, &split.validation, &split.test] {
                let due = of(&rows) * part.len() as f64 / rows.len() as f64;
                prop_assert!((of(part) - due).abs() < 2.0, "{} against {}", of(part), due);
            }
        }
    }
}

fn moved(change: &Change, x: &feasible::Inputs, row: usize) -> Vec<f32> {
    let shift = change.shift(x).unwrap();
    let mut out = x.row(row);
    shift.row(row).for_each(|(column, delta)| out[column as usize] += delta);
    out
}

fn people() -> (Table, Encoder) {
    let table = table("sex,race,age,pay\nM,a,20,1\nF,b,30,3\nF,c,50,1\n");
    let spec: Preprocessing = toml::from_str("bin = { age = { edges = [25, 40] } }").unwrap();
    let encoder = fit(&table, &spec).unwrap();
    assert_eq!(encoder.names()[0], "sex = M");
    (table, encoder)
}

#[test]
fn swaps_exchange_two_categories_and_leave_others_alone() {
    let (table, encoder) = people();
    let x = encoder.transform(&table, &[0, 1, 2]).unwrap();
    let change = &Counterfactual::swap("race", "a", "b").changes(&encoder).unwrap()[0];
    assert_eq!(change.name(), "a ↔ b");
    assert_eq!(moved(change, &x, 0)[1..4], [0.0, 1.0, 0.0]);
    assert_eq!(moved(change, &x, 1)[1..4], [1.0, 0.0, 0.0]);
    assert_eq!(moved(change, &x, 2), x.row(2));
    assert!(change.shift(&x).unwrap().is_identity(2));
    let flip = &Counterfactual::pairs("sex").changes(&encoder).unwrap()[0];
    assert_eq!((flip.name(), flip.columns()), ("M ↔ F", ["sex".to_string()].as_slice()));
    assert_eq!([moved(flip, &x, 0)[0], moved(flip, &x, 1)[0]], [0.0, 1.0]);
}

#[test]
fn columns_are_set_to_categories_bins_and_numbers() {
    let (table, encoder) = people();
    let x = encoder.transform(&table, &[0, 1, 2]).unwrap();
    let spec: Counterfactual =
        toml::from_str("set = { sex = 'M', age = 33, pay = 3 }\nswap = { race = ['a', 'c'] }")
            .unwrap();
    assert_eq!(spec.set["age"], SetTo::Number(33.0));
    let changes = spec.changes(&encoder).unwrap();
    assert_eq!(changes[0].name(), "sex := M × a ↔ c × age := (25, 40] × pay := 3");
    let out = moved(&changes[0], &x, 2);
    assert_eq!(out[..7], [1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    // x + (ρ(x) − x) is ρ(x) up to the rounding of one sum of two f32.
    let pay = encoder.transform(&table, &[1]).unwrap().row(0)[7];
    assert!((out[7] - pay).abs() <= 2.0 * f32::EPSILON, "{} against {pay}", out[7]);
}

#[test]
fn compas_has_its_13_counterfactuals_in_order() {
    let compas = DataSet::compas();
    let (table, split) = compas.load().unwrap();
    let encoder =
        Encoder::fit(&table, &split.train, &compas.preprocessing, &["two_year_recid"]).unwrap();
    let mut names = Vec::new();
    for counterfactual in &compas.counterfactuals {
        let changes = counterfactual.changes(&encoder).unwrap();
        names.extend(changes.iter().map(|change| change.name().to_string()));
    }
    let pairs = [
        "African-American ↔ Caucasian",
        "African-American ↔ Hispanic",
        "African-American ↔ Other",
        "Caucasian ↔ Hispanic",
        "Caucasian ↔ Other",
        "Hispanic ↔ Other",
    ];
    let mut expected = vec!["Male ↔ Female".to_string()];
    expected.extend(pairs.map(String::from));
    expected.extend(pairs.map(|pair| format!("Male ↔ Female × {pair}")));
    assert_eq!(names, expected);
}

#[test]
fn every_swap_undoes_itself() {
    let compas = DataSet::compas();
    let (table, split) = compas.load().unwrap();
    let target = TargetEncoder::fit(&table, &split.train, &compas.target).unwrap();
    let encoder =
        Encoder::fit(&table, &split.train, &compas.preprocessing, &[target.column()]).unwrap();
    let train = samples(&table, &split.train, &encoder, &target).unwrap();
    for counterfactual in &compas.counterfactuals {
        for change in counterfactual.changes(&encoder).unwrap() {
            let rows: Vec<f32> = (0..200).flat_map(|r| moved_rows(&change, &train, r)).collect();
            let once = feasible::Inputs::new(rows, encoder.width()).unwrap();
            for row in (0..200).step_by(7) {
                assert_eq!(moved(&change, &once, row), train.inputs().row(row));
            }
        }
    }
}

fn moved_rows(change: &Change, samples: &feasible::Samples, row: usize) -> Vec<f32> {
    moved(change, samples.inputs(), row)
}

#[test]
fn mistakes_in_counterfactuals_are_explained() {
    let table = table("sex,race,pay\nM,a,1\nF,b,2\nF,c,4\nF,d,4\n");
    let spec: Preprocessing = toml::from_str("group = { race = { cd = ['c', 'd'] } }").unwrap();
    let encoder = fit(&table, &spec).unwrap();
    for (text, part) in [
        ("", "give swap, set, pairs or crosses"),
        ("pairs = 'race'\nset = { sex = 'M' }", "only one of"),
        ("pairs = 'pay'", "is a number"),
        ("pairs = 'rase'", "did you mean 'race'?"),
        ("swap = { race = ['a', 'c'] }", "grouped into 'cd'"),
        ("swap = { race = ['a', 'a'] }", "with itself"),
        ("swap = { pay = ['1', '2'] }", "a number"),
        ("crosses = ['sex']", "two columns"),
        ("crosses = ['sex', 'sex']", "crossed with itself"),
        ("swap = { sex = ['M', 'F'] }\nset = { sex = 'M' }", "both swapped and set"),
    ] {
        let spec: Counterfactual = toml::from_str(text).unwrap();
        let message = spec.changes(&encoder).unwrap_err().to_string();
        assert!(message.contains(part), "{text}: {message}");
    }
    let change = &Counterfactual::pairs("sex").changes(&encoder).unwrap()[0];
    assert!(change.shift(&feasible::Inputs::new(vec![1.0, 0.0], 2).unwrap()).is_err());
}

#[test]
fn concatenated_tables_keep_their_rows_categories_and_lines() {
    let a = Table::from_bytes("a.csv", b"x,c\n1,q\n2,p\n", &Format::default()).unwrap();
    let b = Table::from_bytes("b.csv", b"c,x\nr,3\np,\n", &Format::default()).unwrap();
    let (both, ranges) = Table::concat("both", vec![a.clone(), b]).unwrap();
    assert_eq!(ranges, [0..2, 2..4]);
    let c: Vec<_> = (0..4).map(|row| both.column("c").unwrap().text(row).unwrap()).collect();
    assert_eq!(c, ["q", "p", "r", "p"]);
    assert_eq!(both.column("x").unwrap().missing(), 1);
    assert_eq!(both.origin(2), ("b.csv", 2));
    for other in [b"x,c\nword,p\n".as_slice(), b"x,c,d\n1,p,2\n", b"x\n1\n"] {
        let other = Table::from_bytes("b.csv", other, &Format::default()).unwrap();
        assert!(Table::concat("both", vec![a.clone(), other]).is_err());
    }
}

#[test]
fn a_table_let_go_while_it_is_encoded_gives_the_same_samples() {
    // Three blocks of rows, so that some are let go before others are read.
    let n = 300_000;
    let word = |i: usize| ["a", "b", "c", "d"][i * 7 % 4];
    let mut csv = String::from("x,y,kept,unused,target\n");
    for i in 0..n {
        let missing = if i % 1000 == 3 { String::new() } else { format!("{}.5", i % 77) };
        csv += &format!("{missing},{},{},{i},{}\n", word(i), word(i / 3), i % 2);
    }
    let mut table = table(&csv);
    let spec: Preprocessing = toml::from_str("missing = 'impute'\ndrop = ['unused']").unwrap();
    let fractions = Fractions { train: 0.7, test: 0.3, ..Fractions::default() };
    let split = Split::by_fraction(&table.all_rows(), &fractions).unwrap();
    let target = TargetEncoder::fit(&table, &split.train, &TargetSpec::new("target")).unwrap();
    let encoder = Encoder::fit(&table, &split.train, &spec, &["target"]).unwrap();
    let parts = [&split.train[..], &split.test[..]];
    let whole = parts.map(|rows| samples(&table, rows, &encoder, &target).unwrap());
    let kept = table.column("kept").unwrap().clone();
    let keep = |name: &str| name == "kept";
    let out = samples_out(&mut table, &parts, &encoder, &target, &keep).unwrap();
    assert_eq!(out, whole);
    assert_eq!(table.column("kept").unwrap(), &kept);
    assert_eq!(table.taken().len(), 4);
    let error = table.column("x").unwrap_err().to_string();
    assert!(error.contains("column 'x' of t.csv was freed"), "{error}");
    let error = encoder.transform_out(&mut table, &[&[1, 0]], &keep).unwrap_err().to_string();
    assert!(error.contains("ascend"), "{error}");
}
