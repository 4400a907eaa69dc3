//! What the requirements cost: a model of the same recipe without them, trained after the run.
//!
//! Same data, model, learner, settings and seed; the problem without its requirements. What is measured of it is what is
//! measured of the run: `baseline.json` has its evaluation on every part, the requirements held against it, and its groups;
//! `summary.json` the differences. Its parameters stay in `baseline.safetensors` under a fingerprint of everything they
//! depend on, and a later run with other requirements finds them there, in its own directory or in one beside it.
//!
//! A baseline is a nicety: the run is complete before it begins, and neither its failure nor an interruption
//! changes anything about the run. Resuming a run trains it again if it is missing.

use std::collections::HashMap;
use std::sync::Arc;

use feasible::{Model, Outcome};
use feasible_data::disk;
use feasible_problem::plan::Plan;
use feasible_problem::sampled_table::SampledTable;
use feasible_problem::text::{percent, short};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::decision::Decision;
use crate::directory::RunDirectory;
use crate::error::{Error, Result};
use crate::evaluate::Evaluation;
use crate::files::{BASELINE, BASELINE_MODEL, FORMAT, PartRows, SUMMARY, json};
use crate::fit::solve;
use crate::groups::GroupTables;
use crate::interrupt::Interrupt;
use crate::parts::PartResults;
use crate::saved_model::SavedModel;
use crate::storage::{Storage, failed, read};
use crate::subject::Subject;
use crate::summary::{SeedsSummary, Summary};
use crate::threads;

/// The metadata entry and the tensor of `baseline.safetensors`.
const ENTRY: &str = "feasible-baseline";
const THETA: &str = "theta";
/// What the file has besides its tensor, in bytes, at most.
const HEADER: u64 = 1 << 14;

/// `baseline.json`: a model without the requirements, and how it does. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// A SHA-256 of what its parameters depend on.
    pub fingerprint: String,
    /// How its training ended.
    pub outcome: Outcome,
    /// Epochs done.
    pub epochs: u64,
    /// The epoch it is from.
    pub kept_epoch: u64,
    /// Where its probabilities are cut, if not at 1/2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// On the training rows.
    pub train: Evaluation,
    /// On the validation rows.
    pub validation: Option<Evaluation>,
    /// On the test rows.
    pub test: Option<Evaluation>,
    /// Within the groups of the run.
    pub groups: GroupTables,
}

/// One number with and without the requirements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// `train`, `validation` or `test`.
    pub part: String,
    /// What is measured: `accuracy`, `objective`, `flip rate, Male ↔ Female`.
    pub measure: String,
    /// Of the run.
    pub with: f64,
    /// Of the baseline.
    pub without: f64,
    /// The first minus the second.
    pub difference: f64,
}

impl Difference {
    fn new(part: &str, measure: &str, with: Option<f64>, without: Option<f64>) -> Option<Self> {
        let (with, without) = (with?, without?);
        let difference = with - without;
        let (part, measure) = (part.to_string(), measure.to_string());
        let one = Self { part, measure, with, without, difference };
        one.is_sound().then_some(one)
    }

    pub(crate) fn is_sound(&self) -> bool {
        let Self { with, without, difference, .. } = *self;
        difference.is_finite() && difference == with - without
    }

    /// Whether it is a share of rows.
    pub fn is_share(&self) -> bool {
        self.measure == ACCURACY || self.measure.starts_with(FLIP_RATE)
    }
}

const ACCURACY: &str = "accuracy";
const FLIP_RATE: &str = "flip rate";
/// What the figures of the baseline are of, since `fit` without requirements averages several networks on small tables.
const WITHOUT: &str = "without: one model, trained the same way";
/// Lines of the cost over several seeds.
const MOST_LINES: usize = 5;

impl Baseline {
    fn parts(&self) -> [Option<&Evaluation>; 3] {
        [Some(&self.train), self.validation.as_ref(), self.test.as_ref()]
    }

    /// The rows a model is judged by, as [`Summary::judged`].
    pub fn judged(&self) -> &Evaluation {
        self.test.as_ref().or(self.validation.as_ref()).unwrap_or(&self.train)
    }

    /// Whether all of it is about the same requirements; what is wrong is a sentence.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        fn names(evaluation: &Evaluation) -> impl Iterator<Item = &str> {
            evaluation.requirements.iter().map(|requirement| requirement.name.as_str())
        }
        self.decision.as_ref().map_or(Ok(()), Decision::check)?;
        if !self.parts().into_iter().flatten().all(|part| names(part).eq(names(&self.train))) {
            return Err("its parts are about different requirements".into());
        }
        self.groups.check()
    }

    /// What the requirements cost on every part.
    fn cost(&self, of: &Summary) -> Vec<Difference> {
        let mut cost = Vec::new();
        let with = [Some(&of.train), of.validation.as_ref(), of.test.as_ref()];
        let parts = ["train", "validation", "test"].into_iter().zip(with).zip(self.parts());
        for ((part, with), without) in parts {
            let (Some(with), Some(without)) = (with, without) else { continue };
            let mut add = |measure: &str, a: Option<f64>, b: Option<f64>| {
                cost.extend(Difference::new(part, measure, a, b));
            };
            add(ACCURACY, with.accuracy, without.accuracy);
            add(with.rmse_name(), with.rmse, without.rmse);
            add("objective", Some(with.objective), Some(without.objective));
            for (a, b) in with.flip_rates.iter().zip(&without.flip_rates) {
                let measure = format!("{FLIP_RATE}, {}", a.counterfactual);
                add(&measure, Some(a.share), Some(b.share));
            }
        }
        cost
    }
}

/// The cost on the rows that the model is judged by, in a few lines for people.
pub(crate) fn cost_text(summary: &Summary) -> String {
    if let Some(reason) = &summary.no_baseline {
        return format!("\nNo baseline: {reason}\n");
    }
    let (part, _) = summary.judged();
    let cost: Vec<&Difference> = summary.cost.iter().filter(|one| one.part == part).collect();
    if cost.is_empty() {
        return String::new();
    }
    let one = |of: &Difference| match of.is_share() {
        true => format!("{} {} (without: {})", of.measure, percent(of.with), percent(of.without)),
        false => format!("{} {} (without: {})", of.measure, short(of.with), short(of.without)),
    };
    let plain = cost.iter().filter(|of| !of.measure.starts_with(FLIP_RATE));
    let flips = cost.iter().filter(|of| of.measure.starts_with(FLIP_RATE));
    // Of many counterfactuals the one that changed most without requirements.
    let worst = flips.max_by(|a, b| a.without.total_cmp(&b.without));
    let lines: Vec<String> = plain.chain(worst).map(|of| format!("  {}\n", one(of))).collect();
    format!("\nThe cost of the requirements, {part} rows ({WITHOUT}):\n{}", lines.concat())
}

/// The cost over several seeds: the differences of runs and baselines of the same seed.
pub(crate) fn seeds_cost_text(seeds: &SeedsSummary) -> String {
    let Some(first) = seeds.runs.first() else { return String::new() };
    let (part, _) = first.judged();
    let line = |of: &Difference| {
        let same = |other: &&Difference| other.part == part && other.measure == of.measure;
        let spread = seeds.spread(|run| Some(run.cost.iter().find(same)?.difference))?;
        let spread = if of.is_share() { spread.as_points(2) } else { spread.as_rounded() };
        Some(format!("  {} {spread}\n", of.measure))
    };
    let lines: String =
        first.cost.iter().filter(|of| of.part == part).take(MOST_LINES).filter_map(line).collect();
    match lines.is_empty() {
        true => lines,
        false => format!(
            "\nThe cost of the requirements, {part} rows (with − without, one model each):\n{lines}"
        ),
    }
}

/// The model without the requirements that a run directory holds.
pub(crate) struct Unconstrained {
    theta: Vec<f32>,
    decision: Option<Arc<Decision>>,
}

impl Unconstrained {
    /// `None` without one, or where its network is another than that of the model.
    pub(crate) fn beside(model: &SavedModel, directory: &RunDirectory) -> Option<Self> {
        let baseline = directory.baseline().ok()??;
        let bytes = directory.read(BASELINE_MODEL).ok()??;
        let count = model.network().parameter_count();
        let Parameters { theta, .. } = Parameters::from_bytes(&bytes, count)?;
        Some(Self { theta, decision: baseline.decision.map(Arc::new) })
    }

    /// What it reaches of what a model and a constant are compared by.
    pub(crate) fn value_on(
        &self,
        model: &SavedModel,
        sampled: &mut SampledTable<'_>,
    ) -> Result<Option<f64>> {
        let (theta, decision) = (&self.theta[..], self.decision.clone());
        let subject = model.subject();
        let subject = Subject { theta, decision, clauses: &[], changes: &[], ..subject };
        let comparison = subject.on("evaluation", sampled)?.comparison()?;
        Ok(comparison.map(|comparison| comparison.model))
    }
}

/// The summary of a run with what its requirements cost, or with the reason why that is not known.
pub(crate) fn beside(
    plan: &Plan,
    storage: &dyn Storage,
    interrupt: &Interrupt,
    mut summary: Summary,
) -> Summary {
    if !plan.has_baseline() {
        return summary;
    }
    let resume = || format!("`feasible resume {}` trains it", storage.location());
    match add(plan, storage, interrupt, &summary) {
        Ok(Some(cost)) => summary.cost = cost,
        Ok(None) => summary.no_baseline = Some(format!("it was interrupted: {}", resume())),
        Err(error @ Error::Storage { .. }) => {
            summary.unwritten = true;
            summary.no_baseline = Some(format!("{error}: {}", resume()));
        }
        Err(error) => summary.no_baseline = Some(error.to_string()),
    }
    summary
}

/// Trains the baseline, or finds it, and writes what it says; `None` if it was interrupted.
fn add(
    plan: &Plan,
    storage: &dyn Storage,
    interrupt: &Interrupt,
    summary: &Summary,
) -> Result<Option<Vec<Difference>>> {
    let unconstrained = plan.without_requirements()?;
    let fingerprint = fingerprint(&unconstrained);
    let count = plan.model().parameter_count();
    let known = Parameters::known(storage, &fingerprint, count);
    let parameters = match known {
        Some(known) => known,
        None => {
            if interrupt.is_raised() {
                return Ok(None);
            }
            let Some(solution) = solve(&unconstrained, interrupt)? else { return Ok(None) };
            if let Outcome::Diverged { .. } = solution.outcome {
                return Err(Error::unfit("its training", solution.outcome.to_string()));
            }
            Parameters {
                origin: Origin {
                    fingerprint,
                    outcome: solution.outcome,
                    epochs: solution.epochs,
                    kept_epoch: solution.kept_epoch,
                    sha256: sha256_of(&solution.theta),
                },
                theta: solution.theta,
            }
        }
    };
    // A rate that is left to the threshold is the only reason for one: without it, 1/2 is as good.
    let by_threshold = plan.clauses().iter().any(|clause| clause.by_threshold.is_some());
    let deciding = (!by_threshold).then_some(&[][..]);
    let count = plan.settings().training.threads;
    let results = threads::on(count, || PartResults::of(plan, &parameters.theta, None, deciding))?;
    let Origin { fingerprint, outcome, epochs, kept_epoch, .. } = parameters.origin.clone();
    let PartResults { decision, train, validation, test, groups, .. } = results;
    let baseline = Baseline {
        fingerprint,
        outcome,
        epochs,
        kept_epoch,
        decision,
        train,
        validation,
        test,
        groups,
    };
    let cost = baseline.cost(summary);
    let write = |name: &str, bytes: &[u8]| {
        storage.write(name, bytes).map_err(failed("write", storage, name))
    };
    write(BASELINE_MODEL, &parameters.to_bytes()?)?;
    write(BASELINE, &json(&baseline))?;
    write(SUMMARY, &json(&Summary { cost: cost.clone(), ..summary.clone() }.written()))?;
    Ok(Some(cost))
}

/// What the parameters of a training without requirements depend on.
fn fingerprint(plan: &Plan) -> String {
    let data = plan.data();
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(format!("{} {FORMAT}", env!("CARGO_PKG_VERSION")).as_bytes());
    add(plan.spec().to_toml().as_bytes());
    add(&json(&data.hashes));
    add(&json(&PartRows::of(&data.split, &data.reserve_rows)));
    hex(&hash.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(theta: &[f32]) -> Vec<u8> {
    theta.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn sha256_of(theta: &[f32]) -> String {
    hex(&Sha256::digest(bytes_of(theta)))
}

/// Where parameters come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Origin {
    fingerprint: String,
    outcome: Outcome,
    epochs: u64,
    kept_epoch: u64,
    /// Of the parameters.
    sha256: String,
}

/// `baseline.safetensors`.
#[derive(Clone, Debug, PartialEq)]
struct Parameters {
    origin: Origin,
    theta: Vec<f32>,
}

impl Parameters {
    /// Those with this fingerprint, if this run or one beside it has them.
    fn known(storage: &dyn Storage, fingerprint: &str, count: usize) -> Option<Self> {
        let sound = |bytes: Vec<u8>| {
            Self::from_bytes(&bytes, count).filter(|found| found.origin.fingerprint == fingerprint)
        };
        let own = read(storage, BASELINE_MODEL).ok().flatten();
        if let Some(own) = own.and_then(sound) {
            return Some(own);
        }
        let longest = 4 * count as u64 + HEADER;
        storage.beside(BASELINE_MODEL).into_iter().find_map(|file| {
            let length = file.symlink_metadata().ok().filter(|found| found.is_file())?.len();
            let bytes = (length <= longest).then(|| disk::read_inside(&file, longest).ok())??;
            sound(bytes)
        })
    }

    fn to_bytes(&self) -> Result<Vec<u8>> {
        let wrong = |reason: String| Error::Model { path: BASELINE_MODEL.into(), reason };
        let origin = serde_json::to_string(&self.origin).map_err(|e| wrong(e.to_string()))?;
        let metadata = HashMap::from([(ENTRY.to_string(), origin)]);
        let bytes = bytes_of(&self.theta);
        let view = TensorView::new(Dtype::F32, vec![self.theta.len()], &bytes);
        let view = view.map_err(|error| wrong(error.to_string()))?;
        safetensors::serialize([(THETA, view)], Some(metadata)).map_err(|e| wrong(e.to_string()))
    }

    /// `None` for anything but the parameters that were written.
    fn from_bytes(bytes: &[u8], count: usize) -> Option<Self> {
        crate::saved_model::check_offsets(bytes).ok()?;
        let (_, metadata) = SafeTensors::read_metadata(bytes).ok()?;
        let origin = metadata.metadata().as_ref()?.get(ENTRY)?;
        let origin: Origin = serde_json::from_str(origin).ok()?;
        let tensors = SafeTensors::deserialize(bytes).ok()?;
        let tensor = tensors.tensor(THETA).ok()?;
        if tensor.dtype() != Dtype::F32 || tensor.shape() != [count] {
            return None;
        }
        let (numbers, _) = tensor.data().as_chunks::<4>();
        let theta: Vec<f32> = numbers.iter().map(|x| f32::from_le_bytes(*x)).collect();
        (sha256_of(&theta) == origin.sha256).then_some(Self { origin, theta })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn parameters_with_any_changed_byte_are_not_taken() {
        let theta = vec![0.5, -1.0, 3.0];
        let sha256 = sha256_of(&theta);
        let fingerprint = "ab".repeat(32);
        let outcome = Outcome::MaxEpochs;
        let origin = Origin { fingerprint, outcome, epochs: 3, kept_epoch: 2, sha256 };
        let parameters = Parameters { origin, theta };
        let bytes = parameters.to_bytes().unwrap();
        assert_eq!(Parameters::from_bytes(&bytes, 3), Some(parameters.clone()));
        assert_eq!(Parameters::from_bytes(&bytes, 4), None);
        for at in 0..bytes.len() {
            assert_eq!(Parameters::from_bytes(&bytes[..at], 3), None);
            let mut changed = bytes.clone();
            changed[at] ^= 0x04;
            if let Some(found) = Parameters::from_bytes(&changed, 3) {
                assert_eq!(found.theta, parameters.theta, "byte {at}");
            }
        }
    }
}
