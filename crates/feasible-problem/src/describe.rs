//! A plan in mathematical words: what `feasible check` prints.

use std::fmt::Write;

use feasible::adversary::{Attack, Norm, Prior};
use feasible::{Loss, Model};
use feasible_data::{Limits, visible};

use crate::clause::{Against, Bound, Clause};
use crate::plan::Plan;
use crate::spec::{LearnerName, RequirementKind};
use crate::text::{bytes, grouped, short};

impl Plan {
    /// The resolved problem, the columns fed to the model, and the size of everything.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_problem(&mut text);
        let _ = self.write_columns(&mut text);
        let _ = self.write_sizes(&mut text);
        text
    }

    fn write_problem(&self, out: &mut String) -> std::fmt::Result {
        let title = self.spec().title.as_deref();
        let title = title.map_or(String::new(), |t| format!(": {}", visible(t)));
        writeln!(out, "{}{title}", visible(self.name()))?;
        let objective = self.train().objective();
        let decay = self.train().decay();
        let penalty =
            if decay > 0.0 { format!(" + {}/2 ‖θ‖²", short(decay)) } else { String::new() };
        let target = &self.data().target;
        let y = match target.classes() {
            Some(classes) => format!("y = {} in {{{}}}", target.column(), classes.join(", ")),
            None => format!("y = {}, a number", target.column()),
        };
        let y = visible(&y);
        writeln!(out, "\nminimise over θ   E[ {} ]{penalty}", objective.loss())?;
        writeln!(out, "                  f_θ: {}; {y}", self.model().describe())?;
        let clauses = self.clauses();
        if clauses.is_empty() {
            writeln!(out, "subject to        nothing")?;
        }
        for (i, (clause, requirement)) in
            clauses.iter().zip(self.train().requirements()).enumerate()
        {
            let lead = if i == 0 { "subject to" } else { "" };
            let points = grouped(requirement.terms()[0].population().points());
            writeln!(out, "{lead:<18}{}", visible(&sentence(clause)))?;
            writeln!(out, "{:<18}  '{}', {points} points", "", clause.name)?;
            if requirement.is_always_met(self.model().output_width()) {
                writeln!(out, "{:<18}  note: every model meets it, whatever the data", "")?;
            }
        }
        Ok(())
    }

    fn write_columns(&self, out: &mut String) -> std::fmt::Result {
        let encoder = &self.data().encoder;
        if let Some(shape) = self.data().image_shape() {
            writeln!(out, "\npixels fed to the model ({}): {shape}", shape.len())?;
            return self
                .data()
                .warnings()
                .iter()
                .try_for_each(|text| writeln!(out, "  {}", visible(text)));
        }
        writeln!(out, "\ncolumns fed to the model ({})", encoder.width())?;
        for variable in encoder.variables() {
            let names = variable.names();
            let column = match names.len() {
                0 => format!("{}: constant in training, left out", variable.column),
                1 => names[0].clone(),
                n => format!("{} ({n}): {}", variable.column, names.join(", ")),
            };
            writeln!(out, "  {}", visible(&column))?;
        }
        Ok(())
    }

    fn write_sizes(&self, out: &mut String) -> std::fmt::Result {
        let split = &self.data().split;
        let training = &self.settings().training;
        let (p, m) = (self.parameters(), self.multipliers());
        writeln!(out, "\nsizes")?;
        writeln!(
            out,
            "  rows              {} train, {} validation, {} test",
            grouped(split.train.len()),
            grouped(split.validation.len()),
            grouped(split.test.len())
        )?;
        writeln!(out, "  parameters        {}", grouped(p))?;
        writeln!(out, "  multipliers       {}", grouped(m))?;
        writeln!(out, "  memory, about     {}", bytes(self.memory()))?;
        let learner = match training.learner.name() {
            LearnerName::Exact => "exact (Algorithm 1)",
            LearnerName::Simultaneous => "simultaneous",
            LearnerName::Alternating => "alternating",
        };
        let epochs = training.epochs;
        let work = match training.learner.first_order() {
            Some(of) => {
                let batches = split.train.len().div_ceil(of.batch_size.max(1));
                format!("{epochs} epochs of {batches} batches")
            }
            None => format!("{epochs} iterations"),
        };
        writeln!(
            out,
            "  training          {learner}, {work}, recipe {:?}",
            self.spec().training.recipe
        )?;
        let limits = self.spec().data.limits.as_ref().map(Limits::changed).unwrap_or_default();
        let limits = match limits.is_empty() {
            true => "the usual ones; [data.limits] raises them".to_string(),
            false => limits.join(", "),
        };
        writeln!(out, "  limits on files   {limits}")
    }

    /// An estimate of the memory a training takes, in bytes.
    pub fn memory(&self) -> usize {
        usize::try_from(self.estimate().total(1)).unwrap_or(usize::MAX)
    }
}

/// An adversary in words: `‖δ‖∞ ≤ 0.04, by 5 steps of 0.3333 ε`.
pub fn adversary(attack: &Attack) -> String {
    let norm = match attack.norm {
        Norm::Linf => "‖δ‖∞",
        Norm::L2 => "‖δ‖₂",
    };
    let ball = match &attack.budget.prior {
        Prior::Fixed { epsilon } => format!("{norm} ≤ {}", short(*epsilon)),
        prior => format!("{norm} ≤ ε ~ {}", law(prior)),
    };
    let restarts = match attack.restarts {
        1 => String::new(),
        n => format!(", the worst of {n} runs"),
    };
    format!("{ball}, by {} steps of {} ε{restarts}", attack.steps, short(attack.step))
}

/// A prior in words: `0.25 Beta(3, 8)`.
pub fn law(prior: &Prior) -> String {
    match prior {
        Prior::Fixed { epsilon } => short(*epsilon),
        Prior::Beta { scale, alpha, beta } => {
            format!("{} Beta({}, {})", short(*scale), short(*alpha), short(*beta))
        }
        Prior::Exponential { mean } => format!("exponential of mean {}", short(*mean)),
        Prior::Uniform { low, high } => format!("uniform on [{}, {}]", short(*low), short(*high)),
        Prior::Discrete { values, .. } => {
            let values: Vec<String> = values.iter().map(|&x| short(x)).collect();
            format!("one of {}", values.join(", "))
        }
    }
}

/// A requirement as a formula.
fn sentence(clause: &Clause) -> String {
    let views = match (&clause.change, &clause.adversary) {
        (Some(change), _) => format!(" between x and ρ(x), ρ: {}", change.name()),
        (None, Some(attack)) => {
            let trained = clause.trained_against.as_ref().map_or(0, |attack| attack.steps);
            format!(" at x + δ, {} (trained against {trained})", adversary(attack))
        }
        (None, None) => String::new(),
    };
    let whose = |filter: Option<String>| {
        let class = match clause.class {
            Some(1) => Some("y positive".to_string()),
            Some(_) => Some("y negative".to_string()),
            None => None,
        };
        let parts: Vec<String> = filter.into_iter().chain(class).collect();
        if parts.is_empty() { String::new() } else { format!(" | {}", parts.join(", ")) }
    };
    let loss = match (&clause.loss, &clause.measure) {
        (Loss::Probability { class: 0 }, Some(_)) => "predicted negative".to_string(),
        (Loss::Probability { .. }, Some(_)) => "predicted positive".to_string(),
        _ if clause.accuracy_is.is_some() => "right prediction".to_string(),
        (loss, Some(measure)) => format!("{measure} (by way of {loss})"),
        (loss, None) => loss.to_string(),
    };
    let here = whose(clause.filter.as_ref().map(ToString::to_string));
    let (symbol, limit) = match (clause.bound, clause.accuracy_is) {
        (Bound::AtMost(c), None) => ("≤", c),
        (Bound::AtLeast(c), None) => ("≥", c),
        (Bound::AtMost(c), Some(one)) => ("≥", one - c),
        (Bound::AtLeast(c), Some(one)) => ("≤", one - c),
    };
    let stricter = clause.margin.max(clause.room);
    let trained = short(if symbol == "≤" { limit - stricter } else { limit + stricter });
    let limit = short(limit);
    let sentence = match (clause.kind, &clause.against) {
        (RequirementKind::Pointwise, _) => {
            let whom = match clause.all_but {
                0.0 => "every row".to_string(),
                share => format!("all but {} % of rows", short(100.0 * share)),
            };
            format!("{loss}{views} {symbol} {limit} for {whom}{here}")
        }
        (RequirementKind::Average, None) => format!("E[ {loss}{views}{here} ] {symbol} {limit}"),
        (RequirementKind::Average, Some(against)) => {
            let there = match against {
                Against::Everyone => whose(None),
                Against::Where(expression) => whose(Some(expression.to_string())),
            };
            format!("E[ {loss}{views}{here} ] − E[ {loss}{views}{there} ] {symbol} {limit}")
        }
    };
    if stricter == 0.0 { sentence } else { format!("{sentence} (training limit {trained})") }
}
