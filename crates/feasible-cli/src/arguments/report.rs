//! Arguments of `report`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::number;

/// `report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// The run directory; several, or the directory of several seeds, are compared
    #[arg(value_name = "DIR", required = true)]
    pub directories: Vec<PathBuf>,
    /// The report; by default report.html in the run directory, or comparison.html for several
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write every figure as an SVG file into this directory too
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,
    /// Tables of the groups of these columns too, of one run; the data are read again
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub groups: Vec<String>,
    /// The top share by λ that counts as hard, for pointwise requirements
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, value_parser = number::share_or_all)]
    pub top: f64,
    /// Whether the top share is of the samples with λ > 0, or of all
    #[arg(long, value_name = "WHOM", default_value = "positive",
          value_parser = PossibleValuesParser::new(["positive", "all"]))]
    pub of: String,
    /// Verify the price of each requirement by re-solving just above and just below its limit
    #[arg(long)]
    pub check_sensitivity: bool,
    /// The distance to either side, as a share of the limit used in training
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = number::share)]
    pub delta: f64,
    /// Problems solved at the same time; by default as many as there are cores
    #[arg(long, value_name = "N", env = "FEASIBLE_THREADS", hide_env_values = true,
          value_parser = number::threads)]
    pub threads: Option<u64>,
}
