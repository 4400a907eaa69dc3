//! Populations that changed after the certificate: how often is what it says about them wrong?

use feasible::certificate::{
    ByClass, Certificate, Claim, Contrast, Count, Delta, Evidence, Method, Simultaneous, Values,
    Verdict,
};
use feasible::requirement::Sense;
use feasible::{Purpose, Stream};

use super::Tally;

/// Kinds of rows: how common they are, and the mean of their losses.
struct Kinds(Vec<(f64, f64)>);

impl Kinds {
    fn draw(stream: &mut Stream) -> Self {
        let kinds: Vec<(f64, f64)> =
            (0..5).map(|_| (stream.uniform() + 0.02, 0.5 * stream.uniform().powi(3))).collect();
        let sum: f64 = kinds.iter().map(|(share, _)| share).sum();
        Self(kinds.into_iter().map(|(share, loss)| (share / sum, loss)).collect())
    }

    fn loss(&self, stream: &mut Stream) -> f64 {
        let mut place = stream.uniform();
        for (share, loss) in &self.0 {
            place -= share;
            if place <= 0.0 {
                return *loss;
            }
        }
        self.0[0].1
    }

    /// The largest mean, or the smallest, where no kind is more than `shift` times as common.
    fn worst(&self, shift: f64, largest: bool) -> f64 {
        let mut kinds = self.0.clone();
        kinds.sort_by(|a, b| if largest { b.1.total_cmp(&a.1) } else { a.1.total_cmp(&b.1) });
        let (mut left, mut mean) = (1.0, 0.0);
        for (share, loss) in kinds {
            let now = (shift * share).min(left);
            left -= now;
            mean += now * loss;
        }
        mean
    }
}

fn claim(sense: Sense, limit: f64, evidence: Evidence) -> Claim {
    let (name, subject) = ("r".into(), String::new());
    Claim { name, subject, sense, limit, evidence: Some(evidence) }
}

/// What is certified of populations that changed by `shift`.
pub const CLAIMS: [&str; 5] =
    ["a rate, at most", "a rate, at least", "a mean, at most", "a difference", "Γ* of a rate"];

/// How often a number is CERTIFIED at `shift` to meet a limit that the worst population of that shift just misses; and last, how often
/// the worst population of shift Γ* misses the limit.
pub fn shifted(shift: f64, n: usize, delta: Delta, trials: u64) -> Vec<Tally> {
    let mut tallies = vec![Tally::default(); CLAIMS.len()];
    for trial in 0..trials {
        let mut stream = Stream::new(500 + n as u64, Purpose::View, trial, 0);
        let (one, other) = (Kinds::draw(&mut stream), Kinds::draw(&mut stream));
        let losses: Vec<f64> = (0..n).map(|_| one.loss(&mut stream)).collect();
        let hits = losses.iter().map(|loss| stream.uniform() < *loss);
        let rate = Evidence::Share(Count::of(hits.collect::<Vec<_>>()).unwrap());
        let right = match &rate {
            Evidence::Share(count) => Evidence::Share(count.complement()),
            _ => unreachable!(),
        };
        let method = Method::Betting;
        let mean = Evidence::Mean { values: Values::new(losses, 1.0).unwrap(), method };
        let pairs = (0..n).map(|row| match row % 2 {
            0 => [Some(one.loss(&mut stream)), None],
            _ => [None, Some(other.loss(&mut stream))],
        });
        let contrast = Evidence::Contrast(Contrast::new(pairs.collect(), 1.0).unwrap());
        let (most, hair) = (one.worst(shift, true), 1e-9);
        let gap = most - other.worst(shift, false);
        let claims = [
            claim(Sense::AtMost, most - hair, rate.clone()),
            claim(Sense::AtLeast, 1.0 - most + hair, right),
            claim(Sense::AtMost, most - hair, mean),
            claim(Sense::AtMost, gap - hair, contrast),
        ];
        for (tally, claim) in tallies.iter_mut().zip(&claims) {
            let found = Certificate::at_shifts(
                std::slice::from_ref(claim),
                &[shift],
                delta,
                Simultaneous::Holm,
            );
            tally.add(found.findings[0].verdict == Verdict::Certified, 0.0);
        }
        let claims = [claim(Sense::AtMost, 0.3, rate)];
        let found = Certificate::new(&claims, delta, Simultaneous::Holm);
        let carries = found.findings[0].still_true_if.as_ref().and_then(|still| still.shift);
        tallies[4].add(carries.is_some_and(|shift| one.worst(shift, true) > 0.3), 0.0);
    }
    tallies
}

/// How often bounds on selection rate and precision are wrong somewhere in a range of base rates, which is not that of the sample.
pub fn base_rates(n: usize, delta: Delta, trials: u64) -> [Tally; 4] {
    let mut tallies = [Tally::default(); 4];
    for trial in 0..trials {
        let mut stream = Stream::new(600 + n as u64, Purpose::View, trial, 0);
        let (recall, fall_out) = (stream.uniform(), 0.3 * stream.uniform());
        let low = 0.3 * stream.uniform();
        let share = (low, low + 0.2);
        let mut count = |rows: usize, rate: f64| {
            Count::of((0..rows).map(|_| stream.uniform() < rate).collect::<Vec<_>>()).unwrap()
        };
        let (of_class, of_others) = (count(n / 2, recall), count(n - n / 2, fall_out));
        let seen = ByClass { of_class, of_others, discoveries: false, one_minus: false, share };
        let precision = ByClass { discoveries: true, one_minus: true, ..seen };
        let selected = |share: f64| share * recall + (1.0 - share) * fall_out;
        let precise = |share: f64| share * recall / selected(share);
        let ends = [share.0, share.1];
        let most = |f: &dyn Fn(f64) -> f64| ends.map(f).into_iter().fold(f64::MIN, f64::max);
        let least = |f: &dyn Fn(f64) -> f64| ends.map(f).into_iter().fold(f64::MAX, f64::min);
        tallies[0].add(seen.upper(delta) < most(&selected), 0.0);
        tallies[1].add(seen.lower(delta) > least(&selected), 0.0);
        tallies[2].add(precision.upper(delta) < most(&precise), 0.0);
        tallies[3].add(precision.lower(delta) > least(&precise), 0.0);
    }
    tallies
}
