//! The rows that a model is for: those that `rows` under `[data]` selects, in new tables as in those it was trained on.
//!
//! Commands that judge leave the other rows out; `predict` predicts them and says how many they are.

use std::borrow::Cow;

use feasible_data::{Expression, Table, UnknownCategories};
use feasible_problem::text::grouped;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::saved_model::SavedModel;

/// What `rows` of the problem file selects of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selected {
    /// The expression.
    pub expression: String,
    /// The rows that it selects.
    pub rows: usize,
    /// The rows of the table.
    pub of: usize,
}

impl Selected {
    /// Which rows were judged, if not all.
    pub fn sentence(&self) -> Option<String> {
        let Self { expression, rows, of } = self;
        (rows < of).then(|| {
            format!(
                "Only {} of the {} rows count: the model is for rows where {expression} (`rows` in its problem file).",
                grouped(*rows),
                grouped(*of)
            )
        })
    }

    /// How many of the rows that were predicted it leaves out, if any.
    pub fn outside(&self) -> Option<String> {
        let Self { expression, rows, of } = self;
        (rows < of).then(|| {
            format!(
                "{} of the {} rows are not rows that the model is for: those where {expression} (`rows` in its problem \
                 file)",
                grouped(of - rows),
                grouped(*of)
            )
        })
    }
}

impl SavedModel {
    /// The rows of a table that the model is for, and how many they are where the problem file selects some. A table
    /// without the target is not asked whether the target is missing.
    ///
    /// # Errors
    /// A table that lacks a column of the expression, or of which it selects no row.
    pub fn select<'t>(&self, table: &'t Table) -> Result<(Cow<'t, Table>, Option<Selected>)> {
        let (rows, selected) = self.select_among(table, &table.all_rows())?;
        match selected {
            Some(_) if rows.len() < table.rows() => {
                Ok((Cow::Owned(table.chosen(&rows)?), selected))
            }
            _ => Ok((Cow::Borrowed(table), selected)),
        }
    }

    /// The same of some rows of a table, by number.
    pub(crate) fn select_among(
        &self,
        table: &Table,
        rows: &[u32],
    ) -> Result<(Vec<u32>, Option<Selected>)> {
        let Some((expression, kept)) = self.selected_rows(table, rows)? else {
            return Ok((rows.to_vec(), None));
        };
        if kept.is_empty() {
            return Err(Error::unfit(
                table.name(),
                format!(
                    "the model is for rows where {expression} (`rows` in its problem file), and none of the {} rows is one",
                    grouped(rows.len())
                ),
            ));
        }
        let selected = Selected { expression, rows: kept.len(), of: rows.len() };
        Ok((kept, Some(selected)))
    }

    /// What the problem file selects of a table that is predicted, every row of it.
    ///
    /// # Errors
    /// As [`SavedModel::select`], of a column that is lacking.
    pub fn selection(&self, table: &Table) -> Result<Option<Selected>> {
        let found = self.selected_rows(table, &table.all_rows())?;
        Ok(found.map(|(expression, rows)| Selected {
            expression,
            rows: rows.len(),
            of: table.rows(),
        }))
    }

    /// What to say of a table whose every row is predicted, if the model is not for all of them or that cannot be told.
    pub fn outside(&self, table: &Table) -> Option<String> {
        match self.selection(table) {
            Ok(selected) => selected.and_then(|selected| selected.outside()),
            Err(error) => Some(format!("Every row is predicted: {error}")),
        }
    }

    fn selected_rows(&self, table: &Table, rows: &[u32]) -> Result<Option<(String, Vec<u32>)>> {
        let Some(expression) = self.rows() else { return Ok(None) };
        let targets = self.manifest().target.columns();
        let lacks = |column: &&str| table.column(column).is_err();
        // Labels may come later.
        let is_open = |part: &Expression| {
            part.is_of_missing_cells()
                && part.columns().iter().all(|column| targets.contains(column) && lacks(column))
        };
        let parts = expression.parts().into_iter().filter(|part| !is_open(part));
        let Some(asked) = parts.reduce(Expression::and) else { return Ok(None) };
        if let Some(column) = asked.columns().iter().find(|column| lacks(column)) {
            return Err(Error::unfit(
                table.name(),
                format!(
                    "it has no column '{column}', and the model is for rows where {expression} (`rows` in its problem \
                     file): add the column"
                ),
            ));
        }
        let filter = asked.bind(table, None, UnknownCategories::MatchNothing)?;
        Ok(Some((expression.to_string(), filter.select(rows))))
    }
}
