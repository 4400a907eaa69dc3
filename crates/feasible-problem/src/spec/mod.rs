//! The problem file: everything about a run in one TOML file.
//!
//! ```
//! let text = r#"
//! [data]
//! source = "adult"
//!
//! [model]
//! kind = "mlp"
//! hidden = [64]
//!
//! [[requirement]]
//! name = "gender"
//! loss = "kl"
//! kind = "pointwise"
//! at_most = 1e-3
//! counterfactual = { swap = { gender = ["Male", "Female"] } }
//! "#;
//! let source = feasible_problem::ProblemSource::new("my.toml", text);
//! let spec = source.parse(&[])?;
//! assert_eq!(spec.requirements[0].at_most, Some(1e-3));
//!
//! let wrong = feasible_problem::ProblemSource::new("my.toml", text.replace("at_most", "atmost"));
//! let error = wrong.parse(&[]).unwrap_err().to_string();
//! assert!(error.starts_with("my.toml:13:1: requirement[0].atmost: unknown key 'atmost': did you mean 'at_most'?"), "{error}");
//! # Ok::<(), feasible_problem::Error>(())
//! ```
//!
//! A [`Spec`] is what the user wrote; [`Plan::check`](crate::Plan::check) holds it against the
//! data, and only a plan can be trained.

pub mod adversary;
mod allowed;
pub mod certify;
pub mod data;
pub mod decision;
pub(crate) mod effect;
mod labels;
mod locate;
pub mod model;
pub mod objective;
mod overrides;
pub mod report;
pub mod requirement;
mod source;
pub mod training;
pub mod tune;

use std::path::Path;

use feasible_data::Piecewise;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use adversary::{
    AdversarySpec, AttackLossName, DrawName, EpsilonSpec, NormName, PriorSpec, Share,
};
pub use certify::{CertifySettings, CertifySpec, MethodName, SimultaneousName};
pub use data::{DataSpec, PerClassSpec, SplitSpec};
pub use decision::{DecisionSpec, Maximise};
pub use model::{ModelKind, ModelSpec};
pub use objective::{EvaluationAttackSpec, EvaluationSpec, ObjectiveSpec};
pub use overrides::{Override, apply as apply_overrides};
pub use report::ReportSpec;
pub use requirement::{
    Counterfactuals, Fairness, LimitKey, Rate, RequirementKind, RequirementSpec,
};
pub use source::ProblemSource;
pub use training::{
    CheckpointSpec, DualMethodName, DualSpec, Keep, LearnerName, Margins, OptimiserName, Recipe,
    ScheduleSpec, ShuffleName, TrainingSpec,
};
pub use tune::TuneSpec;

/// A problem file. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Feasible problem file")]
pub struct Spec {
    /// One line about the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Keep rows back and certify the requirements on them: a confidence such as 0.95, or a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certify: Option<CertifySpec>,
    /// Where the samples come from and how they are prepared.
    pub data: DataSpec,
    /// The model f_θ.
    #[serde(default)]
    pub model: ModelSpec,
    /// What is minimised.
    #[serde(default)]
    pub objective: ObjectiveSpec,
    /// What must hold.
    #[serde(default, rename = "requirement", skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<RequirementSpec>,
    /// Where the probability of the positive class is cut, chosen on the validation rows. Default at 1/2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionSpec>,
    /// How it is trained.
    #[serde(default)]
    pub training: TrainingSpec,
    /// What is reported besides.
    #[serde(default)]
    pub evaluation: EvaluationSpec,
    /// What the page about a run shows besides.
    #[serde(default, skip_serializing_if = "ReportSpec::is_empty")]
    pub report: ReportSpec,
    /// What `feasible tune` searches: how many trials, and the values of each key. Default some for each kind of model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::tune")]
    pub tune: Option<TuneSpec>,
}

impl Spec {
    /// As TOML text that parses to the same spec.
    pub fn to_toml(&self) -> String {
        // A struct of strings, numbers and maps of them cannot fail to serialise.
        toml::to_string(self).unwrap_or_default()
    }

    /// Decides whether numbers may become piecewise linear, if the file does not say: a network profits; an adversary moves
    /// standardised numbers only.
    pub(crate) fn fill_piecewise(&mut self) {
        let network = self.model.kind.is_mlp();
        let attacked = self.requirements.iter().any(|requirement| requirement.adversary.is_some());
        if !self.data.is_images() {
            let auto = network && !attacked;
            let choice = if auto { Piecewise::AUTO } else { Piecewise::All(false) };
            self.data.piecewise.get_or_insert(choice);
        }
    }

    /// Makes paths to files absolute, relative ones being meant from `directory`.
    pub fn resolve_paths(&mut self, directory: &Path) {
        let data = &mut self.data;
        for path in [
            &mut data.file,
            &mut data.train,
            &mut data.validation,
            &mut data.test,
            &mut data.directory,
            &mut data.folder,
        ] {
            if let Some(path) = path
                && path.is_relative()
            {
                let joined = directory.join(&*path);
                *path = std::path::absolute(&joined).unwrap_or(joined);
            }
        }
    }
}
