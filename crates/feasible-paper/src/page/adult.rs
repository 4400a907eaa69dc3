//! Adult: Fig. 1 of the paper and those of its appendix.

use std::path::Path;

use feasible_report::chart::{Bar, Bars, Pair, Pairs, histogram};
use feasible_report::figures::Figure;
use feasible_report::hard::{Among, Data, Options};
use feasible_report::{Report, Result, Run};
use feasible_run::summary::Spread;

use super::{Claim, OVER_SEEDS, Table, count, render};
use crate::{AdultRow, AdultTable, run_directory};

/// The groups of the paper's Fig. 1b: a category, and whether those outside of it are meant.
const GROUPS: [(&str, &str, bool); 4] = [
    ("married people", "marital-status = Married", false),
    ("non-white people", "race = White", true),
    ("people not from the US", "native-country = US", true),
    ("people with a Masters", "education = Masters", false),
];

/// The share of a group among the hardest and among all.
#[derive(Clone, Copy)]
struct Share {
    hardest: f64,
    all: f64,
}

impl AdultTable {
    /// The page of the experiment, whose runs are kept in `directory`; `command` is how it was made.
    ///
    /// # Errors
    /// Runs that cannot be read.
    pub fn report(&self, directory: &Path, command: &str) -> Result<Report> {
        let (html, figures) = adult(self, directory, command)?;
        Ok(Report::of_page(html, figures))
    }
}

fn adult(table: &AdultTable, directory: &Path, command: &str) -> Result<(String, Vec<Figure>)> {
    let mut claims = Vec::new();
    let mut figures = vec![Figure::bars("sensitivity", sensitivity(table))];
    let claimed = [
        (
            "adult-unconstrained",
            "Fig. 1a",
            "predictions that change with gender, unconstrained",
            0.08,
        ),
        ("adult-pointwise", "App. D", "the same with the pointwise constraint", 0.001),
        ("adult-ace", "App. D", "the same with the average constraint (ACE)", 0.002),
    ];
    for (problem, place, what, paper) in claimed {
        let row = table.rows.iter().find(|row| row.problem == problem);
        claims.push(Claim::share(place, what, paper, row.and_then(|row| row.flip_rate)));
    }
    let pointwise: Vec<&AdultRow> =
        table.rows.iter().filter(|row| row.multipliers_at_zero.is_some()).collect();
    for (at, row) in pointwise.iter().enumerate() {
        let seed = table.seeds.first().copied().unwrap_or(1);
        let run = Run::open(&run_directory(directory, &row.problem, seed))?;
        let Some(of) = run.multipliers.first() else { continue };
        let positive: Vec<f64> =
            of.points.iter().map(|p| p.multiplier).filter(|&lambda| lambda > 0.0).collect();
        let title = format!("λ > 0 of seed {seed}, {}", settings(row));
        figures
            .push(Figure::chart(&format!("lambda-{}", at + 1), histogram(&title, "λ", &positive)));
        let shares = shares(table, directory, row)?;
        figures.push(Figure::pairs(&format!("groups-{}", at + 1), prevalence(row, &shares)));
        if row.problem == "adult-pointwise" {
            claims.push(Claim::share(
                "App. D",
                "multipliers at zero",
                0.96,
                row.multipliers_at_zero,
            ));
            claims.extend(groups(&shares));
        }
    }
    let html = render(
        "Adult: the paper's figures from our runs",
        OVER_SEEDS,
        &count(&table.seeds),
        claims,
        &[variants(table)],
        &figures,
        command,
    )?;
    Ok((html, figures))
}

fn settings(row: &AdultRow) -> &'static str {
    if row.problem == "adult" { "recipe feasible" } else { "paper's settings" }
}

/// Fig. 1a.
fn sensitivity(table: &AdultTable) -> Bars {
    let bar = |row: &AdultRow| {
        let rate = row.flip_rate?;
        let paper = match row.problem.as_str() {
            "adult-unconstrained" => Some(8.0),
            "adult-ace" => Some(0.2),
            "adult-pointwise" => Some(0.1),
            _ => None,
        };
        let (mean, sd) = (100.0 * rate.mean, 100.0 * rate.sd);
        Some(Bar {
            interval: (rate.n > 1).then_some(((mean - sd).max(0.0), mean + sd)),
            reference: paper,
            colour: usize::from(row.problem == "adult"),
            ..Bar::new(&row.variant, mean)
        })
    };
    let axis = "% of test predictions; whisker: ± sd; tall tick: the paper";
    let bars = table.rows.iter().filter_map(bar).collect();
    Bars::new("Predictions that change with gender (Fig. 1a)", axis, bars).comparing("paper")
}

/// For each group its shares, one for each seed.
fn shares(table: &AdultTable, directory: &Path, row: &AdultRow) -> Result<Vec<Vec<Share>>> {
    let mut all = vec![Vec::new(); GROUPS.len()];
    let options = Options { among: Among::Positive, ..Options::default() };
    for &seed in &table.seeds {
        let run = Run::open(&run_directory(directory, &row.problem, seed))?;
        let Some(of) = run.multipliers.first() else { continue };
        // Without a λ above 0 nobody is hardest.
        let Ok(hard) = Data::of(&run).and_then(|data| data.hard(of, &options, 0)) else { continue };
        for (shares, (_, category, outside)) in all.iter_mut().zip(GROUPS) {
            let found = hard.groups.iter().find(|group| group.name == category);
            let turned = |x: f64| if outside { 1.0 - x } else { x };
            shares.extend(found.map(|group| Share {
                hardest: turned(group.share),
                all: turned(group.share_of_all),
            }));
        }
    }
    Ok(all)
}

/// Fig. 1b.
fn prevalence(row: &AdultRow, shares: &[Vec<Share>]) -> Pairs {
    let pair = |((name, ..), shares): (&(&str, &str, bool), &Vec<Share>)| {
        let hardest = Spread::of(shares.iter().map(|share| share.hardest))?;
        Some(Pair {
            name: name.to_string(),
            value: hardest.mean,
            interval: (hardest.n > 1)
                .then_some(((hardest.mean - hardest.sd).max(0.0), hardest.mean + hardest.sd)),
            other: shares.first()?.all,
        })
    };
    let title = format!("The hardest 20 % of λ > 0 (Fig. 1b), {}", settings(row));
    let pairs = GROUPS.iter().zip(shares).filter_map(pair).collect();
    Pairs::new(&title, "of the hardest, ± sd", "of everyone", pairs)
}

fn groups(shares: &[Vec<Share>]) -> Vec<Claim> {
    let claim = |((name, ..), shares): (&(&str, &str, bool), &Vec<Share>)| {
        let hardest = Spread::of(shares.iter().map(|share| share.hardest))?;
        let all = shares.first()?.all;
        let over = shares.iter().all(|share| share.hardest > share.all);
        let ours =
            format!("{} of the hardest 20 %, {:.2} % of all", hardest.as_percent(2), 100.0 * all);
        let paper = format!("more {name} among the hardest 20 %");
        Some(Claim::new("Fig. 1b", &paper, ours, (hardest.n > 1).then_some(over)))
    };
    GROUPS.iter().zip(shares).filter_map(claim).collect()
}

fn variants(table: &AdultTable) -> Table {
    let share =
        |s: &Option<Spread>, digits| s.as_ref().map_or(String::new(), |s| s.as_percent(digits));
    let n = table.seeds.len();
    let row = |row: &AdultRow| {
        // An average is over its limit or not: count the runs.
        let over = |spread: &Option<Spread>| match (spread, &row.multipliers_at_zero) {
            (Some(runs), None) => format!("{:.0} of {n} runs", runs.mean * n as f64),
            (spread, _) => share(spread, 3),
        };
        vec![
            row.variant.clone(),
            share(&row.accuracy, 2),
            share(&row.flip_rate, 3),
            row.paper_flip_rate.clone().unwrap_or_default(),
            over(&row.violated_train),
            over(&row.violated_test),
            share(&row.multipliers_at_zero, 1),
            row.paper_at_zero.clone().unwrap_or_default(),
        ]
    };
    let head = [
        "variant",
        "test accuracy",
        "flip rate",
        "paper",
        "over c, train",
        "over c, test",
        "λ = 0",
        "paper",
    ];
    Table {
        title: "Every variant".into(),
        lead: "Mean ± sd over seeds. Flip rates are on the test rows; over c is the share of rows over the \
               limit; of the average constraint, the runs over it. The paper gives no accuracy."
            .into(),
        head: head.map(String::from).to_vec(),
        rows: table.rows.iter().map(row).collect(),
    }
}
