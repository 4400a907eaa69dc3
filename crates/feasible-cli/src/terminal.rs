//! What the program says: results on standard output, the rest on standard error.
//!
//! Names and values come from files, and a file may hold what moves the cursor or turns text around: text for people
//! has such characters written out, JSON has them escaped. CSV and TOML, which programs read, are as they are,
//! unless standard output is a terminal.
//!
//! A reader that has seen enough (`| head`) is no failure: what it does not read is dropped.
//!
//! Text is laid out for the width of the terminal; elsewhere for `COLUMNS`, or [`USUAL_WIDTH`]. Verdicts have colours on a
//! terminal, unless `--color` or `NO_COLOR` says otherwise. With `--json` standard output holds one JSON document,
//! the result or the error.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use feasible_data::{is_hidden, visible_lines};
use feasible_problem::text::{BAD, GOOD, PLAIN, Page, UNDECIDED, wrapped};
use feasible_run::JSON_FORMAT;
use serde::Serialize;

use crate::arguments::{Color, TerminalArguments};
use crate::exit::Exit;

const ERROR: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();

/// Characters in a line where there is no terminal.
const USUAL_WIDTH: usize = 100;
/// The narrowest that text is laid out for.
const LEAST_WIDTH: usize = 40;

/// Whether errors are JSON; they may come from any thread, and before arguments are read.
static JSON: AtomicBool = AtomicBool::new(false);

/// How much to say, and in what form.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Results as JSON.
    pub json: bool,
    /// Nothing but results and errors.
    pub quiet: bool,
    /// More than usual.
    pub verbose: bool,
    /// What results are laid out for.
    page: Page,
}

/// What `--json` prints: the version of the format, and the result.
#[derive(Serialize)]
pub struct Versioned<'a, T> {
    format: u32,
    #[serde(flatten)]
    result: &'a T,
}

impl<'a, T> Versioned<'a, T> {
    /// Of a result, which has fields.
    pub fn new(result: &'a T) -> Self {
        Self { format: JSON_FORMAT, result }
    }
}

/// What `--json` prints where a command fails.
#[derive(Serialize)]
struct JsonError<'a> {
    format: u32,
    error: ErrorShown<'a>,
}

#[derive(Serialize)]
struct ErrorShown<'a> {
    kind: &'static str,
    exit: u8,
    message: &'a str,
}

impl Terminal {
    /// As the arguments say.
    pub fn new(arguments: &TerminalArguments) -> Self {
        let TerminalArguments { json, quiet, verbose, color } = *arguments;
        color.apply();
        JSON.store(json, Ordering::Relaxed);
        let color = !json && AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        let page = Page { width: width(), color, whole: verbose };
        Self { json, quiet, verbose, page }
    }

    /// What the words of the command line say before they are parsed, for errors about them.
    pub fn prepare(words: &[String]) {
        let words = || words.iter().take_while(|word| *word != "--");
        JSON.store(words().any(|word| word == "--json"), Ordering::Relaxed);
        let after = words().skip_while(|word| *word != "--color").nth(1).map(String::as_str);
        let color = words().find_map(|word| word.strip_prefix("--color=")).or(after);
        match color {
            Some("always") => Color::Always,
            Some("never") => Color::Never,
            _ => Color::Auto,
        }
        .apply();
    }

    /// A result: `text` for people or `value` for programs.
    ///
    /// # Errors
    /// What the system says, unless the reader has gone.
    pub fn result(
        &self,
        value: &impl Serialize,
        text: impl FnOnce(&Page) -> String,
    ) -> io::Result<()> {
        let text = match self.json {
            false => wrapped(&cleaned(&text(&self.page), self.page.color), self.page.width),
            true => escaped(&serde_json::to_string_pretty(&Versioned::new(value))?) + "\n",
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
    pub fn error(&self, message: &str, exit: Exit) {
        error(message, exit);
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

/// Whether errors are JSON.
pub fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// The width of the terminal that results go to.
fn width() -> usize {
    let terminal = || Some(usize::from(terminal_size::terminal_size_of(io::stdout())?.0.0));
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    terminal().or_else(columns).unwrap_or(USUAL_WIDTH).max(LEAST_WIDTH)
}

/// Text whose hidden characters are written out, but for our own colours.
fn cleaned(text: &str, colored: bool) -> String {
    let ours = [BAD, GOOD, UNDECIDED, PLAIN];
    let next = |text: &str| ours.iter().filter_map(|c| Some((text.find(c)?, c.len()))).min();
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((at, length)) = next(rest).filter(|_| colored) {
        out += &visible_lines(&rest[..at]);
        out += &rest[at..at + length];
        rest = &rest[at + length..];
    }
    out + &visible_lines(rest)
}

/// What went wrong: on standard error, or as JSON on standard output.
pub fn error(message: &str, exit: Exit) {
    if is_json() {
        let error = ErrorShown { kind: exit.kind(), exit: exit as u8, message };
        let document = JsonError { format: JSON_FORMAT, error };
        let text = serde_json::to_string_pretty(&document).unwrap_or_default();
        let mut out = io::stdout().lock();
        if writeln!(out, "{}", escaped(&text)).and_then(|()| out.flush()).is_ok() {
            return;
        }
    }
    let message = visible_lines(message);
    let line = format!("{ERROR}error:{ERROR:#} {message}");
    let line = match terminal_size::terminal_size_of(io::stderr()) {
        Some((columns, _)) => wrapped(&line, usize::from(columns.0).max(LEAST_WIDTH)),
        None => line,
    };
    let _ = writeln!(anstream::stderr(), "{line}");
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
