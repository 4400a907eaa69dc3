//! A plan in mathematical words: what `feasible check` prints.

use std::fmt::Write;

use feasible::adversary::{Attack, Norm, Prior};
use feasible::{Kind, Loss, Model};
use feasible_data::{Encoding, Limits, Split, visible};

use crate::clause::{Against, Bound, Clause};
use crate::loss::LossName;
use crate::plan::Plan;
use crate::spec::{DataSpec, LearnerName, Margins, RequirementKind};
use crate::store::{self, Store};
use crate::text::{Page, bytes, grouped, short};

/// Entries of a list on a page that is not to have everything.
const MOST_LISTED: usize = 12;

/// The first of a list, and how many more there are: `a, b, … (1,988 more, -v lists them)`.
fn listed(names: &[String], most: usize) -> String {
    match names.len() > most {
        false => names.join(", "),
        true => format!(
            "{}, … ({} more; -v lists them)",
            names[..most].join(", "),
            grouped(names.len() - most)
        ),
    }
}

impl Plan {
    /// The resolved problem, the columns fed to the model, and the size of everything.
    pub fn describe(&self) -> String {
        self.describe_on(&Page::default())
    }

    /// The same for a page: of long lists the first few, unless it is to have everything.
    pub fn describe_on(&self, page: &Page) -> String {
        let most = if page.whole { usize::MAX } else { MOST_LISTED };
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_problem(&mut text, most);
        let _ = self.write_columns(&mut text, most);
        let _ = self.write_notes(&mut text);
        let _ = self.write_sizes(&mut text);
        text
    }

    fn write_problem(&self, out: &mut String, most: usize) -> std::fmt::Result {
        let title = self.spec().title.as_deref();
        let title = title.map_or(String::new(), |t| format!(": {}", visible(t)));
        writeln!(out, "{}{title}", visible(self.name()))?;
        let objective = self.train().objective();
        let decay = self.train().decay();
        let penalty =
            if decay > 0.0 { format!(" + {}/2 ‖θ‖²", short(decay)) } else { String::new() };
        let target = &self.data().target;
        let y = match target.classes() {
            Some(classes) => format!("y = {} in {{{}}}", target.column(), listed(classes, most)),
            None => match target.columns()[..] {
                [column] => format!("y = {column}, a number"),
                ref columns => format!("y = ({}), {} numbers", columns.join(", "), columns.len()),
            },
        };
        let y = visible(&y);
        let weights = self.weights_in_words().map_or(String::new(), |w| format!(", {w}"));
        writeln!(out, "\nminimise over θ   E[ {} ]{penalty}{weights}", objective.loss())?;
        writeln!(out, "                  f_θ: {}; {y}", self.model().describe())?;
        if let Some(units) = self.deviations_in_words() {
            writeln!(out, "                  {units}")?;
        }
        if decay > 0.0 && self.model().units().is_some() {
            let units = "θ is of the prediction in standard deviations of y from its mean, on the training rows";
            writeln!(out, "                  {units}")?;
        }
        let clauses = self.clauses();
        if clauses.is_empty() {
            writeln!(out, "subject to        nothing")?;
        }
        for (i, (clause, requirement)) in
            clauses.iter().zip(self.train().requirements()).enumerate().take(most)
        {
            let lead = if i == 0 { "subject to" } else { "" };
            let points = grouped(requirement.terms()[0].population().points());
            let classes = self.data().target.classes().unwrap_or_default();
            writeln!(out, "{lead:<18}{}", visible(&sentence(clause, classes)))?;
            writeln!(out, "{:<18}  '{}', {points} points", "", clause.name)?;
            if clause.shift > 1.0 {
                let times = short(clause.shift);
                let note = format!(
                    "wherever no kind of row is more than {times} times as common as here (shift)"
                );
                writeln!(out, "{:<18}  {note}", "")?;
            }
            if clause.by_threshold.is_some() {
                let note = "left to the decision threshold; not part of training";
                writeln!(out, "{:<18}  {note}", "")?;
            } else if requirement.is_always_met(self.model().output_width()) {
                writeln!(out, "{:<18}  note: every model meets it on any data", "")?;
            }
        }
        if clauses.len() > most {
            let more = grouped(clauses.len() - most);
            writeln!(out, "{:<18}… and {more} more requirements; -v lists them", "")?;
        }
        if let Some(decision) = self.spec().decision.as_ref().filter(|spec| spec.chooses()) {
            let rows = grouped(self.data().split.validation.len());
            let each = match &decision.per {
                Some(column) => format!(", one for each {}", visible(column)),
                None => String::new(),
            };
            let classes = self.data().target.classes().unwrap_or_default();
            let positive = classes.get(1).map_or("positive".into(), |class| format!("'{class}'"));
            let positive = visible(&positive);
            writeln!(
                out,
                "predict           {positive} above a threshold{each}, which maximises the {} of the {rows} validation \
                 rows under the rates required",
                decision.maximise.name()
            )?;
        }
        Ok(())
    }

    /// How several numbers count in losses of all of them: `the mean over the targets, in deviations: x 12, y 0.04`.
    fn deviations_in_words(&self) -> Option<String> {
        let targets = self.data().target.coordinates();
        if targets.is_empty() {
            return None;
        }
        if self.settings().objective == LossName::Poisson {
            return Some("the loss is the mean over the targets, counts as they are".into());
        }
        let each = targets.iter().map(|of| format!("{} {}", of.column, short(of.deviation)));
        let each = each.collect::<Vec<_>>().join(", ");
        let text = format!(
            "the loss is the mean over the targets, each in units of its standard deviation on the training rows: {each}"
        );
        Some(visible(&text).into_owned())
    }

    /// What rows weigh in the objective: `rows weighted by 'w'; a row of class no weighs 0.62, of yes 2.6`.
    pub fn weights_in_words(&self) -> Option<String> {
        let weights = self.data().weights.as_ref()?;
        let column = weights.column.as_ref().map(|name| format!("rows weighted by '{name}'"));
        let names = self.data().target.classes().unwrap_or_default();
        let classes = weights.classes.as_ref().map(|classes| {
            let each = names.iter().zip(classes).map(|(name, w)| format!("{name} {}", short(*w)));
            format!("classes weighted: {}", each.collect::<Vec<_>>().join(", "))
        });
        let parts: Vec<String> = column.into_iter().chain(classes).collect();
        Some(visible(&parts.join("; ")).into_owned())
    }

    fn write_columns(&self, out: &mut String, most: usize) -> std::fmt::Result {
        let encoder = &self.data().encoder;
        if let Some(shape) = self.data().image_shape() {
            return writeln!(out, "\npixels fed to the model ({}): {shape}", shape.len());
        }
        writeln!(out, "\ncolumns fed to the model ({})", encoder.width())?;
        let variables = encoder.variables();
        let shown = if variables.len() > most.saturating_mul(4) {
            most.saturating_mul(4)
        } else {
            variables.len()
        };
        for variable in &variables[..shown] {
            let names = variable.names();
            let column = match (&variable.encoding, names.len()) {
                (Encoding::Piecewise { knots, .. }, n) => {
                    let (first, last) = (knots[0], knots[knots.len() - 1]);
                    let pieces = knots.len() - 1;
                    let apart = &names[pieces..];
                    let lead = if apart.is_empty() { "" } else { "; apart: " };
                    format!(
                        "{} ({n}): piecewise linear, {pieces} pieces from {first} to {last}{lead}{}",
                        variable.column,
                        listed(apart, most)
                    )
                }
                (_, 0) => format!("{}: constant in training, left out", variable.column),
                (_, 1) => names[0].clone(),
                (_, n) => format!("{} ({n}): {}", variable.column, listed(&names, most)),
            };
            writeln!(out, "  {}", visible(&column))?;
        }
        match variables.len() - shown {
            0 => Ok(()),
            more => writeln!(out, "  … and {} more columns; -v lists them", grouped(more)),
        }
    }

    fn write_notes(&self, out: &mut String) -> std::fmt::Result {
        let lists = [
            ("decided about the data", &self.data().notes),
            ("decided about the training", &self.notes),
            ("where rows are kept", &self.data().store_notes),
        ];
        for (title, notes) in lists.into_iter().filter(|(_, notes)| !notes.is_empty()) {
            writeln!(out, "\n{title}")?;
            notes.iter().try_for_each(|note| writeln!(out, "  {}", visible(note)))?;
        }
        Ok(())
    }

    fn write_sizes(&self, out: &mut String) -> std::fmt::Result {
        let split = &self.data().split;
        let training = &self.settings().training;
        let [train, validation, test] = self.part_sizes().map(grouped);
        let (p, m) = (self.parameters(), self.multipliers());
        writeln!(out, "\nsizes")?;
        writeln!(out, "  rows              {train} train, {validation} validation, {test} test")?;
        writeln!(out, "  parameters        {}", grouped(p))?;
        writeln!(out, "  multipliers       {}", grouped(m))?;
        writeln!(out, "  memory, about     {}", bytes(self.memory()))?;
        if let Some(disk) = self.on_disk() {
            let place = store::directory().display().to_string();
            writeln!(out, "  on disk, about    {} in {}", bytes(disk), visible(&place))?;
        }
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
            "  training          {learner}, {work}, recipe {}",
            format!("{:?}", self.spec().training.recipe).to_lowercase()
        )?;
        if training.folds > 1 {
            writeln!(
                out,
                "  networks          {0}, each trained without one of {0} parts of the rows, averaged{1}",
                training.folds,
                match self.shares_of_networks() {
                    [_] => "",
                    _ =>
                        ";\n                    of sigmoids or of ReLUs, and mixed with linear models, as cross-validation says",
                }
            )?;
        }
        if self.leaves_encoding_open() {
            writeln!(
                out,
                "  encoding          piecewise linear numbers are standardised instead if networks are {}",
                match self.folds() > 1 {
                    true =>
                        "better\n                    with that on the rows that they have not seen",
                    false => "clearly better\n                    with that on the validation rows",
                }
            )?;
        }
        if self.leaves_activation_open() {
            writeln!(
                out,
                "  network           of sigmoids, or of ReLUs if these are clearly better on the validation rows,\n\
                 \x20                   trained without requirements"
            )?;
        }
        if training.patience > 0 {
            writeln!(
                out,
                "  early end         after {} epochs without a better model",
                grouped(training.patience as usize)
            )?;
        }
        if let Some(seconds) = training.seconds {
            writeln!(out, "  time limit        {seconds} s, then the best model so far")?;
        }
        if let Some(from) = self.validation_source() {
            writeln!(out, "  validation rows   {from}")?;
        }
        if let Some(tune) = &self.spec().tune
            && let Ok((trials, space)) = tune.read()
        {
            let keys = space.describe().join("; ");
            writeln!(out, "  tune              {trials} trials: {}", visible(&keys))?;
        }
        let limits = self.spec().data.limits.as_ref().map(Limits::changed).unwrap_or_default();
        let limits = match limits.is_empty() {
            true => "the defaults; [data.limits] raises them".to_string(),
            false => limits.join(", "),
        };
        writeln!(out, "  limits on files   {limits}")
    }

    /// Where validation rows come from, if there are any, and what they are for.
    fn validation_source(&self) -> Option<String> {
        let Split { train, validation, .. } = &self.data().split;
        if validation.is_empty() {
            return None;
        }
        if self.folds() > 1 {
            let text = "none apart: those that a network is trained without choose its epoch";
            return Some(text.to_string());
        }
        let DataSpec { split, split_by, validation: file, .. } = &self.spec().data;
        let given = file.is_some()
            || split.as_ref().is_some_and(|split| split.validation.is_some())
            || split_by.as_ref().is_some_and(|by| !by.validation.is_empty())
            || self.data().images.is_some();
        let from = match given {
            true => "as the file says".to_string(),
            false => format!(
                "taken from {} training rows (none with split.validation = 0)",
                grouped(train.len() + validation.len())
            ),
        };
        let learned = self.settings().training.margins == Margins::Learned
            && self.train().requirements().iter().any(|r| r.kind() == Kind::Average);
        let purpose = match learned {
            true => "they choose the epoch and the margins",
            false => "they choose the epoch",
        };
        Some(format!("{from}; {purpose}"))
    }

    /// An estimate of what a training keeps on disk, in bytes; `None` if it keeps its rows in memory.
    pub fn on_disk(&self) -> Option<usize> {
        let on_disk = self.spec().data.store == Some(Store::Disk);
        on_disk.then(|| usize::try_from(self.all_estimated().total(1)).unwrap_or(usize::MAX))
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
fn sentence(clause: &Clause, classes: &[String]) -> String {
    let views = match (&clause.change, &clause.adversary) {
        (Some(change), _) => format!(" between x and ρ(x), ρ: {}", change.name()),
        (None, Some(attack)) => {
            let trained = clause.trained_against.as_ref().map_or(0, |attack| attack.steps);
            format!(" at x + δ, {} (trained against {trained})", adversary(attack))
        }
        (None, None) => String::new(),
    };
    let whose =
        |filter: Option<String>| filter.map_or(String::new(), |filter| format!(" | {filter}"));
    let loss = match (&clause.loss, &clause.measure) {
        _ if clause.complement_of.is_some() => "right prediction".to_string(),
        (loss, Some(measure)) => format!("{measure} (by way of {loss})"),
        (loss, None) => loss.to_string(),
    };
    let here = whose(clause.filter.as_ref().map(ToString::to_string));
    let (symbol, limit) = match (clause.bound, clause.complement_of) {
        (Bound::AtMost(c), None) => ("≤", c),
        (Bound::AtLeast(c), None) => ("≥", c),
        (Bound::AtMost(c), Some(one)) => ("≥", one - c),
        (Bound::AtLeast(c), Some(one)) => ("≤", one - c),
    };
    let stricter = clause.margin.max(clause.room);
    let trained = short(if symbol == "≤" { limit - stricter } else { limit + stricter });
    let limit = short(limit);
    let discovery = match &clause.measure {
        Some(Loss::FalseDiscovery { class, rate }) => {
            let class = classes
                .get(*class as usize)
                .map_or_else(|| class.to_string(), |name| format!("'{name}'"));
            Some((class, short(*rate)))
        }
        _ => None,
    };
    let by_name = clause.positive.is_some() || discovery.is_some();
    let there = match &clause.against {
        Some(Against::Where(expression)) => whose(Some(expression.to_string())),
        Some(Against::Everyone) | None => whose(None),
    };
    let sentence = match (clause.kind, &clause.against) {
        // By the name of the rate, where it says more than a formula.
        (RequirementKind::Average, against) if by_name => {
            let rate = clause.rate.as_deref().unwrap_or_default();
            let other =
                against.as_ref().map_or(String::new(), |_| format!(" − {rate}{views}{there}"));
            let way = discovery.map_or(String::new(), |(class, r)| {
                let side = if symbol == "≥" { "≤" } else { "≥" };
                format!(", as E[ 1{{predicted {class}}} (1{{y ≠ {class}}} − {r}){here} ] {side} 0")
            });
            format!("{rate}{views}{here}{other} {symbol} {limit}{way}")
        }
        (RequirementKind::Pointwise, _) => {
            let whom = match clause.all_but {
                0.0 => "every row".to_string(),
                share => format!("all but {} % of rows", short(100.0 * share)),
            };
            format!("{loss}{views} {symbol} {limit} for {whom}{here}")
        }
        (RequirementKind::Average, None) => format!("E[ {loss}{views}{here} ] {symbol} {limit}"),
        (RequirementKind::Average, Some(_)) => {
            format!("E[ {loss}{views}{here} ] − E[ {loss}{views}{there} ] {symbol} {limit}")
        }
    };
    if stricter == 0.0 || clause.by_threshold.is_some() {
        sentence
    } else {
        format!("{sentence} (training limit {trained})")
    }
}
