//! A certification in words that a lawyer and a statistician would both sign.

use feasible::certificate::{Certificate, Finding, RowsNeeded, Simultaneous, Verdict};
use feasible::requirement::Sense;
use feasible_problem::held_out::Repetition;
use feasible_problem::text::{
    Align, Grid, Page, grouped, precise_percent as percent, round_up, short,
};

use super::Certification;
use crate::conclusion::{NO_REQUIREMENTS, RunVerdict, named};
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
        let mut grid = Grid::new().ranked(&[0, 0, 2, 1, 0, 0, 3]);
        let short_list = !page.whole && findings.len() > MOST_LISTED;
        let is_listed = |f: &&Finding| !short_list || f.verdict != Verdict::Certified;
        let mut listed: Vec<&Finding> = findings.iter().filter(is_listed).collect();
        listed.sort_by_key(|f| severity(f));
        let noun = self.noun();
        let carries = listed.iter().any(|f| f.still_true_if.is_some());
        let last = |cell: String| carries.then_some(cell);
        let head = ["requirement", "limit", noun, "sample", "bound", ""].map(String::from);
        grid.row(head.into_iter().chain(last(STILL_TRUE_IF.into())));
        for f in &listed {
            let symbol = symbol(f);
            let cells = [
                f.name.clone(),
                format!("{symbol} {}", shown(f, f.limit)),
                grouped(f.rows as usize),
                f.estimate.map_or("".into(), |x| shown(f, x)),
                bound(&self.certificate, f).unwrap_or_default(),
                verdict(&self.certificate, f),
            ];
            grid.row(cells.into_iter().chain(last(still_true_if(f).unwrap_or("–".into()))));
        }
        if findings.is_empty() {
            text += "No requirements were stated.\n";
        } else if !listed.is_empty() {
            let table = grid.on(
                page,
                &[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left],
            );
            text += &table;
            text += "\n";
            // Where the page is too narrow for the column.
            let wide = table.contains(STILL_TRUE_IF);
            for f in listed.iter().filter(|_| !wide) {
                if let Some(condition) = still_true_if(f) {
                    text += &format!("{}: {STILL_TRUE_IF} {condition}.\n", f.name);
                }
            }
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
        let mut failed: Vec<&Finding> = self.certificate.findings.iter().collect();
        failed.retain(|f| f.verdict != Verdict::Certified);
        failed.sort_by_key(|f| severity(f));
        let violated = failed.iter().take_while(|f| f.verdict == Verdict::Violated).count();
        let names: Vec<&str> = failed.iter().map(|f| f.name.as_str()).collect();
        let (violated, rest) = names.split_at(violated);
        let are = |names: &[&str]| if names.len() == 1 { "is" } else { "are" };
        match (self.verdict_state(), violated, rest) {
            (RunVerdict::NoRequirements, ..) => NO_REQUIREMENTS.into(),
            (RunVerdict::Certified, [], []) => "Every requirement is certified.".into(),
            // As one claim, where not each by itself.
            (RunVerdict::Certified, ..) => "All requirements together are certified.".into(),
            (_, [], []) => "The requirements are not certified.".into(),
            (_, [], rest) => format!("{} {} not certified.", named(rest), are(rest)),
            (_, violated, []) => format!("{} {} violated.", named(violated), are(violated)),
            (_, violated, rest) => format!(
                "{} {} violated; {} {} not certified.",
                named(violated),
                are(violated),
                named(rest),
                are(rest)
            ),
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
            [f] if !several => {
                let bound = bound_shown(&self.certificate, f).unwrap_or_else(|| shown(f, f.limit));
                text +=
                    &format!("{draw}, {} is {} {bound}{}.\n", f.subject, f.side(), f.whose_rows());
            }
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
                    text += &format!("  {}: {}{}.\n", f.name, f.claim_at_limit(), f.whose_rows());
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
        let inside = |f: &&&Finding| f.bound.is_some_and(|bound| bound != f.limit);
        let inside = certified.iter().filter(inside).count();
        if !self.chosen && several && inside > 0 {
            text += &format!(
                "On their own, with the same probability, the bounds inside certified limits hold: at {} each.\n",
                percent(self.certificate.delta.value() / findings.len() as f64)
            );
        }
        let not_certified = if together { "not certified by itself" } else { "not certified" };
        for f in of(Verdict::Met).filter(|f| !f.has_no_bound()) {
            let more = match (rows_to_certify(f), f.rows_needed) {
                (Some((more, all)), _) => format!(
                    "at this margin, certifying it takes about {} more {} ({} in all)",
                    grouped(more as usize),
                    self.noun(),
                    grouped(all as usize)
                ),
                (None, Some(RowsNeeded::MoreThan(n))) => format!(
                    "at this margin, certifying it takes more than {} {}",
                    grouped(n as usize),
                    self.noun()
                ),
                _ => "the sample is at the limit, and no number of rows would certify it".into(),
            };
            let sample = f.estimate.map_or("unknown".into(), |x| shown(f, x));
            let bound = f.bound.filter(|_| !together).map(|x| outward(f, x));
            let bound = bound.map_or(String::new(), |bound| format!(", with the bound at {bound}"));
            text += &format!(
                "{} is met in the sample, {not_certified}: {} is {sample}{bound}; {more}.\n",
                f.name, f.subject,
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
    fn side(&self) -> &'static str;
    fn claim_at_limit(&self) -> String;
    fn has_no_bound(&self) -> bool;
    fn whose_rows(&self) -> String;
}

impl Words for Finding {
    /// It is about the share of those who violate a limit of their own.
    fn is_pointwise(&self) -> bool {
        self.subject.starts_with("the share of the population")
    }

    fn side(&self) -> &'static str {
        if self.sense == Sense::AtMost { "at most" } else { "at least" }
    }

    fn claim_at_limit(&self) -> String {
        format!("{} is {} {}", self.subject, self.side(), shown(self, self.limit))
    }

    /// In which populations beside that of the rows, if that is what was certified.
    fn whose_rows(&self) -> String {
        let base_rate = self.still_true_if.as_ref().and_then(|still| still.base_rate);
        match base_rate {
            Some((low, high)) => {
                format!(" wherever the base rate is {} to {}", percent(low), percent(high))
            }
            None if self.shift > 1.0 => format!(
                " wherever no kind of row is more than {} times as common as in the population of these rows",
                short(self.shift)
            ),
            None => String::new(),
        }
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

/// The bound behind the verdict, as people read it: `all but 0.0184 %`, `≤ 0.12`.
pub fn bound(certificate: &Certificate, finding: &Finding) -> Option<String> {
    Some(format!("{} {}", symbol(finding), bound_shown(certificate, finding)?))
}

/// The bound rounded outwards, but not beyond a limit that is certified.
fn bound_shown(certificate: &Certificate, finding: &Finding) -> Option<String> {
    let bound = finding.bound?;
    let certified = match finding.verdict {
        Verdict::Certified => true,
        Verdict::Met => certificate.all_hold(),
        _ => false,
    };
    let text = outward(finding, bound);
    let beyond = |x: f64| match finding.sense {
        Sense::AtMost => x > finding.limit,
        Sense::AtLeast => x < finding.limit,
    };
    let limit_counts = certified && (beyond(bound) || beyond(as_number(&text)));
    Some(if limit_counts { shown(finding, finding.limit) } else { text })
}

/// A number as it is shown, rounded to the side on which a bound remains one.
fn outward(finding: &Finding, x: f64) -> String {
    let away = if finding.sense == Sense::AtMost { 1.0 } else { -1.0 };
    let rounded = |by: f64| shown(finding, x + away * by * x.abs());
    let holds = |text: &String| away * as_number(text) >= away * x - 1e-12 * x.abs();
    let mut nudged = [0.0, 5e-5, 2e-4, 5e-4, 5e-3, 5e-2].into_iter().map(rounded);
    nudged.find(holds).unwrap_or_else(|| shown(finding, x))
}

/// The number that a text shows.
fn as_number(text: &str) -> f64 {
    match text.strip_suffix(" %") {
        Some(points) => points.parse().unwrap_or(f64::NAN) / 100.0,
        None => text.parse().unwrap_or(f64::NAN),
    }
}

/// Rows that are missing to certify what is met, rounded, and how many there would be then.
pub fn rows_to_certify(finding: &Finding) -> Option<(u64, u64)> {
    match finding.rows_needed {
        Some(RowsNeeded::About(needed)) => {
            let more = round_up(needed.saturating_sub(finding.rows).max(1));
            Some((more, finding.rows.saturating_add(more)))
        }
        _ => None,
    }
}

/// How bad a verdict is: the worst first.
pub(crate) fn severity(finding: &Finding) -> u8 {
    match finding.verdict {
        Verdict::Violated => 0,
        Verdict::Open => 1,
        Verdict::Met => 2,
        Verdict::Certified => 3,
    }
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

const BOTH: &str = ", whatever the base rate and the mix of groups are";

/// The heading of [`still_true_if`].
const STILL_TRUE_IF: &str = "still true if";

/// For which other populations a certified requirement holds: `no kind of row becomes more than 3.4 times as common`.
pub fn still_true_if(finding: &Finding) -> Option<String> {
    let still = finding.still_true_if.as_ref()?;
    if let Some((low, high)) = still.base_rate {
        let (low, high) = (percent(low), percent(high));
        return Some(format!("the base rate is {low} to {high}, with each class as it is"));
    }
    let two = finding.subject.contains(" minus that");
    let (within, whatever) = match (still.any_base_rate, still.any_group_mix) {
        (true, true) if two => (" of the class in either group", BOTH),
        (true, true) => (" of the class in the group", BOTH),
        (true, false) => (" of the class", ", whatever the base rate is"),
        (false, true) if two => (" in either group", ", whatever the mix of groups is"),
        (false, true) => (" in the group", ", whatever the mix of groups is"),
        (false, false) => ("", ""),
    };
    match still.shift {
        Some(shift) => {
            Some(format!("no kind of row{within} becomes {} common{whatever}", factor(shift)))
        }
        None if within.is_empty() => None,
        None => Some(format!("rows{within} stay as they are{whatever}")),
    }
}

/// `more than 3.4 times as`, rounded down.
fn factor(shift: f64) -> String {
    let step = if shift < 2.0 { 100.0 } else { 10.0 };
    match shift {
        _ if shift < 1.01 => "more".into(),
        _ if shift < 10.0 => format!("more than {} times as", (shift * step).floor() / step),
        _ => format!("more than {} times as", grouped(shift as usize)),
    }
}

/// A share as a percentage, another number as it is.
fn shown(finding: &Finding, x: f64) -> String {
    if finding.subject.starts_with("the expected") { short(x) } else { percent(x) }
}
