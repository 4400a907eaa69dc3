//! Which of the points an attack passes is the worst for a requirement: the one where the requirement's own
//! loss is largest (smallest, for "at least"), sample by sample.
//!
//! Training may climb a cross-entropy for a few steps and take the last point. A verdict may not: it keeps, of
//! x itself and of every point of every run, the worst of the loss that it is about.

use serde::{Deserialize, Serialize};

use crate::adaptive::Probe;
use crate::adversary::goal::Value;
use crate::loss::{Loss, LossRows};
use crate::requirement::Sense;

/// The loss of a requirement, as an attack sees it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Judge {
    /// What is climbed instead of the attack's own loss, if anything.
    pub(super) climb: Option<Loss>,
    measure: Loss,
    sense: Sense,
}

/// Memory of a judge.
#[derive(Debug, Default)]
pub(super) struct Bench {
    /// The outputs at x of every position, for losses between views.
    here: Vec<f32>,
    at: Vec<f32>,
    samples: Vec<u32>,
    positions: Vec<u32>,
    values: Vec<f32>,
    spare: Vec<f32>,
}

impl Judge {
    /// Of a requirement that follows `loss`, is measured by `measure` and has this sense.
    ///
    /// Losses of the right answer grow where the attack's own loss does, which is climbed. Others, between x and
    /// x + δ or of one class whatever the answer, are climbed themselves; so are those that are at least something.
    pub fn new(loss: &Loss, measure: &Loss, sense: Sense) -> Self {
        let plain = match loss {
            Loss::Bounded(bounded) => bounded.loss(),
            loss => loss,
        };
        let own = plain.compares_views()
            || matches!(plain, Loss::Probability { .. } | Loss::Custom(_))
            || sense == Sense::AtLeast;
        Self { climb: own.then(|| loss.clone()), measure: measure.clone(), sense }
    }

    /// Whether what is climbed grows to both sides of x, as a distance does: every second run then begins
    /// opposite to where the one before ended.
    pub(super) fn has_two_sides(&self) -> bool {
        self.climb.as_ref().is_some_and(Loss::compares_views)
    }

    /// Whether two judges judge alike.
    pub fn is_same(&self, other: &Self) -> bool {
        let same = |a: &Option<Loss>, b: &Option<Loss>| match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => a.is_same(b),
            _ => false,
        };
        self.sense == other.sense
            && self.measure.is_same(&other.measure)
            && same(&self.climb, &other.climb)
    }

    /// Remembers the outputs at x, where a loss compares them with others.
    pub(super) fn begin(&self, probe: &mut dyn Probe, d: usize, bench: &mut Bench) {
        let losses = self.climb.iter().chain([&self.measure]);
        if losses.into_iter().any(Loss::compares_views) {
            let zeros = vec![0.0; probe.rows().len() * d];
            bench.here.clear();
            bench.here.extend_from_slice(probe.outputs(&zeros));
        }
    }

    /// Ranks the active positions by what is measured; where a loss of its own is climbed, its values and
    /// seeds take the place of the attack's.
    pub(super) fn judge(
        &self,
        (outputs, width): (&[f32], usize),
        probe: &dyn Probe,
        active: &[u32],
        bench: &mut Bench,
        values: &mut [Value],
        seeds: &mut [f32],
    ) {
        let Bench { here, at, samples, positions, values: own, spare } = bench;
        samples.clear();
        samples.extend(active.iter().map(|&p| probe.rows()[p as usize]));
        positions.clear();
        positions.extend(0..active.len() as u32);
        if !here.is_empty() {
            at.clear();
            for &p in active {
                at.extend_from_slice(&here[p as usize * width..(p as usize + 1) * width]);
            }
        }
        let targets = probe.samples().targets();
        let rows = |loss: &Loss| {
            let (at, against) =
                if loss.compares_views() { (&at[..], outputs) } else { (outputs, &[][..]) };
            LossRows { width, at, against, targets, samples, positions }
        };
        let sign = self.sense.sign() as f32;
        own.clear();
        own.resize(active.len(), 0.0);
        if let Some(loss) = &self.climb {
            let weights = vec![sign; active.len()];
            seeds.fill(0.0);
            if loss.compares_views() {
                spare.clear();
                spare.resize(seeds.len(), 0.0);
                loss.seeds(rows(loss), &weights, own, spare, seeds);
            } else {
                loss.seeds(rows(loss), &weights, own, seeds, &mut []);
            }
            for (value, &loss) in values.iter_mut().zip(&*own) {
                *value = Value { rank: 0.0, loss: sign * loss, won: false };
            }
        }
        self.measure.values(rows(&self.measure), own);
        for (value, &measured) in values.iter_mut().zip(&*own) {
            // Nothing is worse than no number. Nobody sits out: what is larger than enough may be larger still.
            let rank = if measured.is_nan() { f32::INFINITY } else { sign * measured };
            (value.rank, value.won) = (rank, false);
        }
    }
}
