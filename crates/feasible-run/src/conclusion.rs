//! How a training ended, in words: the verdict, how training ended, and what to do about requirements
//! that are not met. Terminal, page and model card take their words from here, so that they agree.
//!
//! | rows | met | not met | no requirements |
//! | --- | --- | --- | --- |
//! | training | "feasible on the training rows" | "stopped after 80 epochs: 'older' is not met on the training rows"; "infeasible" only where it is proven | "trained for 80 epochs" |
//! | test | "Every requirement is met on the test rows." | "'older' is not met on the test rows." | "No requirements were stated." |
//!
//! A requirement for which no test row counts is judged by the rows before them that tell of it; one for which none counts at all is
//! not known to be met, and the verdict says so.
//!
//! The second is the verdict: the first line of every output, `verdict` in JSON ([`RunVerdict`]), and the exit status. Where
//! training and held-out rows disagree, it names both.

use feasible::{Outcome, Solution};
use feasible_problem::plan::Plan;
use feasible_problem::spec::{LearnerName, ModelKind, RequirementKind};
use feasible_problem::text::{percent, short};
use serde::Serialize;

use crate::evaluate::{Evaluation, RequirementResult};
use crate::summary::{SeedsSummary, Summary};

/// The version of what JSON says; a field that is renamed, removed or means something else raises it.
pub const JSON_FORMAT: u32 = 1;

/// What is said where nothing is required.
pub(crate) const NO_REQUIREMENTS: &str = "No requirements were stated.";

/// What a run comes to, on the rows it is judged by. Exit status 1 is for `not-met` and `not-certified`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunVerdict {
    /// Every requirement is met.
    Met,
    /// A requirement is not met, or nothing is known of it.
    NotMet,
    /// The problem file asks for a certificate, and it is given.
    Certified,
    /// The problem file asks for a certificate, and it is not given.
    NotCertified,
    /// No requirements were stated.
    NoRequirements,
}

impl RunVerdict {
    /// Of some rows, without a certificate.
    pub fn of(evaluation: &Evaluation) -> Self {
        match (evaluation.requirements.is_empty(), evaluation.shows_met()) {
            (true, _) => Self::NoRequirements,
            (false, true) => Self::Met,
            (false, false) => Self::NotMet,
        }
    }
}

/// `summary.json`, of one run or of several seeds: the results with what they come to.
#[derive(Clone, Debug, Serialize)]
pub struct WrittenSummary<'a, T> {
    /// The version of this format.
    pub format: u32,
    /// What the run comes to.
    pub verdict: RunVerdict,
    /// The results.
    #[serde(flatten)]
    pub of: &'a T,
}

impl SeedsSummary {
    /// As it is written.
    pub fn written(&self) -> WrittenSummary<'_, Self> {
        WrittenSummary { format: JSON_FORMAT, verdict: self.verdict_state(), of: self }
    }

    /// What all runs together come to.
    pub fn verdict_state(&self) -> RunVerdict {
        let first = self.runs.first().map_or(RunVerdict::NoRequirements, Summary::verdict_state);
        match (first, self.met()) {
            (RunVerdict::NoRequirements, _) => RunVerdict::NoRequirements,
            (RunVerdict::Certified | RunVerdict::NotCertified, true) => RunVerdict::Certified,
            (RunVerdict::Certified | RunVerdict::NotCertified, false) => RunVerdict::NotCertified,
            (_, true) => RunVerdict::Met,
            (_, false) => RunVerdict::NotMet,
        }
    }

    /// One line: how many runs meet the requirements?
    pub fn verdict(&self) -> String {
        let Some(first) = self.runs.first() else { return String::new() };
        let met = self.runs.iter().filter(|run| run.met()).count();
        let n = self.runs.len();
        match self.verdict_state() {
            RunVerdict::NoRequirements => NO_REQUIREMENTS.into(),
            RunVerdict::Certified | RunVerdict::NotCertified => {
                format!("All requirements are certified in {met} of {n} runs.")
            }
            _ => {
                let few = |run: &Summary| !unknown(run.judged().1).is_empty();
                let part = first.judged().0;
                // As each of them was judged.
                let or = match part != "train" && self.runs.iter().any(few) {
                    true => " (on those before, where none of these counts for it)",
                    false => "",
                };
                format!("{met} of {n} runs meet every requirement on the {part} rows{or}.")
            }
        }
    }
}

/// Requirements that are spoken of one by one.
const MOST: usize = 5;

/// How a training ended, made to agree with what was measured on its training rows.
///
/// A learner that keeps the best epoch on validation rows calls that one feasible by them; an epoch that is kept
/// may meet what later ones did not; the attack that judges may find violated what the one that trains did not. And
/// where training was stricter than the requirements as stated, to leave
/// room for a certificate, that no model meets its limits says nothing about theirs.
pub(crate) fn outcome(plan: &Plan, solution: &Solution<f32>, train: &Evaluation) -> Outcome {
    let all_epochs = solution.epochs >= plan.settings().training.epochs;
    let stricter = plan.clauses().iter().any(|clause| clause.room > 0.0);
    let ended = &solution.outcome;
    match ended {
        Outcome::Feasible | Outcome::MaxEpochs | Outcome::Stalled
            if train.requirements.is_empty() =>
        {
            Outcome::Unconstrained
        }
        Outcome::MaxEpochs | Outcome::Stalled | Outcome::Infeasible { .. } if train.met => {
            Outcome::Feasible
        }
        Outcome::Feasible | Outcome::Converged if !train.met && all_epochs => Outcome::MaxEpochs,
        Outcome::Feasible | Outcome::Converged if !train.met => Outcome::Stalled,
        Outcome::Infeasible { .. } if stricter => Outcome::Stalled,
        ended => ended.clone(),
    }
}

impl Summary {
    /// As it is written.
    pub fn written(&self) -> WrittenSummary<'_, Self> {
        WrittenSummary { format: JSON_FORMAT, verdict: self.verdict_state(), of: self }
    }

    /// What the run comes to.
    pub fn verdict_state(&self) -> RunVerdict {
        match (self.certify, self.met()) {
            _ if self.train.requirements.is_empty() => RunVerdict::NoRequirements,
            (true, true) => RunVerdict::Certified,
            (true, false) => RunVerdict::NotCertified,
            (false, true) => RunVerdict::Met,
            (false, false) => RunVerdict::NotMet,
        }
    }

    /// One line: how training ended, and how the requirements stand on the training rows.
    pub fn headline(&self) -> String {
        let epochs = match self.epochs {
            1 => "1 epoch".to_string(),
            n => format!("{n} epochs"),
        };
        let train = &self.train;
        match &self.outcome {
            Outcome::Diverged { .. } | Outcome::Interrupted => self.outcome.to_string(),
            Outcome::Converged if train.requirements.is_empty() => "converged".into(),
            _ if train.requirements.is_empty() => match &self.cross_validation {
                Some(average) => average.training(),
                None => format!("trained for {epochs}"),
            },
            Outcome::Converged if train.met => "converged, feasible on the training rows".into(),
            _ if train.met => "feasible on the training rows".into(),
            // Of the training rows: said beside held-out rows that show no violation, it would confuse.
            Outcome::Infeasible { .. } if !self.judged().1.met => self.outcome.to_string(),
            _ => {
                format!("stopped after {epochs}: {} on the training rows", not_met(&missed(train)))
            }
        }
    }

    /// One line: whether the requirements are met on the rows the model is judged by, or certified if that was
    /// asked for.
    pub fn verdict(&self) -> String {
        let (part, judged) = self.judged();
        if judged.requirements.is_empty() {
            return NO_REQUIREMENTS.into();
        }
        if self.certify {
            return self.certified();
        }
        let rows = rows_of(part);
        let (here, there) = (missed(judged), missed(&self.train));
        if judged.requirements.iter().any(|r| !r.is_known()) {
            return self.verdict_of_few(part, judged);
        }
        match (&here[..], &there[..]) {
            ([], [_, ..]) => {
                format!(
                    "The {part} rows show no violation, but {} on the training rows.",
                    not_met(&there)
                )
            }
            ([_, ..], []) => format!(
                "{}; on the training rows {}.",
                judged.verdict_on(&rows).trim_end_matches('.'),
                if here.len() == 1 { "it is" } else { "they are" }
            ),
            _ => judged.verdict_on(&rows),
        }
    }

    /// The verdict where the rows the model is judged by tell nothing of some requirements.
    fn verdict_of_few(&self, part: &str, judged: &Evaluation) -> String {
        let rows = rows_of(part);
        let (mut missed_before, mut shown, mut failed, mut unknown) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut shown_on, mut failed_on) = (Vec::new(), Vec::new());
        for (at, (train, standing)) in
            self.train.requirements.iter().zip(&judged.requirements).enumerate()
        {
            let name = standing.name.as_str();
            match self.deciding(at) {
                _ if standing.is_known() && standing.met && !train.met => missed_before.push(name),
                _ if standing.is_known() => {}
                Some((part, deciding)) if deciding.met => {
                    shown.push(name);
                    shown_on.push(part);
                }
                Some((part, _)) => {
                    failed.push(name);
                    failed_on.push(part);
                }
                None => unknown.push(name),
            }
        }
        let here = missed(judged);
        let known = judged.requirements.iter().any(RequirementResult::is_known);
        let none = |names: &[&str], rows: &str| format!("none of {rows} counts for {}", it(names));
        // What is not met first.
        let mut parts = Vec::new();
        if !here.is_empty() {
            parts.push(format!("{} on {rows}", not_met(&here)));
        }
        if !failed.is_empty() {
            let on = rows_of_parts(&failed_on);
            parts.push(format!("{} on {on}, and {}", not_met(&failed), none(&failed, &rows)));
        }
        if !unknown.is_empty() {
            let none = match part {
                "train" => none(&unknown, &rows),
                _ => format!("no row counts for {}", it(&unknown)),
            };
            parts.push(format!("nothing is known of {}: {none}", named(&unknown)));
        }
        if !shown.is_empty() {
            let (on, are) = (rows_of_parts(&shown_on), if shown.len() == 1 { "is" } else { "are" });
            let shown_names = named(&shown);
            parts.push(format!("{shown_names} {are} met on {on}, and {}", none(&shown, &rows)));
        }
        if here.is_empty() && !missed_before.is_empty() {
            parts.push(format!(
                "{rows} show no violation, but {} on the training rows",
                not_met(&missed_before)
            ));
        } else if here.is_empty() && known {
            parts.push(format!("every other requirement is met on {rows}"));
        }
        sentence(&parts)
    }

    fn certified(&self) -> String {
        let taken = self.ladder.as_ref().is_none_or(|rungs| rungs.iter().any(|rung| rung.taken));
        match &self.certificate {
            Some(certificate) if taken || !certificate.all_certified() => certificate.verdict(),
            _ if !taken => "No model of the ladder is certified.".into(),
            None if self.judged().1.requirements.len() == 1 => {
                "The requirement is not certified.".into()
            }
            _ => "The requirements are not certified.".into(),
        }
    }
}

impl Evaluation {
    /// One line: are the requirements met on these rows? `rows` says which they are: `the test rows`.
    pub fn verdict_on(&self, rows: &str) -> String {
        match RunVerdict::of(self) {
            RunVerdict::NoRequirements => NO_REQUIREMENTS.into(),
            RunVerdict::Met => format!("Every requirement is met on {rows}."),
            _ => {
                let (here, unknown) = (missed(self), unknown(self));
                let mut parts = Vec::new();
                if !here.is_empty() {
                    parts.push(format!("{} on {rows}", not_met(&here)));
                }
                if !unknown.is_empty() {
                    let (names, it) = (named(&unknown), it(&unknown));
                    let none = format!("none of {rows} counts for {it}");
                    parts.push(format!("nothing is known of {names}: {none}"));
                }
                if here.is_empty() && unknown.len() < self.requirements.len() {
                    parts.push(format!("every other requirement is met on {rows}"));
                }
                sentence(&parts)
            }
        }
    }
}

/// `the training rows`.
pub(crate) fn rows_of(part: &str) -> String {
    format!("the {} rows", if part == "train" { "training" } else { part })
}

/// The rows of all these parts.
fn rows_of_parts(parts: &[&str]) -> String {
    match parts {
        [first, rest @ ..] if rest.iter().all(|part| part == first) => rows_of(first),
        _ => "the training and validation rows".into(),
    }
}

/// One sentence.
fn sentence(parts: &[String]) -> String {
    let text = parts.join("; ");
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).chain(std::iter::once('.')).collect()
    })
}

/// What these are called afterwards.
fn it(names: &[&str]) -> &'static str {
    if names.len() == 1 { "it" } else { "them" }
}

/// The names of requirements for which no row counts.
pub(crate) fn unknown(evaluation: &Evaluation) -> Vec<&str> {
    let unknown = evaluation.requirements.iter().filter(|r| !r.is_known());
    unknown.map(|r| r.name.as_str()).collect()
}

/// The names of requirements that are not met.
pub(crate) fn missed(evaluation: &Evaluation) -> Vec<&str> {
    evaluation.requirements.iter().filter(|r| !r.met).map(|r| r.name.as_str()).collect()
}

/// `'older', 'recall' and 2 more are not met`.
pub(crate) fn not_met(names: &[&str]) -> String {
    match names {
        [] => "nothing is violated".into(),
        [_] => format!("{} is not met", named(names)),
        _ => format!("{} are not met", named(names)),
    }
}

/// `'older', 'recall' and 2 more`.
pub(crate) fn named(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("'{one}'"),
        [one, two] => format!("'{one}' and '{two}'"),
        [one, two, three] => format!("'{one}', '{two}' and '{three}'"),
        [one, two, rest @ ..] => format!("'{one}', '{two}' and {} more", rest.len()),
    }
}

/// What to know and to try where a requirement is not met on the training rows or on those the model is judged
/// by; nothing if all are.
pub(crate) fn advice(plan: &Plan, summary: &Summary) -> Vec<String> {
    let (part, judged) = summary.judged();
    let train = &summary.train;
    let pairs = train.requirements.iter().zip(&judged.requirements).enumerate();
    let unmet: Vec<_> = pairs.filter(|(_, (train, judged))| !(train.met && judged.met)).collect();
    if unmet.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<String> = Vec::new();
    for (at, (train, judged)) in unmet.iter().take(MOST) {
        let all_but = plan.clauses().get(*at).map_or(0.0, |clause| clause.all_but);
        let held_out = (part != "train").then_some((part, *judged));
        lines.push(standing(train, held_out, all_but));
    }
    if unmet.len() > MOST {
        lines.push(format!("{} more requirements are not met.", unmet.len() - MOST));
    }
    if matches!(summary.outcome, Outcome::Diverged { .. }) {
        lines.push("Training diverged: lower `training.rate` or the dual rate first.".into());
    } else if train.met {
        let met = match train.shows_met() {
            true => "Every requirement is met",
            false => "No requirement is violated",
        };
        lines.push(format!(
            "{met} on the training rows, but not on the {part} rows. Try a stricter limit in \
             training (`certify = 0.95` computes one), more rows, or a smaller model."
        ));
    } else {
        lines.push(next_steps(plan, summary));
    }
    lines
}

/// Where a requirement stands, and which limit it would meet.
fn standing(
    train: &RequirementResult,
    held_out: Option<(&str, &RequirementResult)>,
    all_but: f64,
) -> String {
    let sign = if train.sense == ">=" { "≥" } else { "≤" };
    let parts = || std::iter::once(("training", train)).chain(held_out);
    let measured: Vec<String> = parts()
        .filter_map(|(part, s)| {
            let met = if s.met { "met" } else { "not met" };
            match s.kind {
                RequirementKind::Average => {
                    Some(format!("{} on the {part} rows ({met})", short(s.value?)))
                }
                RequirementKind::Pointwise => Some(format!(
                    "violated for {} of the {part} rows ({met}), by up to {}",
                    percent(s.violated?),
                    short(s.worst_violation?.max(0.0))
                )),
            }
        })
        .collect();
    let allowed = match all_but {
        0.0 => String::new(),
        share => format!(" for all but {}", percent(share)),
    };
    let mut text = format!(
        "'{}', {sign} {}{allowed}: {}",
        train.name,
        short(train.limit),
        measured.join(", ")
    );
    let up = train.sense != ">=";
    let reached = parts().filter_map(|(_, s)| match s.kind {
        RequirementKind::Average => s.value,
        RequirementKind::Pointwise if up => Some(s.limit + s.worst_violation?),
        RequirementKind::Pointwise => Some(s.limit - s.worst_violation?),
    });
    let reached = reached.reduce(|a, b| if up { a.max(b) } else { a.min(b) });
    if let Some(reached) = reached.filter(|x| x.is_finite()) {
        let everyone = if train.kind == RequirementKind::Pointwise { " for every row" } else { "" };
        let which = if parts().count() > 1 { "both" } else { "these rows" };
        text += &format!(". A limit of {} would be met{everyone} on {which}", outward(reached, up));
        let share = parts().filter_map(|(_, s)| s.violated).fold(0.0, f64::max);
        if train.kind == RequirementKind::Pointwise && share < 1.0 {
            text += &format!("; this limit with `all_but = {}`", outward(share, true));
        }
    }
    text + "."
}

/// Three significant digits, rounded up or down.
fn outward(x: f64, up: bool) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let unit = 10f64.powi(x.abs().log10().floor() as i32 - 2);
    let digits = (-unit.log10().round()).clamp(0.0, 300.0) as usize;
    let shown = |steps: f64| format!("{:.digits$}", steps * unit);
    let holds = |text: &str| text.parse().is_ok_and(|y: f64| if up { y >= x } else { y <= x });
    // What rounding took away is given back.
    let nearest = (x / unit).round();
    let text = match shown(nearest) {
        text if holds(&text) => text,
        _ => shown(if up { nearest + 1.0 } else { nearest - 1.0 }),
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

fn next_steps(plan: &Plan, summary: &Summary) -> String {
    let spec = plan.spec();
    let learner = plan.settings().training.learner.name();
    let mut steps = vec!["relax a limit".to_string()];
    steps.push(match spec.model.kind {
        ModelKind::Linear | ModelKind::Kernel => {
            "use a richer model (`model.kind = \"mlp\"`)".into()
        }
        ModelKind::Auto | ModelKind::Mlp => {
            let widest = spec.model.hidden.iter().flatten().copied().max().unwrap_or(1);
            format!("use a richer model (`model.hidden = [{}]`)", widest.saturating_mul(4))
        }
        _ => "use a richer model".into(),
    });
    // More epochs are no advice where the best one was long ago.
    let given_up = matches!(summary.outcome, Outcome::Infeasible { .. });
    if !given_up && summary.kept_epoch.is_some_and(|kept| 2 * kept >= summary.epochs) {
        let epochs = summary.epochs.max(1).saturating_mul(4);
        steps.push(format!("train longer (`training.epochs = {epochs}`)"));
    }
    match (learner, spec.model.kind) {
        (LearnerName::Exact, _) => steps.push("try `training.learner = \"alternating\"`".into()),
        (_, ModelKind::Linear | ModelKind::Kernel) => {
            steps.push("try `training.learner = \"exact\"`".into());
        }
        _ => {}
    }
    let last = steps.pop().unwrap_or_default();
    let mut text = format!("What to try: {}, or {last}.", steps.join(", "));
    let swept = missed(&summary.train).into_iter().find_map(|name| {
        let from = plan.clauses().iter().find(|clause| clause.name == name)?.from;
        let requirement = spec.requirements.get(from)?;
        let limit = requirement.at_most.or(requirement.within).or(requirement.at_least)?;
        if limit <= 0.0 {
            return None;
        }
        let met = met_limits(plan, summary, from);
        let (low, high) = match requirement.at_least {
            Some(_) => (met.fold(limit / 2.0, f64::min), limit),
            None => {
                // Every model meets a rate of at most 1.
                let most = if requirement.rate.is_some() { 0.1 * limit + 0.9 } else { f64::MAX };
                (limit, met.fold((4.0 * limit).min(most), f64::max))
            }
        };
        Some((requirement.name.as_str(), outward(low, false), outward(high, true)))
    });
    if let Some((name, low, high)) = swept {
        text += &format!(
            " `feasible sweep {} --requirement '{name}' --limits {low}..{high}` shows what each limit costs.",
            plan.name()
        );
    }
    text
}

/// Limits that this model meets, of the clauses of a requirement on all rows it is judged by.
fn met_limits<'a>(
    plan: &'a Plan,
    summary: &'a Summary,
    from: usize,
) -> impl Iterator<Item = f64> + 'a {
    let parts = [&summary.train, summary.judged().1];
    let results = parts.into_iter().flat_map(|part| &part.requirements);
    let clauses = plan.clauses().iter().cycle();
    results.zip(clauses).filter(move |(_, clause)| clause.from == from).filter_map(
        move |(result, _)| {
            let up = result.sense != ">=";
            let reached = match result.kind {
                RequirementKind::Average => result.value?,
                RequirementKind::Pointwise if up => result.limit + result.worst_violation?,
                RequirementKind::Pointwise => result.limit - result.worst_violation?,
            };
            // Both sides of a difference have one limit.
            let within = plan.spec().requirements.get(from)?.within.is_some();
            let reached = if within { reached.abs() } else { reached };
            reached.is_finite().then_some(reached)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_proposed_is_met() {
        for (x, up, shown) in [
            (0.182_34, true, "0.183"),
            (0.182_34, false, "0.182"),
            (0.15, true, "0.15"),
            (1234.5, true, "1240"),
            (-0.012_34, true, "-0.0123"),
            (-0.012_34, false, "-0.0124"),
            (3.2e-7, true, "0.00000032"),
            (0.0, true, "0"),
        ] {
            assert_eq!(outward(x, up), shown);
            let parsed: f64 = outward(x, up).parse().unwrap();
            assert!(if up { parsed >= x } else { parsed <= x }, "{x} {up}");
        }
    }
}
