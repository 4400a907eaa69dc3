//! What is done to a whole plane (one block of one image) pixel by pixel: reading through a
//! normalisation and an activation, packing with a border, statistics, gradients of the two.
//!
//! These are safe loops over 16 channels, compiled for each instruction set. They round every
//! operation by itself, so that all levels give the same bits. Activations other than ReLU, which take
//! an exponential, go by the kernels of [`activate`](super::activate).
#![allow(missing_docs, reason = "public for the tests of this crate alone")]

use feasible::Real;

use super::{Activated, BLOCK};
use crate::activation::Activation;
use crate::kernel::Kernels;
use crate::simd::Level;

/// One number for each channel of a block.
pub type Channels<T> = [T; BLOCK];

/// `compiled! { fn name<T>(argument: Type, …) { … } }` defines `name(level, argument, …)`, whose
/// body is compiled for the instructions of every level.
macro_rules! compiled {
    ($($(#[$doc:meta])* fn $name:ident<T>($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        #[allow(unsafe_code, clippy::too_many_arguments)]
        pub fn $name<T: Real>(level: Level, $($arg: $ty),*) {
            #[inline(always)]
            fn any<T: Real>($($arg: $ty),*) $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f")]
                fn avx512<T: Real>($($arg: $ty),*) {
                    any($($arg),*);
                }
                #[target_feature(enable = "avx2")]
                fn avx2<T: Real>($($arg: $ty),*) {
                    any($($arg),*);
                }
                match level.kind() {
                    // SAFETY: a level of this kind exists only where the CPU has the feature.
                    $crate::simd::InstructionSet::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::simd::InstructionSet::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::simd::InstructionSet::Portable => {}
                }
            }
            let _ = level;
            any($($arg),*);
        }
    )*};
}
pub(crate) use compiled;

/// How a stored plane is to be understood: value = φ(scale · stored + shift).
#[derive(Clone, Copy, Debug)]
pub struct Reading<T> {
    pub affine: Option<(Channels<T>, Channels<T>)>,
    pub activation: Option<Activation>,
}

impl<T: Real> Reading<T> {
    /// Whether what is stored is the value.
    pub fn is_plain(&self) -> bool {
        self.affine.is_none() && self.activation.is_none()
    }

    /// Its activation, if that is not ReLU.
    fn curved(&self) -> Option<Activation> {
        self.activation.filter(|&activation| activation != Activation::Relu)
    }

    fn activated<'a>(&'a self, activation: Activation, x: &'a [T]) -> Activated<'a, T> {
        let affine = self.affine.as_ref().map(|(scale, shift)| (scale, shift));
        Activated { activation, affine, x }
    }
}

/// A plane's place with its border; see the [module](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    /// Numbers a pixel: 16, or 1 for planes.
    pub pixel: usize,
    /// Runs the columns of a row are dealt to.
    pub stride: usize,
    /// Zero rows above.
    pub top: usize,
    /// Zero columns to the left.
    pub left: usize,
    /// Rows, border included.
    pub rows: usize,
    /// Pixels of one run.
    pub run: usize,
    /// How many of `stride` rows, and of as many columns, are read at all.
    pub read: usize,
}

impl Packing {
    /// Numbers between rows.
    pub fn row(&self) -> usize {
        self.stride * self.run * self.pixel
    }

    /// Numbers of a plane.
    pub fn plane(&self) -> usize {
        self.rows * self.row()
    }

    /// Whether a row or a column, border included, is never read.
    #[inline(always)]
    fn skips(&self, at: usize) -> bool {
        at % self.stride >= self.read
    }

    /// Where column x lies in its row.
    #[inline(always)]
    pub fn column(&self, x: usize) -> usize {
        self.deal(x + self.left)
    }

    /// The same for a column counted with the border.
    #[inline(always)]
    fn deal(&self, x: usize) -> usize {
        ((x % self.stride) * self.run + x / self.stride) * self.pixel
    }

    /// How many of `columns` columns have a place; the others are never read.
    #[inline(always)]
    pub fn columns(&self, columns: usize) -> usize {
        columns.min((self.stride * self.run).saturating_sub(self.left))
    }
}

/// The larger of u and 0; in this order NaN stays NaN.
#[inline(always)]
fn positive<T: Real>(u: T) -> T {
    if u < T::ZERO { T::ZERO } else { u }
}

/// How the pixels of a row are read.
trait Read<T> {
    fn line(&self, from: &[T], to: &mut [T]);
}

/// A reading without activation or with ReLU.
struct Straight<'a, T>(&'a Reading<T>);

impl<T: Real> Read<T> for Straight<'_, T> {
    #[inline(always)]
    fn line(&self, from: &[T], to: &mut [T]) {
        let pixels = from.chunks_exact(BLOCK).zip(to.chunks_exact_mut(BLOCK));
        match (&self.0.affine, self.0.activation) {
            (None, None) => to.copy_from_slice(from),
            (None, Some(_)) => {
                for (x, y) in pixels {
                    for i in 0..BLOCK {
                        y[i] = positive(x[i]);
                    }
                }
            }
            (Some((scale, shift)), None) => {
                for (x, y) in pixels {
                    for i in 0..BLOCK {
                        y[i] = scale[i] * x[i] + shift[i];
                    }
                }
            }
            (Some((scale, shift)), Some(_)) => {
                for (x, y) in pixels {
                    for i in 0..BLOCK {
                        y[i] = positive(scale[i] * x[i] + shift[i]);
                    }
                }
            }
        }
    }
}

/// A reading with another activation.
struct Curved<'a, T>(Level, Activation, &'a Reading<T>);

impl<T: Kernels> Read<T> for Curved<'_, T> {
    fn line(&self, from: &[T], to: &mut [T]) {
        T::activate_planes(self.0, self.2.activated(self.1, from), to);
    }
}

#[inline(always)]
fn pack_lines<T: Real>(
    from: &[T],
    width: usize,
    read: &impl Read<T>,
    packing: &Packing,
    to: &mut [T],
) {
    let (row, wide) = (packing.row(), packing.columns(width));
    clear_border(packing, from.len() / (width * BLOCK), width, to);
    let lines = from.chunks_exact(width * BLOCK).zip(to.chunks_exact_mut(row).skip(packing.top));
    for (y, (line_in, line_out)) in lines.enumerate() {
        if packing.stride == 1 {
            let left = packing.left * BLOCK;
            read.line(&line_in[..wide * BLOCK], &mut line_out[left..left + wide * BLOCK]);
        } else if !packing.skips(y + packing.top) {
            for (x, pixel) in line_in.chunks_exact(BLOCK).take(wide).enumerate() {
                if !packing.skips(x + packing.left) {
                    let at = packing.column(x);
                    read.line(pixel, &mut line_out[at..at + BLOCK]);
                }
            }
        }
    }
}

/// Reads a plane of rows of `width` pixels into its packed place.
pub fn pack<T: Kernels>(
    level: Level,
    from: &[T],
    width: usize,
    reading: &Reading<T>,
    packing: &Packing,
    to: &mut [T],
) {
    match reading.curved() {
        Some(activation) => {
            pack_lines(from, width, &Curved(level, activation, reading), packing, to)
        }
        None => pack_straight(level, from, width, reading, packing, to),
    }
}

/// out = φ(reading(z) + other(shortcut)), and if φ is not ReLU what is inside. The first reading is a
/// normalisation alone.
pub fn join<T: Kernels>(
    level: Level,
    z: &[T],
    reading: &Reading<T>,
    shortcut: &[T],
    other: &Reading<T>,
    relu: bool,
    out: &mut [T],
) {
    match other.curved() {
        Some(activation) => {
            T::activate_planes(level, other.activated(activation, shortcut), out);
            join_current(level, z, reading, relu, out);
        }
        None => join_straight(level, z, reading, shortcut, other, relu, out),
    }
}

/// Takes g back through the activation of a value stored as `stored`: multiplies it by φ'.
pub fn through<T: Kernels>(level: Level, stored: &[T], reading: &Reading<T>, g: &mut [T]) {
    match (reading.curved(), reading.activation) {
        (Some(activation), _) => {
            T::activate_planes_back(level, reading.activated(activation, stored), g);
        }
        (None, Some(_)) => through_relu(level, stored, reading, g),
        (None, None) => {}
    }
}

/// Zeros in the border of a packed plane that holds rows of `width` pixels.
#[inline(always)]
fn clear_border<T: Real>(packing: &Packing, rows: usize, width: usize, to: &mut [T]) {
    let (row, inside) = (packing.row(), packing.columns(width) * packing.pixel);
    let left = packing.left * packing.pixel;
    for (y, line) in to.chunks_exact_mut(row).enumerate() {
        if y < packing.top || y >= packing.top + rows {
            line.fill(T::ZERO);
        } else if packing.stride == 1 {
            line[..left].fill(T::ZERO);
            line[left + inside..].fill(T::ZERO);
        } else {
            let columns = packing.stride * packing.run;
            let after = packing.left + packing.columns(width);
            for x in (0..packing.left.min(columns)).chain(after..columns) {
                let at = packing.deal(x);
                line[at..at + packing.pixel].fill(T::ZERO);
            }
        }
    }
}

/// The factors of the gradient through a normalisation by batch statistics:
/// dz = `gradient` · g + `deviation` · (z − `mean`) + `constant`.
#[derive(Clone, Copy, Debug)]
pub struct Pull<T> {
    pub gradient: Channels<T>,
    pub deviation: Channels<T>,
    pub mean: Channels<T>,
    pub constant: Channels<T>,
}

compiled! {
    /// [`pack`] without activation or with ReLU.
    fn pack_straight<T>(from: &[T], width: usize, reading: &Reading<T>, packing: &Packing, to: &mut [T]) {
        pack_lines(from, width, &Straight(reading), packing, to);
    }

    /// Packs dz, the gradient before a normalisation, from g, the one after it.
    fn pack_pull<T>(g: &[T], z: &[T], pull: &Pull<T>, width: usize, packing: &Packing, to: &mut [T]) {
        let (row, left) = (packing.row(), packing.left * BLOCK);
        clear_border(packing, g.len() / (width * BLOCK), width, to);
        let lines = g.chunks_exact(width * BLOCK).zip(z.chunks_exact(width * BLOCK));
        for ((g, z), to) in lines.zip(to.chunks_exact_mut(row).skip(packing.top)) {
            let to = &mut to[left..left + width * BLOCK];
            let pixels = g.chunks_exact(BLOCK).zip(z.chunks_exact(BLOCK));
            for ((g, z), to) in pixels.zip(to.chunks_exact_mut(BLOCK)) {
                for i in 0..BLOCK {
                    to[i] = pull.gradient[i] * g[i]
                        + (pull.deviation[i] * (z[i] - pull.mean[i]) + pull.constant[i]);
                }
            }
        }
    }

    /// `sums[0] = Σ (z − pivot)`, `sums[1] = Σ (z − pivot)²`.
    fn moments<T>(z: &[T], pivot: &Channels<T>, sums: &mut [T]) {
        let (mut first, mut second) = ([T::ZERO; BLOCK], [T::ZERO; BLOCK]);
        for z in z.chunks_exact(BLOCK) {
            for i in 0..BLOCK {
                let d = z[i] - pivot[i];
                first[i] += d;
                second[i] += d * d;
            }
        }
        sums[..BLOCK].copy_from_slice(&first);
        sums[BLOCK..].copy_from_slice(&second);
    }

    /// [`join`] with a shortcut without activation or with ReLU.
    fn join_straight<T>(z: &[T], reading: &Reading<T>, shortcut: &[T], other: &Reading<T>, relu: bool, out: &mut [T]) {
        // The two that residual blocks have, in one pass.
        if let (Some((scale, shift)), None, true) = (&reading.affine, reading.activation, relu) {
            let pixels = z.chunks_exact(BLOCK).zip(shortcut.chunks_exact(BLOCK));
            let pixels = pixels.zip(out.chunks_exact_mut(BLOCK));
            match (&other.affine, other.activation) {
                (None, None) => {
                    for ((z, x), y) in pixels {
                        for i in 0..BLOCK {
                            y[i] = positive((scale[i] * z[i] + shift[i]) + x[i]);
                        }
                    }
                    return;
                }
                (Some((s, t)), None) => {
                    for ((z, x), y) in pixels {
                        for i in 0..BLOCK {
                            y[i] = positive((scale[i] * z[i] + shift[i]) + (s[i] * x[i] + t[i]));
                        }
                    }
                    return;
                }
                (Some((s, t)), Some(Activation::Relu)) => {
                    for ((z, x), y) in pixels {
                        for i in 0..BLOCK {
                            let v = positive(s[i] * x[i] + t[i]);
                            y[i] = positive((scale[i] * z[i] + shift[i]) + v);
                        }
                    }
                    return;
                }
                _ => {}
            }
        }
        Straight(reading).line(z, out);
        let mut value = [T::ZERO; BLOCK];
        for (x, y) in shortcut.chunks_exact(BLOCK).zip(out.chunks_exact_mut(BLOCK)) {
            Straight(other).line(x, &mut value);
            for i in 0..BLOCK {
                let u = y[i] + value[i];
                y[i] = if relu { positive(u) } else { u };
            }
        }
    }

    /// [`join`] with a shortcut whose value `out` holds.
    fn join_current<T>(z: &[T], reading: &Reading<T>, relu: bool, out: &mut [T]) {
        let mut value = [T::ZERO; BLOCK];
        for (z, y) in z.chunks_exact(BLOCK).zip(out.chunks_exact_mut(BLOCK)) {
            Straight(reading).line(z, &mut value);
            for i in 0..BLOCK {
                let u = value[i] + y[i];
                y[i] = if relu { positive(u) } else { u };
            }
        }
    }

    /// [`through`] ReLU.
    fn through_relu<T>(stored: &[T], reading: &Reading<T>, g: &mut [T]) {
        let one = ([T::ONE; BLOCK], [T::ZERO; BLOCK]);
        let (scale, shift) = reading.affine.as_ref().unwrap_or(&one);
        for (x, g) in stored.chunks_exact(BLOCK).zip(g.chunks_exact_mut(BLOCK)) {
            for i in 0..BLOCK {
                let u = scale[i] * x[i] + shift[i];
                g[i] = if u > T::ZERO { g[i] } else { T::ZERO };
            }
        }
    }

    /// `sums[0] = Σ g`.
    fn total<T>(g: &[T], sums: &mut [T]) {
        let mut total = [T::ZERO; BLOCK];
        for g in g.chunks_exact(BLOCK) {
            for i in 0..BLOCK {
                total[i] += g[i];
            }
        }
        sums[..BLOCK].copy_from_slice(&total);
    }

    /// [`through`] the ReLU of a value that is scale · z + shift, and the sums of
    /// [`covariance`], in one go.
    fn through_and_covariance<T>(z: &[T], scale: &Channels<T>, shift: &Channels<T>, mean: &Channels<T>, g: &mut [T], sums: &mut [T]) {
        let (mut first, mut second) = ([T::ZERO; BLOCK], [T::ZERO; BLOCK]);
        for (z, g) in z.chunks_exact(BLOCK).zip(g.chunks_exact_mut(BLOCK)) {
            for i in 0..BLOCK {
                let u = scale[i] * z[i] + shift[i];
                g[i] = if u > T::ZERO { g[i] } else { T::ZERO };
                first[i] += g[i];
                second[i] += g[i] * (z[i] - mean[i]);
            }
        }
        sums[..BLOCK].copy_from_slice(&first);
        sums[BLOCK..].copy_from_slice(&second);
    }

    /// The same where the value is stored beside z.
    fn mask_and_covariance<T>(value: &[T], z: &[T], mean: &Channels<T>, g: &mut [T], sums: &mut [T]) {
        let (mut first, mut second) = ([T::ZERO; BLOCK], [T::ZERO; BLOCK]);
        let pixels = value.chunks_exact(BLOCK).zip(z.chunks_exact(BLOCK));
        for ((value, z), g) in pixels.zip(g.chunks_exact_mut(BLOCK)) {
            for i in 0..BLOCK {
                g[i] = if value[i] > T::ZERO { g[i] } else { T::ZERO };
                first[i] += g[i];
                second[i] += g[i] * (z[i] - mean[i]);
            }
        }
        sums[..BLOCK].copy_from_slice(&first);
        sums[BLOCK..].copy_from_slice(&second);
    }

    /// `sums[0] = Σ g`, `sums[1] = Σ g (z − mean)`.
    fn covariance<T>(g: &[T], z: &[T], mean: &Channels<T>, sums: &mut [T]) {
        let (mut first, mut second) = ([T::ZERO; BLOCK], [T::ZERO; BLOCK]);
        for (g, z) in g.chunks_exact(BLOCK).zip(z.chunks_exact(BLOCK)) {
            for i in 0..BLOCK {
                first[i] += g[i];
                second[i] += g[i] * (z[i] - mean[i]);
            }
        }
        sums[..BLOCK].copy_from_slice(&first);
        sums[BLOCK..].copy_from_slice(&second);
    }

    /// to += from.
    fn accumulate<T>(from: &[T], to: &mut [T]) {
        for (y, x) in to.iter_mut().zip(from) {
            *y += *x;
        }
    }
}
