//! Text with one kind of line end: CR LF is read as LF, and the last line has one too.
//!
//! So a line can be counted by its LF alone, which the CSV reader's own positions, taken before
//! it has passed a CR LF or blank lines, do not do. A line break inside a quoted cell is read as
//! LF as well; a CR on its own stays, but for one at the end of the text.

use std::io::{self, BufRead, Read};

/// See the [module](self).
pub(crate) struct LineEnds<R> {
    text: R,
    /// A CR was the last byte of a buffer and what follows it is not known yet.
    held: bool,
    /// The LF after the last line was given out.
    ended: bool,
}

impl<R: BufRead> LineEnds<R> {
    pub(crate) fn new(text: R) -> Self {
        Self { text, held: false, ended: false }
    }
}

impl<R: BufRead> Read for LineEnds<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < out.len() && !self.ended {
            let buffer = match self.text.fill_buf() {
                // What is before an error is given out.
                Err(_) if filled > 0 => break,
                buffer => buffer?,
            };
            if self.held {
                self.held = false;
                if !buffer.is_empty() && buffer[0] != b'\n' {
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
            let mut reader = LineEnds::new(BufReader::with_capacity(size, text.as_slice()));
            let mut piece = vec![0; size];
            loop {
                match reader.read(&mut piece).unwrap() {
                    0 => break,
                    n => out.extend_from_slice(&piece[..n]),
                }
            }
            assert_eq!(out, b"a\nb\rc\r\n\nd\n");
        }
    }
}
