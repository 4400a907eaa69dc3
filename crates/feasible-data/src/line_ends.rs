//! Text with one kind of line end: CR LF is read as LF, and the last line has one too.
//!
//! So a line can be counted by its LF alone, which the CSV reader's own positions, taken before
//! it has passed a CR LF or blank lines, do not do. A line break inside a quoted cell is read as
//! LF as well; a CR on its own stays.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use crate::limits::Exceeded;

/// See the [module](self).
pub(crate) struct LineEnds<R> {
    text: R,
    /// A CR was the last byte of a buffer and what follows it is not known yet.
    held: bool,
    /// The LF after the last line was given out.
    ended: bool,
    /// Bytes given out since the row began, and how many there may be.
    of_row: Rc<Cell<u64>>,
    most: u64,
}

impl<R: BufRead> LineEnds<R> {
    /// Rows of at most about this number of bytes: whoever reads them sets [`LineEnds::of_row`] to 0 at each.
    pub(crate) fn new(text: R, most: u64) -> Self {
        Self { text, held: false, ended: false, of_row: Rc::default(), most }
    }

    pub(crate) fn of_row(&self) -> Rc<Cell<u64>> {
        self.of_row.clone()
    }
}

impl<R: BufRead> Read for LineEnds<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        if self.of_row.get() > self.most {
            let what = format!(
                "more than the {} bytes allowed without the end of a row (a quote left open?)",
                self.most
            );
            return Err(Exceeded::new("row_bytes", what).into());
        }
        while filled < out.len() && !self.ended {
            let buffer = self.text.fill_buf()?;
            if self.held {
                self.held = false;
                if buffer.first() != Some(&b'\n') {
                    out[filled] = b'\r';
                    filled += 1;
                }
                continue;
            }
            if buffer.is_empty() {
                self.ended = true;
                out[filled] = b'\n';
                filled += 1;
                continue;
            }
            let room = buffer.len().min(out.len() - filled);
            let count = memchr::memchr(b'\r', &buffer[..room]).unwrap_or(room);
            out[filled..filled + count].copy_from_slice(&buffer[..count]);
            filled += count;
            self.held = count < room;
            self.text.consume(count + usize::from(self.held));
        }
        self.of_row.set(self.of_row.get() + filled as u64);
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::LineEnds;

    #[test]
    fn line_ends_are_the_same_whatever_the_buffers() {
        let text = b"a\r\nb\rc\r\r\n\nd\r";
        for size in 1..text.len() + 1 {
            let mut out = Vec::new();
            let mut reader =
                LineEnds::new(BufReader::with_capacity(size, text.as_slice()), u64::MAX);
            let mut piece = vec![0; size];
            loop {
                match reader.read(&mut piece).unwrap() {
                    0 => break,
                    n => out.extend_from_slice(&piece[..n]),
                }
            }
            assert_eq!(out, b"a\nb\rc\r\n\nd\r\n");
        }
    }
}
