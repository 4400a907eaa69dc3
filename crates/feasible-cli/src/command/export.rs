//! `feasible export`.

use std::path::{Path, PathBuf};

use feasible_data::visible;
use feasible_run::export::{GraphValue, OnnxModel};
use feasible_run::{files, write_whole};
use serde::Serialize;

use super::model;
use crate::arguments::{ExportArguments, ExportFormat};
use crate::exit::{Exit, Failure, Result};
use crate::outputs::Inputs;
use crate::terminal::Terminal;

/// What `--json` prints.
#[derive(Serialize)]
struct Written {
    file: PathBuf,
    format: &'static str,
    bytes: usize,
    /// The version of the operators that the graph needs.
    opset: i64,
    inputs: Vec<GraphValue>,
    outputs: Vec<GraphValue>,
}

/// Writes a trained model as a file that other programs run.
pub fn export(arguments: &ExportArguments, terminal: &Terminal) -> Result<Exit> {
    let path = &arguments.model;
    let output = arguments.output.clone().unwrap_or_else(|| beside(path));
    Inputs::new().model(path).refuse(&output)?;
    let model = model(path)?;
    let ExportFormat::Onnx = arguments.format;
    let OnnxModel { bytes, inputs, outputs, opset } = model.to_onnx(arguments.numbers.into())?;
    write_whole(&output, &|out| out.write_all(&bytes))
        .map_err(|error| Failure::file("write", &output, &error))?;
    let (file, bytes) = (output, bytes.len());
    let written = Written { file, format: "onnx", bytes, opset, inputs, outputs };
    terminal.result(&written, || lines(&written))?;
    Ok(Exit::Met)
}

/// Where the file goes by default.
fn beside(model: &Path) -> PathBuf {
    if model.is_dir() { model.join(files::ONNX) } else { model.with_extension("onnx") }
}

fn lines(written: &Written) -> String {
    let Written { file, bytes, opset, .. } = written;
    let name = |value: &GraphValue| visible(&value.name).into_owned();
    let both = || written.inputs.iter().chain(&written.outputs);
    let width = both().map(|value| name(value).chars().count()).max().unwrap_or(0).max(6);
    let mut text = format!("{}: {bytes} bytes, operators of set {opset}\n", file.display());
    for (title, values) in [("input", &written.inputs), ("output", &written.outputs)] {
        text += &format!("\n{title:width$}  type    shape\n");
        for value in values {
            let sizes = value.shape.iter().map(|size| size.map_or("N".into(), |n| n.to_string()));
            let sizes = sizes.collect::<Vec<_>>().join(" × ");
            text += &format!("{:width$}  {:6}  {sizes}\n", name(value), value.element);
        }
    }
    text
}
