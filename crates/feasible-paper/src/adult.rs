//! Adult: invariance to gender, on average and for every person.

use feasible_problem::text::{Align, Grid, Page};
use feasible_run::error::Result;
use feasible_run::fit::Observer;
use feasible_run::summary::{SeedsSummary, Spread};
use serde::Serialize;

use super::{Reproduction, train};

/// The variants: problem file, what it is, and the paper's flip rate and share of λ at 0.
const VARIANTS: [(&str, &str, Option<&str>, Option<&str>); 4] = [
    ("adult-unconstrained", "unconstrained", Some("~8 %"), None),
    ("adult-ace", "average effect ≤ 5e-4 (paper's settings)", Some("0.2 %"), None),
    ("adult-pointwise", "pointwise ≤ 1e-3 (paper's settings)", Some("0.1 %"), Some("96 %")),
    ("adult", "pointwise ≤ 1e-3 (recipe feasible)", None, None),
];

/// One variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdultRow {
    /// The problem file.
    pub problem: String,
    /// What it is.
    pub variant: String,
    /// Test accuracy.
    pub accuracy: Option<Spread>,
    /// Predictions on the test rows that flip with gender.
    pub flip_rate: Option<Spread>,
    /// The paper's figure.
    pub paper_flip_rate: Option<String>,
    /// Training rows over the limit (pointwise) or runs whose average is (average).
    pub violated_train: Option<Spread>,
    /// The same on the test rows.
    pub violated_test: Option<Spread>,
    /// The share of λ at 0.
    pub multipliers_at_zero: Option<Spread>,
    /// The paper's figure.
    pub paper_at_zero: Option<String>,
    /// Every run.
    pub runs: SeedsSummary,
}

/// The table of `reproduce adult`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdultTable {
    /// The seeds.
    pub seeds: Vec<u64>,
    /// One row per variant.
    pub rows: Vec<AdultRow>,
}

/// Trains the four variants.
///
/// # Errors
/// An interruption, or overrides that do not fit.
pub fn adult(how: &Reproduction, observer: Observer<'_>) -> Result<AdultTable> {
    let names: Vec<&str> = VARIANTS.iter().map(|variant| variant.0).collect();
    let trained = train(&names, how, observer)?;
    let rows = VARIANTS.iter().zip(trained).map(|(variant, runs)| row(variant, runs)).collect();
    Ok(AdultTable { seeds: how.seeds.clone(), rows })
}

fn row(
    (problem, variant, paper_flip_rate, paper_at_zero): &(&str, &str, Option<&str>, Option<&str>),
    runs: SeedsSummary,
) -> AdultRow {
    let pointwise = |of: &feasible_run::RequirementResult| {
        of.kind == feasible_problem::spec::RequirementKind::Pointwise
    };
    AdultRow {
        problem: problem.to_string(),
        variant: variant.to_string(),
        accuracy: runs.spread(|run| run.test.as_ref()?.accuracy),
        flip_rate: runs.spread(|run| Some(run.test.as_ref()?.flip_rates.first()?.share)),
        paper_flip_rate: paper_flip_rate.map(String::from),
        violated_train: runs.spread(|run| run.train.requirements.first()?.violated),
        violated_test: runs.spread(|run| run.test.as_ref()?.requirements.first()?.violated),
        multipliers_at_zero: runs.spread(|run| {
            run.train.requirements.first().filter(|r| pointwise(r))?.multipliers_at_zero
        }),
        paper_at_zero: paper_at_zero.map(String::from),
        runs,
    }
}

impl AdultTable {
    /// As a table for people.
    pub fn to_text(&self) -> String {
        self.text_on(&Page::default())
    }

    /// The same, laid out for a page.
    pub fn text_on(&self, page: &Page) -> String {
        let n = self.seeds.len();
        let mut text =
            format!("Adult, mean ± sd of {n} seeds; flip rate with gender on the test rows\n\n");
        let mut grid = Grid::new().ranked(&[0, 0, 0, 1, 2, 2, 3, 4]);
        let head = [
            "",
            "test accuracy",
            "flip rate",
            "paper",
            "over c, train",
            "over c, test",
            "λ = 0",
            "paper",
        ];
        grid.row(head.map(String::from));
        for row in &self.rows {
            let share = |spread: &Option<Spread>, digits| {
                spread.as_ref().map_or("".into(), |s| s.as_percent(digits))
            };
            // An average is over its limit or not: count the runs.
            let over = |spread: &Option<Spread>| match (spread, &row.multipliers_at_zero) {
                (Some(runs), None) => format!("{:.0} of {n} runs", runs.mean * n as f64),
                (spread, _) => share(spread, 3),
            };
            grid.row([
                row.variant.clone(),
                share(&row.accuracy, 2),
                share(&row.flip_rate, 3),
                row.paper_flip_rate.clone().unwrap_or_default(),
                over(&row.violated_train),
                over(&row.violated_test),
                share(&row.multipliers_at_zero, 1),
                row.paper_at_zero.clone().unwrap_or_default(),
            ]);
        }
        text += &grid.on(page, &[Align::Left, Align::Right]);
        text += "\nover c: share of rows over the limit (pointwise), runs whose average is over it \
                 (average effect).\nThe paper gives no accuracy.\n";
        text
    }
}
