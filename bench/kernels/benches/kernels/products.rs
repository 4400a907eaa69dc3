//! Matrix products: the time of wide and deep networks.

use std::hint::black_box;

use feasible_bench::tables::numbers;
use feasible_nn::Level;
use feasible_nn::kernel::{Kernels, Left, Start};

use crate::table::{Measured, Work};

pub fn measure(measured: &mut Measured, level: Level) {
    for (m, k, n) in [(128, 256, 256), (512, 256, 256), (128, 784, 128), (256, 64, 64)] {
        let flop = Work::Flop(2 * m * k * n);
        let (a, b) = (numbers(m * k, 0), numbers(k * n, 1));
        let mut c = vec![0.0; m * n];
        measured.time(&format!("product AB {m}×{k}×{n}"), Some(level), flop, || {
            f32::product(level, Left::new(&a, m, k), &b, n, Start::Zero, black_box(&mut c));
        });
    }
    let (m, k, n) = (128, 256, 256);
    let flop = Work::Flop(2 * m * k * n);
    // A layer's weight gradient: A (the rows) is transposed by its strides.
    let (a, dz) = (numbers(m * k, 0), numbers(m * n, 1));
    let mut gradient = vec![0.0; k * n];
    measured.time(&format!("product AᵀB {k}×{m}×{n}"), Some(level), flop, || {
        let left = Left::new(&a, m, k).transpose();
        f32::product(level, left, &dz, n, Start::Zero, black_box(&mut gradient));
    });
    // A layer forward; B is transposed on the way.
    let b = numbers(n * k, 1);
    let (mut c, mut scratch) = (vec![0.0; m * n], feasible::aligned::AlignedVec::new());
    measured.time(&format!("product_with_rows ABᵀ {m}×{k}×{n}"), Some(level), flop, || {
        scratch.clear();
        f32::product_with_rows(level, &a, &b, k, n, None, &mut scratch, black_box(&mut c));
    });
    // An output layer.
    let (m, k, n) = (256, 64, 2);
    let (a, b, bias) = (numbers(m * k, 0), numbers(n * k, 1), [0.5; 2]);
    let mut c = vec![0.0; m * n];
    let flop = Work::Flop(2 * m * k * n);
    measured.time(&format!("product_with_rows ABᵀ {m}×{k}×{n}"), Some(level), flop, || {
        scratch.clear();
        f32::product_with_rows(level, &a, &b, k, n, Some(&bias), &mut scratch, black_box(&mut c));
    });
}
