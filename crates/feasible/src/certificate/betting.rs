//! Bounds by betting (Waudby-Smith and Ramdas 2024), with stakes that aim at the end of the sample.
//!
//! Somebody who holds that E\[X\] ≥ m must accept bets that pay m − X each round. Capital that starts at 1
//! and stakes λₜ ≥ 0, decided before Xₜ is seen,
//!
//! $$ K_t(m) = \prod_{i \le t} \big( 1 + \lambda_i(m)\,(m - X_i) \big) , \qquad
//!    \Pr\big[\max_t K_t(m) \ge 1/\delta\big] \le \delta \quad \text{if } \mathbb{E}[X] \ge m , $$
//!
//! is not expected to grow if they are right (Ville's inequality), whatever the stakes. 1/max K is therefore a p-value.
//!
//! **Stakes.** What is wanted is a capital of 1/δ after n rounds, no more. In the limit of many small bets the best way there is
//! to hedge an option that pays 1/δ with probability δ: if a share u = ρδK of the goal is reached and r rounds are left,
//!
//! $$ \lambda = \min\Big( \frac{\varphi(z)}{u\,\hat\sigma \sqrt{r}} ,\; \frac{\kappa}{b(m)} \Big) , \qquad \Pr[Z > z] = u , $$
//!
//! with σ̂ the standard deviation of the rounds before and b(m) the largest loss of a round. Whoever is behind stakes more, whoever is
//! nearly there less; after the goal comes 1/δ² and so on, which only makes p-values smaller. Constant stakes cost a factor of
//! √(2 log 1/δ)/z in width, 1.49 at 5 %; these cost none in the limit.
//!
//! **All m at once.** Capital that depends on earlier capital need not grow with m. So the candidates are divided into cells that are fixed
//! beforehand; in a cell all candidates bet with the stakes of its lower end, and there capital grows with m. The bound is searched from the
//! largest cell down to the first that is not refuted, and within it.
//!
//! **Differences.** E\[A\] − E\[B\] ≥ m of two groups of rows, which may share some, or of a group and everyone, is one round a row: with q
//! = E\[B\], and any weights decided before the row is seen,
//!
//! $$ w_A 1_A\,(q + m - A) + w_B 1_B\,(B - q) $$
//!
//! has expectation 0 or more. With weights near one over the shares of the groups, and such that the sum of what stands before q stays near 0, it
//! hardly depends on q, so that little is lost by giving q its worst value in a confidence interval at a small part β of δ (Berger and Boos 1994). The logarithm of capital is
//! concave in q: its smallest value in a cell of q is at an end.

use super::delta::Delta;

/// κ: the largest share of the capital that one row can lose.
const MOST: f64 = 0.99;
/// ρ: capital aims a little beyond 1/δ, so that it arrives before the end.
const BEYOND: f64 = 0.9;
/// Cells of m for each √n rows, of means and of differences, and the largest n that they are made for.
const CELLS: [f64; 2] = [16.0, 8.0];
const MOST_CELLS_AT: f64 = 20_000.0;
/// Capital at which bets end.
const POOREST: f64 = 1e-200;
/// β as a share of the δ that bets are made for.
const FOR_RATE: f64 = 0.002;

/// A row: what it pays at m and q, c + a m + b q, and what was decided before it was seen.
struct Round {
    pays: [f64; 3],
    weights: [f64; 2],
    /// σ̂.
    deviation: f64,
}

/// Rounds of bets on values in [0, 1], made for a bound at some δ.
pub(crate) struct Game {
    rounds: Vec<Round>,
    goal: f64,
    difference: Option<Unknown>,
}

/// What is known of q.
struct Unknown {
    beta: f64,
    interval: [f64; 2],
    /// Whether a row may be of both groups.
    shared: bool,
}

/// A row of two groups: its value in each of those it belongs to.
pub(crate) type Pair = [Option<f64>; 2];

impl Game {
    /// Bets on the mean of `values`, in their order, made for a bound at `design`.
    pub(crate) fn of_mean(values: &[f64], design: Delta) -> Self {
        let (mut sum, mut squares, mut variance) = (0.5, 0.25, 0.25_f64);
        let mut rounds = Vec::with_capacity(values.len());
        for (t, &x) in values.iter().enumerate() {
            rounds.push(Round {
                pays: [-x, 1.0, 0.0],
                weights: [1.0, 0.0],
                deviation: variance.sqrt(),
            });
            let seen = t as f64 + 2.0;
            sum += x;
            squares += (x - sum / seen).powi(2);
            variance = squares / seen;
        }
        Self { rounds, goal: -design.ln(), difference: None }
    }

    /// Bets on the difference of the means of two groups, each of which has rows.
    pub(crate) fn of_difference(pairs: &[Pair], design: Delta) -> Self {
        let (mut rows, mut sums) = ([0.0_f64; 2], [0.0_f64; 2]);
        // As if a first row had been in both, half way.
        let (mut squares, mut shared) = (1.0, false);
        // Σ w_B 1_B − w_A 1_A is led back to 0, so that q hardly matters.
        let (mut balance, slow) = (0.0_f64, (pairs.len() as f64).sqrt());
        let mut rounds = Vec::with_capacity(pairs.len());
        for (t, pair) in pairs.iter().enumerate() {
            let tilt = (balance / slow).clamp(-0.5, 0.5);
            let over_share = rows.map(|rows| (t as f64 + 2.0) / (rows + 1.0));
            let weights = [over_share[0] * (1.0 + tilt), over_share[1] * (1.0 - tilt)];
            let mut pays = [0.0; 3];
            let mut deviation = 0.0;
            for (group, sign) in [(0, 1.0), (1, -1.0)] {
                let Some(x) = pair[group] else { continue };
                let weight = sign * weights[group];
                pays[0] -= weight * x;
                pays[2] += weight;
                deviation += weight * (x - (sums[group] + 0.5) / (rows[group] + 1.0));
                (rows[group], sums[group]) = (rows[group] + 1.0, sums[group] + x);
            }
            balance -= pays[2];
            pays[1] = pair[0].map_or(0.0, |_| weights[0]);
            shared |= pair[0].is_some() && pair[1].is_some();
            let known = (squares / (t as f64 + 1.0)).sqrt();
            rounds.push(Round { pays, weights, deviation: known });
            squares += deviation * deviation;
        }
        let beta = design.value() * FOR_RATE;
        let side = design.times(0.5 * FOR_RATE);
        let others: Vec<f64> = pairs.iter().filter_map(|pair| pair[1]).collect();
        let turned: Vec<f64> = others.iter().map(|x| 1.0 - x).collect();
        let upper = |values: &[f64]| Self::of_mean(values, side).upper(side);
        let interval = [1.0 - upper(&turned), upper(&others)];
        let difference = Some(Unknown { beta, interval, shared });
        Self { rounds, goal: -design.ln(), difference }
    }

    /// log of the p-value of "the number is at least `m`".
    pub(crate) fn ln_p(&self, m: f64) -> f64 {
        let cell = (0..self.cells()).rev().find(|cell| self.cell(*cell) <= m).unwrap_or(0);
        let log = |q| -self.richest(cell, m, q, f64::INFINITY);
        let Some(unknown) = &self.difference else { return log([0.0; 2]) };
        let possible = self.unknown().filter(|q| q[0] + self.cell(cell) <= 1.0);
        let largest = possible.map(log).fold(f64::NEG_INFINITY, f64::max);
        (unknown.beta + largest.exp()).min(1.0).ln()
    }

    /// The upper bound at 1 − δ.
    pub(crate) fn upper(&self, delta: Delta) -> f64 {
        let left = self.difference.as_ref().map_or(0.0, |unknown| unknown.beta);
        let enough = -(delta.value() - left).ln();
        if enough.is_nan() {
            return 1.0;
        }
        let unknown: Vec<[f64; 2]> = self.unknown().collect();
        for cell in (0..self.cells()).rev() {
            let (low, high) = (self.cell(cell), self.cell(cell + 1));
            let refuted = |m: f64, q: [f64; 2]| {
                // Nobody's mean is above 1.
                let possible = q[0] + low <= 1.0 || self.difference.is_none();
                !possible || self.richest(cell, m, q, enough) >= enough
            };
            let mut bound = low;
            for &q in &unknown {
                if refuted(bound, q) {
                    continue;
                }
                let mut end = high;
                if !refuted(end, q) {
                    return end;
                }
                while end - bound > 1e-9 * (high - low).max(end) {
                    let middle = 0.5 * (bound + end);
                    if refuted(middle, q) { end = middle } else { bound = middle }
                }
                bound = end;
            }
            if bound > low {
                return bound;
            }
        }
        self.cell(0)
    }

    /// The number of cells of m.
    fn cells(&self) -> usize {
        let each = CELLS[usize::from(self.difference.is_some())];
        (each * (self.rounds.len() as f64).min(MOST_CELLS_AT).sqrt()).ceil() as usize
    }

    /// The lower end of a cell: closer where shares vary less.
    fn cell(&self, at: usize) -> f64 {
        let share = at as f64 / self.cells() as f64;
        match self.difference {
            Some(_) => 2.0 * share - 1.0,
            None => (0.5 * std::f64::consts::PI * share).sin().powi(2),
        }
    }

    /// The cells of q that it may be in, of a grid fixed by n.
    fn unknown(&self) -> impl Iterator<Item = [f64; 2]> {
        let interval = self.difference.as_ref().map_or([0.0; 2], |unknown| unknown.interval);
        let count = (self.rounds.len() as f64).sqrt().ceil();
        let (first, last) = ((interval[0] * count).floor(), (interval[1] * count).ceil());
        let cells = (last - first).max(1.0) as usize;
        let known = self.difference.is_none();
        (0..cells).map(move |at| {
            let low = first + at as f64;
            if known { [0.0; 2] } else { [low / count, ((low + 1.0) / count).min(1.0)] }
        })
    }

    /// log max K at `m`, for the worse of both ends of `q`, with the stakes of the cell's lower end; as soon as it is `enough`.
    fn richest(&self, cell: usize, m: f64, q: [f64; 2], enough: f64) -> f64 {
        let low = self.cell(cell);
        let shared = self.difference.as_ref().is_some_and(|unknown| unknown.shared);
        let loses = |weights: [f64; 2], q: f64| {
            let (one, other) = (weights[0] * (1.0 - q - low).max(0.0), weights[1] * q);
            if shared { one + other } else { one.max(other) }
        };
        let known = q[0] == q[1];
        let (mut driving, mut judged, mut richest) = ([1.0_f64; 2], [1.0_f64; 2], 1.0_f64);
        let enough = enough.exp();
        let mut left = self.rounds.len() as f64;
        for round in &self.rounds {
            let [c, a, b] = round.pays;
            let capital = driving[0].min(driving[1]).ln();
            let goals = (capital / self.goal).floor().max(0.0) + 1.0;
            let missing = goals * self.goal - BEYOND.ln() - capital;
            let aim = stake(missing) / (round.deviation * left.sqrt());
            let worst = loses(round.weights, q[0]).max(loses(round.weights, q[1]));
            let stake = if worst > 0.0 { aim.min(MOST / worst) } else { aim.min(1.0 / MOST) };
            left -= 1.0;
            let growth = |m: f64, q: f64| 1.0 + stake * (c + a * m + b * q);
            driving[0] *= growth(low, q[0]);
            judged[0] *= growth(m.max(low), q[0]);
            if known {
                (driving[1], judged[1]) = (driving[0], judged[0]);
            } else {
                driving[1] *= growth(low, q[1]);
                judged[1] *= growth(m.max(low), q[1]);
            }
            richest = richest.max(judged[0].min(judged[1]));
            // Nobody comes back from there, nor has to go on.
            if richest >= enough || driving[0].min(driving[1]) < POOREST || richest > 1.0 / POOREST
            {
                break;
            }
        }
        richest.ln()
    }
}

/// φ(z)/u at −log u = `missing`, where Pr\[Z > z\] = u; to 1 % from u = 0.9 to u = 10⁻⁶.
fn stake(missing: f64) -> f64 {
    let t = (2.0 * missing).sqrt();
    t * t / (t + 0.2 + 0.5 / (1.0 + 0.35 * t))
}
