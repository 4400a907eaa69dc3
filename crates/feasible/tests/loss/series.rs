//! Series against the library's functions.

use feasible::internals::{exp_m1, exp_m1_plus, exp_of_negative_f32, ln_1p};

#[test]
fn the_exponential_of_a_negative_number_is_good_to_two_roundings() {
    for i in 0..=870_000 {
        let x = -(i as f32) / 10_000.0;
        let (ours, exact) = (exp_of_negative_f32(x), f64::from(x).exp());
        let error = (f64::from(ours) / exact - 1.0).abs();
        assert!(error < 2.0 * f64::from(f32::EPSILON), "{x}: {error:e}");
    }
    assert_eq!(exp_of_negative_f32(0.0), 1.0);
    assert_eq!(exp_of_negative_f32(f32::NEG_INFINITY), 0.0);
    assert!(exp_of_negative_f32(f32::NAN).is_nan());
}

#[test]
fn the_series_agree_with_the_library_to_a_few_roundings() {
    let close = |ours: f64, exact: f64, epsilon: f64| {
        assert!((ours - exact).abs() <= 4.0 * epsilon * exact.abs(), "{ours} against {exact}");
    };
    for i in -1000..=1000 {
        let x = f64::from(i) / 2000.0;
        close(exp_m1(x), x.exp_m1(), f64::EPSILON);
        close(exp_m1(x as f32).into(), f64::from(x as f32).exp_m1(), f32::EPSILON.into());
        // The library's form cancels: only its absolute accuracy can be compared.
        assert!((exp_m1_plus(x) - (x + (-x).exp_m1())).abs() <= 2.0 * f64::EPSILON * x.abs());
        close(exp_m1_plus(x as f32).into(), exp_m1_plus(f64::from(x as f32)), f32::EPSILON.into());
        let x = 0.3 + 1.4 * x;
        close(ln_1p(x), x.ln_1p(), f64::EPSILON);
        close(ln_1p(x as f32).into(), f64::from(x as f32).ln_1p(), f32::EPSILON.into());
    }
}
