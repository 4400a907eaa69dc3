//! Arguments of `export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The form of the file.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ExportFormat {
    /// A graph of standard operators, for onnxruntime and others.
    Onnx,
}

/// The precision of inputs that are numbers.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Numbers {
    /// 64 bits: every row is encoded exactly as by `predict`.
    Double,
    /// 32 bits, for runtimes without 64.
    Float,
}

impl From<Numbers> for feasible_run::export::NumberInputs {
    fn from(given: Numbers) -> Self {
        match given {
            Numbers::Double => Self::Double,
            Numbers::Float => Self::Float,
        }
    }
}

/// `export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// A run directory or a model file
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// The format of the file
    #[arg(long, default_value = "onnx")]
    pub format: ExportFormat,
    /// The precision of inputs that are numbers
    #[arg(long, default_value = "double")]
    pub numbers: Numbers,
    /// The file to write [default: model.onnx in the run directory, or beside the model file]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
