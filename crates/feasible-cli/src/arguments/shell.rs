//! Arguments of the commands for the shell: completions and manual pages.

use std::path::PathBuf;

use clap::Args;

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
