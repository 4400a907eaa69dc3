//! How large the losses of a problem are, so that a step of a multiplier means the same in every unit.
//!
//! A multiplier is a price: what the objective gains for a unit of the requirement. In a problem whose objective is of
//! size F and whose requirement is of size S it is of the order of F/S, whereas the rates of a recipe are for
//! losses of the order of 1, as those of classes are. So multipliers of problems that predict a number start at F/S times the usual
//! number, and a dual step is as many times as long. The size of a loss is its mean at the best constant prediction.

use feasible::loss::LossRows;
use feasible::{Loss, Targets};

use crate::units::OutputUnits;

/// The mean of a loss of numbers where everybody is predicted the mean of the targets; 1 for a loss of classes, and where the mean
/// is 0.
pub(crate) fn size(loss: &Loss, targets: &Targets) -> f64 {
    let Some(units) = OutputUnits::of(targets) else { return 1.0 };
    let rows = targets.len();
    // Between two views there is no constant prediction to compare: a change by a deviation counts as 1.
    if loss.compares_views() {
        return match loss {
            Loss::SquaredDistance => units.scale * units.scale,
            _ => 1.0,
        };
    }
    if loss.check(1, targets).is_err() {
        return 1.0;
    }
    // Of counts the output is the log of the expectation.
    let constant = match loss {
        Loss::Poisson => units.offset.max(f64::MIN_POSITIVE).ln(),
        _ => units.offset,
    };
    let (outputs, mut values) = (vec![constant; rows], vec![0.0; rows]);
    let samples: Vec<u32> = (0..rows as u32).collect();
    let (at, against) = (&outputs, &[][..]);
    let rows_of =
        LossRows { width: 1, at, against, targets, samples: &samples, positions: &samples };
    loss.values(rows_of, &mut values);
    let mean = values.iter().map(|value| value / rows.max(1) as f64).sum::<f64>();
    if mean.is_normal() && mean > 0.0 { mean } else { 1.0 }
}
