//! What a rank needs to take part in a training, dealt out by the one that has the plan.
//!
//! A [`PlanShare`] has the encoded rows of the rank, and model and learner as settings. Neither a table nor a problem file
//! is needed to make a [`RankTraining`] of it.

use std::any::Any;
use std::sync::Arc;

use feasible::adversary::{Adversary, Attack, Judge};
use feasible::problem::ProblemShare;
use feasible::{Adaptive, Learner, Problem, Reduce, State};
use feasible_data::image::{Augmentation, ImageShape};
use serde::{Deserialize, Serialize};

use super::Plan;
use crate::augmented::Augmented;
use crate::error::{Error, Result};
use crate::memory;
use crate::network::{Network, NetworkShape};
use crate::settings::{DualSettings, TrainingSettings};
use crate::spec::Margins;
use crate::store::{self, Store};
use crate::units::OutputUnits;

/// A rank's share of a plan: the encoded rows of the rank, and model and learner as settings.
#[derive(Debug, Serialize, Deserialize)]
pub struct PlanShare {
    network: String,
    centres: Option<Vec<f32>>,
    seed: u64,
    learner: LearnerParts,
    train: ProblemShare,
    validation: Option<ProblemShare>,
}

/// What a share will need where it goes, known before it is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingNeeds {
    /// Bytes of memory, about.
    memory: u64,
    /// Bytes on disk, if rows are kept there.
    disk: Option<u64>,
}

/// What a learner is made of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LearnerParts {
    pub(super) training: TrainingSettings,
    /// The duals of single requirements.
    pub(super) own: Vec<(String, DualSettings)>,
    /// The size of the objective.
    pub(super) size: f64,
    pub(super) most_learned: Vec<f64>,
    pub(super) rooms: Vec<f64>,
}

impl LearnerParts {
    /// The learner, started with `seed`.
    pub(super) fn learner(&self, seed: u64, validation: Option<&Problem>) -> Learner {
        let learner = self.training.learner(seed, &self.own, validation, self.size);
        match self.training.margins {
            Margins::Learned => {
                learner.learn_margins(self.most_learned.clone()).rooms(self.rooms.clone())
            }
            Margins::Stated => learner,
        }
    }
}

/// A network in words that a compact encoding can keep.
#[derive(Serialize, Deserialize)]
struct NetworkText {
    shape: NetworkShape,
    units: Option<OutputUnits>,
}

/// A view that depends on the model, in such words.
#[derive(Serialize, Deserialize)]
enum ViewText {
    Attacked(AttackText),
    Augmented(Augmentation, ImageShape, Option<AttackText>),
}

#[derive(Serialize, Deserialize)]
struct AttackText {
    attack: Attack,
    judge: Option<Judge>,
}

impl AttackText {
    fn of(adversary: &Adversary) -> Self {
        Self { attack: adversary.attack().clone(), judge: adversary.judge().cloned() }
    }

    fn adversary(self) -> Option<Arc<Adversary>> {
        let adversary = self.attack.check().ok()?;
        match self.judge {
            Some(judge) => adversary.judging(judge).ok(),
            None => Some(adversary),
        }
        .map(Arc::new)
    }
}

fn text_of(view: &dyn Adaptive) -> Option<String> {
    let view: &dyn Any = view;
    let text = match (view.downcast_ref::<Adversary>(), view.downcast_ref::<Augmented>()) {
        (Some(adversary), _) => ViewText::Attacked(AttackText::of(adversary)),
        (None, Some(of)) => {
            let attack = of.adversary.as_deref().map(AttackText::of);
            ViewText::Augmented(of.augmentation, of.shape, attack)
        }
        (None, None) => return None,
    };
    serde_json::to_string(&text).ok()
}

fn view_of(text: &str) -> Option<Arc<dyn Adaptive>> {
    Some(match serde_json::from_str(text).ok()? {
        ViewText::Attacked(attack) => attack.adversary()?,
        ViewText::Augmented(augmentation, shape, attack) => {
            let adversary = match attack {
                Some(attack) => Some(attack.adversary()?),
                None => None,
            };
            Arc::new(Augmented { augmentation, shape, adversary })
        }
    })
}

impl Plan {
    /// The same plan, its rows divided over ranks, of which this one has the plan and the others get a
    /// [share](Plan::share).
    ///
    /// # Errors
    /// More than 64 ranks, 8 for a model with BatchNorm.
    pub fn own_share(&self, reduce: &Arc<dyn Reduce>) -> feasible::Result<Self> {
        let own = |problem: &Problem| problem.own_share(&self.model, reduce.clone());
        let (train, validation) = (own(&self.train)?, self.validation.as_ref().map(own));
        Ok(Self { train, validation: validation.transpose()?, ..self.clone() })
    }

    /// The share of a rank.
    ///
    /// # Errors
    /// As [`Plan::own_share`].
    pub fn share(&self, rank: usize, ranks: usize) -> feasible::Result<PlanShare> {
        let of = |problem: &Problem| problem.share(&self.model, rank, ranks, text_of);
        let network = NetworkText { shape: self.model.shape(), units: self.model.units().cloned() };
        Ok(PlanShare {
            // Of numbers and names, nothing can fail to be written.
            network: serde_json::to_string(&network).unwrap_or_default(),
            centres: self.model.centres().map(<[f32]>::to_vec),
            seed: self.seed(),
            learner: self.learner_settings(),
            train: of(&self.train)?,
            validation: self.validation.as_ref().map(of).transpose()?,
        })
    }

    /// What a share of this plan needs.
    pub fn needs(&self, share: &PlanShare) -> TrainingNeeds {
        let all = self.all_estimated();
        let rows = share.train.bytes() + share.validation.as_ref().map_or(0, ProblemShare::bytes);
        let rows = rows.saturating_add(all.multipliers / share.train.workers() as u64);
        let passes = all.each.saturating_sub(all.multipliers);
        match self.spec.data.store {
            Some(Store::Disk) => TrainingNeeds { memory: passes, disk: Some(rows) },
            _ => TrainingNeeds { memory: passes.saturating_add(rows), disk: None },
        }
    }
}

impl TrainingNeeds {
    /// Prepares this process for what they are of.
    ///
    /// # Errors
    /// Memory or disk that is not there.
    pub fn prepare(&self) -> Result<()> {
        if let Some(message) = memory::too_much(self.memory) {
            return Err(Error::unfit("its share of the rows", message));
        }
        match &self.disk {
            Some(bytes) => store::begin(*bytes),
            None => Ok(()),
        }
    }
}

/// What a rank trains.
#[derive(Debug)]
pub struct RankTraining {
    /// The problem, on the rows of this rank.
    pub problem: Problem,
    /// The model.
    pub model: Network,
    /// The learner.
    pub learner: Learner,
}

impl PlanShare {
    /// The part of a state that belongs to it.
    ///
    /// # Errors
    /// A state of another plan.
    pub fn of_state(&self, whole: State<f32>) -> feasible::Result<State<f32>> {
        self.train.of_state(whole)
    }

    /// What is trained, on the rank that the share is of.
    ///
    /// # Errors
    /// A share of another rank, or one that is damaged.
    pub fn training(self, reduce: &Arc<dyn Reduce>) -> Result<RankTraining> {
        let damaged = |error: serde_json::Error| Error::unfit("a share", error.to_string());
        let NetworkText { shape, units } = serde_json::from_str(&self.network).map_err(damaged)?;
        let problem = |share: ProblemShare| share.problem(reduce.clone(), view_of);
        let validation = self.validation.map(problem).transpose()?;
        Ok(RankTraining {
            model: Network::from_shape(&shape, self.centres)?.in_units(units)?,
            learner: self.learner.learner(self.seed, validation.as_ref()),
            problem: problem(self.train)?,
        })
    }
}
