//! A model of one's own: a few lines, no memory, and everything works.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::people;
use feasible::adversary::{Attack, Budget, Norm};
use feasible::{Batch, Error, Learner, Loss, Model, Outcome, Pass, Problem, Requirement};
use feasible_nn::{Adam, Linear};

/// f(x) = Wx + b with θ row by row, [w, b] for each output, in the plainest way.
struct Plain {
    inputs: usize,
    outputs: usize,
}

impl Plain {
    fn each(&self, batch: &Batch<'_>, mut f: impl FnMut(usize, &[f32])) {
        let mut x = vec![0.0; self.inputs];
        for view in 0..batch.views() {
            for position in 0..batch.rows.len() {
                batch.write_input(view, position, &mut x);
                f(view * batch.rows.len() + position, &x);
            }
        }
    }
}

impl Model for Plain {
    type Real = f64;
    type Tape = ();

    fn input_width(&self) -> usize {
        self.inputs
    }

    fn output_width(&self) -> usize {
        self.outputs
    }

    fn parameter_count(&self) -> usize {
        self.outputs * (self.inputs + 1)
    }

    fn is_linear(&self) -> bool {
        true
    }

    fn initial(&self, _: u64) -> Vec<f64> {
        vec![0.0; self.parameter_count()]
    }

    fn forward(&self, theta: &[f64], batch: &Batch<'_>, _: Pass, (): &mut (), outputs: &mut [f64]) {
        self.each(batch, |row, x| {
            let rows = outputs[row * self.outputs..].iter_mut();
            for (out, w) in rows.zip(theta.chunks_exact(self.inputs + 1)) {
                let product: f64 = x.iter().zip(w).map(|(&x, w)| f64::from(x) * w).sum();
                *out = product + w[self.inputs];
            }
        });
    }

    fn backward(
        &self,
        _: &[f64],
        batch: &Batch<'_>,
        (): &mut (),
        seeds: &[f64],
        gradient: &mut [f64],
    ) {
        self.each(batch, |row, x| {
            let seeds = &seeds[row * self.outputs..];
            for (seed, w) in seeds.iter().zip(gradient.chunks_exact_mut(self.inputs + 1)) {
                for (w, &x) in w.iter_mut().zip(x) {
                    *w += seed * f64::from(x);
                }
                w[self.inputs] += seed;
            }
        });
    }
}

#[test]
fn a_model_in_a_few_lines_finds_the_optimum_that_the_engine_finds() {
    let everyone = people(300, 4);
    let group = everyone.filter(|s| s.inputs()[0] == 1.0);
    let problem = Problem::minimise(&everyone, Loss::CrossEntropy)
        .weight_decay(1e-2)
        .subject_to(Requirement::average("group", &group, Loss::CrossEntropy).at_most(0.55))
        .check()
        .unwrap();
    let plain = Plain { inputs: 6, outputs: 2 };
    let engine = Learner::exact().solve(&problem, &Linear::new(6, 2).unwrap().double()).unwrap();
    let own = Learner::exact().solve(&problem, &plain).unwrap();
    assert_eq!((&own.outcome, &engine.outcome), (&Outcome::Converged, &Outcome::Converged));
    // Both are within the learner's tolerance of one optimum.
    assert!((own.objective() - engine.objective()).abs() < 1e-6, "{}", own.objective());
    let (a, b) = (own.multipliers.of(0)[0], engine.multipliers.of(0)[0]);
    assert!((a - b).abs() < 1e-4 * (1.0 + b), "{a} is not {b}");
    // By reference and in a box it is the same model.
    let boxed = Learner::exact().solve(&problem, &Box::new(&plain)).unwrap();
    assert_eq!(boxed.theta, own.theta);
}

#[test]
fn without_a_gradient_by_its_inputs_a_model_is_not_attacked() {
    let everyone = people(60, 4);
    let attack = Attack::pgd(Norm::Linf, Budget::fixed(0.1)).check().unwrap();
    let attacked = everyone.through(Arc::new(attack));
    let problem = Problem::minimise(&everyone, Loss::CrossEntropy)
        .subject_to(Requirement::average("robust", &attacked, Loss::CrossEntropy).at_most(0.9))
        .check()
        .unwrap();
    let learner = Learner::alternating(Adam::new(0.01)).epochs(1);
    let error = learner.solve(&problem, &Plain { inputs: 6, outputs: 2 }).unwrap_err();
    assert!(matches!(error, Error::Setting { .. }), "{error}");
    assert!(error.to_string().contains("no gradient with respect to its inputs"), "{error}");
}
