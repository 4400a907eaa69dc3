//! How surprising is it that equal rows lie as they do, if which rows were trained on is chance?
//!
//! Rows of the training and of a table, all drawn independently from one population, are exchangeable: given
//! the pool of them, every choice of which n of the N rows are the table's is equally probable. If a distinct
//! row v occurs k_v times in the pool and b_v times in the table, then for a sum of scores S = Σ h(k_v, b_v)
//!
//! $$ \Pr[S \ge s] \;\le\; \min_{t \ge 0,\, u} \;
//!    \frac{e^{-ts - un}}{\binom{N}{n}} \prod_v \sum_{b=0}^{k_v} \binom{k_v}{b} e^{t h(k_v, b) + u b}
//!    \;\times\; \Pr\nolimits_{t,u}\Big[\sum_v b_v = n\Big] , $$
//!
//! whatever the population is: Chernoff's bound for independent b_v, the sum of which is n. The last factor
//! is their probability of that sum where each has the weight of its term; if h is concave in b, the sum is
//! log-concave, and a log-concave variable of variance σ² has no value more probable than 2/√(1 + 4σ²)
//! (Bobkov, Marsiglietti and Melbourne 2022). Otherwise it is taken as 1. Any t and u give a valid bound, so
//! that nothing depends on how well the minimum is found.

/// What is summed over distinct rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Score {
    /// b(k − b)/k, concave: how evenly a row lies on both sides. What was copied lies evenly.
    Even,
    /// 1 if b = 0: how few distinct rows the table has.
    Absent,
}

impl Score {
    /// h(k, b).
    pub(crate) fn of(self, k: u64, b: u64) -> f64 {
        match self {
            Self::Even => (b * (k - b)) as f64 / k as f64,
            Self::Absent => f64::from(u8::from(b == 0)),
        }
    }
}

/// Distinct rows of a pool: how often they occur (`.0`), ascending, and how many occur that often (`.1`).
pub(crate) type Spectrum = Vec<(u64, u64)>;

/// An upper bound on log P(S ≥ s) if `table` rows of the pool are chosen at random.
pub(crate) fn ln_p(pool: &[(u64, u64)], table: u64, score: Score, s: f64) -> f64 {
    let rows: u64 = pool.iter().map(|(k, cells)| k * cells).sum();
    if table == 0 || table >= rows {
        return 0.0;
    }
    let n = table as f64;
    let (mut t, mut u) = (0.0, (n / (rows - table) as f64).ln());
    let mut here = Tilted::sum(pool, score, t, u);
    if s <= here.h {
        return 0.0;
    }
    let value = |at: &Tilted, t: f64, u: f64| at.ln_z - t * s - u * n;
    let mut best = value(&here, t, u);
    // Newton's method for a convex function, in steps that cannot run away.
    for _ in 0..100 {
        let (g, f) = (here.h - s, here.b - n);
        let ridge = 1e-9 * (here.hh + here.bb) + 1e-30;
        let (a, d, c) = (here.hh + ridge, here.bb + ridge, here.hb);
        let determinant = a * d - c * c;
        let (mut dt, mut du) = ((c * f - d * g) / determinant, (c * g - a * f) / determinant);
        let long = dt.abs().max(du.abs()) / 2.0;
        if !long.is_finite() {
            break;
        }
        if long > 1.0 {
            (dt, du) = (dt / long, du / long);
        }
        let mut better = None;
        for _ in 0..30 {
            let (t, u) = ((t + dt).max(0.0), u + du);
            let there = Tilted::sum(pool, score, t, u);
            let now = value(&there, t, u);
            if now < best {
                better = Some((t, u, there, now));
                break;
            }
            (dt, du) = (0.5 * dt, 0.5 * du);
        }
        let Some((to_t, to_u, there, now)) = better else { break };
        let gained = best - now;
        (t, u, here, best) = (to_t, to_u, there, now);
        if gained < 1e-6 {
            break;
        }
    }
    let atom = match score {
        Score::Even => (2.0 / (1.0 + 4.0 * here.bb.max(0.0)).sqrt()).min(1.0).ln(),
        Score::Absent => 0.0,
    };
    (best + atom - ln_choose(rows, table)).min(0.0)
}

/// Sums over all distinct rows, each b with the weight (k over b) e^{t h + u b}.
#[derive(Clone, Copy, Debug, Default)]
struct Tilted {
    /// log of the product of the weights' sums.
    ln_z: f64,
    /// Expectations of Σ h and Σ b, their variances and their covariance.
    h: f64,
    b: f64,
    hh: f64,
    bb: f64,
    hb: f64,
}

impl Tilted {
    fn sum(pool: &[(u64, u64)], score: Score, t: f64, u: f64) -> Self {
        let mut all = Self::default();
        for &(k, cells) in pool {
            let one = match score {
                Score::Even => Self::even(k, t, u),
                Score::Absent => Self::absent(k, t, u),
            };
            let cells = cells as f64;
            all.ln_z += cells * one.ln_z;
            all.h += cells * one.h;
            all.b += cells * one.b;
            all.hh += cells * one.hh;
            all.bb += cells * one.bb;
            all.hb += cells * one.hb;
        }
        all
    }

    /// Outwards from the largest term; terms fall at least geometrically, so that few of them matter.
    fn even(k: u64, t: f64, u: f64) -> Self {
        let n = k as f64;
        // log of the ratio of the terms b + 1 and b: falls with b.
        let ratio = |b: f64| ((n - b) / (b + 1.0)).ln() + t * (n - 2.0 * b - 1.0) / n + u;
        let (mut low, mut high) = (0, k);
        while low < high {
            let middle = (low + high) / 2;
            if ratio(middle as f64) > 0.0 { low = middle + 1 } else { high = middle }
        }
        let mode = low;
        // Moments about the mode, where the numbers are small.
        let (h_mode, b_mode) = (Score::Even.of(k, mode), mode as f64);
        let (mut z, mut h, mut b, mut hh, mut bb, mut hb) = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0);
        let mut add = |at: u64, weight: f64| {
            let (x, y) = (Score::Even.of(k, at) - h_mode, at as f64 - b_mode);
            z += weight;
            h += weight * x;
            b += weight * y;
            hh += weight * x * x;
            bb += weight * y * y;
            hb += weight * x * y;
            weight > 1e-18
        };
        let (mut at, mut ln) = (mode, 0.0);
        while at < k {
            ln += ratio(at as f64);
            at += 1;
            if !add(at, ln.exp()) {
                break;
            }
        }
        (at, ln) = (mode, 0.0);
        while at > 0 {
            at -= 1;
            ln -= ratio(at as f64);
            if !add(at, ln.exp()) {
                break;
            }
        }
        let (h, b) = (h / z, b / z);
        Self {
            ln_z: ln_choose(k, mode) + t * h_mode + u * b_mode + z.ln(),
            h: h_mode + h,
            b: b_mode + b,
            hh: hh / z - h * h,
            bb: bb / z - b * b,
            hb: hb / z - h * b,
        }
    }

    /// (1 + eᵘ)ᵏ + eᵗ − 1: all terms but the first are a binomial's.
    fn absent(k: u64, t: f64, u: f64) -> Self {
        let n = k as f64;
        let p = 1.0 / (1.0 + (-u).exp());
        let binomial = n * if u > 0.0 { u + (-u).exp().ln_1p() } else { u.exp().ln_1p() };
        // The probability of b = 0, before the weight eᵗ and after it.
        let zero = (-binomial).exp();
        let extra = t.exp_m1() * zero;
        let z = 1.0 + extra;
        let h = (zero + extra) / z;
        let b = n * p / z;
        let squares = (n * p * (1.0 - p) + n * n * p * p) / z;
        Self { ln_z: binomial + z.ln(), h, b, hh: h * (1.0 - h), bb: squares - b * b, hb: -h * b }
    }
}

/// log of N over n.
fn ln_choose(rows: u64, some: u64) -> f64 {
    ln_factorial(rows) - ln_factorial(some) - ln_factorial(rows - some)
}

/// log n!, by Stirling's series from 32 on, where the next term is below 1e-15.
fn ln_factorial(n: u64) -> f64 {
    if n < 32 {
        return (2..=n).map(|i| (i as f64).ln()).sum();
    }
    let n = n as f64;
    let m = 1.0 / (n * n);
    let series = (1.0 / 12.0 - m * (1.0 / 360.0 - m * (1.0 / 1260.0 - m / 1680.0))) / n;
    n * n.ln() - n + 0.5 * (std::f64::consts::TAU * n).ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every choice of the table's rows: the number of choices by the rows chosen and the score.
    fn choices(pool: &[(u64, u64)], score: Score) -> Vec<(u64, f64, f64)> {
        let mut all = vec![(0, 0.0, 1.0)];
        for &(k, cells) in pool {
            for _ in 0..cells {
                let extend = |&(rows, sum, ways): &(u64, f64, f64)| {
                    (0..=k).map(move |b| {
                        (rows + b, sum + score.of(k, b), ways * ln_choose(k, b).exp())
                    })
                };
                all = all.iter().flat_map(extend).collect();
            }
        }
        all
    }

    #[test]
    fn no_choice_of_rows_is_more_probable_than_the_bound() {
        for pool in [vec![(1, 5), (2, 4)], vec![(3, 2), (5, 2)], vec![(1, 3), (2, 2), (4, 2)]] {
            let rows: u64 = pool.iter().map(|(k, cells)| k * cells).sum();
            for score in [Score::Even, Score::Absent] {
                let all = choices(&pool, score);
                for table in 1..rows {
                    let here: Vec<_> = all.iter().filter(|(n, ..)| *n == table).collect();
                    let total: f64 = here.iter().map(|(.., ways)| ways).sum();
                    for &&(_, s, _) in &here {
                        let tail = here.iter().filter(|(_, sum, _)| *sum >= s - 1e-9);
                        let exact = tail.map(|(.., ways)| ways).sum::<f64>() / total;
                        let bound = ln_p(&pool, table, score, s).exp();
                        assert!(bound > exact * (1.0 - 1e-9), "{pool:?} {table} {s}: {exact}");
                    }
                }
            }
        }
    }

    #[test]
    fn twenty_split_pairs_are_as_surprising_as_twenty_coins() {
        let p = ln_p(&[(1, 1960), (2, 20)], 1000, Score::Even, 10.0).exp();
        assert!(p > 0.5f64.powi(20) && p < 4.0 * 0.5f64.powi(20), "{p}");
        // Five of ten, which has probability 0.246, beside a very common row.
        let p = ln_p(&[(10, 1), (100_000_000, 1)], 50_000_005, Score::Even, 25_000_002.5).exp();
        assert!(p > 0.246 && p < 1.0, "{p}");
    }
}
