//! Losses of a batch and their seeds. Written without intrinsics: there is one level.

use std::hint::black_box;

use feasible::Targets;
use feasible::loss::{Loss, LossRows};
use feasible_bench::tables::numbers;

use crate::table::{Measured, Work};

const ROWS: usize = 128;

pub fn measure(measured: &mut Measured) {
    let samples: Vec<u32> = (0..ROWS as u32).collect();
    let weights = vec![1.0 / ROWS as f32; ROWS];
    let mut values = vec![0.0; ROWS];
    for width in [2, 10] {
        let at = numbers(ROWS * width, 0);
        let targets = Targets::Classes(samples.iter().map(|r| r * 7 % width as u32).collect());
        // A counterfactual moves the outputs a little, or a lot.
        for (name, loss, change) in [
            ("cross-entropy", Loss::CrossEntropy, 0.0),
            ("KL, near", Loss::Kl, 0.1),
            ("KL, far", Loss::Kl, 2.0),
        ] {
            let moved = numbers(ROWS * width, 1);
            let moved: Vec<f32> = at.iter().zip(moved).map(|(z, d)| z + change * d).collect();
            let against = if loss.compares_views() { &moved[..] } else { &[] };
            let rows = LossRows {
                width,
                at: &at,
                against,
                targets: &targets,
                samples: &samples,
                positions: &samples,
            };
            let title = |what| format!("{name}, {what}, {width} classes, 128 rows");
            measured.time(&title("values"), None, Work::Rows(ROWS), || {
                loss.values(rows, black_box(&mut values));
            });
            let (mut by_at, mut by_against) = (vec![0.0; at.len()], vec![0.0; against.len()]);
            measured.time(&title("seeds"), None, Work::Rows(ROWS), || {
                loss.seeds(rows, &weights, &mut values, black_box(&mut by_at), &mut by_against);
            });
        }
    }
}
