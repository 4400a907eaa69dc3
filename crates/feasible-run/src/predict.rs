//! Predictions of a saved model for the rows of a table.

use std::io::Write;

use feasible_data::formula::quoted;
use feasible_data::{Encoder, Table, Unseen};
use feasible_problem::gallery::Gallery;
use serde::Serialize;

use crate::error::Result;
use crate::saved_model::SavedModel;
use crate::scores::Scores;
use crate::selected::Selected;
use crate::subject::{outputs, probabilities};
use crate::threads;

/// Predictions, one per row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predictions {
    /// The classes, in the order of the probabilities; empty if numbers are predicted.
    pub classes: Vec<String>,
    /// The columns that are predicted, in the order of the values; empty unless they are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// One per row of the table.
    pub rows: Vec<Prediction>,
    /// How many of them the model is for, where the problem file selects some and the table tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<Selected>,
}

/// The prediction for a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The row of the table, from 0.
    pub row: u32,
    /// The class, if classes are predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Its probabilities, in the order of [`Predictions::classes`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probabilities: Vec<f64>,
    /// The number, if numbers are predicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The numbers, if several are predicted, in the order of [`Predictions::targets`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f64>,
}

/// What becomes of text that a spreadsheet would take for a formula, in CSV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Formulas {
    /// It gets an apostrophe before it, and is text.
    #[default]
    Quote,
    /// It stays as it is.
    Keep,
}

impl SavedModel {
    /// Predicts every row; `unseen` says what to do with categories that the training rows did not
    /// have, if it should be something else than the problem file said.
    ///
    /// # Errors
    /// Columns that are missing, cells that cannot be encoded, outputs that are not finite.
    pub fn predict(&self, table: &Table, unseen: Option<Unseen>) -> Result<Predictions> {
        let rows = table.all_rows();
        let predictions = self.in_words(&self.scores(table, unseen, 1)?, &rows);
        let selected = self.selection(table).ok().flatten();
        Ok(Predictions { selected, ..predictions })
    }

    /// Predicts some images, on `count` threads.
    ///
    /// # Errors
    /// Images of another size, outputs that are not finite.
    pub fn predict_images(
        &self,
        gallery: &Gallery,
        rows: &[u32],
        count: usize,
    ) -> Result<Predictions> {
        self.check_images(gallery)?;
        let inputs = gallery.images().inputs(rows)?;
        let cuts = self.cuts(gallery.table(), rows)?;
        let outputs = threads::on(count, || outputs(self.network(), self.theta(), &inputs));
        let scores = self.scores_of(outputs, gallery.table().name(), rows, cuts)?;
        let predictions = self.in_words(&scores, rows);
        let selected = self.select_among(gallery.table(), rows).ok().and_then(|of| of.1);
        Ok(Predictions { selected, ..predictions })
    }

    fn in_words(&self, scores: &Scores, rows: &[u32]) -> Predictions {
        let classes = self.manifest().target.classes().unwrap_or_default().to_vec();
        let targets = self.manifest().target.coordinates();
        let targets: Vec<String> = targets.iter().map(|of| of.column.clone()).collect();
        let one = |(at, &row): (usize, &u32)| {
            let mut prediction = Prediction {
                row,
                class: None,
                probabilities: Vec::new(),
                value: None,
                values: Vec::new(),
            };
            match (classes.is_empty(), targets.is_empty()) {
                (false, _) => {
                    prediction.class = Some(classes[scores.class(at)].clone());
                    prediction.probabilities = probabilities(scores.row(at));
                }
                (true, true) => prediction.value = Some(scores.value(at)),
                (true, false) => prediction.values = scores.values(at).collect(),
            }
            prediction
        };
        let rows = rows.iter().enumerate().map(one).collect();
        Predictions { rows, classes, targets, selected: None }
    }

    /// The encoder with another policy for unseen categories.
    pub(crate) fn encoder(&self, unseen: Option<Unseen>) -> Encoder {
        let encoder = self.manifest().inputs.clone();
        match unseen {
            Some(unseen) => encoder.with_unseen(unseen),
            None => encoder,
        }
    }
}

impl Predictions {
    /// Writes CSV: `row,class,p(<=50K),p(>50K)`, `row,value`, or `row` and the names of several targets. Classes and names that a spreadsheet would take for formulas
    /// get an apostrophe before them, if asked for ([`feasible_data::formula`]); numbers are never changed.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_csv(&self, out: impl Write, formulas: Formulas) -> std::io::Result<()> {
        let mut csv = csv::Writer::from_writer(out);
        let mut head = vec!["row".to_string()];
        let text = |text: &str| match formulas {
            Formulas::Quote => quoted(text).into_owned(),
            Formulas::Keep => text.to_string(),
        };
        if !self.targets.is_empty() {
            head.extend(self.targets.iter().map(|target| text(target)));
        } else if self.classes.is_empty() {
            head.push("value".into());
        } else {
            head.push("class".into());
            head.extend(self.classes.iter().map(|class| format!("p({class})")));
        }
        csv.write_record(&head)?;
        for row in &self.rows {
            let mut record = vec![row.row.to_string()];
            record.extend(row.class.as_deref().map(text));
            record.extend(row.probabilities.iter().map(f64::to_string));
            record.extend(row.value.iter().chain(&row.values).map(f64::to_string));
            csv.write_record(&record)?;
        }
        csv.flush()
    }
}
