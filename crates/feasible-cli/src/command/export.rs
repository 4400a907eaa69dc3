//! `feasible export`.

use std::path::{Path, PathBuf};

use feasible_problem::text::{self, Align, Grid, Page};
use feasible_run::export::{GraphValue, OnnxModel};
use feasible_run::files;
use feasible_run::output::{write_own, write_whole};
use feasible_run::storage::Content;
use serde::Serialize;

use super::model;
use crate::arguments::{ExportArguments, ExportFormat};
use crate::exit::{Exit, Failure, Result};
use crate::outputs::{Inputs, refuse_foreign};
use crate::terminal::Terminal;

/// What `--json` prints.
#[derive(Serialize)]
struct Written {
    file: PathBuf,
    /// The form of the file.
    file_format: &'static str,
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
    if arguments.output.is_none() {
        refuse_foreign(&output)?;
    }
    let model = model(path)?;
    let ExportFormat::Onnx = arguments.format;
    let OnnxModel { bytes, inputs, outputs, opset } = model.to_onnx(arguments.numbers.into())?;
    let content: Content<'_> = &|out| out.write_all(&bytes);
    let written = match arguments.output {
        Some(_) => write_whole(&output, content),
        None => write_own(&output, content),
    };
    written.map_err(|error| Failure::file("write", &output, &error))?;
    let (file, bytes) = (output, bytes.len());
    let written = Written { file, file_format: "onnx", bytes, opset, inputs, outputs };
    terminal.result(&written, |page| lines(&written, page))?;
    if let Some(rows) = &model.manifest().rows {
        terminal.note(&format!(
            "The file gives outputs for every row: leave out those that the model is not for, and keep those where {rows}"
        ));
    }
    Ok(Exit::Met)
}

/// Where the file goes by default.
fn beside(model: &Path) -> PathBuf {
    if model.is_dir() { model.join(files::ONNX) } else { model.with_extension("onnx") }
}

fn lines(written: &Written, page: &Page) -> String {
    let Written { file, bytes, opset, .. } = written;
    let size = text::bytes(*bytes);
    let mut text = format!("{}: {size}, ONNX operator set {opset}\n", file.display());
    for (title, values) in [("input", &written.inputs), ("output", &written.outputs)] {
        let mut grid = Grid::new();
        grid.row([title, "type", "shape"].map(String::from));
        for value in values {
            let sizes = value.shape.iter().map(|size| size.map_or("N".into(), |n| n.to_string()));
            let sizes = sizes.collect::<Vec<_>>().join(" × ");
            grid.row([value.name.clone(), value.element.to_string(), sizes]);
        }
        text += "\n";
        text += &grid.on(page, &[Align::Left]);
    }
    text
}
