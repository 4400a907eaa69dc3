//! Mutations of a corpus, drawn by a seed: the same on every machine.

/// A small generator: the corpus and the seed decide everything.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// Any number (SplitMix64).
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.draw() % n as u64) as usize
    }
}

/// Numbers at the ends of ranges, and things that parsers stumble over.
const TOKENS: [&str; 34] = [
    "0",
    "-1",
    "1",
    "2",
    "1e308",
    "-1e308",
    "1e-320",
    "1e999",
    "NaN",
    "nan",
    "inf",
    "-inf",
    "null",
    "true",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "1000000",
    "",
    "\"",
    "'",
    "`",
    "[",
    "]",
    "{",
    "}",
    "((((",
    "\u{202e}",
    "\u{1b}[31m",
    "\u{feff}",
    "=1+1",
    "<script>",
    "\n",
];

/// Bytes at the ends of ranges.
const BYTES: [u8; 9] = [0, 1, 0x0a, 0x22, 0x7f, 0x80, 0xc0, 0xfe, 0xff];

/// A mutation of a file of the corpus, by up to four changes.
pub fn mutated(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(4) {
        change(&mut bytes, corpus, random);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let some = |random: &mut Random, from: usize, length: usize| {
        from + random.below((length - from).min(64) + 1)
    };
    match random.below(9) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = BYTES[random.below(BYTES.len())],
        2 => bytes.insert(at, random.draw() as u8),
        // Some bytes are gone, or the end is.
        3 => {
            let end = some(random, at, bytes.len());
            bytes.drain(at..end);
        }
        4 if random.below(4) == 0 => bytes.truncate(at),
        // Some bytes are there twice.
        5 => {
            let end = some(random, at, bytes.len());
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
        // A part of another file.
        6 => {
            let other = &corpus[random.below(corpus.len())];
            let from = random.below(other.len() + 1);
            let to = some(random, from, other.len());
            let end = some(random, at, bytes.len());
            bytes.splice(at..end, other[from..to].iter().copied());
        }
        // A word or a number is another.
        7 | 8 => {
            let word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
            let start = bytes[at..].iter().position(word).map_or(at, |found| at + found);
            let end = bytes[start..].iter().position(|byte| !word(byte));
            let end = end.map_or(bytes.len(), |found| start + found);
            let token = TOKENS[random.below(TOKENS.len())];
            bytes.splice(start..end, token.bytes());
        }
        _ => {}
    }
}
