//! Tables whose rows are equal by chance, tables that hold copies, and what a model that knows its rows by heart seems worth on them.
#![allow(dead_code, reason = "the test and the example use a part each")]

pub mod reused;

use std::collections::BTreeSet;

use feasible::certificate::{Count, Delta};
use feasible::stream::{Purpose, Stream};
use feasible_data::{Column, Table};
use feasible_problem::held_out::Copies;
use feasible_problem::{Plan, ProblemSource};

/// Cells as numbers; whether a column is numeric, or its numbers name categories. The last column is the target.
#[derive(Clone, Debug)]
pub struct Draft {
    rows: Vec<Vec<f64>>,
    numeric: Vec<bool>,
}

/// Draws a row.
type DrawRow = Box<dyn FnMut(&mut Stream) -> Vec<f64>>;

/// Tables of independent rows.
pub const CHANCE: [&str; 14] = [
    "categories, uniform",
    "categories by Zipf's law",
    "numbers by Zipf's law",
    "latent classes",
    "a chain, its parity",
    "rounded numbers and their functions",
    "ages, hours, counts",
    "sparse counts",
    "truth tables",
    "prices with lumps",
    "profiles among noise",
    "one factor, rounded",
    "blocks of pixels",
    "answers on five levels",
];

/// Tables that are drawn row by row, and then copied.
pub const BASES: [&str; 8] = [
    "4 numbers",
    "4 numbers, 2 decimals",
    "5 categories, a number",
    "6 columns of 5 to 60 values",
    "1 number",
    "2 numbers, 3 decimals",
    "12 numbers of several sizes",
    "2 numbers, one far from 0",
];

/// How rows are copied.
pub const WAYS: [&str; 6] = [
    "rare class × 5",
    "rare class × 20",
    "each 1 to 5 times",
    "bootstrap",
    "given twice",
    "3 % copied",
];

pub fn stream(salt: u64, trial: u64) -> Stream {
    Stream::new(salt, Purpose::View, trial, 1)
}

fn normal(random: &mut Stream) -> f64 {
    let (u, v) = (1.0 - random.uniform(), random.uniform());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn rounded(x: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    (x * scale).round() / scale
}

fn below(random: &mut Stream, n: usize) -> usize {
    random.below(n as u32) as usize
}

fn coin(random: &mut Stream, p: f64) -> f64 {
    f64::from(u8::from(random.uniform() < p))
}

/// i with a probability proportional to i⁻ᵃ.
fn zipf(random: &mut Stream, k: usize, a: f64) -> f64 {
    let weight = |i: usize| (i as f64).powf(-a);
    let mut left = random.uniform() * (1..=k).map(weight).sum::<f64>();
    for i in 1..=k {
        left -= weight(i);
        if left <= 0.0 {
            return i as f64;
        }
    }
    k as f64
}

/// A table of one of the [kinds](CHANCE) of chance, of about `d` columns.
pub fn by_chance(kind: usize, n: usize, d: usize, random: &mut Stream) -> Draft {
    let half = random.uniform() < 0.5;
    let mut numeric = half;
    let mut draw: DrawRow = match kind {
        0 => {
            numeric = false;
            let sizes: Vec<usize> = (0..d).map(|_| 2 + below(random, 9)).collect();
            Box::new(move |random| sizes.iter().map(|&k| below(random, k) as f64).collect())
        }
        1 | 2 => {
            numeric = kind == 2;
            let size = |random: &mut Stream| [2, 3, 5, 10, 30, 100, 300][below(random, 7)];
            let law: Vec<(usize, f64)> =
                (0..d).map(|_| (size(random), 2.0 * random.uniform())).collect();
            Box::new(move |random| law.iter().map(|&(k, a)| zipf(random, k, a)).collect())
        }
        3 => {
            let noise = 0.5 * random.uniform();
            let sizes: Vec<usize> = (0..d).map(|_| 2 + below(random, 6)).collect();
            let classes = 2 + below(random, 20);
            let class = |random: &mut Stream| -> Vec<usize> {
                sizes.iter().map(|&k| below(random, k)).collect()
            };
            let classes: Vec<Vec<usize>> = (0..classes).map(|_| class(random)).collect();
            Box::new(move |random| {
                let class = &classes[zipf(random, classes.len(), 1.0) as usize - 1];
                let cells = class.iter().zip(&sizes);
                let cell = |(&own, &k): (&usize, &usize)| match random.uniform() < noise {
                    true => below(random, k) as f64,
                    false => own as f64,
                };
                cells.map(cell).collect()
            })
        }
        4 => {
            let (k, stays) = (2 + below(random, 5), random.uniform());
            Box::new(move |random| {
                let mut row = vec![below(random, k) as f64];
                for at in 1..d {
                    let new = below(random, k) as f64;
                    row.push(if random.uniform() < stays { row[at - 1] } else { new });
                }
                row.push(row.iter().sum::<f64>() % 2.0);
                row
            })
        }
        5 => {
            numeric = true;
            let (decimals, noisy) = (below(random, 3) as i32, random.uniform() < 0.5);
            let width = 1 + below(random, d.min(3));
            Box::new(move |random| {
                let mut row: Vec<f64> =
                    (0..width).map(|_| rounded(normal(random), decimals)).collect();
                let x = row[0];
                if half {
                    row.extend([rounded(x * x, 4), (3.0 * x).sin()]);
                }
                row.push(if noisy { coin(random, 0.5) } else { f64::from(u8::from(x > 0.0)) });
                row
            })
        }
        6 => {
            numeric = true;
            Box::new(move |random| {
                let age = 17.0 + (random.uniform() * random.uniform() * 70.0).floor();
                let other = 10.0 * (1 + below(random, 7)) as f64;
                let hours = if random.uniform() < 0.5 { 40.0 } else { other };
                let mut row = vec![age, hours];
                for at in 2..d {
                    let count = zipf(random, 5 + at, 1.0);
                    row.push(if random.uniform() < 0.9 { 0.0 } else { count });
                }
                row.push(coin(random, 0.5));
                row
            })
        }
        7 => {
            numeric = true;
            Box::new(move |random| {
                let busy = 0.3 * random.uniform() * random.uniform() * random.uniform();
                let word = |random: &mut Stream| zipf(random, 4, 1.5);
                (0..3 * d).map(|_| coin(random, busy) * word(random)).collect()
            })
        }
        8 => {
            let (k, salt) = (2 + below(random, 4), random.bits());
            Box::new(move |random| {
                let mut row: Vec<f64> = (0..d).map(|_| below(random, k) as f64).collect();
                let hash = row.iter().fold(salt, |hash, x| {
                    (hash ^ x.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
                });
                row.push((hash % 2) as f64);
                row
            })
        }
        9 => {
            numeric = true;
            let none = random.uniform();
            Box::new(move |random| {
                let price = [0.99, 1.99, 4.99, 9.99, 19.99][below(random, 5)];
                let gain = rounded((2.0 * normal(random) + 5.0).exp(), 2);
                let gain = if random.uniform() < none { 0.0 } else { gain };
                let price = price * (1 + below(random, 3)) as f64;
                vec![price, gain, below(random, 4) as f64, coin(random, 0.2)]
            })
        }
        10 => {
            numeric = false;
            let profile = move |random: &mut Stream| {
                (0..d).map(|_| below(random, 6) as f64).collect::<Vec<f64>>()
            };
            let profiles: Vec<Vec<f64>> = (0..30).map(|_| profile(random)).collect();
            Box::new(move |random| {
                let mut row = match random.uniform() < 0.33 {
                    true => profiles[below(random, 30)].clone(),
                    false => profile(random),
                };
                row.push(coin(random, 0.3));
                row
            })
        }
        11 => {
            numeric = true;
            let noise = [0.02, 0.1, 0.3][below(random, 3)];
            let decimals = below(random, 3) as i32;
            Box::new(move |random| {
                let z = normal(random);
                let cell =
                    |at: usize, e: f64| rounded(z * (1.0 + 0.3 * at as f64) + noise * e, decimals);
                let mut row: Vec<f64> = (0..d).map(|at| cell(at, normal(random))).collect();
                row.push(f64::from(u8::from(row.iter().sum::<f64>() > 0.0)));
                row
            })
        }
        12 => {
            numeric = true;
            Box::new(move |random| {
                let class = below(random, 3);
                let mut row: Vec<f64> = Vec::new();
                for at in 0..4 * d {
                    let level = 1.0 + below(random, 3) as f64;
                    row.push(if at / d == class { coin(random, 0.7) * level } else { 0.0 });
                }
                row.push(class as f64);
                row
            })
        }
        _ => {
            numeric = true;
            Box::new(move |random| {
                let z = normal(random);
                let answer = |e: f64| (3.0 + z + 0.5 * e).round().clamp(1.0, 5.0);
                let mut row: Vec<f64> = (0..2 * d).map(|_| answer(normal(random))).collect();
                row.push(f64::from(u8::from(z + normal(random) > 0.0)));
                row
            })
        }
    };
    let rows: Vec<Vec<f64>> = (0..n).map(|_| draw(random)).collect();
    let width = rows[0].len();
    Draft { rows, numeric: vec![numeric; width] }
}

/// A table of distinct rows, of one of the [bases](BASES); its target is 1 with probability `positive`, whatever its columns are.
pub fn base(kind: usize, n: usize, positive: f64, random: &mut Stream) -> Draft {
    let row = |random: &mut Stream| {
        let mut row: Vec<f64> = match kind {
            0 => (0..4).map(|_| normal(random)).collect(),
            1 => (0..4).map(|_| rounded(normal(random), 2)).collect(),
            2 => (0..5).map(|_| below(random, 4) as f64).chain([0.0]).collect::<Vec<f64>>(),
            3 => [60, 15, 7, 40, 40, 5].iter().map(|&k| below(random, k) as f64).collect(),
            4 => vec![normal(random)],
            6 => (0..12)
                .map(|at| 10f64.powi(at % 5 - 2) * (normal(random) + f64::from(at)))
                .collect(),
            7 => vec![normal(random), 100.0 + 20.0 * normal(random)],
            _ => (0..2).map(|_| rounded(normal(random), 3)).collect(),
        };
        if kind == 2 {
            row[5] = normal(random);
        }
        row.push(coin(random, positive));
        row
    };
    let rows: Vec<Vec<f64>> = (0..n).map(|_| row(random)).collect();
    let width = rows[0].len();
    let numeric = match kind {
        2 => (0..width).map(|at| at == 5).collect(),
        3 => (0..width).map(|at| at == 0 || at == 3).collect(),
        _ => (0..width).map(|at| at + 1 < width).collect(),
    };
    Draft { rows, numeric }
}

impl Draft {
    /// With rows copied in one of the [ways](WAYS), in random order.
    pub fn copied(&self, way: usize, random: &mut Stream) -> Self {
        let rows = &self.rows;
        let is_rare = |row: &Vec<f64>| row.last() == Some(&1.0);
        let mut chosen: Vec<u32> = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let times = match way {
                0 if is_rare(row) => 5,
                1 if is_rare(row) => 20,
                2 => 1 + below(random, 5),
                4 => 2,
                5 if at < rows.len() * 3 / 100 => 2,
                _ => 1,
            };
            chosen.extend(std::iter::repeat_n(at as u32, times));
        }
        if way == 3 {
            chosen = rows.iter().map(|_| below(random, rows.len()) as u32).collect();
        }
        random.shuffle(&mut chosen);
        let rows = chosen.iter().map(|&at| rows[at as usize].clone()).collect();
        Self { rows, numeric: self.numeric.clone() }
    }

    /// As a table: `y` is the target, `c0`, `c1` … the others.
    pub fn table(&self) -> Table {
        let width = self.numeric.len();
        let column = |at: usize| {
            let name = if at + 1 == width { "y".to_string() } else { format!("c{at}") };
            let values = || self.rows.iter().map(|row| row[at]);
            match self.numeric[at] {
                true => Column::numbers(&name, values().collect()),
                false => {
                    let cells: Vec<String> = values().map(|x| format!("v{x}")).collect();
                    Column::categories(&name, cells.iter().map(|cell| Some(cell.as_str())))
                }
            }
        };
        Table::new("t.csv", (0..width).map(column).collect()).unwrap()
    }

    /// Whether copies are found in it.
    pub fn has_copies(&self) -> bool {
        let table = self.table();
        let names: Vec<String> = table.columns().iter().map(|column| column.name.clone()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Copies::find(&table, &table.all_rows(), &names).is_some()
    }

    fn has_learned(&self, learned: &BTreeSet<Vec<u64>>, row: u32) -> bool {
        learned.contains(&self.bits(row))
    }

    fn bits(&self, row: u32) -> Vec<u64> {
        self.rows[row as usize].iter().map(|x| x.to_bits()).collect()
    }

    /// Whether the certificate of a model that is right about the rows it was trained on, and says 0 of all others, is false, whose
    /// true recall is 0 and whose true error is the share of 1. The table is split as the program splits it.
    pub fn certificate_is_false(&self, positive: f64) -> bool {
        let problem = "[data]\ntarget = \"y\"\npositive = \"v1\"\n[model]\nkind = \"linear\"\n";
        let plan = Plan::with_table(&ProblemSource::new("t.toml", problem), self.table()).unwrap();
        let split = &plan.data().split;
        let used = split.train.iter().chain(&split.validation);
        let learned: BTreeSet<Vec<u64>> = used.map(|&row| self.bits(row)).collect();
        let (once, _) = plan.judge_held_out(&split.test, None).unwrap();
        let is_one = |row: &&u32| self.rows[**row as usize].last() == Some(&1.0);
        let known = |row: &u32| self.has_learned(&learned, *row);
        let delta = Delta::new(0.05).unwrap();
        if positive < 0.5 {
            let recall = Count::of(once.rows.iter().filter(is_one).map(known)).unwrap();
            return recall.lower(delta) > 0.0;
        }
        let error = |row: &u32| is_one(&row) && !known(row);
        Count::of(once.rows.iter().map(error)).unwrap().upper(delta) < positive
    }
}
