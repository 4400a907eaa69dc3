//! The models of the test, with features written out a second time.

use std::ops::ControlFlow;

use feasible::stationarity::Stationarity;
use feasible::{EpochReport, Inputs, Learner, Loss, Problem, Solution};
use feasible_nn::{Kernel, KernelExpansion, Linear};

use super::Features;

/// What is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regression {
    /// A number, by one output.
    Number,
    /// One of two classes, by one logit.
    Binary,
    /// One of three classes, by three logits.
    Softmax,
}

impl Regression {
    pub fn outputs(self) -> usize {
        if self == Self::Softmax { 3 } else { 1 }
    }

    /// The loss of the objective.
    pub fn loss(self) -> Loss {
        match self {
            Self::Number => Loss::Squared,
            Self::Binary => Loss::Logistic,
            Self::Softmax => Loss::CrossEntropy,
        }
    }
}

/// A model that is linear in θ.
#[derive(Clone, Debug)]
pub enum Machine {
    /// Wᵀx + b.
    Linear { inputs: usize, outputs: usize },
    /// Σ_m θ_m κ(x, z_m) + b.
    Kernel { centres: Vec<Vec<f64>>, kernel: Kernel, outputs: usize },
}

impl Machine {
    pub fn parameters(&self) -> usize {
        match self {
            Self::Linear { inputs, outputs } => (inputs + 1) * outputs,
            Self::Kernel { centres, outputs, .. } => (centres.len() + 1) * outputs,
        }
    }

    /// What θ is multiplied with, and where it lies in θ: affine weights one row per input,
    /// kernel coefficients one row per output, biases last.
    pub fn features(&self, x: &[Vec<f64>]) -> Features {
        match self {
            Self::Linear { inputs, outputs } => {
                let place = |c| (0..*outputs).map(|j| c * outputs + j).collect();
                let with_one = |x: &Vec<f64>| x.iter().copied().chain([1.0]).collect();
                Features {
                    places: (0..=*inputs).map(place).collect(),
                    rows: x.iter().map(with_one).collect(),
                }
            }
            Self::Kernel { centres, kernel, outputs } => {
                let count = centres.len();
                let weight = |m| (0..*outputs).map(|j| j * count + m).collect();
                let bias = (0..*outputs).map(|j| outputs * count + j).collect();
                let row = |x: &Vec<f64>| {
                    centres.iter().map(|z| kappa(*kernel, x, z)).chain([1.0]).collect()
                };
                Features {
                    places: (0..count).map(weight).chain([bias]).collect(),
                    rows: x.iter().map(row).collect(),
                }
            }
        }
    }

    /// Solves a problem in `f64`.
    pub fn solve(
        &self,
        learner: &Learner<f64>,
        problem: &Problem,
        observer: impl FnMut(&EpochReport) -> ControlFlow<()>,
    ) -> Solution<f64> {
        let solved = match self {
            Self::Linear { inputs, outputs } => {
                let model = Linear::new(*inputs, *outputs).expect("positive widths").double();
                learner.solve_observed(problem, &model, observer)
            }
            Self::Kernel { centres, kernel, outputs } => {
                let model = expansion(centres, *kernel, *outputs).double();
                learner.solve_observed(problem, &model, observer)
            }
        };
        solved.expect("the problem fits the model")
    }

    /// The multipliers that belong to the θ of a solution.
    pub fn stationarity(&self, problem: &Problem, solution: &Solution<f64>) -> Stationarity {
        let (theta, multipliers) = (&solution.theta, &solution.multipliers);
        let found = match self {
            Self::Linear { inputs, outputs } => {
                let model = Linear::new(*inputs, *outputs).expect("positive widths").double();
                problem.stationarity(&model, theta, multipliers, &[])
            }
            Self::Kernel { centres, kernel, outputs } => {
                let model = expansion(centres, *kernel, *outputs).double();
                problem.stationarity(&model, theta, multipliers, &[])
            }
        };
        found.expect("the solution is of this problem")
    }
}

fn expansion(centres: &[Vec<f64>], kernel: Kernel, outputs: usize) -> KernelExpansion {
    let numbers = centres.iter().flatten().map(|&z| z as f32).collect();
    let z = Inputs::dense(numbers, centres[0].len()).expect("finite centres");
    KernelExpansion::new(&z, kernel, outputs).expect("in range")
}

/// κ(x, z), from its definition.
fn kappa(kernel: Kernel, x: &[f64], z: &[f64]) -> f64 {
    let pairs = x.iter().zip(z);
    match kernel {
        Kernel::Rbf { gamma } => (-gamma * pairs.map(|(x, z)| (x - z).powi(2)).sum::<f64>()).exp(),
        Kernel::Polynomial { offset, degree } => {
            (pairs.map(|(x, z)| x * z).sum::<f64>() + offset).powi(degree as i32)
        }
    }
}
