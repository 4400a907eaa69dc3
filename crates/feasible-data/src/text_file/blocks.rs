//! A text cut into blocks of whole rows, which can then be read apart from one another.
//!
//! Where a row ends depends on all quotes before it: one mistaken for another would shift every row behind it. So
//! nothing is guessed. The quotes are followed from the start of the file, by the same rules as in
//! [`records`](super::records); where there are none, the last line end will do.

use std::io::BufRead;

use crate::error::Error;
use crate::limits::Exceeded;

/// Whole rows, and blank lines and comments between them.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) text: Vec<u8>,
    /// Line of the file on which it begins, from 1.
    pub(super) line: u64,
}

/// What is between cells, and what begins a comment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    pub(super) delimiter: u8,
    pub(super) comment: Option<u8>,
}

/// Where the scan for row ends stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Inside {
    /// A row, outside quotes, or nothing.
    Row,
    Quotes,
    Comment,
}

/// The end of the blocks of a file.
pub(super) enum End {
    /// There is no more text.
    Text,
    /// More than the allowed bytes without the end of a row.
    Row(Exceeded),
    /// The text cannot be read.
    Failed(Error),
}

/// Bytes by which the delimiter is found.
pub(super) const START: usize = 1 << 16;
/// Bytes of a block at most, unless a row is longer.
const LARGE: usize = 1 << 22;

/// See the [module](self).
pub(super) struct Blocks<'a> {
    file: String,
    text: Box<dyn BufRead + Send + 'a>,
    /// Bytes of a block, unless a row is longer.
    target: usize,
    row_bytes: u64,
    /// What is read and not given out. It begins where a row may.
    rest: Vec<u8>,
    line: u64,
    end: Option<End>,
}

impl<'a> Blocks<'a> {
    /// Blocks of about `target` bytes of a text that begins on `line`; a row has `row_bytes` at most.
    pub(super) fn new(
        file: &str,
        text: Box<dyn BufRead + Send + 'a>,
        line: u64,
        target: usize,
        row_bytes: u64,
    ) -> Self {
        // Cells are found by 31 bits.
        let row_bytes = row_bytes.min(1 << 30);
        let file = file.to_string();
        Self { file, text, target, row_bytes, rest: Vec::new(), line, end: None }
    }

    /// The first bytes.
    pub(super) fn start(&mut self) -> &[u8] {
        self.read(START);
        &self.rest
    }

    /// Passes over a byte-order mark.
    pub(super) fn skip_mark(&mut self) {
        self.read(3);
        if self.rest.starts_with(&[0xef, 0xbb, 0xbf]) {
            self.rest.drain(..3);
        }
    }

    /// Blocks of at least this size from here on, if that is not too much.
    pub(super) fn aim(&mut self, target: usize) {
        self.target = self.target.max(target.min(LARGE));
    }

    /// The line on which the next block begins.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Whether all text was given out.
    pub(super) fn is_over(&self) -> bool {
        self.rest.is_empty() && self.end.is_some()
    }

    /// Why there are no more blocks.
    pub(super) fn end(&mut self) -> End {
        self.end.take().unwrap_or(End::Text)
    }

    /// Reads until there are `target` bytes, or no more.
    fn read(&mut self, target: usize) {
        while self.rest.len() < target && self.end.is_none() {
            match self.text.fill_buf() {
                Ok([]) => {
                    // The last line has an end too. Another one would be a blank line.
                    self.rest.push(b'\n');
                    self.end = Some(End::Text);
                }
                Ok(buffer) => {
                    let count = buffer.len().min(target - self.rest.len());
                    self.rest.reserve_exact(target + 1 - self.rest.len());
                    self.rest.extend_from_slice(&buffer[..count]);
                    self.text.consume(count);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => self.end = Some(End::Failed(Error::io(&self.file)(error))),
            }
        }
    }

    /// The next block; none at the [end](Self::end).
    pub(super) fn next(&mut self, marks: Marks) -> Option<Block> {
        let mut scan = RowEnds { marks, inside: Inside::Row, at: 0, row: 0, last: 0 };
        let mut target = self.target;
        loop {
            self.read(target);
            let ended = matches!(self.end, Some(End::Text));
            scan.scan(&self.rest, ended);
            let cut = match &self.end {
                Some(End::Text) => self.rest.len(),
                // Whether a row ends in \r or in \r\n can no longer be read: it is lost with what is behind it.
                Some(_) if self.rest.ends_with(b"\r") => {
                    let mut before = RowEnds { marks, inside: Inside::Row, at: 0, row: 0, last: 0 };
                    before.scan(&self.rest[..self.rest.len() - 1], false);
                    before.last
                }
                _ => scan.last,
            };
            if cut > 0 {
                let after = self.rest.split_off(cut);
                let text = std::mem::replace(&mut self.rest, after);
                let line = self.line;
                self.line += memchr::memchr_iter(b'\n', &text).count() as u64;
                return Some(Block { text, line });
            }
            if self.end.is_some() {
                return None;
            }
            if self.rest.len() as u64 > self.row_bytes {
                self.end = Some(End::Row(too_long(self.row_bytes)));
                return None;
            }
            // No further than the longest row, by which cells stay within 31 bits.
            let most = usize::try_from(self.row_bytes).unwrap_or(usize::MAX).saturating_add(1);
            target = (2 * self.rest.len().max(target)).min(most);
        }
    }
}

/// A row of more bytes than allowed.
pub(super) fn too_long(most: u64) -> Exceeded {
    let what =
        format!("more than the {most} bytes allowed without the end of a row (a quote left open?)");
    Exceeded::new("row_bytes", what)
}

/// The scan of a text for ends of rows.
struct RowEnds {
    marks: Marks,
    inside: Inside,
    /// Scanned up to here.
    at: usize,
    /// Where the row, comment or blank line begins in which `at` is.
    row: usize,
    /// After the last end of a row, comment or blank line.
    last: usize,
}

impl RowEnds {
    /// Goes on to the end of `text`, which is longer than before; `ended` if it gets no longer.
    fn scan(&mut self, text: &[u8], ended: bool) {
        if self.inside == Inside::Row
            && self.marks.comment.is_none()
            && memchr::memchr(b'"', &text[self.at..]).is_none()
        {
            if let Some(end) = memchr::memrchr2(b'\n', b'\r', &text[self.at..]) {
                (self.row, self.last) = (self.at + end + 1, self.at + end + 1);
            }
            self.at = text.len();
            return;
        }
        while let Some(next) = memchr::memchr3(b'\n', b'\r', b'"', &text[self.at..]) {
            let at = self.at + next;
            self.at = at + 1;
            let comment = text[self.row..=at].first().copied() == self.marks.comment;
            if self.inside == Inside::Row && self.marks.comment.is_some() && comment {
                self.inside = Inside::Comment;
            }
            match (self.inside, text[at]) {
                (Inside::Row, b'"') => {
                    if at == self.row || text[at - 1] == self.marks.delimiter {
                        self.inside = Inside::Quotes;
                    }
                }
                (Inside::Quotes, b'"') => match text.get(at + 1) {
                    Some(b'"') => self.at = at + 2,
                    Some(_) => self.inside = Inside::Row,
                    None if ended => self.inside = Inside::Row,
                    None => {
                        // What it is, the next byte says.
                        self.at = at;
                        return;
                    }
                },
                (Inside::Row, _) | (Inside::Comment, b'\n') => {
                    self.inside = Inside::Row;
                    (self.row, self.last) = (at + 1, at + 1);
                }
                (Inside::Quotes | Inside::Comment, _) => {}
            }
        }
        self.at = text.len();
    }
}
