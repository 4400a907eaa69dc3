//! A population 𝔇: whose samples a requirement is about, and through which view of x.
//!
//! ```
//! use feasible::{Inputs, Population, Samples, Target, Targets, rho};
//! let x = Inputs::new(vec![0.5, 1.0, 0.2, 0.0, -0.7, 1.0], 2)?;
//! let everyone = Population::new(Samples::new(x, Targets::Classes(vec![1, 0, 1]))?);
//! let positives = everyone.filter(|s| s.target == Target::Class(1));
//! let had_they_been = positives.counterfactual(rho::flip(1))?;
//! assert_eq!(positives.ids().collect::<Vec<_>>(), [0, 2]);
//! assert_eq!(had_they_been.points(), 2);
//! # Ok::<(), feasible::Error>(())
//! ```

use std::sync::Arc;

use crate::adaptive::Adaptive;
use crate::error::{Error, Result};
use crate::rho::Rho;
use crate::samples::{Samples, Target};
use crate::shift::Shift;

/// Samples, or some of them, seen through a view. Cheap to clone: data are shared.
///
/// Requirements on the same data set share batches and forward passes; a requirement on a data
/// set of its own gets its own batches.
#[derive(Clone, Debug)]
pub struct Population {
    samples: Arc<Samples>,
    /// Rows of `samples`, ascending; all of them if `None`.
    members: Option<Arc<[u32]>>,
    view: View,
}

/// Through which inputs the model sees a sample.
///
/// ```
/// use feasible::model::{Batch, Mode, Pass, ViewShift};
/// use feasible::population::SampleRef;
/// use feasible::rho::Rho;
/// use feasible::{Inputs, Model, Population, Samples, Targets, View};
/// use feasible_nn::Linear;
/// let x = Inputs::new(vec![0.5, 1.0, 0.2, 0.0], 2)?;
/// let everyone = Population::new(Samples::new(x, Targets::Classes(vec![1, 0]))?);
/// assert!(matches!(everyone.view(), View::Identity));
/// let second = |sample: SampleRef<'_>| sample.inputs()[1] == 1.0;
/// let flipped = everyone.filter(second).counterfactual(Rho::Flip(1))?;
/// let View::Counterfactual(shifts) = flipped.view() else { unreachable!() };
/// // The same change for everyone, without applying it again.
/// assert_eq!(everyone.counterfactuals(shifts.clone())?.points(), 2);
///
/// // What a model sees: the rows themselves, then through each view; by a list for the data set, or by numbers for the batch.
/// let inputs = everyone.samples().inputs();
/// let views = [ViewShift::Sparse(&shifts[0]), ViewShift::Dense(&[0.1, 0.0])];
/// let batch = Batch { inputs, rows: &[0], shifts: &views };
/// assert_eq!((batch.views(), batch.output_rows()), (3, 3));
/// let mut moved = [0.0; 2];
/// batch.write_input(1, 0, &mut moved);
/// assert_eq!(moved, [0.5, 0.0]);
/// let sum = Linear::new(2, 1)?;
/// let outputs = sum.outputs(&[1.0, 1.0, 0.0], &batch);
/// assert!(outputs.iter().zip([1.5, 0.5, 1.6]).all(|(f, y)| (f - y).abs() < 1e-6), "{outputs:?}");
/// assert_eq!(Pass::default().mode, Mode::Evaluation);
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub enum View {
    /// x itself.
    #[default]
    Identity,
    /// ρ(x) for one or several ρ. Each (sample, ρ) is a point of the population.
    Counterfactual(Vec<Arc<Shift>>),
    /// x + δ with δ chosen against the current model.
    Adaptive(Arc<dyn Adaptive>),
}

/// A sample, as a predicate sees it.
#[derive(Clone, Copy, Debug)]
pub struct SampleRef<'a> {
    /// Its row in the data set.
    pub row: usize,
    /// Its id.
    pub id: u64,
    /// Its target.
    pub target: Target<'a>,
    samples: &'a Samples,
}

impl SampleRef<'_> {
    /// Its inputs in full.
    pub fn inputs(&self) -> Vec<f32> {
        self.samples.inputs().row(self.row)
    }
}

impl Population {
    /// All samples, unchanged.
    pub fn new(samples: impl Into<Arc<Samples>>) -> Self {
        Self { samples: samples.into(), members: None, view: View::Identity }
    }

    /// Those members for which `mask` is true.
    ///
    /// # Errors
    /// A mask without exactly one entry per member.
    pub fn subset(&self, mask: &[bool]) -> Result<Self> {
        if mask.len() != self.len() {
            return Err(Error::Shape {
                what: "mask of a subset".into(),
                expected: format!("one entry for each of the {} members", self.len()),
                found: mask.len(),
            });
        }
        let members = self.rows().zip(mask).filter(|(_, keep)| **keep).map(|(row, _)| row);
        Ok(Self { members: Some(members.collect()), ..self.clone() })
    }

    /// Those members for which `keep` holds.
    pub fn filter(&self, keep: impl Fn(SampleRef<'_>) -> bool) -> Self {
        let samples = &*self.samples;
        let sample = |row: u32| {
            let row = row as usize;
            let target = samples.targets().get(row);
            SampleRef { row, id: samples.ids()[row], target, samples }
        };
        let members = self.rows().filter(|&row| keep(sample(row))).collect();
        Self { members: Some(members), ..self.clone() }
    }

    /// The pairs (x, ρ(x)).
    ///
    /// # Errors
    /// A column the inputs do not have, or a ρ(x) that is not finite.
    pub fn counterfactual(&self, rho: impl Into<Rho>) -> Result<Self> {
        let shift = Shift::new(self.samples.inputs(), rho)?;
        self.counterfactuals(vec![Arc::new(shift)])
    }

    /// The pairs (x, ρ(x)) for several ρ at once: a population of members × ρ points.
    ///
    /// # Errors
    /// No ρ at all, or one that was made for other inputs.
    pub fn counterfactuals(&self, shifts: Vec<Arc<Shift>>) -> Result<Self> {
        Error::unless(!shifts.is_empty(), "number of counterfactuals", 0.0, "at least 1")?;
        let inputs = self.samples.inputs();
        for shift in &shifts {
            if shift.rows() != inputs.rows() {
                return Err(Error::Shape {
                    what: "counterfactual".into(),
                    expected: format!("changes for each of the {} rows", inputs.rows()),
                    found: shift.rows(),
                });
            }
            let last = shift.last_column().map_or(0, |c| c as usize);
            let allowed = format!("below {}", inputs.width());
            Error::unless(last < inputs.width(), "counterfactual column", last as f64, &allowed)?;
        }
        Ok(Self { view: View::Counterfactual(shifts), ..self.clone() })
    }

    /// x + δ with δ chosen against the current model (an adversary).
    pub fn through(&self, view: Arc<dyn Adaptive>) -> Self {
        Self { view: View::Adaptive(view), ..self.clone() }
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.members.as_ref().map_or(self.samples.len(), |m| m.len())
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// N, the number of points an average is taken over: members × ρ. Point q · len + m is
    /// member m under the q-th ρ.
    pub fn points(&self) -> usize {
        self.len() * self.transformations()
    }

    /// Number of ρ, 1 for other views.
    pub(crate) fn transformations(&self) -> usize {
        match &self.view {
            View::Counterfactual(shifts) => shifts.len(),
            View::Identity | View::Adaptive(_) => 1,
        }
    }

    /// The data set.
    pub fn samples(&self) -> &Arc<Samples> {
        &self.samples
    }

    /// The view.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The members' rows in the data set, ascending.
    pub fn rows(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match &self.members {
            None => Box::new(0..self.samples.len() as u32),
            Some(members) => Box::new(members.iter().copied()),
        }
    }

    /// Whether every sample of the data set is a member.
    /// The same of these rows of the data set, in this order.
    pub(crate) fn of_rows(&self, rows: Vec<u32>) -> Self {
        Self { members: Some(rows.into()), ..self.clone() }
    }

    /// The same of another data set, with these rows as members, in this order, through another view.
    pub(crate) fn on(samples: &Arc<Samples>, rows: Vec<u32>, view: View) -> Self {
        let everyone = rows.iter().copied().eq(0..samples.len() as u32);
        Self { samples: samples.clone(), members: (!everyone).then(|| rows.into()), view }
    }

    pub(crate) fn is_everyone(&self) -> bool {
        self.members.is_none()
    }

    /// The members' ids.
    pub fn ids(&self) -> impl Iterator<Item = u64> + '_ {
        self.rows().map(|row| self.samples.ids()[row as usize])
    }
}
