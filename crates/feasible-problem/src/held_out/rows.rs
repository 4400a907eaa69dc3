//! The held-out rows of a plan: which of them count, and which must be refused because copies of them were trained on.

use std::borrow::Cow;
use std::collections::BTreeSet;

use feasible_data::{Encoder, Split, Table, TargetEncoder};

use super::fingerprints::{Fingerprints, Once};
use crate::clause::Clause;
use crate::data::{Data, DataDraft};
use crate::error::{Error, Result};
use crate::gallery;
use crate::plan::Plan;
use crate::spec::Spec;

/// What test rows are called in messages.
const TEST_ROWS: &str = "the test rows";

/// What is asked of all columns of a table.
#[derive(Debug)]
pub(crate) struct Taken {
    /// The rows that are trained and validated on.
    fingerprints: Fingerprints,
    /// Which reserved rows count, and which test rows.
    reserve: Once,
    test: Once,
    /// Why test rows of a file of their own are not held out, if they are not; and rows drawn at random.
    used: Option<(String, String)>,
    repeated: Option<(String, String)>,
}

impl Taken {
    pub(crate) fn of(draft: &DataDraft, spec: &Spec, spoken: &BTreeSet<String>) -> Self {
        let DataDraft { table, split, encoder, target, images, .. } = draft;
        let prints = fingerprints(table, split, encoder, target, images.is_some(), spoken);
        let once = |rows| prints.once(table, rows);
        let (reserve, test) = (once(&draft.reserve_rows), once(&split.test));
        let refused = |compared: Result<()>| match compared {
            Err(Error::Unfit { what, reason }) => Some((what, reason)),
            _ => None,
        };
        let used = prints.compare_rows(table, &test.rows, TEST_ROWS).map(|_| ());
        let pool = pool(split, &draft.reserve_rows, is_drawn(spec));
        let repeated = prints.refuse_repeated(table, &pool);
        let (used, repeated) = (refused(used), refused(repeated));
        Self { reserve, test, used, repeated, fingerprints: prints }
    }
}

impl Plan {
    /// What the rows that are trained and validated on look like, and the units they belong to, if any.
    pub fn fingerprints(&self) -> Cow<'_, Fingerprints> {
        match self.unit().map(|unit| self.fingerprints_by(unit)) {
            // A checked plan has a unit for every row.
            Some(Ok(prints)) => Cow::Owned(prints),
            _ => self.fingerprints_of_rows(),
        }
    }

    fn fingerprints_of_rows(&self) -> Cow<'_, Fingerprints> {
        if let Some(taken) = &self.taken {
            return Cow::Borrowed(&taken.fingerprints);
        }
        let Data { table, split, encoder, target, images, .. } = self.data();
        let spoken = self.clauses().iter().flat_map(Clause::columns).map(String::from).collect();
        Cow::Owned(fingerprints(table, split, encoder, target, images.is_some(), &spoken))
    }

    /// The fingerprints with the units that the rows belong to by this column.
    ///
    /// # Errors
    /// A column that does not exist, or without a cell in some row.
    pub fn fingerprints_by(&self, unit: &str) -> Result<Fingerprints> {
        let used = used(&self.data().split);
        self.fingerprints_of_rows().into_owned().with_units(&self.data().table, &used, unit)
    }

    /// The column that says which rows count as one.
    pub fn unit(&self) -> Option<&str> {
        self.spec().certify.as_ref()?.unit.as_deref()
    }

    /// Refuses held-out rows if copies of them were trained on: test rows of a file of their own that are
    /// those of the training; rows drawn from a table that repeats every row, unless units say which.
    ///
    /// # Errors
    /// Such rows.
    pub fn refuse_used(&self, rows: &[u32], unit: Option<&str>) -> Result<()> {
        let Data { table, split, reserve_rows, images, .. } = self.data();
        if images.is_some() {
            return Ok(());
        }
        let reserved = rows.iter().all(|row| reserve_rows.binary_search(row).is_ok());
        let by_file = !reserved && !self.is_drawn();
        match &self.taken {
            _ if unit.is_some() && !by_file => Ok(()),
            Some(taken) => {
                let refused = if by_file { &taken.used } else { &taken.repeated };
                refused.clone().map_or(Ok(()), |(what, reason)| Err(Error::unfit(what, reason)))
            }
            None if by_file => {
                let prints = self.fingerprints_of_rows();
                prints.compare_rows(table, rows, TEST_ROWS).map(|_| ())
            }
            None => {
                let pool = pool(split, reserve_rows, self.is_drawn());
                self.fingerprints_of_rows().refuse_repeated(table, &pool)
            }
        }
    }

    /// Whether test rows are drawn from the table that training rows are drawn from.
    fn is_drawn(&self) -> bool {
        is_drawn(self.spec())
    }

    /// Which of some held-out rows count, given how they repeat each other.
    pub fn once(&self, rows: &[u32]) -> Once {
        let Some(taken) = &self.taken else {
            return self.fingerprints_of_rows().once(&self.data().table, rows);
        };
        let reserved = rows.iter().all(|row| self.data().reserve_rows.binary_search(row).is_ok());
        let Once { rows: counted, repetition } =
            if reserved { &taken.reserve } else { &taken.test };
        let counts = |row: &&u32| counted.binary_search(row).is_ok();
        Once { rows: rows.iter().filter(counts).copied().collect(), repetition: *repetition }
    }
}

/// What the rows that are trained and validated on look like; requirements speak of the columns `spoken`.
fn fingerprints(
    table: &Table,
    split: &Split,
    encoder: &Encoder,
    target: &TargetEncoder,
    images: bool,
    spoken: &BTreeSet<String>,
) -> Fingerprints {
    let mut needed = spoken.clone();
    needed.extend(encoder.variables().iter().map(|variable| variable.column.clone()));
    needed.extend(target.columns().into_iter().map(String::from));
    needed.extend(images.then(|| gallery::DIGEST.to_string()));
    Fingerprints::of(table, &used(split), &needed)
}

/// Whether test rows are drawn from the table that training rows are drawn from.
fn is_drawn(spec: &Spec) -> bool {
    spec.data.split.as_ref().is_some_and(|split| split.test.is_some())
}

/// The rows of which those that are held out were drawn.
fn pool(split: &Split, reserve: &[u32], drawn: bool) -> Vec<u32> {
    let test = if drawn { &split.test[..] } else { &[] };
    [&split.train[..], &split.validation, reserve, test].concat()
}

/// Rows that are trained or validated on.
fn used(split: &Split) -> Vec<u32> {
    [&split.train[..], &split.validation].concat()
}
