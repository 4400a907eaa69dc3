//! The wire format of protocol buffers, as far as ONNX needs it: numbers, text and messages with a tag before each.
//!
//! Eleven messages with a handful of fields each are written, and none is read, so this is less than the generated
//! code and the dependency that would do it, and a build needs no compiler of `.proto` files.

/// A message that is being written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message(Vec<u8>);

/// How a field is written: the lower three bits of its tag.
const VARINT: u64 = 0;
const LENGTH: u64 = 2;

impl Message {
    /// An empty one.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// What was written.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// A whole number; negative ones take ten bytes, as they should.
    pub(super) fn int(&mut self, field: u64, value: i64) {
        self.varint(field << 3 | VARINT);
        self.varint(value as u64);
    }

    /// Bytes as they are.
    pub(super) fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | LENGTH);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    /// Text.
    pub(super) fn text(&mut self, field: u64, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    /// Another message.
    pub(super) fn message(&mut self, field: u64, message: &Self) {
        self.bytes(field, &message.0);
    }

    /// Whole numbers in one field, without a tag for each.
    pub(super) fn packed_ints(&mut self, field: u64, values: &[i64]) {
        let mut packed = Self::new();
        values.iter().for_each(|&value| packed.varint(value as u64));
        self.message(field, &packed);
    }

    /// Seven bits a byte, the lowest first; the highest bit says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_format_s_own_description_are_written_as_there() {
        // https://protobuf.dev/programming-guides/encoding: 150 in field 1, "testing" in field 2, 3, 270 and 86942
        // packed in field 6.
        let mut message = Message::new();
        message.int(1, 150);
        message.text(2, "testing");
        message.packed_ints(6, &[3, 270, 86_942]);
        let expected = b"\x08\x96\x01\x12\x07testing\x32\x06\x03\x8e\x02\x9e\xa7\x05";
        assert_eq!(message.into_bytes(), expected);
    }

    #[test]
    fn negative_numbers_take_ten_bytes() {
        let mut message = Message::new();
        message.int(1, -1);
        let expected = b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        assert_eq!(message.into_bytes(), expected);
    }
}
