//! Rows of a pass that only x itself is asked about.
//!
//! A view of a row counts through the terms on that view: if the row is no member of any of them, or all
//! its multipliers there are 0, then neither the model's answer to ρ(x) nor its gradient is of
//! consequence. In the course of a training, as requirements are met, that becomes most of the rows; these
//! are set apart and get no views.

use crate::lagrangian::terms::{Ask, Terms, Weight};
use crate::source::NOT_A_MEMBER;

/// The rows of a pass over one source, those first that get no views.
#[derive(Clone, Debug, Default)]
pub(super) struct InactiveRows {
    pub(super) rows: Vec<u32>,
    /// How many they are; if 0, `rows` is of no meaning.
    pub(super) count: usize,
    moves: Vec<bool>,
}

/// Fewer than one row in this number are not worth a chunk of their own.
const ONE_IN: usize = 3;

impl InactiveRows {
    /// Finds them.
    pub(super) fn set_apart(
        &mut self,
        terms: &Terms,
        source: usize,
        rows: &[u32],
        scale: f64,
        ask: Ask<'_>,
    ) {
        self.count = 0;
        let of = &terms.problem.sources()[source];
        if of.views.is_empty() {
            return;
        }
        self.moves.clear();
        self.moves.resize(rows.len(), false);
        for term in &of.terms {
            let weight = ask.multipliers().map(|m| Weight::of(term, of, terms, m, scale));
            // A value is wanted whatever it weighs.
            let weight = weight.as_ref().filter(|_| !ask.wants_values());
            if weight.is_some_and(Weight::is_zero) {
                continue;
            }
            for (q, _) in term.slots.iter().enumerate().filter(|(_, slot)| **slot > 0) {
                let rows = self.moves.iter_mut().zip(rows);
                match (&term.member_of_row, weight) {
                    (None, Some(Weight::PerPoint { multipliers, .. })) => {
                        let of_view = &multipliers[q * term.members..][..term.members];
                        for (moves, &row) in rows {
                            *moves |= of_view[row as usize] != 0.0;
                        }
                    }
                    (member_of_row, weight) => {
                        for (moves, &row) in rows {
                            let member = member_of_row.as_ref().map_or(row, |of| of[row as usize]);
                            let point = q * term.members + member as usize;
                            let weighs = |w: &Weight<'_>| w.at(point, row) != 0.0;
                            *moves |= member != NOT_A_MEMBER && weight.is_none_or(weighs);
                        }
                    }
                }
            }
        }
        let count = self.moves.iter().filter(|moves| !**moves).count();
        if count * ONE_IN < rows.len() {
            return;
        }
        self.count = count;
        self.rows.resize(rows.len(), 0);
        let (mut still, mut moving) = (0, count);
        for (&row, &moves) in rows.iter().zip(&self.moves) {
            self.rows[if moves { moving } else { still }] = row;
            still += usize::from(!moves);
            moving += usize::from(moves);
        }
    }
}
