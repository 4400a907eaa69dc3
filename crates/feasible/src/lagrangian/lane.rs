//! The working memory of one lane of a pass, and what it has seen.

use std::ops::Range;

use crate::adaptive::ProbeScratch;
use crate::aligned::AlignedVec;
use crate::lagrangian::entries::Entries;
use crate::lagrangian::kinds::Kinds;
use crate::model::{Model, Pass};
use crate::problem::Problem;
use crate::real::Real;
use crate::requirement::Kind;
use crate::source::{NOT_A_MEMBER, Owner, SourceTerm};

/// Sums of a term's losses over the points of a pass, and how many those were.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TermSums {
    pub(super) primal: f64,
    pub(super) measured: f64,
    pub(super) points: usize,
}

/// The slack of one point of a pointwise requirement, seen in a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) requirement: u32,
    pub(super) point: u32,
    pub(super) measured: f64,
    pub(super) primal: f64,
}

/// The slacks of a pointwise requirement for the rows of a chunk that comes kind by kind, one for each
/// kind: they are dealt out to the rows when the pass is over.
#[derive(Clone, Debug)]
pub(super) struct SeenKinds {
    pub(super) requirement: usize,
    pub(super) source: usize,
    /// The multiplier of row 0.
    pub(super) point: usize,
    /// Which of [`Alike::rows`](crate::alike::Alike::rows).
    pub(super) rows: Range<usize>,
    pub(super) first_kind: u32,
    /// Where the slacks of the kinds start in [`Lane::of_kinds`].
    pub(super) measured: usize,
    /// By the loss the primal follows, where that is another one.
    pub(super) primal: Option<usize>,
}

/// The working memory of one lane.
pub(super) struct Lane<M: Model> {
    pub(super) tape: M::Tape,
    /// How the next forward pass is made.
    pub(super) pass: Pass,
    pub(super) outputs: Vec<M::Real>,
    pub(super) probe: ProbeScratch<M>,
    pub(super) adaptive: Vec<Vec<f32>>,
    pub(super) seeds: Vec<M::Real>,
    pub(super) positions: Vec<u32>,
    pub(super) members: Vec<u32>,
    pub(super) weights: Vec<M::Real>,
    pub(super) values: Vec<M::Real>,
    pub(super) measured: Vec<M::Real>,
    pub(super) kinds: Kinds<M::Real>,
    pub(super) entries: Entries<M::Real>,
    pub(super) asked: Vec<u32>,
    pub(super) by_at: Vec<M::Real>,
    pub(super) by_against: Vec<M::Real>,
    pub(super) gradient: AlignedVec<M::Real>,
    pub(super) sums: Vec<TermSums>,
    pub(super) seen: Vec<Seen>,
    pub(super) seen_kinds: Vec<SeenKinds>,
    pub(super) of_kinds: Vec<f64>,
}

impl<M: Model> Lane<M> {
    pub(super) fn new(parameters: usize, terms: usize) -> Self {
        let mut gradient = AlignedVec::new();
        gradient.place(parameters);
        Self {
            tape: M::Tape::default(),
            pass: Pass::default(),
            outputs: Vec::new(),
            probe: ProbeScratch::default(),
            adaptive: Vec::new(),
            seeds: Vec::new(),
            positions: Vec::new(),
            members: Vec::new(),
            weights: Vec::new(),
            values: Vec::new(),
            measured: Vec::new(),
            kinds: Kinds::default(),
            entries: Entries::default(),
            asked: Vec::new(),
            by_at: Vec::new(),
            by_against: Vec::new(),
            gradient,
            sums: vec![TermSums::default(); terms],
            seen: Vec::new(),
            seen_kinds: Vec::new(),
            of_kinds: Vec::new(),
        }
    }

    /// The batch positions and member numbers of the rows that belong to a term.
    pub(super) fn select_members(&mut self, term: &SourceTerm, rows: &[u32]) {
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

    /// Keeps the values just computed: sums, and the points of a pointwise requirement.
    pub(super) fn record(
        &mut self,
        problem: &Problem,
        term: &SourceTerm,
        number: usize,
        point: impl Fn(u32) -> usize,
    ) {
        let total = |values: &[M::Real]| values.iter().map(|v| v.to_f64()).sum::<f64>();
        let primal = total(&self.values);
        let measured = if term.measure.is_some() { &self.measured } else { &self.values };
        self.sums[number].points += self.members.len();
        self.sums[number].primal += primal;
        self.sums[number].measured += if term.measure.is_some() { total(measured) } else { primal };
        if let Owner::Requirement(i) = term.owner
            && problem.requirements()[i].kind() == Kind::Pointwise
        {
            let level = problem.requirements()[i].level();
            for (n, &member) in self.members.iter().enumerate() {
                let point = point(member);
                let slack = |v: &[M::Real]| term.coefficient * (v[n].to_f64() - level.of(point));
                self.seen.push(Seen {
                    requirement: i as u32,
                    point: point as u32,
                    measured: slack(measured),
                    primal: slack(&self.values),
                });
            }
        }
    }
}
