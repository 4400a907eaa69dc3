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
pub(super) struct Contrasts<T> {
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
pub(super) struct Derivatives<T> {
    value: [T; BLOCK],
    by_a: [T; BLOCK],
    by_b: [T; BLOCK],
}

/// A loss of contrasts.
pub(super) trait OfContrasts<T: Real> {
    /// Whether it compares two views; if not, it is about the class.
    const PAIR: bool;

    /// Values and derivatives of a block.
    fn block(&self, at: &Contrasts<T>, out: &mut Derivatives<T>);
}

/// log(1 + e^{∓a}).
pub(super) struct BinaryCrossEntropy;

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
fn logistic<T: Real>(m: T) -> (T, T) {
    let e = series::exp_of_negative(-m.abs());
    let positive = m >= T::ZERO;
    let overshoot = if positive { T::ZERO } else { -m };
    let tail = if positive { e } else { T::ONE };
    (overshoot + series::ln_1p(e), -tail / (T::ONE + e))
}

/// KL(p ‖ q).
pub(super) struct BinaryKl;

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
fn is_far<T: Real>(change: T, most: T) -> bool {
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
fn sign<T: Real>(class: u32) -> T {
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
pub(super) trait ByBlocks<T: Real>: Sized {
    /// Outputs a row: 1 or 2.
    fn width(&self) -> usize;

    /// All blocks.
    fn plain<L: OfContrasts<T>, const WIDTH: usize>(self, loss: &L);
}

/// All blocks of a pass, in the widest vectors the CPU has.
pub(super) fn by_blocks<T: Real, B: ByBlocks<T>, L: OfContrasts<T>>(pass: B, loss: &L) {
    by_blocks_in(Vectors::widest(), pass, loss);
}

fn by_blocks_in<T: Real, B: ByBlocks<T>, L: OfContrasts<T>>(vectors: Vectors, pass: B, loss: &L) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Purpose, Stream};

    /// Outputs of all sizes, for which close and far pairs, and numbers that are not finite, occur.
    fn outputs<T: Real>(count: usize, seed: u64) -> Vec<T> {
        let mut random = Stream::new(seed, Purpose::View, 0, 0);
        let number = |n: usize| match n {
            7 => f64::NAN,
            23 => f64::INFINITY,
            _ => {
                let size = 10f64.powf(4.0 * random.uniform() - 2.0);
                size * (random.uniform() - 0.5)
            }
        };
        (0..count).map(number).map(T::from_f64).collect()
    }

    /// Value and derivatives by a and b at one row.
    type Plain<T> = fn(Bernoulli<T>, T) -> (T, T, T);

    fn check<T: Real, L: OfContrasts<T>>(
        loss: &L,
        plain: Plain<T>,
        width: usize,
        bits: fn(T) -> u64,
    ) {
        let rows = 45;
        let (at, against) = (outputs::<T>(rows * width, 1), outputs::<T>(rows * width, 2));
        let targets = Targets::Classes((0..rows as u32).map(|n| n % 3 % 2).collect());
        let samples: Vec<u32> = (0..rows as u32).rev().collect();
        let weights: Vec<T> = outputs(rows, 3);
        let scattered = (0..rows as u32).map(|n| n * 7 % rows as u32).collect();
        for mut positions in [(0..rows as u32).collect::<Vec<u32>>(), scattered] {
            for count in [rows, 33, 16, 15, 1, 0] {
                positions.truncate(count);
                let at_rows = || LossRows {
                    width,
                    at: &at,
                    against: &against,
                    targets: &targets,
                    samples: &samples,
                    positions: &positions,
                };
                let zero = || vec![T::ZERO; rows * width];
                let (mut values, mut by_at, mut by_against) = (Vec::new(), zero(), zero());
                for (&p, &weight) in positions.iter().zip(&weights) {
                    let of = |outputs: &'static str| {
                        let all = if outputs == "at" { &at } else { &against };
                        Logits(&all[p as usize * width..][..width])
                    };
                    let y = match &targets {
                        Targets::Classes(classes) => sign(classes[samples[p as usize] as usize]),
                        _ => T::ZERO,
                    };
                    let (value, by_a, by_b) = plain(Bernoulli::new(of("at"), of("against")), y);
                    values.push(bits(value));
                    let start = p as usize * width;
                    for (seeds, by) in [(&mut by_at, by_a), (&mut by_against, by_b)] {
                        if width == 2 {
                            seeds[start] -= weight * by;
                        }
                        seeds[start + width - 1] += weight * by;
                    }
                }
                let all_bits = |list: &[T]| list.iter().map(|&x| bits(x)).collect::<Vec<u64>>();
                for vectors in Vectors::all() {
                    let what = format!("{vectors:?}, width {width}, {count} rows");
                    let mut found = vec![T::ZERO; count];
                    by_blocks_in(vectors, RowValues { rows: at_rows(), values: &mut found }, loss);
                    assert_eq!(all_bits(&found), values, "{what}");
                    for wanted in [0, count] {
                        let (mut found, mut a, mut b) = (vec![T::ZERO; wanted], zero(), zero());
                        let seeds = RowSeeds {
                            rows: at_rows(),
                            weights: &weights[..count],
                            values: &mut found,
                            at: &mut a,
                            against: &mut b,
                        };
                        by_blocks_in(vectors, seeds, loss);
                        assert_eq!(all_bits(&found), values[..wanted], "{what}");
                        assert_eq!(all_bits(&a), all_bits(&by_at), "{what}");
                        if L::PAIR {
                            assert_eq!(all_bits(&b), all_bits(&by_against), "{what}");
                        }
                    }
                }
            }
        }
    }

    fn of_class<T: Real>(at: Bernoulli<T>, sign: T) -> (T, T, T) {
        let (value, slope) = logistic(sign * at.a);
        (value, sign * slope, T::ZERO)
    }

    fn of_pair<T: Real>(Bernoulli { a, b, change }: Bernoulli<T>, _: T) -> (T, T, T) {
        match is_far(change, T::from_f64(0.5)) {
            true => far(a, b, change),
            false => close(b, change),
        }
    }

    #[test]
    fn every_vector_width_has_the_bits_of_a_loop_over_single_rows() {
        // All that is not a number is one.
        let single = |x: f32| u64::from(if x.is_nan() { f32::NAN } else { x }.to_bits());
        let double = |x: f64| if x.is_nan() { f64::NAN } else { x }.to_bits();
        for width in [1, 2] {
            check::<f32, _>(&BinaryCrossEntropy, of_class, width, single);
            check::<f64, _>(&BinaryCrossEntropy, of_class, width, double);
            check::<f32, _>(&BinaryKl, of_pair, width, single);
            check::<f64, _>(&BinaryKl, of_pair, width, double);
        }
    }
}
