//! Copies within a table are told from rows that chance makes equal, and prove nothing.

use feasible_data::{Column, Table};
use feasible_problem::held_out::Copies;
use feasible_problem::{Plan, ProblemSource};

use crate::repeated::reused::{
    EXPORTS, FRESH_COPIES, PERCENTS, UNITS, WRITTEN, copied_afresh, in_units, reexported,
};
use crate::repeated::{BASES, CHANCE, WAYS, base, by_chance, stream};

fn depth() -> u64 {
    std::env::var("FEASIBLE_DEPTH").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

#[test]
fn rows_that_chance_makes_equal_are_no_copies() {
    for (kind, name) in CHANCE.iter().enumerate() {
        for trial in 0..6 * depth() {
            for (n, d) in [(100, 1), (300, 3), (1000, 6), (2000, 3), (1000, 10)] {
                let mut random = stream(700 + kind as u64, trial * 100_000 + (n * 20 + d) as u64);
                let table = by_chance(kind, n, d, &mut random);
                assert!(!table.has_copies(), "{name}, {n} rows, {d} columns, trial {trial}");
            }
        }
    }
}

#[test]
fn embedded_tables_have_no_copies_beyond_chance() {
    for set in ["adult", "compas"] {
        let source = ProblemSource::new("t.toml", format!("[data]\nsource = \"{set}\"\n"));
        let plan = Plan::check(&source).unwrap();
        assert!(plan.data().copies.is_none(), "{set}");
    }
}

#[test]
fn copies_are_found_however_they_came_about() {
    for (kind, name) in BASES.iter().enumerate().filter(|(kind, _)| *kind != 3) {
        for (way, how) in WAYS.iter().enumerate() {
            for trial in 0..2 * depth() {
                let mut random = stream(800 + kind as u64, trial * 10 + way as u64);
                let draft = base(kind, 1000, 0.1, &mut random);
                assert!(!draft.has_copies(), "{name}");
                assert!(draft.copied(way, &mut random).has_copies(), "{name}: {how}");
            }
        }
    }
}

#[test]
fn certificates_on_tables_with_copies_are_false_no_more_often_than_they_say() {
    // The distinct rows are independent draws: a count of 40 that is above 8 has a probability below 1/1,000.
    let tables = 40 * depth();
    for way in 0..WAYS.len() {
        let positive = if way < 2 { 0.1 } else { 0.5 };
        let is_false = |trial: &u64| {
            let mut random = stream(900 + way as u64, *trial);
            let draft = base(0, 400, positive, &mut random);
            draft.copied(way, &mut random).certificate_is_false(positive)
        };
        let wrong = (0..tables).filter(is_false).count() as u64;
        assert!(wrong <= tables / 5, "{}: {wrong} of {tables}", WAYS[way]);
    }
}

#[test]
fn certificates_on_rows_that_come_back_in_another_file_are_false_no_more_often_than_they_say() {
    let tables = 6 * depth();
    for (written, (columns, _)) in WRITTEN.iter().enumerate() {
        for (name, tallies) in EXPORTS.iter().zip(reexported(written, 20_000, tables)) {
            for (tally, percent) in tallies.iter().zip(PERCENTS) {
                let what = || format!("{name}, {columns}, {percent} %: {tally:?}");
                assert!(!tally.refutes(), "{}", what());
                // One column tells few rows apart.
                assert!(
                    percent == 0 || written == 2 || tally.certified <= tables / 3,
                    "{}",
                    what()
                );
                assert!(percent > 0 || tally.certified == tables, "{}", what());
            }
        }
    }
    for way in FRESH_COPIES {
        let tally = copied_afresh(way, 800, tables);
        assert!(!tally.refutes(), "{}: {tally:?}", WAYS[way]);
    }
}

#[test]
fn certificates_on_rows_in_units_are_false_no_more_often_than_they_say() {
    let tables = 8 * depth();
    for (kind, name) in UNITS.iter().enumerate() {
        let tally = in_units(kind, 700, tables);
        assert!(!tally.refutes(), "{name}: {tally:?}");
        // Persons under new names, and persons or rows that were trained on, are refused.
        let refused = [3, 5, 6].contains(&kind);
        assert_eq!(tally.certified, if refused { 0 } else { tables }, "{name}: {tally:?}");
    }
}

#[test]
fn a_fresh_number_for_every_row_hides_no_copy() {
    let mut random = stream(1, 1);
    let table = base(0, 300, 0.1, &mut random).copied(0, &mut random).table();
    let ids = (0..table.rows()).map(|row| 1000.0 + row as f64).collect();
    let columns = [&[Column::numbers("number", ids)], table.columns()].concat();
    let table = Table::new("t.csv", columns).unwrap();
    let plan = plan(table);
    assert!(plan.data().copies.is_some(), "{:?}", plan.data().notes);
}

fn plan(table: Table) -> Plan {
    let problem = ProblemSource::new("t.toml", "[data]\ntarget = \"y\"\npositive = \"v1\"\n");
    Plan::with_table(&problem, table).unwrap()
}

#[test]
fn copies_stay_in_one_part_and_are_judged_by_once() {
    let mut random = stream(1, 2);
    let plan = plan(base(0, 500, 0.5, &mut random).copied(2, &mut random).table());
    let data = plan.data();
    let copies = data.copies.as_ref().unwrap();
    let parts = [&data.split.train, &data.split.validation, &data.split.test];
    let firsts = parts.map(|rows| {
        rows.iter().map(|row| copies.first(*row)).collect::<std::collections::BTreeSet<u32>>()
    });
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        assert!(firsts[a].is_disjoint(&firsts[b]), "{a} {b}");
    }
    for at in [1, 2] {
        assert!(firsts[at].iter().eq(parts[at]), "a copy is judged by");
    }
    assert_eq!(firsts.iter().map(|firsts| firsts.len()).sum::<usize>(), 500);
    assert!(parts[0].len() > 2 * firsts[0].len(), "training rows lost their copies");
    let sentence = "equal an earlier row in every column that is used, more than chance explains";
    assert!(plan.describe().contains(sentence), "{}", plan.describe());
    // Folds of an average: every distinct row is judged by once, and by no model that has learned a copy of it.
    assert_eq!(plan.folds(), 5);
    let mut judged = Vec::new();
    for n in 0..5 {
        let fold = plan.fold(n).unwrap();
        let split = &fold.data().split;
        let learned: std::collections::BTreeSet<u32> =
            split.train.iter().map(|row| copies.first(*row)).collect();
        assert!(split.validation.iter().all(|row| !learned.contains(row)), "fold {n}");
        judged.extend(split.validation.clone());
        if n > 0 {
            // With all copies of the rows that are for validation in the first fold.
            let all = data.table.rows() - copies_of(copies, &data.split.test, data.table.rows());
            let own = copies_of(copies, &split.validation, data.table.rows());
            assert_eq!(split.train.len(), all - own);
        }
    }
    judged.sort_unstable();
    let expected: Vec<u32> = firsts[0].union(&firsts[1]).copied().collect();
    assert_eq!(judged, expected);
}

/// How many rows equal one of these.
fn copies_of(copies: &Copies, of: &[u32], rows: usize) -> usize {
    (0..rows as u32).filter(|row| of.binary_search(&copies.first(*row)).is_ok()).count()
}

#[test]
fn validation_rows_that_are_trained_on_are_refused() {
    let mut random = stream(1, 3);
    let table = base(0, 300, 0.5, &mut random).table();
    let rows = table.all_rows();
    let twice: Vec<u32> = [&rows[..], &rows[..60]].concat();
    let pick = |column: &Column| match &column.cells {
        feasible_data::Cells::Numbers(x) => {
            let values = twice.iter().map(|row| x.get(*row as usize)).collect();
            Column::numbers(&column.name, values)
        }
        feasible_data::Cells::Categories(x) => {
            Column::categories(&column.name, twice.iter().map(|row| x.get(*row as usize)))
        }
    };
    let part = |at: usize| Some(if at < 300 { "train" } else { "validation" });
    let mut columns: Vec<Column> = table.columns().iter().map(pick).collect();
    columns.push(Column::categories("part", (0..360).map(part)));
    let by = "split_by = { column = \"part\", train = [\"train\"], validation = [\"validation\"] }";
    let problem = format!("[data]\ntarget = \"y\"\npositive = \"v1\"\n{by}\n");
    let problem = ProblemSource::new("t.toml", problem);
    let error = Plan::with_table(&problem, Table::new("t", columns).unwrap()).unwrap_err();
    assert!(
        error.to_string().contains("60 of the 60 validation rows equal training rows"),
        "{error}"
    );
}
