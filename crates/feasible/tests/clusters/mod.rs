//! Synthetic populations of units whose rows depend on each other: how often are certificates by unit
//! wrong, and how often those that take rows for independent draws?
#![allow(dead_code, reason = "the test and the example use a part each")]

use feasible::certificate::{Claim, Count, Delta, Design};
use feasible::{
    Inputs, Loss, Model, Population, Problem, Purpose, Requirement, Samples, Stream, Targets,
};
use feasible_nn::Linear;

/// How units are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Twenty copies of one row.
    Copies,
    /// One to thirty rows that share a rate of the unit.
    SharedRate,
    /// Units with errors have many rows, others few.
    LargeIfWrong,
    /// Units of a single row.
    Single,
}

pub const UNITS: [Units; 4] =
    [Units::Copies, Units::SharedRate, Units::LargeIfWrong, Units::Single];

impl Units {
    pub fn name(self) -> &'static str {
        match self {
            Self::Copies => "20 copies of one row",
            Self::SharedRate => "1 to 30 rows with a common rate",
            Self::LargeIfWrong => "many rows if wrong, few if not",
            Self::Single => "one row",
        }
    }

    fn rows(self, rate: f64, stream: &mut Stream) -> usize {
        match self {
            Self::Copies => 20,
            Self::SharedRate => 1 + stream.below(30) as usize,
            Self::LargeIfWrong if rate > 0.5 => 10 + stream.below(20) as usize,
            Self::LargeIfWrong => 1 + stream.below(2) as usize,
            Self::Single => 1,
        }
    }

    /// The errors of the rows of a unit with this rate.
    fn errors(self, rate: f64, rows: usize, stream: &mut Stream) -> Vec<bool> {
        match self {
            Self::SharedRate => (0..rows).map(|_| stream.uniform() < rate).collect(),
            _ => vec![stream.uniform() < rate; rows],
        }
    }
}

/// What is certified.
pub const CLAIMS: [&str; 5] = [
    "error rate, upper",
    "error rate, lower",
    "expected Brier score, upper",
    "units with an error, upper",
    "difference of two groups, upper",
];

/// Of so many trials, so many bounds were wrong; by unit and by row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub trials: u64,
    pub by_unit: u64,
    pub by_row: u64,
    pub width: f64,
}

impl Tally {
    /// Whether so many wrong ones by unit would be a surprise of less than one in a million.
    pub fn refutes(&self, delta: f64) -> bool {
        Count::new(self.by_unit, self.trials).unwrap().ln_p_at_most(delta) < 1e-6f64.ln()
    }
}

/// The Brier score of a wrong and of a right answer at logit ±1.
fn brier(wrong: bool) -> f64 {
    let p = 1.0 / (1.0 + 1f64.exp());
    if wrong { (1.0 - p) * (1.0 - p) } else { p * p }
}

/// One tally for each of [`CLAIMS`].
pub fn coverage(units: Units, count: usize, delta: Delta, trials: u64) -> Vec<Tally> {
    let mut tallies = vec![Tally::default(); CLAIMS.len()];
    let model = Linear::new(2, 1).unwrap();
    let mut theta = vec![0.0f32; model.parameter_count()];
    theta[0] = 1.0;
    for trial in 0..trials {
        let mut stream = Stream::new(900 + units as u64, Purpose::View, trial, count as u64);
        // A share of the units is hard, the others are not.
        let (hard, high) = (0.05 + 0.3 * stream.uniform(), 0.6 + 0.4 * stream.uniform());
        let low = 0.1 * stream.uniform();
        let shift = 0.3 * stream.uniform();
        let (mut x, mut of) = (Vec::new(), Vec::new());
        for unit in 0..count as u32 {
            let rate = if stream.uniform() < hard { high } else { low };
            // Here all rows are wrong or none is, and that decides how many there are.
            let wrong = match units {
                Units::LargeIfWrong => f64::from(u8::from(stream.uniform() < rate)),
                _ => rate,
            };
            let rows = units.rows(wrong, &mut stream);
            for error in units.errors(wrong, rows, &mut stream) {
                // A second group makes more errors, in the same units.
                let second = stream.uniform() < 0.5;
                let error = error || (second && stream.uniform() < shift);
                x.extend([if error { 1.0 } else { -1.0 }, f32::from(u8::from(second))]);
                of.push(unit);
            }
        }
        let mean = hard * high + (1.0 - hard) * low;
        let everyone = mean + 0.5 * (1.0 - mean) * shift;
        let score = everyone * (brier(true) - brier(false)) + brier(false);
        let any = share_with_an_error(units, hard, high, low, shift);
        let difference = (1.0 - mean_where_present(units, mean)) * shift;
        let truths = [everyone, everyone, score, any, difference];
        let n = of.len();
        let inputs = Inputs::new(x, 2).unwrap();
        let all = Population::new(Samples::new(inputs, Targets::Classes(vec![0; n])).unwrap());
        let one = all.filter(|s| s.inputs()[1] == 0.0);
        let two = all.filter(|s| s.inputs()[1] == 1.0);
        let error = |name: &str, p: &Population| {
            Requirement::average(name, p, Loss::SmoothedError).measured_by(Loss::Error)
        };
        let problem = Problem::minimise(&all, Loss::Logistic)
            .subject_to(error("error", &all).at_most(0.5))
            .subject_to(error("error, lower", &all).at_least(0.5))
            .subject_to(Requirement::average("brier", &all, Loss::Brier).at_most(0.5))
            .subject_to(Requirement::pointwise("each", &all, Loss::Logistic).at_most(1.0))
            .subject_to(error("difference", &two).minus(&one).at_most(0.5))
            .check()
            .unwrap();
        let design = Design::new(delta);
        let by_unit = design.claims_by_unit(&problem, &model, &theta, &of).unwrap();
        let by_row = design.claims(&problem, &model, &theta).unwrap();
        for (at, tally) in tallies.iter_mut().enumerate() {
            let wrong = |claims: &[Claim]| {
                let bound = claims[at].bound(delta).unwrap();
                let beyond = if at == 1 { bound > truths[at] } else { bound < truths[at] };
                (u64::from(beyond), bound)
            };
            tally.trials += 1;
            let (beyond, bound) = wrong(&by_unit);
            tally.by_unit += beyond;
            tally.by_row += wrong(&by_row).0;
            tally.width += (bound - by_unit[at].evidence.as_ref().unwrap().estimate()).abs();
        }
    }
    tallies
}

/// The mean rate of the units that have a row of a given group: large ones nearly all have.
fn mean_where_present(units: Units, mean: f64) -> f64 {
    if units != Units::LargeIfWrong {
        return mean;
    }
    let large = 1.0 - (10..30).map(|rows| 0.5f64.powi(rows)).sum::<f64>() / 20.0;
    let small = 1.0 - 0.5 * (0.5 + 0.25);
    mean * large / (mean * large + (1.0 - mean) * small)
}

/// The share of units with an error in any row, from the law that draws them.
fn share_with_an_error(units: Units, hard: f64, high: f64, low: f64, shift: f64) -> f64 {
    let mean = hard * high + (1.0 - hard) * low;
    // A row that is right so far gets an error if it is of the second group and unlucky.
    let right = 1.0 - 0.5 * shift;
    match units {
        Units::Single => mean + (1.0 - mean) * (1.0 - right),
        Units::Copies => mean + (1.0 - mean) * (1.0 - right.powi(20)),
        Units::LargeIfWrong => mean + (1.0 - mean) * (1.0 - 0.5 * (right + right * right)),
        Units::SharedRate => {
            let none = |rate: f64| -> f64 {
                (1..=30).map(|rows| ((1.0 - rate) * right).powi(rows)).sum::<f64>() / 30.0
            };
            1.0 - hard * none(high) - (1.0 - hard) * none(low)
        }
    }
}
