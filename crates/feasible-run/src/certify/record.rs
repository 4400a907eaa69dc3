//! A run directory as the record of which rows its model has seen.

use std::borrow::Borrow;
use std::path::Path;
use std::sync::Arc;

use feasible::certificate::Design;
use feasible_data::{Table, UnknownCategories, Unseen};
use feasible_problem::Fingerprints;
use feasible_problem::data::{TableHash, sha256_of_files};
use feasible_problem::held_out::Once;
use feasible_problem::plan::Plan;
use feasible_problem::sampled_table::SampledTable;
use feasible_problem::spec::CertifySpec;
use feasible_problem::text::grouped;

use super::{Certification, chosen, units_of};
use crate::baseline::Unconstrained;
use crate::constant::Comparison;
use crate::directory::RunDirectory;
use crate::error::{Error, Result};
use crate::files::{FINGERPRINTS, RUN, RunInfo};
use crate::fit::reopen;
use crate::saved_model::SavedModel;
use crate::subject::{Answers, Subject};

/// A run that is done: its model, and the record of the rows it has seen.
pub struct RunRecord {
    directory: RunDirectory,
    model: SavedModel,
    info: RunInfo,
    fingerprints: Fingerprints,
    certify: Option<CertifySpec>,
}

impl RunRecord {
    /// Opens a run directory, or the one a model file lies in.
    ///
    /// # Errors
    /// A model without its run directory, which does not know its rows; files that are missing or damaged.
    pub fn open(path: &Path) -> Result<Self> {
        let directory = RunDirectory::holding(path);
        if !directory.has(RUN) {
            return Err(Error::unfit(
                path.display().to_string(),
                "it is not in a run directory, and a model alone does not record which rows it was trained on: give the run directory that `feasible fit` wrote",
            ));
        }
        let model = SavedModel::open(path)?;
        let info = directory.info()?;
        let certify = directory.problem()?.parse(&[])?.certify;
        let missing = || missing(&directory.path().display().to_string());
        let fingerprints = directory.fingerprints()?.ok_or_else(missing)?;
        Ok(Self { directory, model, info, fingerprints, certify })
    }

    /// The model.
    pub fn model(&self) -> &SavedModel {
        &self.model
    }

    /// What the problem file says about certificates, or the defaults.
    pub fn settings(&self) -> CertifySpec {
        self.certify.clone().unwrap_or_default()
    }

    /// Certifies on the rows the run itself held out: its reserve, or else its test rows.
    ///
    /// # Errors
    /// Data that have changed since; no held-out rows; a loss without a bound.
    pub fn certify_own(&self, settings: &CertifySpec) -> Result<Certification> {
        let (plan, _) = self.reopen()?;
        if let Some(certification) = chosen::on_reserve(self, settings)? {
            return Ok(certification);
        }
        let unit = settings.unit.as_deref();
        let certification =
            self.model.subject().certify_own(&settings.design()?, &plan, unit, None)?;
        Ok(self.with_training(certification))
    }

    /// Certifies on a table in a file. Of a table that the run has read, only rows that it held out count, and they are
    /// taken from its data; any other is read by `read`, and all of its rows count, if they are not those of the
    /// training.
    ///
    /// # Errors
    /// Rows that were used; a table that has changed since the run read it; a loss without a bound; those of `read`.
    pub fn certify_file<T: Borrow<Table>, E: From<Error>>(
        &self,
        path: &Path,
        settings: &CertifySpec,
        unseen: Option<Unseen>,
        read: impl FnOnce() -> Result<T, E>,
    ) -> Result<Certification, E> {
        let files = sha256_of_files(path).map_err(Error::from)?;
        let of_run =
            |file: &&TableHash| self.info.tables.iter().any(|own| own.sha256 == file.sha256);
        if let (true, Some(used)) = (files.len() > 1, files.iter().find(of_run)) {
            let reason = format!(
                "{} is a file of the run: certify on it alone, or leave it out",
                used.table
            );
            return Err(Error::unfit(path.display().to_string(), reason).into());
        }
        let Some(TableHash { sha256: found, .. }) = files.into_iter().next() else {
            return Err(Error::unfit(path.display().to_string(), "it stands for no file").into());
        };
        if let Some(known) = self.info.tables.iter().find(|known| known.sha256 == found) {
            return Ok(self.certify_known(settings, &known.table, &path.display().to_string())?);
        }
        let same = |known: &str| {
            let there = std::fs::canonicalize(known);
            there.is_ok_and(|there| std::fs::canonicalize(path).is_ok_and(|p| p == there))
        };
        if let Some(known) = self.info.tables.iter().find(|known| same(&known.table)) {
            let (table, expected) = (known.table.clone(), known.sha256.clone());
            return Err(Error::DataChanged { table, expected, found }.into());
        }
        Ok(self.certify(read()?.borrow(), settings, unseen)?)
    }

    /// Certifies on all rows of a table that the model is for, if they are not those of the training. The table is no file
    /// of the run.
    ///
    /// # Errors
    /// Rows that were used; a loss without a bound.
    pub fn certify(
        &self,
        table: &Table,
        settings: &CertifySpec,
        unseen: Option<Unseen>,
    ) -> Result<Certification> {
        let design = settings.design()?;
        self.model.check_table(table)?;
        let (table, selected) = self.model.select(table)?;
        let table = &*table;
        let unit = settings.unit.as_deref();
        let all = table.all_rows();
        let (once, note) = match unit {
            Some(unit) => (Once { rows: all, repetition: None }, self.compare_units(table, unit)?),
            None => (self.fingerprints.once(table, &all)?, None),
        };
        let rows = once.rows;
        let held_out = self.fingerprints.compare_rows(table, &rows, table.name())?;
        let encoder = self.model.encoder(unseen);
        let target = &self.model.manifest().target;
        let samples = Arc::new(feasible_data::samples(table, &rows, &encoder, target)?);
        let mut sampled =
            SampledTable::new(table, &rows, &samples, &encoder, UnknownCategories::MatchNothing);
        let which = format!("the {} rows of {}", grouped(rows.len()), table.name());
        let answers = self.model.subject().on("certificate", &mut sampled)?;
        let mut certification = answers.certify(&design, which, units_of(&sampled, unit)?)?;
        if let Some(comparison) = &mut certification.comparison
            && let Some(other) = Unconstrained::beside(&self.model, &self.directory)
        {
            comparison.without = other.value_on(&self.model, &mut sampled)?;
        }
        (certification.held_out, certification.repetition) = (held_out, once.repetition);
        certification.notes.extend(selected.and_then(|selected| selected.sentence()));
        certification.notes.extend(note);
        Ok(self.with_training(certification))
    }

    /// Refuses units that were trained on; what to say if they are not on record.
    fn compare_units(&self, table: &Table, unit: &str) -> Result<Option<String>> {
        let rows = table.all_rows();
        self.fingerprints.refuse_copied_units(table, &rows, unit)?;
        if self.fingerprints.compare_units(table, &rows, unit)?.is_some() {
            return Ok(None);
        }
        // The problem file has no such unit; its tables may still be there.
        let prints = self.reopen().ok().and_then(|(plan, _)| plan.fingerprints_by(unit).ok());
        if let Some(prints) = prints {
            prints.compare_units(table, &rows, unit)?;
            return Ok(None);
        }
        Ok(Some(format!(
            "Whether units by '{unit}' were trained on is not on record, and the tables that the run has \
             read are not at hand: the certificate holds if none was. With `unit` in the problem file \
             the run keeps a record."
        )))
    }

    /// A table that the run has read: which of its rows were held out is on record.
    fn certify_known(
        &self,
        settings: &CertifySpec,
        known: &str,
        shown: &str,
    ) -> Result<Certification> {
        let (plan, _) = self.reopen()?;
        let design = settings.design()?;
        let data = plan.data();
        let here = |rows: &[u32]| -> Vec<u32> {
            let of = |row: &&u32| data.table.origin(**row as usize).0 == known;
            rows.iter().filter(of).copied().collect()
        };
        let one = self.info.tables.len() == 1;
        let held = |rows: &[u32]| if one { rows.to_vec() } else { here(rows) };
        let (kind, rows) = match held(&data.reserve_rows) {
            reserve if !reserve.is_empty() => ("reserved", reserve),
            _ => ("test", held(&data.split.test)),
        };
        if rows.is_empty() {
            let all = held(&data.table.all_rows()).len();
            return Err(Error::unfit(
                shown,
                format!(
                    "all of its {} rows were used in training the model, by the record of the run. A \
                     certificate needs rows that were not used to train, select or calibrate: give a \
                     table of others, or keep some back with `certify` in the problem file and train \
                     again",
                    grouped(all)
                ),
            ));
        }
        if kind == "reserved"
            && let Some(certification) = chosen::on_reserve(self, settings)?
        {
            return Ok(certification);
        }
        let which = |rows| format!("the {} {kind} rows of {}", grouped(rows), shown);
        let unit = settings.unit.as_deref();
        let mut certification =
            self.model.subject().certify_rows(&design, &which, &plan, &rows, unit, None)?;
        certification.notes.extend(illustration(&plan, kind == "test"));
        Ok(self.with_training(certification))
    }

    fn reopen(&self) -> Result<(Plan, Vec<u8>)> {
        let location = self.directory.path().display().to_string();
        reopen(&location, None, &|name| self.directory.read(name))
    }

    /// The run directory.
    pub(crate) fn directory(&self) -> &RunDirectory {
        &self.directory
    }

    /// Refuses a file that the run itself has read.
    pub(crate) fn refuse_known(&self, table: &Table, path: &Path) -> Result<()> {
        let found = sha256_of_files(path)?;
        let of_run =
            |file: &&TableHash| self.info.tables.iter().any(|own| own.sha256 == file.sha256);
        match found.iter().find(of_run) {
            Some(_) => Err(Error::unfit(
                table.name(),
                "the run itself has read it, but monitoring is about rows that came later; `feasible \
                 certify` judges those that it held out",
            )),
            None => Ok(()),
        }
    }

    /// Refuses rows that were used in training, and a table that repeats its rows.
    pub(crate) fn refuse_used(&self, table: &Table) -> Result<()> {
        self.fingerprints.compare(table)?;
        match self.fingerprints.distinct_rows(table) {
            distinct if distinct < table.rows() => Err(Error::unfit(
                table.name(),
                format!(
                    "its rows repeat each other more often than chance explains ({} of {} are distinct), and each row counts \
                     as a draw of its own: give every row once",
                    grouped(distinct),
                    grouped(table.rows())
                ),
            )),
            _ => Ok(()),
        }
    }

    /// The rows that were used.
    pub(crate) fn fingerprints(&self) -> &Fingerprints {
        &self.fingerprints
    }

    /// That of the run's test rows, if they are this many.
    fn own_comparison(&self, rows: usize) -> Option<Comparison> {
        let summary = self.directory.summary().ok()??;
        let test = summary.test.as_ref().is_some_and(|test| test.rows == rows);
        summary.comparison().filter(|_| test)
    }

    /// How many rows of a table were used in training the model: of a table that the run has read by its record, of any other
    /// those that equal such rows, if they are more than chance explains.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn trained_rows(&self, table: &Table, path: Option<&Path>) -> Result<usize> {
        let files = path.map(sha256_of_files).transpose()?.unwrap_or_default();
        let own = |of: &&TableHash| files.iter().any(|file| file.sha256 == of.sha256);
        let own: Vec<&str> =
            self.info.tables.iter().filter(own).map(|of| of.table.as_str()).collect();
        if own.is_empty() {
            return Ok(self.fingerprints.count_used(table));
        }
        let (plan, _) = self.reopen()?;
        let data = plan.data();
        let used = data.split.train.iter().chain(&data.split.validation);
        Ok(used.filter(|row| own.contains(&data.table.origin(**row as usize).0)).count())
    }

    /// Adds what is known from the training: the model without requirements, and the tolerance.
    fn with_training(&self, mut certification: Certification) -> Certification {
        let manifest = self.model.manifest();
        if let (Some(comparison), Some(own)) =
            (&mut certification.comparison, self.own_comparison(certification.count))
            && own.model == comparison.model
        {
            comparison.without = comparison.without.or(own.without);
        }
        certification.notes.extend(Certification::about_tolerance(manifest.tolerance));
        certification
    }
}

impl Subject<'_> {
    /// Certifies on the rows a plan holds out. `known` are answers to some of them, which are not asked for again.
    pub(crate) fn certify_own(
        &self,
        design: &Design,
        plan: &Plan,
        unit: Option<&str>,
        known: Option<&Answers<'_>>,
    ) -> Result<Certification> {
        let data = plan.data();
        let (kind, rows) = match (&data.reserve_rows, &data.split.test) {
            (reserve, _) if !reserve.is_empty() => ("reserved", reserve),
            (_, test) if !test.is_empty() => ("test", test),
            _ => {
                return Err(Error::unfit(
                    plan.name(),
                    "there are no held-out rows: keep some back with `certify = 0.95` in the problem \
                     file, or split off test rows",
                ));
            }
        };
        let which = |rows| format!("the {} {kind} rows", grouped(rows));
        let mut certification = self.certify_rows(design, &which, plan, rows, unit, known)?;
        certification.notes.extend(illustration(plan, kind == "test"));
        Ok(certification)
    }

    fn certify_rows(
        &self,
        design: &Design,
        which: &dyn Fn(usize) -> String,
        plan: &Plan,
        rows: &[u32],
        unit: Option<&str>,
        known: Option<&Answers<'_>>,
    ) -> Result<Certification> {
        let data = plan.data();
        let (once, held_out) = plan.judge_held_out(rows, unit)?;
        let rows = &once.rows;
        let samples = data.held_out(rows)?;
        let mut sampled = SampledTable::new(
            &data.table,
            rows,
            &samples,
            &data.encoder,
            UnknownCategories::MatchNothing,
        );
        let (which, units) = (which(rows.len()), units_of(&sampled, unit)?);
        let mut certification = match known.filter(|known| Arc::ptr_eq(&known.samples, &samples)) {
            Some(answers) => answers.certify(design, which, units)?,
            None => self.on("certificate", &mut sampled)?.certify(design, which, units)?,
        };
        (certification.held_out, certification.repetition) = (held_out, once.repetition);
        Ok(certification)
    }
}

/// What is to be said about test rows that others have looked at before.
fn illustration(plan: &Plan, test: bool) -> Option<String> {
    let set = plan.data().set.as_ref().filter(|_| test)?;
    Some(format!(
        "The default recipe was chosen with these test rows of {} in view, so here the certificate is an \
         illustration; on data of your own it holds as stated.",
        set.name
    ))
}

/// What a run without the file is told.
fn missing(location: &str) -> Error {
    Error::unfit(
        location,
        format!(
            "it has no {FINGERPRINTS}, the record of the training rows, without which no table is known to be held out: give the run directory of a training by this version"
        ),
    )
}
