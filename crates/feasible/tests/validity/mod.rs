//! Populations whose numbers are known, samples of them, and how often certificates are wrong.
//!
//! Shared by `tests/certificate_validity.rs`, which draws a few hundred, and by the example
//! `certificate_validity`, which draws thousands and prints the table of the book.
#![allow(dead_code, clippy::unwrap_used)]

use feasible::certificate::{
    Certificate, Claim, Count, Delta, Difference, Evidence, Method, Simultaneous, Values, Verdict,
    fixed_sequence,
};
use feasible::requirement::Sense;
use feasible::{Purpose, Stream};

pub const METHODS: [Method; 4] =
    [Method::Hoeffding, Method::EmpiricalBernstein, Method::HoeffdingBentkus, Method::Betting];

/// A kind of population of losses in [0, 1]; parameters are drawn anew for every trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// 0 or 1.
    TwoPoint,
    /// Most losses small: U^s.
    Skewed,
    /// Most losses near B: 1 − U^s.
    NearBound,
    /// A small constant, and rarely B.
    Rare,
}

pub const SHAPES: [Shape; 4] = [Shape::TwoPoint, Shape::Skewed, Shape::NearBound, Shape::Rare];

/// Draws a loss.
pub type Sampler = Box<dyn Fn(&mut Stream) -> f64>;

impl Shape {
    pub fn name(self) -> &'static str {
        match self {
            Self::TwoPoint => "two-point",
            Self::Skewed => "skewed",
            Self::NearBound => "heavy near B",
            Self::Rare => "rarely B",
        }
    }

    /// A population: its mean, and a sampler.
    pub fn draw(self, stream: &mut Stream) -> (f64, Sampler) {
        let log_uniform = |low: f64, high: f64, u: f64| low * (high / low).powf(u);
        match self {
            Self::TwoPoint => {
                let p = log_uniform(0.002, 0.6, stream.uniform());
                (p, Box::new(move |s| f64::from(u8::from(s.uniform() < p))))
            }
            Self::Skewed => {
                let s = log_uniform(2.0, 60.0, stream.uniform());
                (1.0 / (1.0 + s), Box::new(move |r| r.uniform().powf(s)))
            }
            Self::NearBound => {
                let s = log_uniform(2.0, 60.0, stream.uniform());
                (1.0 - 1.0 / (1.0 + s), Box::new(move |r| 1.0 - r.uniform().powf(s)))
            }
            Self::Rare => {
                let p = log_uniform(0.002, 0.1, stream.uniform());
                let small = 0.1 * stream.uniform();
                let mean = p + (1.0 - p) * small;
                (mean, Box::new(move |r| if r.uniform() < p { 1.0 } else { small }))
            }
        }
    }
}

/// Of so many trials, so many were wrong; and how wide the bounds were.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub trials: u64,
    pub wrong: u64,
    pub width: f64,
}

impl Tally {
    pub fn add(&mut self, wrong: bool, width: f64) {
        self.trials += 1;
        self.wrong += u64::from(wrong);
        self.width += width;
    }

    pub fn share(&self) -> f64 {
        self.wrong as f64 / self.trials as f64
    }

    pub fn mean_width(&self) -> f64 {
        self.width / self.trials as f64
    }

    /// Whether so many wrong ones would be a surprise of less than one in a million if each were wrong with
    /// probability δ.
    pub fn refutes(&self, delta: f64) -> bool {
        Count::new(self.wrong, self.trials).unwrap().ln_p_at_most(delta) < 1e-6f64.ln()
    }
}

fn stream(salt: u64, trial: u64) -> Stream {
    Stream::new(salt, Purpose::View, trial, 0)
}

/// How often the upper bound of each method, and last Clopper-Pearson for two points, is below the mean.
pub fn means(shape: Shape, n: usize, delta: Delta, trials: u64) -> Vec<(String, Tally)> {
    let mut tallies = vec![Tally::default(); METHODS.len() + 1];
    for trial in 0..trials {
        let mut stream = stream(1 + shape as u64 * 100 + n as u64 * 1000, trial);
        let (mean, sample) = shape.draw(&mut stream);
        let values: Vec<f64> = (0..n).map(|_| sample(&mut stream)).collect();
        let hits = values.iter().filter(|x| **x == 1.0).count() as u64;
        let values = Values::new(values, 1.0).unwrap();
        for (tally, method) in tallies.iter_mut().zip(METHODS) {
            let upper = values.upper(method, delta);
            tally.add(upper < mean, upper - values.mean());
        }
        if shape == Shape::TwoPoint {
            let upper = Count::new(hits, n as u64).unwrap().upper(delta);
            tallies[METHODS.len()].add(upper < mean, upper - values.mean());
        }
    }
    let names = METHODS.iter().map(ToString::to_string).chain(["Clopper-Pearson".to_string()]);
    names.zip(tallies).filter(|(_, tally)| tally.trials > 0).collect()
}

/// A bound that is popular and not valid: the normal approximation.
pub fn normal_approximation(n: usize, trials: u64) -> Tally {
    let mut tally = Tally::default();
    for trial in 0..trials {
        let mut stream = stream(7, trial);
        let hits = (0..n).filter(|_| stream.uniform() < 0.01).count() as f64;
        let rate = hits / n as f64;
        let upper = rate + 1.645 * (rate * (1.0 - rate) / n as f64).sqrt();
        tally.add(upper < 0.01, upper - rate);
    }
    tally
}

/// How the rows of two groups lie to each other.
pub const OVERLAPS: [&str; 3] = ["apart", "a group and everyone", "δ/2 each"];

/// How often the bound on a difference of rates is below the difference, either way.
pub fn differences(overlap: usize, n: usize, delta: Delta, trials: u64) -> [Tally; 2] {
    let mut tallies = [Tally::default(); 2];
    for trial in 0..trials {
        let mut stream = stream(20 + overlap as u64, trial);
        let (share, p, q) = (0.1 + 0.6 * stream.uniform(), stream.uniform(), stream.uniform());
        let mut counts = [[0u64; 2]; 2];
        for _ in 0..n {
            let group = usize::from(stream.uniform() >= share);
            let hit = stream.uniform() < if group == 0 { p } else { q };
            counts[group][0] += u64::from(hit);
            counts[group][1] += 1;
        }
        let [a, b] = counts.map(|[hits, rows]| Count::new(hits, rows.max(1)).unwrap());
        let (difference, truth) = match overlap {
            0 => (Difference::Apart { a, b }, p - q),
            1 => (Difference::Within { part: a, rest: Some(b) }, (1.0 - share) * (p - q)),
            _ => (Difference::Any { a, b }, p - q),
        };
        let (upper, lower) = (difference.upper(delta), difference.lower(delta));
        tallies[0].add(upper < truth, upper - difference.estimate());
        tallies[1].add(lower > truth, difference.estimate() - lower);
    }
    tallies
}

/// Five dependent requirements on the same rows. Losses share a factor U, so errors come together. `met`
/// of them truly hold. How often any CERTIFIED, and any VIOLATED, is wrong.
pub fn families(
    simultaneous: Simultaneous,
    met: usize,
    n: usize,
    delta: Delta,
    trials: u64,
) -> [Tally; 2] {
    let mut tallies = [Tally::default(); 2];
    for trial in 0..trials {
        let mut stream = stream(40 + met as u64, trial);
        let rates: Vec<f64> = (0..5).map(|_| 0.02 + 0.3 * stream.uniform()).collect();
        let mut hits = [0u64; 5];
        for _ in 0..n {
            let common = stream.uniform();
            for (i, hit) in hits.iter_mut().enumerate() {
                let own = stream.uniform();
                let mixed = if own < 0.7 { common } else { stream.uniform() };
                *hit += u64::from(mixed < rates[i]);
            }
        }
        let claim = |i: usize| Claim {
            name: i.to_string(),
            subject: String::new(),
            sense: Sense::AtMost,
            // At the edge, where mistakes are likeliest: just true or just false.
            level: if i < met { rates[i] } else { rates[i] - 1e-12 },
            evidence: Some(Evidence::Share(Count::new(hits[i], n as u64).unwrap())),
        };
        let claims: Vec<Claim> = (0..5).map(claim).collect();
        let certificate = Certificate::new(&claims, delta, simultaneous);
        let verdicts = certificate.findings.iter().map(|f| f.verdict).enumerate();
        let wrong = |verdict: Verdict, truth: bool| {
            verdicts.clone().any(|(i, v)| v == verdict && (i < met) == truth)
        };
        tallies[0].add(wrong(Verdict::Certified, false), 0.0);
        tallies[1].add(wrong(Verdict::Violated, true), 0.0);
    }
    tallies
}

/// A ladder of eight models, ever less cautious; those from a random one on violate. How often one that
/// violates is certified, and on average how many are certified.
pub fn ladders(n: usize, delta: Delta, trials: u64) -> Tally {
    let mut tally = Tally::default();
    let level = 0.1;
    for trial in 0..trials {
        let mut stream = stream(60, trial);
        let first_bad = stream.below(8) as usize;
        let rates: Vec<f64> = (0..8)
            .map(|i| if i < first_bad { level * (0.3 + 0.05 * i as f64) } else { level + 1e-12 })
            .collect();
        let rows: Vec<f64> = (0..n).map(|_| stream.uniform()).collect();
        let certified = fixed_sequence(8, |model| {
            let hits = rows.iter().filter(|u| **u < rates[model]).count() as u64;
            let claim = Claim {
                name: String::new(),
                subject: String::new(),
                sense: Sense::AtMost,
                level,
                evidence: Some(Evidence::Share(Count::new(hits, n as u64).unwrap())),
            };
            Ok::<_, ()>(Certificate::new(&[claim], delta, Simultaneous::Holm))
        });
        let certified = certified.unwrap();
        tally.add(certified > first_bad, certified as f64);
    }
    tally
}
