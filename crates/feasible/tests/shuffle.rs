//! Block shuffles do no harm, where they could most: in tables that are sorted by target, or by group.

#![allow(clippy::unwrap_used, reason = "a test may stop")]

use std::sync::Arc;

use feasible::learner::Shuffle;
use feasible::learner::order::WINDOW;
use feasible::{
    Inputs, Learner, Loss, Population, Problem, Purpose, Requirement, Samples, Schedule, Stream,
    Targets,
};
use feasible_nn::{Activation, Adam, Mlp};

/// Two windows and a part of one.
const ROWS: usize = 2 * WINDOW + WINDOW / 4;

/// Rows (x, group, y), sorted by what `key` gives; y goes with x, differently in each of eight groups.
fn sorted(key: fn(usize, u32) -> u32) -> Problem {
    let mut random = Stream::new(11, Purpose::Initial, 0, 0);
    let mut rows: Vec<(u32, [f32; 2], usize, u32)> = Vec::with_capacity(ROWS);
    for _ in 0..ROWS {
        let x = [random.uniform() as f32 * 2.0 - 1.0, random.uniform() as f32 * 2.0 - 1.0];
        let group = random.below(8) as usize;
        let slope = f64::from(x[0]) * (group as f64 - 2.0) + f64::from(x[1]);
        let y = u32::from(random.uniform() < 1.0 / (1.0 + (-2.0 * slope).exp()));
        rows.push((key(group, y), x, group, y));
    }
    rows.sort_by_key(|row| row.0);
    let mut inputs = Vec::with_capacity(10 * ROWS);
    for (_, x, group, _) in &rows {
        inputs.extend(x);
        inputs.extend((0..8).map(|at| f32::from(u8::from(at == *group))));
    }
    let targets = Targets::Classes(rows.iter().map(|row| row.3).collect());
    let samples = Samples::new(Inputs::new(inputs, 10).unwrap(), targets).unwrap();
    let everyone = Population::new(Arc::new(samples));
    let first = everyone.filter(|sample| sample.inputs()[2] == 1.0);
    Problem::minimise(&everyone, Loss::CrossEntropy)
        .subject_to(Requirement::average("first group", &first, Loss::CrossEntropy).at_most(0.35))
        .check()
        .unwrap()
}

/// Objective and violation after an epoch, for each of some seeds.
fn trained(problem: &Problem, shuffle: Shuffle) -> Vec<[f64; 2]> {
    let model = Mlp::new(&[10, 8, 2], Activation::Tanh).unwrap();
    let solve = |seed: u64| {
        let schedule = Schedule::Cosine { over: 1.0, floor: 0.0 };
        let learner = Learner::simultaneous(Adam::new(0.01).schedule(schedule)).batch_size(256);
        let learner = learner.epochs(1).seed(seed).shuffle(shuffle).look_for_infeasibility(false);
        let solution = learner.solve(problem, &model).unwrap();
        [solution.objective(), solution.requirements[0].worst_violation]
    };
    (1..=4).map(solve).collect()
}

#[test]
fn tables_sorted_by_target_or_group_are_learned_as_well_block_by_block() {
    let by_target = |_, y| y;
    let by_group = |group, _| group as u32;
    for (name, key) in [("target", by_target as fn(usize, u32) -> u32), ("group", by_group)] {
        let problem = sorted(key);
        let [rows, blocks] = [Shuffle::Rows, Shuffle::Blocks].map(|of| trained(&problem, of));
        println!("sorted by {name}: all rows {rows:.4?}, blocks {blocks:.4?}");
        for what in 0..2 {
            let mean = |of: &[[f64; 2]]| of.iter().map(|x| x[what]).sum::<f64>() / of.len() as f64;
            let (a, b) = (mean(&rows), mean(&blocks));
            // The share of a class or group in a window has a standard deviation of about 2 %, and the last of the batches, of
            // which the model remembers most, have a rate of nearly 0.
            assert!((a - b).abs() < 0.005, "{name}: {a} and {b}");
        }
    }
}
