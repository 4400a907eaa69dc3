//! What a saved model gives for the rows of a table, as numbers: for those who need no words.

use feasible::Model;
use feasible_data::{Table, Unseen};
use feasible_problem::loss::LossName;
use rayon::prelude::*;

use crate::decision::{contrast_of, decided};
use crate::error::{Error, Result};
use crate::saved_model::SavedModel;
use crate::subject::{class_of, outputs, probabilities};

/// Rows that are encoded and taken through the model at once.
const ROWS_AT_ONCE: usize = 8192;

/// The outputs of a model for some rows, and where they are cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    outputs: Vec<f32>,
    width: usize,
    /// log(t/(1 − t)) of each row's threshold t, if that is not 1/2.
    cuts: Option<Vec<f64>>,
    /// Outputs whose arg max is the decision, if there are cuts.
    decisions: Option<Vec<f32>>,
    of_counts: bool,
}

impl SavedModel {
    /// The scores of every row, on `threads` threads, of which they do not depend; `unseen` as in
    /// [`SavedModel::predict`].
    ///
    /// # Errors
    /// Columns that are missing, cells that cannot be encoded.
    pub fn scores(&self, table: &Table, unseen: Option<Unseen>, threads: usize) -> Result<Scores> {
        self.check_table(table)?;
        let encoder = self.encoder(unseen);
        let rows = table.all_rows();
        let some = |rows: &[u32]| -> Result<Vec<f32>> {
            let inputs = encoder.transform(table, rows)?;
            Ok(outputs(self.network(), self.theta(), &inputs))
        };
        let outputs = if threads > 1 && rows.len() > ROWS_AT_ONCE {
            let parts: Vec<Result<Vec<f32>>> = rows.par_chunks(ROWS_AT_ONCE).map(some).collect();
            // The first error by row, whichever thread was first.
            parts.into_iter().collect::<Result<Vec<_>>>()?.concat()
        } else {
            some(&rows)?
        };
        self.scores_of(outputs, table.name(), &rows, self.cuts(table, &rows)?)
    }

    /// Outputs of this model as scores.
    ///
    /// # Errors
    /// A row for which one is no finite number.
    pub(crate) fn scores_of(
        &self,
        outputs: Vec<f32>,
        table: &str,
        rows: &[u32],
        cuts: Option<Vec<f64>>,
    ) -> Result<Scores> {
        let width = self.network().output_width();
        let decisions = cuts.as_ref().map(|cuts| decided(&outputs, width, cuts));
        let of_counts = self.manifest().objective == LossName::Poisson;
        let scores = Scores { outputs, width, cuts, decisions, of_counts };
        let unusable = |&at: &usize| scores.values(at).any(|value| !value.is_finite());
        match (0..scores.len()).find(unusable) {
            None => Ok(scores),
            Some(at) => {
                let reason = format!(
                    "the model's output for row {} (the first is row 0) is not a finite number: predict other rows, or \
                     use another model",
                    rows[at]
                );
                Err(Error::unfit(table, reason))
            }
        }
    }

    /// Where rows of a table are cut, if not at a probability of 1/2.
    pub(crate) fn cuts(&self, table: &Table, rows: &[u32]) -> Result<Option<Vec<f64>>> {
        let decision = self.manifest().training.decision.as_ref();
        decision.map(|decision| decision.cuts(table, rows)).transpose()
    }
}

impl Scores {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.outputs.len() / self.width
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.outputs.is_empty()
    }

    /// The outputs for a row.
    pub fn row(&self, at: usize) -> &[f32] {
        &self.outputs[at * self.width..][..self.width]
    }

    /// The class that is predicted for a row.
    pub fn class(&self, at: usize) -> usize {
        let decisions = self.decisions.as_ref().unwrap_or(&self.outputs);
        // Scores are finite.
        class_of(&decisions[at * self.width..][..self.width]).unwrap_or_default()
    }

    /// The number that is predicted for a row, where numbers are; the first of several.
    pub fn value(&self, at: usize) -> f64 {
        self.link(self.row(at)[0])
    }

    /// The numbers that are predicted for a row, one for each target.
    pub fn values(&self, at: usize) -> impl Iterator<Item = f64> + '_ {
        self.row(at).iter().map(|output| self.link(*output))
    }

    fn link(&self, output: f32) -> f64 {
        let output = f64::from(output);
        if self.of_counts { output.exp() } else { output }
    }

    /// The probabilities of the classes, row by row.
    pub fn probabilities(&self) -> Vec<f64> {
        if self.width != 2 {
            return self
                .outputs
                .par_chunks_exact(self.width)
                .flat_map_iter(probabilities)
                .collect();
        }
        // As `probabilities`, to the bit, without a list for every row.
        let one = |row: &[f32]| {
            let (a, b) = (row[0], row[1]);
            let small = f64::from(a.min(b) - a.max(b)).exp();
            let (rare, usual) = (small / (1.0 + small), 1.0 / (1.0 + small));
            if b > a { [rare, usual] } else { [usual, rare] }
        };
        self.outputs.par_chunks_exact(2).flat_map_iter(one).collect()
    }

    /// How far a row is on the side of the positive class, of two: positive where that is predicted.
    pub fn contrast(&self, at: usize) -> f64 {
        contrast_of(self.row(at)) - self.cuts.as_ref().map_or(0.0, |cuts| cuts[at])
    }
}
