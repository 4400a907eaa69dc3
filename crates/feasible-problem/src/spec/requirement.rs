//! `[[requirement]]`: what must hold. A requirement is a few lines that read like a sentence.
//!
//! ```toml
//! [[requirement]]                     # nobody's prediction may depend on gender
//! name = "gender"
//! loss = "kl"
//! kind = "pointwise"
//! at_most = 1e-3
//! counterfactual = { swap = { gender = ["Male", "Female"] } }
//!
//! [[requirement]]                     # the recall of each race, against everyone's
//! name = "opportunity"
//! fairness = "equal-opportunity"
//! groups = "race"
//! within = 0.05
//!
//! [[requirement]]                     # few errors among older people
//! name = "older"
//! rate = "error"
//! where = "age > 60"
//! at_most = 0.1
//! ```
//!
//! | key | meaning |
//! | --- | --- |
//! | `name` | identifies it and its multipliers |
//! | `kind` | `average` (the default) or `pointwise` |
//! | `of` | where several numbers are predicted: the one that `loss` is of, in its own units; all of them, each in units of its deviation |
//! | `loss` | a loss; or |
//! | `rate` | `selection` (`positive-rate`), `tpr` (`recall`, `sensitivity`), `fpr` (`fall-out`), `fnr`, `specificity`, `precision` (`ppv`), `npv`, `error` or `accuracy`: a smooth surrogate moves θ, the true rate the multiplier; or |
//! | `fairness` | `demographic-parity`, `equal-opportunity` or `equalised-odds`: the rates of each of `groups` |
//! | `class` | the class that a rate counts as positive: `rate = "recall", class = "setosa"`; with two classes that of `data.positive` |
//! | `at_most`, `at_least` | the limit c; or |
//! | `within` | the difference to `against` is at most this, either way |
//! | `where` | an expression: whose samples |
//! | `groups` | a column: one requirement for each of its categories |
//! | `against` | `everyone` or an expression: the difference to their rate |
//! | `counterfactual` | one or a list: one requirement for each change |
//! | `adversary` | the samples as an adversary moves them: see [`adversary`](super::adversary) |
//! | `all_but` | `pointwise`: the share of samples that may violate it; 0 |
//! | `shift` | certified only if it holds wherever no kind of row becomes more than this many times as common; 1 |
//! | `start` | where its multipliers start; as `training` says |
//! | `margin` | the share of the limit given up in training, so that the model has room where it is used |
//! | `bound` | the loss is kept below this |
//! | `measured_by` | another loss that moves the multipliers |
//! | `dual` | a dual optimiser of its own |

use feasible_data::Counterfactual;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::adversary::AdversarySpec;
use super::training::DualSpec;
use crate::loss::LossName;
use crate::schema;

/// `[[requirement]]`. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequirementSpec {
    /// Its name.
    pub name: String,
    /// On average or for every sample. Default `average`.
    #[serde(default)]
    pub kind: RequirementKind,
    /// The loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossName>,
    /// Which of several predicted numbers the loss is of, in the units of that number. Default all of them: the mean
    /// of their losses, each in units of its standard deviation on the training rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// A rate instead of a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::rate")]
    pub rate: Option<Rate>,
    /// The class that a rate counts as positive. Default that of `data.positive`, where there are two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Rates of groups instead of a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<Fairness>,
    /// It is at most this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// It is at least this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// It differs by at most this from that of `against`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
    /// An expression: whose samples. Default everyone's.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// A column: one requirement for each of its categories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<String>,
    /// `everyone`, or an expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The share of samples that may violate a pointwise requirement. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_but: Option<f64>,
    /// Certified only if it holds wherever no kind of row becomes more than this many times as common, and trained for
    /// that. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<f64>,
    /// Where its multipliers start. Default `training.start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<f64>,
    /// The share of the limit that is given up in training: it trains against
    /// (1 − margin) · limit and is judged by the limit. Default as the recipe says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// The loss is kept below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// The loss that moves the multipliers, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_by: Option<LossName>,
    /// The change or changes under which predictions are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterfactual: Option<Counterfactuals>,
    /// The adversary that moves the samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adversary: Option<AdversarySpec>,
    /// A dual optimiser of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dual: Option<DualSpec>,
}

/// On average over the samples, or for each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequirementKind {
    /// One multiplier μ.
    #[default]
    Average,
    /// One multiplier λ(n) per sample.
    Pointwise,
}

/// A rate of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rate {
    /// P(predicted positive).
    #[serde(alias = "positive-rate")]
    Selection,
    /// P(predicted positive | positive): recall, sensitivity.
    #[serde(alias = "recall", alias = "sensitivity")]
    Tpr,
    /// P(predicted positive | negative): fall-out.
    #[serde(alias = "fall-out")]
    Fpr,
    /// P(predicted negative | positive).
    Fnr,
    /// P(predicted negative | negative).
    Specificity,
    /// P(positive | predicted positive).
    #[serde(alias = "ppv")]
    Precision,
    /// P(negative | predicted negative).
    Npv,
    /// P(predicted ≠ true).
    Error,
    /// P(predicted = true).
    Accuracy,
}

/// A notion of fairness between groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fairness {
    /// Equal selection rates.
    DemographicParity,
    /// Equal recall.
    EqualOpportunity,
    /// Equal recall and false positive rates.
    EqualisedOdds,
}

impl Fairness {
    /// The rates it speaks of.
    pub fn rates(self) -> &'static [Rate] {
        match self {
            Self::DemographicParity => &[Rate::Selection],
            Self::EqualOpportunity => &[Rate::Tpr],
            Self::EqualisedOdds => &[Rate::Tpr, Rate::Fpr],
        }
    }
}

impl Rate {
    /// Whether it depends on which class counts as positive.
    pub fn is_of_class(self) -> bool {
        !matches!(self, Self::Error | Self::Accuracy)
    }

    /// What it is called in names and reports; with the class where it is of one.
    pub fn name(self) -> &'static str {
        match self {
            Self::Selection => "selection rate",
            Self::Tpr => "recall",
            Self::Fpr => "false positive rate",
            Self::Fnr => "false negative rate",
            Self::Specificity => "specificity",
            Self::Precision => "precision",
            Self::Npv => "negative predictive value",
            Self::Error => "error rate",
            Self::Accuracy => "accuracy",
        }
    }
}

/// What else rates are called.
const RATE_NAMES: [(&str, &[&str]); 9] = [
    ("selection", &["selection-rate", "acceptance-rate"]),
    ("tpr", &["true-positive-rate", "hit-rate"]),
    ("fpr", &["false-positive-rate", "false-alarm-rate"]),
    ("fnr", &["false-negative-rate", "miss-rate"]),
    ("specificity", &["true-negative-rate", "tnr", "selectivity"]),
    ("precision", &["positive-predictive-value"]),
    ("npv", &["negative-predictive-value"]),
    ("error", &["error-rate", "misclassification-rate"]),
    ("accuracy", &["accuracy-rate"]),
];

/// The value of `rate`, one of `known`, for what is called so or nearly so: `fpr` for "false positive rate".
pub(super) fn rate_called(name: &str, known: &[&str]) -> Option<String> {
    let others = RATE_NAMES.iter().flat_map(|(_, names)| names.iter().copied());
    let name = name.replace([' ', '_'], "-");
    let nearest = feasible_data::nearest(&name, known.iter().copied().chain(others))?;
    let key = RATE_NAMES.iter().find(|(_, names)| names.contains(&nearest.as_str()));
    Some(key.map_or(nearest.clone(), |(key, _)| key.to_string()))
}

/// One counterfactual or a list of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counterfactuals(pub Vec<Counterfactual>);

impl Serialize for Counterfactuals {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Counterfactuals {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;
        impl<'de> serde::de::Visitor<'de> for OneOrMany {
            type Value = Counterfactuals;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(
                    "a counterfactual { swap, set, pairs or crosses = … } or a list of them",
                )
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                map: A,
            ) -> Result<Self::Value, A::Error> {
                let map = serde::de::value::MapAccessDeserializer::new(map);
                Ok(Counterfactuals(vec![Counterfactual::deserialize(map)?]))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut seq: A,
            ) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = seq.next_element()? {
                    all.push(one);
                }
                Ok(Counterfactuals(all))
            }
        }
        deserializer.deserialize_any(OneOrMany)
    }
}

impl JsonSchema for Counterfactuals {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Counterfactuals".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schema::counterfactuals()
    }
}

/// The key that holds a requirement's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKey {
    /// Looser upwards.
    AtMost,
    /// Looser downwards.
    AtLeast,
    /// Looser upwards.
    Within,
}

impl LimitKey {
    /// The key that a requirement gives.
    pub fn of(spec: &RequirementSpec) -> Option<Self> {
        match (spec.at_most, spec.at_least, spec.within) {
            (Some(_), _, _) => Some(Self::AtMost),
            (_, Some(_), _) => Some(Self::AtLeast),
            (_, _, Some(_)) => Some(Self::Within),
            (None, None, None) => None,
        }
    }

    /// As the problem file has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::AtMost => "at_most",
            Self::AtLeast => "at_least",
            Self::Within => "within",
        }
    }

    /// `≤` or `≥`.
    pub fn sign(self) -> &'static str {
        if self == Self::AtLeast { "≥" } else { "≤" }
    }
}
