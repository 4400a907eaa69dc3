//! A run in memory: its files as a run directory has them, and its model ready to use.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use feasible_data::Unseen;
use feasible_problem::Plan;
use feasible_problem::data::Data;
use feasible_problem::spec::CertifySpec;
use feasible_report::Report;
use feasible_run::export::NumberInputs;
use feasible_run::multipliers::read_multipliers;
use feasible_run::{
    Directory, Memory, RunRecord, SavedModel, Scores, Storage, disk, files, write_whole,
};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Deserialize;

use crate::error::{FeasibleError, refused, refused_run};
use crate::table::Table;

/// A trained model and the files of its run.
#[pyclass(module = "feasible._feasible", frozen)]
pub(crate) struct Run {
    files: BTreeMap<String, Vec<u8>>,
    model: SavedModel,
    /// The data of the training, in the process that trained.
    data: Option<Arc<Data>>,
}

/// One requirement's multipliers: its name, whether each row has one, rows, multipliers, violations.
type RequirementMultipliers<'py> =
    (String, bool, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

impl Run {
    pub(crate) fn of_training(plan: &Plan, storage: &Memory) -> PyResult<Self> {
        let mut files = BTreeMap::new();
        for name in storage.list().map_err(refused)? {
            // A run that is complete goes on from nowhere.
            if name != files::CHECKPOINT {
                files.insert(name.clone(), storage.read(&name).map_err(refused)?);
            }
        }
        Self::new(files, Some(plan.shared_data()))
    }

    fn new(files: BTreeMap<String, Vec<u8>>, data: Option<Arc<Data>>) -> PyResult<Self> {
        let Some(bytes) = files.get(files::MODEL) else {
            let message = format!("there is no {}: the training is not complete", files::MODEL);
            return Err(FeasibleError::new_err(message));
        };
        let model = SavedModel::from_bytes(files::MODEL, bytes).map_err(refused_run)?;
        Ok(Self { files, model, data })
    }

    /// Calls `with` with a directory that has the files of the run.
    fn in_directory<R>(&self, with: impl FnOnce(&Path) -> PyResult<R>) -> PyResult<R> {
        let directory = tempfile::tempdir().map_err(refused)?;
        for (name, bytes) in &self.files {
            std::fs::write(directory.path().join(name), bytes).map_err(refused)?;
        }
        with(directory.path())
    }

    fn needs_run(&self, what: &str) -> PyResult<()> {
        if self.files.contains_key(files::RUN) {
            return Ok(());
        }
        Err(FeasibleError::new_err(format!(
            "{what} needs the run directory that the model was saved with, not the model file alone"
        )))
    }

    fn scores(
        &self,
        py: Python<'_>,
        table: &mut Table,
        unseen: Option<&str>,
        threads: usize,
    ) -> PyResult<Scores> {
        let (table, unseen) = (table.take()?, policy(unseen)?);
        if let Some(sentence) = self.model.outside(&table) {
            let sentence = CString::new(sentence.replace('\0', " "))?;
            // Above the method of the estimator.
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &sentence, 2)?;
        }
        py.detach(|| self.model.scores(&table, unseen, threads)).map_err(refused_run)
    }
}

/// The settings of a certificate, as JSON: those of `[certify]`, and for which other populations it is to hold.
pub(crate) fn certify_settings(json: &str) -> PyResult<CertifySpec> {
    #[derive(Deserialize)]
    struct Asked {
        shift: Option<f64>,
        base_rate: Option<(f64, f64)>,
        #[serde(flatten)]
        of_file: CertifySpec,
    }
    let Asked { shift, base_rate, of_file } = serde_json::from_str(json).map_err(refused)?;
    Ok(CertifySpec { shift, base_rate, ..of_file })
}

fn policy(unseen: Option<&str>) -> PyResult<Option<Unseen>> {
    match unseen {
        None => Ok(None),
        Some("error") => Ok(Some(Unseen::Error)),
        Some("other") => Ok(Some(Unseen::Other)),
        Some(other) => {
            let message = format!("unseen: '{other}' is neither 'error' nor 'other'");
            Err(FeasibleError::new_err(message))
        }
    }
}

#[pymethods]
impl Run {
    /// Reads a run directory, or a model file.
    #[staticmethod]
    fn open(path: PathBuf) -> PyResult<Self> {
        let shown = path.display();
        let mut found = BTreeMap::new();
        if path.is_dir() {
            let listed = std::fs::read_dir(&path).map_err(refused)?;
            for entry in listed {
                let name = entry.map_err(refused)?.file_name().to_string_lossy().into_owned();
                let wanted = files::is_ours(&name) && name != files::CHECKPOINT;
                if wanted && path.join(&name).is_file() {
                    let bytes = files::read_file(&path, &name).map_err(refused)?;
                    found.insert(name, bytes);
                }
            }
            if !found.contains_key(files::MODEL) {
                let message = format!(
                    "{shown} is not the directory of a run that is complete: it has no {}",
                    files::MODEL
                );
                return Err(FeasibleError::new_err(message));
            }
        } else {
            let bytes = disk::open(&path)
                .and_then(|file| disk::read_within(file, u64::MAX))
                .map_err(|error| refused(format!("cannot read {shown}: {error}")))?;
            found.insert(files::MODEL.to_string(), bytes);
        }
        Self::new(found, None)
    }

    /// From the files that `files` gives.
    #[staticmethod]
    fn from_files(files: BTreeMap<String, Vec<u8>>) -> PyResult<Self> {
        Self::new(files, None)
    }

    /// Every file by name.
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (name, bytes) in &self.files {
            all.set_item(name, PyBytes::new(py, bytes))?;
        }
        Ok(all)
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>,))> {
        let files = self.files(py)?;
        // The page is of the data, which stay here.
        if self.data.is_some() && !self.files.contains_key(files::REPORT) {
            let (page, card) = self.report(py)?;
            files.set_item(files::REPORT, PyBytes::new(py, page.as_bytes()))?;
            if let Some(card) = card {
                files.set_item(files::MODEL_CARD, PyBytes::new(py, card.as_bytes()))?;
            }
        }
        Ok((py.get_type::<Self>().getattr("from_files")?, (files,)))
    }

    /// The classes, in the order of the probabilities; none if a number is predicted.
    #[getter]
    fn classes(&self) -> Option<Vec<String>> {
        self.model.manifest().target.classes().map(<[String]>::to_vec)
    }

    /// The column that is predicted.
    #[getter]
    fn target(&self) -> String {
        self.model.manifest().target.column().to_string()
    }

    /// The columns that the model is made of, in order.
    #[getter]
    fn inputs(&self) -> Vec<String> {
        let variables = self.model.manifest().inputs.variables();
        variables.iter().map(|variable| variable.column.clone()).collect()
    }

    /// The columns that a table needs besides, to be audited or certified.
    #[getter]
    fn spoken_of(&self) -> Vec<String> {
        self.model.manifest().expression_columns.keys().cloned().collect()
    }

    /// The column that rows were weighed by.
    #[getter]
    fn weight(&self) -> Option<String> {
        self.model.manifest().weights.as_ref()?.column.clone()
    }

    /// The column that thresholds depend on.
    #[getter]
    fn decided_by(&self) -> Option<String> {
        let decision = self.model.manifest().training.decision.as_ref()?;
        decision.groups.as_ref().map(|groups| groups.column.clone())
    }

    /// How it was trained and what it achieved, as JSON.
    fn summary(&self) -> PyResult<String> {
        serde_json::to_string(&self.model.manifest().training).map_err(refused)
    }

    /// The same for people.
    fn text(&self) -> String {
        self.model.manifest().training.to_text()
    }

    /// The requirements, groups written out, as JSON.
    fn requirements(&self) -> PyResult<String> {
        serde_json::to_string(&self.model.manifest().requirements).map_err(refused)
    }

    /// The problem file with every default filled in.
    fn problem(&self) -> Option<String> {
        let bytes = self.files.get(files::PROBLEM)?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// The number of the predicted class of every row.
    #[pyo3(signature = (table, unseen=None, threads=1))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        table: &mut Table,
        unseen: Option<&str>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let scores = self.scores(py, table, unseen, threads)?;
        let classes: Vec<i64> = (0..scores.len()).map(|row| scores.class(row) as i64).collect();
        Ok(classes.into_pyarray(py))
    }

    /// The predicted number of every row.
    #[pyo3(signature = (table, unseen=None, threads=1))]
    fn values<'py>(
        &self,
        py: Python<'py>,
        table: &mut Table,
        unseen: Option<&str>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let scores = self.scores(py, table, unseen, threads)?;
        let values: Vec<f64> = (0..scores.len()).map(|row| scores.value(row)).collect();
        Ok(values.into_pyarray(py))
    }

    /// The probabilities of the classes.
    #[pyo3(signature = (table, unseen=None, threads=1))]
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        table: &mut Table,
        unseen: Option<&str>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let scores = self.scores(py, table, unseen, threads)?;
        let probabilities = py.detach(|| scores.probabilities());
        let shape = (scores.len(), probabilities.len() / scores.len().max(1));
        let matrix = Array2::from_shape_vec(shape, probabilities).map_err(refused)?;
        Ok(matrix.into_pyarray(py))
    }

    /// Of two classes one column, positive where the second is predicted; of more, the outputs of the model.
    #[pyo3(signature = (table, unseen=None, threads=1))]
    fn decisions<'py>(
        &self,
        py: Python<'py>,
        table: &mut Table,
        unseen: Option<&str>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let scores = self.scores(py, table, unseen, threads)?;
        let rows = scores.len();
        let numbers: Vec<f64> = match self.model.manifest().target.classes() {
            Some([_, _]) => (0..rows).map(|row| scores.contrast(row)).collect(),
            _ => (0..rows).flat_map(|row| scores.row(row).iter().map(|&x| f64::from(x))).collect(),
        };
        let shape = (rows, numbers.len() / rows.max(1));
        Ok(Array2::from_shape_vec(shape, numbers).map_err(refused)?.into_pyarray(py))
    }

    /// The multipliers of every requirement.
    fn multipliers<'py>(&self, py: Python<'py>) -> PyResult<Vec<RequirementMultipliers<'py>>> {
        self.needs_run("a list of multipliers")?;
        let bytes = self.files.get(files::MULTIPLIERS).map(Vec::as_slice).unwrap_or_default();
        let read = read_multipliers(files::MULTIPLIERS, bytes).map_err(refused_run)?;
        let one = |one: feasible_run::multipliers::Multiplied| {
            let rows: Vec<i64> =
                one.points.iter().filter_map(|p| p.row).map(|row| row as i64).collect();
            let multipliers: Vec<f64> = one.points.iter().map(|p| p.multiplier).collect();
            let violations: Vec<f64> = one.points.iter().map(|p| p.violation).collect();
            let arrays =
                (rows.into_pyarray(py), multipliers.into_pyarray(py), violations.into_pyarray(py));
            (one.name, one.pointwise, arrays.0, arrays.1, arrays.2)
        };
        Ok(read.into_iter().map(one).collect())
    }

    /// How the model does on a table: as JSON, and for people.
    #[pyo3(signature = (table, unseen=None))]
    fn audit(
        &self,
        py: Python<'_>,
        table: &mut Table,
        unseen: Option<&str>,
    ) -> PyResult<(String, String)> {
        let (table, unseen) = (table.take()?, policy(unseen)?);
        let audit = py.detach(|| match self.files.contains_key(files::RUN) {
            true => self.in_directory(|directory| {
                let record = RunRecord::open(directory).map_err(refused_run)?;
                record.audit(&table, None, unseen).map_err(refused_run)
            }),
            false => self.model.audit(&table, unseen).map_err(refused_run),
        })?;
        Ok((serde_json::to_string(&audit.evaluation).map_err(refused)?, audit.to_text()))
    }

    /// What the rows of a table certify: as JSON, and for people. `settings` are those of `[certify]`, as JSON.
    #[pyo3(signature = (table, settings, unseen=None))]
    fn certify(
        &self,
        py: Python<'_>,
        table: &mut Table,
        settings: &str,
        unseen: Option<&str>,
    ) -> PyResult<(String, String, bool)> {
        self.needs_run("a certificate")?;
        let settings = certify_settings(settings)?;
        let (table, unseen) = (table.take()?, policy(unseen)?);
        py.detach(|| {
            self.in_directory(|directory| {
                let record = RunRecord::open(directory).map_err(refused_run)?;
                let settings = merged(settings, record.settings());
                let certified = record.certify(&table, &settings, unseen).map_err(refused_run)?;
                let json = serde_json::to_string(&certified).map_err(refused)?;
                Ok((json, certified.to_text(), certified.all_certified()))
            })
        })
    }

    /// The page, and the model card.
    fn report(&self, py: Python<'_>) -> PyResult<(String, Option<String>)> {
        self.needs_run("a page")?;
        let read = |name: &str| {
            let bytes = self.files.get(name)?;
            Some(String::from_utf8_lossy(bytes).into_owned())
        };
        if let Some(page) = read(files::REPORT) {
            return Ok((page, read(files::MODEL_CARD)));
        }
        py.detach(|| {
            self.in_directory(|directory| {
                let report = match &self.data {
                    Some(data) => Report::of_data(directory, data.clone()),
                    None => Report::of(directory),
                };
                let report = report.map_err(refused)?;
                Ok((report.html().to_string(), report.card().map(String::from)))
            })
        })
    }

    /// The model as an ONNX file, written whole if a path is given; inputs that are numbers in single precision, if asked for.
    #[pyo3(signature = (path=None, single=false))]
    fn to_onnx<'py>(
        &self,
        py: Python<'py>,
        path: Option<PathBuf>,
        single: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let numbers = if single { NumberInputs::Float } else { NumberInputs::Double };
        let onnx = py.detach(|| self.model.to_onnx(numbers)).map_err(refused_run)?;
        if let Some(path) = path {
            let written = write_whole(&path, &|out| out.write_all(&onnx.bytes));
            written
                .map_err(|error| refused(format!("cannot write {}: {error}", path.display())))?;
        }
        Ok(PyBytes::new(py, &onnx.bytes))
    }

    /// Writes a run directory, or a model file if the name ends so.
    #[pyo3(signature = (path, force=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        if path.extension().is_some_and(|end| end == "safetensors") {
            let bytes = &self.files[files::MODEL];
            let written = write_whole(&path, &|out| out.write_all(bytes));
            return written
                .map_err(|error| refused(format!("cannot write {}: {error}", path.display())));
        }
        self.needs_run("a run directory")?;
        let (page, card) = self.report(py)?;
        py.detach(|| {
            let directory = match force {
                true => Directory::replace(&path, files::is_ours),
                false => Directory::create(&path),
            };
            let directory = directory.map_err(refused_run)?;
            let write = |name: &str, bytes: &[u8]| {
                let shown = path.join(name);
                directory
                    .write(name, bytes)
                    .map_err(|error| refused(format!("cannot write {}: {error}", shown.display())))
            };
            for (name, bytes) in self.files.iter().filter(|(name, _)| *name != files::PROBLEM) {
                write(name, bytes)?;
            }
            write(files::REPORT, page.as_bytes())?;
            if let Some(card) = card {
                write(files::MODEL_CARD, card.as_bytes())?;
            }
            // Last: a directory with a problem is a run.
            let problem = self.files.get(files::PROBLEM);
            problem.map_or(Ok(()), |problem| write(files::PROBLEM, problem))
        })
    }
}

/// What is asked for, and where nothing is, what the problem said.
fn merged(asked: CertifySpec, problem: CertifySpec) -> CertifySpec {
    CertifySpec {
        confidence: asked.confidence.or(problem.confidence),
        reserve: problem.reserve,
        seed: asked.seed.or(problem.seed),
        all_but: asked.all_but.or(problem.all_but),
        simultaneous: asked.simultaneous.or(problem.simultaneous),
        method: asked.method.or(problem.method),
        room: problem.room,
        unit: asked.unit.or(problem.unit),
        ladder: problem.ladder,
        shift: asked.shift,
        base_rate: asked.base_rate,
    }
}
