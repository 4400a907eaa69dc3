//! The native engine: kernels, gradients, instruction levels, optimisers.
//!
//! One program, since each is linked by itself: `cargo test -p feasible-nn --test suite gradients::` runs one file of it.

#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod case;

mod average;
mod conv_gradients;
mod conv_networks;
mod first_layer;
mod gradients;
mod initial;
mod kernel;
mod levels;
mod optimisers;
mod shortcut;
mod simd;
