//! A saved model evaluated on any table: requirements, flip rates, accuracy.

use std::sync::Arc;

use feasible::Samples;
use feasible_data::{Encoder, Table, UnknownCategories, Unseen, visible};
use feasible_problem::gallery::Gallery;
use feasible_problem::sampled_table::SampledTable;
use feasible_problem::text::{Align, Grid, percent};
use serde::Serialize;

use crate::error::Result;
use crate::evaluate::Evaluation;
use crate::saved_model::{Manifest, SavedModel};
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
        let Manifest { target, weights, .. } = self.manifest();
        let mut samples = feasible_data::samples(table, &rows, &encoder, target)?;
        if let Some(weights) = weights {
            samples = weights.weigh_rows(samples, table, &rows)?;
        }
        self.audit_samples(table, &rows, &Arc::new(samples), &encoder)
    }

    /// Evaluates the model on some images, on `count` threads.
    ///
    /// # Errors
    /// Images of another size, or of classes that the model does not know.
    pub fn audit_images(&self, gallery: &Gallery, rows: &[u32], count: usize) -> Result<Audit> {
        self.check_images(gallery)?;
        let Manifest { target, weights, .. } = self.manifest();
        let mut samples = gallery.samples(rows, target)?;
        if let Some(weights) = weights {
            samples = weights.weigh_rows(samples, gallery.table(), rows)?;
        }
        let samples = Arc::new(samples);
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
        if let Some(rates) = &self.evaluation.by_class {
            let mut grid = Grid::new();
            grid.row(["class", "recall", "precision", "F1"].map(String::from));
            for of in rates {
                let share = |rate: Option<f64>| rate.map_or("".into(), percent);
                let class = visible(&of.class).into_owned();
                grid.row([class, share(of.recall), share(of.precision), share(of.f1)]);
            }
            text += "\n";
            text += &grid.to_text(&[Align::Left, Align::Right]);
        }
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
