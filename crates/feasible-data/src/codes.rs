//! The codes of a categorical column, in one, two or four bytes as its categories need.

use crate::column::MISSING;
use crate::numbers::{BLOCK, little_endian};
use crate::table_file::CellType;

/// Per row the number of a category, or [`MISSING`].
#[derive(Clone, Debug, Default)]
pub struct Codes {
    rows: usize,
    /// All but the last are full.
    blocks: Vec<CodeBlock>,
}

/// Codes of one width; its largest number marks a missing cell.
#[derive(Clone, Debug)]
enum CodeBlock {
    One(Vec<u8>),
    Two(Vec<u16>),
    Four(Vec<u32>),
}

impl CodeBlock {
    /// An empty block for codes below `categories`.
    fn new(categories: usize, capacity: usize) -> Self {
        match categories {
            0..=0xff => Self::One(Vec::with_capacity(capacity)),
            0x100..=0xffff => Self::Two(Vec::with_capacity(capacity)),
            _ => Self::Four(Vec::with_capacity(capacity)),
        }
    }

    #[inline(always)]
    fn get(&self, at: usize) -> u32 {
        match self {
            Self::One(codes) => match codes[at] {
                u8::MAX => MISSING,
                code => u32::from(code),
            },
            Self::Two(codes) => match codes[at] {
                u16::MAX => MISSING,
                code => u32::from(code),
            },
            Self::Four(codes) => codes[at],
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::One(codes) => codes.len(),
            Self::Two(codes) => codes.len(),
            Self::Four(codes) => codes.len(),
        }
    }

    /// Whether codes below `categories` fit.
    fn fits(&self, categories: usize) -> bool {
        match self {
            Self::One(_) => categories <= 0xff,
            Self::Two(_) => categories <= 0xffff,
            Self::Four(_) => true,
        }
    }

    /// Adds a code that fits.
    #[inline(always)]
    fn push(&mut self, code: u32) {
        // The last bits of MISSING are those of each width's mark.
        match self {
            Self::One(codes) => codes.push(code as u8),
            Self::Two(codes) => codes.push(code as u16),
            Self::Four(codes) => codes.push(code),
        }
    }

    fn set(&mut self, at: usize, code: u32) {
        match self {
            Self::One(codes) => codes[at] = code as u8,
            Self::Two(codes) => codes[at] = code as u16,
            Self::Four(codes) => codes[at] = code,
        }
    }

    /// Makes room for codes below `categories`.
    fn widen(&mut self, categories: usize) {
        if !self.fits(categories) {
            let capacity = if self.len() == BLOCK { BLOCK } else { 0 };
            let mut wide = Self::new(categories, capacity);
            (0..self.len()).for_each(|at| wide.push(self.get(at)));
            *self = wide;
        }
    }
}

impl Codes {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The code of a row.
    #[inline(always)]
    pub fn get(&self, row: usize) -> u32 {
        self.blocks[row / BLOCK].get(row % BLOCK)
    }

    /// The codes of all rows.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.rows).map(|row| self.get(row))
    }

    /// `rows` missing cells.
    pub(crate) fn missing(rows: usize) -> Self {
        std::iter::repeat_n(MISSING, rows).collect()
    }

    /// Adds a row.
    #[inline(always)]
    pub(crate) fn push(&mut self, code: u32) {
        let categories = if code == MISSING { 0 } else { code as usize + 1 };
        if self.rows == BLOCK * self.blocks.len() {
            let first = self.blocks.is_empty();
            self.blocks.push(CodeBlock::new(categories, if first { 0 } else { BLOCK }));
        }
        let last = self.blocks.len() - 1;
        let block = &mut self.blocks[last];
        block.widen(categories);
        block.push(code);
        self.rows += 1;
    }

    /// Adds the rows of other codes, of which `to` are the numbers here.
    pub(crate) fn append(&mut self, below: &Self, to: &[u32]) {
        for block in &below.blocks {
            for at in 0..block.len() {
                self.push(to.get(block.get(at) as usize).copied().unwrap_or(MISSING));
            }
        }
    }

    /// Gives category `from` the number `to[from]`, a permutation.
    pub(crate) fn renumber(&mut self, to: &[u32]) {
        if to.iter().enumerate().all(|(from, &to)| from == to as usize) {
            return;
        }
        for block in &mut self.blocks {
            block.widen(to.len());
            for at in 0..block.len() {
                match block.get(at) {
                    MISSING => {}
                    code => block.set(at, to[code as usize]),
                }
            }
        }
    }

    /// Writes the codes of a block as they are kept.
    pub(crate) fn write_block(&self, block: usize, out: &mut Vec<u8>) -> CellType {
        match &self.blocks[block] {
            CodeBlock::One(codes) => {
                out.extend_from_slice(codes);
                CellType::U8
            }
            CodeBlock::Two(codes) => {
                out.extend(codes.iter().flat_map(|code| code.to_le_bytes()));
                CellType::U16
            }
            CodeBlock::Four(codes) => {
                out.extend(codes.iter().flat_map(|code| code.to_le_bytes()));
                CellType::U32
            }
        }
    }

    /// Adds a block as it was written, below full ones; false if it is not one of codes.
    pub(crate) fn read_block(&mut self, cells: CellType, bytes: &[u8]) -> bool {
        let block = match cells {
            CellType::U8 => CodeBlock::One(bytes.to_vec()),
            CellType::U16 => CodeBlock::Two(little_endian(bytes, u16::from_le_bytes)),
            CellType::U32 => CodeBlock::Four(little_endian(bytes, u32::from_le_bytes)),
            CellType::F64 => return false,
        };
        let fits = self.rows == BLOCK * self.blocks.len();
        self.rows += block.len();
        self.blocks.push(block);
        fits
    }

    /// Frees the rows of a block, which are not read again.
    pub(crate) fn release(&mut self, block: usize) {
        if let Some(block) = self.blocks.get_mut(block) {
            *block = CodeBlock::One(Vec::new());
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let block = |block: &CodeBlock| match block {
            CodeBlock::One(codes) => codes.len(),
            CodeBlock::Two(codes) => 2 * codes.len(),
            CodeBlock::Four(codes) => 4 * codes.len(),
        };
        self.blocks.iter().map(block).sum()
    }
}

impl Extend<u32> for Codes {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, codes: I) {
        codes.into_iter().for_each(|code| self.push(code));
    }
}

impl FromIterator<u32> for Codes {
    fn from_iter<I: IntoIterator<Item = u32>>(codes: I) -> Self {
        let mut all = Self::default();
        all.extend(codes);
        all
    }
}

impl From<Vec<u32>> for Codes {
    fn from(codes: Vec<u32>) -> Self {
        codes.into_iter().collect()
    }
}

impl PartialEq for Codes {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_every_width_come_back() {
        for most in [0, 254, 255, 256, 65_534, 65_535, 65_536, 70_000] {
            let codes = [0, MISSING, most, most / 2, MISSING];
            let kept: Codes = codes.into_iter().collect();
            assert!(kept.iter().eq(codes), "{most}");
        }
    }

    #[test]
    fn categories_that_get_larger_numbers_get_wider_codes() {
        // 300 categories by first appearance, of which the first block sees ten.
        let n = BLOCK + 300;
        let code = |row: usize| if row < BLOCK { row % 10 } else { row - BLOCK } as u32;
        let mut kept: Codes = (0..n).map(code).collect();
        let to: Vec<u32> = (0..300).rev().collect();
        kept.renumber(&to);
        assert!((0..n).all(|row| kept.get(row) == 299 - code(row)));
        assert_eq!(kept.bytes(), 2 * n);
    }
}
