//! The adversary: a view x + δ of a population, δ chosen in a ball to make the model err,
//!
//! $$ \delta^\star(x, y) \approx \arg\max_{\|\delta\| \le \varepsilon,\; x + \delta \in [0, 1]^d}
//!    \ell_{\text{attack}}\big(f_\theta(x + \delta), y\big) , $$
//!
//! by projected gradient ascent (PGD; Madry et al., 2018), of which the fast gradient sign method
//! (Goodfellow et al., 2015) is one step from x. ε is fixed or drawn from a prior ([`Budget`]). A requirement on
//! such a view speaks of the population the paper writes as (x + δ, y).
//!
//! - The model is asked in evaluation mode and never changed: no parameter gradients, no statistics.
//! - δ is a constant of the Lagrangian; see [`adaptive`](crate::adaptive).
//! - Random numbers come from the seed, the epoch, the sample's id and the restart, so that δ does not
//!   depend on the batch a sample is in, on threads, or on where a run was resumed.
//!
//! ```
//! use std::sync::Arc;
//! use feasible::adversary::{Attack, Budget, Norm};
//! use feasible::{Inputs, Population, Samples, Targets};
//! let images = Inputs::dense(vec![0.2, 0.9, 0.7, 0.1], 2)?;
//! let clean = Population::new(Samples::new(images, Targets::Classes(vec![0, 1]))?);
//! let attack = Attack::pgd(Norm::Linf, Budget::fixed(0.04)).check()?;
//! let attacked = clean.through(Arc::new(attack));
//! # Ok::<(), feasible::Error>(())
//! ```

mod attack;
mod ball;
mod budget;
mod curve;
mod goal;
mod judge;
mod pgd;

pub use attack::{Adversary, Attack, Bounds, Select};
pub use ball::Norm;
pub use budget::{Budget, Draw, Prior};
pub use curve::{Robustness, robustness};
pub use goal::{Aim, AttackLoss};
pub use judge::Judge;
