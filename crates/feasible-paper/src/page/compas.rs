//! COMPAS: the table of 13 counterfactuals, and the multipliers of 7 and of 13 constraints.

use feasible_report::chart::{Bar, Bars, number};
use feasible_report::figures::Figure;
use feasible_report::{Report, Result};
use feasible_run::summary::{Spread, Summary};

use super::{Claim, OVER_SEEDS, Table, count, render};
use crate::{CompasRow, CompasTable, Multiplier, PAPER_ACCURACY};

impl CompasTable {
    /// The page of the experiment; `command` is how it was made.
    ///
    /// # Errors
    /// A page that cannot be laid out: our bug.
    pub fn report(&self, command: &str) -> Result<Report> {
        let (html, figures) = compas(self, command)?;
        Ok(Report::of_page(html, figures))
    }
}

fn compas(table: &CompasTable, command: &str) -> Result<(String, Vec<Figure>)> {
    let seven: Of = |m| m.of_7;
    let thirteen: Of = |m| m.of_13;
    let feasible: Of = |m| m.of_13_feasible;
    let figures = vec![
        Figure::bars("flip-rates", flip_rates(table)),
        Figure::bars("mu-7", mu(table, "μ of 7 constraints (paper's settings)", seven)),
        Figure::bars("mu-13", mu(table, "μ of 13 constraints (paper's settings)", thirteen)),
        Figure::bars(
            "mu-13-feasible",
            mu(table, "μ of 13 constraints (recipe feasible)", feasible),
        ),
    ];
    let tables = [insensitivity(table), multipliers(table)];
    let title = "COMPAS: the paper's figures from our runs";
    let seeds = count(&table.seeds);
    let html = render(title, OVER_SEEDS, &seeds, claims(table), &tables, &figures, command)?;
    Ok((html, figures))
}

type Of = fn(&Multiplier) -> Option<Spread>;

/// Fig. "Dual variables of different counterfactual constraints".
fn mu(table: &CompasTable, title: &str, of: Of) -> Bars {
    let bar = |m: &Multiplier| {
        let spread = of(m)?;
        let interval = ((spread.mean - spread.sd).max(0.0), spread.mean + spread.sd);
        Some(Bar {
            interval: (spread.n > 1).then_some(interval),
            colour: usize::from(m.counterfactual.contains('×')),
            ..Bar::new(&m.counterfactual, spread.mean)
        })
    };
    Bars::new(title, "μ; whisker: ± sd", table.multipliers.iter().filter_map(bar).collect())
}

fn flip_rates(table: &CompasTable) -> Bars {
    let bar = |row: &CompasRow| {
        let spread = row.unconstrained_train?;
        let (mean, sd) = (100.0 * spread.mean, 100.0 * spread.sd);
        Some(Bar {
            interval: (spread.n > 1).then_some(((mean - sd).max(0.0), mean + sd)),
            reference: Some(100.0 * row.paper_unconstrained),
            colour: usize::from(row.counterfactual.contains('×')),
            ..Bar::new(&row.counterfactual, mean)
        })
    };
    let axis = "% of training predictions; whisker: ± sd; tall tick: the paper";
    let bars = table.rows.iter().filter_map(bar).collect();
    Bars::new("Predictions that change, without constraints", axis, bars).comparing("paper")
}

/// Multipliers by name.
type Mus<'a> = Vec<(&'a str, f64)>;

/// Of each seed, the multipliers by counterfactual.
fn by_seed(runs: &[Summary]) -> Vec<Mus<'_>> {
    runs.iter()
        .map(|run| {
            let standings = &run.train.requirements;
            standings
                .iter()
                .map(|r| (r.name.as_str(), r.training_multiplier.unwrap_or(0.0)))
                .collect()
        })
        .collect()
}

fn claims(table: &CompasTable) -> Vec<Claim> {
    let several = table.seeds.len() > 1;
    let runs = |at: usize| table.runs.get(at).map_or(&[][..], |runs| &runs.runs);
    let accuracy = |at: usize| Spread::of(runs(at).iter().filter_map(|run| run.train.accuracy));
    let mut claims = vec![
        Claim::share("Table", "training accuracy, unconstrained", PAPER_ACCURACY.0, accuracy(0)),
        Claim::share("Table", "training accuracy, 13 constraints", PAPER_ACCURACY.1, accuracy(1)),
    ];
    let insensitive = table.rows.iter().filter_map(|row| row.constrained_train).map(|s| s.mean);
    let most = insensitive.fold(0.0, f64::max);
    let ours = format!("at most {} % on average over seeds", number(100.0 * most));
    let agrees = several.then_some(most <= 0.005);
    let paper = "with 13 constraints at most 0.02 % of the predictions change (ours: below 0.5 %)";
    claims.push(Claim::new("Table", paper, ours, agrees));
    let (seven, thirteen) = (by_seed(runs(3)), by_seed(runs(1)));
    let largest = |of: &Mus<'_>| {
        of.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, m)| (name.to_string(), *m))
    };
    let value = |of: &Mus<'_>, what: &str| {
        of.iter().find(|(name, _)| name.ends_with(&format!(": {what}"))).map_or(0.0, |(_, m)| *m)
    };
    let mean = |all: &[Mus<'_>], what: &str| {
        Spread::of(all.iter().map(|of| value(of, what))).map_or(String::new(), |s| s.as_number())
    };
    let every = |all: &[Mus<'_>], holds: &dyn Fn(&Mus<'_>) -> bool| {
        (several && !all.is_empty()).then(|| all.iter().all(holds))
    };
    let share = |of: &Mus<'_>, what: &str| {
        value(of, what) / largest(of).map_or(1.0, |(_, m)| m.max(f64::MIN_POSITIVE))
    };
    let sex = "Male ↔ Female";
    claims.push(Claim::new(
        "Fig. μ",
        "of 7 constraints, gender is the hardest",
        format!("its μ is {}", mean(&seven, sex)),
        every(&seven, &|of| share(of, sex) >= 1.0),
    ));
    for pair in ["Caucasian ↔ Hispanic", "Hispanic ↔ Other"] {
        claims.push(Claim::new(
            "Fig. μ",
            &format!(
                "of 7 constraints, {pair} is implied by the others (below 1 % of the largest)"
            ),
            format!("its μ is {}", mean(&seven, pair)),
            every(&seven, &|of| share(of, pair) < 0.01),
        ));
    }
    let crossed = "Male ↔ Female × African-American ↔ Caucasian";
    claims.push(Claim::new(
        "Fig. μ",
        "of 13 constraints, Male ↔ Female × African-American ↔ Caucasian is the hardest",
        format!("its μ is {}", mean(&thirteen, crossed)),
        every(&thirteen, &|of| share(of, crossed) >= 1.0),
    ));
    let alone = "African-American ↔ Caucasian";
    claims.push(Claim::new(
        "Fig. μ",
        "of 13 constraints, African-American ↔ Caucasian alone does not vanish (above 1 % of the largest)",
        format!("its μ is {}", mean(&thirteen, alone)),
        every(&thirteen, &|of| share(of, alone) > 0.01),
    ));
    claims
}

/// The paper's table "Classifier insensitivity on the COMPAS dataset".
fn insensitivity(table: &CompasTable) -> Table {
    let share = |s: Option<Spread>| s.map_or(String::new(), |s| s.as_percent(2));
    let paper = |x: f64| format!("{:.2} %", 100.0 * x);
    let row = |row: &CompasRow| {
        vec![
            row.counterfactual.clone(),
            share(row.unconstrained_train),
            paper(row.paper_unconstrained),
            share(row.constrained_train),
            paper(row.paper_constrained),
            share(row.feasible_train),
            share(row.feasible_test),
        ]
    };
    let head = [
        "counterfactual",
        "unconstrained",
        "paper",
        "13 constraints",
        "paper",
        "recipe feasible",
        "the same, test",
    ];
    Table {
        title: "Predictions that change, counterfactual by counterfactual".into(),
        lead: "Mean ± sd over seeds, on the training rows (very likely as in the paper); the last \
               column on the test rows."
            .into(),
        head: head.map(String::from).to_vec(),
        rows: table.rows.iter().map(row).collect(),
    }
}

fn multipliers(table: &CompasTable) -> Table {
    let shown = |s: Option<Spread>| s.map_or(String::new(), |s| s.as_number());
    let row = |m: &Multiplier| {
        vec![m.counterfactual.clone(), shown(m.of_7), shown(m.of_13), shown(m.of_13_feasible)]
    };
    let head = ["counterfactual", "7 constraints", "13 constraints", "13, recipe feasible"];
    Table {
        title: "Multipliers".into(),
        lead:
            "Mean ± sd over seeds. Adam moved them: each moves by about its rate a step whatever \
               the violation, so the step and not the violation sets their size. Read their order, not \
               their ratio."
                .into(),
        head: head.map(String::from).to_vec(),
        rows: table.multipliers.iter().map(row).collect(),
    }
}
