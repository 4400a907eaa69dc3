//! A saved model in a form that other programs run: ONNX.
//!
//! The graph takes a table's columns as they are, one input of shape N × 1 each, or images, and gives what
//! [`SavedModel::predict`] gives: `label` and `probabilities`, or `value`. Preprocessing, categories, thresholds, units and
//! classes are part of it. It consists of operators of ONNX's default set alone, of version 19, or 20 if there are
//! columns of dates.
//!
//! | column | input | missing |
//! | --- | --- | --- |
//! | number, intervals, piecewise linear | `double` (or `float`, if asked for) | NaN |
//! | categories, dates, groups with thresholds | `string`, as the table has it after reading: trimmed, suffix taken off | a mark of `[data.format] missing`, by default the empty string |
//!
//! `predict` refuses a row that it cannot encode, and says where it stands. A graph has no errors of its own: such a row has
//! the empty label and probabilities (or a value) that are NaN.
//!
//! ```no_run
//! # fn main() -> Result<(), feasible_run::Error> {
//! use feasible_run::SavedModel;
//! use feasible_run::export::NumberInputs;
//! let model = SavedModel::open("runs/adult".as_ref())?;
//! let onnx = model.to_onnx(NumberInputs::Double)?;
//! assert_eq!(onnx.outputs[0].name, "label");
//! # Ok(())
//! # }
//! ```

mod columns;
mod dates;
mod graph;
mod network;
mod outputs;
mod protobuf;

use feasible::Model;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::saved_model::SavedModel;
use columns::Columns;
use graph::{Graph, Value};
use network::Weights;

/// The input of a network for images.
const IMAGE: &str = "image";
/// A file of protocol buffers has at most 2 GB; what is not constants is far less than the difference.
const LARGEST: usize = 2_000_000_000;

/// The precision of inputs that are numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumberInputs {
    /// 64 bits, as a table is read and as pandas and numpy have numbers: every row is encoded as `predict` does it.
    #[default]
    Double,
    /// 32 bits, for runtimes and callers that have no others. A number that has more digits may fall on the other side of
    /// an interval's edge.
    Float,
}

/// An input or output of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GraphValue {
    /// A column, or `image`; `label`, `probabilities` or `value`, with a number after it if a column has that name.
    pub name: String,
    /// Its elements: `string`, `float` or `double`.
    pub element: &'static str,
    /// Its sizes; none stands for the number of rows.
    pub shape: Vec<Option<usize>>,
}

/// A model as an ONNX file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnnxModel {
    /// The file.
    pub bytes: Vec<u8>,
    /// What it takes, in the order of the graph.
    pub inputs: Vec<GraphValue>,
    /// What it gives.
    pub outputs: Vec<GraphValue>,
    /// The version of the operators that it needs.
    pub opset: i64,
}

impl SavedModel {
    /// The model as an ONNX file. See the [module](self).
    ///
    /// # Errors
    /// What ONNX cannot express: columns without a name, one column as a number and as groups of thresholds, more than 2 GB.
    pub fn to_onnx(&self, numbers: NumberInputs) -> Result<OnnxModel> {
        let manifest = self.manifest();
        let decision = manifest.training.decision.as_ref();
        let groups = decision.and_then(|decision| decision.groups.as_ref());
        if manifest.image.is_some() && groups.is_some() {
            let reason = "its thresholds depend on a column, and images have none in a graph: export a model without [decision] per";
            return Err(Error::unfit("the model", reason));
        }
        let bytes = self.theta().len().saturating_add(self.network().fixed()).saturating_mul(4);
        too_large(bytes)?;
        let mut columns = Columns::new(&manifest.inputs, &manifest.format, numbers);
        let mut graph = Graph::new(columns.names(groups.map(|groups| groups.column.as_str())));
        let (x, image) = match manifest.image {
            Some(shape) => {
                let sizes = [shape.channels, shape.height, shape.width].map(Some);
                let sizes = std::iter::once(None).chain(sizes).collect();
                let input = GraphValue { name: IMAGE.into(), element: "float", shape: sizes };
                (network::image(&mut graph, IMAGE, shape), Some(input))
            }
            None => (columns.encode(&mut graph)?, None),
        };
        let weights = Weights { network: self.network(), theta: self.theta() };
        let outputs = weights.outputs(&mut graph, &x, image.is_some());
        let refused = columns.any_refused(&mut graph);
        let width = self.network().output_width();
        let given = match manifest.target.classes() {
            None => {
                outputs::number(&mut graph, &outputs, width, manifest.objective, refused.as_ref())
            }
            Some(classes) => {
                let chosen = outputs::chosen(&mut graph, &outputs, width, decision, &mut columns)?;
                let refused = refused.as_ref();
                outputs::classes(&mut graph, &outputs, width, classes, &chosen, refused)
            }
        };
        too_large(graph.size())?;
        let opset = graph.opset();
        let inputs = image.into_iter().chain(columns.inputs).collect();
        let bytes = graph.into_model(&manifest.problem, &self.description(), &self.metadata());
        Ok(OnnxModel { bytes, inputs, outputs: given, opset })
    }

    /// What the model is, for those who open the file.
    fn description(&self) -> String {
        let manifest = self.manifest();
        let decision = manifest.training.decision.as_ref().map(|decision| decision.to_text());
        let mut text = format!("{}: {}.", manifest.problem, self.network().describe());
        if let Some(decision) = decision {
            text = format!("{text} {decision}");
        }
        text
    }

    fn metadata(&self) -> [(&'static str, String); 3] {
        let manifest = self.manifest();
        let classes = manifest.target.classes().unwrap_or_default();
        let requirements: Vec<String> =
            self.clauses().iter().map(|clause| clause.name.clone()).collect();
        let list = |names: &[String]| serde_json::to_string(names).unwrap_or_default();
        [
            ("feasible", manifest.written_by.clone()),
            ("classes", list(classes)),
            ("requirements", list(&requirements)),
        ]
    }
}

fn too_large(bytes: usize) -> Result<()> {
    if bytes <= LARGEST {
        return Ok(());
    }
    let reason =
        format!("its {bytes} bytes of numbers are more than the 2 GB that an ONNX file may have");
    Err(Error::unfit("the model", reason))
}

impl Columns<'_> {
    /// Rows that `predict` would refuse, N × 1; `None` if it refuses none.
    fn any_refused(&mut self, graph: &mut Graph) -> Option<Value> {
        let refused = std::mem::take(&mut self.refused);
        let together = graph.side_by_side(&refused)?;
        Some(if refused.len() == 1 { together } else { graph.any(&together) })
    }
}
