//! A saved model evaluated on any table: requirements, flip rates, accuracy.

use std::sync::Arc;

use feasible::Samples;
use feasible_data::{Encoder, Table, UnknownCategories, Unseen, visible};
use feasible_problem::clause::SampledTable;
use feasible_problem::gallery::Gallery;
use serde::Serialize;

use crate::error::Result;
use crate::evaluate::Evaluation;
use crate::saved_model::SavedModel;
use crate::summary::evaluations_text;
use crate::threads;

/// How a saved model does on a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Audit {
    /// What the problem is called.
    pub problem: String,
    /// The table.
    pub table: String,
    /// How it does.
    pub evaluation: Evaluation,
    /// The classes, in the order of the confusion matrix.
    pub classes: Vec<String>,
}

impl SavedModel {
    /// Evaluates the model on every row of a table.
    ///
    /// # Errors
    /// Columns that are missing, cells that cannot be encoded.
    pub fn audit(&self, table: &Table, unseen: Option<Unseen>) -> Result<Audit> {
        self.check_table(table)?;
        let rows = table.all_rows();
        let encoder = self.encoder(unseen);
        let samples = feasible_data::samples(table, &rows, &encoder, &self.manifest().target)?;
        self.audit_samples(table, &rows, &Arc::new(samples), &encoder)
    }

    /// Evaluates the model on some images, on so many threads.
    ///
    /// # Errors
    /// Images of another size, or of classes that the model does not know.
    pub fn audit_images(&self, gallery: &Gallery, rows: &[u32], count: usize) -> Result<Audit> {
        self.check_images(gallery)?;
        let samples = Arc::new(gallery.samples(rows, &self.manifest().target)?);
        let encoder = &self.manifest().inputs;
        threads::on(count, || self.audit_samples(gallery.table(), rows, &samples, encoder))
    }

    fn audit_samples(
        &self,
        table: &Table,
        rows: &[u32],
        samples: &Arc<Samples>,
        encoder: &Encoder,
    ) -> Result<Audit> {
        let manifest = self.manifest();
        let mut sampled =
            SampledTable::new(table, rows, samples, encoder, UnknownCategories::MatchNothing);
        Ok(Audit {
            problem: manifest.problem.clone(),
            table: table.name().to_string(),
            evaluation: self.subject().on("evaluation", &mut sampled)?.evaluation()?,
            classes: manifest.target.classes().unwrap_or_default().to_vec(),
        })
    }
}

impl Audit {
    /// Whether every requirement is met.
    pub fn met(&self) -> bool {
        self.evaluation.met
    }

    /// As a table for people.
    pub fn to_text(&self) -> String {
        let mut text = format!("{} on {}\n\n", visible(&self.problem), visible(&self.table));
        text += &evaluations_text(&[("table", &self.evaluation)]);
        if let Some(confusion) = &self.evaluation.confusion {
            text += "\nconfusion (true class: predicted class)\n";
            for (class, counts) in self.classes.iter().zip(confusion) {
                let cells: Vec<String> = self
                    .classes
                    .iter()
                    .zip(counts)
                    .map(|(predicted, count)| format!("{} {count}", visible(predicted)))
                    .collect();
                text += &format!("  {}: {}\n", visible(class), cells.join(", "));
            }
        }
        text
    }
}
