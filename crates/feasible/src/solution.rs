//! What a learner returns.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::learner::Shortfall;
use crate::measurement::{Measurement, Standing};
use crate::multiplier::Multipliers;
use crate::optimality::{Gap, Kkt};
use crate::outcome::Outcome;
use crate::problem::Problem;
use crate::requirement::Kind;

/// One deterministic model, its multipliers, its violations, and how training ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "T: Serialize", deserialize = "T: DeserializeOwned"))]
pub struct Solution<T> {
    /// The parameters.
    pub theta: Vec<T>,
    /// μ and λ.
    pub multipliers: Multipliers,
    /// Objective and violations on the training populations.
    pub measurement: Measurement,
    /// One line per requirement.
    pub requirements: Vec<Standing>,
    /// The duality gap of (θ, μ, λ), with the Lagrangian at θ as the dual value.
    pub gap: Gap,
    /// KKT residuals of (θ, μ, λ).
    pub kkt: Kkt,
    /// How training ended.
    pub outcome: Outcome,
    /// The requirements that are not met, with what was reached and what would help; the worst first.
    #[serde(default)]
    pub shortfalls: Vec<Shortfall>,
    /// Epochs done.
    pub epochs: u64,
    /// The epoch the parameters are from.
    pub kept_epoch: u64,
}

impl<T> Solution<T> {
    /// The objective: average loss plus weight decay.
    pub fn objective(&self) -> f64 {
        self.measurement.value()
    }

    /// The standing of the requirement called `name`.
    pub fn requirement(&self, name: &str) -> Option<&Standing> {
        self.requirements.iter().find(|r| r.name == name)
    }

    /// The multipliers of the requirement called `name`: μ, or one λ per point.
    pub fn multipliers_of(&self, name: &str) -> Option<&[f64]> {
        let at = self.requirements.iter().position(|r| r.name == name)?;
        Some(self.multipliers.of(at))
    }

    /// λ of one sample in the pointwise requirement called `name` of the problem that was solved, one for each ρ
    /// of its population. `None` if there is no such requirement, or the sample is not of its population.
    ///
    /// ```
    /// # use feasible::{Inputs, Learner, Loss, Population, Problem, Requirement, Samples, Targets};
    /// # use feasible_nn::{Linear, Adam};
    /// # let x = Inputs::new(vec![0.5, 0.25, -0.5, 0.125], 1)?;
    /// # let y = Targets::Classes(vec![1, 1, 0, 0]);
    /// let everyone = Population::new(Samples::with_ids(x, y, vec![70, 71, 72, 73])?);
    /// let each = Requirement::pointwise("each", &everyone, Loss::Logistic).at_most(0.6);
    /// let problem = Problem::minimise(&everyone, Loss::Logistic).subject_to(each).check()?;
    /// let solution = Learner::alternating(Adam::new(0.1)).solve(&problem, Linear::new(1, 1)?)?;
    /// let all = solution.multipliers_of("each").unwrap();
    /// assert_eq!(solution.multipliers_of_sample(&problem, "each", 73), Some(vec![all[3]]));
    /// assert_eq!(solution.multipliers_of_sample(&problem, "each", 7), None);
    /// # Ok::<(), feasible::Error>(())
    /// ```
    pub fn multipliers_of_sample(
        &self,
        problem: &Problem,
        name: &str,
        id: u64,
    ) -> Option<Vec<f64>> {
        let requirement = problem.requirements().iter().find(|r| r.name() == name)?;
        let of = self.multipliers_of(name).filter(|of| of.len() == requirement.multipliers())?;
        if requirement.kind() == Kind::Average {
            return None;
        }
        let population = requirement.terms()[0].population();
        let member = population.ids().position(|own| own == id)?;
        // Points are ordered by ρ, then by member.
        Some(of.iter().skip(member).step_by(population.len()).copied().collect())
    }

    /// Whether every requirement is met on the training populations.
    pub fn is_feasible(&self) -> bool {
        self.requirements.iter().all(|r| r.met)
    }
}
