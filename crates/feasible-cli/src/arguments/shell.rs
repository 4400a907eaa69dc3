//! Arguments of the commands for the shell: completions and manual pages.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

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

/// What a schema describes.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaOf {
    /// The problem file.
    Problem,
    /// What --json prints.
    Output,
}

/// `schema`.
#[derive(Debug, Args)]
pub struct SchemaArguments {
    /// What it describes: the problem file, or what --json prints
    #[arg(long, default_value = "problem", value_name = "WHAT")]
    pub of: SchemaOf,
}
