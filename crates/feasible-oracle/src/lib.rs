//! An independent judge for convex problems: the same problem built twice from raw matrices,
//! once for Feasible and once as a conic program for Clarabel.
//!
//! Nothing here calls Feasible's losses, models or Lagrangian. A [`Program`] is
//!
//! ```text
//! minimise    (1/N₀) Σ φ₀(uₙ(θ)) + α/2 ‖θ‖²
//! subject to  (1/Nᵢ) Σ φᵢ(uₙ(θ)) ≤ cᵢ       or       φⱼ(uₙ(θ)) ≤ cⱼₙ for every n,
//! ```
//!
//! with uₙ affine in θ and φ one of four convex [`Curve`]s, which is all that squared, Huber,
//! logistic, softmax and squared hinge losses and squared distances of outputs need.
#![allow(missing_docs, reason = "only tests use this crate")]

mod conic;
mod curve;
mod generate;
mod machine;
mod program;
mod random;
mod raw;
mod shapes;

pub use conic::{Verdict, least_violation, solve};
pub use curve::Curve;
pub use generate::{Family, Instance, instance};
pub use machine::{Machine, Regression};
pub use program::{Kkt, Point, Program, Rows, Scope};
pub use random::{Random, grid};
pub use raw::{Features, Raw};
pub use shapes::{Shape, Shaped, measured, shaped};
