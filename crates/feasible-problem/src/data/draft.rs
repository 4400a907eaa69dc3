//! Data on their way: read, split, target and inputs fitted on the training rows; then encoded.

use std::collections::BTreeSet;
use std::sync::Arc;

use feasible::Samples;
use feasible_data::image::{ImageSet, Images};
use feasible_data::{
    ClassWeights, DataSet, Encoder, Format, Preprocessing, SampleWeights, Split, Table,
    TargetColumns, TargetEncoder, TargetSpec,
};

use super::parts::{
    Read, TablePart, Together, find_copies, keep_back, placed, read, refuse_trained, selected,
    split, take_validation, used_columns,
};
use super::{Data, TableHash};
use crate::error::{Error, Result};
use crate::gallery;
use crate::held_out::Copies;
use crate::held_out::fingerprints::refuse_copied_units;
use crate::spec::{CertifySpec, DataSpec, ProblemSource};
use crate::store;

/// A table of at most this number of bytes is kept whole; of a larger one only the columns that requirements
/// speak of are kept once it is encoded.
const KEPT_WHOLE: usize = 32 << 20;

/// Data that are read, split and fitted to, but not encoded yet.
#[derive(Debug)]
pub(crate) struct DataDraft {
    pub(crate) table: Table,
    pub(crate) split: Split,
    pub(crate) reserve_rows: Vec<u32>,
    pub(crate) encoder: Encoder,
    pub(crate) target: TargetEncoder,
    pub(super) hashes: Vec<TableHash>,
    pub(super) format: Format,
    pub(super) set: Option<DataSet>,
    pub(crate) images: Option<Arc<Images>>,
    pub(super) notes: Vec<String>,
    pub(super) store_notes: Vec<String>,
    pub(super) took_validation: bool,
    /// Rows that are copies of others, which are in the same part.
    pub(crate) copies: Option<Arc<Copies>>,
    /// The column of weights.
    pub(super) weight: Option<String>,
    /// Whether the table is not kept whole.
    pub(crate) large: bool,
}

impl DataDraft {
    /// Reads and prepares what `[data]` says, and completes `spec` with the defaults it used. A share of
    /// the training rows is kept back if `certify` is given; another is for validation if the file says nothing of
    /// validation rows and `takes_validation`.
    ///
    /// # Errors
    /// Keys that do not go together, files that cannot be read, columns that do not exist.
    pub(crate) fn load(
        source: &ProblemSource,
        spec: &mut DataSpec,
        certify: Option<&CertifySpec>,
        takes_validation: bool,
    ) -> Result<Self> {
        let in_memory = source.tables().in_memory();
        if let Some(name) = in_memory {
            let DataSpec { source: set, folder, train, validation, test, .. } = &*spec;
            let files = [folder, train, validation, test];
            if set.is_some() || files.iter().any(|path| path.is_some()) {
                let message = "the table is in memory and replaces `file`: leave out `source`, `folder`, \
                               `train`, `validation` and `test`";
                return Err(source.at("data", message));
            }
            spec.file.get_or_insert_with(|| name.to_path_buf());
        }
        let store = store::choose(source, spec)?;
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
        let mut format = spec.format.clone().unwrap_or_default();
        if !format.limits.is_default() {
            return Err(
                source.at("data.format.limits", "belongs in a table of its own, [data.limits]")
            );
        }
        format.limits = spec.limits.clone().unwrap_or_default();
        let Read { table, parts, hashes, notes: of_reading } =
            read(source, spec, set.as_ref(), &format)?;
        let set = set.as_ref();
        if spec.rows.is_none() {
            spec.rows = set.and_then(|set| set.keep.map(String::from));
        }
        let parts = selected(source, spec, &table, parts)?;
        let unit = certify.and_then(|certify| certify.unit.as_deref());
        if let Some(unit) = unit {
            let rows: Vec<u32> = parts.iter().flat_map(|(_, rows)| rows).copied().collect();
            refuse_copied_units(&table, &rows, unit, &used_columns(spec, set, &table))
                .map_err(|error| placed(source, "certify.unit", error))?;
        }
        let stated = spec.split.as_ref().is_some_and(|split| split.validation.is_some());
        // What is drawn at once, and what is given.
        let by_column = spec.split_by.is_some();
        let given: Vec<(&str, &[u32])> = match by_column {
            true => Vec::new(),
            false => parts.iter().map(|(part, rows)| (part.rows(), &rows[..])).collect(),
        };
        let find = |spec: &DataSpec, given: &[(&str, &[u32])]| match unit {
            Some(_) => (None, Vec::new()),
            None => find_copies(spec, set, &table, given),
        };
        let (mut copies, mut of_copies) = find(spec, &given);
        let together = Together::new(unit, copies.as_ref());
        let mut split = split(source, spec, set, &table, parts, &together)?;
        if by_column {
            let Split { train, validation, test } = &split;
            let given = [
                (TablePart::Train, train),
                (TablePart::Validation, validation),
                (TablePart::Test, test),
            ];
            let given = given.map(|(part, rows)| (part.rows(), &rows[..]));
            (copies, of_copies) = find(spec, &given);
        }
        let together = Together::new(unit, copies.as_ref());
        if let Some(copies) = &copies {
            split.validation = copies.distinct(&split.validation);
            split.test = copies.distinct(&split.test);
        }
        refuse_trained(source, spec, set, &table, &split)?;
        let reserve_rows = match certify {
            Some(certify) => keep_back(source, certify, &table, &mut split, &together)?,
            None => Vec::new(),
        };
        let target_spec = target_spec(source, spec, set)?;
        // By all rows that are used, so that the split has no part in it.
        let used = [&split.train[..], &split.validation, &split.test, &reserve_rows].concat();
        let decided = target_spec.decide(&table, &used).map_err(|e| source.about("data", e))?;
        let store_notes = store.into_iter().chain(of_reading).collect();
        let mut notes = of_copies;
        notes.extend(decided.1);
        let target_spec = TargetSpec { task: Some(decided.0), ..target_spec };
        let mut target = TargetEncoder::fit(&table, &split.train, &target_spec)
            .map_err(|e| about_target(source, e))?;
        // Inputs are fitted to all rows that the file gives for training, so that taking some of them for validation
        // makes no category unknown.
        let inputs_of = split.train.clone();
        let mut took_validation = false;
        if takes_validation && !stated && split.validation.is_empty() {
            let seed = spec.split.as_ref().map_or(0, |split| split.seed);
            let mut taken = split.clone();
            take_validation(&table, &mut taken, &target, seed, &together)?;
            // Not if a class of a single row would be trained without it.
            let left = TargetEncoder::fit(&table, &taken.train, &target_spec);
            if let Ok(left) = left
                && left.classes() == target.classes()
            {
                // Deviations of targets are those of the rows that are trained on.
                took_validation = !taken.validation.is_empty();
                (split, target) = (taken, left);
            }
        }
        let (encoder, of_columns) =
            fit_inputs(source, spec, set, &table, &inputs_of, &target, unit)?;
        notes.extend(of_columns);
        let set = set.cloned();
        // A file can be read again where freed columns are needed; a table in memory cannot.
        let (images, large) = (None, table.bytes() > KEPT_WHOLE && in_memory.is_none());
        let weight = spec.weight.clone();
        Ok(Self {
            table,
            split,
            reserve_rows,
            encoder,
            target,
            hashes,
            format,
            set,
            images,
            notes,
            store_notes,
            took_validation,
            copies: copies.map(Arc::new),
            weight,
            large,
        })
    }

    /// Data that were read before, with inputs to be encoded as `spec` says, which differs from that of then in nothing else.
    ///
    /// # Errors
    /// As [`DataDraft::load`].
    pub(crate) fn again(
        source: &ProblemSource,
        spec: &mut DataSpec,
        certify: &Option<CertifySpec>,
        known: &Data,
    ) -> Result<Self> {
        let Data { table, split, target, set, .. } = known;
        let mut inputs_of = split.train.clone();
        if known.took_validation {
            inputs_of.extend(&split.validation);
            inputs_of.sort_unstable();
        }
        let unit = certify.as_ref().and_then(|certify| certify.unit.as_deref());
        let (encoder, _) = fit_inputs(source, spec, set.as_ref(), table, &inputs_of, target, unit)?;
        Ok(Self {
            table: table.clone(),
            split: split.clone(),
            reserve_rows: known.reserve_rows.clone(),
            encoder,
            target: target.clone(),
            hashes: known.hashes.clone(),
            format: known.format.clone(),
            set: set.clone(),
            images: None,
            notes: known.notes.clone(),
            store_notes: known.store_notes.clone(),
            took_validation: known.took_validation,
            copies: known.copies.clone(),
            weight: spec.weight.clone(),
            large: false,
        })
    }

    /// Encodes the samples, and weighs them. Of a large table only the columns that are `spoken` of are kept.
    ///
    /// # Errors
    /// Cells that cannot be encoded; weights that are not above 0; weights of classes where there are none.
    pub(crate) fn encode(
        mut self,
        source: &ProblemSource,
        spoken: &BTreeSet<String>,
        class_weights: Option<&ClassWeights>,
    ) -> Result<Data> {
        let split = &self.split;
        // Copies of validation rows are trained on where those are.
        let copied = match (&self.copies, self.took_validation) {
            (Some(copies), true) => copies.copies_of(&split.validation),
            _ => Vec::new(),
        };
        let parts = [&split.train, &split.validation, &split.test, &self.reserve_rows, &copied];
        let parts: Vec<&[u32]> =
            parts.into_iter().filter(|rows| !rows.is_empty()).map(Vec::as_slice).collect();
        let column = |rows: &&[u32]| {
            let weight = self.weight.as_ref();
            weight.map(|weight| SampleWeights::of_column(&self.table, weight, rows)).transpose()
        };
        let columns = parts.iter().map(column).collect::<Result<Vec<_>, _>>();
        let columns = columns.map_err(|error| source.about("data.weight", error))?;
        let samples: Vec<Samples> = match &self.images {
            Some(images) => {
                let samples =
                    |rows: &&[u32]| gallery::samples(images, &self.table, rows, &self.target);
                parts.iter().map(samples).collect::<Result<_>>()?
            }
            None => {
                let keep = |name: &str| !self.large || spoken.contains(name);
                let (inputs, target) = (&self.encoder, &self.target);
                feasible_data::samples_out(&mut self.table, &parts, inputs, target, &keep)?
            }
        };
        let (samples, weights) = self.weigh(source, samples, columns, class_weights)?;
        let mut samples = samples.into_iter().map(Arc::new);
        let mut next = |rows: &[u32]| if rows.is_empty() { None } else { samples.next() };
        let train = next(&self.split.train);
        let train = train.ok_or_else(|| Error::unfit("data", "no rows are left to train on"))?;
        let (validation, test) = (next(&self.split.validation), next(&self.split.test));
        let reserve = next(&self.reserve_rows);
        let copied = next(&copied);
        let Self {
            table,
            split,
            reserve_rows,
            encoder,
            target,
            hashes,
            format,
            set,
            images,
            notes,
            store_notes,
            took_validation,
            copies,
            ..
        } = self;
        Ok(Data {
            copies,
            copied,
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
            notes,
            store_notes,
            took_validation,
            weights,
        })
    }

    /// The samples of each part with their weights, the training rows first.
    fn weigh(
        &self,
        source: &ProblemSource,
        samples: Vec<Samples>,
        columns: Vec<Option<Vec<f64>>>,
        class_weights: Option<&ClassWeights>,
    ) -> Result<(Vec<Samples>, Option<SampleWeights>)> {
        if self.weight.is_none() && class_weights.is_none() {
            return Ok((samples, None));
        }
        let key = "objective.class_weights";
        let classes = match (class_weights, self.target.classes(), samples.first()) {
            (Some(_), None, _) => {
                let message = "has no effect: a number is predicted, not classes. Remove it";
                return Err(source.at(key, message));
            }
            (Some(weights), Some(classes), Some(train)) => {
                let column = columns.first().and_then(Option::as_deref);
                let fitted = weights.fit(classes, train.targets(), column);
                let fitted = fitted.map_err(|error| match error {
                    feasible_data::Error::UnknownCategory { category, nearest, known, .. } => {
                        let column = self.target.column().to_string();
                        feasible_data::Error::UnknownCategory { column, category, nearest, known }
                    }
                    other => other,
                });
                Some(fitted.map_err(|error| source.at(key, error.to_string()))?)
            }
            _ => None,
        };
        let weights = SampleWeights { column: self.weight.clone(), classes };
        let weigh = |(samples, column)| Ok(weights.weigh(samples, column)?);
        let samples = samples.into_iter().zip(columns).map(weigh).collect::<Result<_>>()?;
        Ok((samples, Some(weights)))
    }
}

/// The inputs, fitted to these rows, and what was decided about columns; `spec` is completed with the defaults.
fn fit_inputs(
    source: &ProblemSource,
    spec: &mut DataSpec,
    set: Option<&DataSet>,
    table: &Table,
    rows: &[u32],
    target: &TargetEncoder,
    unit: Option<&str>,
) -> Result<(Encoder, Vec<String>)> {
    let default = set.map_or_else(Preprocessing::default, |set| set.preprocessing.clone());
    let preprocessing = spec.preprocessing(&default);
    let mut apart = target.columns();
    if let Some(by) = &spec.split_by {
        apart.push(&by.column);
    }
    // An identifier is not an input, unless the file says so.
    let asked = |unit: &&str| preprocessing.columns.iter().flatten().any(|name| name == unit);
    apart.extend(unit.filter(|unit| !asked(unit)));
    if let Some(weight) = &spec.weight {
        table.column(weight).map_err(|e| source.about("data.weight", e))?;
        if target.columns().contains(&weight.as_str()) || asked(&weight.as_str()) {
            let message =
                "is the weight of the rows, so it cannot also be predicted or be an input";
            return Err(source.at("data.weight", message));
        }
        apart.push(weight);
    }
    let fitted = Encoder::fit_noted(table, rows, &preprocessing, &apart);
    let fitted = fitted.map_err(|e| source.about("data", e))?;
    spec.set_preprocessing(&preprocessing);
    Ok(fitted)
}

/// An error of the target, at the key that names it if it is about what the column holds.
fn about_target(source: &ProblemSource, error: feasible_data::Error) -> Error {
    let section = match error {
        feasible_data::Error::RoundedTarget { .. } | feasible_data::Error::OneClass { .. } => {
            "data.target"
        }
        _ => "data",
    };
    source.about(section, error)
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

fn target_spec(
    source: &ProblemSource,
    spec: &mut DataSpec,
    set: Option<&DataSet>,
) -> Result<TargetSpec> {
    let own = spec.target.is_some();
    let default = set.map(|set| set.target.clone()).filter(|_| !own);
    let (columns, positive, group, task) = match default {
        Some(t) => (TargetColumns::One(t.column), t.positive, t.group, t.task),
        None => {
            let columns = spec.target.clone().ok_or_else(|| {
                source.at("data", "the key 'target' is missing: name the column to predict")
            })?;
            (columns, None, Default::default(), None)
        }
    };
    let Some((column, others)) = columns.names().split_first() else {
        return Err(source.at("data.target", "the list is empty: name the columns to predict"));
    };
    let target = TargetSpec {
        column: column.clone(),
        others: others.to_vec(),
        positive: spec.positive.clone().or(positive),
        group: spec.target_group.clone().unwrap_or(group),
        task: spec.task.or(task),
    };
    // A list of one is the name.
    spec.target = Some(match others.is_empty() {
        true => TargetColumns::One(column.clone()),
        false => columns.clone(),
    });
    spec.positive.clone_from(&target.positive);
    spec.target_group = Some(target.group.clone()).filter(|group| !group.is_empty());
    spec.task = target.task;
    Ok(target)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    /// Encoded whole and encoded as a large table is.
    fn both(text: &str) -> [Data; 2] {
        let source = ProblemSource::new("t.toml", text);
        [false, true].map(|large| {
            let mut spec = source.parse(&[]).unwrap();
            let mut draft = DataDraft::load(&source, &mut spec.data, None, false).unwrap();
            assert!(!draft.large);
            draft.large = large;
            draft.encode(&source, &BTreeSet::from(["city".to_string()]), None).unwrap()
        })
    }

    #[test]
    fn a_large_table_is_encoded_alike_and_its_rows_are_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let mut csv = String::from("age,city,note,y\n");
        for i in 0..60 {
            let (city, note) = (["Rome", "Oslo"][i % 2], ["\"a, b\"", "c", "d"][i % 3]);
            writeln!(csv, "{}.5,{city},{note},{}", 20 + i % 13, i % 4 / 3).unwrap();
        }
        let files = ["train", "test"].map(|part| {
            let file = directory.path().join(format!("{part}.csv"));
            std::fs::write(&file, &csv).unwrap();
            format!("{part} = {:?}\n", file.display().to_string())
        });
        let [whole, large] = both(&format!("[data]\n{}target = \"y\"\n", files.concat()));
        assert!(whole.table.taken().is_empty());
        let taken: Vec<&str> = large.table.taken().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(taken, ["age", "note", "y"]);
        for (a, b) in [
            (&whole.train, &large.train),
            (whole.test.as_ref().unwrap(), large.test.as_ref().unwrap()),
        ] {
            assert_eq!(a.targets(), b.targets());
            assert_eq!(a.ids(), b.ids());
            for row in 0..a.len() {
                assert_eq!(a.inputs().hot(row), b.inputs().hot(row));
                assert_eq!(a.inputs().dense_row(row), b.inputs().dense_row(row));
            }
        }
        // Rows of both files, in no order, twice the same.
        let rows = [119, 3, 60, 0, 7, 3];
        let columns = ["age", "city", "note", "y"].map(String::from);
        assert_eq!(whole.cells(&rows, &columns).unwrap(), large.cells(&rows, &columns).unwrap());
    }
}
