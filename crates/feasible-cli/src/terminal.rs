//! What the program says: results on standard output, the rest on standard error.
//!
//! Names and values come from files, and a file may hold what moves the cursor or turns text around: text for people
//! has such characters written out, JSON has them escaped. CSV and TOML, which programs read, are as they are,
//! unless standard output is a terminal.
//!
//! A reader that has seen enough (`| head`) is no failure: what it does not read is dropped.

use std::io::{self, IsTerminal, Write};

use feasible_data::{is_hidden, visible_lines};
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
        let text = match self.json {
            false => visible_lines(&text()).into_owned(),
            true => escaped(&serde_json::to_string_pretty(value)?) + "\n",
        };
        self.send(|out| out.write_all(text.as_bytes()))
    }

    /// Text for programs on standard output.
    ///
    /// # Errors
    /// As [`Terminal::result`].
    pub fn print(&self, bytes: &[u8]) -> io::Result<()> {
        self.write(|out| out.write_all(bytes))
    }

    /// Writes text for programs to standard output.
    ///
    /// # Errors
    /// As [`Terminal::result`].
    pub fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        if !io::stdout().is_terminal() {
            return self.send(write);
        }
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        self.send(|out| out.write_all(visible_lines(&text).as_bytes()))
    }

    fn send(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
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

/// JSON that says the same, hidden characters escaped: they stand in its strings only.
pub fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\n' || !is_hidden(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            out += &format!("\\u{unit:04x}");
        }
    }
    out
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
    let _ = writeln!(anstream::stderr(), "{ERROR}error:{ERROR:#} {}", visible_lines(message));
}

/// A line on standard error; that it cannot be written is no reason to stop.
pub fn warn(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", visible_lines(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_escaped_and_says_the_same() {
        let value = serde_json::json!({ "a\u{1b}\u{202e}": "\u{7f}\u{9b}\u{e0041}é\n🙂" });
        let text = escaped(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.chars().any(|c| c != '\n' && is_hidden(c)), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
