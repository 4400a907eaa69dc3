//! The adversary: a view x + δ of a population, δ chosen in a ball to make the model err,
//!
//! $$ \delta^\star(x, y) \approx \arg\max_{\|\delta\| \le \varepsilon,\; x + \delta \in [0, 1]^d}
//!    \ell_{\text{attack}}\big(f_\theta(x + \delta), y\big) , $$
//!
//! by projected gradient ascent (PGD; Madry et al., 2018), of which the fast gradient sign method
//! (Goodfellow et al., 2015) is one step from x. ε is fixed or drawn from a prior ([`Budget`]). A requirement on
//! such a view is about the population that the paper writes as (x + δ, y).
//!
//! - The model is evaluated in evaluation mode and never changed: no parameter gradients, no statistics.
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
//! ε may be drawn from a prior, an attack may aim at a class or judge a requirement, and the accuracy of a model can be
//! drawn against ε:
//!
//! ```
//! use feasible::adversary::{
//!     Adversary, Aim, Attack, AttackLoss, Bounds, Budget, Draw, Judge, Norm, Prior, Robustness,
//!     Perturbed, Select, perturb, robustness,
//! };
//! use feasible::requirement::Sense;
//! use feasible::{Inputs, Loss, Population, Samples, Targets};
//! use feasible_nn::Linear;
//! let priors = [
//!     Prior::Fixed { epsilon: 0.1 },
//!     Prior::Beta { scale: 0.3, alpha: 2.0, beta: 5.0 },
//!     Prior::Exponential { mean: 0.1 },
//!     Prior::Uniform { low: 0.0, high: 0.2 },
//!     Prior::Discrete { values: vec![0.0, 0.1], weights: vec![1.0, 3.0] },
//! ];
//! for prior in priors {
//!     let per_sample = Budget { prior, draw: Draw::Sample };
//!     Attack::fgsm(Norm::L2, per_sample).check()?;
//! }
//! assert_eq!(Norm::L2.of(&[3.0, 4.0]), 5.0);
//!
//! // Towards class 1, and of all points the one that is worst for a requirement.
//! let attack = Attack {
//!     aim: Aim::Targeted(1),
//!     loss: AttackLoss::Margin,
//!     bounds: Bounds::Within { low: -1.0, high: 1.0 },
//!     select: Select::Worst,
//!     ..Attack::strong(Norm::Linf, Budget::fixed(0.1))
//! };
//! let judge = Judge::new(&Loss::CrossEntropy, &Loss::Error, Sense::AtMost);
//! let adversary: Adversary = attack.check()?.judging(judge.clone())?;
//! assert!(adversary.judge().is_some_and(|own| own.is_same(&judge)));
//!
//! // Class 1 above 0.5: the first row is 0.2 away from it, the second 0.1.
//! let x = Inputs::dense(vec![0.3, 0.6], 1)?;
//! let clean = Population::new(Samples::new(x, Targets::Classes(vec![0, 1]))?);
//! let (model, theta) = (Linear::new(1, 1)?, [10.0, -5.0]);
//! let pgd = Attack { steps: 10, bounds: Bounds::Unit, ..Attack::pgd(Norm::Linf, Budget::fixed(0.1)) };
//! assert_eq!((pgd.aim, pgd.select), (Aim::Untargeted, Select::Last));
//! let epsilons = [0.05, 0.15, 0.25];
//! let curve = robustness(&model, &theta, &clean, &pgd, &epsilons, 0, 1, &mut |_, _| true)?;
//! let accuracies: Vec<f64> = curve.iter().map(Robustness::accuracy).collect();
//! assert_eq!(accuracies, [1.0, 0.5, 0.0]);
//! assert_eq!((curve[1].correct, &curve[1].correct_rows[..]), (1, &[0][..]));
//!
//! // What an attack of 0.15 makes of each row.
//! let attack = Attack { budget: Budget::fixed(0.15), ..pgd };
//! let made: Vec<Perturbed> = perturb(&model, &theta, &clean, &attack, 0, 1, &mut |_| true)?;
//! assert_eq!([made[0].fooled, made[1].fooled], [false, true]);
//! assert!(made[1].row == 1 && made[1].delta[0] < -0.1 && made[1].delta[0] >= -0.15);
//! # Ok::<(), feasible::Error>(())
//! ```

mod attack;
mod ball;
mod budget;
mod curve;
pub(crate) mod goal;
mod judge;
mod pgd;

pub use attack::{Adversary, Attack, Bounds, Select};
pub use ball::Norm;
pub use budget::{Budget, Draw, Prior};
pub use curve::{Perturbed, Robustness, perturb, robustness};
pub use goal::{Aim, AttackLoss};
pub use judge::Judge;
