//! The rows of a table by the groups of a column, or of two.

use std::collections::BTreeMap;

use feasible_data::{Cells, Column, Numbers};
use feasible_problem::text::short;

/// Categories that are groups of their own; the smaller ones share a group.
const MOST: usize = 24;
/// Numbers with no more values than this are categories where no requirement cuts them.
const FEW: usize = 10;
/// Training rows by which the others are cut into quarters.
const SAMPLED: usize = 100_000;

/// Which group each row belongs to.
pub(super) struct Grouping {
    /// The column, or both.
    pub(super) columns: Vec<String>,
    names: Vec<String>,
    /// The group of each row.
    codes: Vec<u32>,
}

impl Grouping {
    /// Of some rows of a column: one group for each category; numbers are cut where `cuts` says, or else at their values if
    /// they are few, or into quarters of the training rows.
    pub(super) fn of(column: &Column, rows: &[u32], train: &[u32], cuts: &[(f64, bool)]) -> Self {
        let (names, codes) = match &column.cells {
            Cells::Categories(categories) => {
                let code = |&row: &u32| categories.codes.get(row as usize);
                of_codes(rows.iter().map(code).collect(), &categories.names)
            }
            Cells::Numbers(numbers) if cuts.is_empty() => by_value(numbers, rows, train),
            Cells::Numbers(numbers) => by_cuts(numbers, rows, cuts),
        };
        Self { columns: vec![column.name.clone()], names, codes }
    }

    /// The groups of both.
    pub(super) fn crossed(&self, other: &Self) -> Self {
        let width = other.names.len() as u32;
        let pair = |(a, b): (&u32, &u32)| a * width + b;
        let codes = self.codes.iter().zip(&other.codes).map(pair).collect();
        let names = self.names.iter();
        let names = names.flat_map(|a| other.names.iter().map(move |b| format!("{a}, {b}")));
        let columns = [&self.columns[..], &other.columns].concat();
        Self { columns, names: names.collect(), codes }
    }

    /// The groups that have rows, and which.
    pub(super) fn members(&self) -> Vec<(String, Vec<u32>)> {
        let mut members: Vec<(String, Vec<u32>)> =
            self.names.iter().map(|name| (name.clone(), Vec::new())).collect();
        for (row, &code) in self.codes.iter().enumerate() {
            members[code as usize].1.push(row as u32);
        }
        members.retain(|(_, rows)| !rows.is_empty());
        members
    }
}

/// Categories by number, those beyond the names missing. The smallest share a group if there are many.
fn of_codes(mut codes: Vec<u32>, names: &[String]) -> (Vec<String>, Vec<u32>) {
    let mut counts = vec![0_usize; names.len()];
    let mut missing = false;
    for &code in &codes {
        match counts.get_mut(code as usize) {
            Some(count) => *count += 1,
            None => missing = true,
        }
    }
    let mut order: Vec<usize> = (0..names.len()).filter(|&at| counts[at] > 0).collect();
    // Stable: of equals the first.
    order.sort_by_key(|&at| std::cmp::Reverse(counts[at]));
    let others = order.split_off(order.len().min(MOST));
    order.sort_unstable();
    let mut kept: Vec<String> = order.iter().map(|&at| names[at].clone()).collect();
    let mut place = vec![order.len() as u32; names.len()];
    order.iter().enumerate().for_each(|(to, &from)| place[from] = to as u32);
    match others.len() {
        0 => {}
        1 => kept.push(names[others[0]].clone()),
        n => kept.push(format!("{n} other categories")),
    }
    let last = kept.len() as u32;
    if missing {
        kept.push("missing".into());
    }
    for code in &mut codes {
        *code = place.get(*code as usize).copied().unwrap_or(last);
    }
    (kept, codes)
}

/// Numbers cut at some of them: (65, false) puts 65 above the cut.
fn by_cuts(numbers: &Numbers, rows: &[u32], cuts: &[(f64, bool)]) -> (Vec<String>, Vec<u32>) {
    let mut cuts: Vec<(f64, bool)> = cuts.to_vec();
    cuts.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    cuts.dedup();
    let code = |&row: &u32| {
        let x = numbers.get(row as usize);
        match x.is_nan() {
            true => cuts.len() as u32 + 1,
            false => cuts.partition_point(|&(c, below)| x > c || x == c && !below) as u32,
        }
    };
    let codes: Vec<u32> = rows.iter().map(code).collect();
    let name = |at: usize| {
        let from = at.checked_sub(1).map(|at| cuts[at]);
        match (from, cuts.get(at)) {
            (Some((a, false)), Some(&(b, true))) if a == b => format!("= {}", short(a)),
            (None, Some(&(b, below))) => format!("{} {}", if below { "≤" } else { "<" }, short(b)),
            (Some((a, below)), None) => format!("{} {}", if below { ">" } else { "≥" }, short(a)),
            (Some((a, open)), Some(&(b, closed))) => {
                let (first, last) = (if open { ">" } else { "≥" }, if closed { "≤" } else { "<" });
                format!("{first} {} and {last} {}", short(a), short(b))
            }
            (None, None) => "all".into(),
        }
    };
    let mut names: Vec<String> = (0..=cuts.len()).map(name).collect();
    names.push("missing".into());
    (names, codes)
}

/// Numbers by their values if these are few, or else cut into quarters.
fn by_value(numbers: &Numbers, rows: &[u32], train: &[u32]) -> (Vec<String>, Vec<u32>) {
    let key = |x: f64| (x + 0.0).to_bits();
    let mut values: BTreeMap<u64, f64> = BTreeMap::new();
    for &row in rows {
        let x = numbers.get(row as usize);
        if !x.is_nan() && values.len() <= FEW {
            values.insert(key(x), x + 0.0);
        }
    }
    if values.len() <= FEW {
        let mut values: Vec<f64> = values.into_values().collect();
        values.sort_by(f64::total_cmp);
        let code = |&row: &u32| {
            let x = numbers.get(row as usize);
            values.iter().position(|value| *value == x).unwrap_or(values.len()) as u32
        };
        let codes = rows.iter().map(code).collect();
        let mut names: Vec<String> = values.iter().map(|x| format!("= {}", short(*x))).collect();
        names.push("missing".into());
        return (names, codes);
    }
    let step = (train.len() / SAMPLED).max(1);
    let known = train.iter().step_by(step).map(|&row| numbers.get(row as usize));
    let mut known: Vec<f64> = known.filter(|x| !x.is_nan()).collect();
    known.sort_by(f64::total_cmp);
    let quarter = |at: usize| known.get(at * known.len() / 4).copied();
    let cuts: Vec<(f64, bool)> = (1..4).filter_map(quarter).map(|c| (c, true)).collect();
    by_cuts(numbers, rows, &cuts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(column: &Column, cuts: &[(f64, bool)]) -> Vec<(String, Vec<u32>)> {
        let rows: Vec<u32> = (0..column.len() as u32).collect();
        Grouping::of(column, &rows, &rows, cuts).members()
    }

    #[test]
    fn numbers_are_cut_where_an_expression_cuts_them() {
        let age = Column::numbers("age", vec![17.0, 18.0, 64.0, 65.0, f64::NAN]);
        let named = |rows: &[u32], name: &str| (name.to_string(), rows.to_vec());
        // age >= 18 and age <= 64.
        let cut = groups(&age, &[(64.0, true), (18.0, false), (18.0, false)]);
        let expected = [
            named(&[0], "< 18"),
            named(&[1, 2], "≥ 18 and ≤ 64"),
            named(&[3], "> 64"),
            named(&[4], "missing"),
        ];
        assert_eq!(cut, expected);
        // age == 18.
        let cut = groups(&age, &[(18.0, false), (18.0, true)]);
        assert_eq!(cut[1], named(&[1], "= 18"));
        assert_eq!(cut[2], named(&[2, 3], "> 18"));
    }

    #[test]
    fn numbers_that_nothing_cuts_are_values_or_quarters() {
        let bits = Column::numbers("bit", vec![1.0, 0.0, -0.0, 1.0]);
        assert_eq!(groups(&bits, &[]), [("= 0".into(), vec![1, 2]), ("= 1".into(), vec![0, 3])]);
        let many = Column::numbers("x", (0..100).map(f64::from).collect());
        let quarters = groups(&many, &[]);
        assert_eq!(quarters.len(), 4);
        assert_eq!(quarters[0].0, "≤ 25");
        assert_eq!(quarters[3].1.len(), 24);
    }

    #[test]
    fn the_smallest_of_many_categories_share_a_group_and_missing_cells_have_their_own() {
        let names: Vec<String> = (0..30).map(|n| format!("c{n:02}")).collect();
        let mut cells: Vec<Option<&str>> = names.iter().map(|name| Some(name.as_str())).collect();
        cells.extend([Some("c07"), Some("c29"), None]);
        let found = groups(&Column::categories("c", cells), &[]);
        assert_eq!(found.len(), MOST + 2);
        assert_eq!(found[MOST].0, "6 other categories");
        assert_eq!(found[MOST].1.len(), 6);
        assert!(found.iter().any(|(name, rows)| name == "c29" && rows.len() == 2));
        assert_eq!(found[MOST + 1], ("missing".to_string(), vec![32]));
    }

    #[test]
    fn crossed_groups_are_those_of_both() {
        let rows = [0, 1, 2];
        let sex = Column::categories("sex", [Some("f"), Some("m"), Some("f")]);
        let old = Column::numbers("age", vec![70.0, 20.0, 30.0]);
        let sex = Grouping::of(&sex, &rows, &rows, &[]);
        let old = Grouping::of(&old, &rows, &rows, &[(65.0, false)]);
        let both = sex.crossed(&old);
        assert_eq!(both.columns, ["sex", "age"]);
        let named = |name: &str, row: u32| (name.to_string(), vec![row]);
        assert_eq!(both.members(), [named("f, < 65", 2), named("f, ≥ 65", 0), named("m, < 65", 1)]);
    }
}
