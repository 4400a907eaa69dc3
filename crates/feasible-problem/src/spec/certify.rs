//! `certify`: keep rows back, train with room to spare, and certify the result on them.
//!
//! ```toml
//! certify = 0.95                     # everything else by default
//! ```
//!
//! or, as a table,
//!
//! ```toml
//! [certify]
//! confidence = 0.95
//! reserve = 0.2
//! ladder = [2.0, 1.0, 0.5, 0.0]
//! ```
//!
//! | key | default | meaning |
//! | --- | --- | --- |
//! | `confidence` | 0.95 | 1 − δ, for all requirements together |
//! | `reserve` | 0.2 | the share of the training rows that is kept back before anything is fitted |
//! | `seed` | 0 | draws the reserve, and the order in which its rows are bet on |
//! | `all_but` | 0.01 | the share of the population that may violate a pointwise requirement which allows none |
//! | `simultaneous` | `holm` | how requirements share δ: `holm` or `bonferroni` |
//! | `method` | `betting` | the bound for averages of losses: `betting`, `hoeffding-bentkus`, `empirical-bernstein`, `hoeffding` |
//! | `room` | 1 | how many times the computed margin is trained for, at most 100; not with `ladder` |
//! | `unit` | none | a column: rows that are equal in it, of one person say, count as one |
//! | `ladder` | none | several `room`s, the most cautious first: a model for each, tested in this order until the first that fails |

use feasible::certificate::{BaseRate, Delta, Design, Method, Simultaneous};
use feasible::limit::suggestion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ProblemSource;
use crate::error::{Error, Result};

/// The most times the computed margin.
const MOST_ROOM: f64 = 100.0;

/// `certify`. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(with = "NumberOrTable")]
pub struct CertifySpec {
    /// 1 − δ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The share of the training rows kept back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<f64>,
    /// Draws the reserve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// ε of pointwise requirements that allow none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_but: Option<f64>,
    /// How requirements share δ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simultaneous: Option<SimultaneousName>,
    /// The bound for averages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<MethodName>,
    /// How many times the computed margin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<f64>,
    /// The column whose equal rows count as one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Several rooms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ladder: Option<Vec<f64>>,
    /// Γ of every requirement, as a command asks for it; a problem file has it in `[[requirement]]`.
    #[serde(skip)]
    pub shift: Option<f64>,
    /// The range of the share of the positive class, as a command asks for it.
    #[serde(skip)]
    pub base_rate: Option<(f64, f64)>,
}

/// `[certify]` with every default filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct CertifySettings {
    /// 1 − δ.
    pub confidence: f64,
    /// The share of the training rows that is kept back.
    pub reserve: f64,
    /// Seed of the draw of them.
    pub seed: u64,
    /// ε of pointwise requirements that allow no violation.
    pub all_but: f64,
    /// How requirements share δ.
    pub simultaneous: SimultaneousName,
    /// The bound for averages of losses.
    pub method: MethodName,
    /// How many times the computed margin training leaves room for: of each rung of a ladder, or one.
    pub rooms: Vec<f64>,
}

/// How requirements share δ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SimultaneousName {
    /// Holm's step-down.
    #[default]
    Holm,
    /// δ/m each.
    Bonferroni,
}

/// The bound for averages of losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MethodName {
    /// Waudby-Smith and Ramdas.
    #[default]
    Betting,
    /// Bates and others.
    HoeffdingBentkus,
    /// Maurer and Pontil.
    EmpiricalBernstein,
    /// Hoeffding.
    Hoeffding,
}

impl From<SimultaneousName> for Simultaneous {
    fn from(name: SimultaneousName) -> Self {
        match name {
            SimultaneousName::Holm => Self::Holm,
            SimultaneousName::Bonferroni => Self::Bonferroni,
        }
    }
}

impl From<MethodName> for Method {
    fn from(name: MethodName) -> Self {
        match name {
            MethodName::Betting => Self::Betting,
            MethodName::HoeffdingBentkus => Self::HoeffdingBentkus,
            MethodName::EmpiricalBernstein => Self::EmpiricalBernstein,
            MethodName::Hoeffding => Self::Hoeffding,
        }
    }
}

/// As a table.
#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename = "Certify")]
#[derive(Default)]
struct Full {
    /// 1 − δ, for all requirements together. Default 0.95.
    confidence: Option<f64>,
    /// The share of the training rows that is kept back. Default 0.2.
    reserve: Option<f64>,
    /// Draws the reserve, and the order in which its rows are bet on. Default 0.
    seed: Option<u64>,
    /// The share of the population that may violate a pointwise requirement which allows none. Default
    /// 0.01.
    all_but: Option<f64>,
    /// How requirements share δ. Default `holm`.
    simultaneous: Option<SimultaneousName>,
    /// The bound for averages of losses. Default `betting`.
    method: Option<MethodName>,
    /// How many times the computed margin is trained for. Default 1.
    room: Option<f64>,
    /// A column: rows that are equal in it, of one person say, count as one, and no part of the split
    /// shares a unit with another. Default none.
    unit: Option<String>,
    /// Several rooms, the most cautious first: a model for each, tested in this order.
    ladder: Option<Vec<f64>>,
}

/// The confidence alone, or a table.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "for the schema")]
enum NumberOrTable {
    Confidence(f64),
    Full(Full),
}

impl<'de> Deserialize<'de> for CertifySpec {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> serde::de::Visitor<'de> for Either {
            type Value = CertifySpec;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a confidence such as 0.95, or a table { confidence, reserve, … }")
            }

            fn visit_f64<E: serde::de::Error>(self, confidence: f64) -> Result<CertifySpec, E> {
                Ok(CertifySpec { confidence: Some(confidence), ..CertifySpec::default() })
            }

            fn visit_i64<E: serde::de::Error>(self, confidence: i64) -> Result<CertifySpec, E> {
                self.visit_f64(confidence as f64)
            }

            fn visit_u64<E: serde::de::Error>(self, confidence: u64) -> Result<CertifySpec, E> {
                self.visit_f64(confidence as f64)
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                map: A,
            ) -> Result<CertifySpec, A::Error> {
                let map = serde::de::value::MapAccessDeserializer::new(map);
                let f = Full::deserialize(map)?;
                Ok(CertifySpec {
                    confidence: f.confidence,
                    reserve: f.reserve,
                    seed: f.seed,
                    all_but: f.all_but,
                    simultaneous: f.simultaneous,
                    method: f.method,
                    room: f.room,
                    unit: f.unit,
                    ladder: f.ladder,
                    ..CertifySpec::default()
                })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// How many times as common a kind of row may become.
///
/// # Errors
/// Less than once, or any number of times.
pub fn check_shift(shift: f64) -> Result<(), feasible::Error> {
    let allowed = "at least 1 and finite: 1.5 lets any kind of row become half again as common";
    feasible::Error::unless(shift >= 1.0 && shift.is_finite(), "shift", shift, allowed)
}

impl CertifySpec {
    /// The settings, every default filled in.
    pub fn settings(&self) -> CertifySettings {
        CertifySettings {
            confidence: self.confidence.unwrap_or(0.95),
            reserve: self.reserve.unwrap_or(0.2),
            seed: self.seed.unwrap_or(0),
            all_but: self.all_but.unwrap_or(0.01),
            simultaneous: self.simultaneous.unwrap_or_default(),
            method: self.method.unwrap_or_default(),
            rooms: match &self.ladder {
                Some(ladder) => ladder.clone(),
                None => vec![self.room.unwrap_or(1.0)],
            },
        }
    }

    /// Every default written out.
    #[must_use]
    pub fn filled(&self) -> Self {
        let settings = self.settings();
        Self {
            confidence: Some(settings.confidence),
            reserve: Some(settings.reserve),
            seed: Some(settings.seed),
            all_but: Some(settings.all_but),
            simultaneous: Some(settings.simultaneous),
            method: Some(settings.method),
            // A ladder has its own.
            room: self.room.or(settings.rooms.first().copied().filter(|_| self.ladder.is_none())),
            unit: self.unit.clone(),
            ladder: self.ladder.clone(),
            shift: self.shift,
            base_rate: self.base_rate,
        }
    }

    /// All that is decided before rows are looked at.
    ///
    /// # Errors
    /// A confidence or a share outside (0, 1).
    pub fn design(&self) -> Result<Design, feasible::Error> {
        let CertifySettings { confidence, all_but, simultaneous, method, seed, .. } =
            self.settings();
        let delta = Delta::confidence(confidence)?;
        let inside = all_but > 0.0 && all_but < 1.0;
        let allowed = "between 0 and 1, both excluded: no number of rows shows that something \
                       never happens";
        feasible::Error::unless(inside, "all_but", all_but, allowed)?;
        if let Some(shift) = self.shift {
            check_shift(shift)?;
        }
        // The second of two classes, as rates have it.
        let base_rate =
            self.base_rate.map(|(low, high)| BaseRate::new(low, high, 1)).transpose()?;
        Ok(Design {
            base_rate,
            shift: self.shift,
            simultaneous: simultaneous.into(),
            method: method.into(),
            all_but,
            order: seed,
            ..Design::new(delta)
        })
    }

    /// Numbers outside their range, placed.
    pub fn check(&self, source: &ProblemSource) -> Result<()> {
        let wrong = |key: &str, message: &str| {
            // The short form has no keys of its own.
            Err::<(), Error>(source.at(&format!("certify.{key}"), message))
        };
        let shares = [
            ("confidence", self.confidence, "a probability"),
            ("reserve", self.reserve, "a share of the training rows"),
            ("all_but", self.all_but, "a share of the population"),
        ];
        for (key, share, what) in shares {
            if let Some(share) = share.filter(|share| !(*share > 0.0 && *share < 1.0)) {
                let hint = suggestion(share);
                return wrong(key, &format!("{share} is not {what}: above 0 and below 1{hint}"));
            }
        }
        self.design().map_err(|error| source.at("certify", error.to_string()))?;
        let bad = |room: &f64| !(0.0..=MOST_ROOM).contains(room);
        if self.room.as_ref().is_some_and(bad) {
            return wrong("room", "must be at least 0 and at most 100: 1 is the computed margin");
        }
        if let Some(ladder) = &self.ladder {
            if self.room.is_some() {
                return wrong("room", "has no effect beside `ladder`, which is a list of rooms");
            }
            if ladder.is_empty() || ladder.iter().any(bad) {
                let allowed = "is a list of rooms, at least one, each at least 0 and at most 100";
                return wrong("ladder", allowed);
            }
            if ladder.windows(2).any(|pair| pair[0] <= pair[1]) {
                return wrong(
                    "ladder",
                    "must fall: models are tested in this order until one fails, so the most \
                     cautious comes first",
                );
            }
        }
        Ok(())
    }
}
