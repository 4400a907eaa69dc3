//! The native engine: gradients, instruction levels, optimisers.
//!
//! One program, since each is linked by itself: `cargo test -p feasible-nn --test suite gradients::` runs one file of it.

#![allow(clippy::unwrap_used, reason = "a test may stop")]

mod case;

mod conv_gradients;
mod conv_networks;
mod gradients;
mod levels;
mod optimisers;
