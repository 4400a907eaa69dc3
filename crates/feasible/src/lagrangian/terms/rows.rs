//! The terms of a source on rows as they are: outputs of x for all rows, then those of each view.

use crate::lagrangian::terms::{At, Outputs, PointViolation, Terms, Weight, Work};
use crate::loss::{Loss, LossRows};
use crate::real::Real;
use crate::requirement::Kind;
use crate::source::{NOT_A_MEMBER, Owner, Source, SourceTerm};

impl Terms {
    /// Values and seeds of all terms on some rows; true if anything was put into the seeds. Without `views` there are
    /// outputs for x alone, because nothing is asked about the views of these rows.
    pub(in crate::lagrangian) fn on_rows<T: Real>(
        &self,
        work: &mut Work<T>,
        at: At<'_>,
        views: bool,
        mut outputs: Outputs<'_, T>,
    ) -> bool {
        let first = self.first[at.source];
        let mut wanted = false;
        for (t, term) in self.problem.sources()[at.source].terms.iter().enumerate() {
            wanted |= self.term(work, at, term, first + t, views, &mut outputs);
        }
        wanted
    }

    /// One term on some rows; true if it put anything into the seeds.
    fn term<T: Real>(
        &self,
        work: &mut Work<T>,
        at: At<'_>,
        term: &SourceTerm,
        number: usize,
        views: bool,
        outputs: &mut Outputs<'_, T>,
    ) -> bool {
        let of = &self.problem.sources()[at.source];
        let weight = at.ask.multipliers().map(|m| Weight::of(term, of, self, m, at.scale));
        let wants_values = at.ask.wants_values();
        if !wants_values && weight.as_ref().is_none_or(Weight::is_zero) {
            return false;
        }
        // Rows without views are no members of what is about views, or weigh nothing.
        if !views && term.slots.iter().all(|&slot| slot > 0) {
            return false;
        }
        work.select_members(term, at.rows);
        if work.positions.is_empty() {
            return false;
        }
        let mut wanted = false;
        for (q, &slot) in term.slots.iter().enumerate() {
            if !views && slot > 0 {
                continue;
            }
            let point = |member: u32| q * term.members + member as usize;
            let values = if wants_values { work.positions.len() } else { 0 };
            work.values.resize(values, T::ZERO);
            let moves = match &weight {
                Some(weight) => {
                    work.weights.clear();
                    let points = work.members.iter().zip(&work.positions);
                    let of = |(&m, &p): (&u32, &u32)| weight.at(point(m), at.rows[p as usize]);
                    work.weights.extend(points.map(|p| T::from_f64(of(p))));
                    weight.is_uniform() || work.weights.iter().any(|&w| w != T::ZERO)
                }
                None => false,
            };
            if !moves && !wants_values {
                continue;
            }
            work.losses(of, term, slot, at.rows, moves, wants_values, outputs);
            wanted |= moves;
            if wants_values {
                self.record(work, at, term, number, point);
            }
        }
        wanted
    }

    /// Keeps the values just computed: sums, and the points of a pointwise requirement.
    fn record<T: Real>(
        &self,
        work: &mut Work<T>,
        at: At<'_>,
        term: &SourceTerm,
        number: usize,
        point: impl Fn(u32) -> usize,
    ) {
        let Work { values, measured, members, positions, found, .. } = work;
        let weights = self.problem.sources()[at.source].weights_of(term);
        let weight = |weights: &[f64], p: u32| weights[at.rows[p as usize] as usize];
        let total = |values: &[T]| match weights {
            None => values.iter().map(|v| v.to_f64()).sum::<f64>(),
            Some(w) => {
                values.iter().zip(&*positions).map(|(v, &p)| weight(w, p) * v.to_f64()).sum()
            }
        };
        let primal = total(values);
        let measured = if term.measure.is_some() { &*measured } else { &*values };
        found.sums[number].points += match weights {
            None => members.len() as f64,
            Some(w) => positions.iter().map(|&p| weight(w, p)).sum(),
        };
        found.sums[number].primal += primal;
        found.sums[number].measured +=
            if term.measure.is_some() { total(measured) } else { primal };
        if let Owner::Requirement(i) = term.owner
            && self.problem.requirements()[i].kind() == Kind::Pointwise
        {
            let limit = self.problem.requirements()[i].limit();
            for (n, &member) in members.iter().enumerate() {
                let point = point(member);
                let violation = |v: &[T]| term.coefficient * (v[n].to_f64() - limit.of(point));
                found.seen.push(PointViolation {
                    requirement: i as u32,
                    point: point as u32,
                    measured: violation(measured),
                    primal: violation(values),
                });
            }
        }
    }
}

impl<T: Real> Work<T> {
    /// The batch positions and member numbers of the rows that belong to a term.
    fn select_members(&mut self, term: &SourceTerm, rows: &[u32]) {
        self.positions.clear();
        self.members.clear();
        match &term.member_of_row {
            None => {
                self.positions.extend(0..rows.len() as u32);
                self.members.extend_from_slice(rows);
            }
            Some(member_of_row) => {
                for (position, &row) in rows.iter().enumerate() {
                    let member = member_of_row[row as usize];
                    if member != NOT_A_MEMBER {
                        self.positions.push(position as u32);
                        self.members.push(member);
                    }
                }
            }
        }
    }

    /// Values of a term on one view, with seeds if `moves`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn losses(
        &mut self,
        of: &Source,
        term: &SourceTerm,
        slot: usize,
        samples: &[u32],
        moves: bool,
        wants_values: bool,
        outputs: &mut Outputs<'_, T>,
    ) {
        let Self { positions, weights, values, measured, .. } = self;
        let width = outputs.width;
        let len = samples.len() * width;
        let targets = of.samples.targets();
        let view = &outputs.outputs[slot * len..(slot + 1) * len];
        let base = &outputs.outputs[..len];
        let rows = |loss: &Loss| {
            let (at, against) =
                if loss.compares_views() { (base, view) } else { (view, &view[..0]) };
            LossRows { width, at, against, targets, samples, positions }
        };
        if moves {
            if term.loss.compares_views() {
                let (at, rest) = outputs.seeds.split_at_mut(len);
                let against = &mut rest[(slot - 1) * len..slot * len];
                term.loss.seeds(rows(&term.loss), weights, values, at, against);
            } else {
                let at = &mut outputs.seeds[slot * len..(slot + 1) * len];
                term.loss.seeds(rows(&term.loss), weights, values, at, &mut []);
            }
        } else {
            term.loss.values(rows(&term.loss), values);
        }
        if let (true, Some(measure)) = (wants_values, &term.measure) {
            measured.resize(positions.len(), T::ZERO);
            measure.values(rows(measure), measured);
        }
    }
}
