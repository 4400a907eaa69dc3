//! Convolutional networks in the hands of a learner.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use feasible::adversary::{Attack, Budget, Norm};
use feasible::{
    Inputs, Learner, Loss, Population, Problem, Purpose, Requirement, Samples, Stream, Targets,
};
use feasible_nn::Adam;
use feasible_nn::conv::{ConvNet, ConvShape};

/// 8×8 images of noise with one brighter quadrant, which is the class.
fn quadrants(n: usize, seed: u64) -> Population {
    let mut random = Stream::new(seed, Purpose::View, 1, 1);
    let mut pixels = Vec::new();
    let mut classes = Vec::new();
    for _ in 0..n {
        let class = random.below(4);
        classes.push(class);
        for place in 0..64u32 {
            let quadrant = place / 32 * 2 + place % 8 / 4;
            let bright = if quadrant == class { 0.35 } else { 0.0 };
            pixels.push((0.6 * random.uniform() + bright) as f32);
        }
    }
    let inputs = Inputs::dense(pixels, 64).unwrap();
    Population::new(Samples::new(inputs, Targets::Classes(classes)).unwrap())
}

#[test]
fn a_network_with_batchnorm_learns_and_knows_it_in_evaluation() {
    let (train, test) = (quadrants(256, 1), quadrants(128, 2));
    let attack = Attack::pgd(Norm::Linf, Budget::fixed(0.05)).check().unwrap();
    let attacked = train.through(Arc::new(attack));
    let problem = Problem::minimise(&train, Loss::CrossEntropy)
        .subject_to(Requirement::average("robust", &attacked, Loss::CrossEntropy).at_most(0.3))
        .check()
        .unwrap();
    let model = ConvNet::resnet18(ConvShape::new(1, 8, 8), 4, 4).unwrap();
    let learner = Learner::alternating(Adam::new(3e-3)).batch_size(32).epochs(10).threads(2);
    let solution = learner.solve(&problem, &model).unwrap();
    let measured = solution.measurement.violations[0].measured[0] + 0.3;
    assert!(measured < 0.3, "the attacked loss is {measured}");
    let held_out = Problem::minimise(&test, Loss::CrossEntropy)
        .subject_to(
            Requirement::average("error", &test, Loss::CrossEntropy)
                .measured_by(Loss::Error)
                .at_most(0.0),
        )
        .check()
        .unwrap();
    let wrong = held_out.measure(&model, &solution.theta).unwrap().violations[0].measured[0];
    assert!(wrong < 0.05, "{wrong} of the test images are wrong");
}
