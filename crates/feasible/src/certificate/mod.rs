//! What held-out rows prove about requirements on the population.
//!
//! A requirement met by the rows of a sample may fail on the population. Rows that were not used to
//! train, to select or to calibrate the model are independent of it, so that classical bounds apply, exactly
//! and whatever the distribution: with probability at least 1 − δ over their draw,
//!
//! $$ \mathbb{E}_{\mathfrak{D}_i}[\ell_i] \le U_i \quad \text{for average requirements} , \qquad
//!    \Pr_{\mathfrak{D}_j}[\ell_j > c_j] \le U_j \quad \text{for pointwise ones.} $$
//!
//! The second is the paper's "for all but ε of the population". A requirement is
//!
//! | verdict | if |
//! | --- | --- |
//! | [CERTIFIED](Verdict::Certified) | the bound is on the right side of the limit |
//! | [MET](Verdict::Met) | it holds in the sample, but the bound is not |
//! | [VIOLATED](Verdict::Violated) | the bound from the other side is on the wrong side of the limit |
//! | [OPEN](Verdict::Open) | none of these |
//!
//! ```
//! use feasible::certificate::{
//!     Certificate, Claim, Count, Delta, Evidence, RowsNeeded, Simultaneous, Verdict,
//! };
//! use feasible::requirement::Sense;
//! let claim = |name: &str, hits, limit| -> Result<Claim, feasible::Error> {
//!     Ok(Claim {
//!         name: name.into(),
//!         subject: "the error rate".into(),
//!         sense: Sense::AtMost,
//!         limit,
//!         evidence: Some(Evidence::Share(Count::new(hits, 1000)?)),
//!     })
//! };
//! let claims = [claim("young", 71, 0.1)?, claim("old", 95, 0.1)?, claim("rich", 160, 0.1)?];
//! let certificate = Certificate::new(&claims, Delta::confidence(0.95)?, Simultaneous::Holm);
//! let verdicts: Vec<Verdict> = certificate.findings.iter().map(|f| f.verdict).collect();
//! assert_eq!(verdicts, [Verdict::Certified, Verdict::Met, Verdict::Violated]);
//! let needed = certificate.findings[1].rows_needed;
//! assert!(matches!(needed, Some(RowsNeeded::About(14_000..15_000))), "{needed:?}");
//! # Ok::<(), feasible::Error>(())
//! ```
//!
//! The bounds:
//!
//! | for | bound | |
//! | --- | --- | --- |
//! | shares of rows | Clopper-Pearson | [`Count`] |
//! | means of losses in [0, B] | Hoeffding, empirical Bernstein, Hoeffding-Bentkus, betting | [`Values`], [`Method`] |
//! | means of losses without an upper bound | those of min(ℓ, B); never CERTIFIED to be at most c | [`Unbounded`] |
//! | differences of shares | exact unconditional, betting, or δ split in two | [`Difference`] |
//! | differences of means | betting | [`Contrast`] |
//! | several requirements, each | Bonferroni, Holm | [`Simultaneous`] |
//! | several requirements, all of them | intersection-union | [`Certificate::all_hold`] |
//! | several models | fixed sequence | [`fixed_sequence`] |
//! | rows that come in units | as above, of units | [`Design::claims_by_unit`] |
//! | other populations | a change of measure, or of base rates | [`StillTrue`], [`ByClass`] |
//!
//! [`Design`] holds all that is decided in advance and applies it to a problem and a model.

mod bentkus;
mod bernstein;
mod betting;
pub(crate) mod binomial;
mod claim;
mod contrast;
mod count;
mod delta;
mod difference;
mod evidence;
mod family;
mod hoeffding;
mod observe;
mod room;
mod rows_needed;
mod searched;
mod sequence;
mod shift;
mod unbounded;
mod unconditional;
mod units;
mod values;

pub use claim::{Claim, Verdict};
pub use contrast::Contrast;
pub use count::Count;
pub use delta::Delta;
pub use difference::Difference;
pub use evidence::Evidence;
pub use family::{Certificate, Finding, Simultaneous};
pub use observe::Design;
pub use room::{attainable_rate, fewest_rows};
pub use rows_needed::{MOST_ROWS, RowsNeeded, rows_for_rate};
pub use sequence::fixed_sequence;
pub use shift::{BaseRate, ByClass, StillTrue};
pub use unbounded::{Clipped, ClippedFinding, Unbounded};
pub use values::{Method, Values};
