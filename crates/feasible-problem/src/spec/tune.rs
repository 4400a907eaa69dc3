//! `[tune]`: what `feasible tune` searches.
//!
//! ```toml
//! [tune]
//! trials = 20
//! "training.rate" = { from = 1e-4, to = 1e-1, log = true }
//! "model.hidden" = [[64], [128, 128]]
//! ```
//!
//! | key | meaning |
//! | --- | --- |
//! | `trials` | trials, the first of which has the settings of the file; 27 |
//! | a key of the file, in quotes or as `[tune.training] rate = …` | a list of values, or a range of numbers |
//!
//! Keys that decide what is compared (data, requirements, the objective's loss) are not among those that can be searched:
//! [`KEYS`](crate::space::KEYS) are.

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::space::{Space, Values};

/// `[tune]`, as it is written. See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TuneSpec(pub Table);

/// Trials, where the file does not say.
pub const TRIALS: u64 = 27;
/// The most trials of a search.
pub const MOST_TRIALS: u64 = 1000;
/// The most keys of a search, and values of a list.
const MOST: usize = 1000;

/// The key at fault, within `[tune]`, and what is wrong with it.
pub type Fault = (String, String);

impl TuneSpec {
    /// The number of trials and the space; no space if there are no keys.
    ///
    /// # Errors
    /// The first key that is none, or whose values are none.
    pub fn read(&self) -> Result<(u64, Space), Fault> {
        let trials = match self.0.get("trials") {
            None => TRIALS,
            Some(Value::Integer(n)) if (1..=MOST_TRIALS as i64).contains(n) => *n as u64,
            Some(other) => {
                let message = format!(
                    "{other} is not a number of trials: give a whole number from 1 to {MOST_TRIALS}"
                );
                return Err(("trials".into(), message));
            }
        };
        let mut found = Vec::new();
        for (key, value) in self.0.iter().filter(|(key, _)| *key != "trials") {
            collect(key, value, &mut found)?;
        }
        if found.len() > MOST {
            return Err((String::new(), format!("{} keys are more than {MOST}", found.len())));
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        if let Some(twice) = found.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let key = twice[0].0.clone();
            return Err((key, "is given twice: once in quotes, once as a section".into()));
        }
        Ok((trials, Space::new(found)))
    }
}

/// The keys at and below `key`, which may be a section.
fn collect(key: &str, value: &Value, found: &mut Vec<(String, Values)>) -> Result<(), Fault> {
    let wrong = |message: String| Err((key.to_string(), message));
    match value {
        Value::Array(list) if list.is_empty() => {
            wrong("the list is empty: there is nothing to try".into())
        }
        Value::Array(list) if list.len() > MOST => {
            wrong(format!("{} values are more than {MOST}", list.len()))
        }
        Value::Array(list) => {
            found.push((key.into(), Values::OneOf(list.clone())));
            Ok(())
        }
        Value::Table(table) if ["from", "to", "log"].iter().any(|end| table.contains_key(*end)) => {
            found.push((key.into(), range(table).map_err(|message| (key.to_string(), message))?));
            Ok(())
        }
        Value::Table(table) => table
            .iter()
            .try_for_each(|(inner, value)| collect(&format!("{key}.{inner}"), value, found)),
        other => wrong(format!(
            "{other} is one value: give a list, [{other}, …], or a range, {{ from = 1e-4, to = 1e-1, log = true }}"
        )),
    }
}

fn range(table: &Table) -> Result<Values, String> {
    if let Some(other) = table.keys().find(|key| !["from", "to", "log"].contains(&key.as_str())) {
        return Err(format!("unknown key '{other}' of a range (allowed: from, to, log)"));
    }
    let number = |key: &str| match table.get(key) {
        Some(Value::Integer(n)) => Ok((*n as f64, true)),
        Some(Value::Float(x)) if x.is_finite() => Ok((*x, false)),
        Some(other) => Err(format!("{key} = {other} is not a finite number")),
        None => {
            Err(format!("the range has no `{key}`: write {{ from = 1e-4, to = 1e-1, log = true }}"))
        }
    };
    let ((from, low), (to, high)) = (number("from")?, number("to")?);
    let log = match table.get("log") {
        None => false,
        Some(Value::Boolean(log)) => *log,
        Some(other) => return Err(format!("log = {other} is neither true nor false")),
    };
    if from >= to {
        return Err(format!("from = {from} is not below to = {to}"));
    }
    if log && from <= 0.0 {
        return Err(format!("from = {from} has no logarithm: with log = true it must be above 0"));
    }
    Ok(Values::Range { from, to, log, whole: low && high })
}
