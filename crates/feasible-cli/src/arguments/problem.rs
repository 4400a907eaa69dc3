//! Arguments of the commands that check and write problem files.

use std::path::PathBuf;

use clap::Args;

use super::{LimitArguments, Overrides};

/// `check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// A problem file, or an embedded problem: adult, compas, …
    #[arg(value_name = "FILE")]
    pub problem: String,
    /// Print the problem file with every default filled in instead
    #[arg(long)]
    pub resolved: bool,
    /// Settings.
    #[command(flatten)]
    pub overrides: Overrides,
}

/// `init`.
#[derive(Debug, Args)]
pub struct InitArguments {
    /// A table: CSV, TSV or Parquet
    #[arg(value_name = "TABLE")]
    pub table: PathBuf,
    /// The column to predict, or several columns of numbers with commas between them; by default the last one
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,
    /// The problem file to write; by default the table's name with .toml; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the problem file if it exists
    #[arg(long)]
    pub force: bool,
    /// Limits.
    #[command(flatten)]
    pub limits: LimitArguments,
}
