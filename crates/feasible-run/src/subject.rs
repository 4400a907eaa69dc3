//! A model on rows: what is evaluated, certified and monitored.
//!
//! [`Subject::on`] takes rows through the model once, with all views that requirements and counterfactuals have of them.
//! The evaluation, the certificate and the predictions are then made of these outputs.

use std::sync::Arc;

use feasible::{
    Batch, Inputs, Loss, Model, Multipliers, Pass, Population, Problem, Samples, Shift, Targets,
    ViewShift,
};
use feasible_data::Change;
use feasible_problem::clause::{Clause, SampledTable};
use feasible_problem::network::Network;

use crate::error::{Error, Result};

/// Rows per forward pass.
const CHUNK: usize = 512;

/// A model, and what is asked of it.
#[derive(Clone)]
pub(crate) struct Subject<'a> {
    pub(crate) loss: Loss,
    pub(crate) clauses: &'a [Clause],
    pub(crate) changes: &'a [Change],
    /// As a share of each limit.
    pub(crate) tolerance: f64,
    /// Number of classes; `None` if a number is predicted.
    pub(crate) classes: Option<usize>,
    /// The training's multipliers, in the order of the clauses.
    pub(crate) multipliers: Option<&'a Multipliers>,
    pub(crate) model: &'a Network,
    pub(crate) theta: &'a [f32],
}

/// What a model makes of some rows.
pub(crate) struct Answers<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) samples: Arc<Samples>,
    /// The requirements that speak of any of the rows.
    pub(crate) problem: Problem,
    /// The points of each clause; `None` if it speaks of none of the rows.
    pub(crate) points: Vec<Option<usize>>,
    /// Of each counterfactual of the subject.
    pub(crate) shifts: Vec<Arc<Shift>>,
    pub(crate) model: Recorded<'a>,
}

impl<'a> Subject<'a> {
    /// Takes rows through the model; `what` is said to need some if there are none.
    pub(crate) fn on(&self, what: &str, sampled: &mut SampledTable<'_>) -> Result<Answers<'a>> {
        let samples = sampled.samples.clone();
        if samples.is_empty() {
            return Err(Error::unfit(what, "there is no row: give a table with rows"));
        }
        let everyone = Population::new(samples.clone());
        let mut draft = Problem::minimise(&everyone, self.loss.clone());
        let mut points = Vec::new();
        for clause in self.clauses {
            let requirement = clause.on(sampled)?;
            points.push(requirement.as_ref().map(|r| r.multipliers()));
            if let Some(requirement) = requirement {
                draft = draft.subject_to(requirement);
            }
        }
        let of_classes = matches!(samples.targets(), Targets::Classes(_));
        let changes = self.changes.iter().filter(|_| of_classes);
        let shifts = changes.map(|change| sampled.shift(change)).collect::<Result<_, _>>()?;
        let model = Recorded::new(self.model, self.theta, &samples, sampled.shifts().cloned());
        let (subject, problem) = (self.clone(), draft.check()?);
        Ok(Answers { subject, samples, problem, points, shifts, model })
    }
}

impl Answers<'_> {
    /// The predicted classes; of rows themselves, or as a counterfactual shows them.
    fn classes(&self, shift: Option<&Arc<Shift>>) -> impl Iterator<Item = usize> {
        self.model.view(shift).chunks_exact(self.model.output_width()).map(class_of)
    }

    /// The prediction for each row.
    pub(crate) fn predicted(&self) -> Vec<usize> {
        self.classes(None).collect()
    }

    /// The first output for each row.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f32> {
        self.model.view(None).chunks_exact(self.model.output_width()).map(|outputs| outputs[0])
    }

    /// For each counterfactual the rows whose prediction it changes.
    pub(crate) fn changed(&self) -> Vec<Vec<bool>> {
        let here = self.predicted();
        let of = |shift| here.iter().zip(self.classes(Some(shift))).map(|(a, b)| *a != b).collect();
        self.shifts.iter().map(of).collect()
    }
}

/// A model whose outputs for some samples are known. Asked about these, it looks them up.
pub(crate) struct Recorded<'a> {
    model: &'a Network,
    samples: Arc<Samples>,
    /// Views besides x itself.
    shifts: Vec<Arc<Shift>>,
    /// Of every row: of x, then of each view.
    views: Vec<Vec<f32>>,
}

impl<'a> Recorded<'a> {
    fn new(
        model: &'a Network,
        theta: &[f32],
        samples: &Arc<Samples>,
        shifts: impl Iterator<Item = Arc<Shift>>,
    ) -> Self {
        let shifts: Vec<Arc<Shift>> = shifts.collect();
        let views: Vec<_> = shifts.iter().map(|shift| ViewShift::Sparse(shift)).collect();
        let views = outputs(model, theta, samples.inputs(), &views);
        Self { model, samples: samples.clone(), shifts, views }
    }

    /// The outputs for x, or for a view of it that was recorded.
    fn view(&self, shift: Option<&Arc<Shift>>) -> &[f32] {
        let at = shift.map(|shift| self.at(shift).map_or(0, |at| at + 1));
        &self.views[at.unwrap_or(0)]
    }

    fn at(&self, shift: &Shift) -> Option<usize> {
        self.shifts.iter().position(|known| std::ptr::eq(&**known, shift))
    }

    /// Which of the views a batch asks about; `None` if one was not recorded.
    fn known(&self, batch: &Batch<'_>) -> Option<Vec<&[f32]>> {
        if !std::ptr::eq(batch.inputs, self.samples.inputs()) {
            return None;
        }
        let mut views = vec![&self.views[0][..]];
        for shift in batch.shifts {
            match shift {
                ViewShift::Sparse(shift) => views.push(&self.views[1 + self.at(shift)?]),
                ViewShift::Dense(_) => return None,
            }
        }
        Some(views)
    }
}

impl Model for Recorded<'_> {
    type Real = f32;
    type Tape = <Network as Model>::Tape;

    fn input_width(&self) -> usize {
        self.model.input_width()
    }

    fn output_width(&self) -> usize {
        self.model.output_width()
    }

    fn parameter_count(&self) -> usize {
        self.model.parameter_count()
    }

    fn trainable_count(&self) -> usize {
        self.model.trainable_count()
    }

    fn needs_whole_batch(&self) -> bool {
        self.model.needs_whole_batch()
    }

    fn is_linear(&self) -> bool {
        self.model.is_linear()
    }

    fn initial(&self, seed: u64) -> Vec<f32> {
        self.model.initial(seed)
    }

    fn forward(
        &self,
        theta: &[f32],
        batch: &Batch<'_>,
        pass: Pass,
        tape: &mut Self::Tape,
        outputs: &mut [f32],
    ) {
        let Some(views) = self.known(batch).filter(|_| pass.outputs_only) else {
            return self.model.forward(theta, batch, pass, tape, outputs);
        };
        let k = self.output_width();
        let mut outputs = outputs.chunks_exact_mut(k);
        for view in views {
            for (&row, to) in batch.rows.iter().zip(&mut outputs) {
                to.copy_from_slice(&view[row as usize * k..][..k]);
            }
        }
    }

    fn backward(
        &self,
        theta: &[f32],
        batch: &Batch<'_>,
        tape: &mut Self::Tape,
        seeds: &[f32],
        gradient: &mut [f32],
    ) {
        self.model.backward(theta, batch, tape, seeds, gradient);
    }

    fn has_input_gradient(&self) -> bool {
        self.model.has_input_gradient()
    }

    fn input_gradient(
        &self,
        theta: &[f32],
        batch: &Batch<'_>,
        tape: &mut Self::Tape,
        seeds: &[f32],
        gradient: &mut [f32],
    ) {
        self.model.input_gradient(theta, batch, tape, seeds, gradient);
    }
}

/// Outputs of a model on all rows of some samples, view by view (x itself first).
pub(crate) fn outputs(
    model: &Network,
    theta: &[f32],
    samples: &Inputs,
    shifts: &[ViewShift<'_>],
) -> Vec<Vec<f32>> {
    let k = model.output_width();
    let mut views = vec![Vec::with_capacity(samples.rows() * k); 1 + shifts.len()];
    let rows: Vec<u32> = (0..samples.rows() as u32).collect();
    let pass = Pass { outputs_only: true, ..Pass::default() };
    let (mut tape, mut outputs) = (<Network as Model>::Tape::default(), Vec::new());
    for rows in rows.chunks(CHUNK) {
        let batch = Batch { inputs: samples, rows, shifts };
        outputs.resize(batch.output_rows() * k, 0.0);
        model.forward(theta, &batch, pass, &mut tape, &mut outputs);
        for (v, view) in views.iter_mut().enumerate() {
            let start = v * rows.len() * k;
            view.extend_from_slice(&outputs[start..start + rows.len() * k]);
        }
    }
    views
}

/// The predicted class: the first largest output; of one output, whether it is positive.
pub(crate) fn class_of(outputs: &[f32]) -> usize {
    if let [z] = outputs {
        return usize::from(*z > 0.0);
    }
    let mut top = 0;
    for (j, z) in outputs.iter().enumerate() {
        if *z > outputs[top] {
            top = j;
        }
    }
    top
}

/// Class probabilities.
pub(crate) fn probabilities(outputs: &[f32]) -> Vec<f64> {
    if let [z] = outputs {
        let p = 1.0 / (1.0 + (-f64::from(*z)).exp());
        return vec![1.0 - p, p];
    }
    let largest = outputs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let e: Vec<f64> = outputs.iter().map(|z| f64::from(z - largest).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.into_iter().map(|e| e / sum).collect()
}
