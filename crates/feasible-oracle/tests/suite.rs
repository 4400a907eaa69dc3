//! The exact learner against Clarabel, and theorems that need a known optimum.

mod convex_oracle;
mod properties;
mod theorem3;
