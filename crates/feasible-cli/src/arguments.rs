//! The arguments, as clap reads them. Every help text begins with what the command is for and
//! ends with an example.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

const EXIT_CODES: &str = "\
Exit codes:
  0    done; every requirement is met on the rows the model is judged by (certified, if asked for)
  1    trained, audited or certified, but a requirement is not met
  2    the input is wrong
  3    the machine or the program failed
  130  interrupted; `feasible resume` goes on

Environment:
  FEASIBLE_THREADS, FEASIBLE_SEED, FEASIBLE_DATA stand for --threads, --seed, --data-dir;
  NO_COLOR turns colours off. Flags win over the environment, the environment over the file.

Example:
  feasible fit adult -o runs/adult
  feasible predict runs/adult people.csv > predictions.csv";

/// Train models that must meet requirements
///
/// Say in a problem file what to predict and what must hold, for everyone or for groups, on
/// average or for each person. `feasible fit` finds a model that is good and meets the
/// requirements, and says whether it does on rows it has not seen.
#[derive(Debug, Parser)]
#[command(name = "feasible", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Arguments {
    /// What to say.
    #[command(flatten)]
    pub terminal: TerminalArguments,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// How much to say, and in what form.
#[derive(Clone, Debug, Args)]
pub struct TerminalArguments {
    /// Print the result as JSON
    #[arg(long, global = true, help_heading = "Output")]
    pub json: bool,
    /// Say nothing but results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Output")]
    pub quiet: bool,
    /// Say more: every epoch, every checkpoint, times
    #[arg(short, long, global = true, help_heading = "Output")]
    pub verbose: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train the model of a problem file
    ///
    /// Reads the problem file and its data, trains, and writes a run directory: the model, its
    /// multipliers, metrics of every epoch, and a checkpoint to resume from. Prints how the model
    /// does on training, validation and test rows, and what held-out rows certify. Ctrl-C saves and stops; `feasible resume` goes
    /// on. Ends with 0 if every requirement is met on the test rows (or validation or training
    /// rows, if there are no others), with 1 if not; if the problem file has `certify`, with 0 only if every
    /// requirement is certified.
    #[command(after_help = "Example:\n  \
        feasible fit adult --set requirement.gender.at_most=1e-4 --seeds 5 -o runs/strict")]
    Fit(FitArguments),
    /// Go on with a run that was interrupted or killed
    ///
    /// Starts from the last checkpoint. The result is the same, byte for byte, as if the run had
    /// never been stopped. A run that is already done is only reported.
    #[command(
        after_help = "Example:\n  feasible resume runs/adult\n  feasible resume runs/adult --finish"
    )]
    Resume(ResumeArguments),
    /// Predict the rows of a table with a trained model
    ///
    /// Applies the preprocessing stored with the model and prints one line of CSV for each row:
    /// its number, the class and the probability of each class (or the value, if numbers are
    /// predicted).
    #[command(after_help = "Example:\n  feasible predict runs/adult people.csv > predictions.csv")]
    Predict(PredictArguments),
    /// Hold a trained model against any table
    ///
    /// Prints accuracy, every requirement the model was trained for, and how many predictions
    /// change under each counterfactual, on all rows of the table (which must have the target).
    /// Says what the rows certify, if they were not used in training. Ends with 0 if every requirement is
    /// met, with 1 if not.
    #[command(after_help = "Example:\n  feasible audit runs/adult this-year.csv && ./deploy")]
    Audit(AuditArguments),
    /// Attack a trained model: its accuracy against the size of the perturbation
    ///
    /// Searches, for each sample and each ε of a grid, a perturbation of at most ε that makes the model
    /// err, by projected gradient ascent: 50 steps of ε/30, the worst of 10 restarts, as in the paper. Prints
    /// the share that stands with its exact interval, and writes it as JSON, CSV and SVG. Pixels stay in
    /// [0, 1]; of a table only standardised numbers move, in standard deviations.
    #[command(after_help = "Example:\n  feasible attack runs/robust --images 500 --restarts 3\n  \
        feasible attack model.safetensors fashion-mnist --epsilons 0,0.04,0.1 -o curve/")]
    Attack(AttackArguments),
    /// Say what is certain about a trained model on data nobody has seen
    ///
    /// Holds the model against rows that were not used to train it, and says of each requirement what
    /// they prove about the population they are drawn from: CERTIFIED, MET (in the rows, which are too few
    /// to say more), VIOLATED or OPEN, all requirements together at the confidence asked for. Without a
    /// table, uses the rows that the run itself kept back or tested on. Refuses rows that the record of the
    /// run knows as used. Ends with 0 if every requirement is certified, with 1 if not.
    #[command(after_help = "Example:\n  feasible certify runs/adult this-year.csv && ./deploy")]
    Certify(CertifyArguments),
    /// Say how many rows a certificate takes, and what the rows there are would buy
    ///
    /// Answers before anything is trained: the share of a population that N held-out rows certify, the
    /// rows that certify a level, and what the paper's bounds for all models of a class at once have to
    /// say. A problem file supplies its rows, requirements and model.
    #[command(after_help = "Example:\n  feasible bound --rows 32561\n  \
        feasible bound --level 0.01 --confidence 0.99\n  feasible bound adult --level 0.001")]
    Bound(BoundArguments),
    /// Solve a problem over levels of one requirement: what does a stricter level cost?
    ///
    /// Trains a model for each level and seed; prints objective, accuracy, violation and multiplier against the
    /// level, and writes them as a table, as JSON and on one page. Every level and seed is a run of its own. A
    /// sweep that was stopped goes on where it was if it is started again. Ends with 0 when it is done, whatever it
    /// shows.
    #[command(after_help = "Example:\n  \
        feasible sweep adult --requirement gender --levels 1e-4..1e-1 --seeds 3")]
    Sweep(SweepArguments),
    /// Put a run on one page, or several side by side
    ///
    /// Writes one HTML file that needs nothing else: the verdict, what it cost, what made it hard,
    /// how training went, how to reproduce it; and beside it a model card in Markdown. It is made from the
    /// run and its data alone and can be opened offline, mailed and printed. Several directories, or
    /// that of several seeds, are compared. Ends with 0 when it is written, whatever it says.
    #[command(after_help = "Example:\n  feasible report runs/adult --figures figures/\n  \
        feasible report runs/adult runs/strict -o comparison.html")]
    Report(ReportArguments),
    /// Say what a problem file means, without training
    ///
    /// Reads the problem file and its data and prints the problem in mathematical words, the
    /// columns the model is fed and the size of everything.
    #[command(after_help = "Example:\n  feasible check problem.toml")]
    Check(CheckArguments),
    /// Write a first problem file for a table
    ///
    /// Looks at the table's columns and writes a problem file with comments, ready to be edited.
    /// The name of an embedded problem (adult, compas, …) writes that problem's file.
    #[command(
        after_help = "Example:\n  feasible init people.csv --target income && feasible check people.toml"
    )]
    Init(InitArguments),
    /// List, show, export or fetch data sets
    ///
    /// Adult and COMPAS are embedded, with the paper's preprocessing; nothing is downloaded.
    #[command(after_help = "Example:\n  feasible data export adult data/")]
    Data(DataArguments),
    /// Repeat an experiment of the paper, its figures beside ours
    ///
    /// adult and compas train every variant with several seeds, print one table, and write the paper's
    /// figures from our runs on one page, its claims beside what we find. fashion-mnist and cifar-10 train
    /// networks with and without a requirement under attack, attack them, and keep runs, curves and
    /// figures in a directory: called again after an interruption, they go on. cifar-10 needs its files,
    /// see `feasible data show cifar-10`. Ends with 0 when the experiment is done, whatever it shows.
    #[command(after_help = "Example:\n  feasible reproduce adult --seeds 3\n  \
        feasible reproduce fashion-mnist --budget paper --data-dir data/")]
    Reproduce(ReproduceArguments),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  \
        feasible completions bash > ~/.local/share/bash-completion/completions/feasible")]
    Completions(CompletionsArguments),
    /// Print the manual page, or write those of all commands
    #[command(after_help = "Example:\n  feasible man | man -l -")]
    Man(ManArguments),
    /// Print the JSON schema of the problem file, for editors that complete and check it
    #[command(after_help = "Example:\n  feasible schema > problem.schema.json")]
    Schema,
}

/// What is put on top of a problem file.
#[derive(Clone, Debug, Default, Args)]
pub struct Overrides {
    /// Set a key of the problem file; may be repeated
    ///
    /// The value is TOML, or else text. A requirement goes by its name:
    /// requirement.gender.at_most=1e-4
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Read a data set's original files from this directory [env: FEASIBLE_DATA]
    #[arg(long, alias = "data", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

/// `fit`.
#[derive(Debug, Args)]
pub struct FitArguments {
    /// A problem file, or an embedded problem: adult, compas, …
    #[arg(value_name = "FILE|adult|compas")]
    pub problem: String,
    /// The run directory; by default runs/NAME, or runs/NAME-2, … if it exists
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Replace the run that is in the directory
    #[arg(long)]
    pub force: bool,
    /// The seed of the start and of the shuffles
    #[arg(long, value_name = "SEED", env = "FEASIBLE_SEED", hide_env_values = true)]
    pub seed: Option<u64>,
    /// Train so many seeds, from --seed on, and report mean ± sd; every run is kept
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub seeds: Option<u64>,
    /// Threads: of one training, or seeds trained at once; results do not depend on it
    #[arg(long, value_name = "N", env = "FEASIBLE_THREADS", hide_env_values = true,
          value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub threads: Option<u64>,
    /// Write no page about the run
    #[arg(long)]
    pub no_report: bool,
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
    /// Train no further: end with the last epoch that was saved, and the model that was kept
    #[arg(long)]
    pub finish: bool,
    /// Write no page about the run
    #[arg(long)]
    pub no_report: bool,
}

/// `sweep`.
#[derive(Debug, Args)]
pub struct SweepArguments {
    /// A problem file, or an embedded problem: adult, compas, …
    #[arg(value_name = "FILE|adult|compas")]
    pub problem: String,
    /// The requirement whose level moves
    #[arg(long, value_name = "NAME")]
    pub requirement: String,
    /// The levels: a range, 1e-4..1e-1, or a list, 1e-4,1e-3,1e-2
    #[arg(long, value_name = "LEVELS", allow_hyphen_values = true)]
    pub levels: String,
    /// Levels of a range, both ends included
    #[arg(long, value_name = "N", default_value_t = 7,
          value_parser = clap::value_parser!(u64).range(2..=1000))]
    pub points: u64,
    /// Seeds for each level, from --seed on
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub seeds: u64,
    /// The first seed
    #[arg(long, value_name = "SEED", env = "FEASIBLE_SEED", hide_env_values = true)]
    pub seed: Option<u64>,
    /// Epochs for each level
    #[arg(long, value_name = "N")]
    pub epochs: Option<u64>,
    /// Cores to use, by default all; results do not depend on it
    #[arg(long, value_name = "N", env = "FEASIBLE_THREADS", hide_env_values = true,
          value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub threads: Option<u64>,
    /// Start from another level's solution: the default for the exact learner, each from the next looser
    /// level's; for other learners all from the loosest level's, so that all have had the same training
    #[arg(long, conflicts_with = "cold")]
    pub warm: bool,
    /// Start every level afresh: the default for other learners
    #[arg(long)]
    pub cold: bool,
    /// Where everything goes; by default runs/NAME-sweep, or runs/NAME-sweep-2, … if it exists
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Replace the sweep that is in the directory
    #[arg(long)]
    pub force: bool,
    /// Write no page and no figures
    #[arg(long)]
    pub no_report: bool,
    /// Settings.
    #[command(flatten)]
    pub overrides: Overrides,
}

/// What to do with levels that the training rows did not have.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Unseen {
    /// Stop and say where.
    Error,
    /// Take them as '(other)'.
    Other,
}

impl From<Unseen> for feasible_data::Unseen {
    fn from(unseen: Unseen) -> Self {
        match unseen {
            Unseen::Error => Self::Error,
            Unseen::Other => Self::Other,
        }
    }
}

/// `predict`.
#[derive(Debug, Args)]
pub struct PredictArguments {
    /// A run directory or a model file
    #[arg(value_name = "DIR_OR_MODEL")]
    pub model: PathBuf,
    /// A table: CSV, TSV or Parquet; - reads from standard input. For a model of images, an image set or
    /// a folder: its test images, or all if it has no such part
    #[arg(value_name = "TABLE")]
    pub table: PathBuf,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What to do with levels the training rows did not have, if not as the problem file says
    #[arg(long)]
    pub unseen: Option<Unseen>,
}

/// `audit`.
#[derive(Debug, Args)]
pub struct AuditArguments {
    /// A run directory or a model file
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// A table with the target: CSV, TSV or Parquet; - reads from standard input. For a model of images, an
    /// image set or a folder: its test images, or all if it has no such part
    #[arg(value_name = "TABLE")]
    pub table: PathBuf,
    /// What to do with levels the training rows did not have, if not as the problem file says
    #[arg(long)]
    pub unseen: Option<Unseen>,
}

/// The norm of the ball.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Norm {
    /// The largest change of any entry.
    Linf,
    /// The root of the sum of squares.
    L2,
}

/// What an attack climbs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum AttackLoss {
    /// The loss of the right class.
    CrossEntropy,
    /// The largest other output minus that of the right class.
    Margin,
}

/// `attack`.
#[derive(Debug, Args)]
pub struct AttackArguments {
    /// A run directory or a model file
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// An image set, a folder of images by class, or a problem: its test images; by default the run's
    /// own. For a model of tables, a table
    #[arg(value_name = "DATA")]
    pub data: Option<String>,
    /// The grid of ε [default: 0 to 0.2 in 11 steps]
    #[arg(long, value_name = "E,E,…", value_delimiter = ',')]
    pub epsilons: Option<Vec<f64>>,
    /// Steps of a run
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub steps: u32,
    /// The length of a step as a share of ε [default: 1/30]
    #[arg(long, value_name = "SHARE", value_parser = share_of_epsilon)]
    pub step: Option<f64>,
    /// Runs for each sample, of which the worst counts
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub restarts: u32,
    /// The norm of the ball
    #[arg(long, default_value = "linf")]
    pub norm: Norm,
    /// What is climbed
    #[arg(long, default_value = "cross-entropy")]
    pub loss: AttackLoss,
    /// Attack only about so many images, as many of each class
    #[arg(long, value_name = "N")]
    pub images: Option<usize>,
    /// The confidence of each interval
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    pub confidence: f64,
    /// The seed of the random starts
    #[arg(long, value_name = "SEED", env = "FEASIBLE_SEED", hide_env_values = true)]
    pub seed: Option<u64>,
    /// Threads, by default as many as there are cores; results do not depend on it
    #[arg(long, value_name = "N", env = "FEASIBLE_THREADS", hide_env_values = true,
          value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub threads: Option<u64>,
    /// Read an image set's files from this directory [env: FEASIBLE_DATA]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Where attack.json, attack.csv and attack.svg go; by default the run directory
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// A number, or a fraction such as 1/30.
fn share_of_epsilon(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match text.split_once('/') {
        Some((over, under)) => number(over).zip(number(under)).map(|(over, under)| over / under),
        None => number(text),
    };
    share.ok_or("a number, or a fraction such as 1/30".into())
}

/// What ends with 0.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Require {
    /// Every requirement is certified.
    Certified,
    /// Every requirement is certified or met in the rows.
    Met,
}

/// How requirements share δ.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Simultaneous {
    /// Holm's step-down.
    Holm,
    /// An equal part for each.
    Bonferroni,
}

impl From<Simultaneous> for feasible_run::spec::SimultaneousName {
    fn from(given: Simultaneous) -> Self {
        match given {
            Simultaneous::Holm => Self::Holm,
            Simultaneous::Bonferroni => Self::Bonferroni,
        }
    }
}

/// The bound for averages of losses.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Method {
    /// Waudby-Smith and Ramdas.
    Betting,
    /// Bates and others.
    HoeffdingBentkus,
    /// Maurer and Pontil.
    EmpiricalBernstein,
    /// Hoeffding.
    Hoeffding,
}

impl From<Method> for feasible_run::spec::MethodName {
    fn from(given: Method) -> Self {
        match given {
            Method::Betting => Self::Betting,
            Method::HoeffdingBentkus => Self::HoeffdingBentkus,
            Method::EmpiricalBernstein => Self::EmpiricalBernstein,
            Method::Hoeffding => Self::Hoeffding,
        }
    }
}

/// `certify`.
#[derive(Debug, Args)]
pub struct CertifyArguments {
    /// A run directory
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// A table of rows that were not used, with the target; by default those the run held out
    #[arg(value_name = "TABLE")]
    pub table: Option<PathBuf>,
    /// The confidence, of all requirements together [default: as the problem file says, or 0.95]
    #[arg(long, value_name = "SHARE")]
    pub confidence: Option<f64>,
    /// The share of the population that may violate a requirement on every single sample, where it allows
    /// none [default: as the problem file says, or 0.01]
    #[arg(long, value_name = "SHARE")]
    pub all_but: Option<f64>,
    /// How requirements share the risk of being wrong [default: as the problem file says, or holm]
    #[arg(long)]
    pub simultaneous: Option<Simultaneous>,
    /// The bound for averages of losses [default: as the problem file says, or betting]
    #[arg(long)]
    pub method: Option<Method>,
    /// What ends with 0
    #[arg(long, default_value = "certified")]
    pub require: Require,
    /// What to do with levels the training rows did not have, if not as the problem file says
    #[arg(long)]
    pub unseen: Option<Unseen>,
}

/// `bound`.
#[derive(Debug, Args)]
pub struct BoundArguments {
    /// A problem file, or an embedded problem: its rows, requirements and model
    #[arg(value_name = "FILE|adult|compas")]
    pub problem: Option<String>,
    /// Held-out rows: what do they buy?
    #[arg(long, value_name = "N")]
    pub rows: Option<u64>,
    /// The share, or the mean divided by its bound, to be certified: how many rows does it take?
    #[arg(long, value_name = "SHARE")]
    pub level: Option<f64>,
    /// The share that a sample is expected to show; several by default
    #[arg(long, value_name = "SHARE")]
    pub rate: Option<f64>,
    /// The confidence, of all requirements together
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    pub confidence: f64,
    /// Requirements that share it [default: those of the problem file, or 1]
    #[arg(long, value_name = "M")]
    pub requirements: Option<usize>,
    /// The VC dimension of the class of models, for the paper's bounds [default: of the problem file's]
    #[arg(long, value_name = "D")]
    pub dimension: Option<f64>,
    /// Settings.
    #[command(flatten)]
    pub overrides: Overrides,
}

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
    /// Verify the price of each requirement by solving again at both sides of its level
    #[arg(long)]
    pub check_sensitivity: bool,
    /// How far to either side, as a share of the level that training works with
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = part)]
    pub delta: f64,
    /// Solve so many problems at once for that, by default as many as there are cores
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
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub seeds: Option<u64>,
    /// fashion-mnist, cifar-10: small is minutes on a part of the images, paper is days on all of them
    /// [default: small]
    #[arg(long)]
    pub budget: Option<Budget>,
    /// Trainings at once, or threads of each for images; by default as many as there are cores
    #[arg(long, value_name = "N", env = "FEASIBLE_THREADS", hide_env_values = true,
          value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub threads: Option<u64>,
    /// Where runs, page and figures go; by default runs/reproduce-EXPERIMENT, or …-2 if it exists; for
    /// images runs/EXPERIMENT-BUDGET, where an interrupted one goes on
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Write nothing
    #[arg(long, conflicts_with = "output")]
    pub no_report: bool,
    /// Settings.
    #[command(flatten)]
    pub overrides: Overrides,
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
