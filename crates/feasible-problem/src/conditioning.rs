//! How large the losses of a problem are, so that a step of a multiplier means the same in every unit.
//!
//! A multiplier is a price: what the objective gains for a unit of the requirement. In a problem whose objective is of
//! size F and whose requirement is of size S it is of the order of F/S, whereas the rates of a recipe are for
//! losses of the order of 1, as those of classes are. So multipliers of problems that predict a number start at F/S times the usual
//! number, and a dual step is as many times as long. The size of a loss is its mean at the best constant prediction.

use feasible::loss::LossRows;
use feasible::{Loss, Targets};

use crate::units::{OutputUnit, OutputUnits};

/// The mean of a loss of numbers where everybody is predicted the mean of the targets; 1 for a loss of classes, and where the mean
/// is 0.
pub(crate) fn size(loss: &Loss, targets: &Targets) -> f64 {
    let Some(units) = OutputUnits::of(targets) else { return 1.0 };
    let (units, rows) = (units.each(), targets.len());
    let of_each = match loss {
        Loss::Coordinates(of) => of.loss(),
        loss => loss,
    };
    // Between two views there is no constant prediction to compare: a change by a deviation counts as 1.
    if loss.compares_views() {
        return match (loss, of_each) {
            (Loss::Coordinates(of), Loss::SquaredDistance) => {
                let scale = |at: usize| units.get(at).map_or(1.0, |unit| unit.scale);
                of.terms().iter().map(|of| of.weight * (scale(of.index) / of.unit).powi(2)).sum()
            }
            (Loss::SquaredDistance, _) => units.iter().map(|unit| unit.scale * unit.scale).sum(),
            _ => 1.0,
        };
    }
    let width = units.len();
    if loss.check(width, targets).is_err() {
        return 1.0;
    }
    // Of counts the output is the log of the expectation.
    let constant = |unit: &OutputUnit| match of_each {
        Loss::Poisson => unit.offset.max(f64::MIN_POSITIVE).ln(),
        _ => unit.offset,
    };
    let row: Vec<f64> = units.iter().map(constant).collect();
    let (outputs, mut values) = (row.repeat(rows), vec![0.0; rows]);
    let samples: Vec<u32> = (0..rows as u32).collect();
    let (at, against) = (&outputs, &[][..]);
    let rows_of = LossRows { width, at, against, targets, samples: &samples, positions: &samples };
    loss.values(rows_of, &mut values);
    let mean = values.iter().map(|value| value / rows.max(1) as f64).sum::<f64>();
    if mean.is_normal() && mean > 0.0 { mean } else { 1.0 }
}
