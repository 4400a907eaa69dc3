//! Vectors at every level, and how levels are named.

use feasible_nn::Level;
use feasible_nn::internals::{each_at, level_named, transpose_at};

/// The largest relative error over a fine grid, and at every power of two.
fn worst(level: Level, which: u8, from: f64, to: f64, exact: impl Fn(f64) -> f64) -> f64 {
    let mut x: Vec<f32> =
        (0..=400_000).map(|i| (from + (to - from) * f64::from(i) / 400_000.0) as f32).collect();
    x.extend(
        (-120..0)
            .flat_map(|p| [2f32.powi(p), -(2f32.powi(p))])
            .filter(|&x| f64::from(x) >= from && f64::from(x) <= to),
    );
    let mut y = x.clone();
    each_at(level, &mut y, which);
    let error = |(x, y): (&f32, &f32)| {
        let e = exact(f64::from(*x));
        if e == 0.0 { f64::from(*y).abs() } else { ((f64::from(*y) - e) / e).abs() }
    };
    x.iter().zip(&y).map(error).fold(0.0, f64::max)
}

#[test]
fn exp_and_its_children_keep_their_stated_error_at_every_level() {
    for level in Level::available() {
        let name = level.name();
        let e = worst(level, 0, -87.0, 88.0, f64::exp);
        assert!(e < 4e-7, "{name} exp {e:e}");
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let e = worst(level, 1, -2.0, 100.0, sigmoid);
        assert!(e < 4e-7, "{name} sigmoid {e:e}");
        let e = worst(level, 1, -86.0, 100.0, sigmoid);
        assert!(e < if name == "portable" { 8e-6 } else { 1.5e-6 }, "{name} sigmoid {e:e}");
        let e = worst(level, 2, -30.0, 30.0, f64::tanh);
        assert!(e < 5e-7, "{name} tanh {e:e}");
        let e = worst(level, 3, 1.0, 3e37, |x| 1.0 / x);
        assert!(e < 2.4e-7, "{name} recip {e:e}");
        let e = worst(level, 6, 1.2e-38, 3e38, f64::sqrt).max(worst(level, 6, 0.0, 4.0, f64::sqrt));
        assert!(e < 1.2e-7, "{name} sqrt {e:e}");
    }
}

#[test]
fn far_inputs_saturate_and_nan_stays_nan() {
    let far = [f32::MAX, f32::INFINITY, 1e4, f32::MIN, f32::NEG_INFINITY, -1e4, f32::NAN];
    for level in Level::available() {
        for which in 0..3 {
            let mut y = far;
            each_at(level, &mut y, which);
            assert!(y[..6].iter().all(|y| y.is_finite()), "{} {which} {y:?}", level.name());
            assert!(y[6].is_nan());
            let (low, high) = [(1.7e-38, 1e38), (5e-38, 1.0), (-1.0, 1.0)][usize::from(which)];
            assert!(y[..3].iter().all(|&y| y >= high), "{} {which} {y:?}", level.name());
            assert!(y[3..6].iter().all(|&y| y <= low), "{} {which} {y:?}", level.name());
        }
    }
}

#[test]
fn interleaving_transposes_and_sums_at_every_level() {
    for level in Level::available() {
        let mut x: [f32; 256] = std::array::from_fn(|i| i as f32);
        let (mut sum, mut n) = ([0.0; 16], 0);
        transpose_at(level, &mut x, &mut sum, &mut n);
        for i in 0..n {
            assert_eq!(sum[i], (0..n).map(|j| (i * n + j) as f32).sum::<f32>());
            for j in 0..n {
                assert_eq!(x[i * n + j], (j * n + i) as f32, "{}", level.name());
            }
        }
    }
}

#[test]
fn the_nearest_power_of_two_is_found() {
    for level in Level::available() {
        let mut n = [0.4, 0.6, -0.4, -1.6, 126.7, -126.2, 3.0];
        let mut power = n;
        each_at(level, &mut n, 4);
        assert_eq!(n, [0.0, -1.0, 0.0, 2.0, -127.0, 126.0, -3.0]);
        each_at(level, &mut power, 5);
        assert_eq!(power, n.map(|n| 2f32.powi(-n as i32)));
    }
}

#[test]
fn a_level_is_found_by_its_name_and_only_if_the_processor_has_it() {
    for level in Level::available() {
        assert_eq!(level_named(level.name(), &Level::available()), Ok(level));
    }
    let portable = [Level::available()[Level::available().len() - 1]];
    assert_eq!(level_named("portable", &portable), Ok(portable[0]));
    for wrong in ["avx2", "AVX2", "portable ", "fast"] {
        let said = level_named(wrong, &portable).unwrap_err();
        assert!(said.contains(wrong.trim()) && said.contains("has portable;"), "{said}");
    }
}
