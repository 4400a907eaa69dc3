//! Seeded starting points.

use feasible_nn::internals::uniform;

#[test]
fn a_start_is_the_same_bits_everywhere() {
    let mut x = [0.0f64; 3];
    uniform(7, 1, 4, &mut x);
    // Written down once: a change of these is a change of everyone's results.
    let found = x.map(|x| (x * f64::from(1u32 << 25)) as i64);
    assert_eq!(found, PINNED);
    let mut rounded = [0.0f32; 3];
    uniform(7, 1, 4, &mut rounded);
    assert_eq!(rounded, x.map(|x| x as f32));
}

const PINNED: [i64; 3] = [5_353_301, 16_512_431, -13_175_651];

#[test]
fn a_start_fills_its_range_evenly() {
    let mut x = vec![0.0f64; 40_000];
    uniform(0, 0, 25, &mut x);
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let square = x.iter().map(|x| x * x).sum::<f64>() / n;
    assert!(x.iter().all(|x| x.abs() < 0.2 && *x != 0.0));
    // Five standard errors: 0.2/√3/200 = 5.8e-4 for the mean; variance 0.04/3.
    assert!(mean.abs() < 2.9e-3, "{mean}");
    assert!((square - 0.04 / 3.0).abs() < 3e-4, "{square}");
}

#[test]
fn streams_and_seeds_differ() {
    let draw = |seed, stream| {
        let mut x = [0.0f32; 8];
        uniform(seed, stream, 1, &mut x);
        x
    };
    assert_ne!(draw(1, 0), draw(1, 1));
    assert_ne!(draw(1, 0), draw(2, 0));
}
