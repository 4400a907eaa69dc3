//! Robust learning: networks without a requirement, under attacks of one ε, and under a prior over ε.
//!
//! An experiment is a list of problems that differ in their requirement, the expected loss under attack at
//! most c. Each network is trained and then attacked as the paper does. What has been done is kept in
//! a directory, a run for each problem with its curve, and is not done again. [`FASHION_MNIST`] and
//! [`CIFAR_10`] are the paper's.

mod cifar_10;
mod claims;
mod fashion_mnist;
mod table;

use std::path::{Path, PathBuf};

use feasible_problem::gallery::Gallery;
use feasible_problem::plan::Plan;
use feasible_problem::spec::{LimitKey, Override, ProblemSource};
use feasible_run::attack::{AttackOptions, AttackProgress, Curve};
use feasible_run::error::{Error, Result};
use feasible_run::files::{ATTACK, PROBLEM, SUMMARY, json};
use feasible_run::fit::Observer;
use feasible_run::output::write_own;
use feasible_run::saved_model::SavedModel;
use feasible_run::storage::no_link;
use feasible_run::{FitOptions, fit, resume};
use feasible_run::{Interrupt, RunDirectory};
use serde::Serialize;

use super::check_same;

pub use cifar_10::CIFAR_10;
pub use claims::Shown;
pub use fashion_mnist::FASHION_MNIST;
pub use table::{RobustRow, RobustTable};

/// How much to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// The same network on a part of the images, for a few epochs: minutes.
    Small,
    /// As the paper: ResNet18, all images, 100 epochs, the full attack; days on two cores.
    Paper,
}

impl Budget {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Paper => "paper",
        }
    }
}

/// How to reproduce.
#[derive(Clone, Debug)]
pub struct RobustReproduction {
    /// How much to do.
    pub budget: Budget,
    /// Where runs and curves are kept.
    pub directory: PathBuf,
    /// Threads of each training and attack; results do not depend on it.
    pub threads: usize,
    /// What is put on top of every problem file.
    pub overrides: Vec<Override>,
    /// Stops it; calling again continues.
    pub interrupt: Interrupt,
}

/// An experiment of the paper: problems that differ in their requirement, trained and then attacked.
#[derive(Debug)]
pub struct RobustExperiment {
    name: &'static str,
    title: &'static str,
    /// Where the paper has it.
    figure: &'static str,
    variants: &'static [Variant],
    /// The ε that the table shows.
    shown: &'static [f64],
    /// The ε that are attacked.
    epsilons: &'static [f64],
    small: Reduced,
    /// The paper's results on the networks, in the order of the variants.
    claims: fn(&[RobustRow]) -> Vec<Shown>,
}

/// A problem of an experiment.
#[derive(Debug)]
struct Variant {
    problem: &'static str,
    name: &'static str,
    /// The paper's accuracies: ε, in per cent.
    paper: &'static [(f64, &'static str)],
    /// The limit c of the reduced run; `None` without a requirement.
    small_limit: Option<f64>,
    /// The epochs of the reduced run.
    small_epochs: u64,
}

/// What a reduced run changes, besides limits and epochs.
#[derive(Debug)]
struct Reduced {
    overrides: &'static [&'static str],
    /// How much stricter than its limit a requirement is trained, as a share of the limit.
    margin: f64,
    /// The ε that are attacked.
    epsilons: &'static [f64],
    restarts: u32,
    /// Test images of each class that are attacked.
    per_class: usize,
}

impl RobustExperiment {
    /// What it is called: `fashion-mnist`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The problems, in the order they are trained in.
    pub fn problems(&self) -> impl ExactSizeIterator<Item = &'static str> + use<> {
        self.variants.iter().map(|variant| variant.problem)
    }

    /// Trains and attacks the networks; continues what an earlier call has begun.
    ///
    /// # Errors
    /// An interruption; data that are nowhere; a directory with runs of other settings.
    pub fn reproduce(
        &self,
        how: &RobustReproduction,
        observer: Observer<'_>,
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<RobustTable> {
        let (mut rows, mut known) = (Vec::new(), None);
        for variant in self.variants {
            progress(variant.problem);
            rows.push(self.row(variant, how, observer, &mut known)?);
        }
        let claims = (self.claims)(&rows);
        Ok(RobustTable {
            title: self.title.into(),
            figure: self.figure.into(),
            budget: how.budget,
            shown: self.shown.to_vec(),
            rows,
            claims,
        })
    }

    fn overrides(&self, variant: &Variant, budget: Budget) -> Vec<Override> {
        if budget == Budget::Paper {
            return Vec::new();
        }
        let Reduced { overrides, margin, .. } = self.small;
        let mut overrides: Vec<Override> =
            overrides.iter().map(|text| text.to_string().into()).collect();
        overrides.push(Override::Epochs(variant.small_epochs));
        if let Some(limit) = variant.small_limit {
            let key = LimitKey::AtMost;
            overrides.push(Override::Limit { requirement: 0, key, limit });
            overrides.push(format!("requirement.robust.margin={margin}").into());
            // A small budget pays for a fifth of the usual attack on all of its images.
            let attack = "evaluation.attack={ steps = 20, restarts = 1 }";
            overrides.push(attack.to_string().into());
        }
        overrides
    }

    /// The attack, and how many test images of each class it is on.
    fn attack(&self, budget: Budget) -> (AttackOptions, Option<usize>) {
        let paper = AttackOptions { epsilons: self.epsilons.to_vec(), ..AttackOptions::default() };
        let Reduced { epsilons, restarts, per_class, .. } = self.small;
        match budget {
            Budget::Small => {
                (AttackOptions { epsilons: epsilons.to_vec(), restarts, ..paper }, Some(per_class))
            }
            Budget::Paper => (paper, None),
        }
    }

    fn row(
        &self,
        variant: &Variant,
        how: &RobustReproduction,
        observer: Observer<'_>,
        known: &mut Option<Plan>,
    ) -> Result<RobustRow> {
        let directory = how.directory.join(variant.problem);
        let mut overrides = self.overrides(variant, how.budget);
        overrides.extend_from_slice(&how.overrides);
        overrides.push(Override::Threads(how.threads as u64));
        let source = ProblemSource::open(variant.problem)?.with(&overrides);
        let plan = match &*known {
            Some(known) => known.variant(&source)?,
            None => Plan::check(&source)?,
        };
        let plan = known.insert(plan);
        train(plan, &directory, how, observer)?;
        let model = SavedModel::open(&directory)?;
        let curve = attacked(&model, plan, &directory, how, self.attack(how.budget))?;
        let adversary = plan.clauses().iter().find_map(|clause| clause.adversary.as_ref());
        Ok(RobustRow {
            problem: variant.problem.to_string(),
            variant: variant.name.to_string(),
            directory,
            prior: adversary.map(|attack| attack.budget.prior.clone()),
            summary: model.manifest().training.clone(),
            curve,
            paper: variant.paper.iter().map(|&(epsilon, share)| (epsilon, share.into())).collect(),
        })
    }
}

/// Trains, or resumes, or leaves a finished run alone.
fn train(
    plan: &Plan,
    directory: &Path,
    how: &RobustReproduction,
    observer: Observer<'_>,
) -> Result<()> {
    let interrupted = || Error::unfit("reproduction", "it was interrupted");
    no_link(directory)?;
    let fitted = if directory.join(PROBLEM).is_file() {
        check_same(plan, &RunDirectory::new(directory))?;
        if directory.join(SUMMARY).is_file() {
            return Ok(());
        }
        resume(directory, &how.interrupt, observer)?
    } else {
        let options = FitOptions {
            directory: Some(directory.to_path_buf()),
            // What was stopped before it had a problem is no run yet.
            force: true,
            interrupt: how.interrupt.clone(),
            ..FitOptions::default()
        };
        fit(plan, &options, observer)?
    };
    if fitted.is_interrupted() { Err(interrupted()) } else { Ok(()) }
}

/// Attacks the test images, unless that was done before.
fn attacked(
    model: &SavedModel,
    plan: &Plan,
    directory: &Path,
    how: &RobustReproduction,
    (options, per_class): (AttackOptions, Option<usize>),
) -> Result<Curve> {
    if let Ok(Some(curve)) = RunDirectory::new(directory).curve()
        && curve.attack == options
    {
        return Ok(curve);
    }
    let tables = || Error::unfit(plan.name(), "its data are tables, not images");
    let gallery = Gallery::of(plan.data()).ok_or_else(tables)?;
    let mut rows = gallery.test_rows();
    if let Some(count) = per_class {
        rows = gallery.images().at_most(&rows, count, 0)?;
    }
    let mut go_on = |_: usize, _: usize| !how.interrupt.is_raised();
    let progress: AttackProgress<'_> = &mut go_on;
    let curve = model.attack_images(&gallery, &rows, &options, how.threads, progress)?;
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.join(name);
        let failed = |source| Error::Storage {
            operation: "write",
            path: path.display().to_string(),
            source,
        };
        write_own(&path, &|out| out.write_all(bytes)).map_err(failed)
    };
    let [numbers, _, _, sheet] = ATTACK;
    if let Some(examples) = &curve.examples {
        write(sheet, &examples.sheet)?;
    }
    // Last: what is read again is whole.
    write(numbers, &json(&curve))?;
    Ok(curve)
}
