//! Populations whose numbers are known, samples of them, and how often certificates are wrong.
//!
//! Shared by `tests/certificate_validity.rs`, which draws a few hundred, and by the example
//! `certificate_validity`, which draws thousands and prints the table of the book.
#![allow(dead_code, clippy::unwrap_used)]

pub mod shifts;
pub mod widths;

use feasible::certificate::{
    Certificate, Claim, Count, Delta, Difference, Evidence, Finding, Method, Simultaneous,
    Unbounded, Values, Verdict, fixed_sequence,
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
    /// 0, and B about once in a sample: often no row shows it.
    Unseen,
    /// One value, or two that are close: ties.
    Tied,
}

pub const SHAPES: [Shape; 4] = [Shape::TwoPoint, Shape::Skewed, Shape::NearBound, Shape::Rare];
/// What bounds find hardest.
pub const ADVERSE: [Shape; 2] = [Shape::Unseen, Shape::Tied];

/// Draws a loss.
pub type Sampler = Box<dyn Fn(&mut Stream) -> f64>;

impl Shape {
    pub fn name(self) -> &'static str {
        match self {
            Self::TwoPoint => "two-point",
            Self::Skewed => "skewed",
            Self::NearBound => "heavy near B",
            Self::Rare => "rarely B",
            Self::Unseen => "B once in n rows",
            Self::Tied => "ties",
        }
    }

    /// A population for samples of n: its mean, and a sampler.
    pub fn draw(self, n: usize, stream: &mut Stream) -> (f64, Sampler) {
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
            Self::Unseen => {
                let p = log_uniform(0.3, 4.0, stream.uniform()) / n as f64;
                (p, Box::new(move |r| f64::from(u8::from(r.uniform() < p))))
            }
            Self::Tied => {
                let (value, more) = (stream.uniform(), 0.01 * f64::from(stream.below(2)));
                let value = value.min(1.0 - more);
                (value + 0.5 * more, Box::new(move |r| value + more * f64::from(r.below(2))))
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
        let (mean, sample) = shape.draw(n, &mut stream);
        let values: Vec<f64> = (0..n).map(|_| sample(&mut stream)).collect();
        let hits = values.iter().filter(|x| **x == 1.0).count() as u64;
        let values = Values::new(values, 1.0).unwrap();
        for (tally, method) in tallies.iter_mut().zip(METHODS) {
            let upper = values.upper(method, delta);
            // A bound at the mean itself is right, but for the rounding of a sum.
            tally.add(upper < mean - 1e-12, upper - values.mean());
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
            limit: if i < met { rates[i] } else { rates[i] - 1e-12 },
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

/// Two groups apart, with rates that are drawn to be hard: anything, both rare, both common, equal.
pub fn small_differences(rows: [u64; 2], delta: Delta, trials: u64) -> [Tally; 2] {
    let mut tallies = [Tally::default(); 2];
    for trial in 0..trials {
        let mut stream = stream(100 + rows[0] + 10_000 * rows[1], trial);
        let rare = |stream: &mut Stream, n: u64| (4.0 * stream.uniform() / n as f64).min(1.0);
        let [p, q] = match trial % 4 {
            0 => [stream.uniform(), stream.uniform()],
            1 => rows.map(|n| rare(&mut stream, n)),
            2 => rows.map(|n| 1.0 - rare(&mut stream, n)),
            _ => [stream.uniform(); 2],
        };
        let mut count = |n: u64, rate: f64| {
            let hits = (0..n).filter(|_| stream.uniform() < rate).count() as u64;
            Count::new(hits, n).unwrap()
        };
        let difference = Difference::Apart { a: count(rows[0], p), b: count(rows[1], q) };
        let (upper, lower) = (difference.upper(delta), difference.lower(delta));
        tallies[0].add(upper < p - q, upper - difference.estimate());
        tallies[1].add(lower > p - q, difference.estimate() - lower);
    }
    tallies
}

/// A difference of two means of losses, by betting at δ/2 each: how often the upper bound is below it, and how
/// often "less than it" is certified.
pub fn sums(n: usize, delta: Delta, trials: u64) -> [Tally; 2] {
    let mut tallies = [Tally::default(); 2];
    for trial in 0..trials {
        let mut stream = stream(80, trial);
        let mut term = |shape: Shape| {
            let (mean, sample) = shape.draw(n, &mut stream);
            let values = (0..n).map(|_| sample(&mut stream)).collect();
            let values = Values::new(values, 1.0).unwrap();
            (mean, Evidence::Mean { values, method: Method::Betting })
        };
        let ((one, a), (other, b)) = (term(Shape::Skewed), term(Shape::Rare));
        let sum = Evidence::Sum(vec![(1.0, a), (-1.0, b)]);
        let truth = one - other;
        let upper = sum.upper(delta);
        tallies[0].add(upper < truth, upper - sum.estimate());
        tallies[1].add(sum.ln_p_at_least(truth, delta) <= delta.ln(), 0.0);
    }
    tallies
}

/// Pareto losses U^(-1/α) without an upper bound, of finite and infinite mean, clipped at the largest of fifty other rows, beside
/// two rates, one of which does not hold, just so. How often anything that is said jointly is wrong; how often the clipped mean alone
/// is; and how often VIOLATED is wrong where the mean is at the limit.
pub fn clipped(n: usize, delta: Delta, trials: u64) -> [Tally; 3] {
    let mut tallies = [Tally::default(); 3];
    for trial in 0..trials {
        let mut stream = stream(90 + n as u64 * 1000, trial);
        let alpha = 0.7 * (3.0_f64 / 0.7).powf(stream.uniform());
        let pareto = |stream: &mut Stream| (1.0 - stream.uniform()).powf(-1.0 / alpha);
        let clip = (0..50).map(|_| pareto(&mut stream)).fold(1.0, f64::max);
        let clipped_mean = 1.0 + (clip.powf(1.0 - alpha) - 1.0) / (1.0 - alpha);
        let mean = if alpha > 1.0 { alpha / (alpha - 1.0) } else { f64::INFINITY };
        let losses: Vec<f64> = (0..n).map(|_| pareto(&mut stream)).collect();
        let unbounded = Unbounded::new(&losses, Some(clip), Method::Betting, trial).unwrap();
        let heavy = Claim {
            name: "heavy".into(),
            subject: String::new(),
            sense: Sense::AtMost,
            limit: mean.min(1e9),
            evidence: Some(Evidence::Unbounded(unbounded)),
        };
        let mut all = claims(&[0.1, 0.2], &[0.1 + 1e-12, 0.05], n, &mut stream);
        all.push(heavy);
        let certificate = Certificate::new(&all, delta, Simultaneous::Holm);
        assert!(!certificate.all_hold() && !certificate.each_certified());
        let [wrong, _, heavy] = &certificate.findings[..] else { unreachable!() };
        assert!(heavy.verdict != Verdict::Certified && heavy.bound.is_none() && heavy.p == 1.0);
        let found = heavy.clipped.as_ref().unwrap();
        let is_wrong = found.bound < clipped_mean - 1e-9 || found.above_bound < clip.powf(-alpha);
        tallies[0].add(is_wrong || wrong.verdict == Verdict::Certified, 0.0);
        tallies[1].add(is_wrong, found.bound / clipped_mean - 1.0);
        if alpha > 1.0 {
            tallies[2].add(heavy.verdict == Verdict::Violated, 0.0);
        }
    }
    tallies
}

/// Certified or not on n rows: the hits among them of rates that share some rows' luck.
fn claims(limits: &[f64], rates: &[f64], n: usize, stream: &mut Stream) -> Vec<Claim> {
    let mut hits = vec![0u64; rates.len()];
    for _ in 0..n {
        let common = stream.uniform();
        for (hit, rate) in hits.iter_mut().zip(rates) {
            let luck = if stream.uniform() < 0.5 { common } else { stream.uniform() };
            *hit += u64::from(luck < *rate);
        }
    }
    let claim = |(hits, limit): (&u64, &f64)| Claim {
        name: String::new(),
        subject: String::new(),
        sense: Sense::AtMost,
        limit: *limit,
        evidence: Some(Evidence::Share(Count::new(*hits, n as u64).unwrap())),
    };
    hits.iter().zip(limits).map(claim).collect()
}

/// Five requirements, of which `violated` do not hold, just so, and the others by far: how often Holm's verdicts, or the bounds of
/// those that are not certified, say something false.
pub fn bounds_beside_verdicts(violated: usize, n: usize, delta: Delta, trials: u64) -> Tally {
    let mut tally = Tally::default();
    let limits = [0.1, 0.2, 0.05, 0.3, 0.15];
    for trial in 0..trials {
        let mut stream = stream(80 + violated as u64, trial);
        let rate = |(i, limit): (usize, &f64)| match i < violated {
            true => limit + 1e-12,
            false => 0.9 * limit,
        };
        let rates: Vec<f64> = limits.iter().enumerate().map(rate).collect();
        let claims = claims(&limits, &rates, n, &mut stream);
        let certificate = Certificate::new(&claims, delta, Simultaneous::Holm);
        let wrong = |(f, (rate, limit)): (&Finding, (&f64, &f64))| match f.verdict {
            Verdict::Certified => rate > limit,
            _ => f.bound.unwrap() < *rate,
        };
        let pairs = rates.iter().zip(&limits);
        tally.add(certificate.findings.iter().zip(pairs).any(wrong), 0.0);
    }
    tally
}

/// A gate of five requirements, of which `violated` do not hold, just so, and the others by far: how often it
/// lets the model pass. With none violated and all near their limits: how often it does so, and Holm's verdicts
/// would.
pub fn gates(violated: usize, n: usize, delta: Delta, trials: u64) -> [Tally; 2] {
    let mut tallies = [Tally::default(); 2];
    let limits = [0.1, 0.2, 0.05, 0.3, 0.15];
    for trial in 0..trials {
        let mut stream = stream(70 + violated as u64, trial);
        let rate = |(i, limit): (usize, &f64)| match (i < violated, violated) {
            (true, _) => limit + 1e-12,
            (false, 0) => limit - 2.6 * (limit * (1.0 - limit) / n as f64).sqrt(),
            (false, _) => 0.3 * limit,
        };
        let rates: Vec<f64> = limits.iter().enumerate().map(rate).collect();
        let claims = claims(&limits, &rates, n, &mut stream);
        let certificate = Certificate::new(&claims, delta, Simultaneous::Holm);
        tallies[0].add(certificate.all_hold(), 0.0);
        tallies[1].add(certificate.each_certified(), 0.0);
    }
    tallies
}

/// Ladders of eight models with two requirements each, ever less cautious; those from a random one on violate one,
/// just so. The boldest certified one is taken. How often it violates a requirement, and on average how many are
/// certified.
pub fn ladders(n: usize, delta: Delta, trials: u64) -> Tally {
    let mut tally = Tally::default();
    let limits = [0.1, 0.2];
    for trial in 0..trials {
        let mut stream = stream(60, trial);
        let first_bad = stream.below(8) as usize;
        let rates = |model: usize| match model >= first_bad {
            true => [limits[0] + 1e-12, 0.05],
            false => limits.map(|c| c * (0.3 + 0.05 * model as f64)),
        };
        let certified = fixed_sequence(8, |model| {
            let claims = claims(&limits, &rates(model), n, &mut stream);
            Ok::<_, ()>(Certificate::new(&claims, delta, Simultaneous::Holm))
        });
        let certified = certified.unwrap();
        tally.add(certified > first_bad, certified as f64);
    }
    tally
}

/// Why no bound is shown for the model that was taken: of eight models seven are cautious and the last is at the
/// limit, and none violates it. How often the bound of the model taken, by itself, is below its rate.
pub fn bounds_of_the_taken(n: usize, delta: Delta, trials: u64) -> Tally {
    let mut tally = Tally::default();
    for trial in 0..trials {
        let mut stream = stream(61, trial);
        let rate = |model: usize| if model < 7 { 0.05 } else { 0.1 - 1e-12 };
        let mut bounds = Vec::new();
        let certified = fixed_sequence(8, |model| {
            let claims = claims(&[0.1], &[rate(model)], n, &mut stream);
            let certificate = Certificate::new(&claims, delta, Simultaneous::Holm);
            bounds.push(certificate.findings[0].bound.unwrap());
            Ok::<_, ()>(certificate)
        });
        if let Some(taken) = certified.unwrap().checked_sub(1) {
            tally.add(bounds[taken] < rate(taken), 0.0);
        }
    }
    tally
}
