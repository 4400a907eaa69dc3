//! A robust experiment: accuracy under attack, and the law of ε.

use feasible_report::chart::number;
use feasible_report::figures::Figure;
use feasible_report::robust;
use feasible_report::{Report, Result, Run};

use super::{Claim, Table, render};
use crate::{Budget, RobustRow, RobustTable};

impl RobustTable {
    /// The page of the experiment, whose runs are where its rows say; `command` is how it was made.
    ///
    /// # Errors
    /// Runs that cannot be read.
    pub fn report(&self, command: &str) -> Result<Report> {
        let (html, figures) = page(self, command)?;
        Ok(Report::of_page(html, figures))
    }
}

fn page(table: &RobustTable, command: &str) -> Result<(String, Vec<Figure>)> {
    let curves: Vec<_> = table.rows.iter().map(|row| (row.variant.as_str(), &row.curve)).collect();
    let mut figures = vec![robust::accuracy(&curves)];
    let densities = table.rows.iter().filter_map(|row| robust::density(row.prior.as_ref()?));
    figures.extend(densities.take(1));
    let open = |row: &RobustRow| Run::open(&row.directory).map(|run| (row.variant.clone(), run));
    let runs = table.rows.iter().map(open).collect::<Result<Vec<_>>>()?;
    figures.extend(robust::training(&runs));
    let claim = |shown: &crate::Shown| {
        Claim::new(&table.figure, &shown.claim, shown.found.clone(), Some(shown.agrees))
    };
    let claims: Vec<Claim> = table.claims.iter().map(claim).collect();
    let title = format!("{}: the paper's figures from our runs", table.title);
    let lead = match table.budget {
        Budget::Small => {
            "One seed of a reduced run: fewer images and epochs, and limits of the loss that these can \
             meet, looser than the paper's. What counts is whether its results show, not its numbers; \
             intervals over the images that were attacked are exact."
        }
        Budget::Paper => {
            "One seed, with exact intervals over the images that were attacked. What counts as \
             confirmed stands in the claim."
        }
    };
    let html = render(&title, lead, "One seed.", claims, &[accuracies(table)], &figures, command)?;
    Ok((html, figures))
}

/// Accuracy at every ε, the paper's beside it where it gives one.
fn accuracies(table: &RobustTable) -> Table {
    let epsilons: Vec<f64> = table
        .rows
        .first()
        .map_or(Vec::new(), |row| row.curve.points.iter().map(|p| p.epsilon).collect());
    let row = |row: &RobustRow| {
        let cell = |point: &feasible_run::attack::CurvePoint| {
            let paper = row.paper.iter().find(|(epsilon, _)| *epsilon == point.epsilon);
            let paper = paper.map_or(String::new(), |(_, says)| format!(" (paper {says})"));
            format!("{:.1} %{paper}", 100.0 * point.accuracy)
        };
        std::iter::once(row.variant.clone()).chain(row.curve.points.iter().map(cell)).collect()
    };
    Table {
        title: "Accuracy under attack".into(),
        lead: "The share of the attacked images that are still classified correctly, by ε.".into(),
        head: std::iter::once("model".to_string())
            .chain(epsilons.iter().map(|epsilon| format!("ε = {}", number(*epsilon))))
            .collect(),
        rows: table.rows.iter().map(row).collect(),
    }
}
