//! The records of a text: where its cells begin and end.
//!
//! Cells stand between delimiters, records between line ends: LF, CR or both. A cell that begins with a double
//! quote goes to the next one that is not doubled; within, CR LF is read as LF. What follows the closing quote, up to
//! the delimiter, is part of the cell, and a quote elsewhere is a character like others. Lines of no bytes, and lines that begin
//! with the mark of comments, are none. An open quote ends with the text.
//!
//! The bytes that matter (delimiter, quote, line ends) are found 64 at a time.

use super::blocks::Marks;

/// A cell of a record: a range of the text, or of what was unescaped.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellRange {
    start: u32,
    /// The top bit says that it is a range of what was unescaped.
    end: u32,
}

const UNESCAPED: u32 = 1 << 31;

/// A record: its first byte's line, and where it ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// Line of the file on which it begins.
    pub(super) line: u64,
    /// The first of its cells.
    pub(super) first: usize,
    /// The byte after it, and the line of that.
    pub(super) after: usize,
    pub(super) line_after: u64,
}

/// The records of a text, read one by one. See the [module](self).
pub(super) struct Records<'t> {
    text: &'t [u8],
    marks: Marks,
    specials: Specials<'t>,
    /// Where the cell begins that is read next.
    start: usize,
    line: u64,
    unescaped: Vec<u8>,
    /// The cells of all records that were read and not dropped.
    pub(super) cells: Vec<CellRange>,
}

impl<'t> Records<'t> {
    /// The records from byte `start` on, which is on this line.
    pub(super) fn new(text: &'t [u8], start: usize, line: u64, marks: Marks) -> Self {
        let specials = Specials::new(text, start, marks.delimiter);
        Self { text, marks, specials, start, line, unescaped: Vec::new(), cells: Vec::new() }
    }

    /// The bytes of a cell, untrimmed.
    #[inline(always)]
    pub(super) fn cell(&self, cell: CellRange) -> &[u8] {
        let (start, end) = (cell.start as usize, (cell.end & !UNESCAPED) as usize);
        if cell.end & UNESCAPED == 0 { &self.text[start..end] } else { &self.unescaped[start..end] }
    }

    /// Forgets the cells of a record that was just read.
    pub(super) fn drop(&mut self, record: Record) {
        self.cells.truncate(record.first);
    }

    /// Reads the next record into [`cells`](Self::cells).
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<Record> {
        let first = self.cells.len();
        let mut line = self.line;
        let mut begun = false;
        while let Some(at) = self.specials.next() {
            let byte = self.text[at];
            if !begun {
                if at == self.start && (byte == b'\n' || byte == b'\r') {
                    self.pass(at);
                    line = self.line;
                    continue;
                }
                if self.marks.comment.is_some_and(|mark| mark == self.text[self.start]) {
                    self.skip_comment(at);
                    line = self.line;
                    continue;
                }
                begun = true;
            }
            let mut end = at;
            if byte != b'"' {
                self.push(self.start, at);
            } else if at == self.start {
                end = self.quoted();
            } else {
                continue;
            }
            if self.text.get(end) == Some(&self.marks.delimiter) {
                self.start = end + 1;
                continue;
            }
            let after = self.pass(end);
            return Some(Record { line, first, after, line_after: self.line });
        }
        None
    }

    /// Goes on after a line end, or stays at the end of the text.
    fn pass(&mut self, at: usize) -> usize {
        self.line += u64::from(self.text.get(at) == Some(&b'\n'));
        self.start = (at + 1).min(self.text.len());
        self.start
    }

    #[inline(always)]
    fn push(&mut self, start: usize, end: usize) {
        self.cells.push(CellRange { start: start as u32, end: end as u32 });
    }

    /// Goes on after the comment in which the special byte `at` is.
    fn skip_comment(&mut self, mut at: usize) {
        while self.text.get(at).is_some_and(|&byte| byte != b'\n') {
            at = self.specials.next().unwrap_or(self.text.len());
        }
        self.pass(at);
    }

    /// Reads the cell that begins with a quote, and gives the delimiter or line end behind it; the end of the text
    /// if the quote is left open.
    fn quoted(&mut self) -> usize {
        let (text, start) = (self.text, self.start + 1);
        let mut as_it_is = true;
        let close = loop {
            let Some(at) = self.specials.next() else { break text.len() };
            match (text[at], text.get(at + 1)) {
                (b'"', Some(b'"')) => {
                    self.specials.next();
                    as_it_is = false;
                }
                (b'"', _) => break at,
                (b'\n', _) => self.line += 1,
                (b'\r', Some(b'\n')) => as_it_is = false,
                _ => {}
            }
        };
        let end = loop {
            match self.specials.next() {
                Some(at) if text[at] == b'"' => {}
                Some(at) => break at,
                None => break text.len(),
            }
        };
        // Nothing between the closing quote and the end, or no closing quote.
        if as_it_is && (close == end || close + 1 == end) {
            self.push(start, close);
        } else {
            self.unescape(start, end);
        }
        end
    }

    /// Adds a cell as it is without quotes.
    fn unescape(&mut self, start: usize, end: usize) {
        let from = self.unescaped.len();
        let mut bytes = self.text[start..end].iter().copied().peekable();
        let mut inside = true;
        while let Some(byte) = bytes.next() {
            match byte {
                b'"' if inside => match bytes.next_if_eq(&b'"') {
                    Some(quote) => self.unescaped.push(quote),
                    None => inside = false,
                },
                b'\r' if inside && bytes.peek() == Some(&b'\n') => {}
                _ => self.unescaped.push(byte),
            }
        }
        let end = self.unescaped.len() as u32 | UNESCAPED;
        self.cells.push(CellRange { start: from as u32, end });
    }
}

/// The places of delimiters, quotes and line ends.
struct Specials<'t> {
    text: &'t [u8],
    delimiter: u8,
    /// The 64 bytes that are looked at, and a bit for each place that is still to come.
    from: usize,
    mask: u64,
}

impl<'t> Specials<'t> {
    fn new(text: &'t [u8], start: usize, delimiter: u8) -> Self {
        let mut specials = Self { text, delimiter, from: start, mask: 0 };
        specials.mask = specials.look();
        specials
    }

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.mask == 0 {
            self.from += 64;
            if self.from >= self.text.len() {
                return None;
            }
            self.mask = self.look();
        }
        let at = self.from + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        Some(at)
    }

    /// The special ones among the 64 bytes.
    #[inline(always)]
    fn look(&self) -> u64 {
        let rest = self.text.get(self.from..).unwrap_or_default();
        match rest.first_chunk::<64>() {
            Some(bytes) => self.mask_of(bytes),
            None => {
                // NUL is none of them.
                let mut bytes = [0; 64];
                bytes[..rest.len()].copy_from_slice(rest);
                self.mask_of(&bytes)
            }
        }
    }

    #[inline(always)]
    fn mask_of(&self, bytes: &[u8; 64]) -> u64 {
        let mut found = [0_u8; 64];
        for (found, &byte) in found.iter_mut().zip(bytes) {
            let special =
                (byte == self.delimiter) | (byte == b'"') | (byte == b'\n') | (byte == b'\r');
            *found = u8::from(special);
        }
        let mut mask = 0;
        for (at, eight) in found.chunks_exact(8).enumerate() {
            let eight = u64::from_le_bytes(eight.try_into().unwrap_or_default());
            // Moves bit 0 of byte i to bit 56 + i.
            mask |= (eight.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * at);
        }
        mask
    }
}
