//! A checked plan: everything a training needs, held against the data.
//!
//! ```
//! use feasible_problem::{Plan, ProblemSource};
//! let plan = Plan::check(&ProblemSource::open("compas")?)?;
//! assert_eq!(plan.train().requirements().len(), 13);
//! assert_eq!(plan.data().encoder.width(), 23);
//! # Ok::<(), feasible_problem::Error>(())
//! ```

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use feasible::certificate::Design;
use feasible::{Learner, Model, Problem, ProblemDraft, Samples};
use feasible_data::{Change, Encoder, Split, Table, TargetEncoder, UnknownCategories};

use crate::clause::{Clause, SampledTable, changes, expand};
use crate::data::{Data, DataDraft};
use crate::error::{Error, Result};
use crate::gallery;
use crate::held_out::Fingerprints;
use crate::held_out::fingerprints::{Once, units};
use crate::loss::LossName;
use crate::memory;
use crate::network::{Network, output_width};
use crate::recipe;
use crate::room;
use crate::settings::{DualSettings, Settings};
use crate::spec::{
    CertifySpec, DataSpec, Keep, ModelKind, ProblemSource, RequirementSpec, Spec, effect,
};

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
    /// Taken before columns of a large table were let go.
    fingerprints: Option<Arc<Taken>>,
}

/// What test rows are called in messages.
const TEST_ROWS: &str = "the test rows";

/// What is asked of all columns of a table.
#[derive(Debug)]
struct Taken {
    /// The rows that are trained and validated on.
    fingerprints: Fingerprints,
    /// Which reserved rows count, and which test rows.
    reserve: Once,
    test: Once,
    /// Why test rows of a file of their own are not held out, if they are not; and rows drawn at random.
    used: Option<(String, String)>,
    repeated: Option<(String, String)>,
}

impl Taken {
    fn of(draft: &DataDraft, spec: &Spec, spoken: &BTreeSet<String>) -> Self {
        let DataDraft { table, split, encoder, target, images, .. } = draft;
        let prints = fingerprints(table, split, encoder, target, images.is_some(), spoken);
        let once = |rows| prints.once(table, rows);
        let (reserve, test) = (once(&draft.reserve_rows), once(&split.test));
        let refused = |compared: Result<()>| match compared {
            Err(Error::Unfit { what, reason }) => Some((what, reason)),
            _ => None,
        };
        let used = prints.compare_rows(table, &test.rows, TEST_ROWS).map(|_| ());
        let pool = pool(split, &draft.reserve_rows, is_drawn(spec));
        let repeated = prints.refuse_repeated(table, &pool);
        let (used, repeated) = (refused(used), refused(repeated));
        Self { reserve, test, used, repeated, fingerprints: prints }
    }
}

/// Data on their way, or those of another plan.
enum Loaded<'a> {
    Now(Box<DataDraft>),
    Before(&'a Plan),
}

impl Loaded<'_> {
    fn parts(&self) -> (&Table, &Encoder, &TargetEncoder) {
        match self {
            Self::Now(draft) => (&draft.table, &draft.encoder, &draft.target),
            Self::Before(plan) => (&plan.data.table, &plan.data.encoder, &plan.data.target),
        }
    }
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
    /// of the table and the SHA-256 of it as CSV.
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
        Self::check(&source.clone().with_table(table))
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
        let reserve = |certify: &Option<CertifySpec>| {
            certify.as_ref().map(|c| (c.reserve, c.seed, c.unit.clone()))
        };
        let columns = |spec: &Spec| -> Vec<_> {
            let of = |r: &RequirementSpec| (r.filter.clone(), r.against.clone(), r.groups.clone());
            spec.requirements.iter().map(of).collect()
        };
        (spec.data == *self.given || spec.data == self.spec.data)
            && reserve(&spec.certify) == reserve(&self.spec.certify)
            && (self.data.table.taken().is_empty() || columns(spec) == columns(&self.spec))
    }

    fn build(source: &ProblemSource, known: Option<&Self>) -> Result<Self> {
        // What is available is asked before the tables take some of it.
        let _ = memory::limit();
        let mut spec = source.parse(&[])?;
        effect::check(source, &mut spec)?;
        spec.model.fill();
        let images = spec.data.is_images();
        for requirement in &mut spec.requirements {
            recipe::fill_requirement(&spec.training, images, requirement);
        }
        let training = recipe::settings(&spec.training, images);
        spec.training = recipe::fill(&spec.training, &training, images);
        if let Some(certify) = &mut spec.certify {
            certify.check(source)?;
            *certify = certify.filled();
        }
        let given = Arc::new(spec.data.clone());
        let loaded = match known.filter(|plan| plan.shares(&spec)) {
            Some(plan) => {
                spec.data = plan.spec.data.clone();
                Loaded::Before(plan)
            }
            None => {
                let draft = DataDraft::load(source, &mut spec.data, spec.certify.as_ref())?;
                Loaded::Now(Box::new(draft))
            }
        };
        let (table, encoder, target) = loaded.parts();
        let expanded = expand(source, &spec.requirements, table, encoder)?;
        let mut clauses = Vec::new();
        for (from, requirement) in &expanded {
            let attack = spec.evaluation.attack.clone().unwrap_or_default();
            clauses.extend(Clause::of(source, *from, requirement, encoder, target, &attack)?);
        }
        let (data, fingerprints) = match loaded {
            Loaded::Before(plan) => (plan.data.clone(), plan.fingerprints.clone()),
            Loaded::Now(draft) => {
                let mut spoken: BTreeSet<String> =
                    clauses.iter().flat_map(Clause::columns).map(String::from).collect();
                let taken = draft.large.then(|| Arc::new(Taken::of(&draft, &spec, &spoken)));
                spoken.extend(spec.certify.iter().filter_map(|certify| certify.unit.clone()));
                (Arc::new(draft.encode(&spoken)?), taken)
            }
        };
        for clause in &mut clauses {
            let own = spec.requirements[clause.from].start;
            clause.start = own.unwrap_or(training.start);
        }
        let loss = objective_loss(&mut spec, &data);
        if spec.objective.measured_by.is_some()
            && (data.validation.is_none() || spec.training.keep != Some(Keep::Best))
        {
            let message = "has no effect: it chooses the best iterate on validation rows, and there are no \
                           such rows or training.keep is \"last\". Remove it";
            return Err(source.at("objective.measured_by", message));
        }
        if spec.evaluation.counterfactual.is_some() && data.target.classes().is_none() {
            let message =
                "has no effect: a flip rate is of classes, and a number is predicted. Remove it";
            return Err(source.at("evaluation.counterfactual", message));
        }
        let weight_decay = spec.objective.weight_decay.unwrap_or(0.0);
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
        fits(source, &spec, &memory::estimate(&data, &model, &training, &[], 1))?;
        if let (Some(certify), Some(reserve)) = (&spec.certify, &data.reserve) {
            leave_room(source, certify, &data, reserve, &model, &mut clauses)?;
        }
        let augmentation = spec.data.augment.zip(data.image_shape());
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
            let (loss, _) = loss.losses();
            let mut draft = Problem::minimise(&everyone, loss).weight_decay(weight_decay);
            // Where iterates are compared, by the loss that the file says.
            let judged = spec.objective.measured_by.filter(|_| part == "validation");
            if let Some((loss, measure)) = judged.map(LossName::losses) {
                draft = draft.measured_by(measure.unwrap_or(loss));
            }
            let objective = draft.clone();
            let mut lists = 0_u64;
            for clause in &clauses {
                let requirement = clause.tightened().on(&mut sampled);
                let Some(requirement) = requirement.map_err(|e| at_clause(source, e))? else {
                    let key = clause.empty_key(&sampled).map_err(|e| at_clause(source, e))?;
                    let message = format!(
                        "'{}' speaks of no {part} row: check `{key}`, or the split",
                        clause.name
                    );
                    return Err(source.at(&format!("requirement[{}].{key}", clause.from), message));
                };
                lists =
                    lists.saturating_add(memory::of_requirement(clause, &requirement, rows.len()));
                if let Some(message) = memory::too_much(lists) {
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
            fingerprints,
        };
        let estimate = plan.estimate();
        fits(source, &plan.spec, &estimate)?;
        memory::probe(estimate.each, &plan.name)?;
        plan.check_settings(source)?;
        Ok(plan)
    }

    /// What trainings of it take.
    pub fn estimate(&self) -> memory::Estimate {
        let training = &self.settings.training;
        let requirements: Vec<_> = self.clauses.iter().zip(self.train.requirements()).collect();
        let views = 1 + views(&self.clauses);
        memory::estimate(&self.data, &self.model, training, &requirements, views)
    }

    /// How many of so many trainings fit into memory at the same time, one at least.
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
        if checkpoint.epochs == 0 {
            return Err(source.at("training.checkpoint.epochs", "must be at least 1"));
        }
        self.learner(self.seed()).begin(&self.train, &self.model).map_err(wrong)?;
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

    /// What the rows that are trained and validated on look like, and the units they belong to, if any.
    pub fn fingerprints(&self) -> Cow<'_, Fingerprints> {
        match self.unit().map(|unit| self.fingerprints_by(unit)) {
            // A checked plan has a unit for every row.
            Some(Ok(prints)) => Cow::Owned(prints),
            _ => self.fingerprints_of_rows(),
        }
    }

    fn fingerprints_of_rows(&self) -> Cow<'_, Fingerprints> {
        if let Some(taken) = &self.fingerprints {
            return Cow::Borrowed(&taken.fingerprints);
        }
        let Data { table, split, encoder, target, images, .. } = &*self.data;
        let spoken = self.clauses.iter().flat_map(Clause::columns).map(String::from).collect();
        Cow::Owned(fingerprints(table, split, encoder, target, images.is_some(), &spoken))
    }

    /// The fingerprints with the units that the rows belong to by this column.
    ///
    /// # Errors
    /// A column that does not exist, or without a cell in some row.
    pub fn fingerprints_by(&self, unit: &str) -> Result<Fingerprints> {
        let used = used(&self.data.split);
        self.fingerprints_of_rows().into_owned().with_units(&self.data.table, &used, unit)
    }

    /// The column that says which rows count as one.
    pub fn unit(&self) -> Option<&str> {
        self.spec.certify.as_ref()?.unit.as_deref()
    }

    /// Refuses held-out rows if copies of them were trained on: test rows of a file of their own that are
    /// those of the training; rows drawn from a table that repeats every row, unless units say which.
    ///
    /// # Errors
    /// Such rows.
    pub fn refuse_used(&self, rows: &[u32], unit: Option<&str>) -> Result<()> {
        let Data { table, split, reserve_rows, images, .. } = &*self.data;
        if images.is_some() {
            return Ok(());
        }
        let reserved = rows.iter().all(|row| reserve_rows.binary_search(row).is_ok());
        let by_file = !reserved && !self.is_drawn();
        match &self.fingerprints {
            _ if unit.is_some() && !by_file => Ok(()),
            Some(taken) => {
                let refused = if by_file { &taken.used } else { &taken.repeated };
                refused.clone().map_or(Ok(()), |(what, reason)| Err(Error::unfit(what, reason)))
            }
            None if by_file => {
                let prints = self.fingerprints_of_rows();
                prints.compare_rows(table, rows, TEST_ROWS).map(|_| ())
            }
            None => {
                let pool = pool(split, reserve_rows, self.is_drawn());
                self.fingerprints_of_rows().refuse_repeated(table, &pool)
            }
        }
    }

    /// Whether test rows are drawn from the table that training rows are drawn from.
    fn is_drawn(&self) -> bool {
        is_drawn(&self.spec)
    }

    /// Which of some held-out rows count, given how they repeat each other.
    pub fn once(&self, rows: &[u32]) -> Once {
        let Some(taken) = &self.fingerprints else {
            return self.fingerprints_of_rows().once(&self.data.table, rows);
        };
        let reserved = rows.iter().all(|row| self.data.reserve_rows.binary_search(row).is_ok());
        let Once { rows: counted, repetition } =
            if reserved { &taken.reserve } else { &taken.test };
        let counts = |row: &&u32| counted.binary_search(row).is_ok();
        Once { rows: rows.iter().filter(counts).copied().collect(), repetition: *repetition }
    }

    /// The data, without what only validating and testing need: the rest of the plan is let go.
    pub fn into_training_data(self) -> Arc<Data> {
        let Self { data, train, validation, fingerprints, .. } = self;
        drop((train, validation, fingerprints));
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
        let (recipe, images) = (self.spec.training.recipe, self.spec.data.is_images());
        let training = &self.settings.training;
        let own = |clause: &Clause| {
            let given = self.spec.requirements[clause.from].dual?;
            Some((clause.name.clone(), recipe::dual(recipe, images, &given, training.epochs)))
        };
        let own: Vec<(String, DualSettings)> = self.clauses.iter().filter_map(own).collect();
        training.learner(seed, &own, self.validation.as_ref())
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
            ModelKind::Mlp => "model.hidden",
            ModelKind::Kernel => "model.centres",
            ModelKind::Resnet18 => "model.width",
            ModelKind::Linear | ModelKind::Cnn => "model",
        }
    };
    Err(source.at(key, message))
}

/// What the rows that are trained and validated on look like; requirements speak of the columns `spoken`.
fn fingerprints(
    table: &Table,
    split: &Split,
    encoder: &Encoder,
    target: &TargetEncoder,
    images: bool,
    spoken: &BTreeSet<String>,
) -> Fingerprints {
    let mut needed = spoken.clone();
    needed.extend(encoder.variables().iter().map(|variable| variable.column.clone()));
    needed.insert(target.column().to_string());
    needed.extend(images.then(|| gallery::DIGEST.to_string()));
    Fingerprints::of(table, &used(split), &needed)
}

/// Whether test rows are drawn from the table that training rows are drawn from.
fn is_drawn(spec: &Spec) -> bool {
    spec.data.split.as_ref().is_some_and(|split| split.test.is_some())
}

/// The rows of which those that are held out were drawn.
fn pool(split: &Split, reserve: &[u32], drawn: bool) -> Vec<u32> {
    let test = if drawn { &split.test[..] } else { &[] };
    [&split.train[..], &split.validation, reserve, test].concat()
}

/// Rows that are trained or validated on.
fn used(split: &Split) -> Vec<u32> {
    [&split.train[..], &split.validation].concat()
}

/// Tightens the clauses so that the reserve will certify what is trained.
fn leave_room(
    source: &ProblemSource,
    certify: &CertifySpec,
    data: &Data,
    reserve: &Arc<Samples>,
    model: &Network,
    clauses: &mut [Clause],
) -> Result<()> {
    let design = certify.design().map_err(|error| source.at("certify", error.to_string()))?;
    let rooms = certify.ladder.iter().flatten().copied().chain(certify.room);
    // The rungs of a ladder are plans of their own; this one only has to be possible.
    let room = rooms.fold(0.0, f64::max);
    let each = design.delta.among(clauses.len());
    // Units count, not rows.
    let per_row = match &certify.unit {
        Some(unit) => {
            let units = units(&data.table, &data.reserve_rows, unit)?;
            let last = units.iter().max().map_or(0, |last| *last as usize + 1);
            last as f64 / units.len().max(1) as f64
        }
        None => 1.0,
    };
    let mut sampled = SampledTable::new(
        &data.table,
        &data.reserve_rows,
        reserve,
        &data.encoder,
        UnknownCategories::MatchNothing,
    );
    for clause in clauses {
        let requirement = clause.on(&mut sampled).map_err(|error| at_clause(source, error))?;
        let requirement = requirement.ok_or_else(|| {
            let message = format!("'{}' speaks of no reserved row: keep more back", clause.name);
            source.at("certify.reserve", message)
        })?;
        let at = |delta| {
            let width = model.output_width();
            room::margin(&requirement, clause.bound, width, &design, delta, room, per_row)
        };
        // Room for a certificate of its own; at the least, for one together with the others.
        let margin = at(each).or_else(|_| at(design.delta)).map_err(|error| match error {
            Error::Core(feasible::Error::TooFewRows { .. }) => {
                source.at("certify", room::too_few(&clause.name, error))
            }
            Error::Core(core) => {
                source.at(&format!("requirement[{}]", clause.from), core.to_string())
            }
            other => other,
        })?;
        clause.room = margin;
    }
    Ok(())
}

fn objective_loss(spec: &mut Spec, data: &Data) -> LossName {
    let usual = match data.target.classes() {
        Some(_) => LossName::CrossEntropy,
        None => LossName::Squared,
    };
    *spec.objective.loss.get_or_insert(usual)
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

/// An error of a requirement on its rows, at the key it names.
fn at_clause(source: &ProblemSource, error: Error) -> Error {
    let Error::Requirement { index, key, error, .. } = error else { return error };
    let at = format!("requirement[{index}].{key}");
    match *error {
        Error::Data(error) => source.about(&at, error),
        other => source.at(&at, other.to_string()),
    }
}

/// An error of the core, at its cause: the objective, or the first requirement that fails without the others.
fn at_core(
    source: &ProblemSource,
    clauses: &[Clause],
    sampled: &mut SampledTable<'_>,
    objective: &ProblemDraft,
    model: &Network,
    error: feasible::Error,
) -> Error {
    let fails = |draft: ProblemDraft| match draft.check() {
        Ok(problem) => problem.check_model(model).is_err(),
        Err(_) => true,
    };
    let setting = match &error {
        feasible::Error::Setting { setting, .. } => setting.rsplit(": ").next().unwrap_or(setting),
        _ => "",
    };
    if let feasible::Error::DuplicateName { name } = &error
        && let Some(clause) = clauses.iter().rev().find(|clause| clause.name == *name)
    {
        return source.at(&format!("requirement[{}].name", clause.from), error.to_string());
    }
    if fails(objective.clone()) {
        let key = if setting == "weight decay" { "objective.weight_decay" } else { "objective" };
        return source.at(key, error.to_string());
    }
    for clause in clauses {
        let Ok(Some(requirement)) = clause.tightened().on(sampled) else { continue };
        if fails(objective.clone().subject_to(requirement)) {
            let section = format!("requirement[{}]", clause.from);
            let key = match setting {
                "margin" | "start" | "all_but" => format!("{section}.{setting}"),
                _ => section,
            };
            return source.at(&key, error.to_string());
        }
    }
    Error::Core(error)
}
