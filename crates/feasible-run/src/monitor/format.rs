//! What a ledger proves, in words.

use feasible::monitor::MonitorVerdict;
use feasible::requirement::Sense;
use feasible_problem::text::precise_percent as percent;
use feasible_problem::text::{Align, BAD, GOOD, Grid, Page, grouped, short};

use super::report::{MonitorReport, WatchedRequirement};
use crate::conclusion::{NO_REQUIREMENTS, named};

impl MonitorReport {
    /// As a table and sentences for people.
    pub fn to_text(&self) -> String {
        self.text_on(&Page::default())
    }

    /// The same, laid out for a page.
    pub fn text_on(&self, page: &Page) -> String {
        let color = if self.drifted || self.violated { BAD } else { GOOD };
        let mut text = page.paint(color, &self.verdict());
        text += &format!(
            "\n{}: {} monitored, {} rows\n\n",
            self.problem,
            counted(self.tables.iter().filter(|table| table.labels_of.is_none()).count()),
            grouped(self.rows())
        );
        let mut grid = Grid::new().ranked(&[0, 0, 3, 2, 1, 0, 0]);
        let head = ["requirement", "limit", "rows", "last table", "average", "bound", ""];
        grid.row(head.map(String::from));
        let mut listed: Vec<&WatchedRequirement> = self.requirements.iter().collect();
        listed.sort_by_key(|one| !one.verdict.is_violation());
        for &one in &listed {
            let last = one.looks.last();
            grid.row([
                one.name.clone(),
                format!("{} {}", one.symbol(), one.shown(one.limit)),
                grouped(one.rows as usize),
                last.map_or(String::new(), |look| one.shown(look.value)),
                one.value.map_or(String::new(), |value| one.shown(value)),
                one.bound().map_or(String::new(), |bound| {
                    format!("{} {}", one.symbol(), one.shown(bound))
                }),
                one.verdict.to_string(),
            ]);
        }
        let right = Align::Right;
        text += &grid.on(page, &[Align::Left, right, right, right, right, right, Align::Left]);
        text += "\n";
        for one in listed {
            text += &format!("{}: {}\n", one.name, one.sentence());
        }
        text + &self.guarantee() + "\n"
    }

    /// One line: has a requirement drifted, or been violated since training?
    pub fn verdict(&self) -> String {
        let of = |verdict: MonitorVerdict| -> Vec<&str> {
            let some = self.requirements.iter().filter(|one| one.verdict == verdict);
            some.map(|one| one.name.as_str()).collect()
        };
        let (drifted, violated) = (of(MonitorVerdict::Drifted), of(MonitorVerdict::Violated));
        let have = |names: &[&str]| if names.len() == 1 { "has" } else { "have" };
        let drifted = (!drifted.is_empty())
            .then(|| format!("{} {} drifted", named(&drifted), have(&drifted)));
        let violated = (!violated.is_empty()).then(|| {
            format!("{} {} been violated since training", named(&violated), have(&violated))
        });
        match (drifted, violated) {
            (None, None) if self.requirements.is_empty() => NO_REQUIREMENTS.into(),
            (None, None) if self.certified => "Every requirement is certified.".into(),
            (None, None) => "No requirement has drifted.".into(),
            (Some(one), None) | (None, Some(one)) => format!("{one}."),
            (Some(drifted), Some(violated)) => format!("{drifted}; {violated}."),
        }
    }

    /// What the confidence is about.
    pub fn guarantee(&self) -> String {
        format!(
            "With probability at least {}, every CERTIFIED{} and DRIFTED that this ledger has given or will give is right, \
             however many tables follow.",
            percent(self.confidence),
            if self.violated { ", VIOLATED" } else { "" }
        )
    }
}

impl WatchedRequirement {
    /// What is proven, in a sentence.
    pub fn sentence(&self) -> String {
        let (subject, limit) = (&self.subject, self.shown(self.limit));
        let (side, wrong) = match self.sense {
            Sense::AtMost => ("at most", "more"),
            Sense::AtLeast => ("at least", "less"),
        };
        if !self.watched {
            return "not monitored, as its loss has no bound: give the requirement a `bound` and train again."
                .into();
        }
        if let Some((first, last)) = &self.drift {
            let over = if first == last {
                format!("in '{first}'")
            } else {
                format!("from '{first}' to '{last}'")
            };
            let since = match self.verdict {
                MonitorVerdict::Violated => "; it was not met when training ended either",
                _ => "",
            };
            return format!("{subject} was on average {wrong} than {limit} {over}{since}.");
        }
        let mut so_far = format!("on average over the {} so far", counted(self.looks.len()));
        if let Some(shift) = self.shift {
            let times = short(shift);
            so_far += &format!(
                ", and wherever no kind of row is more than {times} times as common as in them"
            );
        }
        let bound = self.bound().map_or(limit.clone(), |bound| self.shown(bound));
        match (self.verdict, &self.suspended, self.value) {
            (MonitorVerdict::Certified, ..) => format!("{subject} is {side} {bound} {so_far}."),
            (_, Some(since), _) => format!(
                "{subject} is {side} {bound} {so_far}, but the tables since '{since}' are evidence \
                 against it; it is not certified until they no longer are."
            ),
            (_, None, Some(value)) => format!(
                "not proven either way: {subject} is {side} {bound} {so_far} ({} in their rows), and the limit is \
                 {limit}.",
                self.shown(value)
            ),
            (_, None, None) => "it applies to no row of any table yet.".into(),
        }
    }

    /// `≤`, `≥` or `all but`.
    pub fn symbol(&self) -> &'static str {
        match (self.subject.starts_with("the share of the population"), self.sense) {
            (true, _) => "all but",
            (false, Sense::AtMost) => "≤",
            (false, Sense::AtLeast) => "≥",
        }
    }

    /// The bound on the side of the limit, at the shift that is asked for, rounded outwards to four digits.
    pub fn bound(&self) -> Option<f64> {
        match self.sense {
            Sense::AtMost => self.bound_at_shift.or(self.upper).map(|bound| -rounded_down(-bound)),
            Sense::AtLeast => self.bound_at_shift.or(self.lower).map(rounded_down),
        }
    }

    /// A share as a percentage, another number as it is.
    pub fn shown(&self, x: f64) -> String {
        if self.is_share() { percent(x) } else { short(x) }
    }

    /// Whether it is about a share, or a difference of shares.
    pub fn is_share(&self) -> bool {
        !self.subject.starts_with("the expected")
    }
}

/// Down to four significant digits.
fn rounded_down(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let scale = 10f64.powi(3 - x.abs().log10().floor() as i32);
    (x * scale).floor() / scale
}

/// `1 table`, `12 tables`.
fn counted(tables: usize) -> String {
    match tables {
        1 => "1 table".into(),
        n => format!("{} tables", grouped(n)),
    }
}
