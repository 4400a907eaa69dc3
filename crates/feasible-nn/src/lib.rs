//! The native engine of Feasible.

mod activation;
mod affine;
mod aligned;
mod first_layer;
mod initial;
pub mod kernel;
mod kernel_expansion;
mod layout;
mod mlp;
mod optimiser;
mod shape;
mod simd;

pub use activation::Activation;
pub use affine::Affine;
pub use kernel_expansion::{Kernel, KernelExpansion};
pub use layout::Tensor;
pub use mlp::Mlp;
pub use optimiser::{Adam, AdamW, Sgd};
pub use simd::Level;
