//! From the name of a rate to losses.
//!
//! What a rate is made of. With c the class that counts as positive:
//!
//! | rate | is |
//! | --- | --- |
//! | selection, tpr, fpr | P(predicted c), among y = c, among y ≠ c |
//! | fnr | P(predicted another class) among y = c |
//! | specificity | 1 − fpr |
//! | precision ≥ p | E\[ 1\[predicted c\] (1\[y ≠ c\] − r) \] ≤ 0, r = 1 − p: see [`Loss::FalseDiscovery`] |
//! | npv | the precision of the other class |

use feasible::{Loss, Population, Targets};
use feasible_data::{TargetEncoder, visible};

use crate::error::Result;
use crate::spec::{DecisionSpec, ProblemSource, Rate, RequirementSpec, Spec};
use crate::text::grouped;

/// The samples of a class, or all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// y = c.
    Class(u32),
    /// y ≠ c.
    Others(u32),
}

impl Among {
    pub(crate) fn has(self, y: u32) -> bool {
        match self {
            Self::Class(class) => y == class,
            Self::Others(class) => y != class,
        }
    }
}

/// Refuses what depends on which of two classes is positive where neither the file nor the names of the classes say.
///
/// # Errors
/// The first such key, with both classes.
pub(crate) fn check_positive(
    source: &ProblemSource,
    spec: &Spec,
    expanded: &[(usize, RequirementSpec)],
    target: &TargetEncoder,
    targets: &Targets,
) -> Result<()> {
    let (Some([first, second]), Targets::Classes(y)) = (target.classes(), targets) else {
        return Ok(());
    };
    if spec.data.positive.is_some() || target.implies_positive() {
        return Ok(());
    }
    let depends =
        |one: &RequirementSpec| one.class.is_none() && one.rate.is_some_and(Rate::is_of_class);
    let key = match expanded.iter().find(|(_, one)| depends(one)) {
        Some((from, _)) => {
            let of_rate = spec.requirements.get(*from).is_some_and(|one| one.rate.is_some());
            format!("requirement[{from}].{}", if of_rate { "rate" } else { "fairness" })
        }
        None if spec.decision.as_ref().is_some_and(DecisionSpec::chooses) => "decision".into(),
        None => return Ok(()),
    };
    let seconds = y.iter().filter(|&&class| class == 1).count();
    let counted = [(first, y.len() - seconds), (second, seconds)];
    let rarer = if seconds < y.len() - seconds { second } else { first };
    let [a, b] =
        counted.map(|(class, rows)| format!("'{}' ({} rows)", visible(class), grouped(rows)));
    // Of images, classes are only named by what is required of them.
    let line = match (spec.data.is_images(), key == "decision") {
        (true, false) => format!("class = {:?} in the requirement", visible(rarer)),
        (true, true) => return Ok(()),
        (false, _) => format!("positive = {:?} under [data]", visible(rarer)),
    };
    let message = format!(
        "depends on which class is positive, {a} or {b}, and the file does not say: write {line}, or the other class"
    );
    Err(source.at(&key, message))
}

/// The share of a class in a population, but never 0.
pub(crate) fn share_of(class: u32, population: &Population) -> f64 {
    let Targets::Classes(y) = population.samples().targets() else { return 1.0 };
    let of_class = population.rows().filter(|&row| y[row as usize] == class).count();
    of_class.max(1) as f64 / population.len().max(1) as f64
}

/// What a rate is made of.
pub(crate) struct RateLosses {
    /// The smooth surrogate.
    pub(crate) loss: Loss,
    /// The true loss.
    pub(crate) measure: Option<Loss>,
    /// Whose samples.
    pub(crate) class: Option<Among>,
    /// Whether the rate is 1 minus the average.
    pub(crate) complement: bool,
}

impl RateLosses {
    /// Surrogate, true loss and whose samples.
    ///
    /// # Errors
    /// A rate that the target does not have; a class that does not exist; keys that do not go together.
    pub(crate) fn of(
        source: &ProblemSource,
        key: &impl Fn(&str) -> String,
        rate: Rate,
        spec: &RequirementSpec,
        target: &TargetEncoder,
    ) -> Result<Self> {
        let wrong = |name: &str, message: &str| Err(source.at(&key(name), message));
        let Some(classes) = target.classes() else {
            return wrong("rate", "rates are about classes, but a number is predicted: use a loss");
        };
        let two = classes.len() == 2;
        let c = match &spec.class {
            Some(_) if matches!(rate, Rate::Error | Rate::Accuracy) => {
                let message = "has no effect: an error rate is about all classes. Remove it, or use rate = \"recall\"";
                return wrong("class", message);
            }
            Some(name) => match classes.iter().position(|class| class == name) {
                Some(class) => class as u32,
                None => {
                    let error = feasible_data::Error::UnknownCategory {
                        column: target.column().to_string(),
                        category: name.clone(),
                        nearest: feasible_data::nearest(name, classes.iter().map(String::as_str)),
                        known: classes.to_vec(),
                    };
                    return Err(source.about(&key("class"), error));
                }
            },
            None if !two && !matches!(rate, Rate::Error | Rate::Accuracy) => {
                let message = "needs two classes, or the one it is about: class = \"…\"; error and accuracy are about all classes";
                return wrong("rate", message);
            }
            None => 1,
        };
        let (predicted, other) =
            (Loss::Probability { class: c }, Loss::Probability { class: 1 - c.min(1) });
        let of = |loss: Loss, measure: Loss, class, complement| {
            Ok(Self { loss, measure: Some(measure), class, complement })
        };
        let selected = Loss::Selected { class: c };
        match rate {
            Rate::Selection => of(predicted, selected, None, false),
            Rate::Tpr => of(predicted, selected, Some(Among::Class(c)), false),
            Rate::Fpr if two => of(predicted, selected, Some(Among::Class(1 - c)), false),
            Rate::Fpr => of(predicted, selected, Some(Among::Others(c)), false),
            // With two classes, what is not predicted c is predicted the other one.
            Rate::Fnr if two => {
                of(other, Loss::Selected { class: 1 - c }, Some(Among::Class(c)), false)
            }
            Rate::Fnr => of(Loss::SmoothedError, Loss::Error, Some(Among::Class(c)), false),
            Rate::Specificity if two => {
                of(other, Loss::Selected { class: 1 - c }, Some(Among::Class(1 - c)), false)
            }
            Rate::Specificity => of(predicted, selected, Some(Among::Others(c)), true),
            Rate::Precision | Rate::Npv => {
                if rate == Rate::Npv && !two {
                    let message =
                        "needs two classes; of several, the precision of each can be required";
                    return wrong("rate", message);
                }
                if spec.within.is_some() || spec.against.is_some() {
                    let name = if spec.against.is_some() { "against" } else { "within" };
                    let message = format!(
                        "a rate over predictions such as {} is a ratio, and differences of ratios are not averages: give each \
                         group a limit of its own (`groups` with at_least)",
                        rate.name()
                    );
                    return wrong(name, &message);
                }
                if spec.measured_by.is_some() {
                    let message = format!("{} has its own measure. Remove it", rate.name());
                    return wrong("measured_by", &message);
                }
                let limit = spec.at_least.or(spec.at_most).unwrap_or(0.5);
                let (name, inside) = (
                    if spec.at_least.is_some() { "at_least" } else { "at_most" },
                    limit > 0.0 && limit < 1.0,
                );
                // Limits that make no sense at all have a better message below.
                if !inside && (0.0..=1.0).contains(&limit) {
                    let message = format!(
                        "{limit} is not a limit of a {}: give one between 0 and 1",
                        rate.name()
                    );
                    return wrong(name, &message);
                }
                let class = if rate == Rate::Npv { 1 - c } else { c };
                let rate = (1.0 - limit).clamp(0.0, 1.0);
                let smooth = Loss::SmoothedFalseDiscovery { class, rate };
                of(smooth, Loss::FalseDiscovery { class, rate }, None, true)
            }
            Rate::Error => of(Loss::SmoothedError, Loss::Error, None, false),
            Rate::Accuracy => of(Loss::SmoothedError, Loss::Error, None, true),
        }
    }
}
