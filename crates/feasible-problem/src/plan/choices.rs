//! What a plan leaves open about its network, and the same plan with it decided: the nonlinearity, and whether the numbers that suit it are
//! piecewise linear. Rows that the networks have not seen decide.

use feasible_data::encoder::Encoding;
use feasible_data::{Encoder, Piecewise};
use feasible_nn::Activation;

use super::Plan;
use super::folds::is_small;
use crate::data::Data;
use crate::error::Result;
use crate::recipe;
use crate::settings::{LearnerSettings, TrainingSettings};
use crate::spec::report::CHEAP;
use crate::spec::{ModelKind, ProblemSource, Recipe, Spec};
use crate::store::Store;

/// Whether it is left to a comparison which network is trained, where a single one is: its training is short, and there are rows to compare on.
pub(super) fn leaves_single_network_open(
    spec: &Spec,
    training: &TrainingSettings,
    data: &Data,
    work: f64,
) -> bool {
    let rows = data.split.train.len() + data.split.validation.len();
    spec.model.kind == ModelKind::Auto
        && spec.training.recipe == Recipe::Feasible
        && training.seconds.is_none()
        && matches!(training.learner, LearnerSettings::FirstOrder(_))
        && data.validation.is_some()
        && data.images.is_none()
        && spec.data.store != Some(Store::Disk)
        && is_small(rows)
        && work <= CHEAP
}

/// The columns that are piecewise linear.
fn piecewise_columns(encoder: &Encoder) -> Vec<String> {
    let is_piecewise = |encoding: &Encoding| matches!(encoding, Encoding::Piecewise { .. });
    let columns = encoder.variables().iter().filter(|of| is_piecewise(&of.encoding));
    columns.map(|of| of.column.clone()).collect()
}

impl Plan {
    /// Whether anything about its network is to be decided before it is trained.
    pub fn leaves_network_open(&self) -> bool {
        self.leaves_activation_open() || self.leaves_encoding_open()
    }

    /// Whether it is open which nonlinearity the network of this plan has. (Where several are averaged, they are compared on all folds.)
    pub fn leaves_activation_open(&self) -> bool {
        self.folds() == 1 && !self.other_activations().is_empty()
    }

    /// Whether it is open if numbers are piecewise linear: some would be, the table is at hand to encode it again, and there are rows to compare on.
    pub fn leaves_encoding_open(&self) -> bool {
        // A plan of one network that leaves nothing open is of another kind.
        self.spec.model.kind == ModelKind::Auto
            && self.spec.data.piecewise == Some(Piecewise::AUTO)
            && self.validation.is_some()
            && self.can_be_encoded_again()
            && !piecewise_columns(&self.data.encoder).is_empty()
    }

    /// Nonlinearities of the networks that are compared beside those of the plan's own model.
    pub fn other_activations(&self) -> Vec<Activation> {
        match (self.spec.model.kind, self.model.activation()) {
            (ModelKind::Auto, Some(own)) => {
                recipe::ACTIVATIONS.into_iter().filter(|&of| of != own).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The same plan with all numbers standardised, where that is open.
    ///
    /// # Errors
    /// None for a checked plan.
    pub fn other_encoding(&self) -> Result<Option<Self>> {
        let other = || self.with_piecewise(Piecewise::All(false));
        self.leaves_encoding_open().then(other).transpose()
    }

    /// The same plan as if its file named the columns that are piecewise linear.
    #[must_use]
    pub fn with_stated_encoding(&self) -> Self {
        let mut plan = self.clone();
        let columns = piecewise_columns(&self.data.encoder);
        plan.spec.data.piecewise = Some(match columns.is_empty() {
            true => Piecewise::All(false),
            false => Piecewise::Only(columns),
        });
        plan
    }

    /// Whether the table is in memory as it was read.
    pub(super) fn can_be_encoded_again(&self) -> bool {
        let in_memory = self.spec.data.store != Some(Store::Disk);
        in_memory && self.data.images.is_none() && self.data.table.taken().is_empty()
    }

    /// The same plan with other columns piecewise linear, on the same rows.
    fn with_piecewise(&self, piecewise: Piecewise) -> Result<Self> {
        let mut spec = self.spec.clone();
        spec.data.piecewise = Some(piecewise);
        spec.training.folds = Some(self.folds());
        // Not by its text: the name of a table in memory would be taken for a path.
        let source = ProblemSource::new(&self.name, spec.to_toml());
        let plan = Self::build_spec(&source, spec, Some(self))?;
        Ok(plan.computed_on(self.settings.training.threads))
    }

    /// The same plan with a network of this nonlinearity, as if its file said so.
    ///
    /// # Errors
    /// A model that is not a multilayer perceptron.
    pub fn settled_on(&self, activation: Activation) -> Result<Self> {
        let mut plan = self.with_activation(activation)?;
        (plan.spec.model.kind, plan.spec.model.activation) = (ModelKind::Mlp, Some(activation));
        plan.spec.model.fill();
        Ok(plan)
    }

    /// The same plan with a network of another nonlinearity.
    ///
    /// # Errors
    /// A model that is not a multilayer perceptron.
    pub fn with_activation(&self, activation: Activation) -> Result<Self> {
        Ok(self.with_model(self.model.with_activation(activation)?))
    }
}
