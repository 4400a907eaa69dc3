//! Working on rows that are alike once changes nothing but the order of sums.

use std::sync::Arc;

use feasible::internals::{Lagrangian, Selection};
use feasible::{
    Batch, Inputs, Loss, Model, Multipliers, Pass, Population, Problem, Purpose, Requirement,
    Samples, Stream, Targets, rho,
};

/// f(x) = Wx of two outputs, W = θ, in the plainest way.
struct Plain(usize);

impl Plain {
    fn each(&self, batch: &Batch<'_>, mut f: impl FnMut(usize, &[f32])) {
        let mut x = vec![0.0; self.0];
        for view in 0..batch.views() {
            for r in 0..batch.rows.len() {
                batch.write_input(view, r, &mut x);
                f(view * batch.rows.len() + r, &x);
            }
        }
    }
}

impl Model for Plain {
    type Real = f64;
    type Tape = ();
    fn input_width(&self) -> usize {
        self.0
    }
    fn output_width(&self) -> usize {
        2
    }
    fn parameter_count(&self) -> usize {
        2 * self.0
    }
    fn initial(&self, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, Purpose::Shuffle, 0, 0);
        (0..2 * self.0).map(|_| 4.0 * stream.uniform() - 2.0).collect()
    }
    fn forward(&self, theta: &[f64], batch: &Batch<'_>, _: Pass, (): &mut (), outputs: &mut [f64]) {
        self.each(batch, |at, x| {
            for o in 0..2 {
                let w = &theta[o * self.0..][..self.0];
                outputs[2 * at + o] = x.iter().zip(w).map(|(&x, w)| f64::from(x) * w).sum();
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
        self.each(batch, |at, x| {
            for o in 0..2 {
                for (g, &x) in gradient[o * self.0..][..self.0].iter_mut().zip(x) {
                    *g += seeds[2 * at + o] * f64::from(x);
                }
            }
        });
    }
}

const WIDTH: usize = 7;

/// People of a few kinds: `columns` indicators, and a group that is not among the inputs.
fn everyone(columns: u32) -> (Population, Vec<bool>) {
    let mut stream = Stream::new(3, Purpose::Shuffle, 0, 0);
    let (mut x, mut y, mut group) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..900 {
        let on = stream.below(columns) as usize;
        x.extend((0..WIDTH).map(|c| f32::from(u8::from(c == on || c == 0))));
        y.push(stream.below(2));
        group.push(stream.below(3) > 0);
    }
    let samples = Samples::new(Inputs::new(x, WIDTH).unwrap(), Targets::Classes(y)).unwrap();
    (Population::new(samples), group)
}

/// Average and pointwise requirements, on everyone and on a group, between views and not, measured
/// by their own loss and by another.
fn problem(columns: u32, swaps: &[(usize, usize)]) -> Problem {
    let (everyone, group) = everyone(columns);
    let some = everyone.subset(&group).unwrap();
    let flipped = everyone.counterfactual(rho::flip(6)).unwrap();
    let mut draft = Problem::minimise(&everyone, Loss::CrossEntropy)
        .subject_to(Requirement::pointwise("each", &flipped, Loss::Kl).at_most(1e-3))
        .subject_to(
            Requirement::average("error", &some, Loss::SmoothedError)
                .measured_by(Loss::Error)
                .at_most(0.2),
        );
    for (i, &(a, b)) in swaps.iter().enumerate() {
        let of = if i % 2 == 0 { &everyone } else { &some };
        let swapped = of.counterfactual(rho::swap(a, b)).unwrap();
        draft = draft.subject_to(
            Requirement::average(format!("swap {i}"), &swapped, Loss::Kl)
                .measured_by(Loss::Flip)
                .at_most(1e-3),
        );
    }
    draft.check().unwrap()
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * (1.0 + a.abs()), "{a} {b}");
}

fn agree(problem: &Problem, pooled: bool) {
    let model = Arc::new(Plain(WIDTH));
    let theta = model.initial(1);
    let mut values: Vec<Vec<f64>> = Vec::new();
    for requirement in problem.requirements() {
        let n = requirement.multipliers();
        values.push((0..n).map(|i| [0.0, 1.5, 0.25, 3.0][i % 4] + n as f64 / 500.0).collect());
    }
    let multipliers = Multipliers::new(problem, values).unwrap();
    let mut plain = Lagrangian::new(problem, model.clone(), 1, 0).unwrap();
    let mut sharing = Lagrangian::new(problem, model.clone(), 1, 0).unwrap().sharing();
    assert!(sharing.dedup(0).is_some());
    assert_eq!(sharing.dedup(0).is_some_and(|d| d.pool.is_some()), pooled);
    let (a, b) = (plain.measure(&theta), sharing.measure(&theta));
    close(a.objective, b.objective);
    for (a, b) in a.violations.iter().zip(&b.violations) {
        a.measured.iter().zip(&b.measured).for_each(|(&a, &b)| close(a, b));
        assert_eq!(a.surrogate.is_some(), b.surrogate.is_some());
        for (a, b) in a.surrogate.iter().flatten().zip(b.surrogate.iter().flatten()) {
            close(*a, *b);
        }
    }
    let full = plain.full_gradient(&theta, &multipliers).to_vec();
    let found = sharing.full_gradient(&theta, &multipliers);
    full.iter().zip(found).for_each(|(&a, &b)| close(a, b));
    let rows: Vec<u32> = (0..300).map(|i| i * 3 % 900).collect();
    let batch = [Selection { rows: &rows, scale: 3.0, whole: false }];
    let (mut violations, mut shared) = (Vec::new(), Vec::new());
    let full =
        plain.gradient_and_violations(&theta, &batch, &multipliers, &mut violations).to_vec();
    let found = sharing.gradient_and_violations(&theta, &batch, &multipliers, &mut shared);
    full.iter().zip(found).for_each(|(&a, &b)| close(a, b));
    let key = |&(i, n, _): &(usize, usize, f64)| (i, n);
    violations.sort_by_key(key);
    shared.sort_by_key(key);
    assert_eq!(violations.len(), shared.len());
    for (a, b) in violations.iter().zip(&shared) {
        assert_eq!(key(a), key(b));
        close(a.2, b.2);
    }
}

#[test]
fn sharing_the_work_of_like_rows_changes_only_the_order_of_sums() {
    agree(&problem(7, &[]), false);
}

#[test]
fn sharing_the_work_of_like_inputs_changes_only_the_order_of_sums() {
    agree(&problem(3, &[(1, 2), (0, 1), (1, 2), (0, 2), (4, 5)]), true);
}

/// Steps ask for no view that weighs nothing; asked for values, a pass asks for all of them.
fn leave_out(problem: &Problem) {
    let model = Arc::new(Plain(WIDTH));
    let theta = model.initial(1);
    let mut plain = Lagrangian::new(problem, model.clone(), 1, 0).unwrap();
    let mut sharing = Lagrangian::new(problem, model.clone(), 1, 0).unwrap().sharing();
    let rows: Vec<u32> = (0..300).map(|i| i * 3 % 900).collect();
    let batch = [Selection { rows: &rows, scale: 3.0, whole: false }];
    // Other multipliers are 0 each time, and sometimes all of a requirement's.
    for step in 0..40 {
        let values = problem.requirements().iter().enumerate().map(|(r, requirement)| {
            let each = |n: usize| if (n + step).is_multiple_of(4) { 2.5 } else { 0.0 };
            let zero = (r + step / 3).is_multiple_of(3);
            (0..requirement.multipliers()).map(|n| if zero { 0.0 } else { each(n) }).collect()
        });
        let multipliers = Multipliers::new(problem, values.collect()).unwrap();
        let mut violations = Vec::new();
        let all =
            plain.gradient_and_violations(&theta, &batch, &multipliers, &mut violations).to_vec();
        for lagrangian in [&mut plain, &mut sharing] {
            let found = lagrangian.gradient(&theta, &batch, &multipliers);
            all.iter().zip(found).for_each(|(&a, &b)| close(a, b));
        }
    }
}

#[test]
fn views_that_weigh_nothing_can_be_left_out() {
    leave_out(&problem(7, &[]));
    leave_out(&problem(3, &[(1, 2), (0, 1), (1, 2), (0, 2), (4, 5)]));
}
