//! What a column to predict is taken for: classes or a number.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use feasible_data::{Column, Error, Format, Table, TargetEncoder, TargetSpec, Task};

fn decide(values: &[f64], spec: &TargetSpec) -> (Task, Option<String>) {
    let table = Table::new("t", vec![Column::numbers("y", values.to_vec())]).unwrap();
    spec.decide(&table, &table.all_rows()).unwrap()
}

/// The values 0, 1, …, each `times` times.
fn labels(count: usize, times: usize) -> Vec<f64> {
    (0..count * times).map(|i| (i % count) as f64).collect()
}

#[test]
fn few_whole_numbers_in_enough_rows_are_classes_and_that_is_said() {
    for count in [3, 10] {
        let (task, note) = decide(&labels(count, 5), &TargetSpec::new("y"));
        assert_eq!(task, Task::Classify);
        assert!(note.unwrap().contains("are taken for classes; task = \"regress\""));
    }
    let minus_one_and_seven = [-1.0, 7.0, 3.0].repeat(5);
    assert_eq!(decide(&minus_one_and_seven, &TargetSpec::new("y")).0, Task::Classify);
}

#[test]
fn two_numbers_are_classes_without_a_word() {
    assert_eq!(decide(&[0.0, 1.0], &TargetSpec::new("y")), (Task::Classify, None));
    assert_eq!(decide(&[0.5, 1.5, 0.5], &TargetSpec::new("y")), (Task::Classify, None));
}

#[test]
fn many_or_thin_whole_numbers_are_a_number_and_that_is_said() {
    let (task, note) = decide(&labels(11, 50), &TargetSpec::new("y"));
    assert_eq!(task, Task::Regress);
    assert!(
        note.unwrap()
            .contains("its 11 whole numbers are predicted as a number; task = \"classify\"")
    );
    let mut children = labels(3, 40);
    children.push(8.0);
    let (task, note) = decide(&children, &TargetSpec::new("y"));
    assert_eq!(task, Task::Regress);
    assert!(note.unwrap().contains("because 8 is in one row only"));
}

#[test]
fn real_numbers_and_long_counts_are_numbers_without_a_word() {
    let real = [1.0, 2.0, 2.5].repeat(20);
    assert_eq!(decide(&real, &TargetSpec::new("y")), (Task::Regress, None));
    assert_eq!(decide(&labels(60, 9), &TargetSpec::new("y")), (Task::Regress, None));
}

#[test]
fn what_is_asked_for_is_not_decided() {
    for task in [Task::Classify, Task::Regress] {
        let spec = TargetSpec { task: Some(task), ..TargetSpec::new("y") };
        assert_eq!(decide(&labels(4, 9), &spec), (task, None));
    }
}

#[test]
fn missing_targets_are_no_value_to_count() {
    let values = [0.0, 1.0, f64::NAN].repeat(9);
    assert_eq!(decide(&values, &TargetSpec::new("y")), (Task::Classify, None));
}

#[test]
fn the_positive_label_of_numbers_may_be_written_with_decimals() {
    let table = Table::new("t", vec![Column::numbers("y", vec![1.0, 3.0])]).unwrap();
    for label in ["3", "3.0", "3e0"] {
        let spec = TargetSpec::new("y").positive(label);
        let target = TargetEncoder::fit(&table, &[0, 1], &spec).unwrap();
        assert_eq!(target.classes().unwrap(), ["1", "3"]);
    }
    let spec = TargetSpec::new("y").positive("1");
    let target = TargetEncoder::fit(&table, &[0, 1], &spec).unwrap();
    assert_eq!(target.classes().unwrap(), ["3", "1"]);
    let spec = TargetSpec::new("y").positive("2");
    let error = TargetEncoder::fit(&table, &[0, 1], &spec).unwrap_err();
    assert!(matches!(error, Error::UnknownCategory { .. }), "{error}");
}

#[test]
fn text_that_looks_like_a_number_is_compared_as_text() {
    let csv = b"y\n3.0\nno\n";
    let table = Table::from_bytes("t.csv", csv, &Format::default()).unwrap();
    let fit = |label| TargetEncoder::fit(&table, &[0, 1], &TargetSpec::new("y").positive(label));
    assert!(fit("3.0").is_ok() && fit("3").is_err());
}

/// What fitting one or several targets says, each of 400 rows.
fn fit_numbers(columns: &[(&str, Vec<f64>)]) -> Result<TargetEncoder, String> {
    let of = |(name, values): &(&str, Vec<f64>)| Column::numbers(name, values.clone());
    let table = Table::new("t", columns.iter().map(of).collect()).unwrap();
    let others: Vec<String> = columns[1..].iter().map(|(name, _)| name.to_string()).collect();
    let spec = TargetSpec { task: Some(Task::Regress), ..TargetSpec::new(columns[0].0) };
    TargetEncoder::fit(&table, &table.all_rows(), &spec.and(&others)).map_err(|e| e.to_string())
}

/// Numbers with mean `offset` and a standard deviation near `spread`.
fn around(offset: f64, spread: f64) -> Vec<f64> {
    (0..400).map(|i| offset + spread * (f64::from(i * 37 % 400) - 199.5) / 115.0).collect()
}

#[test]
fn numbers_that_single_precision_would_change_are_refused_with_what_to_subtract() {
    let message = fit_numbers(&[("y", around(1e12, 1.0))]).unwrap_err();
    assert!(message.contains("target 'y'"), "{message}");
    assert!(message.contains("about 1e12 and differ by about 1 "), "{message}");
    assert!(message.contains("for example 1000000000000,"), "{message}");
    let message = fit_numbers(&[("y", around(-1.7e9, 1.0))]).unwrap_err();
    assert!(message.contains("for example -1700000000,"), "{message}");
    let message = fit_numbers(&[("y", around(5.0, 1e-12))]).unwrap_err();
    assert!(message.contains("for example 5,"), "{message}");
    let message = fit_numbers(&[("x", around(0.0, 1.0)), ("y", around(1e12, 1.0))]).unwrap_err();
    assert!(message.contains("target 'y'"), "{message}");
    // Rounded by a thousandth of the deviation, and what is larger only because it is spread as far.
    assert!(fit_numbers(&[("y", around(16e3, 1.0))]).is_ok());
    assert!(fit_numbers(&[("y", around(17e3, 1.0))]).is_err());
    assert!(fit_numbers(&[("y", around(1e12, 1e11))]).is_ok());
    let mut heavy = around(0.0, 1.0);
    heavy[0] = 1e30;
    assert!(fit_numbers(&[("y", heavy)]).is_ok());
}

#[test]
fn a_number_that_never_changes_is_refused_as_a_class_is() {
    let message = fit_numbers(&[("y", vec![5.0; 9])]).unwrap_err();
    let expected = "target 'y' is always '5' in the training rows: there is nothing to learn";
    assert_eq!(message, expected);
    assert!(fit_numbers(&[("y", vec![0.1; 9])]).is_err());
    let never = vec![2.5; 400];
    assert!(fit_numbers(&[("x", never.clone()), ("y", never.clone())]).is_err());
    assert!(fit_numbers(&[("x", never), ("y", around(0.0, 1.0))]).is_ok());
}

/// What is said of the target `y` of a table with these cells.
fn of_text(cells: impl Iterator<Item = String>, spec: &TargetSpec) -> Result<Task, String> {
    let rows: String = cells.map(|cell| format!("\"{cell}\"\n")).collect();
    let csv = format!("y\n{rows}");
    let table = Table::from_bytes("t.csv", csv.as_bytes(), &Format::default()).unwrap();
    let (task, _) = spec.decide(&table, &table.all_rows()).map_err(|e| e.to_string())?;
    let spec = TargetSpec { task: Some(task), ..spec.clone() };
    let fitted = TargetEncoder::fit(&table, &table.all_rows(), &spec);
    fitted.map(|_| task).map_err(|e| e.to_string())
}

#[test]
fn numbers_that_are_written_with_signs_are_not_taken_for_classes() {
    let y = TargetSpec::new("y");
    let dollars = || (0..40).map(|i| format!("${},{}00.50", i + 1, i % 9 + 1));
    let message = of_text(dollars(), &y).unwrap_err();
    assert!(message.starts_with("t.csv, line 2, column 'y': '$1,100.50' is a number"), "{message}");
    assert!(message.contains("written with '$', ','") && message.contains("thousands = "));
    let regress = TargetSpec { task: Some(Task::Regress), ..y.clone() };
    assert_eq!(of_text(dollars(), &regress).unwrap_err(), message);
    let classify = TargetSpec { task: Some(Task::Classify), ..y.clone() };
    assert_eq!(of_text(dollars(), &classify), Ok(Task::Classify));
    assert!(of_text((0..40).map(|i| format!("{i} %")), &y).unwrap_err().contains("with '%'"));
    // Few, or not numbers but for that.
    assert_eq!(of_text((0..40).map(|i| format!("{} %", i % 4)), &y), Ok(Task::Classify));
    assert_eq!(of_text((0..40).map(|i| format!("${i}-${}", i + 1)), &y), Ok(Task::Classify));
}

#[test]
fn a_numeric_target_with_a_bad_cell_names_it() {
    let cells = || (0..200).map(|i| if i == 150 { "abc".into() } else { format!("{i}.25") });
    let y = TargetSpec::new("y");
    for task in [None, Some(Task::Regress)] {
        let message = of_text(cells(), &TargetSpec { task, ..y.clone() }).unwrap_err();
        assert!(
            message.starts_with("t.csv, line 152, column 'y': 'abc' is no number"),
            "{message}"
        );
    }
}

#[test]
fn a_positive_class_in_no_training_row_is_said_to_be_in_others() {
    let csv = b"y\nno\nno\nyes\n";
    let table = Table::from_bytes("t.csv", csv, &Format::default()).unwrap();
    let fit =
        |spec: TargetSpec| TargetEncoder::fit(&table, &[0, 1], &spec).unwrap_err().to_string();
    let message = fit(TargetSpec::new("y").positive("yes"));
    assert!(message.contains("'yes' of column 'y' does not occur in the 2 training rows"));
    assert!(message.contains("stratify = \"y\"") && message.contains("another seed"), "{message}");
    let grouped = "column = 'y'\npositive = 'good'\ngroup = { good = ['yes'] }";
    assert!(fit(toml::from_str(grouped).unwrap()).contains("'good' of column 'y' does not occur"));
    assert!(fit(TargetSpec::new("y").positive("ye")).contains("has no category 'ye'"));
}
