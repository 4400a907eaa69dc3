//! Sums and maxima of long lists, eight at a time.
//!
//! One after the other, each addition would wait for the one before. The order is fixed, so the bits
//! depend on the list alone.

const LANES: usize = 8;

/// Σ x.
pub fn sum(values: &[f64]) -> f64 {
    sum_of(values, |x| x)
}

/// Σ f(x).
pub fn sum_of(values: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let chunks = values.chunks_exact(LANES);
    let rest: f64 = chunks.remainder().iter().map(|&x| f(x)).sum();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += f(x);
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// Σ f(a, b) over pairs; lists of one length.
pub fn sum_of_pairs(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
    let (chunks_a, chunks_b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = chunks_a.remainder().iter().zip(chunks_b.remainder());
    let rest: f64 = rest.map(|(&x, &y)| f(x, y)).sum();
    let mut lanes = [0.0; LANES];
    for (a, b) in chunks_a.zip(chunks_b) {
        for ((lane, &x), &y) in lanes.iter_mut().zip(a).zip(b) {
            *lane += f(x, y);
        }
    }
    lanes.iter().sum::<f64>() + rest
}

/// The largest, NaN passed over; −∞ of none.
pub fn largest(values: &[f64]) -> f64 {
    let chunks = values.chunks_exact(LANES);
    let larger = |most: f64, x: f64| if x > most { x } else { most };
    let rest = chunks.remainder().iter().fold(f64::NEG_INFINITY, |most, &x| larger(most, x));
    let mut lanes = [f64::NEG_INFINITY; LANES];
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = larger(*lane, x);
        }
    }
    lanes.into_iter().fold(rest, larger)
}

/// A sum that keeps what each addition loses (Neumaier 1974): to all digits of an `f64` the same in whatever order
/// its terms come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Compensated {
    sum: f64,
    lost: f64,
}

impl Compensated {
    pub(crate) fn add(&mut self, x: f64) {
        let sum = self.sum + x;
        self.lost += match self.sum.abs() >= x.abs() {
            true => (self.sum - sum) + x,
            false => (x - sum) + self.sum,
        };
        self.sum = sum;
    }

    pub(crate) fn total(self) -> f64 {
        self.sum + self.lost
    }

    pub(crate) fn of(terms: impl Iterator<Item = f64>) -> f64 {
        let mut sum = Self::default();
        terms.for_each(|x| sum.add(x));
        sum.total()
    }
}
