//! Long values between two ranks, in messages of bounded length: neither side holds a second copy of the whole.

use std::io::{self, Read, Write};

use feasible::Reduce;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The most bytes of a message.
const PIECE: usize = 1 << 20;
/// The longest text of a value.
const TEXT: usize = 1 << 24;

/// Sends a value to a rank.
pub(super) fn send(ranks: &dyn Reduce, to: usize, value: &impl Serialize) -> postcard::Result<()> {
    postcard::to_io(value, Outgoing::new(ranks, to))?.end();
    Ok(())
}

/// Receives a value from a rank.
pub(super) fn receive<T: DeserializeOwned>(ranks: &dyn Reduce, from: usize) -> postcard::Result<T> {
    let mut text = vec![0; TEXT];
    let (value, _) = postcard::from_io((Incoming::new(ranks, from), &mut text[..]))?;
    Ok(value)
}

/// Bytes on their way to a rank.
pub(super) struct Outgoing<'r> {
    ranks: &'r dyn Reduce,
    to: usize,
    piece: Vec<u8>,
}

impl<'r> Outgoing<'r> {
    pub(super) fn new(ranks: &'r dyn Reduce, to: usize) -> Self {
        Self { ranks, to, piece: Vec::with_capacity(PIECE) }
    }

    /// Sends the last piece: there is one, so that whoever receives it knows that it is the last.
    pub(super) fn end(self) {
        self.ranks.send(self.to, &self.piece);
    }
}

impl Write for Outgoing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full piece is sent when there is more, so that one is left for the end.
        if self.piece.len() == PIECE && !bytes.is_empty() {
            self.ranks.send(self.to, &self.piece);
            self.piece.clear();
        }
        let few = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&bytes[..few]);
        Ok(few)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes that come from a rank. A value that has all its bytes has taken all pieces.
pub(super) struct Incoming<'r> {
    ranks: &'r dyn Reduce,
    from: usize,
    piece: Vec<u8>,
    read: usize,
}

impl<'r> Incoming<'r> {
    pub(super) fn new(ranks: &'r dyn Reduce, from: usize) -> Self {
        Self { ranks, from, piece: Vec::new(), read: 0 }
    }
}

impl Read for Incoming<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.read == self.piece.len() {
            (self.piece, self.read) = (self.ranks.receive(self.from), 0);
        }
        let few = to.len().min(self.piece.len() - self.read);
        to[..few].copy_from_slice(&self.piece[self.read..self.read + few]);
        self.read += few;
        Ok(few)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use super::*;

    /// Keeps what is sent until it is received.
    #[derive(Debug, Default)]
    struct Kept(Mutex<VecDeque<Vec<u8>>>);

    impl Reduce for Kept {
        fn workers(&self) -> usize {
            2
        }
        fn worker(&self) -> usize {
            0
        }
        fn send(&self, _: usize, message: &[u8]) {
            assert!(message.len() <= PIECE);
            self.0.lock().unwrap().push_back(message.to_vec());
        }
        fn receive(&self, _: usize) -> Vec<u8> {
            self.0.lock().unwrap().pop_front().unwrap()
        }
    }

    #[test]
    fn long_values_arrive_in_pieces_and_leave_no_message_behind() {
        let kept = Kept::default();
        for numbers in [0, 1, PIECE / 4 - 1, PIECE / 4, PIECE] {
            let value = ("a name".to_string(), vec![0.5_f32; numbers]);
            send(&kept, 1, &value).unwrap();
            assert_eq!(receive::<(String, Vec<f32>)>(&kept, 1).unwrap(), value);
            assert!(kept.0.lock().unwrap().is_empty());
        }
    }
}
