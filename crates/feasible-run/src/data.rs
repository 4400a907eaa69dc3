//! Tables of a problem: read, hashed, split; target and inputs fitted on the training rows.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use feasible::{InputsBuilder, Samples, Targets};
use feasible_data::image::{ImageSet, Images, Shape};
use feasible_data::{
    DataSet, Encoder, Expression, Format, Fractions, Preprocessing, Split, Table, TargetEncoder,
    TargetSpec, UnknownLevels,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::gallery::{self, Gallery};
use crate::spec::{CertifySpec, DataSpec, PerClassSpec, Source, SplitSpec};

/// A table of a run and the SHA-256 of its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableHash {
    /// The file.
    pub table: String,
    /// In hexadecimal.
    pub sha256: String,
}

/// A table of at most so many bytes is kept whole; of a larger one only the columns that requirements
/// speak of are kept once it is encoded.
const KEPT_WHOLE: usize = 32 << 20;

/// The data of a problem, ready to be learned from.
#[derive(Clone, Debug)]
pub struct Data {
    /// All rows of all tables; of large tables not all columns ([`Table::taken`]).
    pub table: Table,
    /// Which rows are for training, validation and test.
    pub split: Split,
    /// Rows kept back for a certificate: nothing is fitted to them.
    pub reserve_rows: Vec<u32>,
    /// The inputs.
    pub encoder: Encoder,
    /// The target.
    pub target: TargetEncoder,
    /// What was read.
    pub hashes: Vec<TableHash>,
    /// How tables are written.
    pub format: Format,
    /// The embedded set the data are from.
    pub set: Option<DataSet>,
    /// The images, if the data are images; their table then has a row for each.
    pub images: Option<Arc<Images>>,
    /// The samples of each part; their ids are row numbers of the table.
    pub train: Arc<Samples>,
    /// Validation samples, if there are any.
    pub validation: Option<Arc<Samples>>,
    /// Test samples, if there are any.
    pub test: Option<Arc<Samples>>,
    /// Reserved samples, if there are any.
    pub reserve: Option<Arc<Samples>>,
}

/// SHA-256 of bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn sha256_of_file(path: &Path) -> Result<String> {
    let name = || path.display().to_string();
    let failed = |source| Error::Storage { operation: "read", path: name(), source };
    let mut file = std::fs::File::open(path).map_err(failed)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match std::io::Read::read(&mut file, &mut buffer).map_err(failed)? {
            0 => break,
            read => hash.update(&buffer[..read]),
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Data that are read, split and fitted to, but not encoded yet.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) table: Table,
    pub(crate) split: Split,
    pub(crate) reserve_rows: Vec<u32>,
    pub(crate) encoder: Encoder,
    pub(crate) target: TargetEncoder,
    hashes: Vec<TableHash>,
    format: Format,
    set: Option<DataSet>,
    pub(crate) images: Option<Arc<Images>>,
}

struct Read {
    table: Table,
    /// Rows by file: training, validation, test; one part if there is one table.
    parts: Vec<(Part, Vec<u32>)>,
    hashes: Vec<TableHash>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Train,
    Validation,
    Test,
}

impl Draft {
    /// Reads and prepares what `[data]` says, and completes `spec` with the defaults it used. A share of
    /// the training rows is kept back if `certify` is given.
    ///
    /// # Errors
    /// Keys that do not go together, files that cannot be read, columns that do not exist.
    pub(crate) fn load(
        source: &Source,
        spec: &mut DataSpec,
        certify: Option<&CertifySpec>,
    ) -> Result<Self> {
        if spec.is_images() {
            return Self::load_images(source, spec, certify);
        }
        let set = match &spec.source {
            Some(name) => Some(known_set(name).map_err(|e| source.about("data.source", e))?),
            None => None,
        };
        if spec.per_class.is_some() {
            return Err(source.at("data.per_class", "is for images: a table has `split`"));
        }
        if spec.augment.is_some() {
            return Err(source.at("data.augment", "is for images: the data are a table"));
        }
        let format = spec.format.clone().unwrap_or_default();
        let Read { table, parts, hashes } = read(source, spec, set.as_ref(), &format)?;
        let set = set.as_ref();
        if spec.rows.is_none() {
            spec.rows = set.and_then(|set| set.keep.map(String::from));
        }
        let parts = selected(source, spec, &table, parts)?;
        let mut split = split(source, spec, set, &table, parts)?;
        let reserve_rows = match certify {
            Some(certify) => keep_back(source, certify, &table, &mut split)?,
            None => Vec::new(),
        };
        let target_spec = target_spec(source, spec, set)?;
        let target = TargetEncoder::fit(&table, &split.train, &target_spec)
            .map_err(|e| source.about("data", e))?;
        let default = set.map_or_else(Preprocessing::default, |set| set.preprocessing.clone());
        let preprocessing = spec.preprocessing(&default);
        let mut apart = vec![target.column()];
        if let Some(by) = &spec.split_by {
            apart.push(&by.column);
        }
        let encoder = Encoder::fit(&table, &split.train, &preprocessing, &apart)
            .map_err(|e| source.about("data", e))?;
        spec.set_preprocessing(&preprocessing);
        let set = set.cloned();
        let images = None;
        Ok(Self { table, split, reserve_rows, encoder, target, hashes, format, set, images })
    }

    /// Whether the table is not kept whole.
    pub(crate) fn is_large(&self) -> bool {
        self.table.bytes() > KEPT_WHOLE
    }

    /// Encodes the samples. Of a large table all columns but those that are `spoken` of are let go.
    ///
    /// # Errors
    /// Cells that cannot be encoded.
    pub(crate) fn encode(mut self, spoken: &BTreeSet<String>) -> Result<Data> {
        let large = self.is_large();
        let split = &self.split;
        let parts = [&split.train, &split.validation, &split.test, &self.reserve_rows];
        let parts: Vec<&[u32]> =
            parts.into_iter().filter(|rows| !rows.is_empty()).map(Vec::as_slice).collect();
        let samples: Vec<Samples> = match &self.images {
            Some(images) => {
                let samples =
                    |rows: &&[u32]| gallery::samples(images, &self.table, rows, &self.target);
                parts.iter().map(samples).collect::<Result<_>>()?
            }
            None => {
                let keep = |name: &str| !large || spoken.contains(name);
                let (inputs, target) = (&self.encoder, &self.target);
                feasible_data::samples_out(&mut self.table, &parts, inputs, target, &keep)?
            }
        };
        let mut samples = samples.into_iter().map(Arc::new);
        let mut next = |rows: &[u32]| if rows.is_empty() { None } else { samples.next() };
        let train = next(&self.split.train);
        let train = train.ok_or_else(|| Error::unfit("data", "no row is left to train on"))?;
        let (validation, test) = (next(&self.split.validation), next(&self.split.test));
        let reserve = next(&self.reserve_rows);
        let Self { table, split, reserve_rows, encoder, target, hashes, format, set, images } =
            self;
        Ok(Data {
            train,
            validation,
            test,
            reserve,
            table,
            split,
            reserve_rows,
            encoder,
            target,
            hashes,
            format,
            set,
            images,
        })
    }

    fn load_images(
        source: &Source,
        spec: &mut DataSpec,
        certify: Option<&CertifySpec>,
    ) -> Result<Self> {
        only_image_keys(source, spec)?;
        let gallery = match (&spec.folder, &spec.source) {
            (Some(_), Some(_)) => {
                return Err(source.at("data.folder", "give only one of `source` and `folder`"));
            }
            (Some(folder), None) => Gallery::folder(folder)?,
            (None, name) => {
                let name = name.as_deref().unwrap_or_default();
                Gallery::named(name, spec.directory.as_deref())?
            }
        };
        let given = gallery.split();
        let parts = match given.validation.is_empty() && given.test.is_empty() {
            true => vec![(Part::All, given.train.clone())],
            false => vec![
                (Part::Train, given.train.clone()),
                (Part::Validation, given.validation.clone()),
                (Part::Test, given.test.clone()),
            ],
        };
        let parts = selected(source, spec, gallery.table(), parts)?;
        let known = spec.source.is_some();
        // As in the paper, unless a share was asked for.
        let usual = (known && spec.split.is_none()).then_some(100);
        let mut split = split(source, spec, None, gallery.table(), parts)?;
        let mut per_class = spec.per_class.unwrap_or_default();
        per_class.validation =
            per_class.validation.or(usual.filter(|_| split.validation.is_empty()));
        let PerClassSpec { train, validation, test, seed } = per_class;
        let images = gallery.images();
        let wrong = |error: feasible_data::Error| source.at("data.per_class", error.to_string());
        if [train, validation, test].contains(&Some(0)) {
            return Err(source.at("data.per_class", "must be at least 1 in each part"));
        }
        if let Some(count) = validation {
            if !split.validation.is_empty() {
                let message = "validation images are already set apart by the folder or by `split`";
                return Err(source.at("data.per_class.validation", message));
            }
            (split.train, split.validation) =
                images.hold_out(&split.train, count, seed).map_err(wrong)?;
        }
        if let Some(count) = train {
            split.train = images.at_most(&split.train, count, seed).map_err(wrong)?;
        }
        if let Some(count) = test {
            split.test = images.at_most(&split.test, count, seed).map_err(wrong)?;
        }
        spec.per_class = Some(per_class).filter(|given| *given != PerClassSpec::default());
        let reserve_rows = match certify {
            Some(certify) => keep_back(source, certify, gallery.table(), &mut split)?,
            None => Vec::new(),
        };
        let classes = gallery.classes_of(&split.train);
        if classes.len() < 2 {
            let message = format!(
                "the training images of {} are all of one class, '{}': there is nothing to learn",
                gallery.table().name(),
                classes.concat()
            );
            return Err(source.at("data", message));
        }
        let target = TargetEncoder::of_classes(gallery::CLASS, classes);
        let hashes = gallery.hashes();
        let (images, _, table) = gallery.into_parts();
        Ok(Self {
            table,
            split,
            reserve_rows,
            encoder: Encoder::of_nothing(),
            target,
            hashes,
            format: Format::default(),
            set: None,
            images: Some(images),
        })
    }
}

impl Data {
    /// The size of an image, if the data are images.
    pub fn image_shape(&self) -> Option<Shape> {
        self.images.as_ref().map(|images| images.shape())
    }

    /// What a reader of the data should know: files of a folder that were left out.
    pub fn warnings(&self) -> &[String] {
        self.images.as_ref().map_or(&[], |images| &images.identity().warnings)
    }

    /// The samples of some rows that were held out: reserved, or else for test.
    ///
    /// # Errors
    /// Rows that are not.
    pub(crate) fn held_out(&self, rows: &[u32]) -> Result<Arc<Samples>> {
        let parts = [(&self.reserve_rows, &self.reserve), (&self.split.test, &self.test)];
        for (all, samples) in parts {
            let Some(samples) = samples else { continue };
            if all == rows {
                return Ok(samples.clone());
            }
            let place = |row: &u32| all.binary_search(row).ok();
            if let Some(places) = rows.iter().map(place).collect::<Option<Vec<usize>>>() {
                return Ok(Arc::new(chosen(samples, &places)?));
            }
        }
        Err(Error::unfit(self.table.name(), "its rows were not held out"))
    }

    /// The cells of some rows as text, `None` where one is missing. Columns that were let go are read
    /// again from the files.
    ///
    /// # Errors
    /// Unknown columns; files that cannot be read any more.
    pub fn cells(&self, rows: &[u32], columns: &[String]) -> Result<Vec<Vec<Option<String>>>> {
        let of = |table: &Table, row: usize| -> Result<Vec<Option<String>>> {
            columns.iter().map(|column| Ok(table.column(column)?.text(row))).collect()
        };
        if self.table.taken().is_empty() {
            return rows.iter().map(|&row| of(&self.table, row as usize)).collect();
        }
        let mut format = self.format.clone();
        format.kinds.extend(self.table.taken().iter().cloned());
        let mut cells = vec![Vec::new(); rows.len()];
        for TableHash { table: file, .. } in &self.hashes {
            let origin = |(at, &row): (usize, &u32)| {
                let (of, line) = self.table.origin(row as usize);
                (of == file).then_some((line, at))
            };
            let here: Vec<(u64, usize)> = rows.iter().enumerate().filter_map(origin).collect();
            let lines: BTreeSet<u64> = here.iter().map(|(line, _)| *line).collect();
            let lines: Vec<u64> = lines.into_iter().collect();
            if lines.is_empty() {
                continue;
            }
            let table = Table::read_lines(Path::new(file), &format, &lines)?;
            for (line, at) in here {
                cells[at] = of(&table, lines.partition_point(|&other| other < line))?;
            }
        }
        Ok(cells)
    }

    /// Without what only validating and testing need.
    pub(crate) fn of_training(mut self) -> Self {
        (self.validation, self.test, self.reserve) = (None, None, None);
        self
    }
}

/// Some of the samples.
fn chosen(of: &Samples, places: &[usize]) -> Result<Samples> {
    let inputs = of.inputs();
    let dense_columns = inputs.dense_columns().to_vec();
    let mut builder = InputsBuilder::new(inputs.width(), dense_columns, places.len())?;
    for &at in places {
        builder.push(inputs.dense_row(at), inputs.hot(at))?;
    }
    let targets = match of.targets() {
        Targets::Classes(y) => Targets::Classes(places.iter().map(|&at| y[at]).collect()),
        Targets::Values(y) => Targets::Values(places.iter().map(|&at| y[at]).collect()),
    };
    let ids = places.iter().map(|&at| of.ids()[at]).collect();
    Ok(Samples::with_ids(builder.finish(), targets, ids)?)
}

/// The table of this name; the names of images count as known, too.
fn known_set(name: &str) -> Result<DataSet, feasible_data::Error> {
    DataSet::named(name).map_err(|error| match error {
        feasible_data::Error::UnknownDataSet { name, mut known, .. } => {
            known.extend(ImageSet::all().iter().map(|set| set.name.to_string()));
            let nearest = feasible_data::nearest(&name, known.iter().map(String::as_str));
            feasible_data::Error::UnknownDataSet { name, nearest, known }
        }
        other => other,
    })
}

/// Keys that only a table has a use for are not silently ignored.
fn only_image_keys(source: &Source, spec: &DataSpec) -> Result<()> {
    let others = DataSpec {
        source: None,
        directory: None,
        folder: None,
        per_class: None,
        augment: None,
        rows: None,
        split: None,
        ..spec.clone()
    };
    let text = toml::Table::try_from(&others).unwrap_or_default();
    match text.keys().next() {
        Some(key) => Err(source.at(
            &format!("data.{key}"),
            "is for tables: images have `source` or `folder`, `directory`, `per_class`, `augment`, `rows`, \
             `split`",
        )),
        None => Ok(()),
    }
}

/// The rows that `rows` selects.
fn selected(
    source: &Source,
    spec: &DataSpec,
    table: &Table,
    mut parts: Vec<(Part, Vec<u32>)>,
) -> Result<Vec<(Part, Vec<u32>)>> {
    let Some(text) = &spec.rows else { return Ok(parts) };
    let expression = Expression::parse(text).map_err(|e| source.at("data.rows", e.to_string()))?;
    let filter = expression.bind(table, None, UnknownLevels::Reject);
    let keep = filter.map_err(|e| source.about("data.rows", e))?.mask();
    for (_, rows) in &mut parts {
        rows.retain(|&row| keep[row as usize]);
    }
    Ok(parts)
}

fn read(source: &Source, spec: &DataSpec, set: Option<&DataSet>, format: &Format) -> Result<Read> {
    let by_file = [
        (Part::Train, &spec.train),
        (Part::Validation, &spec.validation),
        (Part::Test, &spec.test),
    ];
    let any_part = by_file.iter().any(|(_, path)| path.is_some());
    match (set, &spec.file, any_part) {
        (Some(set), None, false) => {
            let (tables, hashes) = match &spec.directory {
                Some(directory) => {
                    let hash = |file: &&str| {
                        let path = directory.join(file);
                        let sha256 = sha256_of_file(&path)?;
                        Ok(TableHash { table: path.display().to_string(), sha256 })
                    };
                    let hashes = set.original_files().iter().map(hash).collect::<Result<_>>()?;
                    (set.tables_from(directory)?, hashes)
                }
                None => {
                    let hash = |part: &feasible_data::embedded::Part| TableHash {
                        table: part.file.to_string(),
                        sha256: sha256(part.bytes),
                    };
                    (set.tables()?, set.parts.iter().map(hash).collect())
                }
            };
            let kinds: &[Part] =
                if tables.len() == 1 { &[Part::All] } else { &[Part::Train, Part::Test] };
            stack(set.name, kinds.iter().copied().zip(tables).collect(), hashes)
        }
        (None, Some(path), false) => {
            let hash =
                TableHash { table: path.display().to_string(), sha256: sha256_of_file(path)? };
            let table = Table::read(path, format)?;
            stack(&hash.table.clone(), vec![(Part::All, table)], vec![hash])
        }
        (None, None, true) => {
            if spec.train.is_none() {
                return Err(source.at("data", "tables are split by file, but `train` is missing"));
            }
            let mut tables = Vec::new();
            let mut hashes = Vec::new();
            for (part, path) in by_file {
                if let Some(path) = path {
                    let table = path.display().to_string();
                    hashes.push(TableHash { table, sha256: sha256_of_file(path)? });
                    tables.push((part, Table::read(path, format)?));
                }
            }
            stack("the tables", tables, hashes)
        }
        (None, None, false) => Err(source.at(
            "data",
            "no data: give `source` (an embedded set), `file`, or `train` with `test`",
        )),
        _ => Err(source.at("data", "give only one of `source`, `file`, and `train` with `test`")),
    }
}

fn stack(name: &str, tables: Vec<(Part, Table)>, hashes: Vec<TableHash>) -> Result<Read> {
    let (kinds, tables): (Vec<Part>, Vec<Table>) = tables.into_iter().unzip();
    let (table, ranges) = Table::stack(name, tables)?;
    let parts = kinds.into_iter().zip(ranges.into_iter().map(Iterator::collect)).collect();
    Ok(Read { table, parts, hashes })
}

/// The split by file, by column or by fractions; training rows give some to validation if asked.
fn split(
    source: &Source,
    spec: &mut DataSpec,
    set: Option<&DataSet>,
    table: &Table,
    parts: Vec<(Part, Vec<u32>)>,
) -> Result<Split> {
    if spec.split.is_some() && spec.split_by.is_some() {
        return Err(source.at("data.split", "give only one of `split` and `split_by`"));
    }
    let split_error = |e| source.about("data.split", e);
    if let [(Part::All, rows)] = &parts[..] {
        if let Some(by) = &spec.split_by {
            return Split::by_column(table, rows, by).map_err(|e| source.about("data.split_by", e));
        }
        let default = set.and_then(|set| set.split.clone()).unwrap_or_default();
        let given = spec.split.clone().unwrap_or(SplitSpec {
            train: Some(default.train),
            validation: Some(default.validation),
            test: Some(default.test),
            seed: default.seed,
            stratify: default.stratify.clone(),
        });
        let validation = given.validation.unwrap_or(0.0);
        let test = given.test.unwrap_or(default.test);
        let train = given.train.unwrap_or(round(1.0 - validation - test));
        let fractions = Fractions {
            train,
            validation,
            test,
            seed: given.seed,
            stratify: given.stratify.clone(),
        };
        spec.split = Some(SplitSpec {
            train: Some(train),
            validation: Some(validation),
            test: Some(test),
            ..given
        });
        return Split::stratified(table, rows, &fractions).map_err(split_error);
    }
    if spec.split_by.is_some() {
        return Err(source.at("data.split_by", "the tables are already split by file"));
    }
    let of = |wanted: Part| -> Vec<u32> {
        let rows = parts.iter().filter(|(part, _)| *part == wanted);
        rows.flat_map(|(_, rows)| rows.iter().copied()).collect()
    };
    let mut split =
        Split { train: of(Part::Train), validation: of(Part::Validation), test: of(Part::Test) };
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
        let inner = Split::stratified(table, &split.train, &fractions).map_err(split_error)?;
        (split.train, split.validation) = (inner.train, inner.validation);
    }
    if split.train.is_empty() {
        return Err(source.at("data", "no row is left to train on: check `rows` and the split"));
    }
    Ok(split)
}

/// Takes the reserve out of the training rows.
fn keep_back(
    source: &Source,
    certify: &CertifySpec,
    table: &Table,
    split: &mut Split,
) -> Result<Vec<u32>> {
    let share = certify.reserve.unwrap_or(0.2);
    let fractions = Fractions {
        train: round(1.0 - share),
        validation: share,
        test: 0.0,
        seed: certify.seed.unwrap_or(0),
        stratify: None,
    };
    let inner = Split::stratified(table, &split.train, &fractions)
        .map_err(|error| source.about("certify.reserve", error))?;
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

/// 1 − 0.1 − 0.2 is 0.7, whatever binary fractions say.
fn round(x: f64) -> f64 {
    (x * 1e12).round() / 1e12
}

fn target_spec(source: &Source, spec: &mut DataSpec, set: Option<&DataSet>) -> Result<TargetSpec> {
    let own = spec.target.is_some();
    let default = set.map(|set| set.target.clone()).filter(|_| !own);
    let (column, positive, group, task) = match default {
        Some(t) => (t.column, t.positive, t.group, t.task),
        None => {
            let column = spec.target.clone().ok_or_else(|| {
                source.at("data", "the key 'target' is missing: name the column to predict")
            })?;
            (column, None, Default::default(), None)
        }
    };
    let target = TargetSpec {
        column,
        positive: spec.positive.clone().or(positive),
        group: spec.target_group.clone().unwrap_or(group),
        task: spec.task.or(task),
    };
    spec.target = Some(target.column.clone());
    spec.positive.clone_from(&target.positive);
    spec.target_group = Some(target.group.clone()).filter(|group| !group.is_empty());
    spec.task = target.task;
    Ok(target)
}
