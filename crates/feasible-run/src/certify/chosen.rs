//! A model that was chosen from a ladder with the very rows that certify it.
//!
//! Fixed-sequence testing proves that the model which was taken meets its requirements, all of them at once, with
//! probability at least 1 − δ. It proves no bound, no p-value and no flip rate of that model: each of these holds
//! with probability 1 − δ for every rung, and the choice may fall on a rung for which it does not.

use feasible::certificate::{Certificate, StillTrue, Verdict};
use feasible_problem::spec::CertifySpec;

use super::{Certification, RunRecord};
use crate::error::{Error, Result};

impl Certification {
    /// Only what is proven of a model that was taken after the rungs before it were `tested`, itself the last
    /// of them. The p-value is that of the whole sequence: the largest.
    pub(crate) fn chosen_after(mut self, tested: &[&Certificate]) -> Self {
        self.chosen = true;
        self.flip_rates.clear();
        let p = tested.iter().map(|rung| rung.largest_p()).fold(0.0, f64::max);
        for finding in &mut self.certificate.findings {
            (finding.bound, finding.opposite, finding.rows_needed) = (None, None, None);
            (finding.p, finding.verdict) = (p, Verdict::Certified);
            // No bound, so none that could be carried elsewhere.
            let still = finding.still_true_if.take().unwrap_or_default();
            finding.still_true_if = Some(StillTrue { shift: None, ..still });
        }
        self
    }
}

/// What the reserve of a run proves about a model that was chosen with it; `None` for any other run.
///
/// # Errors
/// Settings that are not those of the ladder: the choice would have been another.
pub(crate) fn on_reserve(
    record: &RunRecord,
    settings: &CertifySpec,
) -> Result<Option<Certification>> {
    let ended = &record.model().manifest().training;
    let Some(certificate) =
        ended.certificate.as_ref().filter(|c| ended.ladder.is_some() && c.chosen)
    else {
        return Ok(None);
    };
    if settings.filled() != record.settings().filled() {
        return Err(Error::unfit(
            "certificate",
            "the model was chosen from a ladder with the reserved rows, under the settings of the problem \
             file, and they prove nothing at others: give a table of rows that were not used, or change \
             `certify` in the problem file and train again",
        ));
    }
    Ok(Some(certificate.clone()))
}
