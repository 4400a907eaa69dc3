//! The prices of a run's requirements, verified by solving again.
//!
//! For each requirement the problem is solved at c + δ and at c − δ, δ a share of the limit that
//! training works with, starting from the run's own solution and with its own learner, seed and
//! batches; and once more at c. Only solutions that meet every requirement are used: with both sides the first-order price is the straight
//! line through them, and how far the middle is from it, |P(c + δ) − 2 P(c) + P(c − δ)|/2, is curvature where the learner
//! converges (of order δ²) and chance where it does not. A price below that is not resolved. With one side it is the difference to the middle; with
//! none nothing is observed. See [`feasible::price`].

use std::path::Path;

use feasible::price::{Price, solve_from};
use feasible::requirement::Limit;
use feasible::{Measurement, Outcome, Problem};
use feasible_problem::data::sha256;
use feasible_problem::plan::Plan;
use feasible_problem::text::{Align, Grid, Page, short};
use serde::{Deserialize, Serialize};

use crate::directory::RunDirectory;
use crate::error::{Error, Result};
use crate::files::{LADDER, MODEL, SENSITIVITY, json};
use crate::fit::{Observer, reopen};
use crate::interrupt::Interrupt;
use crate::metrics::{EpochMetrics, Event};
use crate::seeds::at_once;
use crate::start::Start;
use crate::storage::{Directory, Storage, failed};

/// `sensitivity.json`: prices, predicted and observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// SHA-256 of the model they are of.
    pub model: String,
    /// δ as a share of the limit that training works with.
    pub share: f64,
    /// The run's objective on the training rows, weight decay included.
    pub objective: f64,
    /// The objective after solving once more at the same limit; `None` if no feasible model was found.
    pub again: Option<f64>,
    /// Every requirement.
    pub prices: Vec<Price>,
}

impl Prices {
    /// How far the objective moves when nothing about the limits does: what training goes on to
    /// gain or lose.
    pub fn drift(&self) -> Option<f64> {
        Some(self.again? - self.objective)
    }

    /// What relaxing the limit changes, where solving again found feasible models.
    pub fn observed(&self, price: &Price) -> Option<f64> {
        price.observed(self.again)
    }

    /// What the straight line through both sides leaves over in the middle.
    pub fn noise(&self, price: &Price) -> Option<f64> {
        Some(0.5 * (price.relaxed? - 2.0 * self.again? + price.stricter?).abs())
    }

    /// What limits the use of an observed price; empty if nothing does.
    pub fn remark(&self, price: &Price) -> &'static str {
        match (self.observed(price), price.relaxed, price.stricter) {
            (None, None, None) => "no feasible side",
            (None, ..) => "one feasible side",
            (Some(_), None, _) => "stricter side alone",
            (Some(_), _, None) => "relaxed side alone",
            (Some(observed), ..) => {
                let size = price.predicted().unwrap_or(0.0).abs().max(observed.abs());
                match self.noise(price) {
                    None => "chance unknown",
                    Some(noise) if size <= noise => "not resolved",
                    Some(_) => "",
                }
            }
        }
    }

    /// As a table for people.
    pub fn to_text(&self) -> String {
        self.text_on(&Page::default())
    }

    /// The same, laid out for a page.
    pub fn text_on(&self, page: &Page) -> String {
        let mut text = format!(
            "Prices: the change of the objective when a limit is relaxed by {} %, predicted by the \
             multiplier and observed by re-solving\n\n",
            short(100.0 * self.share)
        );
        let mut grid = Grid::new().ranked(&[0, 2, 3, 0, 0, 1, 0]);
        let head = ["requirement", "multiplier", "δ", "predicted", "observed", "±", ""];
        grid.row(head.map(String::from));
        let or_none = |x: Option<f64>| x.map_or("–".into(), short);
        for price in &self.prices {
            grid.row([
                price.requirement.clone(),
                or_none(price.multiplier),
                short(price.delta),
                or_none(price.predicted()),
                or_none(self.observed(price)),
                or_none(self.noise(price)),
                self.remark(price).into(),
            ]);
        }
        text += &grid.on(page, &[Align::Left, Align::Right]);
        text += "\n± is the distance of the objective at the limit itself from the mean of both sides: a \
                 smaller price is not resolved.\n";
        if self.prices.iter().any(|p| p.relaxed.is_none() || p.stricter.is_none()) {
            text += "Only models that meet every requirement count. Where one was found on one side alone, the difference \
                     between that side and the limit itself is shown.\n";
        }
        if let Some(drift) = self.drift() {
            text += &format!(
                "Re-solving at the same limit moves the objective by {}; this affects both sides alike and is not \
                 part of a price.\n",
                short(drift)
            );
        }
        if self.prices.iter().any(|price| price.multiplier.is_none()) {
            text += "Nothing is predicted where the gradients do not determine a multiplier, or where a rate is limited: \
                     the gradients are those of its surrogate.\n";
        }
        text
    }
}

/// A limit to solve again at.
struct Job {
    clause: usize,
    by: f64,
}

/// Verifies the prices of a finished run and writes `sensitivity.json` beside it.
///
/// # Errors
/// A directory that is no finished run, data that have changed, an interruption.
pub fn check_prices(
    directory: &Path,
    share: f64,
    workers: usize,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<Prices> {
    if !(share > 0.0 && share < 1.0) {
        return Err(Error::unfit("--delta", format!("{share} is not a share between 0 and 1")));
    }
    let location = directory.display().to_string();
    let run = RunDirectory::new(directory);
    if run.has(LADDER) {
        let reason = "it holds a ladder: name one of its rung-… directories";
        return Err(Error::unfit(location, reason));
    }
    let (plan, _) = reopen(&location, None, &|name| run.read(name))?;
    let start = Start::open(directory, plan.train(), "this run")?;
    let summary = run.summary()?;
    let model = sha256(&run.read(MODEL)?.unwrap_or_default());
    let measurement = plan.train().measure(plan.model(), &start.theta)?;
    let jobs = jobs(plan.train(), &measurement, share);
    let each: Vec<usize> = (0..jobs.len()).collect();
    let objectives = at_once(&each, plan.at_once(workers), |at| {
        objective(&plan, &start, &jobs[at], interrupt, observer)
    })?;
    let again = objectives.first().copied().flatten();
    let pairs = objectives.get(1..).unwrap_or_default().chunks_exact(2);
    let price = |(clause, pair): (usize, &[Option<f64>])| Price {
        requirement: plan.train().requirements()[clause].name().to_string(),
        multiplier: summary.as_ref().and_then(|summary| summary.price(clause)),
        delta: jobs[1 + 2 * clause].by,
        relaxed: pair[0],
        stricter: pair[1],
    };
    let prices = pairs.enumerate().map(price).collect();
    let prices = Prices { model, share, objective: measurement.value(), again, prices };
    let storage = Directory::open(directory)?;
    let written = storage.write(SENSITIVITY, &json(&prices));
    written.map_err(failed("write", &storage, SENSITIVITY))?;
    Ok(prices)
}

/// Once more as it is, then each requirement relaxed and stricter.
fn jobs(problem: &Problem, measurement: &Measurement, share: f64) -> Vec<Job> {
    let mut jobs = vec![Job { clause: 0, by: 0.0 }];
    let rows = problem.requirements().iter().zip(&measurement.violations).enumerate();
    for (clause, (requirement, violations)) in rows {
        let limit = match requirement.limit() {
            Limit::Common(c) => *c,
            Limit::PerPoint(limits) => limits.iter().sum::<f64>() / limits.len().max(1) as f64,
        };
        // The limit that training works with; a limit of 0 has no share of its own.
        let trained = (limit.abs() - violations.margin).abs();
        let delta = share * if trained > 0.0 { trained } else { 1e-3 };
        jobs.extend([Job { clause, by: delta }, Job { clause, by: -delta }]);
    }
    jobs
}

/// The objective after solving with one limit moved, if the solution meets every requirement.
fn objective(
    plan: &Plan,
    from: &Start,
    job: &Job,
    interrupt: &Interrupt,
    observer: Observer<'_>,
) -> Result<Option<f64>> {
    let seed = plan.seed();
    let plan = if job.by == 0.0 { plan.clone() } else { plan.relaxed(job.clause, job.by)? };
    let epochs = plan.settings().training.epochs;
    observer(&Event::Started { seed, epoch: 0, epochs });
    let start = (&from.theta[..], &from.multipliers);
    let learner = plan.learner(seed);
    let solved = solve_from(&learner, plan.train(), plan.model(), start, |report| {
        let metrics = Box::new(EpochMetrics::new(report));
        observer(&Event::Epoch { seed, epochs, metrics });
        !interrupt.is_raised()
    })?;
    if solved.outcome == Outcome::Interrupted {
        return Err(Error::unfit("--check-sensitivity", "it was interrupted"));
    }
    observer(&Event::Ended { seed, ended: solved.outcome.to_string() });
    Ok(solved.is_feasible().then(|| solved.objective()))
}
