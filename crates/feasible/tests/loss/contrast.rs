//! Losses of two classes, block by block and row by row.

use feasible::internals::{
    Bernoulli, BinaryCrossEntropy, BinaryKl, Logits, OfContrasts, RowSeeds, RowValues, Vectors,
    by_blocks_in, close, far, is_far, logistic, sign,
};
use feasible::loss::LossRows;
use feasible::{Purpose, Real, Stream, Targets};

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

fn check<T: Real, L: OfContrasts<T>>(loss: &L, plain: Plain<T>, width: usize, bits: fn(T) -> u64) {
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
