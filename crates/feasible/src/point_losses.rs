//! The values of losses, point by point, of a model at a given θ: what a measurement averages, and what
//! certificates count.

use crate::adaptive::{BatchProbe, ProbeScratch, TrainingPlace};
use crate::denormals::FlushDenormals;
use crate::erased::{Engine, Erased};
use crate::error::Result;
use crate::loss::{Loss, LossRows};
use crate::model::{Batch, Model, Pass, ViewShift, void_rows};
use crate::population::Population;
use crate::problem::check_theta;
use crate::real::Real;
use crate::requirement::Term;
use crate::source::{NOT_A_MEMBER, Owner, Source, SourceView};

/// Output rows (rows × views) that go through the model at once, about.
const OUTPUT_ROWS: usize = 512;
/// Rows at once of a model that spreads them over threads itself.
const WHOLE_ROWS: usize = 128;

impl Population {
    /// The loss of each point, ordered as [`Requirement::points`](crate::Requirement::points): by ρ, then by member.
    ///
    /// ```
    /// # use feasible::{Inputs, Loss, Population, Samples, Targets};
    /// # use feasible_nn::Linear;
    /// let x = Inputs::new(vec![1.0, 2.0, -1.0], 1)?;
    /// let everyone = Population::new(Samples::new(x, Targets::Values(vec![2.0, 4.0, 0.0]))?);
    /// // f(x) = 2x.
    /// let losses = everyone.losses(&Loss::Squared, &Linear::new(1, 1)?, &[2.0, 0.0])?;
    /// assert_eq!(losses, [0.0, 0.0, 4.0]);
    /// # Ok::<(), feasible::Error>(())
    /// ```
    ///
    /// # Errors
    /// A model, a θ or targets that do not fit; a loss between two views of a population that has one.
    pub fn losses<M: Model>(&self, loss: &Loss, model: &M, theta: &[M::Real]) -> Result<Vec<f64>> {
        let asked = [(String::from("the population"), Term::new(self, loss.clone()))];
        Ok(losses(&asked, model, theta)?.remove(0))
    }
}

/// The losses of the points of each term, by the loss it is measured with; errors name it as told. Terms on the
/// same data set share a pass through the model.
pub(crate) fn losses<M: Model>(
    asked: &[(String, Term)],
    model: &M,
    theta: &[M::Real],
) -> Result<Vec<Vec<f64>>> {
    check_theta(model, theta)?;
    M::Real::point_losses(asked, Erased::new(model), theta)
}

pub(crate) fn losses_here<M: Model>(
    asked: &[(String, Term)],
    model: &M,
    theta: &[M::Real],
) -> Result<Vec<Vec<f64>>> {
    for (who, term) in asked {
        term.check_views(who, term.measure())?;
        term.check_model(who, model)?;
    }
    let owned = asked.iter().enumerate().map(|(i, (_, term))| (Owner::Requirement(i), 1.0, term));
    let sources = Source::of_terms(owned);
    let mut values: Vec<Vec<f64>> =
        asked.iter().map(|(_, term)| vec![f64::NAN; term.population().points()]).collect();
    let _flush = FlushDenormals::new();
    let mut pass = PointPass {
        model,
        theta,
        tape: M::Tape::default(),
        probe: ProbeScratch::default(),
        outputs: Vec::new(),
        values: Vec::new(),
    };
    for source in &sources {
        let rows = match model.needs_whole_batch() {
            true => WHOLE_ROWS,
            false => (OUTPUT_ROWS / (1 + source.views.len())).max(32),
        };
        for chunk in source.rows.chunks(rows) {
            pass.chunk(source, chunk, &mut values);
        }
    }
    Ok(values)
}

struct PointPass<'a, M: Model> {
    model: &'a M,
    theta: &'a [M::Real],
    tape: M::Tape,
    probe: ProbeScratch<M>,
    outputs: Vec<M::Real>,
    values: Vec<M::Real>,
}

impl<M: Model> PointPass<'_, M> {
    fn chunk(&mut self, source: &Source, rows: &[u32], all: &mut [Vec<f64>]) {
        let (inputs, width) = (source.samples.inputs(), self.model.output_width());
        let dense: Vec<Vec<f32>> =
            source.views.iter().map(|v| self.moved(source, v, rows)).collect();
        let views = source.views.iter().zip(&dense).map(|(view, dense)| match view {
            SourceView::Shift(shift) => ViewShift::Sparse(shift),
            SourceView::Adaptive(_) => ViewShift::Dense(dense),
        });
        let shifts: Vec<ViewShift<'_>> = views.collect();
        let batch = Batch { inputs, rows, shifts: &shifts };
        self.outputs.resize(batch.output_rows() * width, M::Real::ZERO);
        let pass = Pass { outputs_only: true, ..Pass::default() };
        self.model.forward(self.theta, &batch, pass, &mut self.tape, &mut self.outputs);
        void_rows(&mut self.outputs, width);
        let len = rows.len() * width;
        let at = |slot: usize| &self.outputs[slot * len..(slot + 1) * len];
        for term in &source.terms {
            let Owner::Requirement(number) = term.owner else { continue };
            let member = |row: u32| term.member_of_row.as_ref().map_or(row, |of| of[row as usize]);
            let is_member = |p: &u32| member(rows[*p as usize]) != NOT_A_MEMBER;
            let positions: Vec<u32> = (0..rows.len() as u32).filter(is_member).collect();
            let loss = term.measure.as_ref().unwrap_or(&term.loss);
            self.values.resize(positions.len(), M::Real::ZERO);
            for (q, &slot) in term.slots.iter().enumerate() {
                let (at, against) =
                    if loss.compares_views() { (at(0), at(slot)) } else { (at(slot), &at(0)[..0]) };
                let targets = source.samples.targets();
                let rows_of =
                    LossRows { width, at, against, targets, samples: rows, positions: &positions };
                loss.values(rows_of, &mut self.values);
                for (&position, value) in positions.iter().zip(&self.values) {
                    let point = q * term.members + member(rows[position as usize]) as usize;
                    all[number][point] = value.to_f64();
                }
            }
        }
    }

    /// How a view that depends on the model moves these rows; nothing for others.
    fn moved(&mut self, source: &Source, view: &SourceView, rows: &[u32]) -> Vec<f32> {
        let SourceView::Adaptive(view) = view else { return Vec::new() };
        let (model, theta, samples) = (self.model, self.theta, &*source.samples);
        let mut shift = vec![0.0; rows.len() * samples.inputs().width()];
        let mut probe = BatchProbe { model, theta, samples, rows, scratch: &mut self.probe };
        view.shift(&mut probe, TrainingPlace { seed: 0, epoch: 0 }, &mut shift);
        shift
    }
}
