//! A model in use, watched table by table: a ledger in the run directory and what it proves.
//!
//! | step | |
//! | --- | --- |
//! | refuse rows of the training, and rows that were counted before | `rows` |
//! | bet on the rows of a table | `observe` |
//! | keep the evidence of each table, once and for all | `ledger` |
//! | judge: a function of the ledger and of nothing else | [`MonitorReport`] |
//!
//! The bets and what they prove are [`feasible::monitor`]'s.

mod format;
mod ledger;
mod observe;
mod report;
mod rows;

use std::path::Path;

use feasible::certificate::Design;
use feasible_data::{Table, Unseen};

pub use report::{MonitorReport, TableLook, WatchedRequirement, WatchedTable};

use crate::certify::RunRecord;
use crate::directory::RunDirectory;
use crate::error::{Error, Result};
use crate::files::{MODEL, MONITOR};
use crate::selected::Selected;
use crate::storage::Directory;
use feasible_problem::data::sha256_of_file;
use feasible_problem::spec::CertifySpec;
use ledger::{Entry, FORMAT, Header, Ledger};
use observe::{Observed, named, needed, observe, refuse_used, watched};
use rows::Identity;

/// Characters of a label that are kept.
const LABEL: usize = 200;

/// What became of a table that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Its rows count.
    New,
    /// They were counted already, as this table.
    Already(String),
    /// They were counted without labels, as this table; now the labels count.
    Labels(String),
}

/// A run whose model is in use.
pub struct Monitor {
    record: RunRecord,
    directory: Directory,
    ledger: Ledger,
    design: Design,
    unseen: Option<Unseen>,
}

impl Monitor {
    /// Opens the ledger of a run to add tables, and keeps others from doing so. `settings` holds the confidence and
    /// the share that pointwise requirements may leave out, where the user gave them; the first table fixes both.
    ///
    /// # Errors
    /// A directory without a finished run, or in use; a ledger that is damaged or of another model; settings
    /// that are not those of the ledger.
    pub fn open(path: &Path, settings: &CertifySpec, unseen: Option<Unseen>) -> Result<Self> {
        let record = RunRecord::open(path)?;
        if record.model().manifest().image.is_some() {
            return Err(Error::unfit(
                path.display().to_string(),
                "its model is for images, but only tables can be monitored",
            ));
        }
        if record.model().clauses().is_empty() {
            return Err(Error::unfit(
                path.display().to_string(),
                "its problem has no requirements, so there is nothing to monitor",
            ));
        }
        let directory = Directory::open(record.directory().path())?;
        let ledger = read(record.directory())?.unwrap_or_default();
        let (mut fixed, own) = (settings.clone(), record.settings());
        if let Some(header) = &ledger.header {
            let model = sha256_of_file(&record.directory().file(MODEL))?;
            if header.model != model {
                return Err(Error::unfit(
                    record.directory().shown(MONITOR),
                    "it belongs to a different model than the one beside it: move it away to start over",
                ));
            }
            agree("confidence", settings.confidence, header.confidence)?;
            agree("all-but", settings.all_but, header.all_but)?;
            fixed.confidence = Some(header.confidence);
            fixed.all_but = Some(header.all_but);
        } else {
            fixed.confidence = fixed.confidence.or(own.confidence);
            fixed.all_but = fixed.all_but.or(own.all_but);
        }
        if let Some(unit) = settings.unit.as_ref().or(own.unit.as_ref()) {
            return Err(Error::unfit(
                record.directory().path().display().to_string(),
                format!(
                    "its certificate counts rows of one '{unit}' as one, and monitoring counts every row as a draw of its \
                     own: that would claim too much. Use `feasible certify` on tables of new units"
                ),
            ));
        }
        // Verdicts judge limits as they are written.
        let design = fixed.design()?;
        Ok(Self { record, directory, ledger, design, unseen })
    }

    /// How text tables are to be read.
    pub fn format(&self) -> feasible_data::Format {
        self.record.model().audit_format()
    }

    /// How many rows of a table the model is for, where the problem file selects some.
    ///
    /// # Errors
    /// A table that lacks a column which tells.
    pub fn selection(&self, table: &Table) -> Result<Option<Selected>> {
        self.record.model().selection(table)
    }

    /// Adds the rows of a table that the model is for, from `path` if it is a file. Nothing is written before
    /// [`Monitor::commit`].
    ///
    /// # Errors
    /// Rows that were used in training, or counted before in another table; cells that cannot be encoded.
    pub fn add(&mut self, table: &Table, path: Option<&Path>, label: &str) -> Result<Counted> {
        if table.rows() == 0 {
            return Err(Error::unfit(table.name(), "it has no rows"));
        }
        let selected = self.record.model().select(table)?.0.into_owned();
        let table = &selected;
        let target = self.record.model().manifest().target.clone();
        let columns = target.columns();
        let has = |name: &str| table.columns().iter().any(|column| column.name == name);
        // Several targets are known all at once, or not yet.
        let unknown = columns.iter().copied().find(|name| !has(name));
        let labelled = unknown.is_none();
        if let (Some(unknown), Some(known)) = (unknown, columns.iter().find(|name| has(name))) {
            return Err(Error::unfit(
                table.name(),
                format!(
                    "it has the column '{known}' and no '{unknown}', which are predicted together: give all of them, \
                     or none"
                ),
            ));
        }
        let rounded = self.record.fingerprints().rounded_rows(table, &columns);
        let identity = Identity::of(table, &needed(&self.record), &columns, rounded)?;
        let labels_of = match self.known(table, &identity, labelled)? {
            Known::No => None,
            Known::Already(label) => return Ok(Counted::Already(label)),
            Known::WithoutLabels(number) => Some(number),
        };
        if let Some(path) = path {
            self.record.refuse_known(table, path)?;
        }
        refuse_used(&self.record, table, labelled)?;
        let header = match &self.ledger.header {
            Some(header) => header.clone(),
            None => self.header()?,
        };
        let watched = &header.requirements;
        if !labelled && !watched.iter().any(|one| !one.labels && one.wager.is_some()) {
            return Err(Error::unfit(
                table.name(),
                format!(
                    "it has no column {}, which every requirement that is monitored needs",
                    named(&columns)
                ),
            ));
        }
        let at = self.ledger.entries.len();
        let observed = Observed { table, labelled, at, seed: identity.seed, unseen: self.unseen };
        let wanted = |one: &ledger::Watched| match labels_of {
            Some(_) => one.labels,
            None => labelled || !one.labels,
        };
        let requirements = observe(&self.record, &self.design, watched, &observed, wanted)?;
        if self.ledger.header.is_none() {
            self.ledger.begin(header);
        }
        self.ledger.push(Entry {
            table: at + 1,
            // What is printed later must not steer a terminal.
            label: label.chars().filter(|c| !c.is_control()).take(LABEL).collect(),
            rows: table.rows(),
            labelled,
            labels_of,
            content: identity.content,
            inputs: identity.inputs,
            sketches: identity.sketches,
            requirements,
        });
        Ok(match labels_of {
            Some(number) => Counted::Labels(self.label(number)),
            None => Counted::New,
        })
    }

    /// Writes the tables that were added: on disk when it returns, all or, if it fails, none of them.
    ///
    /// # Errors
    /// What the system says.
    pub fn commit(&mut self) -> Result<()> {
        self.ledger.commit(&self.directory)
    }

    fn header(&self) -> Result<Header> {
        Ok(Header {
            monitor: FORMAT,
            problem: self.record.model().manifest().problem.clone(),
            model: sha256_of_file(&self.record.directory().file(MODEL))?,
            confidence: 1.0 - self.design.delta.value(),
            all_but: self.design.all_but,
            requirements: watched(&self.record, &self.design),
        })
    }

    fn label(&self, number: usize) -> String {
        self.ledger.entries.get(number - 1).map_or(String::new(), |entry| entry.label.clone())
    }

    /// Whether the rows of a table were counted before.
    fn known(&self, table: &Table, identity: &Identity, labelled: bool) -> Result<Known> {
        let entries = &self.ledger.entries;
        let same = |entry: &&Entry| {
            entry.content == identity.content || (!labelled && entry.inputs == identity.inputs)
        };
        if let Some(entry) = entries.iter().find(same) {
            return Ok(Known::Already(entry.label.clone()));
        }
        let has_labels = |number| entries.iter().any(|entry| entry.labels_of == Some(number));
        let open = |entry: &&Entry| {
            !entry.labelled && entry.inputs == identity.inputs && !has_labels(entry.table)
        };
        if let Some(entry) = entries.iter().find(open).filter(|_| labelled) {
            return Ok(Known::WithoutLabels(entry.table));
        }
        for entry in entries {
            let mut sketches = identity.sketches.iter().zip(&entry.sketches);
            if let Some((rows, of)) = sketches.find_map(|(here, there)| here.shared(there)) {
                return Err(Error::unfit(
                    table.name(),
                    format!(
                        "{rows} of the {of} different rows that were compared are in '{}' too, which was counted \
                         already, more than chance explains. A row counts once: leave out those that were counted",
                        entry.label
                    ),
                ));
            }
        }
        Ok(Known::No)
    }
}

/// What is known of a table's rows.
enum Known {
    No,
    Already(String),
    WithoutLabels(usize),
}

/// A setting that the first table has fixed.
fn agree(name: &str, given: Option<f64>, fixed: f64) -> Result<()> {
    match given {
        Some(given) if (given - fixed).abs() > 1e-12 => Err(Error::unfit(
            format!("--{name} {given}"),
            format!(
                "the first table has fixed it at {fixed} for the life of this model: leave it out"
            ),
        )),
        _ => Ok(()),
    }
}

/// The ledger of a run directory; `None` if there is none.
fn read(directory: &RunDirectory) -> Result<Option<Ledger>> {
    let Some(bytes) = directory.read(MONITOR)? else { return Ok(None) };
    Ledger::parse(&directory.shown(MONITOR), &bytes).map(Some)
}
