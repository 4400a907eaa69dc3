//! State a problem with two requirements and solve it: the program of the crate documentation.
#![allow(clippy::print_stdout)]

use feasible::{
    Dual, Inputs, Learner, Loss, Population, Problem, Requirement, Samples, Targets, rho,
};
use feasible_nn::{Activation, Adam, Mlp};

fn main() -> Result<(), feasible::Error> {
    // Years of experience and whether the applicant is a man; were they hired?
    let x = vec![1., 0., 2., 1., 3., 0., 4., 1., 5., 0., 6., 1., 7., 0., 8., 1.];
    let hired = vec![0, 0, 0, 1, 0, 1, 1, 1];
    let everyone = Population::new(Samples::new(Inputs::new(x, 2)?, Targets::Classes(hired))?);
    let other_sex = everyone.counterfactual(rho::flip(1))?;
    let women = everyone.filter(|s| s.inputs()[1] == 0.0);

    let problem = Problem::minimise(&everyone, Loss::CrossEntropy)
        .subject_to(Requirement::pointwise("sex is irrelevant", &other_sex, Loss::Kl).at_most(1e-3))
        .subject_to(Requirement::average("women's loss", &women, Loss::CrossEntropy).at_most(0.5))
        .check()?;
    let model = Mlp::new(&[2, 8, 2], Activation::Tanh)?;
    let learner = Learner::alternating(Adam::new(0.02)).dual(Dual::adam(0.05)).epochs(1000);
    let learner = learner.keep_best().seed(1);
    let solution = learner.solve(&problem, &model)?;

    println!("{}; objective {:.3}", solution.outcome, solution.objective());
    for r in &solution.requirements {
        println!(
            "{}: worst violation {:+.4}, multiplier {:.3}",
            r.name, r.worst_violation, r.multiplier
        );
    }
    println!("hardest applicants: {:.3?}", solution.multipliers.of(0));
    Ok(())
}
