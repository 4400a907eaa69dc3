//! Samples of a table, and what clauses see of them: subsets, counterfactuals, adversaries, each made once.

use std::sync::Arc;

use feasible::adversary::{Adversary, Attack, Judge};
use feasible::{Population, Problem, Samples, Shift, Targets, View};
use feasible_data::image::{Augmentation, ImageShape};
use feasible_data::{Change, Encoder, Expression, Table, UnknownCategories};

use crate::augmented::Augmented;
use crate::clause::Clause;
use crate::error::Result;
use crate::rate::Among;

/// Samples of a table, as clauses see them.
pub struct SampledTable<'a> {
    /// The table.
    pub table: &'a Table,
    /// The rows of it that the samples are.
    pub rows: &'a [u32],
    /// The samples.
    pub samples: &'a Arc<Samples>,
    /// The encoder that made them.
    pub encoder: &'a Encoder,
    /// What to do with categories that this table does not have.
    pub unknown: UnknownCategories,
    shifts: Vec<(Change, Arc<Shift>)>,
    adversaries: Vec<Arc<Adversary>>,
    augmented: Option<(Augmentation, ImageShape)>,
    /// The views of augmented images, by who attacks them.
    views: Vec<Arc<Augmented>>,
}

impl<'a> SampledTable<'a> {
    /// Samples of rows of a table.
    pub fn new(
        table: &'a Table,
        rows: &'a [u32],
        samples: &'a Arc<Samples>,
        encoder: &'a Encoder,
        unknown: UnknownCategories,
    ) -> Self {
        let (shifts, adversaries, views) = (Vec::new(), Vec::new(), Vec::new());
        let augmented = None;
        Self { table, rows, samples, encoder, unknown, shifts, adversaries, augmented, views }
    }

    /// The same samples, but images of this size, moved about as training sees them.
    #[must_use]
    pub fn augmented(mut self, how: Option<(Augmentation, ImageShape)>) -> Self {
        self.augmented = how;
        self
    }

    /// The same samples; what changes do to them is taken from a problem on the same samples instead of being listed
    /// again.
    #[must_use]
    pub fn with_shifts_of(mut self, clauses: &[Clause], problem: &Problem) -> Self {
        for (clause, requirement) in clauses.iter().zip(problem.requirements()) {
            let population = requirement.terms()[0].population();
            if let (Some(change), View::Counterfactual(shifts)) =
                (&clause.change, population.view())
                && let [shift] = &shifts[..]
                && Arc::ptr_eq(population.samples(), self.samples)
                && self.shifts.iter().all(|(known, _)| known != change)
            {
                self.shifts.push((change.clone(), shift.clone()));
            }
        }
        self
    }

    /// Everyone.
    pub fn everyone(&mut self) -> Population {
        let everyone = Population::new(self.samples.clone());
        self.moved(everyone, None)
    }

    /// A population of images where they are placed, and attacked there.
    fn moved(&mut self, population: Population, adversary: Option<Arc<Adversary>>) -> Population {
        let Some((augmentation, shape)) = self.augmented else {
            return match adversary {
                Some(adversary) => population.through(adversary),
                None => population,
            };
        };
        let same = |view: &&Arc<Augmented>| match (&view.adversary, &adversary) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        let view = match self.views.iter().find(same) {
            Some(view) => view.clone(),
            None => {
                self.views.push(Arc::new(Augmented { augmentation, shape, adversary }));
                self.views[self.views.len() - 1].clone()
            }
        };
        population.through(view)
    }

    /// What every change that was asked about so far does to each row.
    pub fn shifts(&self) -> impl Iterator<Item = &Arc<Shift>> {
        self.shifts.iter().map(|(_, shift)| shift)
    }

    /// The change that a shift was made of.
    pub fn change_of(&self, shift: &Shift) -> Option<&Change> {
        let of = |(_, known): &&(Change, Arc<Shift>)| std::ptr::eq(&**known, shift);
        self.shifts.iter().find(of).map(|(change, _)| change)
    }

    /// What a change does to each row; the same change gives the same shift, so that
    /// requirements share the forward pass.
    pub fn shift(&mut self, change: &Change) -> Result<Arc<Shift>> {
        if let Some((_, shift)) = self.shifts.iter().find(|(known, _)| known == change) {
            return Ok(shift.clone());
        }
        let shift = Arc::new(change.shift(self.samples.inputs())?);
        self.shifts.push((change.clone(), shift.clone()));
        Ok(shift)
    }

    /// The adversary of an attack, and of the requirement that it judges; the same ones give the same adversary,
    /// so that requirements share what it finds.
    fn adversary(&mut self, attack: &Attack, judge: Option<Judge>) -> Result<Arc<Adversary>> {
        let same = |known: &&Arc<Adversary>| {
            let judges = match (known.judge(), &judge) {
                (None, None) => true,
                (Some(a), Some(b)) => a.is_same(b),
                _ => false,
            };
            judges && known.attack() == attack
        };
        if let Some(known) = self.adversaries.iter().find(same) {
            return Ok(known.clone());
        }
        let adversary = attack.clone().check()?;
        let adversary = Arc::new(match judge {
            Some(judge) => adversary.judging(judge)?,
            None => adversary,
        });
        self.adversaries.push(adversary.clone());
        Ok(adversary)
    }

    /// A population through the view of a clause.
    pub(crate) fn seen(&mut self, population: Population, clause: &Clause) -> Result<Population> {
        Ok(match (&clause.change, &clause.adversary) {
            (Some(change), _) => population.counterfactuals(vec![self.shift(change)?])?,
            (None, Some(attack)) => {
                let adversary = self.adversary(attack, clause.judge())?;
                self.moved(population, Some(adversary))
            }
            (None, None) => self.moved(population, None),
        })
    }

    /// The samples that an expression selects, of a class or of all others.
    ///
    /// # Errors
    /// An expression that does not fit the table.
    pub fn population(
        &self,
        filter: Option<&Expression>,
        class: Option<Among>,
    ) -> Result<Population> {
        let everyone = Population::new(self.samples.clone());
        if filter.is_none() && class.is_none() {
            return Ok(everyone);
        }
        let mut keep = vec![true; self.rows.len()];
        if let Some(expression) = filter {
            let mask = expression.bind(self.table, Some(self.encoder), self.unknown)?.mask();
            for (keep, &row) in keep.iter_mut().zip(self.rows) {
                *keep = mask[row as usize];
            }
        }
        if let (Some(class), Targets::Classes(classes)) = (class, self.samples.targets()) {
            for (keep, &y) in keep.iter_mut().zip(classes) {
                *keep &= class.has(y);
            }
        }
        Ok(everyone.subset(&keep)?)
    }
}
