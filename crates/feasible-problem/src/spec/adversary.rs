//! `adversary`: a requirement on the samples as an adversary moves them.
//!
//! ```toml
//! adversary = { epsilon = 0.04 }
//! adversary = { norm = "l2", epsilon = { beta = [3, 8], scale = 0.25 }, steps = 10, step = "ε/4" }
//! ```
//!
//! | key | default | meaning |
//! | --- | --- | --- |
//! | `epsilon` | | how far a sample may be moved: a number, or a prior that it is drawn from |
//! | `norm` | `linf` | or `l2` |
//! | `draw` | `sample` | ε is drawn for each sample, or once for each `batch` |
//! | `steps` | 5 | of projected gradient ascent |
//! | `step` | `"ε/3"` | the length of a step, as a share of ε: a number or such a text |
//! | `random_start` | true | from a random point of the ball, else from the sample |
//! | `restarts` | 1 | runs for each sample, of which the worst counts |
//! | `loss` | `cross-entropy` | the loss that the attack maximises; or `margin` |
//!
//! Training goes by this attack. Afterwards a requirement is judged by a stronger one in the same ball, see
//! [`EvaluationAttackSpec`].
//!
//! Priors: `{ beta = [α, β], scale = s }`, `{ exponential = mean }`, `{ uniform = [low, high] }`,
//! `{ discrete = [ε, …], weights = [w, …] }`.
//!
//! Of images every pixel moves, within \[0, 1\]. Of tables the standardised numbers move, whose unit is
//! a standard deviation; categories and numbers that are not standardised stay. A problem with an adversary makes no number
//! piecewise linear unless it is asked to.

use std::fmt;

use feasible::adversary::{Attack, AttackLoss, Bounds, Budget, Draw, Norm, Prior, Select};
use feasible_data::Encoder;
use schemars::JsonSchema;
use serde::de::{self, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};

use super::objective::EvaluationAttackSpec;

/// `adversary`. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdversarySpec {
    /// How far a sample may be moved: a number, or a prior.
    pub epsilon: EpsilonSpec,
    /// The norm of the ball. Default `linf`.
    #[serde(default)]
    pub norm: NormName,
    /// How often ε is drawn. Default for each sample.
    #[serde(default, skip_serializing_if = "DrawName::is_usual")]
    pub draw: DrawName,
    /// Steps of a run. Default 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// The length of a step as a share of ε. Default a third.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Share>,
    /// Whether a run starts at a random point of the ball. Default true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_start: Option<bool>,
    /// Runs, of which the worst counts. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts: Option<u32>,
    /// The loss that the attack maximises. Default `cross-entropy`.
    #[serde(default, skip_serializing_if = "AttackLossName::is_usual")]
    pub loss: AttackLossName,
}

/// The norm of the ball.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NormName {
    /// The largest change of any entry.
    #[default]
    Linf,
    /// The root of the sum of squares.
    L2,
}

/// How often ε is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DrawName {
    /// For each sample and epoch.
    #[default]
    Sample,
    /// Once for all samples of a batch.
    Batch,
}

/// The loss that an adversary maximises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AttackLossName {
    /// −log p_y.
    #[default]
    CrossEntropy,
    /// The largest other output minus that of the right class.
    Margin,
}

impl DrawName {
    fn is_usual(&self) -> bool {
        *self == Self::Sample
    }
}

impl AttackLossName {
    fn is_usual(&self) -> bool {
        *self == Self::CrossEntropy
    }
}

/// ε: a number, or a prior.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum EpsilonSpec {
    /// One ε for all.
    Fixed(f64),
    /// Drawn.
    Prior(PriorSpec),
}

/// A prior of ε: one of the four, with its companion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PriorSpec {
    /// α and β of `scale` · Beta(α, β).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<[f64; 2]>,
    /// `beta`: the largest ε. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// The mean of an exponential law.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponential: Option<f64>,
    /// The ends of a uniform law.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uniform: Option<[f64; 2]>,
    /// The values of a discrete law.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discrete: Option<Vec<f64>>,
    /// `discrete`: their weights. Default equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<f64>>,
}

impl<'de> Deserialize<'de> for EpsilonSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrPrior;
        impl<'de> de::Visitor<'de> for NumberOrPrior {
            type Value = EpsilonSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a prior { beta, exponential, uniform or discrete = … }")
            }

            fn visit_f64<E: de::Error>(self, epsilon: f64) -> Result<EpsilonSpec, E> {
                Ok(EpsilonSpec::Fixed(epsilon))
            }

            fn visit_i64<E: de::Error>(self, epsilon: i64) -> Result<EpsilonSpec, E> {
                Ok(EpsilonSpec::Fixed(epsilon as f64))
            }

            fn visit_u64<E: de::Error>(self, epsilon: u64) -> Result<EpsilonSpec, E> {
                Ok(EpsilonSpec::Fixed(epsilon as f64))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<EpsilonSpec, A::Error> {
                PriorSpec::deserialize(MapAccessDeserializer::new(map)).map(EpsilonSpec::Prior)
            }
        }
        deserializer.deserialize_any(NumberOrPrior)
    }
}

/// A share of ε: a number, or a text such as `"ε/3"`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Share(pub f64);

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrText;
        impl de::Visitor<'_> for NumberOrText {
            type Value = Share;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a share of ε: a number such as 0.25, or a text such as \"ε/4\"")
            }

            fn visit_f64<E: de::Error>(self, share: f64) -> Result<Share, E> {
                Ok(Share(share))
            }

            fn visit_i64<E: de::Error>(self, share: i64) -> Result<Share, E> {
                Ok(Share(share as f64))
            }

            fn visit_u64<E: de::Error>(self, share: u64) -> Result<Share, E> {
                Ok(Share(share as f64))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Share, E> {
                let wrong = || E::invalid_value(de::Unexpected::Str(text), &self);
                let (over, under) = text.split_once('/').ok_or_else(wrong)?;
                let over = match over.trim() {
                    "ε" | "eps" | "epsilon" => 1.0,
                    number => number.parse::<f64>().map_err(|_| wrong())?,
                };
                let under: f64 = under.trim().parse().map_err(|_| wrong())?;
                Ok(Share(over / under))
            }
        }
        deserializer.deserialize_any(NumberOrText)
    }
}

impl JsonSchema for Share {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "type": "number" }, { "type": "string" }] })
    }
}

impl EpsilonSpec {
    /// The law of ε.
    ///
    /// # Errors
    /// No law, or keys of several.
    pub fn prior(&self) -> Result<Prior, String> {
        let prior = match self {
            Self::Fixed(epsilon) => return Ok(Prior::Fixed { epsilon: *epsilon }),
            Self::Prior(prior) => prior,
        };
        let PriorSpec { beta, scale, exponential, uniform, discrete, weights } = prior.clone();
        let wrong = |message: &str| Err(message.to_string());
        if scale.is_some() && beta.is_none() {
            return wrong("`scale` goes with `beta`");
        }
        if weights.is_some() && discrete.is_none() {
            return wrong("`weights` goes with `discrete`");
        }
        match (beta, exponential, uniform, discrete) {
            (Some([alpha, beta]), None, None, None) => {
                Ok(Prior::Beta { scale: scale.unwrap_or(1.0), alpha, beta })
            }
            (None, Some(mean), None, None) => Ok(Prior::Exponential { mean }),
            (None, None, Some([low, high]), None) => Ok(Prior::Uniform { low, high }),
            (None, None, None, Some(values)) => {
                let weights = weights.unwrap_or_else(|| vec![1.0; values.len()]);
                Ok(Prior::Discrete { values, weights })
            }
            (None, None, None, None) => {
                wrong("an empty prior: give beta, exponential, uniform or discrete")
            }
            _ => wrong("give only one of beta, exponential, uniform and discrete"),
        }
    }
}

impl AdversarySpec {
    /// The attack on what an encoder makes, or on pixels if it makes nothing, to predict classes or a number;
    /// checked.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub fn attack(
        &self,
        encoder: &Encoder,
        classes: bool,
    ) -> Result<Attack, (&'static str, String)> {
        if self.draw == DrawName::Batch && matches!(self.epsilon, EpsilonSpec::Fixed(_)) {
            let message = "has no effect: ε is a fixed number, so nothing is drawn. Remove it";
            return Err(("draw", message.into()));
        }
        if !classes && self.loss != AttackLossName::CrossEntropy {
            let message = "has no effect: where a number is predicted, the attack maximises the squared \
                           error. Remove it";
            return Err(("loss", message.into()));
        }
        let prior = self.epsilon.prior().map_err(|message| ("epsilon", message))?;
        let norm = match self.norm {
            NormName::Linf => Norm::Linf,
            NormName::L2 => Norm::L2,
        };
        let draw = match self.draw {
            DrawName::Sample => Draw::Sample,
            DrawName::Batch => Draw::Batch,
        };
        let pixels = encoder.is_of_nothing();
        let columns = (!pixels).then(|| encoder.standardised());
        if columns.as_ref().is_some_and(Vec::is_empty) {
            let message = "there is no standardised number that it could move: \
                           set data.standardise = true and data.piecewise = false, or name \
                           columns under data.standardise";
            return Err(("", message.into()));
        }
        let usual = Attack::pgd(norm, Budget::from(prior).draw(draw));
        let restarts = self.restarts.unwrap_or(usual.restarts);
        let attack = Attack {
            steps: self.steps.unwrap_or(usual.steps),
            step: self.step.map_or(usual.step, |share| share.0),
            random_start: self.random_start.unwrap_or(usual.random_start),
            restarts,
            select: if restarts > 1 { Select::Worst } else { Select::Last },
            loss: match self.loss {
                AttackLossName::CrossEntropy => AttackLoss::CrossEntropy,
                AttackLossName::Margin => AttackLoss::Margin,
            },
            bounds: if pixels { Bounds::Unit } else { Bounds::None },
            columns,
            ..usual
        };
        let key = |message: &str| match message {
            m if m.contains("steps of the attack") => "steps",
            m if m.contains("step of the attack") => "step",
            m if m.contains("restarts of the attack") => "restarts",
            _ => "epsilon",
        };
        match attack.clone().check() {
            Ok(_) => Ok(attack),
            Err(error) => {
                let message = error.to_string();
                Err((key(&message), message))
            }
        }
    }
}

/// Steps and runs of the attack that judges, unless told otherwise or training has more.
const JUDGE_STEPS: u32 = 50;
const JUDGE_RESTARTS: u32 = 2;
/// The length of its steps as a share of ε: the worst point counts, so that long steps cost nothing.
const JUDGE_STEP: f64 = 0.1;

impl EvaluationAttackSpec {
    /// The attack that judges what another one trained: in the same ball, with more steps and runs, the worst
    /// point of all, and an ε for each sample, so that held-out samples stay independent.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub fn attack(&self, trained: &Attack) -> Result<Attack, (&'static str, String)> {
        let attack = Attack {
            budget: trained.budget.clone().draw(Draw::Sample),
            steps: self.steps.unwrap_or(trained.steps.max(JUDGE_STEPS)),
            step: self.step.map_or(JUDGE_STEP, |share| share.0),
            restarts: self.restarts.unwrap_or(trained.restarts.max(JUDGE_RESTARTS)),
            random_start: true,
            select: Select::Worst,
            ..trained.clone()
        };
        for (key, given, least) in [
            ("steps", attack.steps, trained.steps),
            ("restarts", attack.restarts, trained.restarts),
        ] {
            if given < least {
                let message = format!(
                    "{given} is fewer than the {least} of training: a requirement is judged by an attack \
                     that is no weaker"
                );
                return Err((key, message));
            }
        }
        match attack.clone().check() {
            Ok(_) => Ok(attack),
            Err(error) => {
                let message = error.to_string();
                let key = ["steps", "restarts"].into_iter().find(|key| message.contains(key));
                Err((key.unwrap_or("step"), message))
            }
        }
    }
}
