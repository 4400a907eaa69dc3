//! Each kernel at every level against its plain twin, by which `f64` is computed.

use feasible::aligned::AlignedVec;
use feasible::{Batch, Inputs, InputsBuilder, Shift, ShiftBuilder, ViewShift};
use feasible_nn::internals::{dots, transpose};
use feasible_nn::kernel::{Kernels, Left, Start, Weights};
use feasible_nn::{Activation, Level};
use proptest::prelude::*;

mod conv;

fn numbers(seed: u64, n: usize) -> Vec<f32> {
    let mut x = seed | 1;
    (0..n)
        .map(|_| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 40) as f32 / (1u32 << 23) as f32 - 1.0
        })
        .collect()
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).collect()
}

/// `terms` numbers below 1 are summed, each sum rounded to 6e-8.
fn close(level: Level, found: &[f32], expected: &[f64], terms: usize) {
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        let bound = 2e-7 * (1.0 + terms as f64);
        assert!((f64::from(*a) - b).abs() <= bound, "{} at {i}: {a} {b}", level.name());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn products_are_products(
        seed: u64, m in 0usize..30, k in 0usize..40, n in 1usize..150, form in 0u8..3, flip: bool,
    ) {
        let (a, b) = (numbers(seed, m * k), numbers(seed + 1, k * n));
        let (bias, c) = (numbers(seed + 2, n), numbers(seed + 3, m * n));
        let (aw, bw, biasw) = (wide(&a), wide(&b), wide(&bias));
        let mut expected = wide(&c);
        let left = if flip { Left::new(&aw, k, m).transpose() } else { Left::new(&aw, m, k) };
        let start = [Start::Zero, Start::Bias(&biasw), Start::Current][usize::from(form)];
        f64::product(Level::best(), left, &bw, n, start, &mut expected);
        let left = if flip { Left::new(&a, k, m).transpose() } else { Left::new(&a, m, k) };
        let start = [Start::Zero, Start::Bias(&bias), Start::Current][usize::from(form)];
        for level in Level::available() {
            let mut found = c.clone();
            f32::product(level, left, &b, n, start, &mut found);
            close(level, &found, &expected, k);
        }
    }

    #[test]
    fn products_with_rows_are_products(
        seed: u64, m in 0usize..40, k in 1usize..70, n in 1usize..50, with_bias: bool,
    ) {
        let (a, b, bias) = (numbers(seed, m * k), numbers(seed + 1, n * k), numbers(seed + 2, n));
        let biasw = wide(&bias);
        let mut expected = vec![0.0; m * n];
        let bias_of_all = with_bias.then_some(&biasw[..]);
        let spare = &mut AlignedVec::new();
        f64::product_with_rows(Level::best(), &wide(&a), &wide(&b), k, n, bias_of_all, spare, &mut expected);
        for level in Level::available() {
            let mut found = vec![f32::NAN; m * n];
            let bias = with_bias.then_some(&bias[..]);
            f32::product_with_rows(level, &a, &b, k, n, bias, &mut AlignedVec::new(), &mut found);
            close(level, &found, &expected, k);
            found.fill(f32::NAN);
            dots(level, &a, &b, k, n, bias, &mut found);
            close(level, &found, &expected, k);
        }
    }

    #[test]
    fn a_transpose_is_the_transpose(seed: u64, rows in 0usize..50, columns in 0usize..50) {
        let a = numbers(seed, rows * columns);
        let mut expected = vec![0.0; a.len()];
        for i in 0..rows {
            for j in 0..columns {
                expected[j * rows + i] = a[i * columns + j];
            }
        }
        for level in Level::available() {
            let mut found = vec![f32::NAN; a.len()];
            transpose(level, &a, rows, columns, &mut found);
            prop_assert_eq!(&found, &expected);
        }
    }

    #[test]
    fn column_sums_are_sums(seed: u64, rows in 0usize..50, columns in 1usize..50) {
        let (a, start) = (numbers(seed, rows * columns), numbers(seed + 1, columns));
        let mut expected = wide(&start);
        f64::column_sums(Level::best(), &wide(&a), &mut expected);
        for level in Level::available() {
            let mut found = start.clone();
            f32::column_sums(level, &a, &mut found);
            close(level, &found, &expected, rows);
        }
    }

    #[test]
    fn activations_and_their_slopes_agree(seed: u64, n in 0usize..70, scale in 0.1f32..20.0) {
        let z: Vec<f32> = numbers(seed, n).iter().map(|z| z * scale).collect();
        let da = numbers(seed + 1, n);
        use Activation::{Relu, Sigmoid, Silu, Tanh};
        for activation in [Sigmoid, Tanh, Relu, Silu] {
            let (mut a, mut slope, mut dz) = (wide(&z), vec![0.0; n], wide(&da));
            f64::activate(Level::best(), activation, &mut a, &mut slope);
            f64::activate_back(Level::best(), activation, &a, &slope, &mut dz);
            for level in Level::available() {
                let (mut a32, mut slope, mut dz32) = (z.clone(), vec![0.0; n], da.clone());
                f32::activate(level, activation, &mut a32, &mut slope);
                f32::activate_back(level, activation, &a32, &slope, &mut dz32);
                // SiLU multiplies the relative error of σ by |z| ≤ 20.
                close(level, &a32, &a, 20);
                close(level, &dz32, &dz, 20);
            }
        }
    }

    #[test]
    fn exponentials_agree(seed: u64, n in 0usize..40) {
        let z: Vec<f32> = numbers(seed, n).iter().map(|z| z - 1.0).collect();
        let mut expected = wide(&z);
        f64::exponentials(Level::best(), &mut expected);
        for level in Level::available() {
            let mut found = z.clone();
            f32::exponentials(level, &mut found);
            close(level, &found, &expected, 1);
        }
    }

    #[test]
    fn gathering_and_scattering_agree(
        seed: u64, d in 2usize..40, h in 1usize..150, n in 0usize..20, dense: bool,
        views in 0usize..3,
    ) {
        let (inputs, shift) = table(seed, d, 7);
        let shifts = vec![ViewShift::Sparse(&shift); views];
        let rows: Vec<u32> = (0..n as u32).map(|r| r * 5 % 7).collect();
        let batch = Batch { inputs: &inputs, rows: &rows, shifts: &shifts };
        let (w, b) = (numbers(seed + 1, d * h), numbers(seed + 2, h));
        let dz = numbers(seed + 3, batch.output_rows() * h);
        let (ww, bw) = (wide(&w), wide(&b));
        for activation in [None, Some(Activation::Tanh), Some(Activation::Silu)] {
            let (mut z, mut slope) = (vec![0.0; dz.len()], vec![0.0; dz.len()]);
            let layer = Weights { weights: &ww, bias: &bw };
            f64::gather(Level::best(), &batch, dense, layer, activation, &mut z, &mut slope);
            for level in Level::available() {
                let (mut found, mut found_slope) = (vec![f32::NAN; z.len()], vec![0.0; z.len()]);
                let layer = Weights { weights: &w, bias: &b };
                f32::gather(level, &batch, dense, layer, activation, &mut found, &mut found_slope);
                close(level, &found, &z, 2 * d);
                close(level, &found_slope, &slope, 2 * d);
            }
        }
        let (mut dw, mut db, mut sums) = (ww.clone(), bw.clone(), wide(&dz));
        f64::scatter(Level::best(), &batch, dense, &mut sums, &mut dw, &mut db);
        for level in Level::available() {
            let (mut found, mut bias, mut dz) = (w.clone(), b.clone(), dz.clone());
            f32::scatter(level, &batch, dense, &mut dz, &mut found, &mut bias);
            close(level, &found, &dw, 6 * n);
            close(level, &bias, &db, 6 * n);
            if !dense {
                close(level, &dz[..n * h], &sums[..n * h], views);
            }
            let z = numbers(seed + 4, n * h);
            let (mut moved, mut expected) = (vec![f32::NAN; n * h], vec![0.0; n * h]);
            f32::shift(level, &rows, &shift, h, &w, &z, &mut moved);
            f64::shift(Level::best(), &rows, &shift, h, &ww, &wide(&z), &mut expected);
            close(level, &moved, &expected, 2);
        }
    }
}

/// Samples with the first column dense, the others indicators; a shift that changes two columns
/// of every second sample.
fn table(seed: u64, d: usize, samples: usize) -> (Inputs, Shift) {
    let mut inputs = InputsBuilder::new(d, vec![0], samples).unwrap();
    let mut shift = ShiftBuilder::new(samples);
    let x = numbers(seed, samples * d);
    for (r, x) in x.chunks_exact(d).enumerate() {
        let hot: Vec<u32> = (1..d as u32).filter(|&c| x[c as usize] > 0.3).collect();
        inputs.push(&x[..1], &hot).unwrap();
        let changes = [(0, 0.5), (d as u32 - 1, -1.0)];
        shift.push(&changes[..2 * (r % 2)]).unwrap();
    }
    (inputs.finish(), shift.finish())
}
