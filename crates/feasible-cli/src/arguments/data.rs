//! Arguments of `data`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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
    /// Show the source, licence, files and columns of a data set
    #[command(after_help = "Example:\n  feasible data show compas")]
    Show {
        /// The data set
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Print the commands that fetch an image set from its authors
    ///
    /// The program itself opens no connection.
    #[command(after_help = "Example:\n  feasible data fetch fashion-mnist data/")]
    Fetch {
        /// The image set
        #[arg(value_name = "NAME")]
        name: String,
        /// The directory to fetch into; by default one with the name of the set
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
    },
    /// Write the tables of a data set as CSV
    #[command(after_help = "Example:\n  feasible data export adult data/")]
    Export {
        /// The data set
        #[arg(value_name = "NAME")]
        name: String,
        /// The directory to write to
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Replace files that exist
        #[arg(long)]
        force: bool,
    },
}
