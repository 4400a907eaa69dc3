//! COMPAS: invariance to sex, race and both at once.

use feasible_problem::text::{Align, Grid, Page, percent};
use feasible_run::error::Result;
use feasible_run::evaluate::Evaluation;
use feasible_run::fit::Observer;
use feasible_run::summary::{SeedsSummary, Spread, Summary};
use serde::Serialize;

use super::{Reproduction, train};

/// The paper's table "Classifier insensitivity on the COMPAS dataset": flip rates in percent,
/// unconstrained and constrained, in the order of the 13 changes.
const PAPER: [(f64, f64); 13] = [
    (21.4, 0.0),
    (10.86, 0.0),
    (14.32, 0.02),
    (11.38, 0.0),
    (9.11, 0.0),
    (6.54, 0.0),
    (3.08, 0.0),
    (28.84, 0.02),
    (27.47, 0.0),
    (29.17, 0.0),
    (22.71, 0.0),
    (24.27, 0.0),
    (21.15, 0.0),
];
/// The paper's accuracies: unconstrained, and with 13 constraints.
pub const PAPER_ACCURACY: (f64, f64) = (0.694, 0.679);

const PROBLEMS: [&str; 4] = ["compas-unconstrained", "compas-paper", "compas", "compas-7"];
const UNCONSTRAINED: usize = 0;
const CONSTRAINED: usize = 1;
const FEASIBLE: usize = 2;
const SEVEN: usize = 3;

/// A counterfactual: flip rates on the training and test rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompasRow {
    /// The counterfactual.
    pub counterfactual: String,
    /// Without requirements, training rows.
    pub unconstrained_train: Option<Spread>,
    /// Without requirements, test rows.
    pub unconstrained_test: Option<Spread>,
    /// The paper's figure.
    pub paper_unconstrained: f64,
    /// With the paper's settings, training rows.
    pub constrained_train: Option<Spread>,
    /// With the paper's settings, test rows.
    pub constrained_test: Option<Spread>,
    /// The paper's figure.
    pub paper_constrained: f64,
    /// With the recipe `feasible`, training rows.
    pub feasible_train: Option<Spread>,
    /// With the recipe `feasible`, test rows.
    pub feasible_test: Option<Spread>,
}

/// A multiplier of the 7 or the 13 constraints, with the paper's settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Multiplier {
    /// The counterfactual.
    pub counterfactual: String,
    /// μ of the problem without crosses.
    pub of_7: Option<Spread>,
    /// μ of the problem with crosses.
    pub of_13: Option<Spread>,
    /// μ of the recipe `feasible`.
    pub of_13_feasible: Option<Spread>,
}

/// The table of `reproduce compas`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompasTable {
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The 13 counterfactuals.
    pub rows: Vec<CompasRow>,
    /// The multipliers.
    pub multipliers: Vec<Multiplier>,
    /// Every run: unconstrained, 13 constraints, 13 with recipe `feasible`, 7 constraints.
    pub runs: Vec<SeedsSummary>,
}

/// Trains without, with 7 and with 13 constraints, and with the recipe `feasible`.
///
/// # Errors
/// An interruption, or overrides that do not fit.
pub fn compas(how: &Reproduction, observer: Observer<'_>) -> Result<CompasTable> {
    let runs = train(&PROBLEMS, how, observer)?;
    let flip = |p: usize, at: usize, test: bool| {
        runs[p].spread(|run| {
            let part = if test { run.test.as_ref()? } else { &run.train };
            Some(part.flip_rates.get(at)?.share)
        })
    };
    let mu = |p: usize, at: usize| {
        runs[p].spread(|run| run.train.requirements.get(at)?.training_multiplier)
    };
    let first = runs[UNCONSTRAINED].runs.first();
    let names: Vec<String> = first
        .map(|run| run.train.flip_rates.iter().map(|f| f.counterfactual.clone()).collect())
        .unwrap_or_default();
    let rows = names.iter().zip(PAPER).enumerate().map(|(at, (name, paper))| CompasRow {
        counterfactual: name.clone(),
        unconstrained_train: flip(UNCONSTRAINED, at, false),
        unconstrained_test: flip(UNCONSTRAINED, at, true),
        paper_unconstrained: paper.0 / 100.0,
        constrained_train: flip(CONSTRAINED, at, false),
        constrained_test: flip(CONSTRAINED, at, true),
        paper_constrained: paper.1 / 100.0,
        feasible_train: flip(FEASIBLE, at, false),
        feasible_test: flip(FEASIBLE, at, true),
    });
    let multipliers = names.iter().enumerate().map(|(at, name)| Multiplier {
        counterfactual: name.clone(),
        of_7: mu(SEVEN, at),
        of_13: mu(CONSTRAINED, at),
        of_13_feasible: mu(FEASIBLE, at),
    });
    let (rows, multipliers) = (rows.collect(), multipliers.collect());
    Ok(CompasTable { seeds: how.seeds.clone(), rows, multipliers, runs })
}

impl CompasTable {
    /// The share of runs of a problem that meet all requirements on the training rows.
    fn feasible_runs(&self, p: usize) -> Option<Spread> {
        self.runs[p].spread(|run| Some(f64::from(u8::from(run.train.met))))
    }

    /// As tables for people.
    pub fn to_text(&self) -> String {
        self.text_on(&Page::default())
    }

    /// The same, laid out for a page.
    pub fn text_on(&self, page: &Page) -> String {
        let n = self.seeds.len();
        let mut text = format!("COMPAS, mean ± sd of {n} seeds; predictions that flip\n\n");
        let percents = |spread: Option<Spread>| spread.map_or("".into(), |s| s.as_percent(2));
        let mut grid = Grid::new().ranked(&[0, 2, 0, 3, 2, 0, 3, 2, 0]);
        let head = [
            "",
            "unconstrained",
            "test",
            "paper",
            "13 constraints",
            "test",
            "paper",
            "feasible",
            "test",
        ];
        grid.row(head.map(String::from));
        let accuracy = |p: usize, of: fn(&Summary) -> Option<&Evaluation>| {
            percents(self.runs[p].spread(|run| of(run)?.accuracy))
        };
        let train: fn(&Summary) -> Option<&Evaluation> = |run| Some(&run.train);
        let test: fn(&Summary) -> Option<&Evaluation> = |run| run.test.as_ref();
        grid.row([
            "accuracy".into(),
            accuracy(UNCONSTRAINED, train),
            accuracy(UNCONSTRAINED, test),
            percent(PAPER_ACCURACY.0),
            accuracy(CONSTRAINED, train),
            accuracy(CONSTRAINED, test),
            percent(PAPER_ACCURACY.1),
            accuracy(FEASIBLE, train),
            accuracy(FEASIBLE, test),
        ]);
        for row in &self.rows {
            grid.row([
                row.counterfactual.clone(),
                percents(row.unconstrained_train),
                percents(row.unconstrained_test),
                percent(row.paper_unconstrained),
                percents(row.constrained_train),
                percents(row.constrained_test),
                percent(row.paper_constrained),
                percents(row.feasible_train),
                percents(row.feasible_test),
            ]);
        }
        let met = |p| percents(self.feasible_runs(p));
        let blank = String::new;
        grid.row([
            "runs that meet all 13 on train".into(),
            blank(),
            blank(),
            blank(),
            met(CONSTRAINED),
            blank(),
            blank(),
            met(FEASIBLE),
            blank(),
        ]);
        text += &grid.on(page, &[Align::Left, Align::Right]);
        text += "\nmultipliers μ\n\n";
        let mut grid = Grid::new();
        grid.row(["", "7 constraints", "13 constraints", "13, feasible"].map(String::from));
        let number = |spread: Option<Spread>| {
            spread.map_or("".into(), |s| format!("{:.2} ± {:.2}", s.mean, s.sd))
        };
        for row in &self.multipliers {
            grid.row([
                row.counterfactual.clone(),
                number(row.of_7),
                number(row.of_13),
                number(row.of_13_feasible),
            ]);
        }
        text += &grid.on(page, &[Align::Left, Align::Right]);
        text += "\nThe paper's figures are of one run, very likely of the training rows.\n";
        text
    }
}
