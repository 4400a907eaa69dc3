//! Tables and a yardstick for measuring Feasible's kernels.
//!
//! The benchmarks are `benches/kernels`; the fixed work whose instructions are counted is
//! `src/bin/fixed_work.rs`, which `bench/instructions` runs.

pub mod aligned;
pub mod peak;
pub mod tables;
