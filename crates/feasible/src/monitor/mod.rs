//! A model in use, watched table by table: verdicts that stay valid however often one looks.
//!
//! A certificate of 95 % is wrong once in twenty; twelve of them, one a month, contain a wrong one in up to 46 %
//! of lives. Here the error is that of the whole life: with probability at least 1 − δ *every* verdict that is
//! ever given is right, whenever one looks, however many tables follow.
//!
//! **What is known of the rows.** Rows of a table are independent draws from the population of its time. The
//! population may change from table to table, in any way, even because of what was seen before. Rows i = 1, 2, …
//! have losses Xᵢ in [a, b] with means pᵢ (equal within a table), and a requirement states p ≤ c.
//!
//! **Capital.** Who bets that losses are small, with a fixed stake 0 < λ < 1/(b − c) on each row, has after N
//! rows the capital on the left; the quotient on the right has expectation 1 at all times (a martingale),
//!
//! $$ K^\lambda_N = \prod_{i \le N} \big(1 + \lambda (c - X_i)\big) , \qquad
//!    M^\lambda_N = \prod_{i \le N} \frac{1 + \lambda (c - X_i)}{1 + \lambda (c - p_i)} . $$
//!
//! The geometric mean is at most the arithmetic one, so that with the average
//! $\bar p_N = \frac1N \sum_{i \le N} p_i$
//!
//! $$ K^\lambda_N \; \big(1 + \lambda (c - \bar p_N)\big)^{-N} \;\le\; M^\lambda_N , $$
//!
//! whatever the pᵢ do. A mixture over stakes, $\sum_g v_g M^{\lambda_g}$ with $\sum_g v_g = 1$, is a martingale
//! too, and by Ville's inequality it *ever* reaches 1/α with probability at most α. Hence, at all times at once
//! with probability 1 − α, the average so far is below the U at which
//!
//! $$ \sum_g v_g \, K^{\lambda_g}_N \big(1 + \lambda_g (c - U_N)\big)^{-N} = \frac1\alpha , $$
//!
//! and U < c exactly if $\sum_g v_g K^{\lambda_g}_N > 1/\alpha$. Bets that losses are large, 1 + λ(X − c), give
//! the lower bound in the same way. For shares these are mixtures of likelihood ratios against the limit. Twenty
//! fixed stakes lose little against the best one, need no order of rows, and make the logarithms of a table's
//! twenty capitals all that has to be kept of it ([`Wealth`]).
//!
//! | verdict | proven |
//! | --- | --- |
//! | [CERTIFIED](MonitorVerdict::Certified) | the average over all tables so far meets the limit: capital since the first table ≥ 1/α |
//! | [DRIFTED](MonitorVerdict::Drifted) | the average over the tables s, …, t violates it: capital from s to t ≥ 1/(α wₛ), for some s ≤ t so far |
//! | [VIOLATED](MonitorVerdict::Violated) | the same of a requirement that was not met when training ended |
//! | [OPEN](MonitorVerdict::Open) | neither; or CERTIFIED is suspended |
//!
//! In a population that does not change the average is the number itself. Starting the bets again at every table,
//! with weights wₛ = 1/(s(s + 1)) that sum to 1, finds a late drift soon although the tables before it were good;
//! DRIFTED is permanent, because it remains true of those tables. CERTIFIED says nothing about the last table alone, so it is
//! *suspended* as soon as the capital over the tables s, …, t, the latest, reaches 1/δ for some s: a test of these
//! tables alone would have found a violation. Suspending takes a verdict away and so cannot make one wrong.
//!
//! **Error.** With m requirements and two verdicts that can be wrong, α = δ/(2m).
//!
//! **Differences of two groups**, p_a − p_b. A table's rows of the larger group are assigned at random to as many
//! blocks as the smaller group has rows; a row minus the mean of its block is a value in [−1, 1] whose
//! mean is the difference in that table, so that base rates may change from table to table. Capitals are averaged over
//! eight deals. "A group against everyone" is (1 − π)(p_a − p_r) with r the rest: bets are against
//! c/(1 − π) for the worst π in an interval that gets a tenth of α ([`Wealth::of_part`]).
//!
//! ```
//! use feasible::certificate::{Count, Delta};
//! use feasible::monitor::{MonitorPlan, MonitorVerdict, Wager, Wealth};
//! use feasible::requirement::Sense;
//! // The error rate must be at most 10 %. Twelve good months, then three bad ones.
//! let (wager, plan) = (Wager::share(0.1), MonitorPlan::new(Delta::confidence(0.95)?, 1));
//! let month = |errors| Ok(Some(Wealth::of_count(Count::new(errors, 500)?, &wager)));
//! let good = vec![25; 12].into_iter().map(month).collect::<Result<Vec<_>, feasible::Error>>()?;
//! let track = plan.judge(Sense::AtMost, &wager, &good);
//! assert_eq!(track.verdict, MonitorVerdict::Certified);
//! assert!(track.upper() < 0.062);
//! let bad = vec![80; 3].into_iter().map(month).collect::<Result<Vec<_>, feasible::Error>>()?;
//! let track = plan.judge(Sense::AtMost, &wager, &[good, bad].concat());
//! assert_eq!(track.verdict, MonitorVerdict::Drifted);
//! // Counted from 0: the average over the bad months exceeds 10 %, which the second of them proved.
//! assert_eq!(track.drift, Some((12, 13)));
//! # Ok::<(), feasible::Error>(())
//! ```
//!
//! What a table shows about a mean, about two groups, and about a group against everyone:
//!
//! ```
//! use feasible::certificate::{Count, Delta, Evidence, Values};
//! use feasible::monitor::{Look, MonitorPlan, MonitorVerdict, Track, Wager, Wealth, Within};
//! use feasible::requirement::Sense;
//! let plan = MonitorPlan::new(Delta::confidence(0.95)?, 2);
//! assert_eq!(plan.alpha().value(), 0.05 / 4.0);
//! let losses = Values::new(vec![0.5; 200], 2.0)?;
//! let mean = Wealth::of_values(&losses, &Wager::mean(1.0, 2.0));
//! assert!(mean.is_whole() && mean.units == 200);
//! let Track { verdict, looks, .. } = plan.judge(Sense::AtMost, &Wager::mean(1.0, 2.0), &[Some(mean)]);
//! assert_eq!(verdict, MonitorVerdict::Certified);
//! let Look { so_far: (low, high), .. } = looks[0];
//! assert!(low < 0.5 && 0.5 < high && high < 1.0);
//!
//! // Selected: 60 of 200 women, 58 of 200 men. Within 20 points: certified. Within 5: open.
//! let (women, men) = (Count::new(60, 200)?, Count::new(58, 200)?);
//! for (limit, verdict) in [(0.2, MonitorVerdict::Certified), (0.05, MonitorVerdict::Open)] {
//!     let wager = Wager::difference(limit, 1.0);
//!     let apart = Wealth::of_counts(women, men, &wager, 7);
//!     assert_eq!(plan.judge(Sense::AtMost, &wager, &[apart.clone()]).verdict, verdict);
//!     assert_eq!(Wealth::of_evidence(&Evidence::Share(women), &Evidence::Share(men), &wager, 7), apart);
//!     // Against everyone: the share of women is not known exactly.
//!     let part = Wealth::of_part(women, men, &wager, (plan.alpha(), 0), 7);
//!     let Some(Within { least, most, .. }) = part.and_then(|wealth| wealth.within) else { continue };
//!     assert!(least < 0.5 && 0.5 < most);
//! }
//! # Ok::<(), feasible::Error>(())
//! ```
//! Sources: Ville (1939); Hoeffding (1963); Robbins (1970) for mixtures; Howard, Ramdas, McAuliffe and Sekhon (2021) for
//! confidence sequences of averages that drift; Shin, Ramdas and Rinaldo (2024) for starting anew; Waudby-Smith
//! and Ramdas (2024) for betting; Ramdas, Grünwald, Vovk and Shafer (2023) for all of it.

pub(crate) mod deal;
mod judge;
mod wager;
mod wealth;

pub use judge::{Look, MonitorPlan, MonitorVerdict, Track};
pub use wager::Wager;
pub use wealth::{Wealth, Within};
