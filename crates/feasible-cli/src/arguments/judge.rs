//! Arguments of the commands that evaluate a trained model on data.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use feasible_data::Limits;

use super::{Overrides, number};

/// What to do with categories that the training rows did not have.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Unseen {
    /// Stop with an error that names the cell.
    Error,
    /// Treat them as '(other)'.
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

/// What is done with text that a spreadsheet would take for a formula.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum FormulaCells {
    /// Put an apostrophe before them, so that they are text.
    Quote,
    /// Write them as they are, for programs.
    Keep,
}

impl From<FormulaCells> for feasible_run::Formulas {
    fn from(given: FormulaCells) -> Self {
        match given {
            FormulaCells::Quote => Self::Quote,
            FormulaCells::Keep => Self::Keep,
        }
    }
}

/// Limits on what is read.
#[derive(Clone, Debug, Default, Args)]
pub struct LimitArguments {
    /// Raise a limit on files, as in rows=100000000; the keys are those of [data.limits]
    #[arg(long = "read-limit", value_name = "KEY=N", value_parser = limit)]
    given: Vec<(String, u64)>,
}

impl LimitArguments {
    /// Sets the limits that were given.
    pub fn raise(&self, limits: &mut Limits) {
        for (key, most) in &self.given {
            // Checked when it was read.
            let _ = limits.set(key, *most);
        }
    }
}

/// `rows=100000000`, or `rows=1e8`.
fn limit(text: &str) -> Result<(String, u64), String> {
    let (key, number) = text.split_once('=').ok_or("write KEY=N, as in rows=100000000")?;
    let digits = number.replace(['_', ','], "");
    let whole = |x: f64| (x.fract() == 0.0 && (0.0..1e18).contains(&x)).then_some(x as u64);
    let most = digits.parse().ok().or_else(|| digits.parse().ok().and_then(whole));
    let most = most.ok_or(format!("'{number}' is not a whole number"))?;
    Limits::default().set(key.trim(), most)?;
    Ok((key.trim().to_string(), most))
}

/// `predict`.
#[derive(Debug, Args)]
pub struct PredictArguments {
    /// A run directory or a model file
    #[arg(value_name = "DIR_OR_MODEL")]
    pub model: PathBuf,
    /// A table: CSV, TSV or Parquet; - reads from standard input. For a model of images, an image set or
    /// a folder: its test images, or all of them if none are marked as test
    #[arg(value_name = "TABLE")]
    pub table: PathBuf,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What to do with classes that a spreadsheet would read as a formula (they begin with = + - @ and are not
    /// numbers)
    #[arg(long, default_value = "quote")]
    pub formulas: FormulaCells,
    /// What to do with categories that the training rows do not have [default: as the problem file says]
    #[arg(long)]
    pub unseen: Option<Unseen>,
    /// Limits.
    #[command(flatten)]
    pub limits: LimitArguments,
}

/// `audit`.
#[derive(Debug, Args)]
pub struct AuditArguments {
    /// A run directory or a model file
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// A table with the target: CSV, TSV or Parquet; - reads from standard input. For a model of images, an
    /// image set or a folder: its test images, or all of them if none are marked as test
    #[arg(value_name = "TABLE")]
    pub table: PathBuf,
    /// What to do with categories that the training rows do not have [default: as the problem file says]
    #[arg(long)]
    pub unseen: Option<Unseen>,
    /// Limits.
    #[command(flatten)]
    pub limits: LimitArguments,
}

/// The norm of the ball.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Norm {
    /// The largest change of any entry.
    Linf,
    /// The root of the sum of squares.
    L2,
}

/// The loss that an attack maximises.
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
    /// An image set, a folder of images by class, or a problem, whose test images are attacked; by default the
    /// run's own. For a model of tables, a table
    #[arg(value_name = "DATA")]
    pub data: Option<String>,
    /// The values of ε, separated by commas [default: 11 values from 0 to 0.2]
    #[arg(long, value_name = "E,E,…", value_delimiter = ',', value_parser = number::number)]
    pub epsilons: Option<Vec<f64>>,
    /// Gradient steps of a restart
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = number::count)]
    pub steps: u32,
    /// The length of a step as a share of ε [default: max(1/30, 5/(3 steps))]
    #[arg(long, value_name = "SHARE", value_parser = share_of_epsilon)]
    pub step: Option<f64>,
    /// Random restarts for each sample, of which the worst counts
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = number::count)]
    pub restarts: u32,
    /// The norm of the ball
    #[arg(long, default_value = "linf")]
    pub norm: Norm,
    /// The loss that the attack maximises
    #[arg(long, default_value = "cross-entropy")]
    pub loss: AttackLoss,
    /// Attack about N images only, the same number of each class
    #[arg(long, value_name = "N", value_parser = number::whole(1, u64::MAX))]
    pub images: Option<u64>,
    /// The confidence of each interval
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = number::number)]
    pub confidence: f64,
    /// The seed of the random starts
    #[arg(long, value_name = "SEED", env = "FEASIBLE_SEED", hide_env_values = true,
          value_parser = number::seed)]
    pub seed: Option<u64>,
    /// Threads, by default as many as there are cores; results do not depend on it
    #[arg(long, value_name = "N", env = "FEASIBLE_THREADS", hide_env_values = true,
          value_parser = number::threads)]
    pub threads: Option<u64>,
    /// Read an image set's files from this directory [env: FEASIBLE_DATA]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// The directory for attack.json, attack.csv, attack.svg and attack.png; by default the run directory
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Replace an earlier attack of more samples
    #[arg(long)]
    pub force: bool,
    /// Limits.
    #[command(flatten)]
    pub limits: LimitArguments,
}

/// A number, or a fraction such as 1/30.
fn share_of_epsilon(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match text.split_once('/') {
        Some((over, under)) => number(over).zip(number(under)).map(|(over, under)| over / under),
        None => number(text),
    };
    share.ok_or("give a number, or a fraction such as 1/30".into())
}

/// `0.05..0.2`, or one share.
fn base_rate(text: &str) -> Result<(f64, f64), String> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let share = |text: &str| number::number(text).ok().filter(|share| (0.0..=1.0).contains(share));
    match (share(low), share(high)) {
        (Some(low), Some(high)) if low <= high => Ok((low, high)),
        _ => Err("give two shares from 0 to 1, the smaller first, such as 0.05..0.2".into()),
    }
}

/// What must hold to exit with status 0.
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

impl From<Simultaneous> for feasible_problem::spec::SimultaneousName {
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

impl From<Method> for feasible_problem::spec::MethodName {
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
    /// A table of rows that were not used in training, with the target; by default the rows the run held out
    #[arg(value_name = "TABLE")]
    pub table: Option<PathBuf>,
    /// The confidence of all verdicts together [default: as the problem file says, or 0.95]
    #[arg(long, value_name = "SHARE", value_parser = number::number)]
    pub confidence: Option<f64>,
    /// The share of the population that may violate a pointwise requirement that allows no violation
    /// [default: as the problem file says, or 0.01]
    #[arg(long, value_name = "SHARE", value_parser = number::number)]
    pub all_but: Option<f64>,
    /// How requirements share the risk of being wrong [default: as the problem file says, or holm]
    #[arg(long)]
    pub simultaneous: Option<Simultaneous>,
    /// The bound for averages of losses [default: as the problem file says, or betting]
    #[arg(long)]
    pub method: Option<Method>,
    /// A column whose equal values mark rows of one unit, such as a person; a unit counts once [default: as
    /// the problem file says, or none]
    #[arg(long, value_name = "COLUMN")]
    pub unit: Option<String>,
    /// Certify for every population in which no kind of row is more than this many times as common [default: as each
    /// requirement says, or 1]
    #[arg(long, value_name = "TIMES", value_parser = number::number)]
    pub shift: Option<f64>,
    /// Certify selection, precision, error and accuracy for these shares of the positive class, as in 0.05..0.2
    #[arg(long, value_name = "LOW..HIGH", value_parser = base_rate)]
    pub base_rate: Option<(f64, f64)>,
    /// What must hold to exit with status 0
    #[arg(long, default_value = "certified")]
    pub require: Require,
    /// What to do with categories that the training rows do not have [default: as the problem file says]
    #[arg(long)]
    pub unseen: Option<Unseen>,
    /// Limits.
    #[command(flatten)]
    pub limits: LimitArguments,
}

/// What must hold to exit with status 0.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Watch {
    /// No requirement has drifted or been violated since training.
    NotDrifted,
    /// Every requirement is certified.
    Certified,
}

/// `monitor`.
#[derive(Debug, Args)]
pub struct MonitorArguments {
    /// The run directory of the model that is in use
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Tables of new rows, in order of time: CSV, TSV or Parquet; - reads from standard input. Without a table,
    /// shows the verdicts so far
    #[arg(value_name = "TABLE")]
    pub tables: Vec<PathBuf>,
    /// A label for each table, such as 2026-01; by default its file name
    #[arg(long, value_name = "LABEL", value_delimiter = ',')]
    pub at: Vec<String>,
    /// The confidence of all verdicts over the model's life together; fixed by the first table [default: as the
    /// problem file says, or 0.95]
    #[arg(long, value_name = "SHARE", value_parser = number::number)]
    pub confidence: Option<f64>,
    /// The share of the population that may violate a pointwise requirement that allows no violation; fixed
    /// by the first table [default: as the problem file says, or 0.01]
    #[arg(long, value_name = "SHARE", value_parser = number::number)]
    pub all_but: Option<f64>,
    /// What must hold for exit status 0
    #[arg(long, default_value = "not-drifted")]
    pub require: Watch,
    /// What to do with categories that the training rows do not have [default: as the problem file says]
    #[arg(long)]
    pub unseen: Option<Unseen>,
    /// Limits.
    #[command(flatten)]
    pub limits: LimitArguments,
}

/// `bound`.
#[derive(Debug, Args)]
pub struct BoundArguments {
    /// A problem file, or an embedded problem: its rows, requirements and model
    #[arg(value_name = "FILE")]
    pub problem: Option<String>,
    /// Held-out rows: what can they certify?
    #[arg(long, value_name = "N", value_parser = number::whole(1, u64::MAX))]
    pub rows: Option<u64>,
    /// A share, or a mean divided by its bound, to certify: how many rows does it take?
    #[arg(long, value_name = "SHARE", value_parser = number::number)]
    pub limit: Option<f64>,
    /// The share expected in the sample; several by default
    #[arg(long, value_name = "SHARE", value_parser = number::number)]
    pub rate: Option<f64>,
    /// The confidence, of all requirements together
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, value_parser = number::number)]
    pub confidence: f64,
    /// Requirements that share the confidence [default: those of the problem file, or 1]
    #[arg(long, value_name = "M", value_parser = number::whole(1, 1_000_000))]
    pub requirements: Option<u64>,
    /// The VC dimension of the sets {f > 0}, for the paper's bounds [default: that of the problem file's model]
    #[arg(long, value_name = "D", value_parser = number::number)]
    pub dimension: Option<f64>,
    /// Settings.
    #[command(flatten)]
    pub overrides: Overrides,
}
