//! The data sets in the crate are what they claim to be, and encode as the paper says.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use feasible::Targets;
use feasible_data::{
    DataSet, Encoder, Encoding, Expression, TargetEncoder, UnknownCategories, samples,
};
use sha2::{Digest, Sha256};

fn edges(encoder: &Encoder, column: &str) -> Vec<f64> {
    match &encoder.variable(column).unwrap().0.encoding {
        Encoding::Bins { edges, .. } => edges.clone(),
        other => panic!("{column} is {other:?}"),
    }
}

fn widths(encoder: &Encoder) -> Vec<(&str, usize)> {
    encoder.variables().iter().map(|v| (v.column.as_str(), v.width())).collect()
}

#[test]
fn the_embedded_bytes_are_those_of_data_md() {
    for part in DataSet::all().iter().flat_map(|set| set.parts) {
        let digest: String =
            Sha256::digest(part.bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, part.sha256, "{}", part.file);
        assert!(include_str!("../DATA.md").contains(&digest), "{}", part.file);
    }
}

#[test]
fn every_row_is_there() {
    for set in DataSet::all() {
        for (part, table) in set.parts.iter().zip(set.tables().unwrap()) {
            assert_eq!(table.rows(), part.rows, "{}", part.file);
        }
    }
    let (table, split) = DataSet::adult().load().unwrap();
    assert_eq!((table.rows(), table.columns().len()), (48_842, 15));
    assert_eq!((split.train.len(), split.test.len()), (32_561, 16_281));
    assert_eq!(table.origin(32_561), ("adult-test.csv.zst", 2));
}

#[test]
fn compas_has_6172_rows_within_30_days_and_no_names() {
    let compas = DataSet::compas();
    let (table, split) = compas.load().unwrap();
    let within = Expression::parse(compas.keep.unwrap()).unwrap();
    let filter = within.bind(&table, None, UnknownCategories::Reject).unwrap();
    assert_eq!(filter.select(&table.all_rows()).len(), 6_172);
    assert_eq!((split.train.len(), split.test.len()), (4_937, 1_235));
    for column in table.columns() {
        assert!(!["name", "first", "last", "dob", "id"].contains(&column.name.as_str()));
    }
}

#[test]
fn adult_encodes_to_the_61_columns_of_the_paper() {
    let adult = DataSet::adult();
    let (table, split) = adult.load().unwrap();
    let target = TargetEncoder::fit(&table, &split.train, &adult.target).unwrap();
    let encoder =
        Encoder::fit(&table, &split.train, &adult.preprocessing, &[target.column()]).unwrap();
    assert_eq!(
        widths(&encoder),
        [
            ("age", 6),
            ("workclass", 9),
            ("education", 9),
            ("marital-status", 4),
            ("occupation", 15),
            ("race", 4),
            ("gender", 1),
            ("hours-per-week", 1),
            ("native-country", 12)
        ]
    );
    assert_eq!(encoder.width(), 61);
    assert_eq!(edges(&encoder, "age"), [24.0, 31.0, 37.0, 44.0, 52.0]);
    let names = encoder.names();
    for name in [
        "age <= 24",
        "age in (24, 31]",
        "age > 52",
        "gender = Male",
        "hours-per-week > 40",
        "race = Black",
        "workclass = ?",
        "native-country = US",
    ] {
        assert!(names.iter().any(|known| known == name), "{name} is not among {names:?}");
    }
    let train = samples(&table, &split.train, &encoder, &target).unwrap();
    let Targets::Classes(classes) = train.targets() else { panic!("income is a class") };
    assert_eq!(classes.iter().filter(|&&class| class == 1).count(), 7_841);
    let test = samples(&table, &split.test, &encoder, &target).unwrap();
    assert_eq!((test.len(), test.ids()[0]), (16_281, 32_561));
    // Row 0: 39, State-gov, Bachelors, Never-married, Adm-clerical, White, Male, 40, United-States.
    let on: Vec<&str> = train.inputs().hot(0).iter().map(|&c| names[c as usize].as_str()).collect();
    assert_eq!(
        on,
        [
            "age in (37, 44]",
            "workclass = State-gov",
            "education = Bachelors",
            "marital-status = Never-married",
            "occupation = Adm-clerical",
            "race = White",
            "gender = Male",
            "native-country = US"
        ]
    );
    assert_eq!(train.inputs().dense_columns(), [0_u32; 0]);
}

#[test]
fn adult_groups_are_as_large_as_in_the_reference() {
    // In the whole training set: married 47.3, non-white 14.6, Masters 5.3 %.
    let adult = DataSet::adult();
    let (table, split) = adult.load().unwrap();
    let encoder = Encoder::fit(&table, &split.train, &adult.preprocessing, &["income"]).unwrap();
    let share = |text: &str| {
        let expression = Expression::parse(text).unwrap();
        let filter = expression.bind(&table, Some(&encoder), UnknownCategories::Reject).unwrap();
        100.0 * filter.select(&split.train).len() as f64 / split.train.len() as f64
    };
    assert!((share("encoded(marital-status) == 'Married'") - 47.3).abs() < 0.05);
    assert!((share("race != 'White'") - 14.6).abs() < 0.05);
    assert!((share("education == 'Masters'") - 5.3).abs() < 0.05);
}

#[test]
fn compas_encodes_to_the_23_columns_of_the_paper() {
    let compas = DataSet::compas();
    let (table, split) = compas.load().unwrap();
    let fit = |rows: &[u32]| {
        Encoder::fit(&table, rows, &compas.preprocessing, &["two_year_recid"]).unwrap()
    };
    let encoder = fit(&split.train);
    assert_eq!(
        widths(&encoder),
        [
            ("sex", 1),
            ("age", 5),
            ("race", 4),
            ("juv_misd_count", 3),
            ("juv_other_count", 3),
            ("priors_count", 6),
            ("c_charge_degree", 1)
        ]
    );
    assert_eq!(encoder.width(), 23);
    assert_eq!(edges(&encoder, "age"), [24.0, 29.0, 34.0, 45.0]);
    assert_eq!(
        encoder.variable("race").unwrap().0.categories().unwrap(),
        ["African-American", "Caucasian", "Hispanic", "Other"]
    );
    assert!(encoder.names().contains(&"priors_count = more than 4".to_string()));
    // numpy.quantile of the ages of all 6,172 rows at 0.2, 0.4, 0.6, 0.8.
    let all = [split.train.clone(), split.test.clone()].concat();
    assert_eq!(edges(&fit(&all), "age"), [24.0, 29.0, 35.0, 45.0]);
}

#[test]
fn an_unknown_data_set_gets_a_suggestion() {
    let error = DataSet::named("adlt").unwrap_err();
    assert_eq!(error.to_string(), "no data set is named 'adlt': did you mean 'adult'?");
}

#[test]
fn the_distributors_files_read_like_the_embedded_ones() {
    // A piece of each original, in its own form.
    let dir = tempfile::tempdir().unwrap();
    let row = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, \
               White, Male, 2174, 0, 40, United-States, <=50K";
    std::fs::write(dir.path().join("adult.data"), format!("{row}\n\n")).unwrap();
    std::fs::write(dir.path().join("adult.test"), format!("|1x3 Cross validator\n{row}.\n\n"))
        .unwrap();
    let tables = DataSet::adult().tables_from(dir.path()).unwrap();
    let embedded = &DataSet::adult().tables().unwrap()[0];
    for table in &tables {
        assert_eq!(table.rows(), 1);
        for column in table.columns() {
            assert_eq!(column.text(0), embedded.column(&column.name).unwrap().text(0));
        }
    }
}
