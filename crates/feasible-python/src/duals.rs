//! Multipliers for a training loop of somebody else's: named requirements, λ by the id of a sample.
//!
//! A loop asks for multipliers, puts them into its loss, tells what it measured, and has them moved. All numbers that last
//! are kept here, and moved by the dual optimisers of [`feasible::Dual`]. A λ is made when its sample is first measured; until
//! then it has its start value.

use std::collections::HashMap;

use feasible::dual::DualState;
use feasible::{Dual, Schedule};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::refused;

/// Multipliers whose states are kept together: they are made as samples appear.
const CHUNK: usize = 1024;
/// The format of a saved state.
const FORMAT: u32 = 1;

/// A requirement as Python states it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stated {
    name: String,
    limit: f64,
    /// Whether the value must be at least the limit.
    at_least: bool,
    every_row: bool,
    /// How many samples there are, where that is known.
    rows: Option<u64>,
    dual: DualSpec,
    start: f64,
}

/// A dual optimiser as Python states it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", tag = "method")]
enum DualSpec {
    Ascent { rate: f64, schedule: Schedule },
    Algorithm1 { rate: f64, schedule: Schedule },
    Adam { rate: f64, beta1: f64, beta2: f64, schedule: Schedule },
    NuPi { rate: f64, proportional: f64, nu: f64, schedule: Schedule },
}

impl DualSpec {
    fn dual(self) -> Dual {
        match self {
            Self::Ascent { rate, schedule } => Dual::ascent(rate).schedule(schedule),
            Self::Algorithm1 { rate, schedule } => Dual::algorithm1(rate).schedule(schedule),
            Self::Adam { rate, beta1, beta2, schedule } => {
                Dual::adam_with(rate, beta1, beta2).schedule(schedule)
            }
            Self::NuPi { rate, proportional, nu, schedule } => {
                Dual::nu_pi(rate, proportional, nu).schedule(schedule)
            }
        }
    }
}

/// What a requirement has come to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    stated: Stated,
    /// The ids of samples, in the order in which they were first measured; of an average, none.
    ids: Vec<u64>,
    multipliers: Vec<f64>,
    /// What the dual optimiser remembers, a chunk of multipliers each.
    states: Vec<DualState>,
    /// Where the multiplier of an id is.
    #[serde(skip)]
    places: HashMap<u64, usize>,
    /// Violations measured since the last step: the multiplier, their sum, how many.
    #[serde(skip)]
    measured: HashMap<usize, (f64, f64)>,
}

impl Requirement {
    fn new(stated: Stated) -> Result<Self, String> {
        let name = &stated.name;
        if !stated.limit.is_finite() {
            return Err(format!(
                "requirement '{name}': its limit is {}, not a number",
                stated.limit
            ));
        }
        if !(stated.start >= 0.0 && stated.start.is_finite()) {
            return Err(format!(
                "requirement '{name}': start is {}, and a multiplier is a number of at least 0",
                stated.start
            ));
        }
        stated.dual.dual().check().map_err(|error| format!("requirement '{name}': {error}"))?;
        let (ids, multipliers, states) = (Vec::new(), Vec::new(), Vec::new());
        let (places, measured) = (HashMap::new(), HashMap::new());
        let mut made = Self { stated, ids, multipliers, states, places, measured };
        if !made.stated.every_row {
            made.make();
        }
        Ok(made)
    }

    /// How many multipliers a chunk has: the one of an average, or many.
    fn chunk(&self) -> usize {
        if self.stated.every_row { CHUNK } else { 1 }
    }

    /// A further multiplier, at its start.
    fn make(&mut self) -> usize {
        let at = self.multipliers.len();
        if at.is_multiple_of(self.chunk()) {
            self.states.push(DualState::start(&self.stated.dual.dual(), self.chunk()));
        }
        self.multipliers.push(self.stated.start);
        at
    }

    /// Ids of samples, checked.
    fn ids(&self, rows: Option<&[i64]>) -> Result<Vec<u64>, String> {
        let name = &self.stated.name;
        let Some(rows) = rows else {
            return Err(format!(
                "requirement '{name}' is for every row: give the ids of the samples with the values, \
                 {name}=(values, rows)"
            ));
        };
        let bound = self.stated.rows;
        let check = |(at, &id): (usize, &i64)| match u64::try_from(id) {
            Ok(id) if bound.is_none_or(|rows| id < rows) => Ok(id),
            _ => {
                let allowed = bound.map_or("at least 0".into(), |rows| {
                    format!("from 0 to {}", rows.saturating_sub(1))
                });
                Err(format!(
                    "requirement '{name}': sample id {id} at position {at} is out of range: ids are {allowed}"
                ))
            }
        };
        rows.iter().enumerate().map(check).collect()
    }

    fn average_only(&self, rows: Option<&[i64]>) -> Result<(), String> {
        match rows {
            Some(_) => Err(format!(
                "requirement '{0}' is of an average, and has one multiplier: give its values without ids of \
                 samples, {0}=values",
                self.stated.name
            )),
            None => Ok(()),
        }
    }

    fn multipliers(&self, rows: Option<&[i64]>) -> Result<Vec<f64>, String> {
        if !self.stated.every_row {
            self.average_only(rows)?;
            return Ok(self.multipliers.clone());
        }
        let start = self.stated.start;
        let of = |id: &u64| self.places.get(id).map_or(start, |&at| self.multipliers[at]);
        Ok(self.ids(rows)?.iter().map(of).collect())
    }

    /// Measured values and their ids, if they can be used; an average has no ids.
    fn check(&self, values: &[f64], rows: Option<&[i64]>) -> Result<Vec<u64>, String> {
        let name = &self.stated.name;
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(format!(
                "requirement '{name}': value {at} of {} is {}: multipliers would be lost. Look for a division by zero or \
                 a learning rate that is too high, or leave this batch out",
                values.len(),
                values[at]
            ));
        }
        if values.is_empty() {
            return Err(format!("requirement '{name}': there are no values"));
        }
        if !self.stated.every_row {
            self.average_only(rows)?;
            return Ok(Vec::new());
        }
        let ids = self.ids(rows)?;
        if ids.len() != values.len() {
            return Err(format!(
                "requirement '{name}': {} values for {} sample ids: give one value for each sample",
                values.len(),
                ids.len()
            ));
        }
        Ok(ids)
    }

    /// Takes values that were checked, with their ids.
    fn measure(&mut self, values: &[f64], ids: &[u64]) {
        let sign = if self.stated.at_least { -1.0 } else { 1.0 };
        let limit = self.stated.limit;
        let violation = |value: &f64| sign * (value - limit);
        if !self.stated.every_row {
            let entry = self.measured.entry(0).or_default();
            entry.0 += values.iter().map(violation).sum::<f64>();
            entry.1 += values.len() as f64;
        }
        for (&id, value) in ids.iter().zip(values) {
            let at = match self.places.get(&id) {
                Some(&at) => at,
                None => {
                    let at = self.make();
                    self.ids.push(id);
                    self.places.insert(id, at);
                    at
                }
            };
            let entry = self.measured.entry(at).or_default();
            entry.0 += violation(value);
            entry.1 += 1.0;
        }
    }

    /// Moves what was measured; what it was.
    fn step(&mut self, epoch: f64) -> Option<Moved> {
        let mut seen: Vec<(usize, f64)> =
            self.measured.drain().map(|(at, (sum, count))| (at, sum / count)).collect();
        if seen.is_empty() {
            return None;
        }
        // A hash map's order must not be that of sums.
        seen.sort_unstable_by_key(|(at, _)| *at);
        let dual = self.stated.dual.dual();
        let points = match self.stated.every_row {
            true => self.stated.rows.unwrap_or(self.multipliers.len() as u64).max(1) as f64,
            false => 1.0,
        };
        let chunk = self.chunk();
        for seen in seen.chunk_by(|a, b| a.0 / chunk == b.0 / chunk) {
            let number = seen[0].0 / chunk;
            let first = number * chunk;
            let end = self.multipliers.len().min(first + chunk);
            let violations = seen.iter().map(|(at, violation)| (at - first, *violation));
            let multipliers = &mut self.multipliers[first..end];
            dual.step(epoch, points, multipliers, &mut self.states[number], violations);
        }
        let count = seen.len() as f64;
        let mean = seen.iter().map(|(_, violation)| violation).sum::<f64>() / count;
        let worst = seen.iter().map(|(_, violation)| *violation).fold(f64::NEG_INFINITY, f64::max);
        let moved = || seen.iter().map(|(at, _)| self.multipliers[*at]);
        let multiplier = moved().sum::<f64>() / count;
        let at_zero = moved().filter(|multiplier| *multiplier == 0.0).count() as f64 / count;
        Some(Moved { violation: mean, worst, multiplier, at_zero, samples: seen.len() })
    }

    /// A saved requirement, made whole.
    fn restored(mut self) -> Result<Self, String> {
        let name = self.stated.name.clone();
        let damaged =
            |what: &str| format!("requirement '{name}' of the saved state is damaged: {what}");
        let count = if self.stated.every_row { self.ids.len() } else { 1 };
        if (self.multipliers.len(), self.states.len()) != (count, count.div_ceil(self.chunk())) {
            return Err(damaged("ids, multipliers and states do not fit together"));
        }
        if !self.multipliers.iter().all(|multiplier| *multiplier >= 0.0 && multiplier.is_finite()) {
            return Err(damaged("a multiplier is negative or not a number"));
        }
        let start = DualState::start(&self.stated.dual.dual(), self.chunk());
        if !self.states.iter().all(|state| lengths(state) == lengths(&start)) {
            return Err(damaged("a state is of another dual optimiser"));
        }
        if let Some(rows) = self.stated.rows
            && self.ids.iter().any(|id| *id >= rows)
        {
            return Err(damaged("a sample id is out of range"));
        }
        self.places = self.ids.iter().copied().zip(0..).collect();
        if self.places.len() != self.ids.len() {
            return Err(damaged("a sample id occurs twice"));
        }
        Ok(self)
    }
}

/// How many numbers of each kind a state holds. (JSON has no NaN, so that all are numbers.)
fn lengths(state: &DualState) -> Vec<usize> {
    let lists = serde_json::to_value(state).unwrap_or_default();
    let lists = lists
        .as_object()
        .map(|lists| lists.values().map(|list| list.as_array().map_or(0, Vec::len)).collect());
    lists.unwrap_or_default()
}

/// What a step did to a requirement: means over what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Moved {
    violation: f64,
    worst: f64,
    multiplier: f64,
    at_zero: f64,
    samples: usize,
}

/// A line of the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    step: u64,
    requirement: String,
    #[serde(flatten)]
    moved: Moved,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    format: u32,
    steps: u64,
    requirements: Vec<Requirement>,
    history: Vec<Entry>,
}

/// Multipliers of named requirements. See the package's `feasible.Duals`.
#[pyclass(module = "feasible._feasible")]
pub(crate) struct DualsCore {
    requirements: Vec<Requirement>,
    steps: u64,
    history: Vec<Entry>,
}

impl DualsCore {
    fn place(&self, name: &str) -> PyResult<usize> {
        let known = || self.requirements.iter().map(|requirement| requirement.stated.name.as_str());
        known().position(|known| known == name).ok_or_else(|| {
            let names: Vec<&str> = known().collect();
            refused(format!("there is no requirement '{name}': there are {}", names.join(", ")))
        })
    }
}

/// A requirement's name, its values, and the ids of their samples.
type MeasuredTerm<'py> = (String, PyReadonlyArray1<'py, f64>, Option<PyReadonlyArray1<'py, i64>>);

/// One-dimensional numbers, contiguous or not.
fn list<T: numpy::Element + Copy>(array: &PyReadonlyArray1<'_, T>) -> Vec<T> {
    array.as_array().iter().copied().collect()
}

#[pymethods]
impl DualsCore {
    #[new]
    fn new(stated: &str) -> PyResult<Self> {
        let stated: Vec<Stated> = serde_json::from_str(stated).map_err(refused)?;
        if stated.is_empty() {
            return Err(refused("give at least one requirement: average(…) or every_row(…)"));
        }
        for (at, one) in stated.iter().enumerate() {
            if stated[..at].iter().any(|other| other.name == one.name) {
                return Err(refused(format!("requirement '{}' is stated twice", one.name)));
            }
        }
        let requirements = stated.into_iter().map(Requirement::new).collect::<Result<_, _>>();
        let requirements = requirements.map_err(refused)?;
        Ok(Self { requirements, steps: 0, history: Vec::new() })
    }

    /// μ, or λ of some samples.
    #[pyo3(signature = (name, rows=None))]
    fn multipliers<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        rows: Option<PyReadonlyArray1<'py, i64>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let rows = rows.as_ref().map(list);
        let requirement = &self.requirements[self.place(name)?];
        Ok(requirement.multipliers(rows.as_deref()).map_err(refused)?.into_pyarray(py))
    }

    /// The samples that have a multiplier of their own, and these.
    #[allow(clippy::type_complexity, reason = "two arrays")]
    fn known<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<f64>>)> {
        let requirement = &self.requirements[self.place(name)?];
        let (ids, multipliers) = (requirement.ids.clone(), requirement.multipliers.clone());
        Ok((ids.into_pyarray(py), multipliers.into_pyarray(py)))
    }

    /// Takes measured values into the next step: all of them, or none if one cannot be used.
    fn measure(&mut self, terms: Vec<MeasuredTerm<'_>>) -> PyResult<()> {
        let mut checked = Vec::new();
        for (name, values, rows) in &terms {
            let (at, values, rows) = (self.place(name)?, list(values), rows.as_ref().map(list));
            let ids = self.requirements[at].check(&values, rows.as_deref()).map_err(refused)?;
            checked.push((at, values, ids));
        }
        for (at, values, ids) in checked {
            self.requirements[at].measure(&values, &ids);
        }
        Ok(())
    }

    /// Moves the multipliers of all that was measured since the last step; how many requirements moved.
    fn step(&mut self, epoch: f64) -> PyResult<usize> {
        if !(epoch >= 0.0 && epoch.is_finite()) {
            return Err(refused(format!("epoch is {epoch}: give a number of at least 0")));
        }
        let mut moved = 0;
        for requirement in &mut self.requirements {
            if let Some(by) = requirement.step(epoch) {
                let (step, requirement) = (self.steps, requirement.stated.name.clone());
                self.history.push(Entry { step, requirement, moved: by });
                moved += 1;
            }
        }
        self.steps += u64::from(moved > 0);
        Ok(moved)
    }

    /// Leaves out what was measured since the last step.
    fn forget(&mut self) {
        self.requirements.iter_mut().for_each(|requirement| requirement.measured.clear());
    }

    /// Steps done.
    #[getter]
    fn steps(&self) -> u64 {
        self.steps
    }

    /// The history as JSON, a line for each step and requirement.
    fn history(&self) -> PyResult<String> {
        serde_json::to_string(&self.history).map_err(refused)
    }

    /// The lines of the history that the last step added, as JSON.
    fn last(&self) -> PyResult<String> {
        let added = self.history.partition_point(|entry| entry.step + 1 < self.steps);
        serde_json::to_string(&self.history[added..]).map_err(refused)
    }

    /// All that is needed to continue, as JSON.
    fn state(&self) -> PyResult<String> {
        let saved = Saved {
            format: FORMAT,
            steps: self.steps,
            requirements: self.requirements.clone(),
            history: self.history.clone(),
        };
        serde_json::to_string(&saved).map_err(refused)
    }

    /// Continues from a state of the same requirements; limits, rates and starts may differ, and stay as they are here.
    fn load(&mut self, state: &str) -> PyResult<()> {
        let saved: Saved = serde_json::from_str(state)
            .map_err(|error| refused(format!("this is no state of Duals: {error}")))?;
        if saved.format != FORMAT {
            let found = saved.format;
            return Err(refused(format!(
                "the state has format {found}, this version reads {FORMAT}"
            )));
        }
        let shape = |stated: &Stated| (stated.name.clone(), stated.every_row, stated.rows);
        let here: Vec<_> = self.requirements.iter().map(|one| shape(&one.stated)).collect();
        let there: Vec<_> = saved.requirements.iter().map(|one| shape(&one.stated)).collect();
        if here != there {
            let words = |list: &[(String, bool, Option<u64>)]| {
                let word = |(name, every, rows): &(String, bool, Option<u64>)| match (every, rows) {
                    (false, _) => format!("'{name}' on average"),
                    (true, Some(rows)) => format!("'{name}' for every row of {rows}"),
                    (true, None) => format!("'{name}' for every row"),
                };
                list.iter().map(word).collect::<Vec<_>>().join(", ")
            };
            return Err(refused(format!(
                "the state is of other requirements: {}; here they are {}",
                words(&there),
                words(&here)
            )));
        }
        let mut requirements = Vec::new();
        for (mut from, own) in saved.requirements.into_iter().zip(&self.requirements) {
            if std::mem::discriminant(&from.stated.dual) != std::mem::discriminant(&own.stated.dual)
            {
                let name = &own.stated.name;
                return Err(refused(format!(
                    "requirement '{name}': the state is of another dual method"
                )));
            }
            from.stated = own.stated.clone();
            requirements.push(from.restored().map_err(refused)?);
        }
        (self.requirements, self.steps, self.history) = (requirements, saved.steps, saved.history);
        Ok(())
    }
}
