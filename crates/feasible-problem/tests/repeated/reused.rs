//! Training rows that come back in another file, and rows that come in units, for a model that knows by heart what it was trained on.

use feasible::certificate::{Count, Delta, Method, Values};
use feasible::stream::Stream;
use feasible_data::{Column, Table};
use feasible_problem::held_out::HeldOut;
use feasible_problem::held_out::fingerprints::units;
use feasible_problem::{Fingerprints, Plan, ProblemSource};

use super::{Draft, base, below, coin, normal};

/// How a table is written again, its rows in another order.
pub const EXPORTS: [&str; 7] = [
    "as they were",
    "single precision",
    "6 digits",
    "4 digits",
    "3 digits",
    "plus 1e-9",
    "the columns that are used",
];

/// Which of the [bases](super::BASES) are written again: with many columns, with two, and with one.
pub const WRITTEN: [(&str, &[usize]); 3] =
    [("4 or more columns", &[0, 2, 6]), ("2 columns", &[5, 7]), ("1 column", &[4])];

/// How the rows of a new file that are all fresh are copied: the last four of the [ways](super::WAYS).
pub const FRESH_COPIES: std::ops::Range<usize> = 2..6;

/// How rows come in units.
pub const UNITS: [&str; 7] = [
    "1 to 8 rows a person",
    "the same, each row 1 to 5 times",
    "persons drawn with replacement",
    "the same, under new names",
    "new file: other persons",
    "new file: other rows of the persons trained on",
    "new file: rows trained on, under new names, 6 digits",
];

/// Tables of one kind, and what came of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub tables: u64,
    /// With a certificate, and how many of these hold only if the rows are new, as they say.
    pub certified: u64,
    pub on_condition: u64,
    /// With a bound on the wrong side of the truth, without that condition and with it.
    pub wrong: u64,
    pub wrong_on_condition: u64,
}

impl Tally {
    fn add(&mut self, outcome: Option<(bool, HeldOut)>) {
        self.tables += 1;
        let Some((is_false, held_out)) = outcome else { return };
        let condition = matches!(held_out, HeldOut::Explained { .. } | HeldOut::CannotTell { .. });
        self.certified += 1;
        self.on_condition += u64::from(condition);
        self.wrong += u64::from(is_false && !condition);
        self.wrong_on_condition += u64::from(is_false && condition);
    }

    pub fn and(self, other: Self) -> Self {
        Self {
            tables: self.tables + other.tables,
            certified: self.certified + other.certified,
            on_condition: self.on_condition + other.on_condition,
            wrong: self.wrong + other.wrong,
            wrong_on_condition: self.wrong_on_condition + other.wrong_on_condition,
        }
    }

    /// Whether as many false certificates would come about less than once in a million if each had probability 5 %.
    pub fn refutes(&self) -> bool {
        Count::new(self.wrong, self.tables).unwrap().ln_p_at_most(0.05) < 1e-6f64.ln()
    }
}

/// Which share of a table's rows was trained on, in %.
pub const PERCENTS: [usize; 4] = [100, 50, 10, 0];

/// New files of every [export](EXPORTS), with every [share](PERCENTS) of rows that were trained on.
pub fn reexported(written: usize, salt: u64, tables: u64) -> Vec<[Tally; 4]> {
    let mut tallies = vec![[Tally::default(); 4]; EXPORTS.len()];
    let bases = WRITTEN[written].1;
    for trial in 0..tables {
        let mut random = super::stream(salt + written as u64, trial);
        let run = Run::of(bases[trial as usize % bases.len()], &mut random);
        for (export, tallies) in tallies.iter_mut().enumerate() {
            for (tally, percent) in tallies.iter_mut().zip(PERCENTS) {
                tally.add(run.judge_reused(export, percent, &mut random));
            }
        }
    }
    tallies
}

/// Tables of fresh rows with copies among them.
pub fn copied_afresh(way: usize, salt: u64, tables: u64) -> Tally {
    let mut tally = Tally::default();
    for trial in 0..tables {
        let mut random = super::stream(salt + way as u64, trial);
        let kind = (trial % 3) as usize;
        let run = Run::of(kind, &mut random);
        let file = base(kind, 300, 0.5, &mut random).copied(way, &mut random);
        let known = vec![false; file.rows.len()];
        tally.add(run.judge(&file, &known, &named_table(&file, 10_000)));
    }
    tally
}

/// A training on 500 rows whose target is a coin.
struct Run {
    kind: usize,
    prints: Fingerprints,
    /// The rows that it used.
    used: Draft,
}

impl Run {
    fn of(kind: usize, random: &mut Stream) -> Self {
        let draft = base(kind, 500, 0.5, random);
        let problem = "[data]\ntarget = \"y\"\npositive = \"v1\"\ndrop = [\"id\", \"region\"]\n[model]\nkind = \"linear\"\n";
        let problem = ProblemSource::new("t.toml", problem);
        let plan = Plan::with_table(&problem, named_table(&draft, 0)).unwrap();
        let split = &plan.data().split;
        let used = [&split.train[..], &split.validation].concat();
        let prints = plan.fingerprints().into_owned();
        Self { kind, prints, used: draft.only(&used) }
    }

    /// Judges 300 rows as a new file.
    fn judge_reused(
        &self,
        export: usize,
        percent: usize,
        random: &mut Stream,
    ) -> Option<(bool, HeldOut)> {
        let old = 3 * percent;
        let mut order: Vec<u32> = (0..self.used.rows.len() as u32).collect();
        random.shuffle(&mut order);
        let mut file = self.used.only(&order[..old]);
        file.rows.extend(base(self.kind, 300, 0.5, random).rows.split_off(old));
        let mut order: Vec<u32> = (0..300).collect();
        random.shuffle(&mut order);
        let known: Vec<bool> = order.iter().map(|&at| (at as usize) < old).collect();
        let file = file.only(&order).written(export);
        let table = match export {
            6 => file.table(),
            _ => named_table(&file, 10_000),
        };
        self.judge(&file, &known, &table)
    }

    /// What `certify` does with a new file: the certificate of a model that is right about what it knows and says 0 of all others, and
    /// whether it is false; `None` if it is refused.
    fn judge(&self, file: &Draft, known: &[bool], table: &Table) -> Option<(bool, HeldOut)> {
        let once = self.prints.once(table, &table.all_rows()).ok()?;
        let held_out = self.prints.compare_rows(table, &once.rows, "t.csv").ok()?;
        let error = |row: &u32| {
            let row = *row as usize;
            !known[row] && file.rows[row].last() == Some(&1.0)
        };
        let error = Count::of(once.rows.iter().map(error)).unwrap();
        Some((error.upper(Delta::new(0.05).unwrap()) < 0.5, held_out))
    }
}

/// With a number for every row, from `first` on, and a region: columns that the model does not use.
fn named_table(draft: &Draft, first: usize) -> Table {
    let rows = draft.rows.len();
    let ids: Vec<String> = (first..first + rows).map(|at| format!("p{at}")).collect();
    let region = |row: usize| Some(["north", "south"][(first + row) * 7919 % 31 % 2]);
    let mut columns = vec![
        Column::categories("id", ids.iter().map(|id| Some(id.as_str()))),
        Column::categories("region", (0..rows).map(region)),
    ];
    columns.extend(draft.table().columns().iter().cloned());
    Table::new("t.csv", columns).unwrap()
}

impl Draft {
    fn only(&self, rows: &[u32]) -> Self {
        let rows = rows.iter().map(|&row| self.rows[row as usize].clone()).collect();
        Self { rows, numeric: self.numeric.clone() }
    }

    /// Its numbers as one of the [exports](EXPORTS) has them.
    fn written(mut self, export: usize) -> Self {
        let digits = |x: f64, digits: usize| format!("{x:.*e}", digits - 1).parse().unwrap();
        let write = |x: f64| match export {
            1 => f64::from(x as f32),
            2 => digits(x, 6),
            3 => digits(x, 4),
            4 => digits(x, 3),
            5 => x + 1e-9,
            _ => x,
        };
        for row in &mut self.rows {
            for (x, _) in row.iter_mut().zip(&self.numeric).filter(|(_, numeric)| **numeric) {
                *x = write(*x);
            }
        }
        self
    }
}

/// Rows of persons: their names, and a number that a person keeps, one that changes with the row, and a coin that the person keeps.
struct Persons {
    of: Vec<u32>,
    rows: Draft,
}

impl Persons {
    fn draw(persons: u32, random: &mut Stream) -> Self {
        let (mut of, mut rows) = (Vec::new(), Vec::new());
        for person in 0..persons {
            let (own, y) = (normal(random), coin(random, 0.5));
            for _ in 0..1 + below(random, 8) {
                of.push(person);
                rows.push(vec![own, normal(random), y]);
            }
        }
        Self { of, rows: Draft { rows, numeric: vec![true, true, false] } }
    }

    fn only(&self, rows: &[u32]) -> Self {
        let of = rows.iter().map(|&row| self.of[row as usize]).collect();
        Self { of, rows: self.rows.only(rows) }
    }

    /// As many persons as there are, drawn with replacement; each draw has a name of its own if `renamed`.
    fn drawn_again(&self, renamed: bool, random: &mut Stream) -> Self {
        let persons = self.of.iter().max().unwrap() + 1;
        let (mut chosen, mut of) = (Vec::new(), Vec::new());
        for name in 0..persons {
            let person = random.below(persons);
            let rows = (0..self.of.len()).filter(|&row| self.of[row] == person);
            for row in rows {
                chosen.push(row as u32);
                of.push(if renamed { name } else { person });
            }
        }
        Self { of, rows: self.rows.only(&chosen) }
    }

    fn table(&self, names: &str) -> Table {
        let of: Vec<String> = self.of.iter().map(|person| format!("{names}{person}")).collect();
        let mut columns = vec![Column::categories("person", of.iter().map(|of| Some(of.as_str())))];
        columns.extend(self.rows.table().columns().iter().cloned());
        Table::new("t.csv", columns).unwrap()
    }

    /// Whether the certificate by person is false, of a model that is right about the persons it `knows`.
    fn is_false(&self, table: &Table, rows: &[u32], knows: impl Fn(u32) -> bool) -> bool {
        let names = units(table, rows, "person").unwrap();
        let mut errors = vec![(0.0, 0.0); names.iter().max().map_or(0, |last| *last as usize + 1)];
        for (&row, &name) in rows.iter().zip(&names) {
            let is_one = self.rows.rows[row as usize].last() == Some(&1.0);
            let (sum, count) = &mut errors[name as usize];
            *sum += f64::from(u8::from(is_one && !knows(row)));
            *count += 1.0;
        }
        let means = errors.into_iter().map(|(sum, count)| sum / count).collect();
        let means = Values::new(means, 1.0).unwrap().shuffled(0);
        means.upper(Method::Betting, Delta::new(0.05).unwrap()) < 0.5
    }
}

/// Tables of rows in units, of which the problem file names the column.
pub fn in_units(kind: usize, salt: u64, tables: u64) -> Tally {
    let mut tally = Tally::default();
    for trial in 0..tables {
        tally.add(judge_units(kind, &mut super::stream(salt + kind as u64, trial)));
    }
    tally
}

fn judge_units(kind: usize, random: &mut Stream) -> Option<(bool, HeldOut)> {
    let persons = Persons::draw(300, random);
    let persons = match kind {
        1 => {
            let times = (0..persons.of.len()).map(|row| (row as u32, 1 + below(random, 5)));
            let mut rows: Vec<u32> =
                times.flat_map(|(row, times)| std::iter::repeat_n(row, times)).collect();
            random.shuffle(&mut rows);
            persons.only(&rows)
        }
        2 | 3 => persons.drawn_again(kind == 3, random),
        _ => persons,
    };
    let problem = "[data]\ntarget = \"y\"\npositive = \"v1\"\n[model]\nkind = \"linear\"\n[certify]\nunit = \"person\"\nreserve = 0.3\n";
    let problem = ProblemSource::new("t.toml", problem);
    let table = persons.table("p");
    let plan = match Plan::with_table(&problem, table.clone()) {
        Ok(plan) => plan,
        Err(error) => {
            assert!(error.to_string().contains("have the rows of another unit"), "{error}");
            return None;
        }
    };
    let split = &plan.data().split;
    let used = [&split.train[..], &split.validation].concat();
    if kind < 4 {
        let (once, held_out) =
            plan.judge_held_out(&plan.data().reserve_rows, Some("person")).ok()?;
        // A person is what it keeps, whatever its name.
        let own = |row: u32| persons.rows.rows[row as usize][0].to_bits();
        let known: std::collections::BTreeSet<u64> = used.iter().map(|row| own(*row)).collect();
        return Some((
            persons.is_false(&table, &once.rows, |row| known.contains(&own(row))),
            held_out,
        ));
    }
    let prints = plan.fingerprints();
    let (file, names) = match kind {
        4 => (Persons::draw(100, random), "q"),
        5 => {
            let mut file = persons.only(&used);
            for row in &mut file.rows.rows {
                row[1] = normal(random);
            }
            (file, "p")
        }
        _ => {
            let mut file = persons.only(&used);
            file.rows = file.rows.written(2);
            (file, "q")
        }
    };
    let table = file.table(names);
    let rows = table.all_rows();
    prints.compare_units(&table, &rows, "person").ok()?;
    let held_out = prints.compare_rows(&table, &rows, "t.csv").ok()?;
    Some((file.is_false(&table, &rows, |_| kind > 4), held_out))
}
