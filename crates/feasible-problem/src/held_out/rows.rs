//! The held-out rows of a plan: which of them count, and which must be refused because copies of them were trained on.

use std::borrow::Cow;
use std::collections::BTreeSet;

use feasible_data::{Encoder, Split, Table, TargetEncoder};

use super::fingerprints::{Fingerprints, Once};
use super::{Copies, HeldOut};
use crate::clause::Clause;
use crate::data::{Data, DataDraft};
use crate::error::{Error, Result};
use crate::gallery;
use crate::plan::Plan;
use crate::spec::Spec;

/// What test rows are called in messages.
const TEST_ROWS: &str = "the test rows";

/// Which rows count, and how it is known that they were not used.
type Judged = Result<(Once, HeldOut)>;

/// What is asked of all columns of a table.
#[derive(Debug)]
pub(crate) struct Taken {
    /// The rows that are trained and validated on.
    fingerprints: Fingerprints,
    /// The reserved rows, and the test rows; or why they are not held out.
    reserve: Result<(Once, HeldOut), (String, String)>,
    test: Result<(Once, HeldOut), (String, String)>,
}

impl Taken {
    pub(crate) fn of(draft: &DataDraft, spec: &Spec, spoken: &BTreeSet<String>) -> Self {
        let DataDraft { table, split, encoder, target, images, copies, .. } = draft;
        let copies = copies.as_deref();
        let prints =
            fingerprints(table, split, copies, (encoder, target), images.is_some(), spoken);
        let kept = |judged: Judged| {
            judged.map_err(|error| match error {
                Error::Unfit { what, reason } => (what, reason),
                other => (TEST_ROWS.into(), other.to_string()),
            })
        };
        let reserve = kept(judge(&prints, table, &draft.reserve_rows, true));
        let test = kept(judge(&prints, table, &split.test, is_drawn(spec)));
        Self { reserve, test, fingerprints: prints }
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
        let Data { table, split, encoder, target, images, copies, .. } = self.data();
        let spoken = self.clauses().iter().flat_map(Clause::columns).map(String::from).collect();
        let (copies, images) = (copies.as_deref(), images.is_some());
        Cow::Owned(fingerprints(table, split, copies, (encoder, target), images, &spoken))
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

    /// Which of some held-out rows count, and how it is known that they were not trained on.
    ///
    /// # Errors
    /// Rows of a file of their own that are those of the training, or that repeat each other; units that were trained on.
    pub fn judge_held_out(&self, rows: &[u32], unit: Option<&str>) -> Judged {
        let Data { table, reserve_rows, images, .. } = self.data();
        let all = || Once { rows: rows.to_vec(), repetition: None };
        let reserved = rows.iter().all(|row| reserve_rows.binary_search(row).is_ok());
        let drawn = reserved || is_drawn(self.spec());
        if let Some(unit) = unit {
            let prints = self.fingerprints_by(unit)?;
            prints.compare_units(table, rows, unit)?;
            return match drawn || images.is_some() {
                true => Ok((all(), HeldOut::ByRecord)),
                false => Ok((all(), prints.compare_rows(table, rows, TEST_ROWS)?)),
            };
        }
        if images.is_some() {
            return Ok((self.fingerprints_of_rows().once(table, rows)?, HeldOut::ByRecord));
        }
        let Some(taken) = &self.taken else {
            return judge(&self.fingerprints_of_rows(), table, rows, drawn);
        };
        let kept = if reserved { &taken.reserve } else { &taken.test };
        let (once, held_out) = kept.clone().map_err(|(what, reason)| Error::unfit(what, reason))?;
        let counts = |row: &&u32| once.rows.binary_search(row).is_ok();
        let counted = rows.iter().filter(counts).copied().collect();
        Ok((Once { rows: counted, ..once }, held_out))
    }
}

/// Rows that are drawn from the table of the training rows are only described, all others must be held out.
fn judge(prints: &Fingerprints, table: &Table, rows: &[u32], drawn: bool) -> Judged {
    if drawn {
        let once = Once { rows: rows.to_vec(), repetition: None };
        return Ok((once, prints.describe_rows(table, rows)));
    }
    let once = prints.once(table, rows)?;
    let held_out = prints.compare_rows(table, &once.rows, TEST_ROWS)?;
    Ok((once, held_out))
}

/// What the rows that are trained and validated on look like, every copy once; requirements speak of the columns `spoken`.
fn fingerprints(
    table: &Table,
    split: &Split,
    copies: Option<&Copies>,
    (encoder, target): (&Encoder, &TargetEncoder),
    images: bool,
    spoken: &BTreeSet<String>,
) -> Fingerprints {
    let mut needed = spoken.clone();
    needed.extend(encoder.variables().iter().map(|variable| variable.column.clone()));
    needed.extend(target.columns().into_iter().map(String::from));
    needed.extend(images.then(|| gallery::DIGEST.to_string()));
    let used = used(split);
    let used = copies.map_or(used.clone(), |copies| copies.distinct(&used));
    Fingerprints::of(table, &used, &needed)
}

/// Whether test rows are drawn from the table that training rows are drawn from.
fn is_drawn(spec: &Spec) -> bool {
    spec.data.split.as_ref().is_some_and(|split| split.test.is_some())
}

/// Rows that are trained or validated on.
fn used(split: &Split) -> Vec<u32> {
    [&split.train[..], &split.validation].concat()
}
