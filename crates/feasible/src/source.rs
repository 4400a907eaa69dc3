//! A problem, regrouped by data set.
//!
//! Objective and requirements often speak of the same samples: the counterfactuals of everyone,
//! the error of a group. A [`Source`] is one data set with all terms that live on it and
//! all views they ask for, so that a batch goes through the model once for all of them.

use std::sync::Arc;

use crate::adaptive::Adaptive;
use crate::loss::Loss;
use crate::population::{Population, View};
use crate::requirement::{Requirement, Term};
use crate::samples::Samples;
use crate::shift::Shift;

/// One data set and what is asked of it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) samples: Arc<Samples>,
    /// Rows that are a member of any term, by ascending id: the order of everything, so that
    /// results do not depend on how the rows are stored.
    pub(crate) rows: Vec<u32>,
    /// How many such rows there are, those of other workers included.
    pub(crate) rows_everywhere: f64,
    /// The distinct views besides x itself; output slot v is `views[v - 1]`.
    pub(crate) views: Vec<SourceView>,
    pub(crate) terms: Vec<SourceTerm>,
}

/// A view besides x itself.
#[derive(Clone, Debug)]
pub(crate) enum SourceView {
    Shift(Arc<Shift>),
    Adaptive(Arc<dyn Adaptive>),
}

impl SourceView {
    /// What it changes, if that is known before training.
    pub(crate) fn shift(&self) -> Option<&Shift> {
        match self {
            Self::Shift(shift) => Some(shift),
            Self::Adaptive(_) => None,
        }
    }
}

/// Which term of the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Objective,
    /// The requirement's index.
    Requirement(usize),
}

/// A term on its source.
#[derive(Clone, Debug)]
pub(crate) struct SourceTerm {
    pub(crate) owner: Owner,
    /// Signed so that the requirement reads "… ≤ 0": a, or −a for "at least".
    pub(crate) coefficient: f64,
    pub(crate) loss: Loss,
    /// The loss of the violation, where it is another one.
    pub(crate) measure: Option<Loss>,
    /// The output slot of each ρ.
    pub(crate) slots: Vec<usize>,
    /// The member number of each row of the data set, `NOT_A_MEMBER` otherwise; `None` if
    /// everyone is a member.
    pub(crate) member_of_row: Option<Vec<u32>>,
    /// Number of members.
    pub(crate) members: usize,
    /// Whether rows count by the weight of their sample.
    pub(crate) weighted: bool,
    /// What the members weigh together: their number, unless they are weighted.
    pub(crate) mass: f64,
    /// N, the number of points of the average (or what they weigh): those of other workers included.
    pub(crate) points: f64,
}

pub(crate) const NOT_A_MEMBER: u32 = u32::MAX;

impl SourceTerm {
    /// Whether two terms ask for the same losses, if of different rows or views.
    pub(crate) fn is_evaluated_as(&self, other: &Self) -> bool {
        let same_measure = match (&self.measure, &other.measure) {
            (None, None) => true,
            (Some(a), Some(b)) => a.is_same(b),
            _ => false,
        };
        self.loss.is_same(&other.loss) && same_measure
    }
}

impl Source {
    /// All sources of a problem; the objective's comes first.
    pub(crate) fn of(objective: &Term, requirements: &[Requirement]) -> Vec<Self> {
        let of = |(i, requirement)| {
            let of: &Requirement = requirement;
            of.terms.iter().map(move |term| (Owner::Requirement(i), of.sense.sign(), term))
        };
        let objective = std::iter::once((Owner::Objective, 1.0, objective));
        Self::of_terms(objective.chain(requirements.iter().enumerate().flat_map(of)))
    }

    /// The sources of terms, with their owner and sign.
    pub(crate) fn of_terms<'t>(terms: impl Iterator<Item = (Owner, f64, &'t Term)>) -> Vec<Self> {
        let mut sources: Vec<Self> = Vec::new();
        for (owner, sign, term) in terms {
            let samples = term.population.samples();
            let at = match sources.iter().position(|s| Arc::ptr_eq(&s.samples, samples)) {
                Some(at) => at,
                None => {
                    sources.push(Self::empty(samples));
                    sources.len() - 1
                }
            };
            sources[at].add(owner, sign, term);
        }
        for source in &mut sources {
            source.collect_rows();
        }
        sources
    }

    /// The weights of the samples, by row, if the rows of a term count by them.
    pub(crate) fn weights_of(&self, term: &SourceTerm) -> Option<&[f64]> {
        self.samples.weights().filter(|_| term.weighted)
    }

    fn empty(samples: &Arc<Samples>) -> Self {
        Self {
            samples: samples.clone(),
            rows: Vec::new(),
            rows_everywhere: 0.0,
            views: Vec::new(),
            terms: Vec::new(),
        }
    }

    fn add(&mut self, owner: Owner, sign: f64, term: &Term) {
        let slots = match term.population.view() {
            View::Identity => vec![0],
            View::Counterfactual(shifts) => {
                shifts.iter().map(|s| self.slot(SourceView::Shift(s.clone()))).collect()
            }
            View::Adaptive(view) => vec![self.slot(SourceView::Adaptive(view.clone()))],
        };
        let members = term.population.len();
        let mass = match self.samples.weights().filter(|_| term.weighted) {
            Some(weights) => term.population.rows().map(|row| weights[row as usize]).sum(),
            None => members as f64,
        };
        self.terms.push(SourceTerm {
            points: mass * slots.len() as f64,
            weighted: term.weighted,
            mass,
            owner,
            coefficient: sign * term.coefficient,
            loss: term.loss.clone(),
            measure: term.measure.clone(),
            slots,
            member_of_row: member_of_row(&term.population),
            members,
        });
    }

    /// The slot of a view, shared if another term asks for the same one.
    fn slot(&mut self, view: SourceView) -> usize {
        let same = |other: &SourceView| match (&view, other) {
            (SourceView::Shift(a), SourceView::Shift(b)) => Arc::ptr_eq(a, b),
            (SourceView::Adaptive(a), SourceView::Adaptive(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        match self.views.iter().position(same) {
            Some(at) => at + 1,
            None => {
                self.views.push(view);
                self.views.len()
            }
        }
    }

    fn collect_rows(&mut self) {
        let everyone = self.terms.iter().any(|t| t.member_of_row.is_none());
        let is_member = |row: &u32| {
            let of = |t: &SourceTerm| t.member_of_row.as_ref().map(|m| m[*row as usize]);
            everyone || self.terms.iter().filter_map(of).any(|m| m != NOT_A_MEMBER)
        };
        self.rows = (0..self.samples.len() as u32).filter(is_member).collect();
        let ids = self.samples.ids();
        self.rows.sort_by_key(|&row| ids[row as usize]);
        self.rows_everywhere = self.rows.len() as f64;
    }
}

fn member_of_row(population: &Population) -> Option<Vec<u32>> {
    (!population.is_everyone()).then(|| {
        let mut member_of_row = vec![NOT_A_MEMBER; population.samples().len()];
        for (member, row) in population.rows().enumerate() {
            member_of_row[row as usize] = member as u32;
        }
        member_of_row
    })
}
