//! Minima of functions that are known.

use feasible::internals::{Limits, Minimum, Smooth, minimise};

struct Rosenbrock(usize);

impl Smooth for Rosenbrock {
    fn evaluate(&mut self, x: &[f64], g: &mut [f64]) -> f64 {
        self.0 += 1;
        g.fill(0.0);
        let mut f = 0.0;
        for i in 0..x.len() - 1 {
            let (a, b) = (1.0 - x[i], x[i + 1] - x[i] * x[i]);
            f += a * a + 100.0 * b * b;
            g[i] += -2.0 * a - 400.0 * x[i] * b;
            g[i + 1] += 200.0 * b;
        }
        f
    }
}

#[test]
fn rosenbrocks_valley_is_followed_to_its_end() {
    let mut f = Rosenbrock(0);
    let mut x = vec![-1.2, 1.0, -1.2, 1.0];
    let done = |at: &Minimum, _: &[f64], _: &[f64]| at.gradient_norm < 1e-9;
    let limits = Limits { iterations: 500, done: &done, target: f64::NEG_INFINITY };
    let (minimum, _) = minimise(&mut f, &mut x, limits);
    assert!(minimum.gradient_norm < 1e-9, "{minimum:?}");
    assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-8), "{x:?}");
    assert!(f.0 < 200, "{} evaluations", f.0);
}

#[test]
fn a_function_without_minimum_ends_at_the_iteration_limit() {
    struct Exponential;
    impl Smooth for Exponential {
        fn evaluate(&mut self, x: &[f64], g: &mut [f64]) -> f64 {
            g[0] = -(-x[0]).exp();
            (-x[0]).exp()
        }
    }
    let mut x = [0.0];
    let limits = Limits { iterations: 30, done: &|_, _, _| false, target: f64::NEG_INFINITY };
    let (minimum, _) = minimise(&mut Exponential, &mut x, limits);
    assert!(minimum.value < 1e-3 && x[0].is_finite());
}
