//! Arguments of the commands before and after: problem files, data, pages, the shell.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

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
    /// The column to predict; by default the last one
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

/// `report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// The run directory; several, or that of several seeds, are compared
    #[arg(value_name = "DIR", required = true)]
    pub directories: Vec<PathBuf>,
    /// The page; report.html in the run directory by default, comparison.html for several
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write every figure as an SVG and a PNG file into this directory too
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// The top share by λ that counts as hard, for pointwise requirements
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, value_parser = share)]
    pub top: f64,
    /// Of whom the top share is taken: of those with λ > 0, or of all
    #[arg(long, value_name = "WHOM", default_value = "positive",
          value_parser = PossibleValuesParser::new(["positive", "all"]))]
    pub of: String,
    /// Verify the price of each requirement by solving again at both sides of its limit
    #[arg(long)]
    pub check_sensitivity: bool,
    /// How far to either side, as a share of the limit that training works with
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = part)]
    pub delta: f64,
    /// Solve so many problems at once for that, by default as many as there are cores
    #[arg(long, value_name = "N", env = "FEASIBLE_THREADS", hide_env_values = true,
          value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub threads: Option<u64>,
}

/// `data`.
#[derive(Debug, Args)]
pub struct DataArguments {
    /// Read the original files from this directory [env: FEASIBLE_DATA]
    #[arg(long, value_name = "DIR", global = true)]
    pub data_dir: Option<PathBuf>,
    /// What to do; `list` by default.
    #[command(subcommand)]
    pub command: Option<DataCommand>,
}

/// What to do with embedded data.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// List the data sets
    #[command(after_help = "Example:\n  feasible data list")]
    List,
    /// Show where a data set comes from, its licence, files, columns or places
    #[command(after_help = "Example:\n  feasible data show compas")]
    Show {
        /// The data set
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Print the commands that fetch an image set from its makers
    ///
    /// The program itself opens no connection.
    #[command(after_help = "Example:\n  feasible data fetch fashion-mnist data/")]
    Fetch {
        /// The image set
        #[arg(value_name = "NAME")]
        name: String,
        /// Where to; a directory of the set's name by default
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
    },
    /// Write the tables of a data set as CSV
    #[command(after_help = "Example:\n  feasible data export adult data/")]
    Export {
        /// The data set
        #[arg(value_name = "NAME")]
        name: String,
        /// Where to
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Replace files that exist
        #[arg(long)]
        force: bool,
    },
}

/// `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// Write the pages of all commands into this directory
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// A number above 0 and below 1.
fn part(text: &str) -> Result<f64, String> {
    let value: Result<f64, _> = text.parse();
    value.ok().filter(|x| *x > 0.0 && *x < 1.0).ok_or("a number above 0 and below 1".into())
}

/// A number above 0 and at most 1.
fn share(text: &str) -> Result<f64, String> {
    let value: Result<f64, _> = text.parse();
    value.ok().filter(|x| *x > 0.0 && *x <= 1.0).ok_or("a number above 0 and at most 1".into())
}
