//! How the program ends.
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | done; every requirement is met on the rows the model is judged by (certified, if asked for) |
//! | 1 | trained, audited or certified, but a requirement is not met, or not known to be |
//! | 2 | the input is wrong |
//! | 3 | the machine (a disk that is full) or the program (a bug) failed |
//! | 130 | interrupted; a run can be resumed |

use std::io;
use std::process::ExitCode;

use feasible_data::{is_hidden, scratch};

use crate::terminal::{error, warn};

/// An exit code. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, and all requirements met.
    Met = 0,
    /// A requirement is not met.
    NotMet = 1,
    /// Wrong input.
    Input = 2,
    /// The machine or the program failed.
    Internal = 3,
    /// Interrupted.
    Interrupted = 130,
}

impl Exit {
    /// What kind of failure it is.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Met => "none",
            Self::NotMet => "not-met",
            Self::Input => "input",
            Self::Internal => "internal",
            Self::Interrupted => "interrupted",
        }
    }

    /// Of what another rank ended with.
    #[cfg(feature = "mpi")]
    pub fn of_code(code: u8) -> Self {
        match code {
            0 => Self::Met,
            1 => Self::NotMet,
            2 => Self::Input,
            130 => Self::Interrupted,
            _ => Self::Internal,
        }
    }

    /// 0 or 1.
    pub fn met(met: bool) -> Self {
        if met { Self::Met } else { Self::NotMet }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    exit: Exit,
    message: String,
}

/// A result whose error is a [`Failure`].
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Wrong input.
    pub fn input(message: impl Into<String>) -> Self {
        Self { exit: Exit::Input, message: message.into() }
    }

    /// The machine failed.
    #[cfg(feature = "mpi")]
    pub fn internal(message: impl Into<String>) -> Self {
        Self { exit: Exit::Internal, message: message.into() }
    }

    /// Interrupted.
    pub fn interrupted(message: impl Into<String>) -> Self {
        Self { exit: Exit::Interrupted, message: message.into() }
    }

    /// A file that cannot be read or written.
    pub fn file(operation: &str, path: &std::path::Path, error: &io::Error) -> Self {
        let path = path.display().to_string();
        let message = format!("cannot {operation} {}: {error}", feasible_data::visible(&path));
        Self { exit: of_system(error), message }
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// What to say.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// A path that leads nowhere is wrong input; a disk that fails is not.
fn of_system(error: &io::Error) -> Exit {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::NotFound
        | Kind::PermissionDenied
        | Kind::AlreadyExists
        | Kind::NotADirectory
        | Kind::IsADirectory
        | Kind::InvalidFilename
        | Kind::InvalidInput
        | Kind::InvalidData
        | Kind::UnexpectedEof
        | Kind::ReadOnlyFilesystem => Exit::Input,
        _ => Exit::Internal,
    }
}

impl From<feasible_problem::Error> for Failure {
    fn from(error: feasible_problem::Error) -> Self {
        feasible_run::Error::from(error).into()
    }
}

impl From<feasible_run::Error> for Failure {
    fn from(error: feasible_run::Error) -> Self {
        let exit = match error.system() {
            Some(source) => of_system(source),
            None if error.is_input() => Exit::Input,
            None => Exit::Internal,
        };
        let message = match &error {
            feasible_run::Error::NotEmpty { directory } => {
                let shown = directory.display();
                format!(
                    "{shown} is not empty: name another directory, continue its run with `feasible \
                     resume {shown}`, or replace it with --force"
                )
            }
            error => error.to_string(),
        };
        Self { exit, message }
    }
}

impl From<feasible_data::Error> for Failure {
    fn from(error: feasible_data::Error) -> Self {
        Self::from(feasible_run::Error::from(error))
    }
}

impl From<feasible_report::Error> for Failure {
    fn from(error: feasible_report::Error) -> Self {
        if let feasible_report::Error::Run(error) = error {
            return error.into();
        }
        let exit = match &error {
            feasible_report::Error::Io { source, .. } => of_system(source),
            feasible_report::Error::Layout { .. } => Exit::Internal,
            _ => Exit::Input,
        };
        Self { exit, message: error.to_string() }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self { exit: of_system(&error), message: format!("cannot write the result: {error}") }
    }
}

/// How it ends where the arguments are help that was asked for, or wrong.
pub fn of_arguments(error: &clap::Error) -> Exit {
    if !error.use_stderr() {
        let printed = error.print().and_then(|()| io::Write::flush(&mut io::stdout()));
        return match printed {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let failure = Failure::from(error);
                self::error(failure.message(), failure.exit());
                failure.exit()
            }
            _ => Exit::Met,
        };
    }
    let words: Vec<String> = std::env::args_os().map(|w| w.to_string_lossy().into()).collect();
    if let Some(message) = of_environment(error, &words) {
        self::error(&message, Exit::Input);
        return Exit::Input;
    }
    let text = error.to_string();
    if crate::terminal::is_json() {
        self::error(text.trim_end().strip_prefix("error: ").unwrap_or(&text), Exit::Input);
        return Exit::Input;
    }
    // It quotes what was typed.
    match words.iter().any(|word| word.chars().any(is_hidden)) {
        true => warn(text.trim_end()),
        false => {
            let _ = error.print();
        }
    }
    Exit::Input
}

/// What is wrong with a variable of the environment that stands for a flag which was not given.
fn of_environment(error: &clap::Error, words: &[String]) -> Option<String> {
    use clap::error::{ContextKind, ContextValue};
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let flag = text(ContextKind::InvalidArg)?.split(' ').next()?;
    let variable = match flag {
        "--seed" => "FEASIBLE_SEED",
        "--threads" => "FEASIBLE_THREADS",
        _ => return None,
    };
    if words.iter().any(|word| word == flag || word.starts_with(&format!("{flag}="))) {
        return None;
    }
    let value = std::env::var_os(variable)?;
    let reason = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    Some(format!("{variable}={}: {reason}", value.to_string_lossy()))
}

/// Ends where rows are kept on disk and it has no room for more. Files of a run are whole at any moment, so it can be resumed.
pub fn disk_is_full(bytes: usize) -> ! {
    let held = feasible_problem::text::bytes(scratch::used());
    let more = feasible_problem::text::bytes(bytes);
    let message = format!(
        "the disk is full: {held} are kept on it for this training, and {more} more are needed. Free some, or name a directory on \
         another disk (--cache). A run that was being trained can be resumed"
    );
    error(&message, Exit::Internal);
    std::process::exit(Exit::Internal as i32);
}

/// Ends where the system gives no more memory. Nothing may be taken on the way, so the sentence is put together in place.
pub fn memory_is_out(bytes: usize) -> ! {
    let mut digits = [0; 20];
    let mut from = digits.len();
    let mut left = bytes;
    while from > 0 && (left > 0 || from == digits.len()) {
        from -= 1;
        digits[from] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    let (before, after): (&[u8], &[u8]) = (
        b"the system refused the ",
        b" bytes of memory that are needed next: use a machine with more, or raise the limit (ulimit -v). A run that was \
          being trained can be resumed",
    );
    let (stream, open, close): (i32, &[u8], &[u8]) = match crate::terminal::is_json() {
        false => (2, b"error: ", b"\n"),
        true => (
            1,
            b"{\"format\":1,\"error\":{\"kind\":\"internal\",\"exit\":3,\"message\":\"",
            b"\"}}\n",
        ),
    };
    scratch::end(stream, &[open, before, &digits[from..], after, close], Exit::Internal as i32)
}

/// How the standard library and rayon panic where a thread cannot be started.
const NO_THREAD: [&str; 4] = [
    "failed to spawn thread",
    "ThreadPoolBuildError",
    "failed to allocate an alternative stack",
    "failed to set up alternative stack guard page",
];

/// Says that a thread could not be started.
pub fn thread_is_refused() -> Exit {
    let message = "the system refused a thread: allow more memory or processes (ulimit), or use fewer --threads";
    error(message, Exit::Internal);
    Exit::Internal
}

/// Has an abort of the C library, which says why (no memory for what it needs itself), end with 3 too.
#[cfg(unix)]
pub fn catch_aborts() {
    use signal_hook::{consts::SIGABRT, flag};
    let always = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let _ = flag::register_conditional_shutdown(SIGABRT, Exit::Internal as i32, always);
}

#[cfg(not(unix))]
pub fn catch_aborts() {}

/// A panic is our bug: says so in a few lines, and ends with 3 whichever thread it was in. Unless it is one of a
/// decoder, at a damaged file. Nothing is unwound; the release profile relies on it.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if let Some(damage) = feasible_data::damage() {
            error(&damage, Exit::Input);
            std::process::exit(Exit::Input as i32);
        }
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let what = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let what = what.unwrap_or("no message");
        if NO_THREAD.iter().any(|no| what.contains(no)) {
            std::process::exit(thread_is_refused() as i32);
        }
        let place = panic.location().map_or(String::new(), |at| format!(" ({at})"));
        let version = env!("CARGO_PKG_VERSION");
        let message = format!(
            "feasible {version} failed: {what}{place}\n\
             This is a bug in feasible, not a fault of yours. Please report it with this message, \
             the command\nand, if you can share it, the problem file. A run that was being \
             trained can be resumed."
        );
        match crate::terminal::is_json() {
            true => error(&message, Exit::Internal),
            false => warn(&message),
        }
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            warn(&std::backtrace::Backtrace::force_capture().to_string());
        }
        std::process::exit(Exit::Internal as i32);
    }));
}
