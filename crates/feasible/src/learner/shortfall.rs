//! Why a training ended with a requirement that is not met: what was reached, what was reached best in any
//! epoch, and so what would help.
//!
//! Nothing is trained for it: every epoch is measured anyway, and the least violation of each requirement is
//! remembered.

use serde::{Deserialize, Serialize};

use crate::learner::progress::Progress;
use crate::measurement::Standing;
use crate::requirement::Sense;

/// A requirement that the returned model does not meet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shortfall {
    /// Its name.
    pub requirement: String,
    /// "At most" or "at least".
    pub sense: Sense,
    /// Its limit; the mean of the limits if they are per point.
    pub limit: f64,
    /// The mean of its loss for the returned model.
    pub value: f64,
    /// By how much it is violated: the worst point for a pointwise requirement.
    pub violation: f64,
    /// The share of points beyond the limit.
    pub violated: f64,
    /// The least violation of any epoch; not positive if it was met then.
    pub least_violation: f64,
    /// The epoch that was.
    pub least_epoch: u64,
    /// What would help.
    pub remedy: Remedy,
}

/// What would help a training that ended too early, or whose requirements are too strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// The violation was still falling at the end: more epochs, or a higher dual rate.
    MoreEpochs,
    /// It was met in some epoch, but never together with all others: relax this limit or another, or keep the
    /// best iterate.
    RelaxTogether,
    /// It was met in no epoch: relax its limit to what was reached, or use a richer model.
    RelaxOrEnrich,
}

/// The requirements that are not met, the worst relative to its limit first.
pub(crate) fn shortfalls(
    standings: &[Standing],
    progress: &Progress,
    epochs: u64,
) -> Vec<Shortfall> {
    let of = |(i, standing): (usize, &Standing)| {
        let (least_violation, least_epoch) =
            progress.least_violations.get(i).copied().unwrap_or((standing.worst_violation, epochs));
        // Still falling: the least violation was within the last tenth of the epochs.
        let recent = epochs - least_epoch.min(epochs) <= epochs / 10;
        let remedy = match (least_violation <= 0.0, recent && epochs > 1) {
            (true, _) => Remedy::RelaxTogether,
            (false, true) => Remedy::MoreEpochs,
            (false, false) => Remedy::RelaxOrEnrich,
        };
        Shortfall {
            requirement: standing.name.clone(),
            sense: standing.sense,
            limit: standing.limit,
            value: standing.value,
            violation: standing.worst_violation,
            violated: standing.violated,
            least_violation,
            least_epoch,
            remedy,
        }
    };
    let unmet = standings.iter().enumerate().filter(|(_, standing)| !standing.met);
    let mut shortfalls: Vec<Shortfall> = unmet.map(of).collect();
    let beside = |s: &Shortfall| s.violation / s.limit.abs().max(f64::MIN_POSITIVE.sqrt());
    shortfalls.sort_by(|a, b| beside(b).total_cmp(&beside(a)));
    shortfalls
}
