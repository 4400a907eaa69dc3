//! The paper's experiments on a page: its figures drawn from our runs, its claims beside what we
//! find.
//!
//! A number of the paper is called confirmed if it is within two standard deviations of ours over
//! seeds; of one seed nothing is said. An order is confirmed if every seed has it.

mod adult;
mod compas;
mod robust;

use feasible_report::Result;
use feasible_report::figures::Figure;
use feasible_report::layout::{PageVerdict, bounded, drawn, page, value};
use feasible_run::summary::Spread;
use minijinja::context;
use serde::Serialize;

/// A claim of the paper beside what we find.
#[derive(Serialize)]
struct Claim {
    /// Where it stands.
    place: String,
    paper: String,
    ours: String,
    /// `yes`, `no` or `open`: also a class.
    agrees: &'static str,
}

impl Claim {
    fn new(place: &str, paper: &str, ours: String, agrees: Option<bool>) -> Self {
        let agrees = match agrees {
            Some(true) => "yes",
            Some(false) => "no",
            None => "open",
        };
        Self { place: place.into(), paper: paper.to_string(), ours, agrees }
    }

    /// A share, in percent.
    fn share(place: &'static str, what: &str, paper: f64, ours: Option<Spread>) -> Self {
        let shown = ours.map_or("nothing".into(), |s| s.as_percent(2));
        let paper_says = format!("{what}: {} %", feasible_report::chart::number(100.0 * paper));
        Self::new(place, &paper_says, shown, ours.and_then(|ours| confirms(paper, ours)))
    }
}

/// Whether a number is within two standard deviations of ours.
fn confirms(paper: f64, ours: Spread) -> Option<bool> {
    (ours.n > 1).then(|| (paper - ours.mean).abs() <= 2.0 * ours.sd)
}

/// A table beside the figures.
#[derive(Serialize)]
struct Table {
    title: String,
    lead: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// How claims are judged over seeds.
const OVER_SEEDS: &str = "A number is confirmed if it is within two standard deviations of ours, an \
                          order if every seed has it; one seed gives no verdict.";

fn count(seeds: &[u64]) -> String {
    match seeds.len() {
        1 => "One seed.".into(),
        n => format!("{n} seeds."),
    }
}

/// Lays out the page of an experiment.
fn render(
    title: &str,
    lead: &str,
    seeds: &str,
    mut claims: Vec<Claim>,
    tables: &[Table],
    figures: &[Figure],
    command: &str,
) -> Result<String> {
    // What is not confirmed comes first.
    claims.sort_by_key(|claim| ["no", "yes", "open"].iter().position(|a| *a == claim.agrees));
    let count = |what: &str| claims.iter().filter(|claim| claim.agrees == what).count();
    let (yes, no, open) = (count("yes"), count("no"), count("open"));
    let sentence = match (yes + no, no) {
        (0, _) => "One seed: the paper's numbers stand beside ours, without a verdict.".to_string(),
        (all, 0) => format!("All {all} claims of the paper that can be checked are confirmed."),
        (all, _) => format!("{yes} of {all} claims of the paper are confirmed."),
    };
    let more = match open {
        0 => seeds.to_string(),
        open => format!("{seeds} {open} without a verdict."),
    };
    let verdict = PageVerdict { state: "none", sentence, more };
    let content = context! {
        eyebrow => "Feasible reproduction",
        title,
        verdict => value(&verdict)?,
        claims => value(&claims)?,
        tables => value(&tables)?,
        figures_of_runs => drawn(figures),
        lead,
        command => bounded(command, 2_000),
    };
    page(include_str!("page.html"), content)
}
