//! The paper's own bounds, as a calculator.
//!
//! | what | statement | function |
//! | --- | --- | --- |
//! | ζ(N) and its inverse | Proposition 3 (appendix B) | [`zeta`], [`rows_for`] |
//! | sample complexity ζ⁻¹(ε, δ, d) | Theorem 1, up to its constant C | [`sample_complexity`] |
//! | ε₀ = (1 + ‖μ‖₁ + ‖λ‖₁) M ν | Theorem 2 | [`approximation_error`] |
//! | S, U₀, T, and the interval of the Lagrangian | Theorem 3, the quantitative one of the appendix | [`Neighbourhood`] |
//! | VC dimensions | Bartlett and others (2019), Anthony and Bartlett (1999) | [`dimension`] |
//!
//! They hold for *every* model of a class at once, trained on the very rows, and for any distribution. That
//! is much to ask: for networks of practical size they exceed the bound B of the loss, which every model
//! meets. Such a bound is [vacuous](is_vacuous) and is called so wherever it is printed.
//! [Certificates](crate::certificate) are about one model, need separate rows, and are sharp.
//!
//! ```
//! use feasible::certificate::Delta;
//! use feasible::theory::{dimension, is_vacuous, rows_for, zeta};
//! let delta = Delta::confidence(0.95)?;
//! // A linear classifier of 61 columns, one requirement, 32,561 rows: within 15 points of a rate.
//! let linear = dimension::linear(61);
//! assert!((zeta(32_561, linear, 1, delta) - 0.146).abs() < 5e-4);
//! // A network with 64 sigmoids: nothing.
//! let network = dimension::sigmoid(&[61, 64, 1]);
//! assert!(is_vacuous(zeta(32_561, network, 1, delta), 1.0));
//! assert!(rows_for(0.01, linear, 1, delta) > 1e7);
//! # Ok::<(), feasible::Error>(())
//! ```
//! The other bounds of the paper, and of the classes of models it considers:
//!
//! ```
//! use feasible::certificate::Delta;
//! use feasible::theory::{approximation_error, dimension, initial_distance, sample_complexity};
//! let delta = Delta::new(0.05)?;
//! // (d + log 20)/ε² rows, up to a constant.
//! assert!((sample_complexity(0.1, delta, 10.0) - 1299.57).abs() < 0.01);
//! // Margins cost a dimension; ReLU networks need less than sigmoids, and those less than anything with exponentials.
//! let widths = [10, 20, 1];
//! assert!(dimension::linear_margin(10) >= dimension::linear(10) - 1.0);
//! assert!(dimension::piecewise_linear(&widths) < dimension::sigmoid(&widths));
//! assert!(dimension::exponential(&widths) > dimension::piecewise_linear(&widths));
//! assert!(dimension::kernel(50) > dimension::kernel(10));
//! // ‖μ‖₁ = 0.5 and ‖λ‖₁ = 0.5 double the error of a class that approximates to 0.01.
//! assert_eq!(approximation_error(0.5, 0.5, 1.0, 0.01), 0.02);
//! assert_eq!(initial_distance(1.0, &[0.0, 3.0]), 5.0);
//! # Ok::<(), feasible::Error>(())
//! ```

pub mod dimension;
mod estimation;
mod neighbourhood;

pub use estimation::{rows_for, sample_complexity, zeta};
pub use neighbourhood::{Neighbourhood, approximation_error, initial_distance, squared_violations};

/// Whether a bound on the expectation of a loss in [0, B] is vacuous: every model meets it.
pub fn is_vacuous(bound: f64, b: f64) -> bool {
    // NaN says nothing either.
    bound.is_nan() || bound >= b
}
