//! The optimisers against PyTorch's documented formulae, written out for one number, over 200
//! steps of a noisy quadratic.

#![allow(clippy::unwrap_used)] // outside #[test] functions too: a failure here is the test's

use crate::case::{Random, relative_error};
use feasible::{Optimiser, OptimiserState, Schedule};
use feasible_nn::kernel::{AdamStep, Kernels, SgdStep};
use feasible_nn::{Adam, AdamW, Level, Sgd};

const P: usize = 37;

/// θ after 200 steps by the optimiser, with the gradients of a noisy quadratic.
fn run<T: Kernels, O: Optimiser<T>>(optimiser: &O, seed: u64) -> Vec<T> {
    optimiser.check().unwrap();
    let random = &mut Random(seed);
    let mut theta: Vec<T> = (0..P).map(|_| T::from_f64(random.unit())).collect();
    let mut state = OptimiserState::new(optimiser.slots(), P);
    for step in 0..200 {
        let gradient: Vec<T> =
            theta.iter().map(|&t| t + T::from_f64(0.3 * random.unit() + 0.2)).collect();
        optimiser.step(f64::from(step) / 10.0, &mut state, &mut theta, &gradient);
    }
    assert_eq!(state.step, 200);
    theta
}

/// The same for one number at a time: `rule(t, epoch, θ, g, state)` returns the new θ.
fn reference(seed: u64, rule: impl Fn(i32, f64, f64, f64, &mut [f64; 2]) -> f64) -> Vec<f64> {
    let random = &mut Random(seed);
    let mut theta: Vec<f64> = (0..P).map(|_| random.unit()).collect();
    let mut states = vec![[0.0; 2]; P];
    for step in 0..200 {
        for (t, state) in theta.iter_mut().zip(&mut states) {
            let g = *t + (0.3 * random.unit() + 0.2);
            *t = rule(step + 1, f64::from(step) / 10.0, *t, g, state);
        }
    }
    theta
}

/// In f64 to rounding; in f32 to 200 steps of rounding, 6e-8 each.
fn compare<O: Optimiser<f64> + Optimiser<f32>>(
    optimiser: &O,
    rule: impl Fn(i32, f64, f64, f64, &mut [f64; 2]) -> f64,
) {
    let expected = reference(11, rule);
    let error = relative_error(&run::<f64, O>(optimiser, 11), &expected, 0.0);
    assert!(error < 1e-12, "f64 off by {error:e}");
    let error = relative_error(&run::<f32, O>(optimiser, 11), &expected, 0.0);
    assert!(error < 5e-5, "f32 off by {error:e}");
}

fn adam(rate: f64, decay: f64) -> impl Fn(i32, f64, f64, f64, &mut [f64; 2]) -> f64 {
    move |t, _, theta, g, s| {
        let g = g + decay * theta;
        s[0] = 0.9 * s[0] + (1.0 - 0.9) * g;
        s[1] = 0.999 * s[1] + (1.0 - 0.999) * g * g;
        let m = s[0] / (1.0 - 0.9f64.powi(t));
        let v = s[1] / (1.0 - 0.999f64.powi(t));
        theta - rate * m / (v.sqrt() + 1e-8)
    }
}

#[test]
fn adam_follows_its_paper() {
    compare(&Adam::new(0.01), adam(0.01, 0.0));
    compare(&Adam::new(0.01).weight_decay(0.1), adam(0.01, 0.1));
}

#[test]
fn adamw_shrinks_theta_and_leaves_the_moments_alone() {
    compare(&AdamW::new(0.01), |t, e, theta, g, s| {
        adam(0.01, 0.0)(t, e, theta, g, s) - 0.01 * 0.01 * theta
    });
}

#[test]
fn the_first_step_of_adam_is_the_rate_whatever_the_gradient() {
    for g in [1e-3, 1.0, -1e6] {
        let mut theta = [0.0f32];
        Adam::new(0.1).step(0.0, &mut OptimiserState::new(2, 1), &mut theta, &[g]);
        assert!((theta[0] + 0.1 * g.signum()).abs() < 2e-6, "{theta:?}");
    }
}

#[test]
fn adam_divides_by_its_unit_first_so_that_squares_are_within_single_precision() {
    for unit in [1e-25f64, 1e25] {
        let mut theta = [0.0f32];
        let mut state = OptimiserState::new(2, 1);
        for _ in 0..3 {
            Adam::new(0.1).unit(unit).step(0.0, &mut state, &mut theta, &[3.0 * unit as f32]);
        }
        assert!((theta[0] + 0.3).abs() < 1e-5, "{unit}: {theta:?}");
    }
    // A power of two changes no digit.
    let step = |unit: f64| {
        let (mut theta, mut state) = ([0.3f32, -0.7], OptimiserState::new(2, 2));
        for g in [0.1f32, -0.7, 1.3] {
            let gradient = [g, 0.2 * g].map(|g| g * unit as f32);
            Adam::new(0.1).unit(unit).step(0.0, &mut state, &mut theta, &gradient);
        }
        theta
    };
    assert_eq!(step(1.0), step(1.0 / 1024.0));
}

#[test]
fn sgd_with_and_without_momentum_follows_pytorch() {
    compare(&Sgd::new(0.05), |_, _, theta, g, _| theta - 0.05 * g);
    compare(&Sgd::new(0.05).momentum(0.9).weight_decay(0.2), |t, _, theta, g, s| {
        let g = g + 0.2 * theta;
        s[0] = if t == 1 { g } else { 0.9 * s[0] + g };
        theta - 0.05 * s[0]
    });
    compare(&Sgd::new(0.05).momentum(0.9).nesterov(true), |t, _, theta, g, s| {
        s[0] = if t == 1 { g } else { 0.9 * s[0] + g };
        theta - 0.05 * (g + 0.9 * s[0])
    });
}

#[test]
fn a_schedule_scales_the_rate() {
    let schedule = Schedule::Step { factor: 0.5, every: 5.0 };
    compare(&Sgd::new(0.05).schedule(schedule), |_, epoch, theta, g, _| {
        theta - 0.05 * 0.5f64.powf((epoch / 5.0).floor()) * g
    });
}

#[test]
fn settings_outside_their_range_are_named() {
    let message = |o: &dyn Optimiser<f32>| o.check().unwrap_err().to_string();
    assert!(message(&Adam::new(f64::NAN)).contains("rate"));
    assert!(message(&Adam::new(-1.0)).contains("rate"));
    assert!(message(&Adam::new(0.1).betas(1.0, 0.9)).contains("beta1"));
    assert!(message(&Adam::new(0.1).betas(0.9, -0.1)).contains("beta2"));
    assert!(message(&AdamW::new(0.1).epsilon(0.0)).contains("epsilon"));
    assert!(message(&Adam::new(0.1).unit(0.0)).contains("unit"));
    assert!(message(&AdamW::new(0.1).weight_decay(-1.0)).contains("weight decay"));
    assert!(message(&Sgd::new(0.1).momentum(1.0)).contains("momentum"));
    assert!(message(&Sgd::new(0.1).nesterov(true)).contains("momentum"));
    let never = Schedule::Step { factor: 0.5, every: 0.0 };
    assert!(message(&Sgd::new(0.1).schedule(never)).contains("schedule"));
}

#[test]
fn settings_are_saved_and_defaults_may_be_left_out() {
    let adam = Adam::new(0.1).betas(0.8, 0.9);
    let text = serde_json::to_string(&adam).unwrap();
    assert_eq!(serde_json::from_str::<Adam>(&text).unwrap(), adam);
    assert_eq!(serde_json::from_str::<Adam>(r#"{"rate": 0.5}"#).unwrap(), Adam::new(0.5));
    assert_eq!(serde_json::from_str::<AdamW>(r#"{"rate": 0.5}"#).unwrap(), AdamW::new(0.5));
    assert_eq!(serde_json::from_str::<Sgd>(r#"{"rate": 0.5}"#).unwrap(), Sgd::new(0.5));
    assert!(serde_json::from_str::<Sgd>(r#"{"rate": 0.5, "momentun": 0.9}"#).is_err());
}

#[test]
fn every_level_takes_the_same_step_within_rounding() {
    let random = &mut Random(8);
    let mut draw = || -> Vec<f64> { (0..P).map(|_| random.unit()).collect() };
    let (theta, gradient, m, v) = (draw(), draw(), draw(), draw());
    let v: Vec<f64> = v.iter().map(|v| v * v).collect();
    let single = |x: &[f64]| -> Vec<f32> { x.iter().map(|&x| x as f32).collect() };
    let adam = AdamStep {
        rate: 0.1,
        betas: (0.9, 0.999),
        root: 1.3,
        epsilon: 1e-8,
        decay: 0.01,
        scale: 0.5,
        keep: 0.99,
    };
    let sgd = SgdStep { rate: 0.1, momentum: 0.9, nesterov: true, decay: 0.1 };
    let (mut a, mut am, mut av) = (theta.clone(), m.clone(), v.clone());
    f64::adam(Level::best(), adam, &mut a, &gradient, &mut am, &mut av);
    let (mut s, mut sb) = (theta.clone(), m.clone());
    f64::sgd(Level::best(), sgd, &mut s, &gradient, &mut sb);
    for level in Level::available() {
        let (mut t, mut m32, mut v32) = (single(&theta), single(&m), single(&v));
        f32::adam(level, adam, &mut t, &single(&gradient), &mut m32, &mut v32);
        assert!(relative_error(&m32, &am, 1.0) < 1e-6 && relative_error(&v32, &av, 1.0) < 1e-6);
        // θ moves by up to rate·m/√v, which is large where v is small: relative to the largest.
        assert!(relative_error(&t, &a, 1.0) < 1e-5, "{}", level.name());
        let (mut t, mut b) = (single(&theta), single(&m));
        f32::sgd(level, sgd, &mut t, &single(&gradient), &mut b);
        assert!(relative_error(&t, &s, 1.0) < 1e-6 && relative_error(&b, &sb, 1.0) < 1e-6);
    }
}
