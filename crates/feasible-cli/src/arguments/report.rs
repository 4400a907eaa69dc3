//! Arguments of `report`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

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
    /// Tables of the groups of these columns too, of one run; the data are read again
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    pub groups: Vec<String>,
    /// The top share by λ that counts as hard, for pointwise requirements
    #[arg(long, value_name = "SHARE", default_value_t = 0.2, value_parser = share)]
    pub top: f64,
    /// Of whom the top share is taken: of those with λ > 0, or of all
    #[arg(long, value_name = "WHOM", default_value = "positive",
          value_parser = PossibleValuesParser::new(["positive", "all"]))]
    pub of: String,
    /// Verify the price of each requirement by re-solving just above and just below its limit
    #[arg(long)]
    pub check_sensitivity: bool,
    /// Distance to either side, as a share of the limit that training works with
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = part)]
    pub delta: f64,
    /// Problems to solve at the same time for that; by default as many as there are cores
    #[arg(long, value_name = "N", env = "FEASIBLE_THREADS", hide_env_values = true,
          value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub threads: Option<u64>,
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
