//! How wide bounds are beside the normal approximation, which is not valid but is as narrow as a bound can be.

use feasible::certificate::{Contrast, Count, Delta, Difference, Evidence, Method, Values};
use feasible::{Purpose, Stream};

use super::Tally;

/// What is bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Rate,
    Mean,
    Apart,
    Unequal,
    Everyone,
    Overlapping,
    RareOverlapping,
    Means,
    OverlappingMeans,
    Units,
    UnitDifference,
}

pub const KINDS: [Kind; 11] = [
    Kind::Rate,
    Kind::Mean,
    Kind::Apart,
    Kind::Unequal,
    Kind::Everyone,
    Kind::Overlapping,
    Kind::RareOverlapping,
    Kind::Means,
    Kind::OverlappingMeans,
    Kind::Units,
    Kind::UnitDifference,
];

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "a rate of 10 %",
            Self::Mean => "a mean of skewed losses",
            Self::Apart => "two rates, groups of 50 and 50 %",
            Self::Unequal => "two rates, groups of 5 and 95 %",
            Self::Everyone => "the rate of a group of 30 % against everyone's",
            Self::Overlapping => "two rates, groups of 60 % that share a third",
            Self::RareOverlapping => "the same, rates of 2 %",
            Self::Means => "two means of skewed losses, groups of 30 and 70 %",
            Self::OverlappingMeans => "the same, groups of 60 % that share a third",
            Self::Units => "a mean, by unit of ten rows",
            Self::UnitDifference => "two means, by unit of ten rows of either group",
        }
    }

    /// The number of the population, the evidence of `n` rows (or units), and the width of the normal approximation at one
    /// standard deviation.
    pub fn draw(self, n: usize, stream: &mut Stream) -> (f64, Evidence, f64) {
        let skewed = |power: f64, stream: &mut Stream| stream.uniform().powf(power);
        let hit = |rate: f64, stream: &mut Stream| f64::from(u8::from(stream.uniform() < rate));
        match self {
            Self::Rate => {
                let count = count((0..n).map(|_| hit(0.1, stream)));
                let p = count.rate();
                (0.1, Evidence::Share(count), (p * (1.0 - p) / n as f64).sqrt())
            }
            Self::Mean => {
                let values: Vec<f64> = (0..n).map(|_| skewed(6.0, stream)).collect();
                let deviation = deviation(&values) / (n as f64).sqrt();
                (1.0 / 7.0, mean(values), deviation)
            }
            Self::Units => {
                let unit = |stream: &mut Stream| {
                    let rate = if stream.uniform() < 0.1 { 0.6 } else { 0.1 };
                    (0..10).map(|_| hit(rate, stream)).sum::<f64>() / 10.0
                };
                let values: Vec<f64> = (0..n).map(|_| unit(stream)).collect();
                let deviation = deviation(&values) / (n as f64).sqrt();
                (0.15, mean(values), deviation)
            }
            Self::Apart | Self::Unequal => {
                let rows = if self == Self::Apart { n / 2 } else { n / 20 };
                let (a, b) = (
                    count((0..rows).map(|_| hit(0.3, stream))),
                    count((rows..n).map(|_| hit(0.2, stream))),
                );
                let variance = |c: Count| c.rate() * (1.0 - c.rate()) / c.rows() as f64;
                let deviation = (variance(a) + variance(b)).sqrt();
                (0.1, Evidence::Difference(Difference::Apart { a, b }), deviation)
            }
            Self::Everyone => {
                let pairs = (0..n).map(|_| {
                    let of = stream.uniform() < 0.3;
                    let x = hit(if of { 0.4 } else { 0.2 }, stream);
                    [of.then_some(x), Some(x)]
                });
                let pairs: Vec<[Option<f64>; 2]> = pairs.collect();
                let part = count(pairs.iter().filter_map(|pair| pair[0]));
                let rest = pairs.iter().filter(|pair| pair[0].is_none()).filter_map(|pair| pair[1]);
                let rest = Some(count(rest));
                let evidence = Evidence::Difference(Difference::Within { part, rest });
                (0.7 * 0.2, evidence, influence(&pairs))
            }
            Self::Overlapping | Self::RareOverlapping => {
                let rates = match self {
                    Self::Overlapping => [0.3, 0.25, 0.2],
                    _ => [0.03, 0.02, 0.01],
                };
                let pairs = overlapping(n, stream, |at, stream| hit(rates[at], stream));
                let group = |at: usize| count(pairs.iter().filter_map(|pair| pair[at]));
                let both = pairs.iter().filter(|pair| pair[1].is_some()).filter_map(|pair| pair[0]);
                let (a, b, both) = (group(0), group(1), count(both));
                let evidence = Evidence::Difference(Difference::Shared { a, b, both });
                ((rates[0] - rates[2]) * 2.0 / 3.0, evidence, influence(&pairs))
            }
            Self::Means => {
                let pairs = (0..n).map(|_| {
                    let of = stream.uniform() < 0.3;
                    let x = skewed(if of { 4.0 } else { 6.0 }, stream);
                    [of.then_some(x), (!of).then_some(x)]
                });
                let pairs: Vec<[Option<f64>; 2]> = pairs.collect();
                (1.0 / 5.0 - 1.0 / 7.0, contrast(&pairs), influence(&pairs))
            }
            Self::OverlappingMeans => {
                let powers = [4.0, 5.0, 6.0];
                let pairs = overlapping(n, stream, |at, stream| skewed(powers[at], stream));
                let truth = (1.0 / 5.0 - 1.0 / 7.0) * 2.0 / 3.0;
                (truth, contrast(&pairs), influence(&pairs))
            }
            Self::UnitDifference => {
                let pair = |stream: &mut Stream| {
                    let rate = if stream.uniform() < 0.1 { 0.6 } else { 0.1 };
                    let mut sums = [(0.0, 0.0); 2];
                    for _ in 0..10 {
                        let second = usize::from(stream.uniform() < 0.5);
                        let worse = if second == 0 { 0.1 } else { 0.0 };
                        let (sum, rows) = &mut sums[second];
                        *sum += hit(rate + worse, stream);
                        *rows += 1.0;
                    }
                    sums.map(|(sum, rows)| (rows > 0.0).then(|| sum / rows))
                };
                let pairs: Vec<[Option<f64>; 2]> = (0..n).map(|_| pair(stream)).collect();
                (0.1, contrast(&pairs), influence(&pairs))
            }
        }
    }
}

/// Rows of the first group alone, of both, of the second alone: two fifths, one fifth, two fifths, so that a third of each group
/// is shared.
fn overlapping(
    n: usize,
    stream: &mut Stream,
    value: impl Fn(usize, &mut Stream) -> f64,
) -> Vec<[Option<f64>; 2]> {
    let row = |_| {
        let at = [0, 0, 1, 2, 2][stream.below(5) as usize];
        let x = value(at, stream);
        [(at < 2).then_some(x), (at > 0).then_some(x)]
    };
    (0..n).map(row).collect()
}

fn count(values: impl Iterator<Item = f64>) -> Count {
    Count::of(values.map(|x| x > 0.5)).unwrap()
}

fn mean(values: Vec<f64>) -> Evidence {
    let values = Values::new(values, 1.0).unwrap();
    Evidence::Mean { values, method: Method::Betting }
}

fn contrast(pairs: &[[Option<f64>; 2]]) -> Evidence {
    Evidence::Contrast(Contrast::new(pairs.to_vec(), 1.0).unwrap())
}

fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0)).sqrt()
}

/// The standard deviation of a difference of two means by its influence function.
fn influence(pairs: &[[Option<f64>; 2]]) -> f64 {
    let group = |at: usize| {
        let values: Vec<f64> = pairs.iter().filter_map(|pair| pair[at]).collect();
        (values.iter().sum::<f64>() / values.len() as f64, values.len() as f64)
    };
    let groups = [group(0), group(1)];
    let of = |pair: &[Option<f64>; 2]| -> f64 {
        let part = |at: usize| pair[at].map_or(0.0, |x| (x - groups[at].0) / groups[at].1);
        part(0) - part(1)
    };
    pairs.iter().map(|pair| of(pair).powi(2)).sum::<f64>().sqrt()
}

/// How often the upper bound of `n` rows is below the truth; its width, and how many times that of the normal approximation it is.
pub fn width(kind: Kind, n: usize, delta: Delta, trials: u64) -> (Tally, f64) {
    let (mut tally, mut normal) = (Tally::default(), 0.0);
    for trial in 0..trials {
        let mut stream = Stream::new(300 + kind as u64, Purpose::View, trial, n as u64);
        let (truth, evidence, deviation) = kind.draw(n, &mut stream);
        let upper = evidence.upper(delta);
        tally.add(upper < truth - 1e-12, upper - evidence.estimate());
        normal += delta.normal_quantile() * deviation;
    }
    (tally, tally.width / normal)
}
