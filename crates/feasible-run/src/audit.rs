//! A saved model evaluated on any table: requirements, flip rates, accuracy.

use std::path::Path;
use std::sync::Arc;

use feasible::Samples;
use feasible_data::{Encoder, Table, UnknownCategories, Unseen, visible};
use feasible_problem::gallery::Gallery;
use feasible_problem::held_out::{Once, Repetition};
use feasible_problem::sampled_table::SampledTable;
use feasible_problem::text::{Align, BAD, GOOD, Grid, Page, grouped, percent};
use serde::Serialize;

use crate::baseline::Unconstrained;
use crate::certify::RunRecord;
use crate::conclusion::RunVerdict;
use crate::constant::Comparison;
use crate::error::Result;
use crate::evaluate::Evaluation;
use crate::saved_model::{Manifest, SavedModel};
use crate::selected::Selected;
use crate::summary::evaluations_text;
use crate::threads;

/// How a saved model does on a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Audit {
    /// What the problem is called.
    pub problem: String,
    /// The table.
    pub table: String,
    /// Which of its rows were judged, where the problem file selects some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<Selected>,
    /// How the rows repeat each other, if beyond chance: each counted once then, as for a certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition: Option<Repetition>,
    /// How it does.
    pub evaluation: Evaluation,
    /// The classes, in the order of the confusion matrix.
    pub classes: Vec<String>,
    /// The model beside the best constant prediction and the model without the requirements, on these rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// Rows of the table that the model was trained on, if any are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trained_on: Option<usize>,
}

impl SavedModel {
    /// Evaluates the model on every row of a table that it is for.
    ///
    /// # Errors
    /// Columns that are missing, cells that cannot be encoded.
    pub fn audit(&self, table: &Table, unseen: Option<Unseen>) -> Result<Audit> {
        self.audit_beside(table, unseen, None)
    }

    fn audit_beside(
        &self,
        table: &Table,
        unseen: Option<Unseen>,
        record: Option<&RunRecord>,
    ) -> Result<Audit> {
        self.check_table(table)?;
        let (table, selected) = self.select(table)?;
        let table = &*table;
        let once = record.and_then(|record| record.once(table));
        let repetition = once.as_ref().and_then(|once| once.repetition);
        let rows = once.map_or_else(|| table.all_rows(), |once| once.rows);
        let other = record.and_then(|record| Unconstrained::beside(self, record.directory()));
        let encoder = self.encoder(unseen);
        let Manifest { target, weights, .. } = self.manifest();
        let mut samples = feasible_data::samples(table, &rows, &encoder, target)?;
        if let Some(weights) = weights {
            samples = weights.weigh_rows(samples, table, &rows)?;
        }
        let samples = Arc::new(samples);
        let audit = self.audit_samples(table, &rows, &samples, &encoder, other.as_ref())?;
        Ok(Audit { selected, repetition, ..audit })
    }

    /// Evaluates the model on some images, on `count` threads.
    ///
    /// # Errors
    /// Images of another size, or of classes that the model does not know.
    pub fn audit_images(&self, gallery: &Gallery, rows: &[u32], count: usize) -> Result<Audit> {
        self.check_images(gallery)?;
        let (rows, selected) = self.select_among(gallery.table(), rows)?;
        let rows = &rows[..];
        let Manifest { target, weights, .. } = self.manifest();
        let mut samples = gallery.samples(rows, target)?;
        if let Some(weights) = weights {
            samples = weights.weigh_rows(samples, gallery.table(), rows)?;
        }
        let samples = Arc::new(samples);
        let encoder = &self.manifest().inputs;
        let audit = threads::on(count, || {
            self.audit_samples(gallery.table(), rows, &samples, encoder, None)
        })?;
        Ok(Audit { selected, ..audit })
    }

    fn audit_samples(
        &self,
        table: &Table,
        rows: &[u32],
        samples: &Arc<Samples>,
        encoder: &Encoder,
        other: Option<&Unconstrained>,
    ) -> Result<Audit> {
        let manifest = self.manifest();
        let mut sampled =
            SampledTable::new(table, rows, samples, encoder, UnknownCategories::MatchNothing);
        let evaluation = self.subject().on("evaluation", &mut sampled)?.evaluation()?;
        let mut comparison = evaluation.comparison(None);
        if let (Some(comparison), Some(other)) = (&mut comparison, other) {
            comparison.without = other.value_on(self, &mut sampled)?;
        }
        Ok(Audit {
            problem: manifest.problem.clone(),
            table: table.name().to_string(),
            selected: None,
            repetition: None,
            evaluation,
            classes: manifest.target.classes().unwrap_or_default().to_vec(),
            comparison,
            trained_on: None,
        })
    }
}

impl RunRecord {
    /// Evaluates the model of the run on every row of a table, which lies at `path` if it is a file, beside the model without the
    /// requirements, and says how many of the rows it was trained on.
    ///
    /// # Errors
    /// As [`SavedModel::audit`].
    pub fn audit(
        &self,
        table: &Table,
        path: Option<&Path>,
        unseen: Option<Unseen>,
    ) -> Result<Audit> {
        let audit = self.model().audit_beside(table, unseen, Some(self))?;
        // What is not on record, its certificate says.
        let (table, _) = self.model().select(table)?;
        let trained = self.trained_rows(&table, path).unwrap_or(0);
        Ok(Audit { trained_on: (trained > 0).then_some(trained), ..audit })
    }

    /// Which rows of a table count, as in a certificate; `None` where that counts units, or is refused.
    fn once(&self, table: &Table) -> Option<Once> {
        if self.settings().unit.is_some() {
            return None;
        }
        self.fingerprints().once(table, &table.all_rows()).ok()
    }
}

impl Audit {
    /// Whether every requirement is met, and none without a row that counts for it.
    pub fn met(&self) -> bool {
        self.evaluation.shows_met()
    }

    /// What it comes to.
    pub fn verdict_state(&self) -> RunVerdict {
        RunVerdict::of(&self.evaluation)
    }

    /// One line: are the requirements met on these rows?
    pub fn verdict(&self) -> String {
        self.evaluation.verdict_on("these rows")
    }

    /// The verdict and the numbers, for people.
    pub fn to_text(&self) -> String {
        self.text_on(&Page::default())
    }

    /// The same, laid out for a page.
    pub fn text_on(&self, page: &Page) -> String {
        let color = if self.met() { GOOD } else { BAD };
        let verdict = match self.verdict_state() {
            RunVerdict::NoRequirements => self.verdict(),
            _ => page.paint(color, &self.verdict()),
        };
        let (problem, table) = (visible(&self.problem), visible(&self.table));
        let mut text = String::new();
        if let Some(trained) = self.trained_on {
            let opening = format!(
                "These are rows the model was trained on: {} of the {} rows of {table} are among its training and validation rows.",
                grouped(trained),
                grouped(self.repetition.map_or(self.evaluation.rows, |repetition| repetition.rows))
            );
            text += &format!("{}\n", page.paint(BAD, &opening));
        }
        text += &format!("{verdict}\n");
        if let Some(comparison) = &self.comparison {
            let sentence = comparison.sentence("these rows");
            text += &match comparison.is_worse() {
                true => page.paint(BAD, &sentence),
                false => sentence,
            };
            text += "\n";
        }
        text += &format!("{problem} on {table}\n");
        if let Some(sentence) = self.selected.as_ref().and_then(Selected::sentence) {
            text += &format!("{}\n", visible(&sentence));
        }
        text += &self.repetition.map_or(String::new(), Repetition::sentence);
        text.push('\n');
        text += &evaluations_text(&[("table", &self.evaluation)], page);
        if let Some(rates) = &self.evaluation.by_class {
            let mut grid = Grid::new();
            grid.row(["class", "recall", "precision", "F1"].map(String::from));
            for of in rates {
                let share = |rate: Option<f64>| rate.map_or("".into(), percent);
                let class = visible(&of.class).into_owned();
                grid.row([class, share(of.recall), share(of.precision), share(of.f1)]);
            }
            text += "\n";
            text += &grid.on(page, &[Align::Left, Align::Right]);
        }
        if let Some(confusion) = &self.evaluation.confusion {
            text += "\nconfusion matrix\n";
            let name = |class: &String| visible(class).into_owned();
            let mut grid = Grid::new();
            let head = self.classes.iter().map(|class| format!("predicted {}", name(class)));
            grid.row(std::iter::once("true class".to_string()).chain(head));
            for (class, counts) in self.classes.iter().zip(confusion) {
                let counts = counts.iter().map(|&count| grouped(count as usize));
                grid.row(std::iter::once(name(class)).chain(counts));
            }
            text += &grid.on(page, &[Align::Left, Align::Right]);
        }
        text
    }
}
