//! The native CPU engine of Feasible: dense and convolutional models, primal optimisers and the SIMD kernels under
//! them.
//!
//! A model is a parametrisation $f_\theta: \mathbb{R}^d \to \mathbb{R}^k$ behind
//! [`feasible::Model`]: outputs for every view of a batch, and the products of its Jacobian with a
//! matrix of seeds, to θ and to the inputs. θ is one flat slice; `layout()` of each model
//! names the tensors in it.
//!
//! | model | f_θ(x) | start |
//! | --- | --- | --- |
//! | [`Linear`] | Wᵀx + b | 0 (convex) |
//! | [`KernelExpansion`] | Σ θ_m κ(x, z_m) + b | 0 (convex) |
//! | [`ConvNet`] | layers φ(norm(w ∗ x) + shortcut), poolings, linear | He's, seeded |
//! | [`Mlp`] | W_L φ(… φ(W₁ᵀx + b₁) …) + b_L | uniform ±1/√fan-in, seeded |
//!
//! Optimisers: [`Sgd`], [`Adam`], [`AdamW`], with PyTorch's definitions.
//!
//! Models compute in `f32`; `double()` gives the same model in `f64`, for convex problems to many
//! digits and for tests. They allocate nothing once their tape has grown, and give the same bits for
//! the same batch. Dense models run on the calling thread (whoever wants threads splits the batch);
//! convolutional ones spread the images over the pool they are called in.
//! Bits are the same between runs on one [`Level`], not between levels, which round differently.
//!
//! # One step of training
//!
//! Logistic regression by hand: outputs, seeds, gradient, step.
//!
//! ```
//! use feasible::{Batch, Inputs, Model, Optimiser, OptimiserState, Pass};
//! use feasible_nn::{Adam, Linear};
//!
//! // y = 1 exactly when the second column is on.
//! let x = Inputs::new(vec![0.5, 1.0, -1.0, 0.0, 0.25, 1.0, 2.0, 0.0], 2)?;
//! let y = [1.0, 0.0, 1.0, 0.0];
//! let batch = Batch { inputs: &x, rows: &[0, 1, 2, 3], shifts: &[] };
//!
//! let model = Linear::new(2, 1)?;
//! let adam = Adam::new(0.1);
//! let mut theta = model.initial(0);
//! let mut state = OptimiserState::new(2, theta.len());
//! let mut tape = Default::default();
//! let mut outputs = [0.0; 4];
//! for _ in 0..200 {
//!     model.forward(&theta, &batch, Pass::default(), &mut tape, &mut outputs);
//!     // The derivative of ln(1 + e^{f}) − y f is σ(f) − y.
//!     let seeds: Vec<f32> =
//!         outputs.iter().zip(y).map(|(f, y)| 1.0 / (1.0 + (-f).exp()) - y).collect();
//!     let mut gradient = vec![0.0; theta.len()];
//!     model.backward(&theta, &batch, &mut tape, &seeds, &mut gradient);
//!     adam.step(0.0, &mut state, &mut theta, &gradient);
//! }
//! assert!(model.outputs(&theta, &batch).iter().zip(y).all(|(f, y)| (*f > 0.0) == (y == 1.0)));
//! # Ok::<(), feasible::Error>(())
//! ```
//!
//! # Speed
//!
//! Indicators are rows of the first weights that are added, never zeros that are multiplied; a
//! counterfactual that changes one column costs one more row; the first layer, its views and the
//! activation are one pass, and so is the way back through a network with one hidden layer.
//! Kernels are compiled for AVX-512, AVX2 and any machine, and chosen when the program runs.
//! `cargo run --release -p feasible-nn --example step_time` measures them.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod activation;
mod average;
pub mod conv;
mod first_layer;
mod initial;
#[doc(hidden)]
pub mod internals;
pub mod kernel;
pub mod kernel_expansion;
mod layout;
pub mod linear;
pub mod mlp;
pub mod optimiser;
mod shape;
pub mod shortcut;
mod simd;

pub use activation::Activation;
pub use conv::ConvNet;
pub use kernel_expansion::{Kernel, KernelExpansion};
pub use layout::Tensor;
pub use linear::Linear;
pub use mlp::Mlp;
pub use optimiser::{Adam, AdamW, Sgd};
pub use shortcut::Shortcut;
pub use simd::Level;
