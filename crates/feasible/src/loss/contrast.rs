//! Losses of two classes, sixteen rows at a time.
//!
//! With two classes the probabilities depend on the logits through one number, the contrast
//! z₁ − z₀. The two losses that most problems train with, cross-entropy and KL, are computed here on
//! blocks of contrasts in loops without branches and without calls, which the compiler turns into
//! the widest vector instructions that the CPU has (see [`vectors`](crate::vectors)).

use std::marker::PhantomData;

use super::LossRows;
use super::pair::{Bernoulli, close, far};
use super::row::{RowSeeds, RowValues};
use super::series;
use super::softmax::Logits;
use crate::real::Real;
use crate::samples::Targets;
use crate::vectors::{Loops, Vectors};

/// Rows in a block.
const BLOCK: usize = 16;

/// The contrasts of a block of rows.
pub struct Contrasts<T> {
    /// z₁ − z₀ at x.
    a: [T; BLOCK],
    /// The same at ρ(x).
    b: [T; BLOCK],
    /// a − b without loss of digits.
    change: [T; BLOCK],
    /// 1 for class 1, −1 for class 0.
    sign: [T; BLOCK],
}

/// What a loss makes of them.
pub struct Derivatives<T> {
    value: [T; BLOCK],
    by_a: [T; BLOCK],
    by_b: [T; BLOCK],
}

/// A loss of contrasts.
pub trait OfContrasts<T: Real> {
    /// Whether it compares two views; if not, it is about the class.
    const PAIR: bool;

    /// Values and derivatives of a block.
    fn block(&self, at: &Contrasts<T>, out: &mut Derivatives<T>);
}

/// log(1 + e^{∓a}).
pub struct BinaryCrossEntropy;

impl<T: Real> OfContrasts<T> for BinaryCrossEntropy {
    const PAIR: bool = false;

    #[inline(always)]
    fn block(&self, at: &Contrasts<T>, out: &mut Derivatives<T>) {
        for i in 0..BLOCK {
            let (value, slope) = logistic(at.sign[i] * at.a[i]);
            out.value[i] = value;
            out.by_a[i] = at.sign[i] * slope;
        }
    }
}

/// log(1 + e^{−m}) and its derivative −1/(1 + e^m).
#[inline(always)]
pub fn logistic<T: Real>(m: T) -> (T, T) {
    let e = series::exp_of_negative(-m.abs());
    let positive = m >= T::ZERO;
    let overshoot = if positive { T::ZERO } else { -m };
    let tail = if positive { e } else { T::ONE };
    (overshoot + series::ln_1p(e), -tail / (T::ONE + e))
}

/// KL(p ‖ q).
pub struct BinaryKl;

impl<T: Real> OfContrasts<T> for BinaryKl {
    const PAIR: bool = true;

    #[inline(always)]
    fn block(&self, at: &Contrasts<T>, out: &mut Derivatives<T>) {
        let half = T::from_f64(0.5);
        let mut any_far = false;
        for i in 0..BLOCK {
            (out.value[i], out.by_a[i], out.by_b[i]) = close(at.b[i], at.change[i]);
            any_far |= is_far(at.change[i], half);
        }
        if any_far {
            let mut other = Derivatives::zero();
            for i in 0..BLOCK {
                (other.value[i], other.by_a[i], other.by_b[i]) =
                    far(at.a[i], at.b[i], at.change[i]);
            }
            for i in 0..BLOCK {
                if is_far(at.change[i], half) {
                    out.value[i] = other.value[i];
                    out.by_a[i] = other.by_a[i];
                    out.by_b[i] = other.by_b[i];
                }
            }
        }
    }
}

/// NaN counts as far, where it is passed on.
#[inline(always)]
pub fn is_far<T: Real>(change: T, most: T) -> bool {
    let is_close = change.abs() <= most;
    !is_close
}

impl<T: Real> Contrasts<T> {
    fn zero() -> Self {
        let zero = [T::ZERO; BLOCK];
        Self { a: zero, b: zero, change: zero, sign: zero }
    }

    /// Those of the rows at these positions; what is left of the block stays what it was.
    #[inline(always)]
    fn read<L: OfContrasts<T>, const WIDTH: usize>(
        &mut self,
        rows: &LossRows<'_, T>,
        positions: &[u32],
    ) {
        match consecutive(positions) {
            // The same loop over numbers side by side becomes vector instructions.
            Some(first) => {
                let range = first * WIDTH..(first + BLOCK) * WIDTH;
                let at = &rows.at[range.clone()];
                if L::PAIR {
                    let against = &rows.against[range];
                    for i in 0..BLOCK {
                        self.pair(i, &at[i * WIDTH..][..WIDTH], &against[i * WIDTH..][..WIDTH]);
                    }
                } else {
                    let samples = &rows.samples[first..first + BLOCK];
                    for i in 0..BLOCK {
                        self.a[i] =
                            Logits(&at[i * WIDTH..][..WIDTH]).contrast().unwrap_or_default();
                    }
                    if let Targets::Classes(classes) = rows.targets {
                        for i in 0..BLOCK {
                            self.sign[i] = sign(classes[samples[i] as usize]);
                        }
                    }
                }
            }
            None => {
                for (i, &position) in positions.iter().enumerate().take(BLOCK) {
                    let position = position as usize;
                    let at = &rows.at[position * WIDTH..][..WIDTH];
                    if L::PAIR {
                        self.pair(i, at, &rows.against[position * WIDTH..][..WIDTH]);
                    } else {
                        self.a[i] = Logits(at).contrast().unwrap_or_default();
                        if let Targets::Classes(classes) = rows.targets {
                            self.sign[i] = sign(classes[rows.samples[position] as usize]);
                        }
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn pair(&mut self, i: usize, at: &[T], against: &[T]) {
        let Bernoulli { a, b, change } = Bernoulli::new(Logits(at), Logits(against));
        (self.a[i], self.b[i], self.change[i]) = (a, b, change);
    }
}

/// 1 for class 1, −1 for class 0.
#[inline(always)]
pub fn sign<T: Real>(class: u32) -> T {
    if class == 1 { T::ONE } else { -T::ONE }
}

/// The first of the positions, if they are a whole block of positions in a row.
#[inline(always)]
fn consecutive(positions: &[u32]) -> Option<usize> {
    let first = *positions.first()?;
    let mut all = positions.len() == BLOCK;
    for (i, &position) in positions.iter().enumerate() {
        all &= position == first.wrapping_add(i as u32);
    }
    all.then_some(first as usize)
}

impl<T: Real> Derivatives<T> {
    fn zero() -> Self {
        let zero = [T::ZERO; BLOCK];
        Self { value: zero, by_a: zero, by_b: zero }
    }
}

/// Something done with a loss of contrasts, block by block.
pub trait ByBlocks<T: Real>: Sized {
    /// Outputs a row: 1 or 2.
    fn width(&self) -> usize;

    /// All blocks.
    fn plain<L: OfContrasts<T>, const WIDTH: usize>(self, loss: &L);
}

/// All blocks of a pass, in the widest vectors the CPU has.
pub(super) fn by_blocks<T: Real, B: ByBlocks<T>, L: OfContrasts<T>>(pass: B, loss: &L) {
    by_blocks_in(Vectors::widest(), pass, loss);
}

/// The same in vectors of this kind.
pub fn by_blocks_in<T: Real, B: ByBlocks<T>, L: OfContrasts<T>>(
    vectors: Vectors,
    pass: B,
    loss: &L,
) {
    let of = PhantomData;
    match pass.width() {
        1 => vectors.run(Blocks::<'_, T, B, L, 1> { pass, loss, of }),
        _ => vectors.run(Blocks::<'_, T, B, L, 2> { pass, loss, of }),
    }
}

/// A pass over rows of WIDTH outputs with a loss.
struct Blocks<'l, T, B, L, const WIDTH: usize> {
    pass: B,
    loss: &'l L,
    of: PhantomData<T>,
}

impl<T, B, L, const WIDTH: usize> Loops for Blocks<'_, T, B, L, WIDTH>
where
    T: Real,
    B: ByBlocks<T>,
    L: OfContrasts<T>,
{
    #[inline(always)]
    fn run(self) {
        self.pass.plain::<L, WIDTH>(self.loss);
    }
}

impl<T: Real> ByBlocks<T> for RowValues<'_, T> {
    fn width(&self) -> usize {
        self.rows.width
    }

    #[inline(always)]
    fn plain<L: OfContrasts<T>, const WIDTH: usize>(self, loss: &L) {
        let (mut at, mut out) = (Contrasts::zero(), Derivatives::zero());
        let blocks = self.rows.positions.chunks(BLOCK).zip(self.values.chunks_mut(BLOCK));
        for (positions, values) in blocks {
            at.read::<L, WIDTH>(&self.rows, positions);
            loss.block(&at, &mut out);
            values.copy_from_slice(&out.value[..values.len()]);
        }
    }
}

impl<T: Real> ByBlocks<T> for RowSeeds<'_, T> {
    fn width(&self) -> usize {
        self.rows.width
    }

    #[inline(always)]
    fn plain<L: OfContrasts<T>, const WIDTH: usize>(self, loss: &L) {
        // Two loops: where no value is wanted, the compiler leaves out what only values need.
        if self.values.is_empty() {
            self.blocks::<L, WIDTH, false>(loss);
        } else {
            self.blocks::<L, WIDTH, true>(loss);
        }
    }
}

impl<T: Real> RowSeeds<'_, T> {
    #[inline(always)]
    fn blocks<L, const WIDTH: usize, const VALUES: bool>(self, loss: &L)
    where
        L: OfContrasts<T>,
    {
        let Self { rows, weights, values, at: by_at, against: by_against } = self;
        let (mut at, mut out) = (Contrasts::zero(), Derivatives::zero());
        let mut values = values.chunks_mut(BLOCK);
        for (positions, weights) in rows.positions.chunks(BLOCK).zip(weights.chunks(BLOCK)) {
            at.read::<L, WIDTH>(&rows, positions);
            loss.block(&at, &mut out);
            if VALUES && let Some(values) = values.next() {
                values.copy_from_slice(&out.value[..values.len()]);
            }
            if let (Some(first), Ok(weights)) =
                (consecutive(positions), <&[T; BLOCK]>::try_from(weights))
            {
                let range = first * WIDTH..(first + BLOCK) * WIDTH;
                add_block::<T, WIDTH>(&mut by_at[range.clone()], weights, &out.by_a);
                if L::PAIR {
                    add_block::<T, WIDTH>(&mut by_against[range], weights, &out.by_b);
                }
                continue;
            }
            for (i, (&position, &weight)) in positions.iter().zip(weights).enumerate().take(BLOCK) {
                let position = position as usize;
                add::<T, WIDTH>(by_at, position, weight * out.by_a[i]);
                if L::PAIR {
                    add::<T, WIDTH>(by_against, position, weight * out.by_b[i]);
                }
            }
        }
    }
}

/// As [`add`], for a block of positions in a row.
#[inline(always)]
fn add_block<T: Real, const WIDTH: usize>(seeds: &mut [T], weights: &[T; BLOCK], by: &[T; BLOCK]) {
    let seeds = &mut seeds[..BLOCK * WIDTH];
    for i in 0..BLOCK {
        add::<T, WIDTH>(seeds, i, weights[i] * by[i]);
    }
}

/// Adds the gradient of a function of the contrast whose derivative is g.
#[inline(always)]
fn add<T: Real, const WIDTH: usize>(seeds: &mut [T], position: usize, g: T) {
    let seeds = &mut seeds[position * WIDTH..][..WIDTH];
    if WIDTH == 2 {
        seeds[0] -= g;
    }
    seeds[WIDTH - 1] += g;
}
