//! A trained model in one file: safetensors weights, and a JSON manifest in their metadata that
//! holds all that is needed to use it: preprocessing, classes, requirements, how it was trained.
//!
//! Any safetensors reader shows the manifest: it is the metadata entry `feasible`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::sync::Arc;

use feasible::{Loss, Model};
use feasible_data::image::ImageShape;
use feasible_data::{
    Column, ColumnKind, Counterfactual, Encoder, Expression, Format, SampleWeights, Table,
    TargetEncoder, disk,
};
use feasible_problem::OutputUnits;
use feasible_problem::clause::Clause;
use feasible_problem::gallery::Gallery;
use feasible_problem::loss::LossName;
use feasible_problem::memory;
use feasible_problem::network::{Network, NetworkShape, output_width};
use feasible_problem::plan::Plan;
use feasible_problem::spec::{EvaluationAttackSpec, ProblemSource, RequirementSpec};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::files::{MODEL, read_opened};
use crate::subject::Subject;
use crate::summary::Summary;

const ENTRY: &str = "feasible";
const CENTRES: &str = "centres";
/// The manifest version this program writes and reads.
const VERSION: u32 = 3;

/// The manifest of a saved model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Format version.
    pub version: u32,
    /// The program that wrote it.
    pub written_by: String,
    /// What the problem is called.
    pub problem: String,
    /// The shape of the network.
    pub model: NetworkShape,
    /// The units of its outputs, where a number is predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<OutputUnits>,
    /// The fitted target.
    pub target: TargetEncoder,
    /// The fitted inputs.
    pub inputs: Encoder,
    /// The columns the model sees.
    pub columns: Vec<String>,
    /// The size of the images it sees instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageShape>,
    /// The expression of the rows that it is for, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<String>,
    /// Options for reading text tables like those it was trained on.
    pub format: Format,
    /// Kinds of the columns that expressions speak of, those of requirements and of `rows`.
    pub expression_columns: BTreeMap<String, ColumnKind>,
    /// The loss of the objective.
    pub objective: LossName,
    /// What rows weigh in the objective, if not all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<SampleWeights>,
    /// The requirements, groups written out.
    pub requirements: Vec<RequirementSpec>,
    /// The counterfactuals whose flip rates are reported.
    pub counterfactuals: Vec<Counterfactual>,
    /// The attack that requirements with an adversary are judged by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attack: Option<EvaluationAttackSpec>,
    /// Violation up to which a requirement counts as met.
    pub tolerance: f64,
    /// How it was trained and what it achieved.
    pub training: Summary,
}

impl Manifest {
    /// From the metadata entry `feasible`; what is wrong with it is a sentence.
    ///
    /// # Errors
    /// Text that is no manifest, one of another format, or one whose parts do not fit together.
    pub fn from_json(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let parsed: Version =
            serde_json::from_slice(text.as_bytes()).map_err(|error| error.to_string())?;
        if parsed.version != VERSION {
            let found = parsed.version;
            return Err(format!(
                "it has format {found}, this program reads {VERSION}: use the program that wrote it, \
                 or train again"
            ));
        }
        let manifest: Self =
            serde_json::from_slice(text.as_bytes()).map_err(|error| error.to_string())?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Whether inputs, network, target and training fit together.
    fn check(&self) -> Result<(), String> {
        let inputs = match self.image {
            Some(image) => size(&[image.channels, image.height, image.width]),
            None => Some(self.inputs.width()),
        };
        let (takes, gives) = self.model.ends().ok_or("its network has no layers")?;
        if Some(takes) != inputs {
            let inputs = inputs.map_or("too many".into(), |inputs| inputs.to_string());
            return Err(format!(
                "its network takes {takes} inputs, its preprocessing makes {inputs}"
            ));
        }
        if let (NetworkShape::Cnn(of) | NetworkShape::Resnet18(of), image) =
            (&self.model, self.image)
            && Some(of.image) != image
        {
            return Err("its network is for images of another size than its preprocessing".into());
        }
        if let Some(classes) = self.target.classes() {
            let different: BTreeSet<&String> = classes.iter().collect();
            if classes.len() < 2 || different.len() < classes.len() {
                return Err("its target needs at least two classes, all different".into());
            }
        }
        self.target.check()?;
        if self.training.decision.is_some() && self.target.classes().map(<[String]>::len) != Some(2)
        {
            return Err("it has a threshold, which needs two classes".into());
        }
        if let Some(weights) = self.weights.as_ref().and_then(|weights| weights.classes.as_ref()) {
            let classes = self.target.classes().unwrap_or_default().len();
            if weights.len() != classes || !weights.iter().all(|w| *w > 0.0 && w.is_finite()) {
                return Err("its classes need a weight above 0 each".into());
            }
        }
        let outputs = output_width(&self.target, self.objective);
        if gives != outputs {
            return Err(format!("its network gives {gives} outputs, its target takes {outputs}"));
        }
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return Err(format!("its tolerance is {}, not a number ≥ 0", self.tolerance));
        }
        self.training.check()
    }

    /// The network, once the tensors are known to be those of its shape.
    fn network(
        &self,
        tensors: &SafeTensors<'_>,
        numbers: &dyn Fn(&str) -> Result<Vec<f32>, String>,
    ) -> Result<Network, String> {
        let shape_of = |name: &str| {
            let tensor = tensors.tensor(name).map_err(|error| error.to_string())?;
            match tensor.dtype() {
                Dtype::F32 => Ok(tensor.shape().to_vec()),
                other => Err(format!("tensor '{name}' holds {other:?}, not F32")),
            }
        };
        let centres = match self.model {
            NetworkShape::Kernel { inputs, .. } => match shape_of(CENTRES)?[..] {
                [rows, width] if rows > 0 && width == inputs => Some(numbers(CENTRES)?),
                _ => {
                    return Err(format!(
                        "tensor '{CENTRES}' is not a table of at least one row and {inputs} columns"
                    ));
                }
            },
            _ => None,
        };
        let extra = usize::from(centres.is_some());
        let network = Network::from_shape(&self.model, centres)
            .and_then(|network| network.in_units(self.units.clone()))
            .map_err(|error| error.to_string())?;
        let layout = network.layout();
        for tensor in &layout {
            let found = shape_of(&tensor.name)?;
            if found != tensor.shape {
                return Err(format!(
                    "tensor '{}' has the shape {found:?}, by the manifest it is {:?}",
                    tensor.name, tensor.shape
                ));
            }
        }
        if tensors.len() != layout.len() + extra {
            return Err(format!(
                "it has {} tensors, a network of its shape {}",
                tensors.len(),
                layout.len() + extra
            ));
        }
        Ok(network)
    }
}

/// The product of sizes, if it is one that memory can have.
fn size(sizes: &[usize]) -> Option<usize> {
    sizes.iter().try_fold(1, |all: usize, &size| all.checked_mul(size))
}

/// Whether every tensor ends within the file: the sum of such ends does not overflow.
pub(crate) fn check_offsets(bytes: &[u8]) -> Result<(), String> {
    #[derive(Deserialize)]
    struct Entry {
        data_offsets: Option<(u64, u64)>,
    }
    let header = bytes.first_chunk().map(|length| u64::from_le_bytes(*length));
    let header = header.and_then(|length| bytes.get(8..)?.get(..usize::try_from(length).ok()?));
    // What else is wrong with it, the reader of the format says.
    let Some(header) = header else { return Ok(()) };
    let Ok(entries) = serde_json::from_slice::<BTreeMap<String, Entry>>(header) else {
        return Ok(());
    };
    for (name, entry) in entries {
        if entry.data_offsets.is_some_and(|(_, end)| end > bytes.len() as u64) {
            return Err(format!("tensor '{name}' goes beyond the end of the file"));
        }
    }
    Ok(())
}

/// The expression of the rows that a model is for.
fn parse_rows(path: &str, text: &str) -> Result<Expression> {
    let wrong = |error: feasible_data::ExpressionError| Error::Model {
        path: path.into(),
        reason: format!("its rows: {error}"),
    };
    Expression::parse(text).map_err(wrong)
}

/// The kind of a column, also of one that was freed.
fn kind_of(table: &Table, name: &str) -> Option<ColumnKind> {
    let taken = || table.taken().iter().find(|(taken, _)| taken == name).map(|(_, kind)| *kind);
    table.column(name).ok().map(Column::kind).or_else(taken)
}

/// The longest header of a model file that is looked at.
const LONGEST_HEADER: u64 = 1 << 27;

/// How long a file of tensors is, as its header says; 0 of what is none.
pub(crate) fn stated_length(file: &mut impl Read) -> io::Result<u64> {
    let mut length = [0; 8];
    file.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST_HEADER {
        return Ok(0);
    }
    let mut header = vec![0; length as usize];
    file.read_exact(&mut header)?;
    let entries: BTreeMap<String, Value> = serde_json::from_slice(&header).unwrap_or_default();
    let ends = entries.values().filter_map(|entry| entry["data_offsets"][1].as_u64());
    Ok(ends.max().map_or(0, |end| end.saturating_add(8 + length)))
}

/// The numbers of a tensor, all of them finite.
fn finite(name: &str, bytes: &[u8]) -> Result<Vec<f32>, String> {
    let number = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    let numbers: Vec<f32> = bytes.chunks_exact(4).map(number).collect();
    match numbers.iter().position(|x| !x.is_finite()) {
        Some(at) => Err(format!(
            "number {at} of tensor '{name}' is {}: weights are finite, so the file is damaged",
            numbers[at]
        )),
        None => Ok(numbers),
    }
}

/// A model that was trained and saved.
#[derive(Clone, Debug)]
pub struct SavedModel {
    manifest: Manifest,
    network: Network,
    theta: Vec<f32>,
    objective: Loss,
    clauses: Vec<Clause>,
    changes: Vec<feasible_data::Change>,
    rows: Option<Expression>,
}

impl SavedModel {
    /// The model of a plan with its θ.
    ///
    /// # Errors
    /// None for a θ of the plan's model.
    pub fn new(plan: &Plan, theta: Vec<f32>, training: Summary) -> Result<Self> {
        let data = plan.data();
        let spec = plan.spec();
        let counterfactuals = match &spec.evaluation.counterfactual {
            Some(list) => list.0.clone(),
            None => {
                let set = data.set.as_ref().map(|set| set.counterfactuals.clone());
                let set = set
                    .filter(|list| feasible_problem::clause::changes(list, &data.encoder).is_ok());
                let own = spec.requirements.iter().filter_map(|r| r.counterfactual.clone());
                set.into_iter().flatten().chain(own.flat_map(|list| list.0)).collect()
            }
        };
        let groups = spec.decision.as_ref().and_then(|decision| decision.per.as_deref());
        // As it is printed, in one line.
        let parsed = spec.data.rows.as_deref().map(|text| parse_rows("the plan", text));
        let rows = parsed.transpose()?;
        let selecting = rows.iter().flat_map(Expression::columns);
        let mentioned = plan.clauses().iter().flat_map(Clause::columns);
        let expression_columns = mentioned
            .chain(groups)
            .chain(selecting)
            .filter_map(|name| Some((name.to_string(), kind_of(&data.table, name)?)))
            .collect();
        // A file with a header has its own names.
        let names = match data.format.header {
            true => Vec::new(),
            false => data.format.names.clone(),
        };
        let format = Format { names, columns: None, kinds: BTreeMap::new(), ..data.format.clone() };
        let manifest = Manifest {
            version: VERSION,
            written_by: format!("feasible {}", env!("CARGO_PKG_VERSION")),
            problem: plan.name().to_string(),
            model: plan.model().shape(),
            units: plan.model().units().cloned(),
            target: data.target.clone(),
            inputs: data.encoder.clone(),
            columns: data.encoder.names(),
            image: data.image_shape(),
            rows: rows.map(|rows| rows.to_string()),
            format,
            expression_columns,
            objective: plan.settings().objective,
            weights: data.weights.clone(),
            requirements: plan.expanded(),
            counterfactuals,
            attack: spec.evaluation.attack.clone(),
            tolerance: plan.settings().training.tolerance,
            training,
        };
        Self::assemble("the plan", manifest, plan.model().clone(), theta)
    }

    fn assemble(path: &str, manifest: Manifest, network: Network, theta: Vec<f32>) -> Result<Self> {
        let wrong = |reason: String| Error::Model { path: path.into(), reason };
        let text = ProblemSource::new(path, "");
        let mut clauses = Vec::new();
        for (at, spec) in manifest.requirements.iter().enumerate() {
            let Manifest { inputs, target, attack, .. } = &manifest;
            let attack = attack.clone().unwrap_or_default();
            let of = Clause::of(&text, at, spec, inputs, target, &attack);
            clauses.extend(of.map_err(|error| wrong(error.to_string()))?);
        }
        let changes =
            feasible_problem::clause::changes(&manifest.counterfactuals, &manifest.inputs)
                .map_err(|error| wrong(error.to_string()))?;
        let objective = manifest.objective.losses_of(&manifest.target, None);
        let (objective, _) = objective.map_err(|(_, reason)| wrong(reason))?;
        let rows = manifest.rows.as_deref().map(|text| parse_rows(path, text)).transpose()?;
        Ok(Self { manifest, network, theta, objective, clauses, changes, rows })
    }

    /// The model, and what is asked of it.
    pub(crate) fn subject(&self) -> Subject<'_> {
        let manifest = &self.manifest;
        Subject {
            loss: self.objective.clone(),
            clauses: &self.clauses,
            changes: &self.changes,
            tolerance: manifest.tolerance,
            classes: manifest.target.classes(),
            coordinates: manifest.target.coordinates(),
            multipliers: None,
            model: &self.network,
            theta: &self.theta,
            decision: manifest.training.decision.clone().map(Arc::new),
            keeps_views: false,
            given: None,
            clips: Arc::new(manifest.training.clips.clone()),
            constant: manifest.training.train.constant.clone().map(Arc::new),
        }
    }

    /// The same model with another report of its training.
    #[must_use]
    pub(crate) fn with_training(mut self, training: Summary) -> Self {
        self.manifest.training = training;
        self
    }

    /// As the bytes of a safetensors file.
    ///
    /// # Errors
    /// None for a model that was made or read by this type.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let wrong = |reason: String| Error::Model { path: "the model".into(), reason };
        // One entry only: a map with several would be written in any order.
        let manifest = serde_json::to_string(&self.manifest).map_err(|e| wrong(e.to_string()))?;
        let metadata = HashMap::from([(ENTRY.to_string(), manifest)]);
        let bytes = |x: &[f32]| -> Vec<u8> { x.iter().flat_map(|x| x.to_le_bytes()).collect() };
        let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = self
            .network
            .layout()
            .into_iter()
            .map(|tensor| {
                let part = bytes(&self.theta[tensor.range()]);
                (tensor.name, tensor.shape, part)
            })
            .collect();
        if let Some(centres) = self.network.centres() {
            let width = self.network.input_width();
            tensors.push((CENTRES.into(), vec![centres.len() / width, width], bytes(centres)));
        }
        let views = tensors
            .iter()
            .map(|(name, shape, bytes)| {
                let view = TensorView::new(Dtype::F32, shape.clone(), bytes);
                Ok((name.as_str(), view.map_err(|error| wrong(error.to_string()))?))
            })
            .collect::<Result<Vec<_>>>()?;
        safetensors::serialize(views, Some(metadata)).map_err(|error| wrong(error.to_string()))
    }

    /// From the bytes of a file; `path` stands for it in messages.
    ///
    /// Every number of the manifest is compared with the others and with the sizes of the tensors before
    /// anything is allocated from it: reading a file takes memory in proportion to the file.
    ///
    /// # Errors
    /// Bytes that are not safetensors, or not one of ours; sizes that disagree; weights that are not finite.
    pub fn from_bytes(path: &str, bytes: &[u8]) -> Result<Self> {
        let wrong = |reason: String| Error::Model { path: path.into(), reason };
        check_offsets(bytes).map_err(wrong)?;
        let (_, metadata) =
            SafeTensors::read_metadata(bytes).map_err(|error| wrong(error.to_string()))?;
        let manifest = metadata
            .metadata()
            .as_ref()
            .and_then(|metadata| metadata.get(ENTRY))
            .ok_or_else(|| wrong("its metadata has no entry 'feasible'".into()))?;
        let manifest = Manifest::from_json(manifest).map_err(wrong)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(|error| wrong(error.to_string()))?;
        let numbers = |name: &str| {
            let tensor = tensors.tensor(name).map_err(|error| error.to_string())?;
            finite(name, tensor.data())
        };
        let network = manifest.network(&tensors, &numbers).map_err(wrong)?;
        let mut theta = Vec::new();
        memory::reserve(&mut theta, network.parameter_count(), path)?;
        for tensor in network.layout() {
            theta.extend(numbers(&tensor.name).map_err(wrong)?);
        }
        Self::assemble(path, manifest, network, theta)
    }

    /// From a model file, or from the model of a run directory.
    ///
    /// # Errors
    /// A file that cannot be read or is no model.
    pub fn open(path: &std::path::Path) -> Result<Self> {
        let inside = path.is_dir();
        let file = if inside { path.join(MODEL) } else { path.to_path_buf() };
        let name = file.display().to_string();
        let failed = |source| Error::Storage { operation: "read", path: name.clone(), source };
        let length = std::fs::metadata(&file).map_err(failed)?.len();
        // Its bytes, and its numbers beside them.
        if memory::limit().is_some_and(|limit| length.saturating_mul(2) > limit) {
            let reason = format!("its {length} bytes are more than memory has room for");
            return Err(Error::Model { path: name, reason });
        }
        let opened = match inside {
            true => disk::open_inside(&file, OpenOptions::new().read(true)),
            false => disk::open(&file),
        };
        let bytes = opened.and_then(|opened| read_opened(opened, MODEL)).map_err(failed)?;
        Self::from_bytes(&name, &bytes)
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// θ.
    pub fn theta(&self) -> &[f32] {
        &self.theta
    }

    /// Its requirements.
    pub fn clauses(&self) -> &[Clause] {
        &self.clauses
    }

    /// Which rows it is for, if not all.
    pub(crate) fn rows(&self) -> Option<&Expression> {
        self.rows.as_ref()
    }

    /// The changes whose flip rates are reported.
    pub fn changes(&self) -> &[feasible_data::Change] {
        &self.changes
    }

    /// Refuses images that the model was not made for.
    pub(crate) fn check_images(&self, gallery: &Gallery) -> Result<()> {
        let found = gallery.images().shape();
        let what = || gallery.table().name().to_string();
        match self.manifest.image {
            Some(shape) if shape == found => Ok(()),
            Some(shape) => Err(Error::unfit(
                what(),
                format!("its images are {found}, the model was trained on {shape}"),
            )),
            None => Err(Error::unfit(what(), "these are images, but the model is for tables")),
        }
    }

    /// Refuses a table where the model was trained on images.
    pub(crate) fn check_table(&self, table: &Table) -> Result<()> {
        match self.manifest.image {
            Some(shape) => Err(Error::unfit(
                table.name(),
                format!(
                    "the model was trained on images of {shape}: name an image set \
                     (`feasible data` lists them) or a folder of images by class"
                ),
            )),
            None => Ok(()),
        }
    }

    /// How to read a table to predict: the kinds of the input columns are those of the training.
    pub fn input_format(&self) -> Format {
        let mut kinds = self.manifest.inputs.kinds();
        let decision = self.manifest.training.decision.as_ref();
        if let Some(groups) = decision.and_then(|decision| decision.groups.as_ref()) {
            kinds.insert(groups.column.clone(), ColumnKind::Categorical);
        }
        let selecting = self.rows.iter().flat_map(Expression::columns);
        let kind = |column: &str| {
            let kind = self.manifest.expression_columns.get(column)?;
            Some((column.to_string(), *kind))
        };
        let kinds_if_there = selecting.filter_map(kind).collect();
        Format { kinds, kinds_if_there, ..self.manifest.format.clone() }
    }

    /// How to read a table to audit: also the columns that requirements speak of.
    pub fn audit_format(&self) -> Format {
        let mut format = self.input_format();
        let required = |column: &String| {
            self.clauses.iter().any(|clause| clause.columns().contains(&column.as_str()))
        };
        let spoken = self.manifest.expression_columns.iter().filter(|(column, _)| required(column));
        format.kinds.extend(spoken.map(|(column, kind)| (column.clone(), *kind)));
        let weights = self.manifest.weights.as_ref();
        if let Some(column) = weights.and_then(|weights| weights.column.clone()) {
            format.kinds.insert(column, ColumnKind::Numeric);
        }
        format
    }
}
