//! From a problem file and its data to a checked plan.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use feasible::{Loss, Model, Problem, Samples, Targets};
use feasible_data::{Change, Encoder, Table, TargetEncoder, UnknownCategories};

use super::{Plan, choices, folds};
use crate::blame::{at_clause, at_core};
use crate::clause::{Clause, changes, expand};
use crate::combination;
use crate::conditioning;
use crate::contradiction;
use crate::data::{Data, DataDraft};
use crate::error::{Error, Result};
use crate::generalise::{Allowance, Sample, allowance};
use crate::held_out::rows::Taken;
use crate::loss::LossName;
use crate::memory;
use crate::network::{Network, output_width};
use crate::rate::{Among, check_positive};
use crate::recipe::{self, Circumstances};
use crate::room::leave_room;
use crate::sampled_table::SampledTable;
use crate::settings::{
    ADAMW_DECAY, LearnerSettings, ModelSettings, OptimiserSettings, Settings, TrainingSettings,
};
use crate::space::Space;
use crate::spec::report::CHEAP;
use crate::spec::{DataSpec, Keep, Margins, ModelKind, ProblemSource, ShuffleName, Spec, effect};
use crate::store::{self, Store};
use crate::threshold;
use crate::units::OutputUnits;

/// Data on their way, or those of another plan.
enum Loaded<'a> {
    Now(Box<DataDraft>),
    Before(&'a Plan),
}

impl Loaded<'_> {
    /// The targets of the training rows.
    fn targets(&self) -> Result<Targets> {
        Ok(match self {
            Self::Now(draft) => draft.target.transform(&draft.table, &draft.split.train)?,
            Self::Before(plan) => plan.data.train.targets().clone(),
        })
    }

    fn parts(&self) -> (&Table, &Encoder, &TargetEncoder) {
        match self {
            Self::Now(draft) => (&draft.table, &draft.encoder, &draft.target),
            Self::Before(plan) => (&plan.data.table, &plan.data.encoder, &plan.data.target),
        }
    }
}

impl Plan {
    pub(super) fn build(source: &ProblemSource, known: Option<&Self>) -> Result<Self> {
        // What is available is asked before the tables take some of it.
        let _ = memory::limit();
        Self::build_spec(source, source.parse(&[])?, known)
    }

    /// The plan of a problem that is parsed; `source` is where errors point to.
    pub(super) fn build_spec(
        source: &ProblemSource,
        mut spec: Spec,
        known: Option<&Self>,
    ) -> Result<Self> {
        effect::check(source, &mut spec)?;
        if let Some(tune) = &spec.tune {
            Space::check(source, tune)?;
        }
        spec.model.fill();
        let circumstances = Circumstances::of(&spec);
        let images = circumstances.images;
        if let Some(certify) = &mut spec.certify {
            certify.check(source)?;
            *certify = certify.filled();
        }
        spec.fill_piecewise();
        let given = Arc::new(spec.data.clone());
        let loaded = match known {
            Some(plan) if plan.shares(&spec) => {
                spec.data = plan.spec.data.clone();
                Loaded::Before(plan)
            }
            Some(plan) if plan.shares_table(&spec) => {
                let piecewise = spec.data.piecewise.take();
                spec.data = DataSpec { piecewise, ..plan.spec.data.clone() };
                let draft = DataDraft::again(source, &mut spec.data, &spec.certify, &plan.data)?;
                Loaded::Now(Box::new(draft))
            }
            _ => {
                let takes = recipe::takes_validation(&spec.training);
                let draft = DataDraft::load(source, &mut spec.data, spec.certify.as_ref(), takes)?;
                Loaded::Now(Box::new(draft))
            }
        };
        if spec.data.store == Some(Store::Disk) && training_takes_batches(&spec, circumstances) {
            spec.training.shuffle.get_or_insert(ShuffleName::Blocks);
        }
        let targets = loaded.targets()?;
        check_units(source, &targets)?;
        // What is wrong with a loss is said where it is used.
        let size_of = |loss: LossName, of: Option<&str>| {
            let losses = loss.losses_of(loaded.parts().2, of);
            losses.map_or(1.0, |(loss, _)| conditioning::size(&loss, &targets))
        };
        let loss = objective_loss(&mut spec, loaded.parts().2);
        let (objective, _) = objective_of(source, "objective.loss", loss, loaded.parts().2)?;
        let objective_size = size_of(loss, None);
        for requirement in &mut spec.requirements {
            let of = requirement.of.clone();
            let size = |loss| size_of(loss, of.as_deref());
            let unit = requirement.loss.map_or(1.0, |loss| objective_size / size(loss));
            recipe::fill_requirement(&spec.training, images, requirement, unit);
        }
        let rows = targets.len();
        let training = recipe::settings(&spec.training, Circumstances { rows, ..circumstances });
        spec.training = recipe::fill(&spec.training, &training, images);
        let (table, encoder, target) = loaded.parts();
        let expanded = expand(source, &spec.requirements, table, encoder)?;
        check_positive(source, &spec, &expanded, target, &targets)?;
        let mut clauses = Vec::new();
        for (from, requirement) in &expanded {
            let attack = spec.evaluation.attack.clone().unwrap_or_default();
            clauses.extend(Clause::of(source, *from, requirement, encoder, target, &attack)?);
        }
        for (at, column) in spec.report.groups.iter().enumerate() {
            let known = table.column(column);
            known.map_err(|error| source.about(&format!("report.groups[{at}]"), error))?;
        }
        let (data, taken) = match loaded {
            Loaded::Before(plan) => (plan.data.clone(), plan.taken.clone()),
            Loaded::Now(draft) => {
                let mut spoken: BTreeSet<String> =
                    clauses.iter().flat_map(Clause::columns).map(String::from).collect();
                let taken = draft.large.then(|| Arc::new(Taken::of(&draft, &spec, &spoken)));
                spoken.extend(spec.certify.iter().filter_map(|certify| certify.unit.clone()));
                spoken.extend(spec.decision.iter().filter_map(|decision| decision.per.clone()));
                // The page has tables of these.
                let changes = clauses.iter().filter_map(|clause| clause.change.as_ref());
                spoken.extend(changes.flat_map(|change| change.columns().iter().cloned()));
                spoken.extend(spec.report.groups.iter().cloned());
                let class_weights = spec.objective.class_weights.as_ref();
                (Arc::new(draft.encode(source, &spoken, class_weights)?), taken)
            }
        };
        for clause in &mut clauses {
            let own = spec.requirements[clause.from].start;
            clause.size = conditioning::size(&clause.loss, &targets);
            clause.start = own.unwrap_or(training.start * objective_size / clause.size);
        }
        combination::check_counts(source, &spec, loss, &data)?;
        if spec.objective.measured_by.is_some()
            && (data.validation.is_none() || spec.training.keep != Some(Keep::Best))
        {
            let message = "has no effect: it chooses the best iterate on validation rows, and there are no \
                           such rows or training.keep is \"last\". Remove it";
            return Err(source.at("objective.measured_by", message));
        }
        if spec.evaluation.counterfactual.is_some() && data.target.classes().is_none() {
            let message =
                "has no effect: flip rates are about classes, but a number is predicted. Remove it";
            return Err(source.at("evaluation.counterfactual", message));
        }
        let weight_decay = match (spec.objective.weight_decay, training.learner) {
            (Some(given), _) => given,
            (None, LearnerSettings::Exact(_)) => 0.0,
            (None, LearnerSettings::FirstOrder(_)) => {
                let (recipe, kind) = (spec.training.recipe, spec.model.kind);
                recipe::weight_decay(recipe, kind, images, rows, objective_size)
            }
        };
        spec.objective.weight_decay = Some(weight_decay);
        let outputs = output_width(&data.target, loss);
        let inputs = data.train.inputs();
        let shape = spec.model.settings(inputs.width());
        let model =
            Network::new(&shape, inputs, data.image_shape(), outputs).map_err(
                |error| match error {
                    Error::Unfit { what, reason } => source.at(&what, reason),
                    other => source.at("model", other.to_string()),
                },
            )?;
        // The log of an expectation has units of its own.
        let units =
            OutputUnits::of(&targets).filter(|_| loss.is_of_numbers() && loss != LossName::Poisson);
        let model = model.in_units(units).map_err(|e| placed_at_target(source, e))?;
        let on_disk = spec.data.store == Some(Store::Disk);
        let least = memory::estimate(&data, &model, &training, &[], 1);
        fits(source, &spec, &if on_disk { least.on_disk() } else { least })?;
        if let (Some(certify), Some(reserve)) = (&spec.certify, &data.reserve) {
            leave_room(source, certify, &data, reserve, &model, &mut clauses)?;
        }
        let augmentation = spec.data.augment.zip(data.image_shape());
        // Rows that are looked at later, for each that there is for validation.
        let held = data.validation.as_ref().map_or(0, |samples| samples.len());
        let later = data.test.as_ref().map_or(held, |samples| samples.len());
        let by_itself = recipe::takes_validation(&spec.training);
        let positives = match &targets {
            Targets::Classes(classes) => {
                classes.iter().filter(|&&class| class == 1).count() as f64 / rows.max(1) as f64
            }
            _ => 0.5,
        };
        let sample = Sample {
            ahead: later as f64 / held.max(1) as f64,
            positives,
            requirements: clauses.len(),
            width: model.output_width(),
        };
        threshold::leave(&mut spec, &training, &data, &mut clauses, sample)
            .map_err(|error| at_clause(source, error))?;
        let most_learned = RefCell::new(vec![0.0; clauses.len()]);
        let rooms = RefCell::new(vec![0.0; clauses.len()]);
        let sampled_training = || {
            let (rows, unknown) = (&data.split.train, UnknownCategories::Reject);
            SampledTable::new(&data.table, rows, &data.train, &data.encoder, unknown)
        };
        let build = |samples: &Arc<Samples>, rows: &[u32], part: &str| {
            let mut sampled = SampledTable::new(
                &data.table,
                rows,
                samples,
                &data.encoder,
                UnknownCategories::Reject,
            )
            .augmented(augmentation.filter(|_| part == "training"));
            let everyone = sampled.everyone();
            let mut draft =
                Problem::minimise(&everyone, objective.clone()).weight_decay(weight_decay);
            // Where iterates are compared, by the loss that the file says.
            let judged = spec.objective.measured_by.filter(|_| part == "validation");
            if let Some(judged) = judged {
                let key = "objective.measured_by";
                let (loss, measure) = objective_of(source, key, judged, &data.target)?;
                draft = draft.measured_by(measure.unwrap_or(loss));
            }
            let objective = draft.clone();
            let mut lists = 0_u64;
            for (at, clause) in clauses.iter().enumerate() {
                let mut tightened = clause.tightened();
                let mut requirement =
                    tightened.on(&mut sampled).map_err(|e| at_clause(source, e))?;
                if part == "validation" && clause.by_threshold.is_none() {
                    // Room for a certificate is room for rows to come.
                    let ahead = if clause.room > 0.0 { 0.0 } else { sample.ahead };
                    let of = Sample { ahead, ..sample };
                    let judged = match (training.margins, &requirement) {
                        (Margins::Learned, Some(stated)) => {
                            let class = match clause.class {
                                Some(Among::Class(class)) => Some(class),
                                Some(Among::Others(_)) | None => None,
                            };
                            allowance(stated, class, of)
                        }
                        (_, found) => {
                            let is_chance = found.is_none() && by_itself;
                            Allowance { is_chance, ..Allowance::default() }
                        }
                    };
                    let on = if judged.is_chance { &mut sampled_training() } else { &mut sampled };
                    if !judged.is_chance {
                        tightened.room = judged.on_validation;
                        most_learned.borrow_mut()[at] = judged.most_learned;
                        rooms.borrow_mut()[at] = judged.on_validation;
                    }
                    let found = tightened.tightened().on(on);
                    requirement = found.map_err(|e| at_clause(source, e))?;
                }
                let Some(requirement) = requirement else {
                    let key = clause.empty_key(&sampled).map_err(|e| at_clause(source, e))?;
                    let message = format!(
                        "'{}' applies to none of the {part} rows: check `{key}` or the split",
                        clause.name
                    );
                    return Err(source.at(&format!("requirement[{}].{key}", clause.from), message));
                };
                lists =
                    lists.saturating_add(memory::of_requirement(clause, &requirement, rows.len()));
                if let Some(message) = memory::too_much(lists).filter(|_| !on_disk) {
                    let message = format!("{message}{}", store::hint());
                    return Err(source.at(&format!("requirement[{}]", clause.from), message));
                }
                draft = draft.subject_to(requirement);
            }
            let checked = draft.check().and_then(|problem| {
                problem.check_model(&model)?;
                Ok(problem)
            });
            checked
                .map_err(|error| at_core(source, &clauses, &mut sampled, &objective, &model, error))
        };
        let train = build(&data.train, &data.split.train, "training")?;
        let classes = data.target.classes().map_or(0, <[String]>::len);
        contradiction::check(source, &spec.requirements, &clauses, &train, classes)?;
        let validation = match &data.validation {
            Some(samples) => Some(build(samples, &data.split.validation, "validation")?),
            None => None,
        };
        if let Some(test) = &data.test {
            // Checked now so that a misspelt category does not come to light after the training.
            let mut sampled = SampledTable::new(
                &data.table,
                &data.split.test,
                test,
                &data.encoder,
                UnknownCategories::MatchNothing,
            );
            for clause in &clauses {
                clause.on(&mut sampled).map_err(|error| at_clause(source, error))?;
            }
        }
        let changes = reported(source, &spec, &data, &clauses)?;
        let work = training.epochs as f64 * rows as f64 * weights_of_a_row(&spec, &data, &model);
        let folds = folds::count(source, &spec, &training, &data, work)?;
        // A number that the file gives is kept, so that a run is resumed as it was begun.
        if folds > 1 {
            spec.training.folds = Some(folds);
        }
        let unhurried = TrainingSettings { seconds: None, ..training.clone() };
        let compared = || choices::leaves_single_network_open(&spec, &unhurried, &data, work);
        let mut notes = Vec::new();
        if training.seconds.is_some()
            && spec.training.folds.is_none()
            && (compared() || folds::count(source, &spec, &unhurried, &data, work)? > 1)
        {
            notes.push(folds::ONE_IN_TIME.to_string());
        }
        if training.learner.first_order().is_some_and(|of| of.optimiser == OptimiserSettings::AdamW)
        {
            notes.push(format!(
                "adamw shrinks θ by {ADAMW_DECAY} times the rate at every step, beside what the objective says (training.optimiser)"
            ));
        }
        let open = choices::leaves_single_network_open(&spec, &training, &data, work);
        if folds == 1 && spec.model.kind == ModelKind::Auto && !open {
            spec.model.kind = ModelKind::Mlp;
            spec.model.fill();
        }
        let training = TrainingSettings { folds, ..training };
        if !clauses.is_empty() {
            let attacked = clauses.iter().any(|clause| clause.adversary.is_some());
            let cheap = !images && !attacked && training.seconds.is_none() && work <= CHEAP;
            spec.report.baseline.get_or_insert(cheap);
        }
        combination::check_decision(source, &spec, &data, &clauses, &changes)?;
        let name = source.name().to_string();
        let settings = Settings { objective: loss, weight_decay, training };
        let plan = Self {
            name,
            given,
            spec,
            settings,
            data,
            model,
            clauses,
            expanded,
            changes,
            train,
            validation,
            most_learned: most_learned.into_inner(),
            rooms: rooms.into_inner(),
            notes,
            taken,
        };
        let estimate = plan.estimate();
        fits(source, &plan.spec, &estimate)?;
        memory::probe(estimate.each, &plan.name)?;
        plan.check_settings(source)?;
        Ok(plan)
    }
}

/// Deviations of a numeric target with which losses and their gradients are within single precision.
const DEVIATIONS: std::ops::RangeInclusive<f64> = 1e-15..=1e15;

/// Refuses numbers to be predicted whose squares are beyond single precision.
fn check_units(source: &ProblemSource, targets: &Targets) -> Result<()> {
    let units = OutputUnits::of(targets);
    let each = units.iter().flat_map(OutputUnits::each);
    match each.map(|unit| unit.scale).find(|scale| !DEVIATIONS.contains(scale)) {
        None => Ok(()),
        Some(scale) => {
            let message = format!(
                "its standard deviation on the training rows is {scale:.1e}, beyond what a model in single precision can learn: give \
                 the column in another unit, so that it is between {:e} and {:e}",
                DEVIATIONS.start(),
                DEVIATIONS.end()
            );
            Err(source.at("data.target", message))
        }
    }
}

/// Refuses what would take more memory than there may be, at the key that is the cause.
fn fits(source: &ProblemSource, spec: &Spec, estimate: &memory::Estimate) -> Result<()> {
    let Some(message) = memory::too_much(estimate.total(1)) else { return Ok(()) };
    let key = if estimate.shared > estimate.each {
        "data"
    } else if estimate.multipliers > estimate.each / 2 {
        "requirement"
    } else {
        match spec.model.kind {
            // Values of a batch of images, rather than weights.
            ModelKind::Cnn | ModelKind::Resnet18 if estimate.parameters < estimate.each / 2 => {
                "training.batch_size"
            }
            ModelKind::Auto | ModelKind::Mlp => "model.hidden",
            ModelKind::Kernel => "model.centres",
            ModelKind::Resnet18 => "model.width",
            ModelKind::Linear | ModelKind::Cnn => "model",
        }
    };
    let hint = if matches!(key, "data" | "requirement") { store::hint() } else { "" };
    Err(source.at(key, format!("{message}{hint}")))
}

/// Whether the learner takes the rows in batches.
fn training_takes_batches(spec: &Spec, circumstances: Circumstances) -> bool {
    recipe::settings(&spec.training, circumstances).learner.first_order().is_some()
}

fn objective_loss(spec: &mut Spec, target: &TargetEncoder) -> LossName {
    let usual = match target.classes() {
        Some(_) => LossName::CrossEntropy,
        None => LossName::Squared,
    };
    *spec.objective.loss.get_or_insert(usual)
}

/// A loss of the objective for a target, and the one it is measured by if that is another.
fn objective_of(
    source: &ProblemSource,
    key: &str,
    loss: LossName,
    target: &TargetEncoder,
) -> Result<(Loss, Option<Loss>)> {
    loss.losses_of(target, None).map_err(|(_, message)| source.at(key, message))
}

/// An error about the units of the target.
fn placed_at_target(source: &ProblemSource, error: Error) -> Error {
    source.at("data.target", error.to_string())
}

/// The changes to report: those the file names, or those of requirements and of the data set.
fn reported(
    source: &ProblemSource,
    spec: &Spec,
    data: &Data,
    clauses: &[Clause],
) -> Result<Vec<Change>> {
    if let Some(list) = &spec.evaluation.counterfactual {
        return changes(&list.0, &data.encoder)
            .map_err(|error| source.about("evaluation.counterfactual", error));
    }
    let mut all: Vec<Change> = Vec::new();
    if let Some(set) = &data.set {
        // A file that drops the columns of the set's own counterfactuals simply lacks them.
        all.extend(changes(&set.counterfactuals, &data.encoder).unwrap_or_default());
    }
    for change in clauses.iter().filter_map(|clause| clause.change.as_ref()) {
        if !all.contains(change) {
            all.push(change.clone());
        }
    }
    Ok(all)
}

/// How many parameters a row meets: of a layer that sees categories only those of the row's own.
fn weights_of_a_row(spec: &Spec, data: &Data, model: &Network) -> f64 {
    let inputs = data.train.inputs();
    let hot = if data.train.is_empty() { 0 } else { inputs.hot(0).len() };
    let share = (inputs.dense_columns().len() + hot) as f64 / inputs.width().max(1) as f64;
    let first = match spec.model.settings(inputs.width()) {
        ModelSettings::Mlp { hidden, .. } => hidden.first().copied(),
        _ => Some(model.output_width()),
    };
    let (all, first) = (model.trainable_count() as f64, first.unwrap_or(0) * inputs.width());
    all - (first as f64).min(all) * (1.0 - share.min(1.0))
}
