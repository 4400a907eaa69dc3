//! A key that has no effect is an error: what a file says happens, and what is recorded counted.
//!
//! | key | has an effect for |
//! | --- | --- |
//! | `model.hidden`, `activation` | `mlp` |
//! | `model.centres`, `seed`; `gamma` or `degree`; `offset` with `degree` | `kernel` |
//! | `model.width` | `resnet18` |
//! | `model.normalise` | `cnn`, `resnet18` |
//! | `training.batch_size`, `shuffle`, `optimiser`, `rate`, `schedule`; `dual` but for its `rate` | `alternating`, `simultaneous` |
//! | `training.momentum` | `sgd` |
//! | `training.measure_on` | `simultaneous` |
//! | `dual.beta1`, `beta2` | `adam` |
//! | `dual.proportional`, `nu` | `nu-pi` |
//! | `dual.every` | `training.dual`, not that of a requirement |
//! | `data.directory`, `data.format` | a named set, a table of one's own |
//! | `evaluation.attack` | problems with an adversary |
//!
//! Where an override chooses another model or learner than the file, keys of the file that were meant for
//! the other one are left out instead.

use super::model::ModelKind;
use super::training::{DualMethodName, DualSpec, LearnerName, OptimiserName};
use super::{ProblemSource, Spec};
use crate::error::Result;
use crate::recipe::{self, Circumstances};

/// Refuses, or leaves out, keys without effect. `spec` is as the file gives it, before defaults.
///
/// # Errors
/// The first such key, with where it applies.
pub(crate) fn check(source: &ProblemSource, spec: &mut Spec) -> Result<()> {
    let unknown = |name: &String| feasible_data::DataSet::named(name).is_err();
    if !spec.data.is_images() && spec.data.source.as_ref().is_some_and(unknown) {
        // Whether tables or images are meant is not known: a better error follows.
        return Ok(());
    }
    model(source, spec)?;
    training(source, spec)?;
    requirements(source, spec)?;
    data(source, spec)
}

/// A key that is given to no effect, unless an override of `chosen` is why: then it goes.
fn without_effect<T>(
    source: &ProblemSource,
    (section, key): (&str, &str),
    value: &mut Option<T>,
    chosen: Option<&str>,
    reason: &str,
) -> Result<()> {
    if value.is_none() {
        return Ok(());
    }
    let path = format!("{section}.{key}");
    if chosen.is_some_and(|chosen| source.overrides_set(chosen)) && !source.overrides_set(&path) {
        *value = None;
        return Ok(());
    }
    Err(source.at(&path, format!("has no effect: {reason}. Remove it")))
}

fn model(source: &ProblemSource, spec: &mut Spec) -> Result<()> {
    use ModelKind::{Auto, Cnn, Kernel, Mlp, Resnet18};
    let model = &mut spec.model;
    let kind = model.kind;
    let name = toml::Value::try_from(kind).ok();
    let name = name.as_ref().and_then(toml::Value::as_str).unwrap_or_default();
    macro_rules! only {
        ($($key:ident: $($kinds:path),+;)*) => {$(
            if ![$($kinds),+].contains(&kind) {
                let of = match stringify!($key) {
                    "hidden" | "activation" => "\"mlp\"",
                    "width" => "\"resnet18\"",
                    "normalise" => "\"cnn\" and \"resnet18\"",
                    _ => "\"kernel\"",
                };
                let reason = format!("it is for kind = {of}, and the model is \"{name}\"");
                let key = ("model", stringify!($key));
                without_effect(source, key, &mut model.$key, Some("model.kind"), &reason)?;
            }
        )*};
    }
    only! {
        hidden: Auto, Mlp;
        activation: Auto, Mlp;
        centres: Kernel;
        gamma: Kernel;
        degree: Kernel;
        offset: Kernel;
        seed: Kernel;
        width: Resnet18;
        normalise: Cnn, Resnet18;
    }
    if model.degree.is_some() {
        let reason =
            "gamma belongs to the kernel exp(−γ‖x − z‖²), and `degree` makes it a polynomial";
        without_effect(source, ("model", "gamma"), &mut model.gamma, None, reason)?;
    } else {
        let reason = "offset belongs to the polynomial kernel, which `degree` selects";
        without_effect(source, ("model", "offset"), &mut model.offset, None, reason)?;
    }
    Ok(())
}

fn training(source: &ProblemSource, spec: &mut Spec) -> Result<()> {
    let settings = recipe::settings(&spec.training, Circumstances::of(spec));
    let training = &mut spec.training;
    let chosen = Some("training.learner");
    let section = "training";
    let first_order = settings.learner.first_order();
    if first_order.is_none() {
        let reason = "the exact learner minimises over all rows by a method of its own";
        without_effect(source, (section, "shuffle"), &mut training.shuffle, chosen, reason)?;
        without_effect(source, (section, "batch_size"), &mut training.batch_size, chosen, reason)?;
        without_effect(source, (section, "optimiser"), &mut training.optimiser, chosen, reason)?;
        without_effect(source, (section, "rate"), &mut training.rate, chosen, reason)?;
        without_effect(source, (section, "momentum"), &mut training.momentum, chosen, reason)?;
        without_effect(source, (section, "schedule"), &mut training.schedule, chosen, reason)?;
    } else if first_order.map(|of| of.optimiser.name()) != Some(OptimiserName::Sgd) {
        let reason = "momentum belongs to optimiser = \"sgd\"";
        let chosen = Some("training.optimiser");
        without_effect(source, (section, "momentum"), &mut training.momentum, chosen, reason)?;
    }
    if !first_order.is_some_and(|of| of.simultaneous) {
        let reason = "every epoch of another learner than \"simultaneous\" is measured on all rows";
        without_effect(source, (section, "measure_on"), &mut training.measure_on, chosen, reason)?;
    }
    if let Some(given) = &mut training.dual {
        let method = match first_order {
            Some(of) => Some(of.dual.method.name()),
            None => given.method,
        };
        dual(source, "training.dual", given, method)?;
    }
    Ok(())
}

/// Keys of a dual optimiser; the exact learner has no method.
fn dual(
    source: &ProblemSource,
    section: &str,
    given: &mut DualSpec,
    method: Option<DualMethodName>,
) -> Result<()> {
    let chosen = Some(format!("{section}.method"));
    let chosen = chosen.as_deref();
    if method != Some(DualMethodName::Adam) {
        let reason = "it belongs to method = \"adam\"";
        without_effect(source, (section, "beta1"), &mut given.beta1, chosen, reason)?;
        without_effect(source, (section, "beta2"), &mut given.beta2, chosen, reason)?;
    }
    if method != Some(DualMethodName::NuPi) {
        let reason = "it belongs to method = \"nu-pi\"";
        without_effect(source, (section, "proportional"), &mut given.proportional, chosen, reason)?;
        without_effect(source, (section, "nu"), &mut given.nu, chosen, reason)?;
    }
    Ok(())
}

fn requirements(source: &ProblemSource, spec: &mut Spec) -> Result<()> {
    let images = spec.data.is_images();
    let settings = recipe::settings(&spec.training, Circumstances::of(spec));
    let exact = settings.learner.name() == LearnerName::Exact;
    let (recipe, chosen) = (spec.training.recipe, Some("training.learner"));
    if let Some(given) = spec.training.dual.as_mut().filter(|_| exact) {
        let reason = "of a dual optimiser the exact learner takes the rate alone (Algorithm 1), and \
                      moves the multipliers by proximal steps without one";
        let section = "training.dual";
        without_effect(source, (section, "method"), &mut given.method, chosen, reason)?;
        without_effect(source, (section, "every"), &mut given.every, chosen, reason)?;
        without_effect(source, (section, "schedule"), &mut given.schedule, chosen, reason)?;
        if *given == DualSpec::default() {
            spec.training.dual = None;
        }
    }
    for (at, requirement) in spec.requirements.iter_mut().enumerate() {
        let section = format!("requirement[{at}]");
        if exact {
            let reason = "the exact learner moves all multipliers in the same way";
            without_effect(source, (&section, "dual"), &mut requirement.dual, chosen, reason)?;
        }
        let section = format!("{section}.dual");
        if let Some(given) = &mut requirement.dual {
            let method = recipe::dual(recipe, images, given, settings.epochs, false).method.name();
            dual(source, &section, given, Some(method))?;
            let reason = "all multipliers move at once, as often as training.dual sets";
            without_effect(source, (&section, "every"), &mut given.every, None, reason)?;
        }
    }
    if spec.requirements.iter().all(|requirement| requirement.adversary.is_none()) {
        let reason = "no requirement has an adversary";
        let attack = &mut spec.evaluation.attack;
        without_effect(source, ("evaluation", "attack"), attack, None, reason)?;
    }
    Ok(())
}

fn data(source: &ProblemSource, spec: &mut Spec) -> Result<()> {
    let data = &mut spec.data;
    if data.source.is_none() {
        let reason = "it is the directory of a named `source`";
        without_effect(source, ("data", "directory"), &mut data.directory, None, reason)?;
    } else {
        let reason = "a named `source` is read as its files are written";
        without_effect(source, ("data", "format"), &mut data.format, None, reason)?;
    }
    Ok(())
}
