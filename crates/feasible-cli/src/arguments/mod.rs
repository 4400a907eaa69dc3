//! The arguments, as clap reads them. Every help text begins with what the command is for and
//! ends with an example.

mod data;
mod export;
mod judge;
mod number;
mod problem;
mod report;
mod shell;
mod train;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use data::{DataArguments, DataCommand};
pub use export::{ExportArguments, ExportFormat};
pub use judge::{
    AttackArguments, AttackLoss, AuditArguments, BoundArguments, CertifyArguments, LimitArguments,
    MonitorArguments, Norm, PredictArguments, Require, Watch,
};
pub use problem::{CheckArguments, InitArguments};
pub use report::ReportArguments;
pub use shell::{CompletionsArguments, ManArguments, SchemaArguments, SchemaOf};
pub use train::{
    Budget, FitArguments, Overrides, ReproduceArguments, ResumeArguments, SweepArguments,
    TuneArguments,
};

const EXIT_CODES: &str = "\
Exit status:
  0    done; every requirement is met on the rows that decide (certified, if
       the problem file asks for that), or none were stated
  1    done, but a requirement is not met or not certified, or has drifted
  2    the input is wrong
  3    the machine or the program failed
  130  interrupted; `feasible resume` continues a training

Environment:
  FEASIBLE_THREADS  --threads      FEASIBLE_DATA    --data-dir
  FEASIBLE_SEED     --seed         FEASIBLE_MEMORY  --memory
  NO_COLOR          --color never
  Flags win over the environment, the environment over the problem file.

Example:
  feasible fit adult -o runs/adult
  feasible predict runs/adult people.csv > predictions.csv";

/// Train models that must meet requirements
///
/// A problem file states what to predict and what must hold, for everyone or for groups, on
/// average or for each person. `feasible fit` trains a model that is accurate and meets the
/// requirements, and checks them on rows it has not seen.
#[derive(Debug, Parser)]
#[command(name = "feasible", version, after_help = EXIT_CODES, max_term_width = 80)]
pub struct Arguments {
    /// What to print.
    #[command(flatten)]
    pub terminal: TerminalArguments,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to print, and in what form.
#[derive(Clone, Debug, Args)]
pub struct TerminalArguments {
    /// Print the result, or the error, as JSON
    #[arg(long, global = true, help_heading = "Output")]
    pub json: bool,
    /// Suppress progress: print only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Output")]
    pub quiet: bool,
    /// Print more: every epoch, every checkpoint, every requirement
    #[arg(short, long, global = true, help_heading = "Output")]
    pub verbose: bool,
    /// When to colour verdicts and errors
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Output"
    )]
    pub color: Color,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// From now on.
    pub fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train the model of a problem file
    ///
    /// Reads the problem file and its data, trains, and writes a run directory: the model, its
    /// multipliers, metrics of every epoch, and a checkpoint to resume from. Prints the verdict, the results
    /// on training, validation and test rows, and what held-out rows certify. Ctrl-C saves and stops; `feasible resume`
    /// continues. Exits with status 0 if every requirement is met on the test rows (or on validation or training
    /// rows, if there are no others), 1 if not; if the problem file has `certify`, 0 only if every
    /// requirement is certified.
    #[command(after_help = "Example:\n  feasible fit adult -o runs/adult\n  \
        feasible fit adult --set requirement.gender.at_most=1e-4 --seeds 5")]
    Fit(FitArguments),
    /// Resume a run that was interrupted or killed
    ///
    /// Continues from the last checkpoint. The result is the same, byte for byte, as if the run had
    /// never been stopped. A run that is already complete is only reported.
    #[command(
        after_help = "Example:\n  feasible resume runs/adult\n  feasible resume runs/adult --finish"
    )]
    Resume(ResumeArguments),
    /// Predict the rows of a table with a trained model
    ///
    /// Applies the preprocessing that is stored with the model and prints one line of CSV for each row:
    /// its number, the class and the probability of each class, or the value if numbers are
    /// predicted.
    #[command(after_help = "Example:\n  feasible predict runs/adult people.csv > predictions.csv")]
    Predict(PredictArguments),
    /// Write a trained model as an ONNX file
    ///
    /// The file holds the whole model: preprocessing, categories, network, thresholds and classes, in standard
    /// operators, for onnxruntime and every other program that runs ONNX. It has one input for each column and
    /// the outputs of `feasible predict`: label and probabilities, or the value. Prints the inputs and outputs.
    #[command(after_help = "Example:\n  feasible export runs/adult --format onnx -o adult.onnx")]
    Export(ExportArguments),
    /// Evaluate a trained model on a table
    ///
    /// Prints whether the requirements are met, accuracy, and how many predictions change under each
    /// counterfactual, on all rows of the table, which must have the target.
    /// If the rows were not used in training, also prints what they certify. Exits with status 0 if every requirement
    /// is met, 1 if not.
    #[command(after_help = "Example:\n  feasible audit runs/adult this-year.csv && ./deploy")]
    Audit(AuditArguments),
    /// Attack a trained model: its accuracy against the size of the perturbation
    ///
    /// For each sample and each ε of a grid, searches for a perturbation of at most ε that makes the model
    /// err, by projected gradient ascent: 50 steps of ε/30, the worst of 10 restarts, as in the paper. Fewer steps
    /// are longer: a step is max(ε/30, 5ε/(3 steps)). Prints the share of samples that are still correct, with
    /// its exact interval, and writes it as JSON, CSV and SVG. Pixels stay in [0, 1]; in a table only standardised
    /// numbers change, in units of a standard deviation.
    #[command(after_help = "Example:\n  feasible attack runs/robust --images 500 --restarts 3\n  \
        feasible attack runs/robust fashion-mnist --epsilons 0,0.04,0.1 -o curve/")]
    Attack(AttackArguments),
    /// Certify requirements on held-out data
    ///
    /// Evaluates the model on rows that were not used to train it, and reports what they prove about the
    /// population they are drawn from. The verdict on each requirement is CERTIFIED, MET (in the sample, which is too
    /// small to prove more), VIOLATED or OPEN; all verdicts hold together with the chosen confidence. Without a
    /// table, uses the rows that the run itself held back or tested on. Rows that were used in training
    /// are refused. Exits with status 0 if every requirement is certified, 1 if not.
    #[command(after_help = "Example:\n  feasible certify runs/adult this-year.csv && ./deploy")]
    Certify(CertifyArguments),
    /// Monitor a model in use, table by table
    ///
    /// Adds tables of new rows to a ledger in the run directory and judges every requirement on all tables so
    /// far: CERTIFIED (the average over all tables meets the limit), DRIFTED (the average over some tables in a
    /// row violates it), VIOLATED (it does, and did when training ended) or OPEN. However often you look and however many tables follow, all verdicts together
    /// are right with the chosen confidence. A table counts once: called again with the same one, the
    /// command only shows the verdicts. Tables without the target count for requirements that do not need it, and
    /// for the others once they are given with it. Rows that were trained on, or that are in an earlier table,
    /// are refused. Exits with status 1 if a requirement is DRIFTED or VIOLATED.
    #[command(after_help = "Example:\n  feasible monitor runs/adult january.csv --at 2026-01\n  \
        feasible monitor runs/adult")]
    Monitor(MonitorArguments),
    /// Plan a certificate: how many rows it takes, and what your rows can certify
    ///
    /// Computed before anything is trained: the share of a population that N held-out rows can certify, the
    /// number of rows that a limit takes, and the paper's bounds for all models of a class at once. A problem
    /// file supplies its rows, requirements and model.
    #[command(after_help = "Example:\n  feasible bound --rows 32561\n  \
        feasible bound --limit 0.01 --confidence 0.99\n  feasible bound adult --limit 0.001")]
    Bound(BoundArguments),
    /// Train over a range of limits of one requirement: what does a stricter limit cost?
    ///
    /// Trains a model for each limit and seed; prints objective, accuracy, violation and multiplier against the
    /// limit, and writes them as a table, as JSON and as an HTML page. Every limit and seed is a run of its own. A
    /// sweep that was stopped continues when it is started again. Exits with status 0 when it is done, whatever the
    /// results.
    #[command(after_help = "Example:\n  \
        feasible sweep adult --requirement gender --limits 1e-4..1e-1 --seeds 3")]
    Sweep(SweepArguments),
    /// Search model and training settings under the requirements, and train the best
    ///
    /// Trains the problem with settings drawn from a space: [tune] in the problem file, or the default for
    /// its kind of model. All trials are trained briefly, the best third three times as long, and so on;
    /// the settings of the file are a trial that is never dropped. Trials are compared on the validation rows alone:
    /// feasible before infeasible, then by the objective. The directory then holds the run of the best trial, as
    /// `feasible fit` would write it, with tune.json and the search in its report. A search that was stopped continues
    /// when it is started again. Exits with status 0 if every requirement is met, 1 if not, as `fit` does.
    #[command(after_help = "Example:\n  feasible tune problem.toml --trials 27 -o runs/tuned")]
    Tune(TuneArguments),
    /// Write an HTML report of a run, or of several side by side
    ///
    /// Writes one self-contained HTML file: the verdict, what it cost, what made it hard,
    /// how training went, how to reproduce it; and next to it a model card in Markdown. The file can be opened
    /// offline, mailed and printed. Several directories, or the directory of several seeds, are compared.
    /// Exits with status 0 when the file is written, whatever the verdict.
    #[command(after_help = "Example:\n  feasible report runs/adult --figures figures/\n  \
        feasible report runs/adult runs/strict -o comparison.html")]
    Report(ReportArguments),
    /// Validate and explain a problem file, without training
    ///
    /// Reads the problem file and its data and prints the problem as mathematics, the columns fed to
    /// the model, and the size of everything. Long lists are shortened; -v prints them whole.
    #[command(after_help = "Example:\n  feasible check problem.toml")]
    Check(CheckArguments),
    /// Write a first problem file for a table
    ///
    /// Inspects the table's columns and writes a problem file with comments, ready to edit.
    /// The name of an embedded problem (adult, compas, …) writes that problem's file.
    #[command(after_help = "Example:\n  \
        feasible init people.csv --target income && feasible check people.toml")]
    Init(InitArguments),
    /// List, show, export or fetch data sets
    ///
    /// Adult and COMPAS are embedded, with the paper's preprocessing; nothing is downloaded.
    #[command(after_help = "Example:\n  feasible data export adult data/")]
    Data(DataArguments),
    /// Reproduce an experiment of the paper, next to its published figures
    ///
    /// adult and compas train every variant with several seeds, print one table, and write the paper's
    /// figures, redrawn from these runs, and its claims next to the results to one HTML page. fashion-mnist and
    /// cifar-10 train networks with and without a requirement under attack, attack them, and keep runs, curves and
    /// figures in a directory; the same command continues after an interruption. cifar-10 needs its files:
    /// see `feasible data show cifar-10`. Exits with status 0 when the experiment is done, whatever the results.
    #[command(after_help = "Example:\n  feasible reproduce adult --seeds 3\n  \
        feasible reproduce fashion-mnist --budget paper --data-dir data/")]
    Reproduce(ReproduceArguments),
    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  feasible completions bash > feasible.bash")]
    Completions(CompletionsArguments),
    /// Print the manual page, or write those of all commands
    #[command(after_help = "Example:\n  feasible man | man -l -")]
    Man(ManArguments),
    /// Print the JSON schema of the problem file, or of what --json prints
    ///
    /// Editors that know the schema of the problem file complete and check it.
    #[command(after_help = "Example:\n  feasible schema > problem.schema.json\n  \
        feasible schema --of output > output.schema.json")]
    Schema(SchemaArguments),
}
