//! "How many rows do I need?" and "what can N rows certify?", before anything is trained.
//!
//! ```
//! use feasible::certificate::RowsNeeded;
//! use feasible_run::bound::Question;
//! let question = Question { limit: Some(0.01), ..Question::default() };
//! let answer = question.answer()?;
//! // No violation among 299 rows certifies "at most 1 %" at 95 %.
//! assert_eq!(answer.needed[0].rows, RowsNeeded::About(299));
//! # Ok::<(), feasible_run::Error>(())
//! ```

use feasible::Model;
use feasible::certificate::{Count, Delta, MOST_ROWS, RowsNeeded, rows_for_rate};
use feasible::limit::suggestion;
use feasible::theory::{dimension, is_vacuous, rows_for, sample_complexity, zeta};
use feasible_nn::Activation;
use feasible_problem::network::{Network, NetworkShape};
use feasible_problem::plan::Plan;
use feasible_problem::text::precise_percent as percent;
use feasible_problem::text::{Align, Grid, Page, grouped, short};
use serde::Serialize;

use crate::error::{Error, Result};

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// N: rows there are.
    pub rows: Option<u64>,
    /// A rate, or a mean divided by B, that is to be certified.
    pub limit: Option<f64>,
    /// The rate that a sample is expected to show.
    pub rate: Option<f64>,
    /// 1 − δ.
    pub confidence: f64,
    /// Requirements that share δ.
    pub requirements: usize,
    /// The VC dimension of the sets {f > 0} of the class of models, for the paper's bounds on rates.
    pub dimension: Option<f64>,
    /// Rows the models are trained on, for the paper's bounds; `rows` if not given.
    pub training_rows: Option<u64>,
}

impl Default for Question {
    fn default() -> Self {
        Self {
            rows: None,
            limit: None,
            rate: None,
            confidence: 0.95,
            requirements: 1,
            dimension: None,
            training_rows: None,
        }
    }
}

/// What a sample certifies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bought {
    /// Rows that count, of N.
    pub hits: u64,
    /// Their share.
    pub rate: f64,
    /// The bound on the population's.
    pub upper: f64,
}

/// Rows that certify the limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Needed {
    /// The share the sample shows.
    pub rate: f64,
    /// Rows.
    pub rows: RowsNeeded,
}

/// The paper's bounds for all models of a class at once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Uniform {
    /// The VC dimension.
    pub dimension: f64,
    /// Training rows.
    pub rows: Option<u64>,
    /// ζ(N) of Proposition 3.
    pub zeta: Option<f64>,
    /// Whether it says nothing.
    pub vacuous: Option<bool>,
    /// Rows with ζ(N) ≤ the limit.
    pub rows_for_limit: Option<f64>,
    /// ζ⁻¹(limit, δ, d) of Theorem 1, to be multiplied by its unknown constant.
    pub theorem_1: Option<f64>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// 1 − δ, of all requirements together.
    pub confidence: f64,
    /// Requirements.
    pub requirements: usize,
    /// N.
    pub rows: Option<u64>,
    /// The limit.
    pub limit: Option<f64>,
    /// What N held-out rows certify.
    pub bought: Vec<Bought>,
    /// How many held-out rows certify the limit.
    pub needed: Vec<Needed>,
    /// The paper's bounds.
    pub uniform: Option<Uniform>,
    /// N against the bound, at the rate asked about: the curve of the plot.
    pub curve: Vec<(u64, f64)>,
}

impl Question {
    /// Takes what is not given from a plan: its held-out and training rows, requirements and class.
    #[must_use]
    pub fn about(mut self, plan: &Plan) -> Self {
        let data = plan.data();
        let held = if data.reserve_rows.is_empty() { &data.split.test } else { &data.reserve_rows };
        if self.rows.is_none() && !held.is_empty() {
            self.rows = Some(held.len() as u64);
        }
        self.training_rows.get_or_insert(data.split.train.len() as u64);
        self.dimension = self.dimension.or(dimension_of(plan.model()));
        self.requirements = plan.clauses().len().max(1);
        self
    }

    /// Answers.
    ///
    /// # Errors
    /// Numbers outside their range; neither rows nor a limit.
    pub fn answer(&self) -> Result<Answer> {
        let inside = |name: &str, x: Option<f64>, zero: bool| match x {
            Some(x) if !(x < 1.0 && (x > 0.0 || zero && x == 0.0)) => {
                let reason = format!("{x} is not a share between 0 and 1{}", suggestion(x));
                Err(Error::unfit(name, reason))
            }
            _ => Ok(()),
        };
        inside("--confidence", Some(self.confidence), false)?;
        let delta = Delta::confidence(self.confidence)?;
        inside("--limit", self.limit, false)?;
        inside("--rate", self.rate, true)?;
        if self.rows == Some(0) {
            return Err(Error::unfit("--rows", "0 rows certify nothing: give at least 1"));
        }
        if let Some(rows) = self.rows.filter(|rows| *rows > MOST_ROWS) {
            let reason =
                format!("{} are more than {}", grouped(rows as usize), grouped(MOST_ROWS as usize));
            return Err(Error::unfit("--rows", reason));
        }
        if self.requirements == 0 {
            return Err(Error::unfit("--requirements", "give at least 1"));
        }
        if self.dimension.is_some_and(|d| !(d > 0.0 && d.is_finite())) {
            return Err(Error::unfit("--dimension", "a VC dimension is a positive number"));
        }
        if self.rows.is_none() && self.limit.is_none() {
            return Err(Error::unfit(
                "bound",
                "nothing was asked: give --rows N (what can N rows certify?), --limit C (how many rows for a bound of \
                 C?), or a problem file",
            ));
        }
        let each = delta.among(self.requirements);
        let bought = match self.rows {
            Some(n) => self
                .rates(&[0.0, 0.001, 0.01, 0.05, 0.1, 0.25])
                .into_iter()
                .map(|rate| {
                    let count = Count::new((rate * n as f64).round() as u64, n)?;
                    Ok(Bought { hits: count.hits(), rate: count.rate(), upper: count.upper(each) })
                })
                .collect::<Result<Vec<_>>>()?,
            None => Vec::new(),
        };
        let needed = match self.limit {
            Some(limit) => self
                .rates(&[0.0, 0.25 * limit, 0.5 * limit, 0.75 * limit, 0.9 * limit])
                .into_iter()
                .map(|rate| Needed { rate, rows: rows_for_rate(rate, limit, each) })
                .collect(),
            None => Vec::new(),
        };
        let rate = self.rate.unwrap_or(0.0);
        let curve = (0..=60).map(|i| {
            let n = 10f64.powf(1.0 + f64::from(i) / 10.0).round() as u64;
            let hits = (rate * n as f64).ceil() as u64;
            Ok((n, Count::new(hits.min(n), n)?.upper(each)))
        });
        Ok(Answer {
            confidence: self.confidence,
            requirements: self.requirements,
            rows: self.rows,
            limit: self.limit,
            bought,
            needed,
            uniform: self.dimension.map(|d| self.uniform(d, delta)),
            curve: curve.collect::<Result<_>>()?,
        })
    }

    /// The rates to show: the one asked about, or these.
    fn rates(&self, usual: &[f64]) -> Vec<f64> {
        self.rate.map_or_else(|| usual.to_vec(), |rate| vec![rate])
    }

    fn uniform(&self, dimension: f64, delta: Delta) -> Uniform {
        let rows = self.training_rows.or(self.rows);
        let zeta = rows.map(|n| zeta(n, dimension, self.requirements, delta));
        Uniform {
            dimension,
            rows,
            zeta,
            vacuous: zeta.map(|zeta| is_vacuous(zeta, 1.0)),
            rows_for_limit: self
                .limit
                .map(|limit| rows_for(limit, dimension, self.requirements, delta)),
            theorem_1: self.limit.map(|limit| sample_complexity(limit, delta, dimension)),
        }
    }
}

impl Answer {
    /// For people, with a plot.
    pub fn to_text(&self) -> String {
        self.text_on(&Page::default())
    }

    /// The same, laid out for a page.
    pub fn text_on(&self, page: &Page) -> String {
        let mut text = format!("confidence {}", percent(self.confidence));
        if self.requirements > 1 {
            text += &format!(", shared by {} requirements (Bonferroni)", self.requirements);
        }
        text += "\n";
        if let Some(n) = self.rows {
            text += &format!(
                "\nWhat {} held-out rows can certify (Clopper-Pearson)\n",
                grouped(n as usize)
            );
            let mut grid = Grid::new();
            grid.row(
                ["violations", "share of the rows", "of the population, at most"].map(String::from),
            );
            for line in &self.bought {
                grid.row([grouped(line.hits as usize), percent(line.rate), percent(line.upper)]);
            }
            text += &grid.on(page, &[Align::Right]);
        }
        if let Some(limit) = self.limit {
            text += &format!("\nHeld-out rows that certify at most {}\n", percent(limit));
            let mut grid = Grid::new();
            grid.row(["share of the rows", "rows"].map(String::from));
            for line in &self.needed {
                let rows = match line.rows {
                    RowsNeeded::About(n) => grouped(n as usize),
                    RowsNeeded::MoreThan(n) => format!("more than {}", grouped(n as usize)),
                    RowsNeeded::Never => "no number".into(),
                };
                grid.row([percent(line.rate), rows]);
            }
            text += &grid.on(page, &[Align::Right]);
        }
        if let Some(uniform) = &self.uniform {
            text += &uniform.to_text(self.limit);
        }
        // The plot is 72 wide.
        if page.width >= 72 {
            text += &self.plot();
        }
        text
    }

    /// The bound against the number of rows, both axes logarithmic.
    fn plot(&self) -> String {
        let least = self.curve.iter().map(|(_, u)| *u).fold(1.0, f64::min);
        let bottom = least.log10().floor().min(-1.0);
        let lines = (2.0 * -bottom) as usize;
        let line_of = |u: f64| ((-u.log10() * 2.0).round() as usize).min(lines);
        let mark = self.rows.map(|n| {
            let at = |(i, (m, _)): (usize, &(u64, f64))| (m.abs_diff(n), i);
            self.curve.iter().enumerate().map(at).min().map_or(0, |(_, i)| i)
        });
        let mut text = String::from("\nthe bound against held-out rows\n");
        for line in 0..=lines {
            let label = if line % 2 == 0 {
                percent(10f64.powf(-(line as f64) / 2.0))
            } else {
                String::new()
            };
            let limit = self.limit.is_some_and(|limit| line_of(limit) == line);
            let mut cells = String::new();
            for (i, (_, u)) in self.curve.iter().enumerate() {
                cells.push(match (line_of(*u) == line, mark == Some(i)) {
                    (true, true) => 'N',
                    (true, false) => '•',
                    (false, true) => '·',
                    (false, false) if limit => '-',
                    (false, false) => ' ',
                });
            }
            text += &format!("{label:>9} │{}\n", cells.trim_end());
        }
        text += &format!("{:>9} └{}\n", "", "─".repeat(self.curve.len()));
        let ticks = ["10", "100", "1,000", "10⁴", "10⁵", "10⁶", "10⁷"];
        let axis: String = ticks.iter().map(|tick| format!("{tick:<10}")).collect();
        text += &format!("{:>9}  {}\n", "", axis.trim_end());
        text
    }
}

impl Uniform {
    fn to_text(self, limit: Option<f64>) -> String {
        let mut text = format!(
            "\nThe paper's bounds on rates, for all models of a class at once (VC dimension {}, of the sets {{f > 0}})\n",
            short(self.dimension)
        );
        if let (Some(n), Some(zeta)) = (self.rows, self.zeta) {
            let n = grouped(n as usize);
            let word = if self.vacuous == Some(true) { ": vacuous" } else { " (times B)" };
            text += &format!("  Proposition 3: ζ({n} training rows) = {}{word}\n", short(zeta));
        }
        if let (Some(limit), Some(rows)) = (limit, self.rows_for_limit) {
            let least = self.theorem_1.unwrap_or(f64::NAN);
            text += &format!(
                "  ζ(N) ≤ {} takes {} training rows; Theorem 1 gives C · {}, with an unknown \
                 constant C\n",
                short(limit),
                short(rows),
                short(least)
            );
        }
        text
    }
}

/// The VC dimension of the sets {f > 0} of a network's class, f the output or the difference of two, or an upper
/// bound on it. `None` where it is not known: for more than two outputs, for kernel expansions, whose centres
/// are training rows, so that the class depends on them, and for convolutional networks, whose bounds would
/// be far beyond any number of images.
fn dimension_of(network: &Network) -> Option<f64> {
    if network.output_width() > 2 {
        return None;
    }
    match network.shape() {
        NetworkShape::Linear { inputs, .. } => Some(dimension::linear(inputs)),
        // A shortcut adds a linear unit, of which the bounds below know nothing.
        NetworkShape::Mlp { shortcut: true, .. } => None,
        NetworkShape::Mlp { mut widths, activation, .. } => {
            if let Some(last) = widths.last_mut() {
                *last = 1;
            }
            Some(match activation {
                _ if widths.len() == 2 => dimension::linear(widths[0]),
                Activation::Relu => dimension::piecewise_linear(&widths),
                Activation::Sigmoid | Activation::Tanh => dimension::sigmoid(&widths),
                Activation::Silu => dimension::exponential(&widths),
            })
        }
        NetworkShape::Kernel { .. } | NetworkShape::Cnn(_) | NetworkShape::Resnet18(_) => None,
    }
}
