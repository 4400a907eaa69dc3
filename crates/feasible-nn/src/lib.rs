//! The native engine of Feasible.

mod activation;
mod affine;
mod first_layer;
mod initial;
pub mod kernel;
mod layout;
mod mlp;
mod optimiser;
mod shape;
mod simd;

pub use activation::Activation;
pub use affine::Affine;
pub use layout::Tensor;
pub use mlp::Mlp;
pub use optimiser::{Adam, AdamW, Sgd};
pub use simd::Level;
