//! Every kernel at every level against its plain loop.
//!
//! A sum of n products of numbers in [−1, 1], in any order and with or without fused rounding, errs by
//! at most n · 2⁻²⁴ · Σ|terms| ≤ n² · 6e-8, and in practice by √n · 6e-8 · √n; n is at most 1,100 here, so 2e-5
//! of the size of the sums is met with room, and one missing term (of order 1) is not.

use feasible::{Purpose, Stream};

use feasible_nn::conv::{ConvShape, Window};
use feasible_nn::internals::planes::{self, Packing, Pull, Reading};
use feasible_nn::internals::{ConvPlan, plain, transform_gradient, transform_weights};
use feasible_nn::kernel::Kernels;
use feasible_nn::kernel::conv::sweep::Add;
use feasible_nn::kernel::conv::{
    Activated, BLOCK, Correlation, Outer, Packed, Planar, Sweep, Tap, product,
};
use feasible_nn::{Activation, Level};

fn numbers(len: usize, seed: u64) -> Vec<f32> {
    let mut random = Stream::new(seed, Purpose::View, 0, 0);
    (0..len).map(|_| 2.0 * random.uniform() as f32 - 1.0).collect()
}

#[track_caller]
fn close(found: &[f32], expected: &[f32], what: &str) {
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= 2e-5 * (1.0 + e.abs()), "{what}: {f} for {e} at {i}");
    }
}

/// Plans over all tile widths, strides, paddings, one and two output blocks, and channels that do not
/// fill a block.
fn plans() -> Vec<ConvPlan> {
    let mut plans = Vec::new();
    let mut add = |from: (usize, usize, usize), channels, window: Window, planar| {
        let from = ConvShape::new(from.0, from.1, from.2);
        let (height, width) = window.places(from, "a test").unwrap();
        plans.push(ConvPlan::new(from, ConvShape { channels, height, width }, window, planar));
    };
    let three = Window::new(3).padding(1);
    for planar in [false, true] {
        add((3, 6, 9), 20, three, planar);
        add((1, 7, 7), 16, three.stride(2), planar);
        add((2, 11, 8), 40, Window { size: (4, 2), stride: 3, padding: 1 }, planar);
    }
    add((16, 5, 14), 32, three, false);
    add((35, 4, 4), 48, three, false);
    add((17, 6, 8), 16, three.stride(2), false);
    add((20, 4, 4), 33, Window::new(1).stride(2), false);
    add((30, 3, 3), 10, Window { size: (3, 3), stride: 1, padding: 0 }, false);
    plans
}

fn packed<'a>(plan: &ConvPlan, data: &'a [f32]) -> Packed<'a, f32> {
    let (plane, pixel) = (plan.input.plane(), plan.input.pixel);
    let (image, block) = (plane, plan.group * plane);
    Packed { data, channels: plan.from.channels, pixel, image, block }
}

fn packed_delta<'a>(plan: &ConvPlan, data: &'a [f32]) -> Packed<'a, f32> {
    let plane = plan.delta.plane();
    let (image, block) = (plane, plan.group * plane);
    Packed { data, channels: plan.to.channels, pixel: BLOCK, image, block }
}

/// Zeros in the channels that do not exist, as packing leaves them.
fn clear_missing(packed: &mut [f32], block: usize, channels: usize) {
    for (b, block) in packed.chunks_exact_mut(block).enumerate() {
        for pixel in block.chunks_exact_mut(BLOCK) {
            pixel[(channels - b * BLOCK).min(BLOCK)..].fill(0.0);
        }
    }
}

/// δ with zeros around the pixels that exist, as packing leaves it.
fn with_border(plan: &ConvPlan, delta: &[f32]) -> Vec<f32> {
    let mut zeros = vec![0.0; delta.len()];
    let at = |y: usize| (plan.delta.top + y) * plan.delta.row() + plan.delta.left * BLOCK;
    let planes = zeros.chunks_exact_mut(plan.delta.plane());
    for (to, from) in planes.zip(delta.chunks_exact(plan.delta.plane())) {
        for y in 0..plan.to.height {
            let line = at(y)..at(y) + plan.to.width * BLOCK;
            to[line.clone()].copy_from_slice(&from[line]);
        }
    }
    zeros
}

/// Runs a kernel by the plain loop and at every level, from the same memory.
fn compare(
    what: &str,
    start: &[f32],
    plain: impl Fn(&mut [f32]),
    simd: impl Fn(Level, &mut [f32]),
) {
    let mut expected = start.to_vec();
    plain(&mut expected);
    assert_ne!(expected, start);
    for level in Level::available() {
        let mut found = start.to_vec();
        simd(level, &mut found);
        close(&found, &expected, &format!("{what}, {}", level.name()));
    }
}

#[test]
fn a_sweep_is_its_plain_loop_at_every_level() {
    for plan in plans() {
        for images in [1, plan.group] {
            let x = numbers(plan.packed_input(), 1);
            let mut w = numbers(plan.weights(), 2);
            let out = images * plan.to.blocked();
            let (bias, other, mask) =
                (numbers(plan.to.blocks() * BLOCK, 3), numbers(out, 4), numbers(out, 5));
            w.iter_mut().for_each(|w| *w *= 0.5);
            let adds = [Add::Nothing, Add::Current, Add::Other(&other)];
            for (add, relu) in adds.into_iter().zip([true, false, true]) {
                let of = Correlation {
                    sweep: &plan.forward,
                    images,
                    input: packed(&plan, &x),
                    weights: &w,
                    taps: plan.taps,
                    out_blocks: plan.to.blocks(),
                    out_image: plan.to.blocked(),
                    out_block: plan.to.plane(),
                    bias: relu.then_some(&bias),
                    add,
                    relu,
                    mask: (!relu).then_some(&mask),
                    ahead: [&other, &[], &[], &x],
                };
                let what = format!("{:?} → {:?}", plan.from, plan.to);
                let start = numbers(out, 6);
                compare(&what, &start, |y| plain::sweep(of, y), |l, y| f32::sweep(l, of, y));
            }
        }
    }
}

#[test]
fn a_sweep_back_is_its_plain_loop_at_every_level() {
    for plan in plans() {
        let mut delta = numbers(plan.packed_delta(), 1);
        clear_missing(&mut delta, plan.group * plan.delta.plane(), plan.to.channels);
        let images = plan.group;
        for sweep in &plan.backward {
            let what = format!("back {:?} → {:?}", plan.from, plan.to);
            let (delta, taps) = (packed_delta(&plan, &delta), plan.taps);
            if plan.planar() {
                let weights = &numbers(plan.weights(), 2);
                let (planes, out_image) = (plan.from.channels, plan.from.len());
                let out_plane = plan.from.height * plan.from.width;
                let of =
                    Planar { sweep, images, delta, weights, taps, planes, out_image, out_plane };
                let start = numbers(images * out_image, 3);
                compare(&what, &start, |y| plain::planar(of, y), |l, y| f32::planar(l, of, y));
            } else {
                let blocks = plan.to.blocks() * plan.from.blocks();
                let weights = &numbers(blocks * taps * BLOCK * BLOCK, 2);
                let of = Correlation {
                    sweep,
                    images,
                    input: delta,
                    weights,
                    taps,
                    out_blocks: plan.from.blocks(),
                    out_image: plan.from.blocked(),
                    out_block: plan.from.plane(),
                    bias: None,
                    add: Add::Nothing,
                    relu: false,
                    mask: None,
                    ahead: [&[]; 4],
                };
                let start = numbers(images * plan.from.blocked(), 3);
                compare(&what, &start, |y| plain::sweep(of, y), |l, y| f32::sweep(l, of, y));
            }
        }
    }
}

#[test]
fn outer_products_are_their_plain_loop_at_every_level() {
    for plan in plans() {
        let mut x = numbers(plan.packed_input(), 1);
        if !plan.planar() {
            clear_missing(&mut x, plan.group * plan.input.plane(), plan.from.channels);
        }
        let delta = numbers(plan.packed_delta(), 2);
        for images in [1, plan.group] {
            let of = Outer {
                sweep: &plan.forward,
                images,
                input: packed(&plan, &x),
                delta: packed_delta(&plan, &delta),
                delta_start: (plan.delta.top * plan.delta.run + plan.delta.left) * BLOCK,
                delta_row: plan.delta.row(),
            };
            let what = format!("outer {:?} → {:?}", plan.from, plan.to);
            let start = numbers(plan.weights(), 3);
            compare(&what, &start, |g| plain::outer(of, g), |l, g| f32::outer(l, of, g));
        }
    }
}

/// Planes round every operation alike at every level, so these agree to the bit.
#[test]
fn planes_are_the_same_at_every_level() {
    let (height, width) = (5, 6);
    let size = height * width * BLOCK;
    let (x, z, g) = (numbers(size, 1), numbers(size, 2), numbers(size, 3));
    let channels = |seed| std::array::from_fn(|i| numbers(16, seed)[i]);
    let pull = Pull {
        gradient: channels(4),
        deviation: channels(5),
        mean: channels(6),
        constant: channels(7),
    };
    let packings = [(1, 1), (2, 1), (1, 0)].map(|(stride, border)| Packing {
        pixel: BLOCK,
        stride,
        top: border,
        left: border,
        rows: height + 2 * border,
        run: (width + 2 * border).div_ceil(stride),
        read: stride,
    });
    let run = |level: Level| {
        let mut all = Vec::new();
        for activation in [None, Some(Activation::Relu)] {
            for affine in [None, Some((channels(8), channels(9)))] {
                let reading = Reading { affine, activation };
                for packing in &packings {
                    let mut to = vec![7.0; packing.plane()];
                    planes::pack(level, &x, width, &reading, packing, &mut to);
                    all.extend(to);
                }
                let mut to = vec![0.0; size];
                planes::join(level, &x, &reading, &z, &reading, true, &mut to);
                planes::through(level, &z, &reading, &mut to);
                all.extend(to);
            }
        }
        let mut to = vec![7.0; packings[0].plane()];
        planes::pack_pull(level, &g, &z, &pull, width, &packings[0], &mut to);
        all.extend(to);
        let mut sums = [0.0; 2 * BLOCK];
        planes::moments(level, &z, &channels(4), &mut sums);
        all.extend(sums);
        planes::covariance(level, &g, &z, &channels(4), &mut sums);
        all.extend(sums);
        all
    };
    let plain = run(Level::available()[Level::available().len() - 1]);
    for level in Level::available() {
        assert_eq!(run(level), plain, "{}", level.name());
    }
}

const CURVED: [Activation; 3] = [Activation::Silu, Activation::Sigmoid, Activation::Tanh];

/// Each of them at every level.
fn curved() -> impl Iterator<Item = (Activation, Level)> {
    CURVED.into_iter().flat_map(|a| Level::available().into_iter().map(move |level| (a, level)))
}

/// Against double precision. u is in [−6, 6] and is off by two roundings, 7e-7; σ is off by 8e-6 of itself
/// at worst (`simd/exp.rs`), and where the slope of SiLU multiplies 1 − σ by u, by 6 times
/// the 4e-7 of σ near 1. A slope at a wrong place, or a channel's factor taken for another's, is off by
/// more than 1e-2.
#[test]
fn activations_are_the_plain_loop_at_every_level() {
    let size = 7 * BLOCK;
    let wide = |seed| -> Vec<f32> { numbers(size, seed).iter().map(|x| 3.0 * x).collect() };
    let (x, g) = (wide(1), numbers(size, 2));
    let channels = |seed| -> [f32; BLOCK] { std::array::from_fn(|i| 2.0 * numbers(16, seed)[i]) };
    let (scale, shift) = (channels(3), channels(4).map(|t| t / 2.0));
    let double = |x: &[f32]| -> Vec<f64> { x.iter().map(|&x| x.into()).collect() };
    let (scale64, shift64) = (scale.map(f64::from), shift.map(f64::from));
    let same = |found: &[f32], exact: &[f64], what: &str| {
        for (found, exact) in found.iter().zip(exact) {
            let error = (f64::from(*found) - exact).abs();
            assert!(error <= 1e-5 * (1.0 + exact.abs()), "{what}: {found} for {exact}");
        }
    };
    for activation in CURVED.into_iter().chain([Activation::Relu]) {
        for affine in [false, true] {
            let of = Activated { activation, affine: affine.then_some((&scale, &shift)), x: &x };
            let x64 = double(&x);
            let affine64 = affine.then_some((&scale64, &shift64));
            let exact = Activated { activation, affine: affine64, x: &x64 };
            let (mut y64, mut g64) = (vec![0.0; size], double(&g));
            f64::activate_planes(Level::best(), exact, &mut y64);
            f64::activate_planes_back(Level::best(), exact, &mut g64);
            for level in Level::available() {
                let what = format!("{activation:?}, affine {affine}, {}", level.name());
                let (mut y, mut back) = (vec![0.0; size], g.clone());
                f32::activate_planes(level, of, &mut y);
                f32::activate_planes_back(level, of, &mut back);
                same(&y, &y64, &what);
                same(&back, &g64, &what);
            }
        }
    }
    // Divergence is noticed: a NaN stays one, and so does what is multiplied by its slope.
    let nan = [f32::NAN; BLOCK];
    for (activation, level) in curved() {
        let of = Activated { activation, affine: None, x: &nan };
        let (mut y, mut g) = ([0.0; BLOCK], [1.0; BLOCK]);
        f32::activate_planes(level, of, &mut y);
        f32::activate_planes_back(level, of, &mut g);
        assert!(y.iter().chain(&g).all(|x| x.is_nan()), "{activation:?}, {}", level.name());
    }
}

/// What goes by the kernels is, place by place, what the same plane read first and then packed or
/// joined plainly is: to the bit, as both ways take the same kernel.
#[test]
fn planes_with_other_activations_are_read_then_packed() {
    let (height, width) = (5, 6);
    let size = height * width * BLOCK;
    let (x, z) = (numbers(size, 1), numbers(size, 2));
    let channels = |seed| std::array::from_fn(|i| numbers(16, seed)[i]);
    let normal = Reading { affine: Some((channels(5), channels(6))), activation: None };
    let plain = Reading { affine: None, activation: None };
    let (scale, shift) = (channels(3), channels(4));
    for (activation, level) in curved() {
        let reading = Reading { affine: Some((scale, shift)), activation: Some(activation) };
        let affine = Some((&scale, &shift));
        let mut value = vec![0.0; size];
        f32::activate_planes(level, Activated { activation, affine, x: &x }, &mut value);
        for (stride, border) in [(1, 1), (2, 1), (1, 0)] {
            let packing = Packing {
                pixel: BLOCK,
                stride,
                top: border,
                left: border,
                rows: height + 2 * border,
                run: (width + 2 * border).div_ceil(stride),
                read: 1,
            };
            let [mut found, mut expected] = [(); 2].map(|()| vec![7.0; packing.plane()]);
            planes::pack(level, &x, width, &reading, &packing, &mut found);
            planes::pack(level, &value, width, &plain, &packing, &mut expected);
            assert_eq!(found, expected, "{activation:?}, stride {stride}");
        }
        for relu in [false, true] {
            let [mut found, mut expected] = [(); 2].map(|()| vec![7.0; size]);
            planes::join(level, &z, &normal, &x, &reading, relu, &mut found);
            planes::join(level, &z, &normal, &value, &plain, relu, &mut expected);
            assert_eq!(found, expected, "{activation:?}, ReLU {relu}");
        }
    }
}

/// Sums by another formula, whose error goes with the deviation of the sums, not with each of them:
/// `the_error_of_tiles_is_what_is_stated` measures below 2e-5 of it. Here and in the two tests after it
/// sums have a deviation of about 1, and one missing term would change them by 0.03 or more.
#[test]
fn tiles_are_the_plain_sweep_at_every_level() {
    for plan in plans().into_iter().filter(|plan| plan.tiles) {
        for images in [1, plan.group] {
            let mut x = numbers(plan.packed_input(), 1);
            clear_missing(&mut x, plan.group * plan.input.plane(), plan.from.channels);
            let mut w = numbers(plan.weights(), 2);
            w.iter_mut().for_each(|w| *w *= 0.5);
            let mut points = vec![0.0; plan.points()];
            let level = Level::best();
            transform_weights(level, &w, plan.in_blocks(), false, &mut points);
            let out = images * plan.to.blocked();
            let (bias, other, mask) =
                (numbers(plan.to.blocks() * BLOCK, 3), numbers(out, 4), numbers(out, 5));
            let adds = [Add::Nothing, Add::Current, Add::Other(&other)];
            for (add, relu) in adds.into_iter().zip([true, false, true]) {
                let of = Correlation {
                    sweep: &plan.forward,
                    images,
                    input: packed(&plan, &x),
                    weights: &w,
                    taps: plan.taps,
                    out_blocks: plan.to.blocks(),
                    out_image: plan.to.blocked(),
                    out_block: plan.to.plane(),
                    bias: relu.then_some(&bias),
                    add,
                    relu,
                    mask: (!relu).then_some(&mask),
                    ahead: [&other, &[], &[], &x],
                };
                let by_tiles = Correlation { weights: &points, ..of };
                let scratch = plan.tile_scratch()[0];
                let what = format!("tiles {:?} → {:?}", plan.from, plan.to);
                compare(
                    &what,
                    &numbers(out, 6),
                    |y| plain::sweep(of, y),
                    |l, y| f32::sweep_tiles(l, by_tiles, &mut numbers(scratch, 7), y),
                );
            }
        }
    }
}

#[test]
fn tiles_back_are_the_plain_sweep_at_every_level() {
    for plan in plans().into_iter().filter(|plan| plan.tiles) {
        let mut delta = numbers(plan.packed_delta(), 1);
        clear_missing(&mut delta, plan.group * plan.delta.plane(), plan.to.channels);
        let scale = (1.0 / plan.to.channels as f32).sqrt();
        let w: Vec<f32> = numbers(plan.weights(), 2).into_iter().map(|w| scale * w).collect();
        let mut points = vec![0.0; plan.points()];
        transform_weights(Level::best(), &w, plan.to.blocks(), true, &mut points);
        let images = plan.group;
        let of = Correlation {
            sweep: &plan.backward[0],
            images,
            input: packed_delta(&plan, &delta),
            weights: &w,
            taps: plan.taps,
            out_blocks: plan.from.blocks(),
            out_image: plan.from.blocked(),
            out_block: plan.from.plane(),
            bias: None,
            add: Add::Nothing,
            relu: false,
            mask: None,
            ahead: [&[]; 4],
        };
        let by_tiles = Correlation { weights: &points, ..of };
        let scratch = plan.tile_scratch()[1];
        compare(
            &format!("tiles back {:?} → {:?}", plan.from, plan.to),
            &numbers(images * plan.from.blocked(), 3),
            |y| plain::sweep(of, y),
            |l, y| f32::sweep_tiles(l, by_tiles, &mut numbers(scratch, 7), y),
        );
    }
}

#[test]
fn outer_products_by_tiles_are_the_plain_sums_at_every_level() {
    for plan in plans().into_iter().filter(|plan| plan.tiles) {
        let mut x = numbers(plan.packed_input(), 1);
        clear_missing(&mut x, plan.group * plan.input.plane(), plan.from.channels);
        let terms = (plan.group * plan.to.height * plan.to.width) as f32;
        let mut delta = with_border(&plan, &numbers(plan.packed_delta(), 2));
        delta.iter_mut().for_each(|d| *d *= 3.0 / terms.sqrt());
        let of = Outer {
            sweep: &plan.forward,
            images: plan.group,
            input: packed(&plan, &x),
            delta: packed_delta(&plan, &delta),
            delta_start: (plan.delta.top * plan.delta.run + plan.delta.left) * BLOCK,
            delta_row: plan.delta.row(),
        };
        let scratch = plan.tile_scratch()[2];
        let by_tiles = |level: Level, g: &mut [f32]| {
            // Written over what is there, then added once more: twice the sums.
            let mut points = numbers(plan.points(), 8);
            f32::outer_tiles(level, of, true, &mut numbers(scratch, 7), &mut points);
            f32::outer_tiles(level, of, false, &mut numbers(scratch, 7), &mut points);
            points.iter_mut().for_each(|u| *u *= 0.5);
            transform_gradient(level, &points, plan.in_blocks(), g);
        };
        let what = format!("outer by tiles {:?} → {:?}", plan.from, plan.to);
        compare(&what, &vec![0.0; plan.weights()], |g| plain::outer(of, g), by_tiles);
    }
}

/// Inputs in [−1, 1] and weights of variance 1/(3 C), so that outputs have variance 1. Typical and worst errors grow with
/// the length of the chains of additions at the points; the bounds are about twice what was measured
/// (5e-7 and 3e-6 with 16 channels, 1e-6 and 1e-5 with 128). Direct sums were measured to err by 2e-7 and 2e-6, 6e-7 and
/// 7e-6 in the same way.
#[test]
fn the_error_of_tiles_is_what_is_stated() {
    for (channels, typical, worst) in [(16, 1.1e-6, 6.5e-6), (128, 2.2e-6, 2e-5)] {
        let shape = ConvShape::new(channels, 12, 12);
        let plan = ConvPlan::new(shape, shape, Window::new(3).padding(1), false);
        let x = numbers(plan.packed_input(), 1);
        let scale = (1.0 / channels as f32).sqrt();
        let w: Vec<f32> = numbers(plan.weights(), 2).into_iter().map(|w| scale * w).collect();
        let mut points = vec![0.0; plan.points()];
        transform_weights(Level::best(), &w, plan.in_blocks(), false, &mut points);
        let double = |of: &[f32]| of.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
        let (exact_x, exact_w) = (double(&x), double(&w));
        let len = plan.group * plan.to.blocked();
        let (mut exact, mut scratch) = (vec![0.0; len], vec![0.0; plan.tile_scratch()[0]]);
        let input = packed(&plan, &x);
        let of = Correlation {
            sweep: &plan.forward,
            images: plan.group,
            input,
            weights: &points,
            taps: plan.taps,
            out_blocks: plan.to.blocks(),
            out_image: plan.to.blocked(),
            out_block: plan.to.plane(),
            bias: None,
            add: Add::Nothing,
            relu: false,
            mask: None,
            ahead: [&[]; 4],
        };
        let exactly = Correlation {
            sweep: &plan.forward,
            images: plan.group,
            input: Packed {
                data: &exact_x,
                channels: input.channels,
                pixel: input.pixel,
                image: input.image,
                block: input.block,
            },
            weights: &exact_w,
            taps: plan.taps,
            out_blocks: plan.to.blocks(),
            out_image: plan.to.blocked(),
            out_block: plan.to.plane(),
            bias: None,
            add: Add::Nothing,
            relu: false,
            mask: None,
            ahead: [&[]; 4],
        };
        plain::sweep(exactly, &mut exact);
        let size = (exact.iter().map(|y| y * y).sum::<f64>() / len as f64).sqrt();
        assert!((0.8..1.2).contains(&size), "outputs of deviation {size}");
        for level in Level::available() {
            let mut found = vec![0.0; len];
            f32::sweep_tiles(level, of, &mut scratch, &mut found);
            let errors = found.iter().zip(&exact).map(|(&f, e)| (f64::from(f) - e).abs());
            let (mut squares, mut largest) = (0.0, 0.0_f64);
            for e in errors {
                squares += e * e;
                largest = largest.max(e);
            }
            let root = (squares / len as f64).sqrt();
            let what = format!("{channels} channels, {}: {root:e}, {largest:e}", level.name());
            assert!(root < typical && largest < worst, "{what}");
        }
    }
}

#[test]
fn a_stride_that_wraps_around_is_outside() {
    // Two images, half of all numbers and eight apart: the sum of the second's place is 16 once it wraps around.
    let far = usize::MAX / 2 + 9;
    let sweep = Sweep {
        taps: vec![Tap { input: 0, weight: 0 }],
        rows: 1,
        columns: 1,
        input_row: 0,
        start: 0,
        row: 0,
        pixel: BLOCK,
    };
    let data = [0.0_f32; 4096];
    let packed = |image: usize, channels: usize, block: usize| Packed {
        data: &data,
        channels,
        pixel: BLOCK,
        image,
        block,
    };
    assert!(packed(BLOCK, 32, 2 * BLOCK).holds(&sweep, 2));
    assert!(packed(BLOCK, BLOCK, 0).holds_tiles(BLOCK, (1, 1), 2));
    for images in [3, 5] {
        assert!(!packed(far, BLOCK, 0).holds(&sweep, images));
        assert!(!packed(far, BLOCK, 0).holds_tiles(BLOCK, (1, 1), images));
        assert!(!packed(0, BLOCK * images, far).holds(&sweep, 1));
    }
    let rows = Sweep { rows: 3, input_row: far, row: far, ..sweep.clone() };
    assert!(!packed(0, BLOCK, 0).holds(&rows, 1));
    assert!(!packed(0, BLOCK, 0).holds_tiles(far, (1, 1), 1));
    assert!(!packed(0, BLOCK, 0).holds_tiles(0, (usize::MAX / 3, 1), 1));
    assert!(!packed(0, BLOCK, 0).holds_tiles(0, (1 << 20, 1), 1 << 45));
    assert!(rows.last_out().is_none());
    assert_eq!(product(&[usize::MAX / 2 + 1, 2]), None);
    // Nothing to read is nothing that fits.
    assert!(!packed(0, 0, 0).holds(&sweep, 1));
}
