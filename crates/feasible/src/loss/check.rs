//! Does a loss fit the outputs and the targets?

use super::{Bounded, Coordinates, Loss};
use crate::samples::Targets;

impl Loss {
    /// Whether the loss fits `width` outputs and these targets.
    ///
    /// # Errors
    /// What was found and what to do, as the end of a sentence that starts with the loss's name.
    pub fn check(&self, width: usize, targets: &Targets) -> Result<(), String> {
        if width == 0 {
            return Err("needs outputs, but the model has none".into());
        }
        match self {
            Self::CrossEntropy | Self::Brier | Self::SmoothedError | Self::Error => {
                classes_below(width.max(2), targets)
            }
            Self::Logistic | Self::Hinge | Self::SquaredHinge => {
                one_output(width, "use cross-entropy for several classes")?;
                classes_below(2, targets)
            }
            Self::Squared | Self::Absolute => numbers(width, targets),
            Self::Huber { delta } => {
                if !(*delta > 0.0 && delta.is_finite()) {
                    return Err(format!("needs a finite delta above 0, found {delta}"));
                }
                numbers(width, targets)
            }
            Self::Quantile { tau } => {
                if !(*tau > 0.0 && *tau < 1.0) {
                    return Err(format!("needs a quantile between 0 and 1, found {tau}"));
                }
                numbers(width, targets)
            }
            Self::Poisson => {
                numbers(width, targets)?;
                counts(targets, 0..width)
            }
            Self::Coordinates(of) => of.check(width, targets),
            Self::Probability { class } | Self::Selected { class } => class_below(*class, width),
            Self::FalseDiscovery { class, rate } | Self::SmoothedFalseDiscovery { class, rate } => {
                if !(0.0..=1.0).contains(rate) {
                    return Err(format!("needs a rate between 0 and 1, found {rate}"));
                }
                class_below(*class, width)?;
                classes_below(width.max(2), targets)
            }
            Self::TotalVariation { smoothing } => {
                if *smoothing >= 0.0 && smoothing.is_finite() {
                    return Ok(());
                }
                Err(format!("needs a finite smoothing of at least 0, found {smoothing}"))
            }
            Self::Kl | Self::SymmetricKl | Self::SquaredDistance | Self::Flip => Ok(()),
            Self::Bounded(bounded) => bounded.check(width, targets),
            Self::Custom(loss) => loss.check(width, targets),
        }
    }
}

impl Bounded {
    fn check(&self, width: usize, targets: &Targets) -> Result<(), String> {
        self.loss.check(width, targets)?;
        let classes = width.max(2);
        let least = (classes as f64).ln();
        if self.floors() && self.bound <= least {
            return Err(format!(
                "needs a bound above ln {classes} = {least:.3}, the cross-entropy of a uniform guess \
                 among {classes} classes: raise the bound"
            ));
        }
        Ok(())
    }
}

fn outputs(width: usize) -> String {
    format!("{width} output{}", if width == 1 { "" } else { "s" })
}

fn class_below(class: u32, width: usize) -> Result<(), String> {
    let classes = width.max(2);
    if (class as usize) < classes {
        return Ok(());
    }
    Err(format!(
        "needs a class below {classes}, the number of classes of {}; found class {class}",
        outputs(width)
    ))
}

fn one_output(width: usize, instead: &str) -> Result<(), String> {
    if width == 1 {
        return Ok(());
    }
    Err(format!("needs a model with 1 output, found {width}: {instead}"))
}

fn numbers(width: usize, targets: &Targets) -> Result<(), String> {
    if let Targets::Vectors(y) = targets {
        return vectors(width, y.width());
    }
    one_output(width, "give the model one output")?;
    match targets {
        Targets::Values(_) | Targets::Vectors(_) => Ok(()),
        Targets::Classes(_) => {
            Err("needs numeric targets, found classes: give the targets as values, \
                                    or use a loss for classes such as cross-entropy"
                .into())
        }
    }
}

/// One output for each number of the targets.
fn vectors(width: usize, numbers: usize) -> Result<(), String> {
    if width == numbers {
        return Ok(());
    }
    Err(format!(
        "needs a model with {numbers}, one for each number of a target, found {width}: give the model as many",
        numbers = outputs(numbers)
    ))
}

/// Whether these numbers of the targets are at least 0.
fn counts(targets: &Targets, coordinates: impl Iterator<Item = usize>) -> Result<(), String> {
    let below = |y: f32, row: usize| {
        format!("needs counts of at least 0, found {y} in row {row}: use another loss")
    };
    match targets {
        Targets::Classes(_) => Ok(()),
        Targets::Values(y) => match y.iter().position(|y| *y < 0.0) {
            Some(row) => Err(below(y[row], row)),
            None => Ok(()),
        },
        Targets::Vectors(y) => {
            for at in coordinates {
                if let Some((row, y)) = y.coordinate(at).enumerate().find(|(_, y)| *y < 0.0) {
                    return Err(below(y, row));
                }
            }
            Ok(())
        }
    }
}

impl Coordinates {
    fn check(&self, width: usize, targets: &Targets) -> Result<(), String> {
        if let Some(last) = self.terms().iter().map(|of| of.index).max()
            && last >= width
        {
            let found = outputs(width);
            return Err(format!("is of output {last}, counted from 0, of a model with {found}"));
        }
        if self.loss().compares_views() {
            return Ok(());
        }
        let Targets::Vectors(y) = targets else {
            return Err("needs several numbers as targets: give the targets as vectors".into());
        };
        vectors(width, y.width())?;
        match self.loss() {
            Loss::Poisson => counts(targets, self.terms().iter().map(|of| of.index)),
            loss => loss.check(width, targets),
        }
    }
}

fn classes_below(classes: usize, targets: &Targets) -> Result<(), String> {
    match targets {
        Targets::Values(_) | Targets::Vectors(_) => {
            Err("needs class targets, found numbers: give the targets as classes, \
                                   or use a loss for numbers such as squared error"
                .into())
        }
        Targets::Classes(_) => match targets.last_class() {
            Some(class) if class as usize >= classes => Err(format!(
                "needs class targets below {classes}, found class {class}: number the classes from \
                 0, or give the model more outputs"
            )),
            _ => Ok(()),
        },
    }
}
