//! A certification in words that a lawyer and a statistician would both sign.

use feasible::certificate::{Certificate, Finding, RowsNeeded, Simultaneous, Verdict};
use feasible::requirement::Sense;
use feasible_problem::held_out::Repetition;
use feasible_problem::text::{
    Align, Grid, Page, grouped, precise_percent as percent, roughly, short,
};

use super::Certification;
use crate::conclusion::{NO_REQUIREMENTS, RunVerdict};
use crate::summary::MOST_LISTED;

impl Certification {
    /// As a table and sentences for people.
    pub fn to_text(&self) -> String {
        self.text_on(&Page::default())
    }

    /// The same, laid out for a page.
    pub fn text_on(&self, page: &Page) -> String {
        let mut text = format!("Certificate on {}{}\n\n", self.rows, self.held_out.clause());
        let findings = &self.certificate.findings;
        // Rows and sample go first where there is no room.
        let mut grid = Grid::new().ranked(&[0, 0, 2, 1, 0, 0]);
        let short_list = !page.whole && findings.len() > MOST_LISTED;
        let is_listed = |f: &&Finding| !short_list || f.verdict != Verdict::Certified;
        // What failed comes first.
        let mut listed: Vec<&Finding> = findings.iter().filter(is_listed).collect();
        listed.sort_by_key(|f| match f.verdict {
            Verdict::Violated => 0,
            Verdict::Open => 1,
            Verdict::Met => 2,
            Verdict::Certified => 3,
        });
        let noun = self.noun();
        grid.row(["requirement", "limit", noun, "sample", "bound", ""].map(String::from));
        for f in &listed {
            let symbol = symbol(f);
            grid.row([
                f.name.clone(),
                format!("{symbol} {}", shown(f, f.limit)),
                grouped(f.rows as usize),
                f.estimate.map_or("".into(), |x| shown(f, x)),
                f.bound.map_or("".into(), |x| format!("{symbol} {}", shown(f, x))),
                verdict(&self.certificate, f),
            ]);
        }
        if findings.is_empty() {
            text += "No requirements were stated.\n";
        } else if !listed.is_empty() {
            text += &grid.on(
                page,
                &[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left],
            );
            text += "\n";
        }
        text + &self.statements_on(page)
    }

    /// What it comes to.
    pub fn verdict_state(&self) -> RunVerdict {
        match (self.certificate.findings.is_empty(), self.all_certified()) {
            (true, _) => RunVerdict::NoRequirements,
            (false, true) => RunVerdict::Certified,
            (false, false) => RunVerdict::NotCertified,
        }
    }

    /// One line: is every requirement certified?
    pub fn verdict(&self) -> String {
        let findings = &self.certificate.findings;
        let is_open = |f: &&Finding| f.verdict != Verdict::Certified;
        let open: Vec<&str> = findings.iter().filter(is_open).map(|f| f.name.as_str()).collect();
        match (self.verdict_state(), &open[..]) {
            (RunVerdict::NoRequirements, _) => NO_REQUIREMENTS.into(),
            (RunVerdict::Certified, []) => "Every requirement is certified.".into(),
            // As one claim, where not each by itself.
            (RunVerdict::Certified, _) => "All requirements together are certified.".into(),
            (_, [one]) => format!("'{one}' is not certified."),
            (_, [one, rest @ ..]) => {
                format!("'{one}' and {} more are not certified.", grouped(rest.len()))
            }
            (_, []) => "The requirements are not certified.".into(),
        }
    }

    /// What the table says, and more, in sentences: one a line.
    pub fn statements(&self) -> String {
        self.statements_on(&Page::default())
    }

    /// The same, laid out for a page.
    pub fn statements_on(&self, page: &Page) -> String {
        let mut text = self.repetition.map_or(String::new(), Repetition::sentence);
        if !self.certificate.findings.is_empty() {
            text += &self.statement(page);
        }
        for flip in &self.flip_rates {
            text += &format!(
                "With probability at least {} over the same draw, and on its own, the prediction of at most \
                 {} of the population changes under {} ({} of {} here).\n",
                percent(self.confidence),
                percent(flip.upper),
                flip.counterfactual,
                grouped(flip.changed as usize),
                grouped(self.count),
            );
        }
        if let Some(theory) = &self.theory {
            text += &theory.to_text();
        }
        if let Some(unit) = &self.unit {
            text += &format!(
                "Rows with the same '{}' are one unit, and units are treated as independent draws. Every unit \
                 weighs the same: a rate or an expectation is that of a random row of a random unit; \
                 \"all but\" counts a unit if any of its rows violates.\n",
                unit.column
            );
        }
        text += &self.held_out.sentence();
        for note in &self.notes {
            text += &format!("{note}\n");
        }
        text
    }

    /// The guarantee, and a sentence for each requirement.
    fn statement(&self, page: &Page) -> String {
        let findings = &self.certificate.findings;
        let of = |verdict| findings.iter().filter(move |f| f.verdict == verdict);
        let draw = format!(
            "With probability at least {} over the draw of the {} held-out {}",
            percent(self.confidence),
            grouped(self.unit.as_ref().map_or(self.count, |unit| unit.count)),
            self.noun()
        );
        let mut text = String::new();
        let certified: Vec<&Finding> = of(Verdict::Certified).collect();
        let several = findings.len() > 1;
        let jointly = match (several, self.simultaneous()) {
            (false, _) => "",
            (true, Simultaneous::Holm) => ", jointly (Holm)",
            (true, Simultaneous::Bonferroni) => ", jointly (Bonferroni)",
        };
        let together = several && self.certificate.all_hold() && !self.certificate.each_certified();
        match &certified[..] {
            _ if self.chosen => {
                text += &format!(
                    "{draw}, whichever model of the ladder was taken, in the population they are drawn from\n"
                );
                for f in findings {
                    text += &format!("  {}: {}.\n", f.name, f.claim_at_limit());
                }
                text += "These rows chose the model from a ladder: they prove the limits, all of them together, and no \
                         bound beyond.\n";
            }
            [] => {}
            [f] if !several => text += &format!("{draw}, {}.\n", f.claim()),
            _ if !page.whole && findings.len() > MOST_LISTED => {
                text += &format!(
                    "{draw}{jointly}, {} of the {} requirements hold in the population they are drawn from; -v lists \
                     them.\n",
                    certified.len(),
                    findings.len()
                );
            }
            _ => {
                text += &format!("{draw}{jointly}, in the population they are drawn from\n");
                for f in &certified {
                    text += &format!("  {}: {}.\n", f.name, f.claim_at_limit());
                }
            }
        }
        if together {
            text += &format!(
                "{draw}, all {} requirements hold in the population they are drawn from: a claim of its own, about all \
                 together (intersection-union test, largest p-value {}). One by one, the verdicts are those above.\n",
                findings.len(),
                short(self.certificate.largest_p())
            );
        }
        if !self.chosen && certified.iter().any(|f| !f.bound_reaches_limit()) {
            text += "Bounds are at an equal part of δ each; Holm's order certifies limits a little inside them.\n";
        }
        let not_certified = if together { "not certified by itself" } else { "not certified" };
        for f in of(Verdict::Met).filter(|f| !f.has_no_bound()) {
            let more = match f.rows_needed {
                Some(RowsNeeded::About(n)) if n > f.rows => format!(
                    "at this margin, certifying it takes about {} more {} ({} in all)",
                    roughly(n - f.rows),
                    self.noun(),
                    roughly(n)
                ),
                Some(RowsNeeded::About(_)) => {
                    format!("a few more {} would certify it", self.noun())
                }
                Some(RowsNeeded::MoreThan(n)) => format!(
                    "at this margin, certifying it takes more than {} {}",
                    grouped(n as usize),
                    self.noun()
                ),
                Some(RowsNeeded::Never) | None => {
                    "the sample is at the limit, and no number of rows would certify it".into()
                }
            };
            text += &format!(
                "{} is met in the sample, {not_certified}: {} is {}, with the bound at {}; {more}.\n",
                f.name,
                f.subject,
                f.estimate.map_or("unknown".into(), |x| shown(f, x)),
                f.bound.map_or("nothing".into(), |x| shown(f, x)),
            );
        }
        text += &self.without_bound(&format!("{draw}{jointly}"), page);
        let violated: Vec<&Finding> = of(Verdict::Violated).collect();
        if !violated.is_empty() {
            text +=
                &format!("{draw}{jointly}, these requirements are violated in the population\n");
            for f in violated {
                let side = if f.sense == Sense::AtMost { "more" } else { "less" };
                text +=
                    &format!("  {}: {} is {side} than {}.\n", f.name, f.subject, shown(f, f.limit));
            }
        }
        for f in of(Verdict::Open).filter(|f| !f.has_no_bound()) {
            text += &match f.estimate {
                Some(x) => format!(
                    "{} is open: {} is {} in the sample, and the population may be on either side of {}.\n",
                    f.name,
                    f.subject,
                    shown(f, x),
                    shown(f, f.limit)
                ),
                None if f.rows > 0 => {
                    format!("{} is open: {} is not a number in the sample.\n", f.name, f.subject)
                }
                None => format!("{} is open: it applies to none of these rows.\n", f.name),
            };
        }
        text
    }
}

impl Certification {
    /// What is proven of losses without an upper bound; nothing if there are none.
    fn without_bound(&self, draw: &str, page: &Page) -> String {
        let findings = self.certificate.findings.iter();
        let all: Vec<&Finding> = findings.filter(|f| f.has_no_bound()).collect();
        if all.is_empty() {
            return String::new();
        }
        let mut text = format!(
            "No number of {} certifies the mean of a loss that has no upper bound. {draw}, in the population they are drawn from\n",
            self.noun()
        );
        let most = if page.whole { all.len() } else { MOST_LISTED };
        for f in all.iter().take(most) {
            let met = if f.verdict == Verdict::Met { "met" } else { "not met" };
            let sample = f.estimate.map_or("unknown".into(), |x| shown(f, x));
            let proven = clipped(f).unwrap_or_else(|| "nothing is proven".into());
            text += &format!("  {} ({sample} in the sample, {met}): {proven}.\n", f.name);
        }
        if all.len() > most {
            text += &format!("  and so on for {} more; -v lists them.\n", all.len() - most);
        }
        text + "Each B was chosen without these rows. Nothing is proven about how large the losses above it are.\n"
    }

    /// What is counted.
    fn noun(&self) -> &'static str {
        if self.unit.is_some() { "units" } else { "rows" }
    }
}

trait Words {
    fn is_pointwise(&self) -> bool;
    fn bound_reaches_limit(&self) -> bool;
    fn claim(&self) -> String;
    fn claim_at_limit(&self) -> String;
    fn has_no_bound(&self) -> bool;
}

impl Words for Finding {
    /// It is about the share of those who violate a limit of their own.
    fn is_pointwise(&self) -> bool {
        self.subject.starts_with("the share of the population")
    }

    /// Whether Bonferroni's bound would certify it too.
    fn bound_reaches_limit(&self) -> bool {
        self.bound.is_some_and(|bound| match self.sense {
            Sense::AtMost => bound <= self.limit,
            Sense::AtLeast => bound >= self.limit,
        })
    }

    /// With the bound, which is stronger than the limit.
    fn claim(&self) -> String {
        let side = if self.sense == Sense::AtMost { "at most" } else { "at least" };
        let bound = self.bound.unwrap_or(self.limit);
        format!("{} is {side} {}", self.subject, shown(self, bound))
    }

    /// With the limit: all that Holm certifies.
    fn claim_at_limit(&self) -> String {
        let side = if self.sense == Sense::AtMost { "at most" } else { "at least" };
        format!("{} is {side} {}", self.subject, shown(self, self.limit))
    }

    /// It is measured, but no number of rows could certify it.
    fn has_no_bound(&self) -> bool {
        self.estimate.is_some() && self.bound.is_none() && self.verdict != Verdict::Certified
    }
}

/// What is proven of a loss without an upper bound if losses above B count as B; the confidence stands elsewhere.
pub fn clipped(finding: &Finding) -> Option<String> {
    let of = finding.clipped.as_ref()?;
    let side = if finding.sense == Sense::AtMost { "at most" } else { "at least" };
    let within = if of.within_limit { "within the limit" } else { "beyond the limit" };
    let (what, whom) = match finding.subject.contains(" minus that") {
        true => ("difference", "either group"),
        false => ("mean", "its population"),
    };
    Some(format!(
        "the {what} is {side} {}, {within}, if losses above B = {} count as B; at most {} of {whom} are above B ({} of {} here)",
        short(of.bound),
        short(of.at),
        percent(of.above_bound),
        grouped(of.above as usize),
        grouped(of.of as usize),
    ))
}

/// The verdict on a requirement, and whether it is certified with all the others where it is not by itself.
pub fn verdict(certificate: &Certificate, finding: &Finding) -> String {
    match finding.verdict {
        Verdict::Met if certificate.all_hold() => "MET, CERTIFIED together".into(),
        verdict => verdict.to_string(),
    }
}

/// The bound on the certifying side, as people read it: `all but 0.0184 %`, `≤ 0.12`.
pub fn bound(finding: &Finding) -> Option<String> {
    Some(format!("{} {}", symbol(finding), shown(finding, finding.bound?)))
}

/// The limit in the units of the bound: `all but 1 %`, `≤ 0.12`.
pub fn limit(finding: &Finding) -> String {
    format!("{} {}", symbol(finding), shown(finding, finding.limit))
}

/// The number of the sample in the same units.
pub fn estimate(finding: &Finding) -> Option<String> {
    Some(shown(finding, finding.estimate?))
}

fn symbol(finding: &Finding) -> &'static str {
    match (finding.is_pointwise(), finding.sense) {
        (true, _) => "all but",
        (false, Sense::AtMost) => "≤",
        (false, Sense::AtLeast) => "≥",
    }
}

/// A share as a percentage, another number as it is.
fn shown(finding: &Finding, x: f64) -> String {
    if finding.subject.starts_with("the expected") { short(x) } else { percent(x) }
}
