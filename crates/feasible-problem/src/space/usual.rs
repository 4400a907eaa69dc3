//! What is searched where the file does not say: around the settings that the file and the recipe give.
//!
//! | model | key | values |
//! | --- | --- | --- |
//! | all | `training.rate`, `training.dual.rate` | a tenth to ten times |
//! | all | `objective.weight_decay` | a thirtieth to thirty times |
//! | all | `training.batch_size` | a half, once, twice |
//! | `mlp` | `model.hidden` | 1 to 2 layers of 32 to 256; 1 where networks are averaged |
//! | `mlp` | `model.activation` | sigmoid, relu, silu, and that of the file; not where networks are averaged, which are compared anyway |
//! | `kernel` | `model.gamma` | a tenth to ten times |
//! | `kernel` | `model.centres` | a half, once, twice |
//!
//! A dual rate of all requirements is searched only where none has a dual optimiser of its own: those of the recipe for
//! invariances are in proportion to their limits.

use toml::Value;

use super::{Space, Values, rounded};
use crate::plan::Plan;
use crate::recipe;
use crate::settings::ModelSettings;
use crate::spec::{ModelKind, Recipe};

/// The smallest batch that is tried.
const SMALLEST_BATCH: usize = 8;

impl Space {
    /// The usual space of a plan.
    pub fn usual(plan: &Plan) -> Self {
        let (spec, settings, rows) = (plan.spec(), plan.settings(), plan.data().train.len());
        let mut keys: Vec<(String, Values)> = Vec::new();
        let mut key = |name: &str, values: Values| keys.push((name.to_string(), values));
        let images = spec.data.is_images();
        let decay = match settings.weight_decay {
            0.0 => {
                let size = plan.objective_size();
                recipe::weight_decay(Recipe::Feasible, ModelKind::Mlp, false, rows, size)
            }
            given => given,
        };
        around(decay, 30.0).into_iter().for_each(|values| key("objective.weight_decay", values));
        if let Some(first_order) = settings.training.learner.first_order() {
            around(first_order.rate, 10.0)
                .into_iter()
                .for_each(|values| key("training.rate", values));
            let own = |requirement: &crate::spec::RequirementSpec| requirement.dual.is_some();
            if !spec.requirements.is_empty() && !spec.requirements.iter().any(own) {
                let rates = around(first_order.dual.rate, 10.0);
                rates.into_iter().for_each(|values| key("training.dual.rate", values));
            }
            let most = rows.max(SMALLEST_BATCH);
            key("training.batch_size", doubled(first_order.batch_size, SMALLEST_BATCH, most));
        }
        match spec.model.settings(plan.data().encoder.width()) {
            ModelSettings::Mlp { hidden, .. } if !images => {
                let layers = |widths: &[usize]| -> Value {
                    widths.iter().map(|&n| n as i64).collect::<Vec<_>>().into()
                };
                let usual: [&[usize]; 6] = [&[32], &[64], &[128], &[256], &[64, 64], &[128, 128]];
                // Only networks with one hidden layer are averaged.
                let can_be = usual.into_iter().filter(|of| plan.folds() == 1 || of.len() == 1);
                key("model.hidden", with(layers(&hidden), can_be.map(layers).collect()));
                // Where networks are averaged, their nonlinearities are compared anyway.
                if plan.folds() == 1 || plan.other_activations().is_empty() {
                    let name = Value::try_from(spec.model.activation).ok();
                    let usual = ["sigmoid", "relu", "silu"].map(Value::from).to_vec();
                    key("model.activation", with(name.unwrap_or_else(|| usual[0].clone()), usual));
                }
            }
            ModelSettings::Kernel { kernel, centres, .. } => {
                if let feasible_nn::Kernel::Rbf { gamma } = kernel {
                    around(gamma, 10.0).into_iter().for_each(|values| key("model.gamma", values));
                }
                key("model.centres", doubled(centres, 1, rows.max(1)));
            }
            _ => {}
        }
        Self::new(keys)
    }
}

/// From a positive number divided by a factor to the number times it.
fn around(x: f64, factor: f64) -> Option<Values> {
    let (from, to) = (rounded(x / factor), rounded(x * factor));
    let range = from > 0.0 && to.is_finite() && from < to;
    range.then_some(Values::Range { from, to, log: true, whole: false })
}

/// Half of a number, the number and twice it, as far as they are allowed.
fn doubled(n: usize, least: usize, most: usize) -> Values {
    let mut list: Vec<i64> =
        [n / 2, n, n.saturating_mul(2)].iter().map(|&n| n.clamp(least, most) as i64).collect();
    list.dedup();
    Values::OneOf(list.into_iter().map(Value::Integer).collect())
}

/// A list with one more value, unless it has it.
fn with(value: Value, mut list: Vec<Value>) -> Values {
    if !list.contains(&value) {
        list.insert(0, value);
    }
    Values::OneOf(list)
}
