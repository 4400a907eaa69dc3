//! Tails of the binomial distribution, in logarithms.
//!
//! The probability of one outcome is Loader's (2000) saddle-point form,
//!
//! $$ \Pr[K = k] = \sqrt{\frac{n}{2\pi k(n-k)}}\;
//!    e^{\,s(n) - s(k) - s(n-k) - D(k,\,np) - D(n-k,\,nq)} , \qquad
//!    D(x, m) = x \log\frac{x}{m} + m - x , $$
//!
//! with s the error of Stirling's formula: no large logarithms of factorials cancel, so that it keeps
//! some 13 digits at n = 10⁹. A tail is that term times a sum of positive, falling ratios; about
//! √n of them matter.

/// log P(K ≤ k) of K ~ binomial(n, p), q = 1 − p given apart so that neither is lost near 0.
pub fn ln_at_most(k: u64, n: u64, p: f64, q: f64) -> f64 {
    if k >= n || p <= 0.0 {
        return 0.0;
    }
    if q <= 0.0 {
        return f64::NEG_INFINITY;
    }
    // Sum the side that is away from the mean; the other is its complement.
    if (k as f64) < n as f64 * p {
        falling(k, n, p, q)
    } else {
        // P(K ≥ k + 1) is P(n − K ≤ n − k − 1), n − K ~ binomial(n, q).
        (-falling(n - k - 1, n, q, p).exp()).ln_1p()
    }
}

/// log P(K ≥ k).
pub fn ln_at_least(k: u64, n: u64, p: f64, q: f64) -> f64 {
    if k == 0 { 0.0 } else { ln_at_most(n - k, n, q, p) }
}

/// log Σ_{i ≤ k} P(K = i), term by term downwards from k; meant for k at or below the mean.
fn falling(k: u64, n: u64, p: f64, q: f64) -> f64 {
    let odds = q / p;
    let (mut term, mut sum) = (1.0, 1.0);
    let mut i = k as f64;
    let mut above = (n - k) as f64;
    while i > 0.0 {
        above += 1.0;
        term *= i / above * odds;
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
        i -= 1.0;
    }
    (ln_probability(k, n, p, q) + f64::ln(sum)).min(0.0)
}

/// P(K = k) of K ~ binomial(n, p) for the k whose probability is above 1e-25 of the largest, and the first of
/// them.
pub(crate) fn probabilities(n: u64, p: f64) -> (usize, Vec<f64>) {
    if p <= 0.0 {
        return (0, vec![1.0]);
    }
    if p >= 1.0 {
        return (n as usize, vec![1.0]);
    }
    let q = 1.0 - p;
    let mode = (((n + 1) as f64 * p) as u64).min(n);
    let peak = ln_probability(mode, n, p, q).exp();
    let least = peak * 1e-25;
    let (mut below, mut term, mut k) = (Vec::new(), peak, mode);
    while k > 0 && term > least {
        term *= k as f64 / (n - k + 1) as f64 * (q / p);
        k -= 1;
        below.push(term);
    }
    let first = mode as usize - below.len();
    below.reverse();
    let mut all = below;
    all.push(peak);
    (term, k) = (peak, mode);
    while k < n && term > least {
        term *= (n - k) as f64 / (k + 1) as f64 * (p / q);
        k += 1;
        all.push(term);
    }
    (first, all)
}

/// log P(K = k).
fn ln_probability(k: u64, n: u64, p: f64, q: f64) -> f64 {
    let (x, y, n) = (k as f64, (n - k) as f64, n as f64);
    if k == 0 {
        return n * ln_complement(p, q);
    }
    if y == 0.0 {
        return n * ln_complement(q, p);
    }
    let stirling = stirling_error(n) - stirling_error(x) - stirling_error(y);
    let deviance = deviance(x, n * p) + deviance(y, n * q);
    stirling - deviance + 0.5 * (n / (x * y)).ln() - 0.5 * std::f64::consts::TAU.ln()
}

/// log q = log(1 − p), by whichever of the two is small.
fn ln_complement(p: f64, q: f64) -> f64 {
    if p < 0.5 { (-p).ln_1p() } else { q.ln() }
}

/// s(n) = log n! − log(√(2πn) (n/e)ⁿ), n ≥ 1.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        let factorial: f64 = (1..=n as u32).map(f64::from).product();
        return factorial.ln() - 0.5 * (std::f64::consts::TAU * n).ln() - n * n.ln() + n;
    }
    // The next term is below 2e-16 from n = 16 on.
    let m = 1.0 / (n * n);
    (1.0 / 12.0 - m * (1.0 / 360.0 - m * (1.0 / 1260.0 - m * (1.0 / 1680.0 - m / 1188.0)))) / n
}

/// D(x, m) = x log(x/m) + m − x, by its series in v = (x − m)/(x + m) where terms would cancel.
pub fn deviance(x: f64, m: f64) -> f64 {
    let v = (x - m) / (x + m);
    if v.abs() >= 0.1 {
        return x * (x / m).ln() + m - x;
    }
    let (mut sum, mut power, mut j) = ((x - m) * v, 2.0 * x * v, 1.0);
    loop {
        power *= v * v;
        j += 2.0;
        let next = sum + power / j;
        if next == sum {
            return sum;
        }
        sum = next;
    }
}
