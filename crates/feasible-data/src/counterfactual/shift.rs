//! ρ(x) − x of a change, for encoded rows.

use feasible::{Inputs, Shift, ShiftBuilder};

use super::{Change, Step};
use crate::error::{Error, Result};

impl Change {
    /// What the change does to each row.
    ///
    /// # Errors
    /// Inputs that the encoder of this change did not make.
    pub fn shift(&self, inputs: &Inputs) -> Result<Shift> {
        let mut builder = ShiftBuilder::new(inputs.rows());
        let unfit = |column: u32| Error::Counterfactual {
            reason: format!(
                "'{}' was made for other inputs ({} columns, column {column} of the right kind)",
                self.name, self.width
            ),
        };
        if inputs.width() != self.width {
            return Err(unfit(0));
        }
        // Where a dense column stands among the dense ones.
        let mut places = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            places.push(match step {
                Step::Value { column, .. } => {
                    inputs.dense_columns().binary_search(column).map_err(|_| unfit(*column))?
                }
                _ => 0,
            });
        }
        let mut changes: Vec<(u32, f32)> = Vec::new();
        for row in 0..inputs.rows() {
            changes.clear();
            let hot = inputs.hot(row);
            for (step, &place) in self.steps.iter().zip(&places) {
                match *step {
                    Step::Flip { column } => {
                        let is = hot.binary_search(&column).is_ok();
                        changes.push((column, if is { -1.0 } else { 1.0 }));
                    }
                    Step::Swap { a, b } => {
                        let (is_a, is_b) =
                            (hot.binary_search(&a).is_ok(), hot.binary_search(&b).is_ok());
                        if is_a != is_b {
                            changes.push((a, if is_a { -1.0 } else { 1.0 }));
                            changes.push((b, if is_b { -1.0 } else { 1.0 }));
                        }
                    }
                    Step::Category { start, end, to } => {
                        let on = hot.iter().copied().filter(|c| (start..end).contains(c));
                        changes.extend(on.clone().filter(|&c| Some(c) != to).map(|c| (c, -1.0)));
                        changes.extend(
                            to.filter(|&to| !on.clone().any(|c| c == to)).map(|c| (c, 1.0)),
                        );
                    }
                    Step::Value { column, to } => {
                        let from = inputs.dense_row(row)[place];
                        if from != to {
                            changes.push((column, to - from));
                        }
                    }
                }
            }
            changes.sort_unstable_by_key(|&(column, _)| column);
            builder.push(&changes)?;
        }
        Ok(builder.finish())
    }
}
