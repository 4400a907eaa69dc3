//! The settings that a search tries: a space of values by key, and trials drawn from it.
//!
//! A trial is a function of the seed, its number and the key alone, so that neither threads nor interruptions nor other
//! keys change it.
//!
//! ```
//! use feasible_problem::{Plan, ProblemSource, Space};
//! let plan = Plan::check(&ProblemSource::open("compas")?)?;
//! let space = Space::usual(&plan);
//! let third = space.candidate(7, 3);
//! assert_eq!(third, space.candidate(7, 3));
//! assert_ne!(third, space.candidate(8, 3));
//! assert!(third.contains_key("training.rate"));
//! # Ok::<(), feasible_problem::Error>(())
//! ```

mod usual;

use std::collections::BTreeMap;

use feasible::{Purpose, Stream};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toml::Value;

use crate::error::{Error, Result};
use crate::spec::tune::Fault;
use crate::spec::{ProblemSource, TuneSpec, effect};

/// The keys that can be searched, beside `start` and `dual` of a requirement. All others decide what is compared: the rows, the requirements,
/// the loss that is minimised and the rules by which an iterate is kept.
pub const KEYS: [&str; 26] = [
    "model.activation",
    "model.centres",
    "model.degree",
    "model.gamma",
    "model.hidden",
    "model.offset",
    "model.seed",
    "model.width",
    "objective.weight_decay",
    "training.batch_size",
    "training.dual",
    "training.dual.beta1",
    "training.dual.beta2",
    "training.dual.every",
    "training.dual.method",
    "training.dual.nu",
    "training.dual.proportional",
    "training.dual.rate",
    "training.dual.schedule",
    "training.epochs",
    "training.learner",
    "training.momentum",
    "training.optimiser",
    "training.rate",
    "training.schedule",
    "training.start",
];

/// Keys of a requirement that can be searched.
const OF_REQUIREMENT: [&str; 2] = ["start", "dual"];

/// What differs from the problem file, by key.
pub type Trial = BTreeMap<String, Value>;

/// What a key may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Values {
    /// One of these, each as likely.
    OneOf(Vec<Value>),
    /// A number between two, both included.
    Range {
        /// The smallest.
        from: f64,
        /// The largest.
        to: f64,
        /// Equally many for every factor, instead of for every distance.
        log: bool,
        /// Whole numbers.
        whole: bool,
    },
}

/// What each key may be. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Space {
    keys: BTreeMap<String, Values>,
}

impl Space {
    /// Of values by key.
    pub fn new(keys: impl IntoIterator<Item = (String, Values)>) -> Self {
        Self { keys: keys.into_iter().collect() }
    }

    /// Whether there is nothing to search.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys with their values.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &Values)> {
        self.keys.iter().map(|(key, values)| (key.as_str(), values))
    }

    /// The number of trials that `[tune]` asks for, and its space; the space is empty if it has no keys.
    ///
    /// # Errors
    /// A key that cannot be searched, values that the problem file could not have: with their place.
    pub fn check(source: &ProblemSource, tune: &TuneSpec) -> Result<(u64, Self)> {
        let at = |(key, message): Fault| match key.as_str() {
            "" => source.at("tune", message),
            key => source.at(&format!("tune.{key}"), message),
        };
        let (trials, space) = tune.read().map_err(at)?;
        for (key, values) in space.keys() {
            is_searched(key).map_err(|message| at((key.into(), message)))?;
            for value in values.ends() {
                let set = setting(key, &value);
                let with = source.clone().with_overrides(&[set]);
                let checked = with.parse(&[]).and_then(|mut spec| effect::check(&with, &mut spec));
                checked.map_err(|error| at((key.into(), format!("{value}: {}", reason(error)))))?;
            }
        }
        Ok((trials, space))
    }

    /// The candidate of this number. Candidates may repeat each other where there are few values.
    pub fn candidate(&self, seed: u64, number: u64) -> Trial {
        let draw = |(key, values): (&String, &Values)| {
            let mut place = [0; 8];
            place.copy_from_slice(&Sha256::digest(key.as_bytes())[..8]);
            let place = u64::from_le_bytes(place);
            let value = values.draw(&mut Stream::new(seed, Purpose::Search, number, place));
            (key.clone(), value)
        };
        self.keys.iter().map(draw).collect()
    }

    /// How many different candidates there are, if that is a number up to `most`.
    fn size(&self, most: u64) -> Option<u64> {
        let of = |values: &Values| match values {
            Values::OneOf(list) => Some(list.len() as u64),
            Values::Range { .. } => None,
        };
        let mut sizes = self.keys.values().map(of);
        sizes.try_fold(1_u64, |all, one| all.checked_mul(one?).filter(|&all| all <= most))
    }

    /// At least `wanted` candidates, as far as there are; every combination once where they are no more than that.
    pub fn candidates(&self, seed: u64, wanted: u64) -> Vec<Trial> {
        let Some(size) = self.size(wanted) else {
            // Some may repeat each other, or the settings of the file.
            return (1..=wanted.saturating_mul(4)).map(|n| self.candidate(seed, n)).collect();
        };
        let combination = |mut number: u64| -> Trial {
            let mut trial = Trial::new();
            for (key, values) in self.keys.iter().rev() {
                if let Values::OneOf(list) = values {
                    let n = list.len().max(1) as u64;
                    trial.extend(list.get((number % n) as usize).map(|v| (key.clone(), v.clone())));
                    number /= n;
                }
            }
            trial
        };
        (0..size).map(combination).collect()
    }

    /// Each key with its values in words.
    pub fn describe(&self) -> Vec<String> {
        self.keys.iter().map(|(key, values)| format!("{key} {}", values.describe())).collect()
    }
}

impl Values {
    fn draw(&self, stream: &mut Stream) -> Value {
        match self {
            Self::OneOf(list) => {
                let n = u32::try_from(list.len()).unwrap_or(u32::MAX);
                let at = stream.below(n.max(1)) as usize;
                list.get(at).cloned().unwrap_or(Value::Boolean(false))
            }
            Self::Range { from, to, log, whole } => {
                let share = stream.uniform();
                let x = match log {
                    true => from * (to / from).powf(share),
                    false => from + (to - from) * share,
                };
                match whole {
                    true => Value::Integer(x.round().clamp(*from, *to) as i64),
                    false => Value::Float(rounded(x).clamp(*from, *to)),
                }
            }
        }
    }

    /// The values that are checked: all of a list, both ends of a range.
    fn ends(&self) -> Vec<Value> {
        match self {
            Self::OneOf(list) => list.clone(),
            Self::Range { from, to, whole: true, .. } => {
                [*from, *to].map(|x| Value::Integer(x as i64)).to_vec()
            }
            Self::Range { from, to, .. } => [*from, *to].map(Value::Float).to_vec(),
        }
    }

    /// In words: `one of 1, 2`, `0.1 to 10 (log)`.
    pub fn describe(&self) -> String {
        match self {
            Self::OneOf(list) => {
                let list: Vec<String> = list.iter().map(ToString::to_string).collect();
                format!("one of {}", list.join(", "))
            }
            Self::Range { from, to, log, .. } => {
                let how = if *log { " (log)" } else { "" };
                format!("{} to {}{how}", crate::text::short(*from), crate::text::short(*to))
            }
        }
    }
}

/// `key=value`, as an override takes it.
pub fn setting(key: &str, value: &Value) -> String {
    format!("{key}={value}")
}

/// What is wrong, without the place: that of the override is not what anybody wrote.
pub fn reason(error: Error) -> String {
    match error {
        Error::Problem { message, .. } => message,
        Error::Override { reason, .. } => reason,
        other => other.to_string(),
    }
}

/// Three significant digits: a setting that is read out and typed again is the same setting.
fn rounded(x: f64) -> f64 {
    format!("{x:.2e}").parse().unwrap_or(x)
}

/// Whether a key can be searched; what is wrong is a sentence.
fn is_searched(key: &str) -> Result<(), String> {
    let of_requirement = || {
        let (_, rest) = key.strip_prefix("requirement.")?.split_once('.')?;
        OF_REQUIREMENT.contains(&rest.split('.').next()?).then_some(())
    };
    if KEYS.contains(&key) || of_requirement().is_some() {
        return Ok(());
    }
    let section = key.split('.').next().unwrap_or_default();
    let why = match section {
        "data" | "certify" => "all trials have the same rows and columns",
        "requirement" => {
            "all trials have the same requirements; of them `start` and `dual` can be searched, as in \
             \"requirement.NAME.start\""
        }
        "objective" => {
            "all trials have the same objective; of it \"objective.weight_decay\" can be searched"
        }
        "decision" | "evaluation" => "it plays no part in training",
        _ => match feasible_data::nearest(key, KEYS) {
            Some(nearest) => {
                return Err(format!("cannot be searched: did you mean \"{nearest}\"?"));
            }
            None => return Err(format!("cannot be searched (allowed: {})", KEYS.join(", "))),
        },
    };
    Err(format!("cannot be searched: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(toml: &str) -> Result<(u64, Space), Fault> {
        TuneSpec(toml.parse().unwrap()).read()
    }

    #[test]
    fn keys_are_read_in_quotes_or_as_sections_and_drawn_alike() {
        let quoted = "trials = 9\n\"training.rate\" = { from = 1e-4, to = 1e-1, log = true }\n\
                      \"model.hidden\" = [[64], [128, 128]]\n";
        let sections = "trials = 9\n[training]\nrate = { from = 1e-4, to = 1e-1, log = true }\n\
                        [model]\nhidden = [[64], [128, 128]]\n";
        let (trials, one) = space(quoted).unwrap();
        assert_eq!((trials, one.clone()), space(sections).unwrap());
        assert_eq!(trials, 9);
        for number in 0..200 {
            let trial = one.candidate(3, number);
            let rate = trial["training.rate"].as_float().unwrap();
            assert!((1e-4..=1e-1).contains(&rate), "{rate}");
            assert_eq!(rounded(rate), rate);
        }
        // Half of a log range is below its geometric mean.
        let low = |n: &u64| one.candidate(3, *n)["training.rate"].as_float().unwrap() < 3.16e-3;
        let low = (0..1000).filter(low).count();
        assert!((430..570).contains(&low), "{low} of 1000");
    }

    #[test]
    fn a_key_is_drawn_alike_whatever_the_others_are() {
        let alone = space("\"training.rate\" = { from = 1, to = 1000 }").unwrap().1;
        let both = space("\"training.rate\" = { from = 1, to = 1000 }\n\"model.gamma\" = [1, 2]")
            .unwrap()
            .1;
        for number in 1..50 {
            let of = |space: &Space| space.candidate(5, number)["training.rate"].clone();
            assert_eq!(of(&alone), of(&both));
            assert!(of(&alone).is_integer());
        }
    }

    #[test]
    fn few_combinations_are_tried_once_each() {
        let few =
            space("\"model.gamma\" = [0.1, 1.0]\n\"model.centres\" = [10, 20, 30]").unwrap().1;
        let mut all = few.candidates(0, 6);
        assert_eq!(all.len(), 6);
        all.dedup();
        assert_eq!(all.len(), 6);
        assert_eq!(few.candidates(0, 5).len(), 20);
    }

    #[test]
    fn what_is_no_space_is_said_with_its_key() {
        for (toml, key, said) in [
            ("trials = 0", "trials", "0 is not a number of trials"),
            ("trials = \"many\"", "trials", "from 1 to 1000"),
            ("\"training.rate\" = 0.1", "training.rate", "is one value: give a list"),
            ("\"training.rate\" = []", "training.rate", "nothing to try"),
            ("\"training.rate\" = { from = 1 }", "training.rate", "has no `to`"),
            ("\"training.rate\" = { from = 2, to = 1 }", "training.rate", "is not below"),
            (
                "\"training.rate\" = { from = 0, to = 1, log = true }",
                "training.rate",
                "no logarithm",
            ),
            ("\"training.rate\" = { from = 0, to = 1, steps = 3 }", "training.rate", "'steps'"),
            ("\"training.rate\" = { from = 0, to = inf }", "training.rate", "not a finite number"),
            ("\"training.rate\" = [1]\ntraining.rate = [2]", "training.rate", "given twice"),
        ] {
            let (found, message) = space(toml).unwrap_err();
            assert!(found == key && message.contains(said), "{toml}: {found}: {message}");
        }
        for (key, said) in [
            ("training.rat", "did you mean \"training.rate\"?"),
            ("data.drop", "the same rows"),
            ("requirement.gender.at_most", "the same requirements"),
            ("objective.loss", "weight_decay"),
            ("training.keep", "cannot be searched"),
        ] {
            let message = is_searched(key).unwrap_err();
            assert!(message.contains(said), "{key}: {message}");
        }
        for key in ["model.hidden", "requirement.gender.start", "requirement.0.dual.rate"] {
            assert_eq!(is_searched(key), Ok(()));
        }
    }
}
