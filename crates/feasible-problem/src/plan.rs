//! A checked plan: everything a training needs, held against the data.
//!
//! ```
//! use feasible_problem::{Plan, ProblemSource};
//! let plan = Plan::check(&ProblemSource::open("compas")?)?;
//! assert_eq!(plan.train().requirements().len(), 13);
//! assert_eq!(plan.data().encoder.width(), 23);
//! # Ok::<(), feasible_problem::Error>(())
//! ```

mod build;
mod choices;
mod folds;
mod share;

use share::LearnerParts;
pub use share::{PlanShare, RankTraining, TrainingNeeds};

use std::sync::Arc;

use feasible::certificate::Design;
use feasible::reduce::Alone;
use feasible::{Learner, Model, Problem, Reduce};
use feasible_data::{Change, Table};

use crate::clause::Clause;
use crate::conditioning;
use crate::data::Data;
use crate::error::Result;
use crate::held_out::rows::Taken;
use crate::memory;
use crate::network::Network;
use crate::recipe;
use crate::settings::{DualSettings, Settings};
use crate::spec::{
    CertifySpec, DataSpec, EvaluationSpec, LearnerName, Margins, ProblemSource, ReportSpec,
    RequirementSpec, Spec,
};
use crate::store::Store;

/// A checked plan. See the [module](self).
#[derive(Clone, Debug)]
pub struct Plan {
    name: String,
    /// `[data]` as the file gives it.
    given: Arc<DataSpec>,
    spec: Spec,
    settings: Settings,
    /// Shared: a plan is copied for every seed, a table of a million rows is not.
    data: Arc<Data>,
    model: Network,
    clauses: Vec<Clause>,
    expanded: Vec<(usize, RequirementSpec)>,
    changes: Vec<Change>,
    train: Problem,
    validation: Option<Problem>,
    /// The largest margin that is learned for each clause.
    most_learned: Vec<f64>,
    /// By how much the limit of each clause is stricter on validation rows.
    rooms: Vec<f64>,
    /// What was decided about the training without being asked.
    pub(crate) notes: Vec<String>,
    /// Taken before columns of a large table are freed.
    pub(crate) taken: Option<Arc<Taken>>,
}

impl Plan {
    /// Reads a problem file and holds it against its data.
    ///
    /// # Errors
    /// Whatever is wrong with the file or the data, with its place.
    pub fn check(source: &ProblemSource) -> Result<Self> {
        Self::build(source, None)
    }

    /// As [`Plan::check`], with a table in memory in place of `[data] file`. What is written about the data is the name
    /// of the table and a SHA-256 of its names and cells.
    ///
    /// ```
    /// use feasible_data::{Format, Table};
    /// use feasible_problem::{Plan, ProblemSource};
    /// let csv = "age,rich\n25,no\n31,no\n42,yes\n56,yes\n";
    /// let table = Table::from_bytes("people", csv.as_bytes(), &Format::default())?;
    /// let source = ProblemSource::new("people.toml", "[data]\ntarget = \"rich\"\nsplit = { test = 0.0 }\n");
    /// assert_eq!(Plan::with_table(&source, table)?.data().train.len(), 4);
    /// # Ok::<(), feasible_problem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Plan::check`]; a file that names other data.
    pub fn with_table(source: &ProblemSource, table: Table) -> Result<Self> {
        let asked = source.parse(&[])?.report.baseline.is_some();
        let plan = Self::check(&source.clone().with_table(table))?;
        // There is no page to show what it says.
        Ok(if asked { plan } else { plan.without_baseline() })
    }

    /// The plan of another problem file on the data of this one, which are shared; they are read only if the file asks
    /// for other ones.
    ///
    /// # Errors
    /// As [`Plan::check`].
    pub fn variant(&self, source: &ProblemSource) -> Result<Self> {
        Self::build(source, Some(self))
    }

    /// Whether a problem, filled in but for its data, has the same data, columns of a large table included.
    fn shares(&self, spec: &Spec) -> bool {
        (spec.data == *self.given || spec.data == self.spec.data) && self.shares_rows(spec)
    }

    /// Whether it has the same data but for the columns that are piecewise linear, and these can be encoded again.
    fn shares_table(&self, spec: &Spec) -> bool {
        let shared = |of: &DataSpec| {
            spec.data == DataSpec { piecewise: spec.data.piecewise.clone(), ..of.clone() }
        };
        self.can_be_encoded_again()
            && (shared(&self.given) || shared(&self.spec.data))
            && self.shares_rows(spec)
    }

    /// Whether rows, columns and weights are those of a problem with the same `[data]`.
    fn shares_rows(&self, spec: &Spec) -> bool {
        let reserve = |certify: &Option<CertifySpec>| {
            certify.as_ref().map(|c| (c.reserve, c.seed, c.unit.clone()))
        };
        let columns = |spec: &Spec| -> Vec<_> {
            let of = |r: &RequirementSpec| (r.filter.clone(), r.against.clone(), r.groups.clone());
            spec.requirements.iter().map(of).collect()
        };
        let per = |spec: &Spec| spec.decision.as_ref().and_then(|decision| decision.per.clone());
        reserve(&spec.certify) == reserve(&self.spec.certify)
            && recipe::takes_validation(&spec.training)
                == recipe::takes_validation(&self.spec.training)
            && spec.objective.class_weights == self.spec.objective.class_weights
            && (self.data.table.taken().is_empty()
                || columns(spec) == columns(&self.spec)
                    && per(spec) == per(&self.spec)
                    && spec.report.groups == self.spec.report.groups)
    }

    /// What trainings of it take of memory.
    pub fn estimate(&self) -> memory::Estimate {
        let all = self.all_estimated();
        if self.spec.data.store == Some(Store::Disk) { all.on_disk() } else { all }
    }

    /// What trainings of it take, of memory and on disk.
    pub(crate) fn all_estimated(&self) -> memory::Estimate {
        let training = &self.settings.training;
        let requirements: Vec<_> = self.clauses.iter().zip(self.train.requirements()).collect();
        let views = 1 + views(&self.clauses);
        memory::estimate(&self.data, &self.model, training, &requirements, views)
    }

    /// How many of the trainings that are wanted fit into memory at the same time, one at least.
    pub fn at_once(&self, wanted: usize) -> usize {
        let estimate = self.estimate();
        memory::at_once(estimate.shared, estimate.each, wanted)
    }

    /// Settings that only the learner can judge.
    fn check_settings(&self, source: &ProblemSource) -> Result<()> {
        let wrong = |error: feasible::Error| source.at("training", error.to_string());
        let checkpoint = self.settings.training.checkpoint;
        if !(0.0..=1e9).contains(&checkpoint.seconds) {
            let message = "is a number of seconds: at least 0, and at most 1e9";
            return Err(source.at("training.checkpoint.seconds", message));
        }
        let most = self.settings.training.seconds;
        if most.is_some_and(|seconds| !(seconds > 0.0 && seconds <= 1e9)) {
            let message = "is a number of seconds: more than 0, and at most 1e9";
            return Err(source.at("training.seconds", message));
        }
        if checkpoint.epochs == 0 {
            return Err(source.at("training.checkpoint.epochs", "must be at least 1"));
        }
        let plan = self.alone().map_err(wrong)?;
        plan.learner(self.seed()).begin(&plan.train, &self.model).map_err(wrong)?;
        Ok(())
    }

    /// What the problem is called: its file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same plan under another name.
    #[must_use]
    pub fn called(mut self, name: &str) -> Self {
        self.name = name.to_string();
        self
    }

    /// The problem file with every default filled in.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The settings: what the file says and what it leaves open.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The data.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// What was decided about the data and the training without being asked: a sentence each.
    pub fn notes(&self) -> impl Iterator<Item = &String> {
        self.data.notes.iter().chain(&self.notes)
    }

    /// The data, to be kept beside the plan or after it.
    pub fn shared_data(&self) -> Arc<Data> {
        self.data.clone()
    }

    /// The model.
    pub fn model(&self) -> &Network {
        &self.model
    }

    /// The problem on the training samples.
    pub fn train(&self) -> &Problem {
        &self.train
    }

    /// The problem on the validation samples, if there are any.
    pub fn validation(&self) -> Option<&Problem> {
        self.validation.as_ref()
    }

    /// The largest margin that training may learn for each requirement.
    pub fn most_learned(&self) -> &[f64] {
        &self.most_learned
    }

    /// By how much the limit of each requirement is stricter on the validation rows.
    pub fn rooms(&self) -> &[f64] {
        &self.rooms
    }

    /// The requirements, independent of samples.
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// The requirements with groups and fairness written out.
    pub fn expanded(&self) -> Vec<RequirementSpec> {
        self.expanded.iter().map(|(_, spec)| spec.clone()).collect()
    }

    /// The changes whose flip rates are reported.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// What is decided about certificates before rows are looked at: as `certify` says, or its defaults.
    ///
    /// # Errors
    /// None for a checked plan.
    pub fn design(&self) -> Result<Design> {
        let certify = self.spec.certify.clone().unwrap_or_default();
        Ok(certify.design()?)
    }

    /// The data, without what only validating and testing need; the rest of the plan is dropped.
    pub fn into_training_data(self) -> Arc<Data> {
        let Self { data, train, validation, taken, .. } = self;
        drop((train, validation, taken));
        Arc::try_unwrap(data).map_or_else(|shared| shared, |data| Arc::new(data.of_training()))
    }

    /// The seed of the file.
    pub fn seed(&self) -> u64 {
        self.settings.training.seed
    }

    /// The same plan with another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.settings.training.seed = seed;
        self.spec.training.seed = Some(seed);
        self
    }

    /// The same plan on another number of threads; results do not change.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.settings.training.threads = threads;
        self.spec.training.threads = Some(threads);
        self
    }

    /// The same plan computed on another number of threads, which its problem file does not say.
    #[must_use]
    pub fn computed_on(mut self, threads: usize) -> Self {
        self.settings.training.threads = threads;
        self
    }

    /// The same plan, to be trained by this process alone: in shards, if its file says so.
    ///
    /// # Errors
    /// None for a checked plan.
    pub fn alone(&self) -> feasible::Result<Self> {
        match self.settings.training.shards {
            true => self.own_share(&(Arc::new(Alone) as Arc<dyn Reduce>)),
            false => Ok(self.clone()),
        }
    }

    /// The same plan without `[tune]`: one trial of a search.
    #[must_use]
    pub fn without_search(mut self) -> Self {
        self.spec.tune = None;
        self
    }

    /// The same plan without a baseline: one training of many.
    #[must_use]
    pub fn without_baseline(mut self) -> Self {
        self.spec.report.baseline = self.spec.report.baseline.map(|_| false);
        self
    }

    /// Whether a baseline is trained beside it.
    pub fn has_baseline(&self) -> bool {
        !self.clauses.is_empty() && self.spec.report.baseline == Some(true)
    }

    /// The same plan without requirements, on the same data: same model, recipe, seed and rows. Its problem file has nothing
    /// that a training without requirements does not depend on, so equal files and data are equal trainings.
    ///
    /// ```
    /// use feasible_problem::{Plan, ProblemSource};
    /// let baseline = |limit: &str| -> Result<String, feasible_problem::Error> {
    ///     let limit = [format!("requirement.gender.at_most={limit}")];
    ///     let plan = Plan::check(&ProblemSource::open("adult")?.with_overrides(&limit))?;
    ///     Ok(plan.without_requirements()?.spec().to_toml())
    /// };
    /// assert_eq!(baseline("1e-3")?, baseline("1e-2")?);
    /// # Ok::<(), feasible_problem::Error>(())
    /// ```
    ///
    /// # Errors
    /// None for a checked plan.
    pub fn without_requirements(&self) -> Result<Self> {
        let mut plan = self.clone();
        plan.train = self.train.with_requirements(Vec::new())?;
        plan.validation = match &self.validation {
            Some(validation) => Some(validation.with_requirements(Vec::new())?),
            None => None,
        };
        (plan.clauses, plan.expanded) = (Vec::new(), Vec::new());
        (plan.most_learned, plan.rooms) = (Vec::new(), Vec::new());
        let spec = &mut plan.spec;
        spec.requirements.clear();
        (spec.title, spec.certify, spec.tune) = (None, None, None);
        (spec.report, spec.evaluation) = (ReportSpec::default(), EvaluationSpec::default());
        (spec.training.dual, spec.training.margins, spec.training.threads) = (None, None, None);
        spec.decision = None;
        plan.settings.training.margins = Margins::Stated;
        Ok(plan)
    }

    /// The size of the objective: its mean at the best constant prediction; 1 for classes.
    pub fn objective_size(&self) -> f64 {
        conditioning::size(self.train.objective().loss(), self.data.train.targets())
    }

    /// The same plan with the limit of one clause relaxed by this much (stricter, if it is
    /// negative), on training and validation samples.
    ///
    /// # Errors
    /// A limit that is not finite.
    pub fn relaxed(&self, clause: usize, by: f64) -> Result<Self> {
        let mut plan = self.clone();
        plan.train = self.train.relaxed(clause, by)?;
        plan.validation = match &self.validation {
            Some(validation) => Some(validation.relaxed(clause, by)?),
            None => None,
        };
        Ok(plan)
    }

    /// The learner, started with `seed`.
    pub fn learner(&self, seed: u64) -> Learner {
        self.learner_settings().learner(seed, self.validation.as_ref())
    }

    /// What the learner is made of.
    fn learner_settings(&self) -> LearnerParts {
        let (recipe, images) = (self.spec.training.recipe, self.spec.data.is_images());
        let training = &self.settings.training;
        let size = self.objective_size();
        let own = |clause: &Clause| {
            let usual = training.learner.first_order()?.dual;
            let dual = match self.spec.requirements[clause.from].dual {
                Some(given) => {
                    let by_batch = training.learner.name() == LearnerName::Simultaneous;
                    recipe::dual(recipe, images, &given, training.epochs, by_batch)
                }
                // In the units of its multiplier.
                None if size != clause.size => usual.scaled(size / clause.size, clause.size),
                None if clause.size != 1.0 => usual,
                None => return None,
            };
            Some((clause.name.clone(), dual.of_violations(clause.size)))
        };
        let own: Vec<(String, DualSettings)> = self.clauses.iter().filter_map(own).collect();
        LearnerParts {
            training: training.clone(),
            own,
            size,
            most_learned: self.most_learned.clone(),
            rooms: self.rooms.clone(),
        }
    }

    /// Number of multipliers.
    pub fn multipliers(&self) -> usize {
        self.train.requirements().iter().map(feasible::Requirement::multipliers).sum()
    }

    /// Number of parameters that are trained.
    pub fn parameters(&self) -> usize {
        self.model.trainable_count()
    }
}

/// Views of x beside x itself that some clauses ask for.
fn views(clauses: &[Clause]) -> usize {
    let changed = |clause: &&Clause| clause.change.is_some() || clause.adversary.is_some();
    clauses.iter().filter(changed).count()
}
