//! Which rows are for what: by file, by column, or by fractions.

use std::path::Path;

use feasible_data::{
    DataSet, Expression, Format, Fractions, Preprocessing, Split, Table, TargetColumns,
    TargetEncoder, UnknownCategories,
};

use super::TableHash;
use super::hash::{sha256, sha256_of_file};
use crate::error::{Error, Result};
use crate::held_out::fingerprints::units;
use crate::held_out::{Copies, Fingerprints};
use crate::spec::{CertifySettings, CertifySpec, DataSpec, ProblemSource, SplitSpec};
use crate::store::{self, Store};
use crate::text::grouped;

/// Tables, one below the other.
pub(super) struct Read {
    pub(super) table: Table,
    /// Rows by file: training, validation, test; one part if there is one table.
    pub(super) parts: Vec<(TablePart, Vec<u32>)>,
    pub(super) hashes: Vec<TableHash>,
    /// What a reader should know of how they were read.
    pub(super) notes: Vec<String>,
}

/// What the rows of a file are for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TablePart {
    All,
    Train,
    Validation,
    Test,
}

impl TablePart {
    /// What its rows are called.
    pub(super) fn rows(self) -> &'static str {
        match self {
            Self::All => "rows",
            Self::Train => "training rows",
            Self::Validation => "validation rows",
            Self::Test => "test rows",
        }
    }
}

/// What `[data]` names.
pub(super) fn read(
    source: &ProblemSource,
    spec: &DataSpec,
    set: Option<&DataSet>,
    format: &Format,
) -> Result<Read> {
    let by_file = [
        (TablePart::Train, &spec.train),
        (TablePart::Validation, &spec.validation),
        (TablePart::Test, &spec.test),
    ];
    let mut notes = Vec::new();
    let mut table_of = |path: &Path| -> Result<(Table, Vec<TableHash>)> {
        let read = match (spec.store, store::cache()) {
            (Some(Store::Disk), Some(directory)) => {
                source.tables().read_cached(path, format, &directory)?
            }
            _ => source.tables().read(path, format)?,
        };
        notes.extend(read.notes);
        Ok((read.table, read.hashes))
    };
    let any_part = by_file.iter().any(|(_, path)| path.is_some());
    let read = match (set, &spec.file, any_part) {
        (Some(set), None, false) => {
            let (tables, hashes) = match &spec.directory {
                Some(directory) => {
                    let hash = |file: &&str| {
                        let path = directory.join(file);
                        let sha256 = sha256_of_file(&path)?;
                        Ok(TableHash { table: path.display().to_string(), sha256 })
                    };
                    let hashes = || set.original_files().iter().map(hash).collect();
                    let before: Vec<TableHash> = hashes()?;
                    let tables = set.tables_from(directory)?;
                    let after: Result<Vec<TableHash>> = hashes();
                    if after? != before {
                        let reason = "its files changed while they were read: start again";
                        return Err(Error::unfit(directory.display().to_string(), reason));
                    }
                    (tables, before)
                }
                None => {
                    let hash = |part: &feasible_data::embedded::EmbeddedFile| TableHash {
                        table: part.file.to_string(),
                        sha256: sha256(part.bytes),
                    };
                    (set.tables()?, set.parts.iter().map(hash).collect())
                }
            };
            let kinds: &[TablePart] = if tables.len() == 1 {
                &[TablePart::All]
            } else {
                &[TablePart::Train, TablePart::Test]
            };
            concat(set.name, kinds.iter().copied().zip(tables).collect(), hashes)
        }
        (None, Some(path), false) => {
            let (table, hashes) = table_of(path)?;
            concat(&path.display().to_string(), vec![(TablePart::All, table)], hashes)
        }
        (None, None, true) => {
            if spec.train.is_none() {
                return Err(source.at("data", "tables are split by file, but `train` is missing"));
            }
            let mut tables = Vec::new();
            let mut hashes = Vec::new();
            for (part, path) in by_file {
                if let Some(path) = path {
                    let (table, of_files) = table_of(path)?;
                    hashes.extend(of_files);
                    tables.push((part, table));
                }
            }
            concat("the tables", tables, hashes)
        }
        (None, None, false) => Err(source.at(
            "data",
            "there are no data: give `source` (an embedded set), `file`, or `train` with `test`",
        )),
        _ => Err(source.at("data", "give only one of `source`, `file`, and `train` with `test`")),
    };
    Ok(Read { notes, ..read? })
}

fn concat(name: &str, tables: Vec<(TablePart, Table)>, hashes: Vec<TableHash>) -> Result<Read> {
    let (kinds, tables): (Vec<TablePart>, Vec<Table>) = tables.into_iter().unzip();
    let (table, ranges) = Table::concat(name, tables)?;
    let parts = kinds.into_iter().zip(ranges.into_iter().map(Iterator::collect)).collect();
    Ok(Read { table, parts, hashes, notes: Vec::new() })
}

/// The rows that `rows` selects.
pub(super) fn selected(
    source: &ProblemSource,
    spec: &DataSpec,
    table: &Table,
    mut parts: Vec<(TablePart, Vec<u32>)>,
) -> Result<Vec<(TablePart, Vec<u32>)>> {
    let Some(text) = &spec.rows else { return Ok(parts) };
    let expression = Expression::parse(text).map_err(|e| source.at("data.rows", e.to_string()))?;
    let filter = expression.bind(table, None, UnknownCategories::Reject);
    let keep = filter.map_err(|e| source.about("data.rows", e))?.mask();
    for (_, rows) in &mut parts {
        rows.retain(|&row| keep[row as usize]);
    }
    Ok(parts)
}

/// The split by file, by column or by fractions; training rows give some to validation if asked.
pub(super) fn split(
    source: &ProblemSource,
    spec: &mut DataSpec,
    set: Option<&DataSet>,
    table: &Table,
    parts: Vec<(TablePart, Vec<u32>)>,
    together: &Together<'_>,
) -> Result<Split> {
    if spec.split.is_some() && spec.split_by.is_some() {
        return Err(source.at("data.split", "give only one of `split` and `split_by`"));
    }
    let split_error = |e| placed(source, "data.split", e);
    if let [(TablePart::All, rows)] = &parts[..] {
        if let Some(by) = &spec.split_by {
            return Split::by_column(table, rows, by).map_err(|e| source.about("data.split_by", e));
        }
        let default = set.and_then(|set| set.split.clone()).unwrap_or_default();
        let given = spec.split.clone().unwrap_or(SplitSpec {
            train: None,
            validation: Some(default.validation).filter(|&share| share > 0.0),
            test: Some(default.test),
            seed: default.seed,
            stratify: default.stratify.clone(),
        });
        let validation = given.validation.unwrap_or(0.0);
        let test = given.test.unwrap_or(default.test);
        let train = given.train.unwrap_or(round(1.0 - validation - test));
        let others = given.train.unwrap_or(0.0) + validation;
        if given.test.is_none() && others <= 1.0 + 1e-9 && others + test > 1.0 + 1e-9 {
            let message = format!(
                "`test` is {test} by default, and the other parts take {} of the rows: give `test` \
                 as well, for instance test = {}",
                round(others),
                round((1.0 - others).max(0.0))
            );
            return Err(source.at("data.split", message));
        }
        let fractions = Fractions {
            train,
            validation,
            test,
            seed: given.seed,
            stratify: given.stratify.clone(),
        };
        spec.split = Some(SplitSpec { train: Some(train), test: Some(test), ..given });
        return drawn(table, rows, &fractions, together).map_err(split_error);
    }
    if spec.split_by.is_some() {
        return Err(source.at("data.split_by", "the tables are already split by file"));
    }
    let of = |wanted: TablePart| -> Vec<u32> {
        let rows = parts.iter().filter(|(part, _)| *part == wanted);
        rows.flat_map(|(_, rows)| rows.iter().copied()).collect()
    };
    let mut split = Split {
        train: of(TablePart::Train),
        validation: of(TablePart::Validation),
        test: of(TablePart::Test),
    };
    if let Some(given) = &spec.split {
        if given.train.is_some() || given.test.is_some() || !split.validation.is_empty() {
            return Err(source.at(
                "data.split",
                "the tables are split by file: only `validation` (a fraction of the training rows) \
                 can be given, and only without a validation file",
            ));
        }
        let validation = given.validation.unwrap_or(0.0);
        let fractions = Fractions {
            train: round(1.0 - validation),
            validation,
            test: 0.0,
            seed: given.seed,
            stratify: given.stratify.clone(),
        };
        let inner = drawn(table, &split.train, &fractions, together).map_err(split_error)?;
        (split.train, split.validation) = (inner.train, inner.validation);
    }
    if split.train.is_empty() {
        return Err(source.at("data", "no rows are left to train on: check `rows` and the split"));
    }
    Ok(split)
}

/// Fewer training rows than this are all trained on.
const FEWEST: usize = 100;
/// The share taken of a table with few rows, and of one with many,
const SHARES: (f64, f64) = (0.2, 0.1);
/// which is one with more than this.
const MANY: usize = 20_000;

/// The share of so many training rows that is taken for validation where the file gives no such rows.
pub fn validation_share(rows: usize) -> f64 {
    match rows {
        0..FEWEST => 0.0,
        FEWEST..=MANY => SHARES.0,
        _ => SHARES.1,
    }
}

/// Takes validation rows out of the training rows; each class gives its share.
pub(super) fn take_validation(
    table: &Table,
    split: &mut Split,
    target: &TargetEncoder,
    seed: u64,
    together: &Together<'_>,
) -> Result<()> {
    let share = validation_share(split.train.len());
    if share == 0.0 {
        return Ok(());
    }
    let stratify = target.classes().map(|_| target.column().to_string());
    let train = round(1.0 - share);
    let fractions = Fractions { train, validation: share, test: 0.0, seed, stratify };
    let inner = drawn(table, &split.train, &fractions, together)?;
    // Units may be too few to be divided.
    if !inner.train.is_empty() && !inner.validation.is_empty() {
        (split.train, split.validation) = (inner.train, inner.validation);
    }
    Ok(())
}

/// Takes the reserve out of the training rows.
pub(super) fn keep_back(
    source: &ProblemSource,
    certify: &CertifySpec,
    table: &Table,
    split: &mut Split,
    together: &Together<'_>,
) -> Result<Vec<u32>> {
    let CertifySettings { reserve: share, seed, .. } = certify.settings();
    let fractions =
        Fractions { train: round(1.0 - share), validation: share, test: 0.0, seed, stratify: None };
    let inner = drawn(table, &split.train, &fractions, together)
        .map_err(|error| placed(source, "certify.reserve", error))?;
    if inner.train.is_empty() || inner.validation.is_empty() {
        let message = format!(
            "{} training rows are too few to keep a share of {share} back: give more data",
            split.train.len()
        );
        return Err(source.at("certify.reserve", message));
    }
    split.train = inner.train;
    Ok(inner.validation)
}

/// Rows that stay in one part.
pub(super) enum Together<'a> {
    /// None: each is by itself.
    Each,
    /// Those of one unit: the column.
    Units(&'a str),
    /// Those that are copies of each other.
    Copies(&'a Copies),
}

impl<'a> Together<'a> {
    pub(super) fn new(unit: Option<&'a str>, copies: Option<&'a Copies>) -> Self {
        match (unit, copies) {
            (Some(unit), _) => Self::Units(unit),
            (None, Some(copies)) => Self::Copies(copies),
            (None, None) => Self::Each,
        }
    }
}

/// Draws the parts; rows that belong together stay together, and the fractions are then of units, or of distinct rows. Of copies
/// only the first is for validation and test.
fn drawn(
    table: &Table,
    rows: &[u32],
    fractions: &Fractions,
    together: &Together<'_>,
) -> Result<Split> {
    let unit = match together {
        Together::Each => return Ok(Split::stratified(table, rows, fractions)?),
        Together::Units(unit) => unit,
        Together::Copies(copies) => {
            let drawn = Split::stratified(table, &copies.distinct(rows), fractions)?;
            let is_trained = |row: &&u32| drawn.train.binary_search(&copies.first(**row)).is_ok();
            let train = rows.iter().filter(is_trained).copied().collect();
            return Ok(Split { train, ..drawn });
        }
    };
    let of = units(table, rows, unit)?;
    // The first row of a unit stands for it.
    let mut first = Vec::new();
    for (&row, &unit) in rows.iter().zip(&of) {
        if unit as usize == first.len() {
            first.push(row);
        }
    }
    let drawn = Split::stratified(table, &first, fractions)?;
    let all = |chosen: &[u32]| -> Vec<u32> {
        let is_chosen = |unit: u32| chosen.binary_search(&first[unit as usize]).is_ok();
        rows.iter().zip(&of).filter(|(_, unit)| is_chosen(**unit)).map(|(row, _)| *row).collect()
    };
    Ok(Split {
        train: all(&drawn.train),
        validation: all(&drawn.validation),
        test: all(&drawn.test),
    })
}

/// The columns that are used, as far as the file says.
pub(super) fn used_columns<'t>(
    spec: &DataSpec,
    set: Option<&DataSet>,
    table: &'t Table,
) -> Vec<&'t str> {
    let default = set.map_or_else(Preprocessing::default, |set| set.preprocessing.clone());
    let Preprocessing { columns, drop, .. } = spec.preprocessing(&default);
    let target = spec.target.as_ref().map(TargetColumns::names).unwrap_or_default();
    let apart = [spec.weight.as_ref(), spec.split_by.as_ref().map(|by| &by.column)];
    let is_used = |name: &&String| {
        target.contains(name)
            || !drop.contains(name)
                && !apart.contains(&Some(name))
                && columns.as_ref().is_none_or(|columns| columns.contains(name) || set.is_some())
    };
    let names = table.columns().iter().map(|column| &column.name);
    names.filter(is_used).map(String::as_str).collect()
}

/// The copies within each of several lists of rows, by the columns that are used, and a sentence for each.
pub(super) fn find_copies(
    spec: &DataSpec,
    set: Option<&DataSet>,
    table: &Table,
    parts: &[(&str, &[u32])],
) -> (Option<Copies>, Vec<String>) {
    let names = used_columns(spec, set, table);
    let (mut all, mut notes) = (None::<Copies>, Vec::new());
    for (which, rows) in parts {
        let Some(found) = Copies::find(table, rows, &names) else { continue };
        notes.push(found.sentence(rows.len(), which));
        all = Some(found.and(all));
    }
    (all, notes)
}

/// Refuses validation rows that the file gives if they are those of the training.
pub(super) fn refuse_trained(
    source: &ProblemSource,
    spec: &DataSpec,
    set: Option<&DataSet>,
    table: &Table,
    split: &Split,
) -> Result<()> {
    let key = match (&spec.split_by, &spec.validation) {
        (Some(_), _) => "data.split_by",
        (None, Some(_)) => "data.validation",
        (None, None) => return Ok(()),
    };
    let names = used_columns(spec, set, table).into_iter().map(String::from).collect();
    let prints = Fingerprints::of(table, &split.train, &names);
    match prints.overlap(table, &split.validation) {
        None => Ok(()),
        Some(equal) => {
            let message = format!(
                "{} of the {} validation rows equal training rows, more than chance explains, so they would choose \
                 the model that knows them best: give others, or none",
                grouped(equal),
                grouped(split.validation.len())
            );
            Err(source.at(key, message))
        }
    }
}

/// An error at its key.
pub(super) fn placed(source: &ProblemSource, key: &str, error: Error) -> Error {
    match error {
        Error::Data(error) => source.about(key, error),
        other => source.at(key, other.to_string()),
    }
}

/// 1 − 0.1 − 0.2 is 0.7, whatever binary fractions say.
fn round(x: f64) -> f64 {
    (x * 1e12).round() / 1e12
}
