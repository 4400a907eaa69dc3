//! The Lagrangian for models that live elsewhere: in another language, on another device, or without parameters.

use crate::error::{Error, Result};
use crate::lagrangian::terms::{Ask, At, Outputs, Terms, Work};
use crate::measurement::Measurement;
use crate::multiplier::Multipliers;
use crate::problem::Problem;
use crate::real::Real;
use crate::samples::Samples;
use crate::source::{Source, SourceView};

/// The Lagrangian of a problem as a function of a model's outputs.
///
/// Losses act on outputs, so whoever can compute outputs can train against requirements: a network in another
/// framework, boosted trees. This type lists the inputs that it needs ([`inputs`](Self::inputs)), and makes
/// of their outputs the gradient of the Lagrangian with respect to each output
/// ([`gradient`](Self::gradient)), which the model carries back to its parameters or fits a tree to, and objective
/// and violations ([`measure`](Self::measure)), which move the multipliers.
///
/// A problem involves one or several data sets. The outputs of some rows of one come in this order: f(x) for each
/// row, then f of the first view for each row, and so on; each output has `output_width` numbers.
///
/// Descent on the outputs themselves, as boosting would do it:
///
/// ```
/// use feasible::{Inputs, Loss, Multipliers, OutputLagrangian, Population, Problem, Requirement, Samples, Targets};
/// let x = Inputs::new(vec![0.5, 0.25, -0.5, 0.125], 1)?;
/// let everyone = Population::new(Samples::new(x, Targets::Values(vec![1.0, 2.0, 3.0, 6.0]))?);
/// let last = everyone.subset(&[false, false, false, true])?;
/// let problem = Problem::minimise(&everyone, Loss::Squared)
///     .subject_to(Requirement::average("last", &last, Loss::Squared).at_most(1.0))
///     .check()?;
/// let mut lagrangian = OutputLagrangian::<f64>::new(&problem, 1)?;
/// assert_eq!(lagrangian.data_sets(), 1);
/// let rows = lagrangian.rows(0).to_vec();
/// let (mut common, mut mu) = (0.0, 1.0); // one output for everyone, and its multiplier
/// for _ in 0..2000 {
///     let outputs = vec![common; rows.len()];
///     let multipliers = Multipliers::new(&problem, vec![vec![mu]])?;
///     let mut seeds = vec![0.0; outputs.len()];
///     lagrangian.gradient(0, &rows, &outputs, &multipliers, &mut seeds)?;
///     common -= 0.05 * seeds.iter().sum::<f64>();
///     let measurement = lagrangian.measure(&[outputs])?;
///     mu = f64::max(0.0, mu + 0.05 * measurement.violations[0].measured[0]);
/// }
/// assert!((common - 5.0).abs() < 1e-3); // as near to the mean of 3 as (6 − f)² ≤ 1 allows
/// # Ok::<(), feasible::Error>(())
/// ```
#[allow(missing_debug_implementations)]
pub struct OutputLagrangian<T: Real> {
    terms: Terms,
    work: Work<T>,
    width: usize,
}

impl<T: Real> OutputLagrangian<T> {
    /// For a model with this number of outputs.
    ///
    /// # Errors
    /// A loss that cannot be of such outputs, or a population whose view depends on the model: only a
    /// [`Model`](crate::Model) can be attacked.
    pub fn new(problem: &Problem, output_width: usize) -> Result<Self> {
        if problem.has_adaptive_views() {
            return Err(Error::Setting {
                setting: "populations whose view depends on the model".into(),
                value: 1.0,
                allowed: "none where only outputs are known".into(),
            });
        }
        let whole = problem.shards().is_none();
        Error::unless(whole, "workers that a problem is divided over", 1.0, "none")?;
        problem.check_outputs(output_width)?;
        Ok(Self { terms: Terms::new(problem.clone()), work: Work::default(), width: output_width })
    }

    /// How many data sets the problem involves. The objective's is number 0.
    pub fn data_sets(&self) -> usize {
        self.terms.problem.sources().len()
    }

    /// # Panics
    /// If there is no such data set.
    pub fn samples(&self, data_set: usize) -> &Samples {
        &self.source(data_set).samples
    }

    /// The rows of a data set that count.
    ///
    /// # Panics
    /// If there is no such data set.
    pub fn rows(&self, data_set: usize) -> &[u32] {
        &self.source(data_set).rows
    }

    /// How many outputs there are of each row: one of x itself, and one of each view.
    ///
    /// # Panics
    /// If there is no such data set.
    pub fn views(&self, data_set: usize) -> usize {
        1 + self.source(data_set).views.len()
    }

    /// The inputs to give outputs for, one after the other: x of each row, then each view of each row.
    ///
    /// # Errors
    /// A row that the data set does not have.
    ///
    /// # Panics
    /// If there is no such data set.
    pub fn inputs(&self, data_set: usize, rows: &[u32]) -> Result<Vec<f32>> {
        self.check_rows(data_set, rows)?;
        let source = self.source(data_set);
        let (inputs, width) = (source.samples.inputs(), source.samples.inputs().width());
        let mut all = vec![0.0; self.views(data_set) * rows.len() * width];
        let views = std::iter::once(None).chain(source.views.iter().map(SourceView::shift));
        let mut to = all.chunks_exact_mut(width.max(1));
        for shift in views {
            for (&row, x) in rows.iter().zip(&mut to) {
                inputs.write_row(row as usize, x);
                for (column, delta) in shift.into_iter().flat_map(|s| s.row(row as usize)) {
                    x[column as usize] += delta;
                }
            }
        }
        Ok(all)
    }

    /// Adds to `seeds` the gradient of the Lagrangian with respect to the outputs of some rows. If those are not all
    /// rows of the data set, it is scaled up: its expectation over random rows is the whole gradient. The gradient of weight
    /// decay is not part of it.
    ///
    /// # Errors
    /// Outputs, seeds or multipliers of another number than there should be, or a row that the data set does not have.
    ///
    /// # Panics
    /// If there is no such data set.
    pub fn gradient(
        &mut self,
        data_set: usize,
        rows: &[u32],
        outputs: &[T],
        multipliers: &Multipliers,
        seeds: &mut [T],
    ) -> Result<()> {
        self.check_rows(data_set, rows)?;
        self.check_length("outputs", data_set, rows, outputs.len())?;
        self.check_length("seeds", data_set, rows, seeds.len())?;
        multipliers.check(&self.terms.problem)?;
        let scale = self.rows(data_set).len() as f64 / rows.len().max(1) as f64;
        let at = At { source: data_set, rows, scale, ask: Ask::Gradient(multipliers) };
        self.work.found.clear(self.terms.count());
        let outputs = Outputs { width: self.width, outputs, seeds };
        self.terms.on_rows(&mut self.work, at, true, outputs);
        Ok(())
    }

    /// Objective and violations, from the outputs of all [`rows`](Self::rows) of every data set. Its penalty is 0: who has
    /// parameters knows their norm.
    ///
    /// # Errors
    /// Outputs of another number than there should be.
    pub fn measure(&mut self, outputs: &[Vec<T>]) -> Result<Measurement> {
        if outputs.len() != self.data_sets() {
            return Err(Error::Shape {
                what: "outputs".into(),
                expected: format!("one list for each of {} data sets", self.data_sets()),
                found: outputs.len(),
            });
        }
        self.work.found.clear(self.terms.count());
        for (source, outputs) in outputs.iter().enumerate() {
            let problem = self.terms.problem.clone();
            let rows = &problem.sources()[source].rows;
            self.check_length("outputs", source, rows, outputs.len())?;
            let at = At { source, rows, scale: 1.0, ask: Ask::Values };
            let outputs = Outputs { width: self.width, outputs, seeds: &mut [] };
            self.terms.on_rows(&mut self.work, at, true, outputs);
        }
        self.work.found.add_up(std::iter::empty(), self.terms.problem.workers());
        Ok(self.terms.measurement(&self.work.found, 0.0, |_| None))
    }

    fn source(&self, data_set: usize) -> &Source {
        &self.terms.problem.sources()[data_set]
    }

    fn check_rows(&self, data_set: usize, rows: &[u32]) -> Result<()> {
        let count = self.samples(data_set).len();
        match rows.iter().find(|&&row| row as usize >= count) {
            None => Ok(()),
            Some(&row) => Err(Error::Setting {
                setting: format!("row of data set {data_set}"),
                value: f64::from(row),
                allowed: format!("below {count}"),
            }),
        }
    }

    fn check_length(&self, what: &str, data_set: usize, rows: &[u32], found: usize) -> Result<()> {
        let (views, width) = (self.views(data_set), self.width);
        if found == views * rows.len() * width {
            return Ok(());
        }
        let expected = format!("{views} views × {} rows × {width} numbers", rows.len());
        Err(Error::Shape { what: what.into(), expected, found })
    }
}
