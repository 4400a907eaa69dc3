//! Moved images are the formula's, whatever the shape; places are uniform and repeatable.

#![allow(clippy::unwrap_used)] // a failed unwrap is a failed test

use feasible_data::image::{Augmentation, ImageShape, Placement};
use proptest::prelude::*;

const SHAPE: ImageShape = ImageShape { channels: 2, height: 2, width: 3 };
const IMAGE: [u8; 12] = [1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16];

fn moved(mirrored: bool, down: i32, right: i32) -> [u8; 12] {
    let mut out = [99; 12];
    Placement { mirrored, down, right }.apply(SHAPE, &IMAGE, &mut out);
    out
}

#[test]
fn an_image_is_mirrored_and_shifted_with_black_borders() {
    assert_eq!(moved(false, 0, 0), IMAGE);
    assert_eq!(moved(true, 0, 0), [3, 2, 1, 6, 5, 4, 13, 12, 11, 16, 15, 14]);
    assert_eq!(moved(false, 1, 0), [4, 5, 6, 0, 0, 0, 14, 15, 16, 0, 0, 0]);
    assert_eq!(moved(false, 0, -1), [0, 1, 2, 0, 4, 5, 0, 11, 12, 0, 14, 15]);
    assert_eq!(moved(true, -1, 1), [0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 13, 12]);
    assert_eq!(moved(false, 0, 3), [0; 12]);
}

#[test]
fn the_default_leaves_images_alone() {
    let still = Placement { mirrored: false, down: 0, right: 0 };
    assert!((0..1000).all(|id| Augmentation::default().place(id, id) == still));
}

#[test]
fn places_are_uniform_and_a_function_of_seed_epoch_and_sample() {
    let augmentation = Augmentation { mirror: true, pad: 2, seed: 5 };
    let place = |epoch, id| augmentation.place(epoch, id);
    assert_eq!(place(1, 2), place(1, 2));
    let other = Augmentation { seed: 6, ..augmentation };
    let differ = |f: &dyn Fn(u64) -> bool| (0..200).filter(|&id| f(id)).count();
    // Fifty places are equal by chance in 2 % of pairs: 4 of 200, and never 40.
    assert!(differ(&|id| place(0, id) != place(1, id)) > 160);
    assert!(differ(&|id| place(0, id) != other.place(0, id)) > 160);
    assert!(differ(&|id| place(0, id) != place(0, id + 1)) > 160);
    let mut counts = std::collections::BTreeMap::new();
    for id in 0..50_000 {
        let Placement { mirrored, down, right } = place(0, id);
        *counts.entry((mirrored, down, right)).or_insert(0_u32) += 1;
    }
    assert_eq!(counts.len(), 50);
    // Six standard deviations of a binomial(50000, 1/50).
    assert!(counts.values().all(|&n| n.abs_diff(1000) < 188), "{counts:?}");
}

proptest! {
    #[test]
    fn every_pixel_is_that_of_the_formula(
        (c, h, w) in (1_usize..4, 1_usize..7, 1_usize..7),
        mirrored: bool,
        down in -8_i32..9,
        right in -8_i32..9,
    ) {
        let shape = ImageShape { channels: c, height: h, width: w };
        let image: Vec<f32> = (1..=shape.len()).map(|x| x as f32).collect();
        let mut out = vec![-1.0; shape.len()];
        Placement { mirrored, down, right }.apply(shape, &image, &mut out);
        for (k, y, x) in (0..c).flat_map(|k| (0..h).flat_map(move |y| (0..w).map(move |x| (k, y, x)))) {
            let from_y = y as i32 + down;
            let from_x = if mirrored { (w - 1 - x) as i32 } else { x as i32 } + right;
            let inside = (0..h as i32).contains(&from_y) && (0..w as i32).contains(&from_x);
            let at = |y: usize, x: usize| (k * h + y) * w + x;
            let expected = if inside { image[at(from_y as usize, from_x as usize)] } else { 0.0 };
            prop_assert_eq!(out[at(y, x)], expected);
        }
    }
}
