//! The settings of an attack, and the checked adversary they make.

use serde::{Deserialize, Serialize};

use crate::adversary::ball::Norm;
use crate::adversary::budget::Budget;
use crate::adversary::goal::{Aim, AttackLoss};
use crate::adversary::judge::Judge;
use crate::error::{Error, Result};

/// The most steps of a run, and the most runs: an attack always ends.
const MOST_STEPS: u32 = 10_000;
const MOST_RESTARTS: u32 = 1_000;

/// Where x + δ must lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bounds {
    /// In \[0, 1\]: pixels. ε is then at most 1 in the l∞ ball.
    Unit,
    /// In \[low, high\].
    Within {
        /// The smallest value.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// Anywhere: standardised columns of a table.
    None,
}

/// Which of the points it passes an attack returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Select {
    /// The last one of the only run: what training uses, the cheapest.
    #[default]
    Last,
    /// The worst for the model of x itself and of every point of every run, sample by sample; samples
    /// that are fooled sit out further restarts.
    Worst,
    /// Like `Worst`, but a sample is finished as soon as it is fooled: for measuring accuracy.
    First,
}

/// The settings of an attack; [`Attack::check`] makes an [`Adversary`] of them.
///
/// | setting | default | |
/// | --- | --- | --- |
/// | norm, budget | given | the ball; ε ≥ 0, and ≤ 1 for pixels in l∞ |
/// | steps | 5 | 1 to 10,000 |
/// | step | 1/3 | length of a step in units of ε, > 0, ≤ 1000 |
/// | random start | yes | uniform in the ball; else x |
/// | restarts | 1 | 1 to 1,000; more need `Worst` or `First` |
/// | select | last | see [`Select`] |
/// | loss, aim | cross-entropy, untargeted | |
/// | bounds | \[0, 1\] | |
/// | columns | the numbers | indicators are never changed |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attack {
    /// The norm of the ball.
    pub norm: Norm,
    /// ε.
    pub budget: Budget,
    /// Steps of a run.
    #[serde(default = "five")]
    pub steps: u32,
    /// The length of a step over ε.
    #[serde(default = "third")]
    pub step: f64,
    /// Whether a run starts at a random point.
    #[serde(default = "yes")]
    pub random_start: bool,
    /// Runs.
    #[serde(default = "one")]
    pub restarts: u32,
    /// Which point is returned.
    #[serde(default)]
    pub select: Select,
    /// The loss that is maximised.
    #[serde(default)]
    pub loss: AttackLoss,
    /// Targeted or not.
    #[serde(default)]
    pub aim: Aim,
    /// Where x + δ must lie.
    #[serde(default = "unit")]
    pub bounds: Bounds,
    /// The columns that may change; those stored as numbers if `None`.
    #[serde(default)]
    pub columns: Option<Vec<u32>>,
}

fn five() -> u32 {
    5
}

fn third() -> f64 {
    1.0 / 3.0
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}

fn unit() -> Bounds {
    Bounds::Unit
}

impl Attack {
    /// The training attack of the paper: five steps of ε/3 from a random start.
    pub fn pgd(norm: Norm, budget: impl Into<Budget>) -> Self {
        Self {
            norm,
            budget: budget.into(),
            steps: five(),
            step: third(),
            random_start: true,
            restarts: 1,
            select: Select::Last,
            loss: AttackLoss::CrossEntropy,
            aim: Aim::Untargeted,
            bounds: Bounds::Unit,
            columns: None,
        }
    }

    /// One step of ε from x (FGSM).
    pub fn fgsm(norm: Norm, budget: impl Into<Budget>) -> Self {
        Self { steps: 1, step: 1.0, random_start: false, ..Self::pgd(norm, budget) }
    }

    /// The test attack of the paper: 50 steps of ε/30, the worst of 10 restarts.
    pub fn strong(norm: Norm, budget: impl Into<Budget>) -> Self {
        let (steps, step, restarts) = (50, 1.0 / 30.0, 10);
        Self { steps, step, restarts, select: Select::First, ..Self::pgd(norm, budget) }
    }

    /// The adversary with these settings.
    ///
    /// # Errors
    /// A setting outside its range; see the table.
    pub fn check(self) -> Result<Adversary> {
        let most = match (self.bounds, self.norm) {
            (Bounds::Unit, Norm::Linf) => 1.0,
            // Far from overflow in `f32`.
            _ => 1e30,
        };
        self.budget.check(most)?;
        let number = |what: &str, number: u32, most: u32| {
            let allowed = format!("from 1 to {most}");
            Error::unless((1..=most).contains(&number), what, f64::from(number), &allowed)
        };
        number("steps of the attack", self.steps, MOST_STEPS)?;
        let step = self.step;
        let allowed = "a positive number, at most 1000";
        Error::unless(step > 0.0 && step <= 1e3, "step of the attack", step, allowed)?;
        number("restarts of the attack", self.restarts, MOST_RESTARTS)?;
        let restarts = f64::from(self.restarts);
        let alone = self.restarts == 1 || self.select != Select::Last;
        Error::unless(
            alone,
            "restarts of the attack",
            restarts,
            "1 where the last point is taken",
        )?;
        let useful = self.restarts == 1 || self.random_start;
        Error::unless(useful, "restarts of the attack", restarts, "1 without a random start")?;
        if let Bounds::Within { low, high } = self.bounds {
            Error::unless(low.is_finite(), "low bound of the attack", low, "a number")?;
            let allowed = format!("a number above the low bound, {low}");
            Error::unless(
                high > low && high.is_finite(),
                "high bound of the attack",
                high,
                &allowed,
            )?;
        }
        if let Some(columns) = &self.columns
            && !columns.windows(2).all(|w| w[0] < w[1])
        {
            return Err(Error::Shape {
                what: "columns of the attack".into(),
                expected: "strictly ascending column numbers".into(),
                found: columns.len(),
            });
        }
        Ok(Adversary { attack: self, most, judge: None })
    }
}

/// A checked attack: an [`Adaptive`](crate::Adaptive) view for
/// [`Population::through`](crate::Population::through).
#[derive(Clone, Debug)]
pub struct Adversary {
    pub(super) attack: Attack,
    /// The largest ε there is a point in.
    pub(super) most: f64,
    pub(super) judge: Option<Judge>,
}

impl Adversary {
    /// Its settings.
    pub fn attack(&self) -> &Attack {
        &self.attack
    }

    /// The same attack, which returns for each sample the point that is worst for a requirement.
    ///
    /// # Errors
    /// An attack whose last point is taken ([`Select::Last`]).
    pub fn judging(self, judge: Judge) -> Result<Self> {
        if self.attack.select == Select::Last {
            return Err(Error::Setting {
                setting: "select of an attack that judges".into(),
                value: 0.0,
                allowed: "`Worst`: the last point is no verdict".into(),
            });
        }
        Ok(Self { judge: Some(judge), ..self })
    }

    /// The requirement it judges, if it does.
    pub fn judge(&self) -> Option<&Judge> {
        self.judge.as_ref()
    }

    /// The interval δ of an entry x must lie in so that x + δ is within bounds; 0 is always in it.
    pub(super) fn room(&self, x: f32) -> (f32, f32) {
        let (low, high) = match self.attack.bounds {
            Bounds::Unit => (0.0, 1.0),
            Bounds::Within { low, high } => (low as f32, high as f32),
            Bounds::None => return (f32::NEG_INFINITY, f32::INFINITY),
        };
        ((low - x).min(0.0), (high - x).max(0.0))
    }
}
