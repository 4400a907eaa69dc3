//! Fitting numbers: mean and standard deviation, pieces, or bins.

use super::Encoding;
use super::fit_categories::most;
use super::piecewise::{knots_and_atoms, suits};
use crate::bins::bin_of;
use crate::error::{Error, Result};
use crate::numbers::Numbers;
use crate::preprocessing::{Bins, MISSING_CATEGORY, Missing};

/// What becomes of a number.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum NumberSteps {
    /// Nothing.
    Plain,
    Standardise,
    Piecewise,
    /// Piecewise where the values suit it, else standardised.
    Choose,
}

pub(super) fn fit_number(
    name: &str,
    values: &Numbers,
    rows: &[u32],
    steps: NumberSteps,
    missing: Missing,
    absent: bool,
) -> Result<Encoding> {
    let mut present = present(values, rows);
    let wrong = |reason: &str| Error::Preprocessing {
        step: "standardise".into(),
        column: name.into(),
        reason: reason.into(),
    };
    if present.is_empty() {
        return Err(wrong("every training row's value is missing: drop the column"));
    }
    let standardise = steps != NumberSteps::Plain;
    let constant = present.iter().all(|&x| x == present[0]);
    let count = present.len() as f64;
    // Divided before it is summed, so that large values do not overflow.
    let mean = present.iter().map(|x| x / count).sum::<f64>();
    let variance = present.iter().map(|x| (x - mean) * ((x - mean) / count)).sum::<f64>();
    let scalable = variance.is_finite() || steps != NumberSteps::Standardise;
    if standardise && !(mean.is_finite() && scalable) {
        return Err(wrong("its values are too large for a standard deviation: bin or drop it"));
    }
    let (centre, sd) = match (constant, standardise) {
        (true, _) => (present[0], 0.0),
        (false, true) => (mean, variance.sqrt()),
        (false, false) => (0.0, 1.0),
    };
    let (fill, indicator) = match missing {
        Missing::Reject => (None, false),
        // New rows may lack what every training row has; an indicator would never have been trained.
        Missing::Category => (Some(if standardise { centre } else { mean }), absent),
        Missing::Impute => {
            present.sort_unstable_by(f64::total_cmp);
            let (low, high) = (present[(present.len() - 1) / 2], present[present.len() / 2]);
            (Some(low / 2.0 + high / 2.0), false)
        }
    };
    let pieces = match steps {
        NumberSteps::Plain | NumberSteps::Standardise => false,
        NumberSteps::Piecewise => true,
        NumberSteps::Choose => !variance.is_finite() || suits(&present, centre, sd),
    };
    if pieces && !constant {
        present.sort_unstable_by(f64::total_cmp);
        let (knots, atoms) = knots_and_atoms(&present);
        return Ok(Encoding::Piecewise { knots, atoms, missing: fill, indicator });
    }
    Ok(Encoding::Number { mean: centre, sd, missing: fill, indicator })
}

fn present(values: &Numbers, rows: &[u32]) -> Vec<f64> {
    rows.iter().map(|&row| values.get(row as usize)).filter(|x| !x.is_nan()).collect()
}

pub(super) fn fit_bins(
    name: &str,
    values: &Numbers,
    rows: &[u32],
    bins: &Bins,
    missing: Missing,
) -> Result<Encoding> {
    let present = present(values, rows);
    let absent = present.len() < rows.len();
    let (edges, mut categories) = bins.fit(name, present.clone())?;
    let mut counts = vec![0; categories.len()];
    for &x in &present {
        counts[bin_of(&edges, x) as usize] += 1;
    }
    let usual = categories[most(&counts)].clone();
    let missing = match missing {
        Missing::Reject => None,
        Missing::Category => Some(MISSING_CATEGORY.to_string()),
        Missing::Impute => Some(usual.clone()),
    };
    if absent && missing.as_deref() == Some(MISSING_CATEGORY) {
        categories.push(MISSING_CATEGORY.to_string());
    }
    Ok(Encoding::Bins { edges, categories, usual, missing })
}
