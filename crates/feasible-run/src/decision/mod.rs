//! Where the probability of the positive class is cut.
//!
//! The positive class is predicted where its probability is above a threshold t: where the contrast of the outputs,
//! z = f₁ − f₀ (or the one output), is above log(t/(1 − t)). The threshold is chosen after training, on
//! validation rows alone, and belongs to the model from then on. Losses of probabilities do not know it; rates,
//! predictions and flip rates are those of the decisions.

pub(crate) mod choose;

use std::collections::BTreeMap;

use feasible_data::{Table, visible};
use feasible_problem::spec::Maximise;
use feasible_problem::text::{grouped, percent, short};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Thresholds are kept this far from 0 and 1, as contrasts: e⁻²⁰ is 2e-9, and 1 minus it still has digits to tell rows apart.
pub(crate) const FARTHEST: f64 = 20.0;

/// A threshold, or one for each group, and what came of it on the validation rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// What it maximises.
    pub maximise: Maximise,
    /// The positive class.
    pub positive: String,
    /// That class is predicted where its probability is above this; in groups that have none of their own, too.
    pub threshold: f64,
    /// Thresholds of groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupThresholds>,
    /// Validation rows that it was chosen on.
    pub rows: usize,
    /// What it maximises, on these.
    pub reached: f64,
    /// The same at a threshold of 1/2.
    pub at_half: f64,
    /// Whether the rates that are required hold there, with their margins.
    pub met: bool,
    /// The requirement that is left to it: training does not see its limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
}

/// Thresholds of the categories of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupThresholds {
    /// The column.
    pub column: String,
    /// The threshold of each category.
    pub thresholds: BTreeMap<String, f64>,
}

impl Decision {
    /// Whether its thresholds are probabilities; what is wrong is a sentence.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let groups = self.groups.iter().flat_map(|groups| groups.thresholds.values());
        match groups.chain([&self.threshold]).find(|t| !(**t > 0.0 && **t < 1.0)) {
            Some(t) => Err(format!("its decision has the threshold {t}, not one between 0 and 1")),
            None => Ok(()),
        }
    }

    /// The contrast above which the positive class is predicted, for each of some rows.
    ///
    /// # Errors
    /// A table without the column that thresholds depend on.
    pub(crate) fn cuts(&self, table: &Table, rows: &[u32]) -> Result<Vec<f64>> {
        let common = contrast(self.threshold);
        let Some(groups) = &self.groups else { return Ok(vec![common; rows.len()]) };
        let column = table.column(&groups.column)?;
        let cut = |&row: &u32| {
            let category = column.text(row as usize);
            let own = category.and_then(|category| groups.thresholds.get(&category));
            own.map_or(common, |t| contrast(*t))
        };
        Ok(rows.iter().map(cut).collect())
    }

    /// In one sentence.
    pub fn to_text(&self) -> String {
        let threshold = match &self.groups {
            None => format!("above {}", short(self.threshold)),
            Some(groups) => {
                let each = groups.thresholds.iter();
                let each = each.map(|(name, t)| format!("{} above {}", visible(name), short(*t)));
                let each = each.collect::<Vec<_>>().join(", ");
                format!("above a threshold that depends on {} ({each})", visible(&groups.column))
            }
        };
        let met = match self.met {
            true => "",
            false => "; no threshold met the required rates there, and this one comes nearest",
        };
        format!(
            "Decision: '{}' where its probability is {threshold}. Chosen on the {} validation rows for {} \
             ({}, against {} at 0.5){met}.",
            visible(&self.positive),
            grouped(self.rows),
            self.maximise.name(),
            percent(self.reached),
            percent(self.at_half)
        )
    }
}

/// log(t/(1 − t)).
pub(crate) fn contrast(threshold: f64) -> f64 {
    (threshold / (1.0 - threshold)).ln()
}

/// 1/(1 + e⁻ᶻ).
pub(crate) fn probability(contrast: f64) -> f64 {
    1.0 / (1.0 + (-contrast).exp())
}

/// z of some outputs.
pub(crate) fn contrast_of(outputs: &[f32]) -> f64 {
    match outputs {
        [z] => f64::from(*z),
        [first, second, ..] => f64::from(*second) - f64::from(*first),
        [] => f64::NAN,
    }
}

/// Outputs whose arg max is the decision: of the positive class where z is above the cut.
pub(crate) fn decided(outputs: &[f32], width: usize, cuts: &[f64]) -> Vec<f32> {
    let mut decided = vec![0.0; outputs.len()];
    let rows = outputs.chunks_exact(width).zip(decided.chunks_exact_mut(width));
    for ((row, to), cut) in rows.zip(cuts) {
        if let Some(last) = to.last_mut() {
            // Not 0 in single precision unless it is 0: a difference of numbers of its size.
            *last = (contrast_of(row) - cut) as f32;
        }
    }
    decided
}
