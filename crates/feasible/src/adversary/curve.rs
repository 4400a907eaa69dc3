//! How accuracy falls with ε, and what an attack makes of samples.

use crate::adaptive::{BatchProbe, Probe, ProbeScratch, TrainingPlace};
use crate::adversary::attack::{Adversary, Attack, Select};
use crate::adversary::budget::Budget;
use crate::adversary::pgd::Run;
use crate::denormals::{FlushDenormals, flushing_pool};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::population::Population;
use crate::samples::Targets;

/// Samples attacked together.
const BATCH: usize = 128;

/// The accuracy of a model under attack at one ε.
#[derive(Clone, Debug, PartialEq)]
pub struct Robustness {
    /// ε.
    pub epsilon: f64,
    /// Samples still classified correctly, whatever the attack tried.
    pub correct: usize,
    /// Their rows.
    pub correct_rows: Vec<u32>,
    /// Samples.
    pub total: usize,
}

impl Robustness {
    /// correct / total.
    pub fn accuracy(&self) -> f64 {
        self.correct as f64 / self.total as f64
    }
}

/// Attacks every member of a population at each ε of `epsilons` with the settings of `attack` (whose
/// own budget and selection are not used), the worst of all restarts for each sample.
///
/// ε are taken in ascending order, and balls lie in each other: a sample fooled at one ε is fooled at
/// every larger one and not attacked again. `progress` is called after every batch with the
/// number of ε done and of samples attacked at the next; if it returns false, the attack ends,
/// and only ε that were finished are returned. The result does not
/// depend on `threads`.
///
/// # Errors
/// An ε outside its range, settings that do not fit, or a population whose targets are not classes.
#[allow(clippy::too_many_arguments)]
pub fn robustness<M: Model>(
    model: &M,
    theta: &[M::Real],
    population: &Population,
    attack: &Attack,
    epsilons: &[f64],
    seed: u64,
    threads: usize,
    progress: &mut (dyn FnMut(usize, usize) -> bool + Send),
) -> Result<Vec<Robustness>> {
    check(model, theta, population)?;
    let adversaries: Vec<Adversary> = epsilons
        .iter()
        .map(|&epsilon| {
            let select = Select::First;
            Attack { budget: Budget::fixed(epsilon), select, ..attack.clone() }.check()
        })
        .collect::<Result<_>>()?;
    let mut work = || attack_all(model, theta, population, epsilons, &adversaries, seed, progress);
    Ok(match flushing_pool(threads)? {
        None => work(),
        Some(pool) => pool.install(work),
    })
}

fn attack_all<M: Model>(
    model: &M,
    theta: &[M::Real],
    population: &Population,
    epsilons: &[f64],
    adversaries: &[Adversary],
    seed: u64,
    progress: &mut (dyn FnMut(usize, usize) -> bool + Send),
) -> Vec<Robustness> {
    let _flush = FlushDenormals::new();
    let samples = population.samples();
    let mut order: Vec<usize> = (0..epsilons.len()).collect();
    order.sort_by(|&a, &b| epsilons[a].total_cmp(&epsilons[b]));
    let mut standing: Vec<u32> = population.rows().collect();
    let total = standing.len();
    let mut results = vec![None; epsilons.len()];
    let mut scratch = ProbeScratch::default();
    let mut shift = Vec::new();
    'all: for (done, &e) in order.iter().enumerate() {
        let adversary = &adversaries[e];
        let mut attacked = 0;
        let mut still = Vec::with_capacity(standing.len());
        for rows in standing.chunks(BATCH) {
            let scratch = &mut scratch;
            let mut probe = BatchProbe { model, theta, samples, rows, scratch };
            let fooled = attack_batch(adversary, &mut probe, seed, &mut shift);
            still
                .extend(rows.iter().zip(fooled).filter(|(_, fooled)| !fooled).map(|(row, _)| *row));
            attacked += rows.len();
            if !progress(done, attacked) {
                break 'all;
            }
        }
        standing = still;
        let (epsilon, correct_rows) = (epsilons[e], standing.clone());
        results[e] = Some(Robustness { epsilon, correct: standing.len(), correct_rows, total });
    }
    results.into_iter().flatten().collect()
}

/// What an attack made of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Perturbed {
    /// The row of the sample.
    pub row: u32,
    /// δ: the first that fools the model, or the worst that was found.
    pub delta: Vec<f32>,
    /// Whether the model is wrong at x + δ.
    pub fooled: bool,
}

/// Attacks every member of a population, with the settings of `attack` but for its selection, and gives δ of each. `progress` is
/// called after every batch with the number of samples attacked; if it returns false, the attack ends there. The result does
/// not depend on `threads`.
///
/// # Errors
/// As [`robustness`].
pub fn perturb<M: Model>(
    model: &M,
    theta: &[M::Real],
    population: &Population,
    attack: &Attack,
    seed: u64,
    threads: usize,
    progress: &mut (dyn FnMut(usize) -> bool + Send),
) -> Result<Vec<Perturbed>> {
    check(model, theta, population)?;
    let adversary = Attack { select: Select::First, ..attack.clone() }.check()?;
    let mut work =
        || {
            let _flush = FlushDenormals::new();
            let samples = population.samples();
            let all: Vec<u32> = population.rows().collect();
            let mut scratch = ProbeScratch::default();
            let (mut shift, mut found) = (Vec::new(), Vec::with_capacity(all.len()));
            for rows in all.chunks(BATCH) {
                let scratch = &mut scratch;
                let mut probe = BatchProbe { model, theta, samples, rows, scratch };
                let fooled = attack_batch(&adversary, &mut probe, seed, &mut shift);
                let deltas = shift.chunks_exact(samples.inputs().width());
                found.extend(rows.iter().zip(deltas).zip(fooled).map(|((&row, delta), fooled)| {
                    Perturbed { row, delta: delta.to_vec(), fooled }
                }));
                if !progress(found.len()) {
                    break;
                }
            }
            found
        };
    Ok(match flushing_pool(threads)? {
        None => work(),
        Some(pool) => pool.install(work),
    })
}

/// Attacks a batch: δ goes to `shift`, and whether each row was fooled is returned.
fn attack_batch(
    adversary: &Adversary,
    probe: &mut dyn Probe,
    seed: u64,
    shift: &mut Vec<f32>,
) -> Vec<bool> {
    let rows = probe.rows().len();
    let positions: Vec<u32> = (0..rows as u32).collect();
    let mut run = Run::new(adversary, probe, TrainingPlace { seed, epoch: 0 }, &positions);
    shift.clear();
    shift.resize(rows * probe.samples().inputs().width(), 0.0);
    run.attack(probe, shift);
    run.best.iter().map(|best| best.won).collect()
}

/// Whether a model can be attacked on a population.
fn check<M: Model>(model: &M, theta: &[M::Real], population: &Population) -> Result<()> {
    let samples = population.samples();
    if !matches!(samples.targets(), Targets::Classes(_)) {
        return Err(Error::LossMismatch {
            requirement: "robustness".into(),
            loss: "an attack".into(),
            reason: "needs classes as targets; these are numbers".into(),
        });
    }
    if model.input_width() != samples.inputs().width() {
        return Err(Error::InputWidth {
            model: model.input_width(),
            data: samples.inputs().width(),
            population: "the population under attack".into(),
        });
    }
    if theta.len() != model.parameter_count() {
        return Err(Error::Shape {
            what: "theta".into(),
            expected: format!("the model's {} parameters", model.parameter_count()),
            found: theta.len(),
        });
    }
    Ok(())
}
