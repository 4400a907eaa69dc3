//! The paper's bounds against their formulas, worked by hand.
#![allow(clippy::unwrap_used)]

use feasible::certificate::Delta;
use feasible::theory::{
    Neighbourhood, approximation_error, dimension, initial_distance, is_vacuous, rows_for,
    sample_complexity, squared_violations, zeta,
};
use proptest::prelude::*;

#[test]
fn zeta_is_the_formula_of_proposition_3() {
    let delta = Delta::new(0.05).unwrap();
    // m + q = 3, d = 2, N = 50: 1 + log(4 · 5 · 100² / 0.05) = 1 + log(4 000 000) = 16.2018….
    let expected = ((1.0 + 4_000_000f64.ln()) / 50.0).sqrt();
    assert!((zeta(50, 2.0, 3, delta) - expected).abs() < 1e-14);
    // Theorem 1: (d + log 20)/ε².
    assert!((sample_complexity(0.1, delta, 2.0) - (2.0 + 20f64.ln()) * 100.0).abs() < 1e-9);
}

#[test]
fn vc_dimensions_are_those_of_the_theorems() {
    assert_eq!(dimension::linear(61), 62.0);
    assert_eq!(dimension::linear_margin(61), 63.0);
    assert_eq!(dimension::kernel(200), 201.0);
    // 2 inputs, 3 units, 1 output: W = 9 + 4 = 13, k = 4, L = 2, ΣWᵢ = 9 + 13, R = 3 + 2.
    let widths = [2, 3, 1];
    let wk: f64 = 13.0 * 4.0;
    let sigmoid = wk * wk + 11.0 * wk * (18.0 * 13.0 * 16.0f64).log2();
    assert!((dimension::sigmoid(&widths) - sigmoid).abs() < 1e-9);
    let e = std::f64::consts::E;
    let relu = 2.0 + 22.0 * (8.0 * e * 5.0 * (4.0 * e * 5.0).log2()).log2();
    assert!((dimension::piecewise_linear(&widths) - relu).abs() < 1e-9);
    // A bound on a class that contains the linear ones is at least theirs.
    for bound in [dimension::piecewise_linear, dimension::sigmoid, dimension::exponential] {
        assert!(bound(&[61, 64, 1]) > dimension::linear(61));
    }
}

#[test]
fn theorem_3_is_put_together_from_its_parts() {
    // Limits below and above B/2.
    let s = squared_violations(&[(-0.2, 0.8), (-0.9, 0.1)], &[((-0.5, 1.5), 10)]);
    assert!((s - (0.64 + 0.81 + 0.225)).abs() < 1e-12);
    // A difference of rates of at most 0.1 is violated by −1.1 to 0.9.
    assert!((squared_violations(&[(-1.1, 0.9)], &[]) - 1.21).abs() < 1e-12);
    assert!((initial_distance(1.0, &[0.0, 3.0, 1.0]) - 5.0).abs() < 1e-12);
    assert!((approximation_error(0.5, 1.5, 2.0, 0.01) - 0.06).abs() < 1e-12);
    let run = Neighbourhood {
        rho: 0.0,
        eta: 0.5,
        squared_violations: s,
        beta: 0.1,
        estimation: 0.2,
        approximation: 0.06,
    };
    let (low, high) = run.lagrangian(1.0);
    assert!((low - (1.0 - 0.25 * s - 0.1 - 0.2)).abs() < 1e-12);
    assert!((high - 1.26).abs() < 1e-12);
    assert!(is_vacuous(1.0, 1.0) && is_vacuous(f64::NAN, 1.0) && !is_vacuous(0.99, 1.0));
}

proptest! {
    #[test]
    fn rows_for_is_the_inverse_of_zeta(
        epsilon in 0.001f64..2.0, d in 1.0f64..1e6, requirements in 0usize..20, risk in 1e-9f64..0.5,
    ) {
        let delta = Delta::new(risk).unwrap();
        let n = rows_for(epsilon, d, requirements, delta);
        prop_assert!(zeta(n as u64, d, requirements, delta) <= epsilon * (1.0 + 1e-9));
        if n > 2.0 {
            let fewer = (n * (1.0 - 1e-9)) as u64 - 1;
            prop_assert!(zeta(fewer, d, requirements, delta) > epsilon * (1.0 - 1e-9));
        }
    }
}
