//! What the program says: results on standard output, the rest on standard error.
//!
//! A reader that has seen enough (`| head`) is no failure: what it does not read is dropped.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::arguments::TerminalArguments;

const ERROR: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();

/// How much to say, and in what form.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Results as JSON.
    pub json: bool,
    /// Nothing but results and errors.
    pub quiet: bool,
    /// More than usual.
    pub verbose: bool,
}

impl Terminal {
    /// As the arguments say.
    pub fn new(arguments: &TerminalArguments) -> Self {
        Self { json: arguments.json, quiet: arguments.quiet, verbose: arguments.verbose }
    }

    /// A result: `text` for people or `value` for programs.
    ///
    /// # Errors
    /// What the system says, unless the reader has gone.
    pub fn result(&self, value: &impl Serialize, text: impl FnOnce() -> String) -> io::Result<()> {
        if !self.json {
            return self.print(text().as_bytes());
        }
        let mut json = serde_json::to_vec_pretty(value)?;
        json.push(b'\n');
        self.print(&json)
    }

    /// Bytes on standard output.
    ///
    /// # Errors
    /// As [`Terminal::result`].
    pub fn print(&self, bytes: &[u8]) -> io::Result<()> {
        self.write(|out| out.write_all(bytes))
    }

    /// Writes to standard output.
    ///
    /// # Errors
    /// As [`Terminal::result`].
    pub fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut out = io::BufWriter::new(WhileRead { out: io::stdout().lock(), gone: false });
        write(&mut out)?;
        out.flush()
    }

    /// Something to know besides the result.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            warn(text);
        }
    }

    /// Something to know for those who asked for more.
    pub fn detail(&self, text: &str) {
        if self.verbose {
            warn(text);
        }
    }

    /// What went wrong.
    pub fn error(&self, message: &str) {
        error(message);
    }

    /// Whether standard error is a terminal.
    pub fn is_interactive(&self) -> bool {
        io::stderr().is_terminal()
    }
}

/// Passes bytes on for as long as there is a reader.
struct WhileRead<W> {
    out: W,
    gone: bool,
}

impl<W: Write> WhileRead<W> {
    fn unless_gone<T>(&mut self, done: io::Result<T>, otherwise: T) -> io::Result<T> {
        match done {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(otherwise)
            }
            done => done,
        }
    }
}

impl<W: Write> Write for WhileRead<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gone {
            return Ok(bytes.len());
        }
        let written = self.out.write(bytes);
        self.unless_gone(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.gone {
            return Ok(());
        }
        let flushed = self.out.flush();
        self.unless_gone(flushed, ())
    }
}

/// The command as it could be typed again.
pub fn command_line() -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=./:,+%@".contains(c);
    let word = |word: String| match word.is_empty() || !word.chars().all(plain) {
        true => format!("'{}'", word.replace('\'', "'\\''")),
        false => word,
    };
    let arguments = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    std::iter::once("feasible".to_string()).chain(arguments.map(word)).collect::<Vec<_>>().join(" ")
}

/// What went wrong, on standard error.
pub fn error(message: &str) {
    let _ = writeln!(anstream::stderr(), "{ERROR}error:{ERROR:#} {message}");
}

/// A line on standard error; that it cannot be written is no reason to stop.
pub fn warn(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
