//! From `[[requirement]]` to the core's requirements, on any table.
//!
//! In two steps. [`expand`], once, on the training table: `fairness` and `groups` become one
//! requirement with a `where` for each category and rate. [`Clause::of`], for a fitted encoder and
//! target: expressions are parsed, each change of a counterfactual becomes a clause, `within`
//! becomes two. A [`Clause`] then makes a [`Requirement`] of the samples of any table; a saved
//! model carries the expanded requirements and is audited with the same clauses.

use std::collections::BTreeMap;

use feasible::adversary::{Attack, Judge};
use feasible::limit::{suggestion, written};
use feasible::requirement::Sense;
use feasible::{Loss, Population, Requirement};
use feasible_data::{Change, Counterfactual, Encoder, Expression, Table, TargetEncoder, visible};

use crate::error::{Error, Result};
use crate::loss::LossName;
use crate::rate::{Among, RateLosses, share_of};
use crate::recipe::MULTIPLIERS_START;
use crate::sampled_table::SampledTable;
use crate::spec::certify::check_shift;
use crate::spec::{
    Counterfactuals, EvaluationAttackSpec, LimitKey, ProblemSource, Rate, RequirementKind,
    RequirementSpec,
};
use crate::text::short;
use crate::threshold::ThresholdRoom;

/// A requirement, checked but for the samples it speaks of.
#[derive(Clone, Debug)]
pub struct Clause {
    /// Its name.
    pub name: String,
    /// The number of the `[[requirement]]` it comes from.
    pub from: usize,
    /// Average or pointwise.
    pub kind: RequirementKind,
    /// The loss whose gradient moves θ.
    pub loss: Loss,
    /// The loss that moves the multipliers, if it is another one.
    pub measure: Option<Loss>,
    /// Whose samples.
    pub filter: Option<Expression>,
    /// Only samples of this class, or of other ones.
    pub class: Option<Among>,
    /// The rate it speaks of, in words; `None` for a loss.
    pub rate: Option<String>,
    /// The class that the rate counts as positive, if it depends on one.
    pub positive: Option<String>,
    /// The difference to the loss of these.
    pub against: Option<Against>,
    /// The change under which predictions are compared.
    pub change: Option<Change>,
    /// The adversary that moves the samples it is judged by.
    pub adversary: Option<Attack>,
    /// The adversary that moves the samples it is trained on, a cheaper one; `None` for what is trained.
    pub trained_against: Option<Attack>,
    /// At least or at most.
    pub bound: Bound,
    /// The user spoke of this minus the average, of an accuracy rather than an error: 1, or 0 for a difference.
    pub complement_of: Option<f64>,
    /// The share of points that may violate it.
    pub all_but: f64,
    /// Γ: it is certified for populations where no kind of row is more than this many times as common.
    pub shift: f64,
    /// Where its multipliers start.
    pub start: f64,
    /// The size of its loss; its mean at the best constant prediction, or 1.
    pub size: f64,
    /// How much stricter it is in training than stated.
    pub margin: f64,
    /// How much stricter it must be met in training so that a reserve will certify it.
    pub room: f64,
    /// Left to the threshold of the decisions, not trained: by how much stricter it must be on the rows that choose it.
    pub by_threshold: Option<ThresholdRoom>,
    /// Whether it is as it is trained: a precision is then weighed so that its violations are of about the size of
    /// those of the ratio.
    pub trained: bool,
}

/// Whom a rate is compared with.
#[derive(Clone, Debug)]
pub enum Against {
    /// All samples (of the clause's class).
    Everyone,
    /// Those an expression selects.
    Where(Expression),
}

/// The limit and its direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// … ≤ c.
    AtMost(f64),
    /// … ≥ c.
    AtLeast(f64),
}

impl Bound {
    /// The limit c.
    pub fn limit(self) -> f64 {
        match self {
            Self::AtMost(c) | Self::AtLeast(c) => c,
        }
    }
}

/// Makes one requirement of each category and rate where `groups` and `fairness` ask for it.
///
/// # Errors
/// Keys that do not go together, or an unknown column.
pub fn expand(
    source: &ProblemSource,
    specs: &[RequirementSpec],
    table: &Table,
    encoder: &Encoder,
) -> Result<Vec<(usize, RequirementSpec)>> {
    let mut all = Vec::new();
    for (at, spec) in specs.iter().enumerate() {
        let key = |name: &str| format!("requirement[{at}].{name}");
        if spec.fairness.is_some() && (spec.rate.is_some() || spec.loss.is_some()) {
            return Err(source.at(&key("fairness"), "give only one of loss, rate and fairness"));
        }
        if spec.fairness.is_some() && spec.groups.is_none() {
            let message = "fairness compares groups: name their column with groups = \"…\"";
            return Err(source.at(&key("fairness"), message));
        }
        if let (Some(_), Some(given)) = (spec.fairness, LimitKey::of(spec))
            && given != LimitKey::Within
        {
            let c = written(spec.at_most.or(spec.at_least).unwrap_or_default());
            let message = format!(
                "limits a rate itself, and fairness limits how far the rates of the groups are apart: did you mean \
                 within = {c}?"
            );
            return Err(source.at(&key(given.name()), message));
        }
        let rates: Vec<Option<Rate>> = match spec.fairness {
            Some(fairness) => fairness.rates().iter().copied().map(Some).collect(),
            None => vec![spec.rate],
        };
        for rate in &rates {
            let mut one = spec.clone();
            // In one line, wherever it is shown; the problem file keeps it as it is.
            one.name = visible(&spec.name).into_owned();
            (one.rate, one.fairness) = (*rate, None);
            if let (true, Some(rate)) = (rates.len() > 1, rate) {
                one.name = format!("{}: {}", one.name, rate.name());
            }
            let Some(column) = one.groups.take() else {
                all.push((at, one));
                continue;
            };
            let categories = group_categories(table, encoder, &column)
                .map_err(|e| source.about(&key("groups"), e))?;
            let given = match &one.filter {
                Some(text) => Some(
                    Expression::parse(text).map_err(|e| source.at(&key("where"), e.to_string()))?,
                ),
                None => None,
            };
            for (category, condition) in categories {
                let filter = match given.clone() {
                    Some(given) => given.and(condition),
                    None => condition,
                };
                let filter = filter.to_string();
                let name = format!("{}: {}", one.name, visible(&category));
                let against = one.against.clone().or(one.within.map(|_| "everyone".into()));
                all.push((
                    at,
                    RequirementSpec { name, filter: Some(filter), against, ..one.clone() },
                ));
            }
        }
    }
    Ok(all)
}

/// The categories of a column and the expression that selects each: as encoded if it is an input.
fn group_categories(
    table: &Table,
    encoder: &Encoder,
    column: &str,
) -> Result<Vec<(String, Expression)>, feasible_data::Error> {
    if let Ok((variable, _)) = encoder.variable(column)
        && let Some(categories) = variable.categories()
    {
        let of = |l: &String| (l.clone(), Expression::is(column, l, true));
        return Ok(categories.iter().map(of).collect());
    }
    match &table.column(column)?.cells {
        feasible_data::Cells::Categories(categories) => {
            let of = |l: &String| (l.clone(), Expression::is(column, l, false));
            Ok(categories.names.iter().map(of).collect())
        }
        feasible_data::Cells::Numbers(_) => Err(feasible_data::Error::Kind {
            column: column.to_string(),
            found: "a number".into(),
            needed: "groups are categories: bin it or declare it categorical".into(),
        }),
    }
}

/// By how much stricter an average must be met for its limit to hold wherever no kind of row becomes more than `shift` times as
/// common: (c − f)(1 − 1/Γ), f the least value that it can have.
fn for_shift(bound: Bound, shift: f64, measure: &Loss, is_difference: bool) -> f64 {
    // A precision is against its own limit, and gets the share that the limit leaves.
    let (most, limit) = match measure {
        Loss::FalseDiscovery { rate, .. } => (1.0, Bound::AtMost(*rate)),
        _ => (measure.properties(2).bound.unwrap_or(f64::INFINITY), bound),
    };
    let room = match limit {
        Bound::AtMost(c) => c - if is_difference { -most } else { 0.0 },
        Bound::AtLeast(c) => most - c,
    };
    if shift > 1.0 && room.is_finite() { room.max(0.0) * (1.0 - 1.0 / shift) } else { 0.0 }
}

/// The changes of a list of counterfactuals, each once.
pub fn changes(
    list: &[Counterfactual],
    encoder: &Encoder,
) -> Result<Vec<Change>, feasible_data::Error> {
    let mut all: Vec<Change> = Vec::new();
    // Equal changes have equal names, and there may be very many.
    let mut named = BTreeMap::<String, Vec<usize>>::new();
    for counterfactual in list {
        for change in counterfactual.changes(encoder)? {
            let same = named.entry(change.name().to_string()).or_default();
            if !same.iter().any(|&at| all[at] == change) {
                same.push(all.len());
                all.push(change);
            }
        }
    }
    Ok(all)
}

impl Clause {
    /// The clauses of an expanded requirement.
    ///
    /// # Errors
    /// Keys that are missing, contradict each other or do not fit the target.
    pub fn of(
        source: &ProblemSource,
        from: usize,
        spec: &RequirementSpec,
        encoder: &Encoder,
        target: &TargetEncoder,
        evaluation: &EvaluationAttackSpec,
    ) -> Result<Vec<Self>> {
        let key = |name: &str| format!("requirement[{from}].{name}");
        let wrong = |name: &str, message: &str| Err(source.at(&key(name), message));
        if spec.class.is_some() && spec.rate.is_none() {
            return wrong("class", "is the positive class of a rate, and there is none. Remove it");
        }
        if spec.of.is_some() && spec.loss.is_none() {
            return wrong("of", "names the target of a loss, but there is no loss. Remove it");
        }
        if spec.adversary.is_some() && !target.coordinates().is_empty() {
            let message = "an adversary attacks the prediction of a class or of one number, but several numbers are predicted: leave it out, \
                           or predict one of them";
            return wrong("adversary", message);
        }
        let of_target = |loss: LossName, at: &str| {
            let of = loss.losses_of(target, spec.of.as_deref());
            of.map_err(|(name, message)| {
                source.at(&key(if name == "loss" { at } else { name }), message)
            })
        };
        let RateLosses { loss, measure, class, complement } = match (spec.loss, spec.rate) {
            (Some(loss), None) => {
                let (loss, measure) = of_target(loss, "loss")?;
                RateLosses { loss, measure, class: None, complement: false }
            }
            (None, Some(rate)) => RateLosses::of(source, &key, rate, spec, target)?,
            (Some(_), Some(_)) => return wrong("rate", "give only one of loss, rate and fairness"),
            (None, None) => {
                return wrong("name", "requires nothing yet: give a loss, a rate or fairness");
            }
        };
        let measure = spec
            .measured_by
            .map(|loss| {
                let (loss, measure) = of_target(loss, "measured_by")?;
                Ok::<_, Error>(measure.unwrap_or(loss))
            })
            .transpose()?
            .or(measure);
        let loss = match spec.bound {
            Some(_) if loss.properties(2).bound.is_some() => {
                let own = loss.properties(2).bound.unwrap_or(1.0);
                let message =
                    format!("has no effect: {loss} is at most {own} without a bound. Remove it");
                return wrong("bound", &message);
            }
            Some(bound) => {
                loss.bounded(bound).map_err(|e| source.at(&key("bound"), e.to_string()))?
            }
            None => loss,
        };
        let parse = |name: &str, text: &str| {
            Expression::parse(text).map_err(|e| source.at(&key(name), e.to_string()))
        };
        let filter = spec.filter.as_deref().map(|text| parse("where", text)).transpose()?;
        let against = match spec.against.as_deref() {
            Some("everyone") => Some(Against::Everyone),
            Some(text) => Some(Against::Where(parse("against", text)?)),
            None if spec.within.is_some() => Some(Against::Everyone),
            None => None,
        };
        let pointwise = spec.kind == RequirementKind::Pointwise;
        if pointwise && (against.is_some() || spec.rate.is_some()) {
            return wrong("kind", "a rate, or a difference of groups, is an average");
        }
        if spec.all_but.is_some() && !pointwise {
            return wrong("all_but", "only pointwise requirements are about single samples");
        }
        let share = |name: &str, value: Option<f64>, of: &str| match value {
            Some(value) if !(0.0..1.0).contains(&value) => {
                let hint = suggestion(value);
                let message =
                    format!("{value} is not a share of the {of}: at least 0 and below 1{hint}");
                wrong(name, &message)
            }
            _ => Ok(Vec::new()),
        };
        if let Some(shift) = spec.shift {
            let judged = measure.as_ref().unwrap_or(&loss);
            check_shift(shift).map_err(|e| source.at(&key("shift"), e.to_string()))?;
            if judged.properties(2).bound.is_none() && !pointwise && shift > 1.0 {
                let message = format!(
                    "{judged} has no upper bound, so nothing is certified of its mean, on these rows or others. Give the requirement a \
                     `bound`, or remove it"
                );
                return wrong("shift", &message);
            }
            if let (Some(c), Some(most)) = (spec.within, judged.properties(2).bound)
                && (most + c) / shift < most
            {
                let message = format!(
                    "{shift} is too much for a difference of at most {c} either way, which no model keeps beyond {}: any group may \
                     change by as much. Give less, or each group a limit of its own",
                    short(1.0 + c / most)
                );
                return wrong("shift", &message);
            }
        }
        share("margin", spec.margin, "limit")?;
        share("all_but", spec.all_but, "samples")?;
        let limit = spec.at_most.or(spec.at_least).or(spec.within);
        if spec.margin.is_some_and(|share| share > 0.0) && limit == Some(0.0) {
            return wrong(
                "margin",
                "has no effect: it is a share of the limit, which is 0. Remove it",
            );
        }
        if against.is_some() {
            let name = if spec.against.is_some() { "against" } else { "within" };
            match (&spec.filter, &against) {
                (None, Some(Against::Everyone)) => {
                    let message = "compares everyone with everyone, so the difference is always 0: choose rows with `where` or `groups`";
                    return wrong(name, message);
                }
                (Some(here), Some(Against::Where(_))) if spec.against.as_ref() == Some(here) => {
                    return wrong(name, "is the same as `where`: the difference is always 0");
                }
                _ => {}
            }
        }
        let given = spec.counterfactual.as_ref();
        if given.is_some() && spec.adversary.is_some() {
            return wrong("adversary", "give only one of adversary and counterfactual");
        }
        let changes = match given {
            Some(Counterfactuals(list)) if list.is_empty() => {
                return wrong("counterfactual", "the list is empty: give a counterfactual");
            }
            Some(Counterfactuals(list)) => {
                let section = key("counterfactual");
                let found = changes(list, encoder).map_err(|e| source.about(&section, e))?;
                found.into_iter().map(Some).collect()
            }
            None => vec![None],
        };
        let adversary = match &spec.adversary {
            Some(adversary) => {
                let attack = adversary.attack(encoder, target.classes().is_some());
                Some(attack.map_err(|(name, message)| {
                    let section = key("adversary");
                    let at = if name.is_empty() { section } else { format!("{section}.{name}") };
                    source.at(&at, message)
                })?)
            }
            None => None,
        };
        let judging = match &adversary {
            Some(trained) => Some(evaluation.attack(trained).map_err(|(name, message)| {
                source.at(&format!("evaluation.attack.{name}"), message)
            })?),
            None => None,
        };
        for (name, c, sense) in [
            ("at_most", spec.at_most, Sense::AtMost),
            ("at_least", spec.at_least, Sense::AtLeast),
            ("within", spec.within, Sense::AtMost),
        ] {
            let Some(c) = c else { continue };
            let judged = measure.as_ref().unwrap_or(&loss);
            let most = judged.properties(2).bound.unwrap_or(f64::INFINITY);
            let what = match spec.rate {
                Some(rate) => format!("the {}", rate.name()),
                None => judged.to_string(),
            };
            let (what, least) = match against {
                Some(_) => (format!("a difference of {what}"), -most),
                None => (what, 0.0),
            };
            feasible::limit::check(&what, sense, c, (least, most))
                .map_err(|reason| source.at(&key(name), format!("{} {reason}", written(c))))?;
        }
        // Accuracy is 1 − error: the direction turns with it.
        let accuracy = complement;
        let one = if against.is_some() { 0.0 } else { 1.0 };
        let bounds = match (spec.at_most, spec.at_least, spec.within) {
            (Some(c), None, None) if accuracy => vec![Bound::AtLeast(one - c)],
            (None, Some(c), None) if accuracy => vec![Bound::AtMost(one - c)],
            (Some(c), None, None) => vec![Bound::AtMost(c)],
            (None, Some(c), None) => vec![Bound::AtLeast(c)],
            (None, None, Some(c)) if c >= 0.0 => vec![Bound::AtMost(c), Bound::AtLeast(-c)],
            (None, None, Some(_)) => return wrong("within", "must be at least 0"),
            (None, None, None) => {
                return wrong("name", "has no limit: give at_most, at_least or within");
            }
            _ => return wrong("at_most", "give only one of at_most, at_least and within"),
        };
        let of_class = spec.rate.is_some_and(Rate::is_of_class);
        let second = target.classes().and_then(|classes| classes.get(1));
        let positive = spec.class.as_ref().or(second.filter(|_| of_class)).cloned();
        let rate = spec.rate.map(|rate| match &positive {
            Some(class) => format!("{} of '{}'", rate.name(), visible(class)),
            None => rate.name().to_string(),
        });
        let several = changes.len() > 1;
        let mut clauses = Vec::new();
        for change in changes {
            for &bound in &bounds {
                let mut name = spec.name.clone();
                if let (true, Some(change)) = (several, &change) {
                    name = format!("{name}: {}", change.name());
                }
                if bounds.len() > 1 {
                    let above = matches!(bound, Bound::AtMost(_)) != accuracy;
                    name += if above { " (not above)" } else { " (not below)" };
                }
                clauses.push(Self {
                    name,
                    from,
                    kind: spec.kind,
                    loss: loss.clone(),
                    measure: measure.clone(),
                    filter: filter.clone(),
                    class,
                    rate: rate.clone(),
                    positive: positive.clone(),
                    against: against.clone(),
                    change: change.clone(),
                    adversary: judging.clone(),
                    trained_against: adversary.clone(),
                    bound,
                    complement_of: accuracy.then_some(one),
                    all_but: spec.all_but.unwrap_or(0.0),
                    shift: spec.shift.unwrap_or(1.0),
                    start: spec.start.unwrap_or(MULTIPLIERS_START),
                    size: 1.0,
                    margin: (spec.margin.unwrap_or(0.0) * bound.limit().abs()).max(for_shift(
                        bound,
                        spec.shift.unwrap_or(1.0),
                        measure.as_ref().unwrap_or(&loss),
                        against.is_some(),
                    )),
                    room: 0.0,
                    by_threshold: None,
                    trained: false,
                });
            }
        }
        Ok(clauses)
    }

    /// As it is trained: the limit stricter by the room, which counts towards the margin, and against the
    /// cheaper adversary. What is left to the threshold asks nothing of the training: a limit that every rate is within.
    #[must_use]
    pub fn tightened(&self) -> Self {
        if self.by_threshold.is_some() {
            let bound = match self.bound {
                Bound::AtMost(_) => Bound::AtMost(1.0),
                Bound::AtLeast(_) => Bound::AtLeast(0.0),
            };
            let (margin, room, start) = (0.0, 0.0, 0.0);
            return Self { bound, margin, room, start, trained: true, ..self.clone() };
        }
        let (adversary, trained_against) = (self.trained_against.clone(), None);
        if let Some(Loss::FalseDiscovery { .. }) = self.measure {
            // The average is of the share against this very limit: only a margin can make it stricter.
            let margin = self.margin.max(self.room);
            let (room, trained) = (0.0, true);
            return Self { margin, adversary, trained_against, room, trained, ..self.clone() };
        }
        let bound = match self.bound {
            Bound::AtMost(c) => Bound::AtMost(c - self.room),
            Bound::AtLeast(c) => Bound::AtLeast(c + self.room),
        };
        let margin = (self.margin - self.room).max(0.0);
        let (room, trained) = (0.0, true);
        Self { bound, margin, adversary, trained_against, room, trained, ..self.clone() }
    }

    /// What an attack looks for, if it judges: the worst for this requirement. In a difference of groups a sample may
    /// stand on both sides, and the attack goes by its own loss.
    pub(crate) fn judge(&self) -> Option<Judge> {
        let judges = self.against.is_none() && self.trained_against.is_some();
        let sense = match self.bound {
            Bound::AtMost(_) => Sense::AtMost,
            Bound::AtLeast(_) => Sense::AtLeast,
        };
        let measure = self.measure.as_ref().unwrap_or(&self.loss);
        judges.then(|| Judge::new(&self.loss, measure, sense))
    }

    /// An error about one of its keys.
    fn wrong(&self, key: &'static str) -> impl Fn(Error) -> Error {
        let (index, name) = (self.from, self.name.clone());
        move |error| Error::Requirement { index, name: name.clone(), key, error: Box::new(error) }
    }

    /// The key that speaks of no sample, if one does.
    ///
    /// # Errors
    /// As [`Clause::on`].
    pub(crate) fn empty_key(&self, sampled: &SampledTable<'_>) -> Result<&'static str> {
        let here = sampled.population(self.filter.as_ref(), self.class);
        let empty = here.map_err(self.wrong("where"))?.is_empty();
        Ok(if empty || self.against.is_none() { "where" } else { "against" })
    }

    /// The requirement on these samples; `None` if no sample is spoken of.
    ///
    /// # Errors
    /// [`Error::Requirement`]: expressions or changes that do not fit the table.
    pub fn on(&self, sampled: &mut SampledTable<'_>) -> Result<Option<Requirement>> {
        let view = if self.change.is_some() { "counterfactual" } else { "adversary" };
        let population = sampled.population(self.filter.as_ref(), self.class);
        let population = population.map_err(self.wrong("where"))?;
        let population = sampled.seen(population, self).map_err(self.wrong(view))?;
        if population.is_empty() {
            return Ok(None);
        }
        let mut requirement = match self.kind {
            RequirementKind::Average => {
                Requirement::average(&self.name, &population, self.loss.clone())
            }
            RequirementKind::Pointwise => {
                Requirement::pointwise(&self.name, &population, self.loss.clone())
            }
        };
        if let Some(against) = &self.against {
            let filter = match against {
                Against::Everyone => None,
                Against::Where(expression) => Some(expression),
            };
            let other = sampled.population(filter, self.class).map_err(self.wrong("against"))?;
            let other = sampled.seen(other, self).map_err(self.wrong(view))?;
            if other.is_empty() {
                return Ok(None);
            }
            requirement = requirement.minus(&other);
        }
        if let Some(measure) = &self.measure {
            requirement = requirement.measured_by(measure.clone());
        }
        let share = self.weight_of_discoveries(&population);
        let weigh = self.trained && share < 1.0;
        if weigh {
            // The average itself moves by its share only where the ratio moves by 1.
            requirement = requirement.plus(1.0 / share - 1.0, &population);
        }
        let (limit, margin) = match weigh {
            true => (self.bound.limit() / share, self.margin),
            false => (self.bound.limit(), self.margin * share),
        };
        requirement = match self.bound {
            Bound::AtMost(_) => requirement.at_most(limit),
            Bound::AtLeast(_) => requirement.at_least(limit),
        };
        Ok(Some(requirement.start(self.start).all_but(self.all_but).margin(margin)))
    }

    /// What one row of which the class is predicted weighs in the average, of a precision: the share of such rows, for
    /// which the share of the class itself stands. 1 for all other requirements.
    pub fn weight_of_discoveries(&self, population: &Population) -> f64 {
        match self.measure {
            Some(Loss::FalseDiscovery { class, .. }) => share_of(class, population),
            _ => 1.0,
        }
    }

    /// The violation up to which it counts as met: a share of its limit, or the share itself where the limit is 0.
    pub fn tolerance(&self, share: f64) -> f64 {
        match self.bound.limit().abs() {
            0.0 => share,
            limit => share * limit,
        }
    }

    /// The source columns its expressions speak of.
    pub fn columns(&self) -> Vec<&str> {
        let against = match &self.against {
            Some(Against::Where(expression)) => Some(expression),
            _ => None,
        };
        self.filter.iter().chain(against).flat_map(Expression::columns).collect()
    }
}
