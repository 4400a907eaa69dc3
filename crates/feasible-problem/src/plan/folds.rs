//! Networks that are averaged: each is trained without one fold of the rows, by which its best epoch is chosen.
//!
//! The rows that are taken for validation cost a model what it could have learned from them. Of K networks, each with another fold of the
//! rows for validation, every row is learned from by all but one, and their average varies less than any of them. The first fold is the
//! validation rows that the plan has anyway; the training rows are dealt out to the others, each class in turn. Encoders, units and
//! settings are those of the plan, so that the average is a model of it like any other.
//!
//! Where the file does not say that the model is a network (`kind = "auto"`), networks with another nonlinearity and a linear model are trained on every
//! fold besides; the better kind of network is mixed with the linear model, with the weights that are best on the rows that neither has seen.

use std::sync::Arc;

use feasible::{
    InputsBuilder, Model, Population, Problem, Purpose, Samples, Stream, Targets, Vectors,
};
use feasible_data::Split;

use super::Plan;
use crate::data::{Data, validation_share};
use crate::error::{Error, Result};
use crate::network::Network;
use crate::recipe::{self, FOLDS};
use crate::settings::{LearnerSettings, ModelSettings, TrainingSettings};
use crate::spec::report::CHEAP;
use crate::spec::{ModelKind, ProblemSource, Recipe, Spec};
use crate::store::Store;

/// What is said where `training.seconds` is the reason that one network is trained, and no other is compared with it.
pub(super) const ONE_IN_TIME: &str = "because of training.seconds one network is trained, of the kind that the file says: without it, networks of \
     several kinds would be compared, and averaged where there are no requirements";

/// Most networks that are averaged.
const MOST: usize = 20;

/// How many networks are averaged: what the file says, or what suits it. `work` is that of one training; others
/// are not trained without being asked for if it takes seconds, as baselines are not.
///
/// # Errors
/// A number that the file gives, and why nothing can be averaged.
pub(super) fn count(
    source: &ProblemSource,
    spec: &Spec,
    training: &TrainingSettings,
    data: &Data,
    work: f64,
) -> Result<usize> {
    let hindrance = hindrance(spec, training, data);
    match (spec.training.folds, hindrance) {
        (Some(1), _) | (None, Some(_)) => Ok(1),
        (None, None) => {
            let rows = data.split.train.len() + data.split.validation.len();
            Ok(if is_small(rows) && work <= CHEAP { FOLDS } else { 1 })
        }
        (Some(folds), None) if (2..=MOST).contains(&folds) => Ok(folds),
        (Some(folds), None) => {
            let message = format!("is {folds}: 1 for a single network, or 2 to {MOST}");
            Err(source.at("training.folds", message))
        }
        (Some(_), Some(reason)) => {
            let message = format!("networks cannot be averaged here: {reason}. Remove it");
            Err(source.at("training.folds", message))
        }
    }
}

/// Whether a table of so many rows is small enough for several trainings that nobody asked for.
pub(super) fn is_small(rows: usize) -> bool {
    validation_share(rows) > 1.0 / (FOLDS + 1) as f64
}

/// Why networks cannot be averaged.
fn hindrance(spec: &Spec, training: &TrainingSettings, data: &Data) -> Option<&'static str> {
    let one_layer = match spec.model.settings(1) {
        ModelSettings::Mlp { hidden, .. } => hidden.len() == 1,
        _ => false,
    };
    let first_order = matches!(training.learner, LearnerSettings::FirstOrder(_));
    let reasons = [
        (!spec.requirements.is_empty(), "an average need not meet the requirements of its parts"),
        (!one_layer || data.images.is_some(), "the model is not a network with one hidden layer"),
        (
            !first_order || training.seconds.is_some(),
            "with the learner `exact`, or with `training.seconds`, one model is trained",
        ),
        (spec.decision.is_some(), "[decision] needs validation rows that no network has seen"),
        (
            !data.took_validation,
            "the rows for validation are given, or rows are too few to take some",
        ),
        (spec.training.recipe == Recipe::Paper, "the recipe `paper` trains one network"),
        (
            spec.certify.as_ref().is_some_and(|c| c.unit.is_some()),
            "rows belong together (`certify.unit`)",
        ),
        (spec.data.store == Some(Store::Disk), "the rows are kept on disk"),
    ];
    reasons.into_iter().find_map(|(hinders, reason)| hinders.then_some(reason))
}

impl Plan {
    /// Networks that are averaged; 1 for a training like any other.
    pub fn folds(&self) -> usize {
        self.settings.training.folds
    }

    /// How many rows are for training, validation and test. Where networks are averaged, none are for validation alone.
    pub fn part_sizes(&self) -> [usize; 3] {
        let Split { train, validation, test, .. } = &self.data.split;
        match self.folds() > 1 {
            true => {
                let copied = self.data.copied.as_ref().map_or(0, |copied| copied.len());
                [train.len() + validation.len() + copied, 0, test.len()]
            }
            false => [train.len(), validation.len(), test.len()],
        }
    }

    /// The same plan with another fold of the rows for validation; the first, 0, is the plan's own.
    ///
    /// ```
    /// use feasible_problem::{Plan, ProblemSource};
    /// let rows: String = (0..200).map(|i| format!("{},{}\n", i % 17, i % 5 / 3)).collect();
    /// let table = feasible_data::Table::from_bytes("t", format!("x,y\n{rows}").as_bytes(), &Default::default())?;
    /// let plan = Plan::with_table(&ProblemSource::new("t.toml", "[data]\ntarget = \"y\"\n"), table)?;
    /// assert_eq!(plan.folds(), 5);
    /// let parts = (0..5).map(|n| plan.fold(n).map(|fold| fold.data().split.validation.clone()));
    /// let mut all = parts.collect::<Result<Vec<_>, _>>()?.concat();
    /// all.sort();
    /// // Every row that is not for test is in one of them.
    /// assert_eq!(all.len(), plan.data().split.train.len() + plan.data().split.validation.len());
    /// assert!(all.is_sorted_by(|a, b| a < b));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// None for a checked plan.
    pub fn fold(&self, n: usize) -> Result<Self> {
        if n == 0 {
            return Ok(self.clone());
        }
        let all = self.all_rows()?;
        let fold_of = self.fold_of(&all);
        let places = |of: &dyn Fn(usize) -> bool| -> Vec<u32> {
            (0..all.len() as u32).filter(|&at| of(fold_of[at as usize])).collect()
        };
        let (train, mut validation) = (places(&|fold| fold != n), places(&|fold| fold == n));
        // A copy is judged by once.
        validation.retain(|&at| self.first(all.ids()[at as usize]) == all.ids()[at as usize]);
        self.on_rows(all.chosen(&train), Some(all.chosen(&validation)))
    }

    /// Shares of the networks in mixtures with a linear model that are compared; 1 is the network alone.
    pub fn shares_of_networks(&self) -> &'static [f32] {
        match self.spec.model.kind {
            ModelKind::Auto => &recipe::SHARES,
            _ => &[1.0],
        }
    }

    /// The same plan with a linear model on the same inputs.
    ///
    /// # Errors
    /// None for a checked plan.
    pub fn with_linear_model(&self) -> Result<Self> {
        let (inputs, outputs) = (self.data.train.inputs(), self.model.output_width());
        let model = Network::new(&ModelSettings::Linear, inputs, None, outputs)?;
        let mut plan = self.with_model(model.in_units(self.model.units().cloned())?);
        let decay = recipe::LINEAR_DECAY * self.settings.weight_decay;
        plan.settings.weight_decay = decay;
        plan.train = plan.train.with_decay(decay)?;
        plan.validation = plan.validation.map(|problem| problem.with_decay(decay)).transpose()?;
        Ok(plan)
    }

    /// The same plan with another model on the same inputs.
    #[must_use]
    pub fn with_model(&self, model: Network) -> Self {
        Self { model, ..self.clone() }
    }

    /// The same plan with all rows for training but those for test.
    ///
    /// # Errors
    /// None for a checked plan.
    pub fn on_all_rows(&self) -> Result<Self> {
        self.on_rows(self.all_rows()?, None)
    }

    /// The same plan on other training and validation rows. It has no requirements.
    fn on_rows(&self, train: Samples, validation: Option<Samples>) -> Result<Self> {
        // Ids are row numbers.
        let rows = |of: &Samples| of.ids().iter().map(|&id| id as u32).collect();
        let split = Split {
            train: rows(&train),
            validation: validation.as_ref().map(rows).unwrap_or_default(),
            test: self.data.split.test.clone(),
        };
        let (train, validation) = (Arc::new(train), validation.map(Arc::new));
        let objective = self.train.objective();
        let draft = |samples: &Arc<Samples>| {
            let everyone = Population::new(samples.clone());
            Problem::minimise(&everyone, objective.loss().clone()).weight_decay(self.train.decay())
        };
        let judged = self.spec.objective.measured_by.and(self.validation.as_ref());
        let judged = judged.map(|problem| problem.objective().measure().clone());
        let of_validation = |samples: &Arc<Samples>| match &judged {
            Some(loss) => draft(samples).measured_by(loss.clone()),
            None => draft(samples),
        };
        Ok(Self {
            train: draft(&train).check()?,
            validation: validation.as_ref().map(|of| of_validation(of).check()).transpose()?,
            data: Arc::new(Data { split, train, validation, ..(*self.data).clone() }),
            ..self.clone()
        })
    }

    /// Training and validation rows, as they are in the table.
    fn all_rows(&self) -> Result<Samples> {
        let others = [&self.data.validation, &self.data.copied];
        let all = (*self.data.train).clone();
        others.into_iter().flatten().try_fold(all, |all, other| in_order(&all, other))
    }

    /// The row that a row is a copy of, or itself.
    fn first(&self, id: u64) -> u64 {
        let copies = self.data.copies.as_ref();
        copies.map_or(id, |copies| u64::from(copies.first(id as u32)))
    }

    /// The fold of each of all rows: 0 for those that are for validation in this plan.
    fn fold_of(&self, all: &Samples) -> Vec<usize> {
        let split = &self.data.split;
        let is_training = |id: u64| split.train.binary_search(&(id as u32)).is_ok();
        let mut order: Vec<u32> = (0..all.len() as u32).collect();
        // Copies follow the row that they are of.
        order.retain(|&at| {
            let id = all.ids()[at as usize];
            is_training(id) && self.first(id) == id
        });
        let seed = self.spec.data.split.as_ref().map_or(0, |split| split.seed);
        Stream::new(seed, Purpose::Folds, 0, 0).shuffle(&mut order);
        if let Targets::Classes(classes) = all.targets() {
            order.sort_by_key(|&at| classes[at as usize]);
        }
        let mut fold_of = vec![0; all.len()];
        for (turn, at) in order.into_iter().enumerate() {
            fold_of[at as usize] = 1 + turn % (self.folds() - 1).max(1);
        }
        for at in 0..fold_of.len() {
            if let Ok(first) = all.ids().binary_search(&self.first(all.ids()[at])) {
                fold_of[at] = fold_of[first];
            }
        }
        fold_of
    }
}

/// The samples of both in the order of their ids.
fn in_order(one: &Samples, other: &Samples) -> Result<Samples> {
    let first = one.len();
    let part = |at: usize| if at < first { (one, at) } else { (other, at - first) };
    let id = |at: usize| {
        let (of, at) = part(at);
        of.ids()[at]
    };
    let mut order: Vec<usize> = (0..first + other.len()).collect();
    order.sort_by_key(|&at| id(at));
    let inputs = one.inputs();
    let dense = inputs.dense_columns().to_vec();
    let mut builder = InputsBuilder::new(inputs.width(), dense, order.len())?;
    for &at in &order {
        let (of, at) = part(at);
        builder.push(of.inputs().dense_row(at), of.inputs().hot(at))?;
    }
    let targets = match (one.targets(), other.targets()) {
        (Targets::Classes(a), Targets::Classes(b)) => Targets::Classes([&a[..], b].concat()),
        (Targets::Values(a), Targets::Values(b)) => Targets::Values([&a[..], b].concat()),
        (Targets::Vectors(a), Targets::Vectors(b)) => {
            let rows = |of: &Vectors| (0..of.len()).flat_map(|row| of.row(row).to_vec()).collect();
            let values: [Vec<f32>; 2] = [rows(a), rows(b)];
            Targets::Vectors(Vectors::new(values.concat(), a.width())?)
        }
        _ => return Err(Error::unfit("targets", "they are of two kinds")),
    };
    let targets = targets.chosen(order.iter().copied());
    let ids = order.iter().map(|&at| id(at)).collect();
    let samples = Samples::with_ids(builder.finish(), targets, ids)?;
    match (one.weights(), other.weights()) {
        (Some(a), Some(b)) => {
            let all = [a, b].concat();
            Ok(samples.weighted(order.iter().map(|&at| all[at]).collect())?)
        }
        _ => Ok(samples),
    }
}
