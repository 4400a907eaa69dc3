//! The table of a robust experiment: networks by ε, the paper's accuracies beside ours, and its claims.

use std::path::PathBuf;

use feasible::adversary::Prior;
use feasible_problem::text::{Align, Grid, Page, short};
use feasible_run::attack::Curve;
use feasible_run::summary::Summary;
use serde::Serialize;

use super::Budget;
use super::claims::Shown;

/// One network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RobustRow {
    /// The problem file.
    pub problem: String,
    /// What it is.
    pub variant: String,
    /// Its run directory.
    pub directory: PathBuf,
    /// The law of ε in training; `None` if there is no requirement.
    pub prior: Option<Prior>,
    /// The result of the training.
    pub summary: Summary,
    /// Accuracy against ε.
    pub curve: Curve,
    /// The paper's accuracies in per cent, by ε.
    pub paper: Vec<(f64, String)>,
}

/// The table of a robust experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RobustTable {
    /// The data set.
    pub title: String,
    /// Where the paper has the results.
    pub figure: String,
    /// How much was done.
    pub budget: Budget,
    /// The ε that the text shows; the rows have more.
    pub shown: Vec<f64>,
    /// One row per network.
    pub rows: Vec<RobustRow>,
    /// The paper's results.
    pub claims: Vec<Shown>,
}

impl RobustTable {
    /// As a table for people.
    pub fn to_text(&self) -> String {
        self.text_on(&Page::default())
    }

    /// The same, laid out for a page.
    pub fn text_on(&self, page: &Page) -> String {
        let first = self.rows.first().map(|row| &row.curve);
        let samples = first.and_then(|c| c.points.first()).map_or(0, |p| p.total);
        let method = first.map_or(String::new(), Curve::method);
        let mut text = format!(
            "{}, budget {}: accuracy in % on {samples} test images under attack, the paper's in \
             brackets\n{method}\n\n",
            self.title,
            self.budget.name()
        );
        let mut ranks = vec![0; 1 + self.shown.len()];
        ranks.extend([2, 1, 1, 3]);
        let mut grid = Grid::new().ranked(&ranks);
        let mut head = vec![String::new()];
        head.extend(self.shown.iter().map(|&epsilon| match epsilon {
            0.0 => "clean".to_string(),
            epsilon => format!("ε = {}", short(epsilon)),
        }));
        head.extend(["loss under attack", "train", "test", "epoch"].map(String::from));
        grid.row(head);
        for row in &self.rows {
            let mut cells = vec![row.variant.clone()];
            for &epsilon in &self.shown {
                let own = row
                    .curve
                    .at(epsilon)
                    .map_or(String::new(), |p| format!("{:.1}", 100.0 * p.accuracy));
                let paper = row.paper.iter().find(|(at, _)| *at == epsilon);
                let paper = paper.map_or(String::new(), |(_, share)| format!(" ({share})"));
                cells.push(own + &paper);
            }
            let requirement = row.summary.train.requirements.first();
            let test = row.summary.test.as_ref().and_then(|test| test.requirements.first());
            let value = |of: Option<&feasible_run::RequirementResult>| {
                of.and_then(|r| r.value).map_or(String::new(), short)
            };
            cells.push(requirement.map_or(String::new(), |r| format!("≤ {}", short(r.limit))));
            cells.extend([value(requirement), value(test)]);
            cells.push(row.summary.best_epoch().unwrap_or_default());
            grid.row(cells);
        }
        text += &grid.on(page, &[Align::Left, Align::Right]);
        text += "\n";
        let mut grid = Grid::new();
        grid.row(["", "the paper's claim", "here"].map(String::from));
        for shown in &self.claims {
            let sign = if shown.agrees { "yes" } else { "NO" };
            grid.row([sign.to_string(), shown.claim.clone(), shown.found.clone()]);
        }
        text + &grid.on(page, &[Align::Left])
    }
}
