//! A data set: inputs, targets and stable ids.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::inputs::Inputs;

/// What is to be predicted, one per sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Targets {
    /// A class 0, 1, …, k − 1.
    Classes(Vec<u32>),
    /// A number.
    Values(Vec<f32>),
    /// Several numbers.
    Vectors(Vectors),
}

/// The same count of numbers for each sample, row by row.
///
/// ```
/// use feasible::{Target, Targets, Vectors};
/// // Weight and waist of two people.
/// let y = Vectors::new(vec![80.0, 0.9, 65.0, 0.7], 2)?;
/// assert_eq!((y.len(), y.width()), (2, 2));
/// assert_eq!(y.coordinate(1).collect::<Vec<_>>(), [0.9, 0.7]);
/// assert_eq!(Targets::Vectors(y).get(1), Target::Vector(&[65.0, 0.7]));
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "(usize, Vec<f32>)", into = "(usize, Vec<f32>)")]
pub struct Vectors {
    width: usize,
    values: Vec<f32>,
}

impl TryFrom<(usize, Vec<f32>)> for Vectors {
    type Error = Error;

    fn try_from((width, values): (usize, Vec<f32>)) -> Result<Self> {
        Self::new(values, width)
    }
}

impl From<Vectors> for (usize, Vec<f32>) {
    fn from(of: Vectors) -> Self {
        (of.width, of.values)
    }
}

impl Vectors {
    /// Vectors of `width` numbers each, one after the other.
    ///
    /// # Errors
    /// A width of 0; numbers that are not a whole number of rows.
    pub fn new(values: Vec<f32>, width: usize) -> Result<Self> {
        Error::unless(width > 0, "numbers of a target", 0.0, "at least 1")?;
        if !values.len().is_multiple_of(width) {
            let expected = format!("{width} for each sample");
            return Err(Error::Shape { what: "targets".into(), expected, found: values.len() });
        }
        Ok(Self { width, values })
    }

    /// Numbers of a sample.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The numbers of sample `row`.
    #[inline(always)]
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.width..(row + 1) * self.width]
    }

    /// One number of every sample.
    pub fn coordinate(&self, at: usize) -> impl Iterator<Item = f32> {
        self.values.iter().skip(at).step_by(self.width).copied()
    }
}

impl Targets {
    /// Number of samples.
    pub fn len(&self) -> usize {
        match self {
            Self::Classes(y) => y.len(),
            Self::Values(y) => y.len(),
            Self::Vectors(y) => y.len(),
        }
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The target of sample `row`.
    #[inline(always)]
    pub fn get(&self, row: usize) -> Target<'_> {
        match self {
            Self::Classes(y) => Target::Class(y[row]),
            Self::Values(y) => Target::Value(y[row]),
            Self::Vectors(y) => Target::Vector(y.row(row)),
        }
    }

    /// Those of some samples, in the order given.
    ///
    /// ```
    /// use feasible::Targets;
    /// let y = Targets::Values(vec![0.5, 1.5, 2.5]);
    /// assert_eq!(y.chosen([2, 0].into_iter()), Targets::Values(vec![2.5, 0.5]));
    /// ```
    ///
    /// # Panics
    /// If there is no such sample.
    #[must_use]
    pub fn chosen(&self, rows: impl Iterator<Item = usize>) -> Self {
        match self {
            Self::Classes(y) => Self::Classes(rows.map(|row| y[row]).collect()),
            Self::Values(y) => Self::Values(rows.map(|row| y[row]).collect()),
            Self::Vectors(y) => {
                let values = rows.flat_map(|row| y.row(row)).copied().collect();
                Self::Vectors(Vectors { width: y.width, values })
            }
        }
    }

    /// The first number that is not finite, with its row.
    fn first_not_finite(&self) -> Option<(usize, f32)> {
        let (values, width) = match self {
            Self::Classes(_) => return None,
            Self::Values(y) => (y, 1),
            Self::Vectors(y) => (&y.values, y.width),
        };
        let at = values.iter().position(|y| !y.is_finite())?;
        Some((at / width, values[at]))
    }

    /// The largest class, if these are classes.
    pub(crate) fn last_class(&self) -> Option<u32> {
        match self {
            Self::Classes(y) => y.iter().copied().max(),
            Self::Values(_) | Self::Vectors(_) => None,
        }
    }
}

/// The target of one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target<'a> {
    /// A class.
    Class(u32),
    /// A number.
    Value(f32),
    /// Several numbers.
    Vector(&'a [f32]),
}

impl Target<'_> {
    /// The targets of a data set of this one sample.
    pub(crate) fn alone(self) -> Targets {
        match self {
            Self::Class(class) => Targets::Classes(vec![class]),
            Self::Value(y) => Targets::Values(vec![y]),
            Self::Vector(y) => {
                Targets::Vectors(Vectors { width: y.len().max(1), values: y.to_vec() })
            }
        }
    }
}

/// Samples (x, y) with ids. Ids stay with their sample whatever is shuffled or subset, and key
/// the pointwise multipliers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Samples {
    inputs: Inputs,
    targets: Targets,
    ids: Vec<u64>,
    weights: Option<Vec<f64>>,
}

/// [`Samples`] as they were sent. Ids that differ on all workers differ on each.
#[derive(Deserialize)]
struct Unchecked {
    inputs: Inputs,
    targets: Targets,
    ids: Vec<u64>,
    weights: Option<Vec<f64>>,
}

impl TryFrom<Unchecked> for Samples {
    type Error = Error;

    fn try_from(of: Unchecked) -> Result<Self> {
        let samples = Self::checked(of.inputs, of.targets, of.ids)?;
        match of.weights {
            Some(weights) => samples.weighted(weights),
            None => Ok(samples),
        }
    }
}

impl Samples {
    /// Samples numbered 0, 1, 2, ….
    ///
    /// # Errors
    /// As many inputs as targets are needed, and finite targets.
    pub fn new(inputs: Inputs, targets: Targets) -> Result<Self> {
        let ids = (0..inputs.rows() as u64).collect();
        Self::checked(inputs, targets, ids)
    }

    /// Samples with ids of their own, such as the row numbers of a file.
    ///
    /// # Errors
    /// As [`Samples::new`]; and ids must be as many as samples, and differ.
    pub fn with_ids(inputs: Inputs, targets: Targets, ids: Vec<u64>) -> Result<Self> {
        // Those of a table ascend; a set of many ids takes more memory than they do.
        if !ids.is_sorted_by(|a, b| a < b) {
            let mut seen = HashSet::with_capacity(ids.len());
            if let Some(&id) = ids.iter().find(|&&id| !seen.insert(id)) {
                return Err(Error::DuplicateId { id });
            }
        }
        Self::checked(inputs, targets, ids)
    }

    fn checked(inputs: Inputs, targets: Targets, ids: Vec<u64>) -> Result<Self> {
        let rows = inputs.rows();
        for (what, found) in [("targets", targets.len()), ("ids", ids.len())] {
            if found != rows {
                let expected = format!("one for each of the {rows} rows of the inputs");
                return Err(Error::Shape { what: what.into(), expected, found });
            }
        }
        if let Some((row, value)) = targets.first_not_finite() {
            return Err(Error::NonFiniteTarget { row, value });
        }
        Ok(Self { inputs, targets, ids, weights: None })
    }

    /// Some of them, in this order.
    ///
    /// ```
    /// use feasible::{Inputs, Samples, Targets};
    /// let y = Targets::Values(vec![1.0, 2.0, 3.0]);
    /// let samples = Samples::new(Inputs::new(vec![0.5, 0.2, 0.7], 1)?, y)?;
    /// assert_eq!(samples.chosen(&[2, 0]).ids(), [2, 0]);
    /// # Ok::<(), feasible::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is no such sample.
    #[must_use]
    pub fn chosen(&self, rows: &[u32]) -> Self {
        let each = || rows.iter().map(|&row| row as usize);
        let weights = |all: &Vec<f64>| each().map(|row| all[row]).collect();
        Self {
            inputs: self.inputs.chosen(rows),
            targets: self.targets.chosen(each()),
            ids: each().map(|row| self.ids[row]).collect(),
            weights: self.weights.as_ref().map(weights),
        }
    }

    /// The same samples, each with a weight in the *objective*: its average becomes Σ w ℓ / Σ w, so that a sample of
    /// weight 2 counts as the sample twice. Requirements and their certificates are of the samples, each counted
    /// once.
    ///
    /// ```
    /// use feasible::{Inputs, Samples, Targets};
    /// let samples = Samples::new(Inputs::new(vec![0.5, 0.2], 1)?, Targets::Classes(vec![1, 0]))?;
    /// assert_eq!(samples.weighted(vec![2.0, 0.5])?.weights(), Some(&[2.0, 0.5][..]));
    /// # Ok::<(), feasible::Error>(())
    /// ```
    ///
    /// # Errors
    /// Weights that are not as many as samples, or one that is not positive and finite.
    pub fn weighted(mut self, weights: Vec<f64>) -> Result<Self> {
        if weights.len() != self.len() {
            let expected = format!("one for each of the {} samples", self.len());
            return Err(Error::Shape { what: "weights".into(), expected, found: weights.len() });
        }
        for (row, &weight) in weights.iter().enumerate() {
            let usable = weight > 0.0 && weight.is_finite();
            Error::unless(usable, &format!("weight of row {row}"), weight, "positive and finite")?;
        }
        self.weights = Some(weights);
        Ok(self)
    }

    /// About how many bytes they take.
    pub(crate) fn bytes(&self) -> usize {
        let targets = match &self.targets {
            Targets::Classes(_) | Targets::Values(_) => 4,
            Targets::Vectors(y) => 4 * y.width,
        };
        let weights = if self.weights.is_some() { 8 } else { 0 };
        self.inputs.bytes() + self.len() * (8 + targets + weights)
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The inputs.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// The targets.
    pub fn targets(&self) -> &Targets {
        &self.targets
    }

    /// What each sample weighs in the objective, if not all the same.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The ids.
    pub fn ids(&self) -> &[u64] {
        &self.ids
    }
}
