//! Learning under requirements: an objective, average and pointwise constraints, primal-dual
//! learners, and what their multipliers mean.
//!
//! The problem is (P-CSL) of "Probably Approximately Correct Constrained Learning" (Chamon and
//! Ribeiro, NeurIPS 2020):
//!
//! $$ \begin{aligned}
//! \underset{\theta}{\text{minimise}} \quad
//!     & \mathbb{E}_{\mathfrak{D}_0}\big[\ell_0(f_\theta(x), y)\big] \\\\
//! \text{subject to} \quad
//!     & \mathbb{E}_{\mathfrak{D}_i}\big[\ell_i(f_\theta(x), y)\big] \le c_i
//!       && \text{on average, multiplier } \mu_i \ge 0 \\\\
//!     & \ell_j(f_\theta(x), y) \le c_j \;\; \mathfrak{D}_j\text{-almost everywhere}
//!       && \text{pointwise, multipliers } \lambda_{j,n} \ge 0
//! \end{aligned} $$
//!
//! Three words carry the crate, and are kept apart everywhere:
//!
//! - a [`Population`] 𝔇: whose samples, and through which view of x (itself, a subset, a
//!   counterfactual ρ(x), an x + δ chosen against the model);
//! - a [`Loss`] ℓ: a function of the model's outputs and of y, never of the model;
//! - a limit c.
//!
//! # A problem stated and solved
//!
//! ```
//! use feasible::{
//!     Dual, Inputs, Learner, Loss, Population, Problem, Requirement, Samples, Targets, rho,
//! };
//! use feasible_nn::{Activation, Adam, Mlp};
//!
//! fn main() -> Result<(), feasible::Error> {
//!     // Years of experience and whether the applicant is a man; were they hired?
//!     let x = vec![1., 0., 2., 1., 3., 0., 4., 1., 5., 0., 6., 1., 7., 0., 8., 1.];
//!     let hired = vec![0, 0, 0, 1, 0, 1, 1, 1];
//!     let everyone = Population::new(Samples::new(Inputs::new(x, 2)?, Targets::Classes(hired))?);
//!     let other_sex = everyone.counterfactual(rho::flip(1))?;
//!     let women = everyone.filter(|s| s.inputs()[1] == 0.0);
//!
//!     let problem = Problem::minimise(&everyone, Loss::CrossEntropy)
//!         .subject_to(Requirement::pointwise("sex is irrelevant", &other_sex, Loss::Kl).at_most(1e-3))
//!         .subject_to(Requirement::average("women's loss", &women, Loss::CrossEntropy).at_most(0.5))
//!         .check()?;
//!     let model = Mlp::new(&[2, 8, 2], Activation::Tanh)?;
//!     let learner = Learner::alternating(Adam::new(0.02)).dual(Dual::adam(0.05)).epochs(1000);
//!     let learner = learner.keep_best().seed(1);
//!     let solution = learner.solve(&problem, &model)?;
//!
//!     println!("{}; objective {:.3}", solution.outcome, solution.objective());
//!     for r in &solution.requirements {
//!         println!("{}: worst violation {:+.4}, multiplier {:.3}", r.name, r.worst_violation, r.multiplier);
//!     }
//!     println!("hardest applicants: {:.3?}", solution.multipliers.of(0));
//!     Ok(())
//! }
//! ```
//!
//! # How it works
//!
//! Losses act on outputs, so the empirical Lagrangian
//!
//! $$ \hat L(\theta, \mu, \lambda) = \frac{1}{N_0} \sum_n \ell_0
//!    + \sum_i \mu_i \Big[ \frac{1}{N_i} \sum_n \ell_i - c_i \Big]
//!    + \sum_j \frac{1}{N_j} \sum_n \lambda_{j,n} \big( \ell_j - c_j \big) $$
//!
//! needs only two things from a [`Model`]: outputs for a batch, and the product of its Jacobian
//! with a matrix of output gradients. Everything here is therefore plain Rust on small matrices;
//! models plug in from `feasible-nn` or from elsewhere. A [`Learner`] minimises over θ and moves the
//! multipliers by their violations ℓ − c with a [`Dual`] optimiser:
//!
//! | learner | θ | multipliers |
//! | --- | --- | --- |
//! | [`Learner::exact`] | minimises L̂ to a measured tolerance ρ | then one step (Algorithm 1) |
//! | [`Learner::alternating`] | one epoch of a first-order optimiser | then one step |
//! | [`Learner::simultaneous`] | one batch | a step with every batch |
//!
//! The result is one deterministic model, never a mixture, with its multipliers, violations, duality
//! gap and KKT residuals ([`Solution`]), and how training ended as a value ([`Outcome`]).
//!
//! A [`certificate`] states what held-out rows prove about the population; a [`monitor`] states what they prove table
//! after table, for as long as a model is in use; what the paper's theorems give is
//! in [`theory`].
//!
//! # What is promised
//!
//! - **Scale.** λ multiplies (1/N) Σ λ(ℓ − c), consistently in the gradient, in every reported value and in the
//!   residuals.
//! - **Determinism.** Same seed, same binary, same processor kind: the same bits for any number of
//!   threads, after any interruption, and whatever order the rows are stored in (λ follows the
//!   sample's id).
//! - **No surprises.** Bad input is a typed [`Error`] before any training; nothing prints.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

// Of the repository, not of the package.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Overview;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/certificates.md")]
struct Certificates;

pub mod adaptive;
pub mod adversary;
pub mod aligned;
pub mod certificate;
pub mod check;
mod dedup;
mod denormals;
pub mod dual;
mod erased;
pub mod error;
pub mod inputs;
#[doc(hidden)]
pub mod internals;
pub mod json;
mod lagrangian;
pub mod learner;
pub mod limit;
pub mod loss;
pub mod measurement;
pub mod model;
pub mod monitor;
pub mod multiplier;
pub mod optimality;
pub mod optimiser;
pub mod outcome;
mod point_losses;
pub mod population;
pub mod price;
pub mod problem;
mod real;
pub mod reduce;
pub mod requirement;
pub mod rho;
pub mod row_model;
mod row_offsets;
pub mod samples;
pub mod schedule;
pub mod sensitivity;
pub mod shift;
pub mod solution;
mod source;
pub mod stationarity;
pub mod stream;
mod sums;
pub mod theory;
mod vectors;

pub use adaptive::{Adaptive, Probe, TrainingPlace};
pub use denormals::FlushDenormals;
pub use dual::{Dual, DualMethod, Scaling};
pub use error::{Error, Result};
pub use inputs::{Inputs, InputsBuilder};
pub use lagrangian::OutputLagrangian;
pub use learner::{EpochReport, Learner, State, Training};
pub use loss::Loss;
pub use measurement::{Measurement, Standing};
pub use model::{Batch, Mode, Model, Pass, ViewShift};
pub use multiplier::Multipliers;
pub use optimality::{Gap, Kkt, Optimality};
pub use optimiser::{Optimiser, OptimiserState};
pub use outcome::Outcome;
pub use population::{Population, View};
pub use problem::{Problem, ProblemDraft};
pub use real::Real;
pub use reduce::Reduce;
pub use requirement::{Kind, Requirement};
pub use samples::{Samples, Target, Targets, Vectors};
pub use schedule::Schedule;
pub use shift::{Moves, Shift, ShiftBuilder};
pub use solution::Solution;
pub use stream::{Purpose, Stream};
