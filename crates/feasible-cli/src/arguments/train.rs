//! Arguments of the commands that train.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use feasible_problem::{memory, store};
use feasible_run::JobPart;

use super::number;

/// What is put on top of a problem file.
#[derive(Clone, Debug, Default, Args)]
pub struct Overrides {
    /// Set a key of the problem file; may be repeated
    ///
    /// The value is TOML, or else text. Name a requirement by its name:
    /// requirement.gender.at_most=1e-4
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Read a data set's original files from this directory [env: FEASIBLE_DATA]
    #[arg(long, alias = "data", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Memory.
    #[command(flatten)]
    pub memory: MemoryArguments,
}

/// How much memory a training may take.
#[derive(Clone, Debug, Default, Args)]
pub struct MemoryArguments {
    /// The most memory that training may take: 800MB, 1.5GB, 2GiB. Tables that would take more are kept on disk; a model
    /// that would is refused [env: FEASIBLE_MEMORY]
    /// [default: what is available on Linux, no limit elsewhere]
    #[arg(long, value_name = "SIZE", value_parser = memory::parse)]
    pub memory: Option<u64>,
    /// Where tables that are kept on disk are, and stay as they were read: the next training need not read them again. Who may
    /// write there decides what is trained [default: a file without a name where the run goes, and nothing stays]
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
}

impl MemoryArguments {
    /// From now on this is the limit, and the place.
    pub fn apply(&self) {
        if let Some(directory) = &self.cache {
            store::set_cache(directory);
        }
        if let Some(bytes) = self.memory {
            memory::set_limit(bytes);
        }
    }
}

/// `fit`.
#[derive(Debug, Args)]
pub struct FitArguments {
    /// A problem file, or an embedded problem: adult, compas, …
    #[arg(value_name = "FILE")]
    pub problem: String,
    /// The run directory; by default runs/NAME, or runs/NAME-2, … if it exists
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Replace the run in the directory
    #[arg(long)]
    pub force: bool,
    /// The seed of initial parameters and shuffles
    #[arg(long, value_name = "SEED", env = "FEASIBLE_SEED", hide_env_values = true,
          value_parser = number::seed)]
    pub seed: Option<u64>,
    /// Train N seeds, starting at --seed, and report mean ± sd; every run is kept
    #[arg(long, value_name = "N", value_parser = number::whole(1, 10_000))]
    pub seeds: Option<u64>,
    /// Train only the seeds, or the models of a ladder, of one of several jobs, such as 3/16: give all jobs the same
    /// command with the same --output; `feasible report DIR` joins them
    #[arg(long, value_name = "K/N", requires = "output", conflicts_with = "force")]
    pub part: Option<JobPart>,
    /// Threads of one training, or seeds trained at once; results do not depend on it
    #[arg(long, value_name = "N", env = "FEASIBLE_THREADS", hide_env_values = true,
          value_parser = number::threads)]
    pub threads: Option<u64>,
    /// Do not write the report
    #[arg(long)]
    pub no_report: bool,
    /// Train a baseline without the requirements too, to show what they cost [default: if it takes about ten
    /// seconds at most]
    #[arg(long, conflicts_with = "no_baseline")]
    pub baseline: bool,
    /// Train no baseline
    #[arg(long)]
    pub no_baseline: bool,
    /// Settings.
    #[command(flatten)]
    pub overrides: Overrides,
}

/// `resume`.
#[derive(Debug, Args)]
pub struct ResumeArguments {
    /// The run directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Memory.
    #[command(flatten)]
    pub memory: MemoryArguments,
    /// Do not train further: end at the last saved epoch, with the best model so far
    #[arg(long)]
    pub finish: bool,
    /// Do not write the report
    #[arg(long)]
    pub no_report: bool,
}

/// `sweep`.
#[derive(Debug, Args)]
pub struct SweepArguments {
    /// A problem file, or an embedded problem: adult, compas, …
    #[arg(value_name = "FILE")]
    pub problem: String,
    /// The requirement whose limit varies
    #[arg(long, value_name = "NAME")]
    pub requirement: String,
    /// The limits: a range, 1e-4..1e-1, or a list, 1e-4,1e-3,1e-2
    #[arg(long, value_name = "LIMITS", allow_hyphen_values = true)]
    pub limits: String,
    /// The number of limits in a range, both ends included
    #[arg(long, value_name = "N", default_value_t = 7,
          value_parser = number::whole(2, 1000))]
    pub points: u64,
    /// Seeds for each limit, from --seed on
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = number::whole(1, 10_000))]
    pub seeds: u64,
    /// The first seed
    #[arg(long, value_name = "SEED", env = "FEASIBLE_SEED", hide_env_values = true,
          value_parser = number::seed)]
    pub seed: Option<u64>,
    /// Train only the share of one of several jobs, such as 3/16: give all jobs the same command with the same
    /// --output; `feasible report DIR` joins them
    #[arg(long, value_name = "K/N", requires = "output", conflicts_with = "force")]
    pub part: Option<JobPart>,
    /// Epochs for each limit
    #[arg(long, value_name = "N", value_parser = number::whole(1, u64::MAX))]
    pub epochs: Option<u64>,
    /// Cores to use, by default all; results do not depend on it
    #[arg(long, value_name = "N", env = "FEASIBLE_THREADS", hide_env_values = true,
          value_parser = number::threads)]
    pub threads: Option<u64>,
    /// Start from the solution of another limit. The exact learner, whose default this is, starts each limit
    /// from the next looser one; other learners start all of them from the loosest
    #[arg(long, conflicts_with = "cold")]
    pub warm: bool,
    /// Start every limit from scratch: the default for other learners
    #[arg(long)]
    pub cold: bool,
    /// The directory of all runs; by default runs/NAME-sweep, or runs/NAME-sweep-2, … if it exists
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Replace the sweep in the directory
    #[arg(long)]
    pub force: bool,
    /// Do not write the report and its figures
    #[arg(long)]
    pub no_report: bool,
    /// Settings.
    #[command(flatten)]
    pub overrides: Overrides,
}

/// `tune`.
#[derive(Debug, Args)]
pub struct TuneArguments {
    /// A problem file, or an embedded problem: adult, compas, …
    #[arg(value_name = "FILE")]
    pub problem: String,
    /// The run directory; by default runs/NAME-tuned, or runs/NAME-tuned-2, … if it exists
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Trials, of which the first has the settings of the file [default: as the file says, or 27]
    #[arg(long, value_name = "N", value_parser = number::whole(1, 1000))]
    pub trials: Option<u64>,
    /// Train only the trials of one of several jobs, such as 3/16, in this round: give all jobs the same command with
    /// the same --output, again for every round, of which there are three at most
    #[arg(long, value_name = "K/N", requires = "output", conflicts_with = "force")]
    pub part: Option<JobPart>,
    /// The seed of the search, and of initial parameters and shuffles of every trial
    #[arg(long, value_name = "SEED", env = "FEASIBLE_SEED", hide_env_values = true,
          value_parser = number::seed)]
    pub seed: Option<u64>,
    /// Cores to use, by default all; results do not depend on it
    #[arg(long, value_name = "N", env = "FEASIBLE_THREADS", hide_env_values = true,
          value_parser = number::threads)]
    pub threads: Option<u64>,
    /// Replace the search or run in the directory
    #[arg(long)]
    pub force: bool,
    /// Do not write the report
    #[arg(long)]
    pub no_report: bool,
    /// Settings.
    #[command(flatten)]
    pub overrides: Overrides,
}

/// How much of an experiment to do.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Budget {
    /// A part of the images (of Fashion-MNIST, of the embedded sample), a few epochs.
    Small,
    /// All images, all epochs, the full attack.
    Paper,
}

/// `reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArguments {
    /// The experiment
    #[arg(value_parser = PossibleValuesParser::new(["adult", "compas", "fashion-mnist", "cifar-10"]))]
    pub experiment: String,
    /// adult, compas: seeds 1 to N [default: 5]
    #[arg(long, value_name = "N", value_parser = number::whole(1, 10_000))]
    pub seeds: Option<u64>,
    /// fashion-mnist, cifar-10: small is minutes on a part of the images, paper is days on all of them
    /// [default: small]
    #[arg(long)]
    pub budget: Option<Budget>,
    /// Trainings at once, or threads of each for images; by default as many as there are cores
    #[arg(long, value_name = "N", env = "FEASIBLE_THREADS", hide_env_values = true,
          value_parser = number::threads)]
    pub threads: Option<u64>,
    /// The directory of runs, report and figures; by default runs/reproduce-EXPERIMENT, or …-2 if it exists; for
    /// images runs/EXPERIMENT-BUDGET, where an interrupted one continues
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Write no files
    #[arg(long, conflicts_with = "output")]
    pub no_report: bool,
    /// Settings.
    #[command(flatten)]
    pub overrides: Overrides,
}
