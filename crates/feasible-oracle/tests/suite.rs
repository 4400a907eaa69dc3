//! The exact learner against Clarabel, and theorems that need a known optimum.

#[path = "../../feasible/tests/common/depth.rs"]
mod depth;

mod convex_oracle;
mod properties;
mod stationarity;
mod theorem3;
