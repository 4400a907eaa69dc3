//! A certification in words that a lawyer and a statistician would both sign.

use feasible::certificate::{Certificate, Finding, RowsNeeded, Simultaneous, Verdict};
use feasible::requirement::Sense;

use super::Certification;
use crate::text::{Align, Grid, grouped, short};

impl Certification {
    /// As a table and sentences for people.
    pub fn to_text(&self) -> String {
        let mut text =
            format!("Certificate on {}, none of which was used in training\n\n", self.rows);
        let findings = &self.certificate.findings;
        let mut grid = Grid::new();
        grid.row(["requirement", "level", "rows", "sample", "bound", ""].map(String::from));
        for f in findings {
            let symbol = symbol(f);
            grid.row([
                f.name.clone(),
                format!("{symbol} {}", shown(f, f.level)),
                f.rows.to_string(),
                f.estimate.map_or("".into(), |x| shown(f, x)),
                f.bound.map_or("".into(), |x| format!("{symbol} {}", shown(f, x))),
                verdict(&self.certificate, f),
            ]);
        }
        if findings.is_empty() {
            text += "There are no requirements.\n";
        } else {
            text += &grid.to_text(&[
                Align::Left,
                Align::Right,
                Align::Right,
                Align::Right,
                Align::Right,
                Align::Left,
            ]);
            text += "\n";
        }
        text + &self.statements()
    }

    /// What the table says, and more, in sentences: one a line.
    pub fn statements(&self) -> String {
        let mut text = match self.certificate.findings.is_empty() {
            true => String::new(),
            false => self.statement(),
        };
        for flip in &self.flips {
            text += &format!(
                "With probability at least {} over the same draw, and on its own, the prediction of at most \
                 {} of the population changes under {} ({} of {} here).\n",
                percent(self.confidence),
                percent(flip.upper),
                flip.counterfactual,
                grouped(flip.flips as usize),
                grouped(self.count),
            );
        }
        if let Some(theory) = &self.theory {
            text += &theory.to_text();
        }
        if let Some(equal) = self.coincidences.filter(|equal| equal.rows > 0) {
            text += &format!(
                "{} rows equal rows of the training in every cell; chance explains about {}.\n",
                grouped(equal.rows),
                grouped(equal.expected.round() as usize)
            );
        }
        for note in &self.notes {
            text += &format!("{note}\n");
        }
        text
    }

    /// The guarantee, and a sentence for each requirement.
    fn statement(&self) -> String {
        let findings = &self.certificate.findings;
        let of = |verdict| findings.iter().filter(move |f| f.verdict == verdict);
        let draw = format!(
            "With probability at least {} over the draw of the {} held-out rows",
            percent(self.confidence),
            grouped(self.count)
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
                    text += &format!("  {}: {}.\n", f.name, f.claim_at_level());
                }
                text += "These rows chose the model from a ladder: they prove the limits, all of them together, and no \
                         bound beyond.\n";
            }
            [] => {}
            [f] if !several => text += &format!("{draw}, {}.\n", f.claim()),
            _ => {
                text += &format!("{draw}{jointly}, in the population they are drawn from\n");
                for f in &certified {
                    text += &format!("  {}: {}.\n", f.name, f.claim_at_level());
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
        if !self.chosen && certified.iter().any(|f| !f.bound_reaches_level()) {
            text += "Bounds are at an equal part of δ each; Holm's order certifies levels a little inside them.\n";
        }
        let not_certified = if together { "not certified by itself" } else { "not certified" };
        for f in of(Verdict::Met) {
            let more = match f.rows_needed {
                Some(RowsNeeded::About(n)) if n > f.rows => format!(
                    "at this margin it would take about {} rows, {} more than there are",
                    grouped(n as usize),
                    grouped((n - f.rows) as usize)
                ),
                Some(RowsNeeded::About(_)) => "a few more rows would do".into(),
                Some(RowsNeeded::MoreThan(n)) => {
                    format!("at this margin it would take more than {} rows", grouped(n as usize))
                }
                Some(RowsNeeded::Never) | None => {
                    "the sample is at the limit, and no number of rows would do".into()
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
        let violated: Vec<&Finding> = of(Verdict::Violated).collect();
        if !violated.is_empty() {
            text += &format!("{draw}{jointly}, violated in the population are\n");
            for f in violated {
                let side = if f.sense == Sense::AtMost { "more" } else { "less" };
                text +=
                    &format!("  {}: {} is {side} than {}.\n", f.name, f.subject, shown(f, f.level));
            }
        }
        for f in of(Verdict::Open) {
            text += &match f.estimate {
                Some(x) => format!(
                    "{} is open: {} is {} in the sample, and the population may be on either side of {}.\n",
                    f.name,
                    f.subject,
                    shown(f, x),
                    shown(f, f.level)
                ),
                None => format!("{} is open: none of these rows is spoken of.\n", f.name),
            };
        }
        text
    }
}

trait Words {
    fn is_pointwise(&self) -> bool;
    fn bound_reaches_level(&self) -> bool;
    fn claim(&self) -> String;
    fn claim_at_level(&self) -> String;
}

impl Words for Finding {
    /// It is about the share of those who violate a level of their own.
    fn is_pointwise(&self) -> bool {
        self.subject.starts_with("the share of the population")
    }

    /// Whether Bonferroni's bound would certify it too.
    fn bound_reaches_level(&self) -> bool {
        self.bound.is_some_and(|bound| match self.sense {
            Sense::AtMost => bound <= self.level,
            Sense::AtLeast => bound >= self.level,
        })
    }

    /// With the bound, which is stronger than the level.
    fn claim(&self) -> String {
        let side = if self.sense == Sense::AtMost { "at most" } else { "at least" };
        let bound = self.bound.unwrap_or(self.level);
        format!("{} is {side} {}", self.subject, shown(self, bound))
    }

    /// With the level: all that Holm certifies.
    fn claim_at_level(&self) -> String {
        let side = if self.sense == Sense::AtMost { "at most" } else { "at least" };
        format!("{} is {side} {}", self.subject, shown(self, self.level))
    }
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

/// `0.0184 %`.
pub(crate) fn percent(share: f64) -> String {
    // 95.00000000000001 is 95.
    let points = (share * 1e14).round() / 1e12;
    format!(
        "{} %",
        if points.abs() < 1e-3 && points != 0.0 { format!("{points:.1e}") } else { short(points) }
    )
}
