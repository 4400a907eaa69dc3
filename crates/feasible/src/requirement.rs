//! A requirement: a loss, a population and a limit.
//!
//! Average requirements hold in expectation,
//!
//! $$ \mathbb{E}_{\mathfrak{D}_i}\big[\ell_i(f_\theta(x), y)\big] \le c_i ,
//!    \qquad \text{multiplier } \mu_i \ge 0 , $$
//!
//! pointwise ones for every sample,
//!
//! $$ \ell_j(f_\theta(x_n), y_n) \le c_j \quad \text{for all } n ,
//!    \qquad \text{multipliers } \lambda_{j,n} \ge 0 . $$
//!
//! "At least" is the same with both sides negated. An average requirement may weigh several
//! populations against each other, Σ aₜ E over 𝔇ₜ of ℓₜ ≤ c: the selection rate of one group
//! minus that of another, for instance.
//!
//! ```
//! use feasible::requirement::{Limit, Sense, Term};
//! use feasible::{Inputs, Loss, Population, Requirement, Samples, Targets};
//! let x = Inputs::new(vec![0.0, 1.0], 1)?;
//! let everyone = Population::new(Samples::new(x, Targets::Classes(vec![0, 1]))?);
//! let chance = |class| Loss::Probability { class };
//! // Each row has its own limit.
//! let each = Requirement::pointwise("each", &everyone, chance(1)).at_least_each(vec![0.1, 0.2]);
//! assert_eq!((each.sense(), each.sense().sign()), (Sense::AtLeast, -1.0));
//! assert_eq!(each.limit(), &Limit::PerPoint(vec![0.1, 0.2]));
//! assert_eq!(each.limit().of(1), 0.2);
//! // A difference is two terms.
//! let first = everyone.subset(&[true, false])?;
//! let gap = Requirement::average("gap", &everyone, chance(1)).minus(&first).at_most(0.1);
//! let coefficients: Vec<f64> = gap.terms().iter().map(Term::coefficient).collect();
//! assert_eq!((&coefficients[..], gap.limit()), (&[1.0, -1.0][..], &Limit::Common(0.1)));
//! // Of two outputs it lies between −1 and 1 whatever the model, so 0.1 is a real limit and 1 is not.
//! assert_eq!((gap.range(2), gap.is_always_met(2)), ((-1.0, 1.0), false));
//! assert!(gap.at_most(1.0).is_always_met(2));
//! # Ok::<(), feasible::Error>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::limit::suggestion;
use crate::loss::Loss;
use crate::model::Model;
use crate::population::{Population, View};

/// On average over the population, or for each of its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One multiplier μ.
    Average,
    /// One multiplier λ(n) per point.
    Pointwise,
}

/// "At most" or "at least".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sense {
    /// ℓ ≤ c.
    AtMost,
    /// ℓ ≥ c.
    AtLeast,
}

impl Sense {
    /// 1 for "at most", −1 for "at least": the sign that turns either into "… ≤ 0".
    pub fn sign(self) -> f64 {
        match self {
            Self::AtMost => 1.0,
            Self::AtLeast => -1.0,
        }
    }
}

/// The limit c, one for all or one per point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Limit {
    /// The same for every point.
    Common(f64),
    /// One per point of the population, in its order.
    PerPoint(Vec<f64>),
}

impl Limit {
    /// The limit of point `point`.
    #[inline(always)]
    pub fn of(&self, point: usize) -> f64 {
        match self {
            Self::Common(c) => *c,
            Self::PerPoint(c) => c[point],
        }
    }
}

/// a · E over a population of a loss: what objectives and requirements are made of.
#[derive(Clone, Debug)]
pub struct Term {
    pub(crate) coefficient: f64,
    pub(crate) population: Population,
    pub(crate) loss: Loss,
    pub(crate) measure: Option<Loss>,
    /// Whether the average is by the samples' weights, as that of the objective is.
    pub(crate) weighted: bool,
}

impl Term {
    pub(crate) fn new(population: &Population, loss: Loss) -> Self {
        let population = population.clone();
        Self { coefficient: 1.0, population, loss, measure: None, weighted: false }
    }

    /// Whose samples.
    pub fn population(&self) -> &Population {
        &self.population
    }

    /// The loss whose gradient the primal follows.
    pub fn loss(&self) -> &Loss {
        &self.loss
    }

    /// The loss the violation is measured with; the same one unless the user chose another.
    pub fn measure(&self) -> &Loss {
        self.measure.as_ref().unwrap_or(&self.loss)
    }

    /// The factor a.
    pub fn coefficient(&self) -> f64 {
        self.coefficient
    }

    pub(crate) fn check(&self, who: &str) -> Result<()> {
        if self.population.is_empty() {
            return Err(Error::EmptyPopulation { requirement: who.into() });
        }
        if !self.loss.is_differentiable() {
            let reason =
                "has no useful gradient: give a smooth loss and pass this one to `measured_by`";
            return Err(mismatch(who, &self.loss, reason.into()));
        }
        self.check_views(who, &self.loss)?;
        self.check_views(who, self.measure())
    }

    /// Whether the population has the views that a loss compares.
    pub(crate) fn check_views(&self, who: &str, loss: &Loss) -> Result<()> {
        if loss.compares_views() && matches!(self.population.view(), View::Identity) {
            let reason = "compares two views of a sample, but the population has only x: \
                          give it a counterfactual";
            return Err(mismatch(who, loss, reason.into()));
        }
        Ok(())
    }

    /// Whether a model fits the population's inputs, its view, and both losses.
    pub(crate) fn check_model<M: Model + ?Sized>(&self, who: &str, model: &M) -> Result<()> {
        let data = self.population.samples().inputs().width();
        if data != model.input_width() {
            let population = format!("the population of {who}");
            return Err(Error::InputWidth { model: model.input_width(), data, population });
        }
        if matches!(self.population.view(), View::Adaptive(_)) && !model.has_input_gradient() {
            return Err(Error::Setting {
                setting: "populations whose view depends on the model".into(),
                value: 1.0,
                allowed: "none for this model, which has no gradient with respect to its inputs"
                    .into(),
            });
        }
        self.check_outputs(who, model.output_width())
    }

    /// Whether both losses fit `width` outputs and the population's targets.
    pub(crate) fn check_outputs(&self, who: &str, width: usize) -> Result<()> {
        for loss in [&self.loss, self.measure()] {
            let fits = loss.check(width, self.population.samples().targets());
            fits.map_err(|reason| mismatch(who, loss, reason))?;
        }
        Ok(())
    }
}

fn mismatch(who: &str, loss: &Loss, reason: String) -> Error {
    Error::LossMismatch { requirement: who.into(), loss: loss.to_string(), reason }
}

/// A requirement, as the user states it.
///
/// ```
/// # use feasible::{Inputs, Loss, Population, Requirement, Samples, Targets};
/// # let x = Inputs::new(vec![0.5, 0.2], 1)?;
/// # let women = Population::new(Samples::new(x, Targets::Classes(vec![1, 0]))?);
/// // The error rate among women is at most 10 %. Its gradient is that of a smooth surrogate.
/// let ceiling = Requirement::average("error, women", &women, Loss::SmoothedError)
///     .measured_by(Loss::Error)
///     .at_most(0.1);
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Requirement {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) terms: Vec<Term>,
    pub(crate) sense: Sense,
    pub(crate) limit: Limit,
    pub(crate) start: f64,
    pub(crate) all_but: f64,
    pub(crate) margin: f64,
    /// Its limit was moved to see its price, and may be one that nobody would ask for.
    pub(crate) moved: bool,
}

impl Requirement {
    fn new(name: impl Into<String>, kind: Kind, population: &Population, loss: Loss) -> Self {
        Self {
            name: name.into(),
            kind,
            terms: vec![Term::new(population, loss)],
            sense: Sense::AtMost,
            limit: Limit::Common(f64::NAN),
            start: 1.0,
            all_but: 0.0,
            margin: 0.0,
            moved: false,
        }
    }

    /// On average over `population`.
    pub fn average(name: impl Into<String>, population: &Population, loss: Loss) -> Self {
        Self::new(name, Kind::Average, population, loss)
    }

    /// For every point of `population`.
    pub fn pointwise(name: impl Into<String>, population: &Population, loss: Loss) -> Self {
        Self::new(name, Kind::Pointwise, population, loss)
    }

    /// Subtracts the same loss averaged over another population (differences of rates).
    pub fn minus(self, population: &Population) -> Self {
        self.plus(-1.0, population)
    }

    /// Adds `coefficient` times the same loss averaged over another population.
    pub fn plus(mut self, coefficient: f64, population: &Population) -> Self {
        let term = Term { coefficient, population: population.clone(), ..self.terms[0].clone() };
        self.terms.push(term);
        self
    }

    /// Subtracts another loss averaged over another population.
    pub fn minus_loss(self, population: &Population, loss: Loss) -> Self {
        self.plus_loss(-1.0, population, loss)
    }

    /// Adds `coefficient` times another loss averaged over another population. A
    /// [`Requirement::measured_by`] before this is of the terms before it, one after it of all.
    pub fn plus_loss(mut self, coefficient: f64, population: &Population, loss: Loss) -> Self {
        self.terms.push(Term { coefficient, ..Term::new(population, loss) });
        self
    }

    /// Measures the violation, which moves the multiplier, with another loss than the one whose
    /// gradient moves θ: the true rate besides its smooth surrogate.
    pub fn measured_by(mut self, loss: Loss) -> Self {
        for term in &mut self.terms {
            term.measure = Some(loss.clone());
        }
        self
    }

    /// … ≤ `limit`.
    pub fn at_most(mut self, limit: f64) -> Self {
        (self.sense, self.limit) = (Sense::AtMost, Limit::Common(limit));
        self
    }

    /// … ≥ `limit`.
    pub fn at_least(mut self, limit: f64) -> Self {
        (self.sense, self.limit) = (Sense::AtLeast, Limit::Common(limit));
        self
    }

    /// … ≤ a separate limit for each point (pointwise requirements).
    pub fn at_most_each(mut self, limits: Vec<f64>) -> Self {
        (self.sense, self.limit) = (Sense::AtMost, Limit::PerPoint(limits));
        self
    }

    /// … ≥ a separate limit for each point (pointwise requirements).
    pub fn at_least_each(mut self, limits: Vec<f64>) -> Self {
        (self.sense, self.limit) = (Sense::AtLeast, Limit::PerPoint(limits));
        self
    }

    /// Where the multipliers start; 1 by default, as in the paper.
    pub fn start(mut self, multiplier: f64) -> Self {
        self.start = multiplier;
        self
    }

    /// A pointwise requirement counts as met if at most this share of the points violates it
    /// (the paper's "for all but ε of the population"); 0 by default. Training is not changed.
    pub fn all_but(mut self, share: f64) -> Self {
        self.all_but = share;
        self
    }

    /// Trains against a limit stricter by this much than the one it is judged by, so that the
    /// model has room where it is used; 0 by default. Multipliers and the Lagrangian belong to the
    /// stricter limit, violations and verdicts to the stated one.
    pub fn margin(mut self, margin: f64) -> Self {
        self.margin = margin;
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Average or pointwise.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// "At most" or "at least".
    pub fn sense(&self) -> Sense {
        self.sense
    }

    /// The limit c.
    pub fn limit(&self) -> &Limit {
        &self.limit
    }

    /// The share of points that may violate it.
    pub fn allowed_share(&self) -> f64 {
        self.all_but
    }

    /// The weighted expectations it is made of; one unless populations are compared.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Number of multipliers: 1, or one per point.
    pub fn multipliers(&self) -> usize {
        match self.kind {
            Kind::Average => 1,
            Kind::Pointwise => self.terms[0].population.points(),
        }
    }

    /// The sample id and the number of the ρ of each multiplier of a pointwise requirement.
    pub fn points(&self) -> Vec<(u64, usize)> {
        let population = &self.terms[0].population;
        let of = |q| population.ids().map(move |id| (id, q));
        (0..population.transformations()).flat_map(of).collect()
    }

    pub(crate) fn check(&self) -> Result<()> {
        let who = self.who();
        for term in &self.terms {
            term.check(&who)?;
            let finite = term.coefficient.is_finite();
            Error::unless(finite, &format!("{who}: coefficient"), term.coefficient, "finite")?;
        }
        let not_finite = |value, sample| Error::Limit {
            requirement: self.name.clone(),
            value,
            sample,
            reason: "is not finite; give a number".into(),
        };
        match &self.limit {
            Limit::Common(c) if !c.is_finite() => return Err(not_finite(*c, None)),
            Limit::Common(_) => {}
            Limit::PerPoint(limits) => {
                let expected = self.multipliers();
                if self.kind == Kind::Average || limits.len() != expected {
                    return Err(Error::Shape {
                        what: format!("limits of {who}"),
                        expected: match self.kind {
                            Kind::Average => "a single limit: the requirement is an average".into(),
                            Kind::Pointwise => format!("one for each of the {expected} points"),
                        },
                        found: limits.len(),
                    });
                }
                if let Some(n) = limits.iter().position(|c| !c.is_finite()) {
                    return Err(not_finite(limits[n], Some(n)));
                }
            }
        }
        if self.kind == Kind::Pointwise && self.terms.len() > 1 {
            return Err(Error::Shape {
                what: format!("populations of {who}"),
                expected: "one: a pointwise requirement speaks of one population".into(),
                found: self.terms.len(),
            });
        }
        let start_ok = self.start >= 0.0 && self.start.is_finite();
        Error::unless(start_ok, &format!("{who}: start"), self.start, "at least 0 and finite")?;
        let margin_ok = self.margin >= 0.0 && self.margin.is_finite();
        Error::unless(margin_ok, &format!("{who}: margin"), self.margin, "at least 0 and finite")?;
        let share_ok = (0.0..1.0).contains(&self.all_but);
        let allowed = format!("in [0, 1){}", suggestion(self.all_but));
        Error::unless(share_ok, &format!("{who}: all_but"), self.all_but, &allowed)?;
        self.check_limit(None)
    }

    pub(crate) fn who(&self) -> String {
        format!("requirement '{}'", self.name)
    }
}
