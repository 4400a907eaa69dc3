//! The numbers of a column, in half the memory where they are short decimals.
//!
//! A cell written as ±m · 10⁻ᵉ with m < 2²⁶ and e ≤ 22 is kept as sign, e and m in 32 bits. Both m and
//! 10ᵉ are exact in binary, so that m / 10ᵉ is rounded once: it is the number nearest to what is
//! written, the one that parsing gives, to the last bit. Any other cell makes its block of
//! 2¹⁷ rows one of f64.

use crate::table_file::CellType;

/// Rows of a block, the unit in which memory is freed when a column is no longer needed.
pub(crate) const BLOCK: usize = 1 << 17;

/// Numbers by row; NaN marks a missing cell. See the module's source for how they are kept.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    rows: usize,
    /// All but the last are full.
    blocks: Vec<NumberBlock>,
}

#[derive(Clone, Debug)]
enum NumberBlock {
    /// From the top bit: the sign, 5 bits of e, 26 bits of m.
    Short(Vec<u32>),
    Double(Vec<f64>),
}

/// A missing cell; its e is none.
const MISSING: u32 = u32::MAX;
/// The largest m.
const MOST: u32 = (1 << 26) - 1;

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

#[inline(always)]
fn pack(negative: bool, e: usize, m: u32) -> u32 {
    u32::from(negative) << 31 | (e as u32) << 26 | m
}

/// The number of a packed cell.
#[inline(always)]
fn unpack(cell: u32) -> f64 {
    match POWERS.get((cell >> 26 & 31) as usize) {
        Some(power) => {
            let size = f64::from(cell & MOST) / power;
            if cell >> 31 == 1 { -size } else { size }
        }
        None => f64::NAN,
    }
}

/// What a text says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Decimal {
    /// A short decimal, packed.
    Short(u32),
    Double(f64),
}

/// The number of a text ±m · 10⁻ᵉ with m ≤ 2⁵³ and |e| ≤ 22; `None` if it is anything else. Then m and the power
/// of ten are exact, and quotient or product is the number that parsing gives.
#[inline(always)]
fn decimal(text: &[u8]) -> Option<Decimal> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let (mut m, mut point, mut end, mut tens) = (0_u64, None, text.len(), 0);
    for (at, &byte) in text.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            // 20 digits may be too large, and are refused below.
            m = m.wrapping_mul(10).wrapping_add(u64::from(digit));
        } else if byte == b'.' && point.is_none() {
            point = Some(at);
        } else if byte == b'e' || byte == b'E' {
            (end, tens) = (at, exponent(&text[at + 1..])?);
            break;
        } else {
            return None;
        }
    }
    let decimals = point.map_or(0, |at| end - at - 1);
    let digits = end - usize::from(point.is_some());
    if digits == 0 || digits > 19 {
        return None;
    }
    let e = decimals as i32 - tens;
    let power = *POWERS.get(e.unsigned_abs() as usize)?;
    if m <= u64::from(MOST) && e >= 0 {
        return Some(Decimal::Short(pack(negative, e as usize, m as u32)));
    }
    if m > 1 << 53 {
        return None;
    }
    let size = if e >= 0 { m as f64 / power } else { m as f64 * power };
    Some(Decimal::Double(if negative { -size } else { size }))
}

/// The power of ten in `1.5e-05`, of one or two digits.
fn exponent(text: &[u8]) -> Option<i32> {
    let (sign, digits) = match text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        _ => (1, text),
    };
    let short = matches!(digits.len(), 1 | 2) && digits.iter().all(u8::is_ascii_digit);
    short.then(|| sign * digits.iter().fold(0, |n, digit| 10 * n + i32::from(digit - b'0')))
}

/// A number without decimals, packed; `None` if it has some, or is large.
fn whole(x: f64) -> Option<u32> {
    if x.is_nan() {
        return Some(MISSING);
    }
    (x.abs() <= f64::from(MOST) && x.trunc() == x)
        .then(|| pack(x.is_sign_negative(), 0, x.abs() as u32))
}

impl Numbers {
    /// No rows, and room for some.
    pub(crate) fn with_room(rows: usize) -> Self {
        let first = NumberBlock::Short(Vec::with_capacity(rows.min(BLOCK)));
        Self { rows: 0, blocks: vec![first] }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The number of a row; NaN if it is missing.
    #[inline(always)]
    pub fn get(&self, row: usize) -> f64 {
        match &self.blocks[row / BLOCK] {
            NumberBlock::Short(cells) => unpack(cells[row % BLOCK]),
            NumberBlock::Double(values) => values[row % BLOCK],
        }
    }

    /// The numbers of all rows.
    pub fn iter(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.rows).map(|row| self.get(row))
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, x: f64) {
        match (whole(x), self.block()) {
            (Some(cell), NumberBlock::Short(cells)) => cells.push(cell),
            (_, block) => block.push(x),
        }
        self.rows += 1;
    }

    /// Adds the row that a text says; false, and nothing is added, if it is left to the parser.
    #[inline(always)]
    pub(crate) fn push_text(&mut self, text: &[u8]) -> bool {
        match decimal(text) {
            Some(Decimal::Short(cell)) => self.push_packed(cell),
            Some(Decimal::Double(x)) => self.push(x),
            None => return false,
        }
        true
    }

    fn push_packed(&mut self, cell: u32) {
        match self.block() {
            NumberBlock::Short(cells) => cells.push(cell),
            NumberBlock::Double(values) => values.push(unpack(cell)),
        }
        self.rows += 1;
    }

    /// Adds the rows of another column.
    pub(crate) fn append(&mut self, below: &Self) {
        for block in &below.blocks {
            match block {
                NumberBlock::Short(cells) => {
                    self.extend_blocks(cells, |block, cells| match block {
                        NumberBlock::Short(above) => above.extend_from_slice(cells),
                        NumberBlock::Double(above) => {
                            above.extend(cells.iter().copied().map(unpack))
                        }
                    })
                }
                NumberBlock::Double(values) => self.extend_from_slice(values),
            }
        }
    }

    /// Adds rows; NaN marks a missing cell.
    pub(crate) fn extend_from_slice(&mut self, values: &[f64]) {
        self.extend_blocks(values, |block, mut values| {
            if let NumberBlock::Short(cells) = block {
                let short = values.iter().map_while(|&x| whole(x));
                let before = cells.len();
                cells.extend(short);
                values = &values[cells.len() - before..];
                let Some((&first, rest)) = values.split_first() else { return };
                block.push(first);
                values = rest;
            }
            if let NumberBlock::Double(above) = block {
                above.extend_from_slice(values);
            }
        });
    }

    /// Adds cells, as many at a time as fit into a block.
    fn extend_blocks<T>(
        &mut self,
        mut cells: &[T],
        mut extend: impl FnMut(&mut NumberBlock, &[T]),
    ) {
        while !cells.is_empty() {
            let block = self.block();
            let room = BLOCK - block.len();
            let (now, later) = cells.split_at(room.min(cells.len()));
            extend(block, now);
            self.rows += now.len();
            cells = later;
        }
    }

    /// The block that the next row goes to.
    fn block(&mut self) -> &mut NumberBlock {
        if self.rows == BLOCK * self.blocks.len() {
            let first = self.blocks.is_empty();
            // A large table gets no more than it needs, a small one grows.
            self.blocks.push(NumberBlock::Short(Vec::with_capacity(if first { 0 } else { BLOCK })));
        }
        let last = self.blocks.len() - 1;
        &mut self.blocks[last]
    }

    /// Writes the cells of a block as they are kept.
    pub(crate) fn write_block(&self, block: usize, out: &mut Vec<u8>) -> CellType {
        match &self.blocks[block] {
            NumberBlock::Short(cells) => {
                out.extend(cells.iter().flat_map(|cell| cell.to_le_bytes()));
                CellType::U32
            }
            NumberBlock::Double(values) => {
                out.extend(values.iter().flat_map(|x| x.to_le_bytes()));
                CellType::F64
            }
        }
    }

    /// Adds a block as it was written, below full ones; false if it is not one of numbers.
    pub(crate) fn read_block(&mut self, cells: CellType, bytes: &[u8]) -> bool {
        let block = match cells {
            CellType::U32 => NumberBlock::Short(little_endian(bytes, u32::from_le_bytes)),
            CellType::F64 => NumberBlock::Double(little_endian(bytes, f64::from_le_bytes)),
            CellType::U8 | CellType::U16 => return false,
        };
        let fits = self.rows == BLOCK * self.blocks.len();
        self.rows += block.len();
        self.blocks.push(block);
        fits
    }

    /// Frees the rows of a block, which are not read again.
    pub(crate) fn release(&mut self, block: usize) {
        if let Some(block) = self.blocks.get_mut(block) {
            *block = NumberBlock::Short(Vec::new());
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let block = |block: &NumberBlock| match block {
            NumberBlock::Short(cells) => 4 * cells.len(),
            NumberBlock::Double(values) => 8 * values.len(),
        };
        self.blocks.iter().map(block).sum()
    }
}

/// Numbers of N bytes each.
pub(crate) fn little_endian<T, const N: usize>(bytes: &[u8], of: fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|bytes| of(*bytes)).collect()
}

impl NumberBlock {
    fn len(&self) -> usize {
        match self {
            Self::Short(cells) => cells.len(),
            Self::Double(values) => values.len(),
        }
    }

    /// Adds any number.
    fn push(&mut self, x: f64) {
        match self {
            Self::Double(values) => values.push(x),
            Self::Short(cells) => {
                let mut values = Vec::with_capacity(cells.capacity());
                values.extend(cells.iter().copied().map(unpack).chain([x]));
                *self = Self::Double(values);
            }
        }
    }
}

impl Extend<f64> for Numbers {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, values: I) {
        values.into_iter().for_each(|x| self.push(x));
    }
}

impl From<Vec<f64>> for Numbers {
    fn from(values: Vec<f64>) -> Self {
        let mut numbers = Self::default();
        numbers.extend(values);
        numbers
    }
}

/// Missing cells are equal to one another.
impl PartialEq for Numbers {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (f64, f64)| a == b || (a.is_nan() && b.is_nan());
        self.rows == other.rows && self.iter().zip(other.iter()).all(same)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_decimal_is_the_number_that_parsing_gives(
            text in "[-+]?[0-9]{0,20}(\\.[0-9]{0,24})?([eE][-+]?[0-9]{0,3})?"
        ) {
            let parsed = text.parse::<f64>();
            let mut numbers = Numbers::default();
            if numbers.push_text(text.as_bytes()) {
                let parsed = parsed.map_err(|_| TestCaseError::fail("no number"))?;
                prop_assert_eq!(numbers.get(0).to_bits(), parsed.to_bits());
            }
        }

        #[test]
        fn columns_in_pieces_are_the_column(
            pieces in prop::collection::vec(
                prop::collection::vec(
                    prop_oneof![any::<f64>(), Just(f64::NAN), (-9..9).prop_map(f64::from)],
                    0..40,
                ),
                0..6,
            )
        ) {
            let (mut all, mut slices) = (Numbers::default(), Numbers::default());
            for piece in &pieces {
                all.append(&Numbers::from(piece.clone()));
                slices.extend_from_slice(piece);
            }
            let values: Vec<f64> = pieces.concat();
            prop_assert_eq!(all.len(), values.len());
            for ((a, b), x) in all.iter().zip(slices.iter()).zip(values) {
                prop_assert!(a.to_bits() == x.to_bits() || (a.is_nan() && x.is_nan()));
                prop_assert!(b.to_bits() == x.to_bits() || (b.is_nan() && x.is_nan()));
            }
        }

        #[test]
        fn any_number_comes_back_to_the_last_bit(
            values in prop::collection::vec(
                prop_oneof![any::<f64>(), (-70_000_000_i32..70_000_000).prop_map(f64::from)],
                0..9,
            )
        ) {
            let numbers = Numbers::from(values.clone());
            for (back, x) in numbers.iter().zip(values) {
                prop_assert!(back.to_bits() == x.to_bits() || (back.is_nan() && x.is_nan()));
            }
        }
    }

    #[test]
    fn what_is_no_decimal_is_left_to_the_parser() {
        for text in [
            "",
            ".",
            "-",
            "1e23",
            "1e-23",
            "1e",
            "e-5",
            "1e-005",
            "1e-5.",
            "inf",
            "nan",
            "1.2.3",
            "9007199254740993",
            "0x1",
            " 1",
            "1,0",
            "00000000000000000001",
        ] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
        for text in
            ["0", "-0", "1.", ".5", "+7", "67108863", "0.000000000000000001", "9.5e-05", "2.5e1"]
        {
            assert!(matches!(decimal(text.as_bytes()), Some(Decimal::Short(_))), "{text}");
        }
        for text in ["67108864", "1e5", "3.14159265358", "-9007199254740992e22"] {
            assert!(matches!(decimal(text.as_bytes()), Some(Decimal::Double(_))), "{text}");
        }
    }

    #[test]
    fn a_block_with_one_long_number_keeps_the_short_ones_before_and_after_it() {
        let mut numbers = Numbers::default();
        for row in 0..BLOCK + 3 {
            if row == BLOCK + 1 {
                numbers.push(std::f64::consts::PI);
            } else {
                assert!(numbers.push_text(format!("{}.25", row % 1000).as_bytes()));
            }
        }
        assert_eq!(numbers.bytes(), 4 * BLOCK + 8 * 3);
        assert_eq!(numbers.get(BLOCK - 1), ((BLOCK - 1) % 1000) as f64 + 0.25);
        assert_eq!(numbers.get(BLOCK + 1), std::f64::consts::PI);
        assert_eq!(numbers.get(BLOCK + 2), ((BLOCK + 2) % 1000) as f64 + 0.25);
    }
}
