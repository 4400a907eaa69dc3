//! A model on rows: what is evaluated, certified and monitored.
//!
//! [`Subject::on`] takes rows through the model, with all views that requirements and counterfactuals have of them.
//! The evaluation, the certificate and the predictions are then made of what is kept of the outputs.

use std::collections::BTreeMap;
use std::sync::Arc;

use feasible::model::void_rows;
use feasible::{
    Batch, Inputs, Loss, Model, Multipliers, Pass, Population, Problem, Samples, Shift, Targets,
    ViewShift,
};
use feasible_data::{Change, TargetCoordinate};
use feasible_problem::clause::Clause;
use feasible_problem::network::Network;
use feasible_problem::sampled_table::SampledTable;

use crate::constant::Constant;
use crate::decision::{Decision, decided};
use crate::error::{Error, Result};
use crate::given::GivenOutputs;

/// What the group of all rows is called.
pub(crate) const EVERYONE: &str = "everyone";
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
    /// The classes; `None` if a number is predicted.
    pub(crate) classes: Option<&'a [String]>,
    /// The numbers, if several are predicted.
    pub(crate) coordinates: &'a [TargetCoordinate],
    /// The training's multipliers, in the order of the clauses.
    pub(crate) multipliers: Option<&'a Multipliers>,
    pub(crate) model: &'a Network,
    pub(crate) theta: &'a [f32],
    /// Where it cuts; at a probability of 1/2 without one.
    pub(crate) decision: Option<Arc<Decision>>,
    /// Whether the outputs of all views are kept, because a decision will be chosen by them.
    pub(crate) keeps_views: bool,
    /// Outputs that were computed elsewhere and stand for those of the model.
    pub(crate) given: Option<&'a GivenOutputs>,
    /// Where the losses of requirements are clipped if they have no upper bound, by name.
    pub(crate) clips: Arc<BTreeMap<String, f64>>,
    /// The best constant prediction of the training rows, if they are others.
    pub(crate) constant: Option<Arc<Constant>>,
}

/// What a model makes of some rows.
pub(crate) struct Answers<'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) samples: Arc<Samples>,
    /// The requirements that speak of any of the rows.
    pub(crate) problem: Problem,
    /// The points of each clause; `None` if it speaks of none of the rows.
    pub(crate) points: Vec<Option<usize>>,
    /// The groups that requirements speak of, everyone first: what they are, and their rows.
    pub(crate) groups: Vec<(String, Vec<u32>)>,
    /// Of each counterfactual of the subject.
    pub(crate) shifts: Vec<Arc<Shift>>,
    /// For each of them, the rows whose prediction it changes.
    pub(crate) changed: Vec<Vec<bool>>,
    pub(crate) model: Recorded<'a>,
    /// Outputs whose arg max is the decision, if that is not the arg max of the outputs.
    decided: Option<Recorded<'a>>,
}

impl<'a> Subject<'a> {
    /// Takes rows through the model; `what` is said to need some if there are none.
    pub(crate) fn on(&self, what: &str, sampled: &mut SampledTable<'_>) -> Result<Answers<'a>> {
        let samples = sampled.samples.clone();
        if samples.is_empty() {
            return Err(Error::unfit(what, "there are no rows: give a table with rows"));
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
        let shifts = changes.map(|change| sampled.shift(change)).collect::<Result<Vec<_>, _>>()?;
        let groups = self.groups(sampled)?;
        let all: Vec<Arc<Shift>> = sampled.shifts().cloned().collect();
        let keeps = self.keeps_views || self.decision.is_some();
        let (model, mut changed) = match self.given {
            Some(given) => {
                let views = given.views(sampled, &all)?;
                let samples = samples.clone();
                let model = Recorded { model: self.model, samples, shifts: all, views };
                let changed = shifts.iter().map(|shift| model.changed(shift)).collect();
                (model, changed)
            }
            None => Recorded::new(self.model, self.theta, &samples, all, &shifts, keeps),
        };
        let decided = match &self.decision {
            Some(decision) => Some(model.decided(&decision.cuts(sampled.table, sampled.rows)?)),
            None => None,
        };
        if let Some(decided) = &decided {
            changed = shifts.iter().map(|shift| decided.changed(shift)).collect();
        }
        let (subject, problem) = (self.clone(), draft.check()?);
        Ok(Answers { subject, samples, problem, points, groups, shifts, changed, model, decided })
    }

    /// Everyone, and those whom requirements select.
    fn groups(&self, sampled: &SampledTable<'_>) -> Result<Vec<(String, Vec<u32>)>> {
        let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
        for filter in std::iter::once(None).chain(self.clauses.iter().map(|c| c.filter.as_ref())) {
            let name = filter.map_or(EVERYONE.to_string(), |filter| format!("{filter:#}"));
            if groups.iter().all(|(known, _)| *known != name) {
                groups.push((name, sampled.population(filter, None)?.rows().collect()));
            }
        }
        Ok(groups)
    }
}

impl Answers<'_> {
    /// Outputs whose arg max is the decision.
    pub(crate) fn decisions(&self) -> &Recorded<'_> {
        self.decided.as_ref().unwrap_or(&self.model)
    }

    /// Whether decisions are another thing than the arg max of the outputs.
    pub(crate) fn are_cut(&self) -> bool {
        self.decided.is_some()
    }

    /// The outputs for a row, or for what a counterfactual makes of it.
    pub(crate) fn output(&self, shift: Option<&Arc<Shift>>, row: usize) -> &[f32] {
        let width = self.model.output_width();
        &self.model.view(shift)[row * width..][..width]
    }

    /// The prediction for each row; a wrong one where the outputs are not numbers.
    pub(crate) fn predicted(&self) -> impl Iterator<Item = usize> {
        let classes = self.subject.classes.map_or(2, <[String]>::len);
        let wrong = move |row: usize| match self.samples.targets() {
            Targets::Classes(own) => (own[row] as usize + 1) % classes,
            _ => 0,
        };
        let predicted = self.decisions().classes(None).enumerate();
        predicted.map(move |(row, class)| class.unwrap_or_else(|| wrong(row)))
    }

    /// The number predicted for each row.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> {
        self.coordinate(0)
    }

    /// One of the numbers predicted for each row.
    pub(crate) fn coordinate(&self, at: usize) -> impl Iterator<Item = f64> {
        let of_counts = match &self.subject.loss {
            Loss::Coordinates(of) => matches!(of.loss(), Loss::Poisson),
            loss => matches!(loss, Loss::Poisson),
        };
        let outputs = self.model.view(None).chunks_exact(self.model.output_width());
        outputs.map(move |outputs| match of_counts {
            true => f64::from(outputs[at]).exp(),
            false => f64::from(outputs[at]),
        })
    }

    /// The outputs for each row.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &[f32]> {
        self.model.view(None).chunks_exact(self.model.output_width())
    }
}

/// The most that the outputs of views may take, in bytes.
pub(crate) const KEPT: usize = 64 << 20;

/// A model whose outputs for some samples are known. Asked about these, it looks them up.
///
/// The outputs for the samples as they are are always kept. Those for views are kept if all of them take no more than
/// [`KEPT`], so that memory does not grow with rows × views; otherwise the model computes them when it is asked.
pub(crate) struct Recorded<'a> {
    model: &'a Network,
    samples: Arc<Samples>,
    /// Views whose outputs are kept, besides x itself.
    shifts: Vec<Arc<Shift>>,
    /// The outputs for every row: of x, then of each view that is kept.
    views: Vec<Vec<f32>>,
}

impl<'a> Recorded<'a> {
    /// Takes the samples through the model with all views, and says for each counterfactual among them (`compared`)
    /// whose prediction it changes. All views are kept, however many, if it `keeps` them.
    fn new(
        model: &'a Network,
        theta: &[f32],
        samples: &Arc<Samples>,
        mut shifts: Vec<Arc<Shift>>,
        compared: &[Arc<Shift>],
        keeps: bool,
    ) -> (Self, Vec<Vec<bool>>) {
        let (k, rows) = (model.output_width(), samples.len());
        let places = compared.iter().map(|shift| place(&shifts, shift));
        let places: Vec<Option<usize>> = places.collect();
        let mut changed: Vec<Vec<bool>> =
            compared.iter().map(|_| Vec::with_capacity(rows)).collect();
        let keep = keeps || views_are_kept(rows, k, shifts.len(), KEPT);
        let mut views = vec![Vec::new(); 1 + if keep { shifts.len() } else { 0 }];
        let seen: Vec<_> = shifts.iter().map(|shift| ViewShift::Sparse(shift)).collect();
        in_chunks(model, theta, samples.inputs(), &seen, |outputs| {
            let mut parts = outputs.chunks_exact(outputs.len() / (1 + seen.len()));
            for (view, part) in views.iter_mut().zip(parts.clone()) {
                view.extend_from_slice(part);
            }
            let here = parts.next().unwrap_or_default();
            let classes = |part: &'_ [f32]| part.chunks_exact(k).map(class_of).collect::<Vec<_>>();
            let here = if compared.is_empty() { Vec::new() } else { classes(here) };
            for (changed, place) in changed.iter_mut().zip(&places) {
                let there = place.and_then(|place| parts.clone().nth(place)).unwrap_or_default();
                changed.extend(here.iter().zip(classes(there)).map(|(a, b)| differ(*a, b)));
            }
        });
        if !keep {
            shifts.clear();
        }
        (Self { model, samples: samples.clone(), shifts, views }, changed)
    }

    /// The same outputs for every row.
    pub(crate) fn answering(&self, outputs: &[f64]) -> Self {
        let row: Vec<f32> = outputs.iter().map(|x| *x as f32).collect();
        let (samples, shifts) = (self.samples.clone(), Vec::new());
        Self { model: self.model, views: vec![row.repeat(samples.len())], samples, shifts }
    }

    /// The same answers, as decisions.
    fn decided(&self, cuts: &[f64]) -> Self {
        let width = self.model.output_width();
        let views = self.views.iter().map(|view| decided(view, width, cuts)).collect();
        let (samples, shifts) = (self.samples.clone(), self.shifts.clone());
        Self { model: self.model, samples, shifts, views }
    }

    /// The outputs for x, or for a view of it that was recorded.
    fn view(&self, shift: Option<&Arc<Shift>>) -> &[f32] {
        let at = shift.map(|shift| place(&self.shifts, shift).map_or(0, |at| at + 1));
        &self.views[at.unwrap_or(0)]
    }

    /// The classes of the rows as they are, or as a counterfactual that was recorded shows them.
    fn classes(&self, shift: Option<&Arc<Shift>>) -> impl Iterator<Item = Option<usize>> {
        self.view(shift).chunks_exact(self.model.output_width()).map(class_of)
    }

    /// Whose class a counterfactual that was recorded changes.
    fn changed(&self, shift: &Arc<Shift>) -> Vec<bool> {
        self.classes(None).zip(self.classes(Some(shift))).map(|(a, b)| differ(a, b)).collect()
    }

    /// The outputs of the views that a batch asks about; `None` if some were not kept.
    fn known(&self, batch: &Batch<'_>) -> Option<Vec<&[f32]>> {
        if !std::ptr::eq(batch.inputs, self.samples.inputs()) {
            return None;
        }
        let mut views = vec![&self.views[0][..]];
        for shift in batch.shifts {
            match shift {
                ViewShift::Sparse(shift) => {
                    views.push(&self.views[1 + place(&self.shifts, shift)?])
                }
                ViewShift::Dense(_) => return None,
            }
        }
        Some(views)
    }
}

/// Whether the outputs of a number of views of some rows take no more than `most` bytes.
fn views_are_kept(rows: usize, outputs: usize, views: usize, most: usize) -> bool {
    rows.saturating_mul(outputs).saturating_mul(views).saturating_mul(size_of::<f32>()) <= most
}

fn place(shifts: &[Arc<Shift>], shift: &Shift) -> Option<usize> {
    shifts.iter().position(|known| std::ptr::eq(&**known, shift))
}

impl Model for Recorded<'_> {
    type Real = f32;
    type Tape = <Network as Model>::Tape;

    fn forward(
        &self,
        theta: &[f32],
        batch: &Batch<'_>,
        pass: Pass,
        tape: &mut Self::Tape,
        outputs: &mut [f32],
    ) {
        let Some(views) = self.known(batch).filter(|_| pass.outputs_only) else {
            self.model.forward(theta, batch, pass, tape, outputs);
            return void_rows(outputs, self.output_width());
        };
        let k = self.output_width();
        let mut outputs = outputs.chunks_exact_mut(k);
        for view in views {
            for (&row, to) in batch.rows.iter().zip(&mut outputs) {
                to.copy_from_slice(&view[row as usize * k..][..k]);
            }
        }
    }

    feasible::delegate_model!(|this| *this.model);
}

/// Outputs of a model on all rows of some samples.
pub(crate) fn outputs(model: &Network, theta: &[f32], samples: &Inputs) -> Vec<f32> {
    let mut all = Vec::with_capacity(samples.rows() * model.output_width());
    in_chunks(model, theta, samples, &[], |outputs| all.extend_from_slice(outputs));
    all
}

/// Takes all rows of some samples through a model; `take` is given the outputs of each chunk of rows, view by view (x itself
/// first).
fn in_chunks(
    model: &Network,
    theta: &[f32],
    samples: &Inputs,
    shifts: &[ViewShift<'_>],
    mut take: impl FnMut(&[f32]),
) {
    let rows: Vec<u32> = (0..samples.rows() as u32).collect();
    let pass = Pass { outputs_only: true, ..Pass::default() };
    let (mut tape, mut outputs) = (<Network as Model>::Tape::default(), Vec::new());
    for rows in rows.chunks(CHUNK) {
        let batch = Batch { inputs: samples, rows, shifts };
        outputs.resize(batch.output_rows() * model.output_width(), 0.0);
        model.forward(theta, &batch, pass, &mut tape, &mut outputs);
        void_rows(&mut outputs, model.output_width());
        take(&outputs);
    }
}

/// The predicted class: the first largest output; of one output, whether it is positive. `None` of outputs that are not
/// numbers.
pub(crate) fn class_of(outputs: &[f32]) -> Option<usize> {
    if outputs.iter().any(|z| z.is_nan()) {
        return None;
    }
    if let [z] = outputs {
        return Some(usize::from(*z > 0.0));
    }
    let mut top = 0;
    for (j, z) in outputs.iter().enumerate() {
        if *z > outputs[top] {
            top = j;
        }
    }
    Some(top)
}

/// Whether two predictions differ; a missing one differs from all.
fn differ(a: Option<usize>, b: Option<usize>) -> bool {
    a.is_none() || a != b
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outputs_of_views_are_kept_only_where_they_are_few() {
        // A million rows, two outputs: eight views are 64 MB, thirteen are not kept.
        assert!(views_are_kept(1_000_000, 2, 8, KEPT));
        assert!(!views_are_kept(1_000_000, 2, 13, KEPT));
        assert!(!views_are_kept(usize::MAX, 2, 13, KEPT));
        assert!(views_are_kept(usize::MAX, 2, 0, KEPT));
    }
}
