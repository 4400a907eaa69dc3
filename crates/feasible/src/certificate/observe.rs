//! From a problem on held-out rows, a model and its θ to claims about the population.
//!
//! | requirement | number of the population | evidence |
//! | --- | --- | --- |
//! | pointwise, ℓ ≤ c | P(ℓ > c), at most ε | Clopper-Pearson |
//! | average of an indicator (error, selection, flip) | the rate | Clopper-Pearson |
//! | average of another loss in [0, B] | E\[ℓ\] | as the design specifies, betting by default |
//! | average of a loss without an upper bound | E\[ℓ\] from below; E\[min(ℓ, B)\], P(ℓ > B) | [`Unbounded`] |
//! | average of false discoveries at most r, or at least | the share of wrong ones among predictions of the class | Clopper-Pearson |
//! | difference of two rates | the difference | [`Difference`] |
//! | difference of two averages of a loss in [0, B], by betting | the difference | [`Contrast`] |
//! | any other sum of averages | Σ a E\[ℓ\] | each term at an equal part of δ |
//!
//! The unit is the row, not the point: if a row is considered under several ρ, it violates a pointwise
//! requirement if any of them does, and contributes its mean to an average. Rates of a subset are
//! conditional on how many rows are in it. A row for which an output is no finite number has, for each requirement, the
//! loss that speaks most against it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Delta;
use super::claim::Claim;
use super::contrast::Contrast;
use super::count::Count;
use super::difference::Difference;
use super::evidence::Evidence;
use super::family::{Certificate, Simultaneous};
use super::shift::{BaseRate, ByClass};
use super::unbounded::{Clipped, Unbounded, is_above};
use super::units;
use super::values::{Method, Values};
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::model::Model;
use crate::point_losses::losses;
use crate::population::Population;
use crate::problem::Problem;
use crate::requirement::{Kind, Limit, Requirement, Sense, Term};
use crate::samples::Targets;

/// All that is decided before the held-out rows are looked at.
///
/// ```
/// use feasible::certificate::{Delta, Design, Finding, MOST_ROWS, Verdict};
/// use feasible::certificate::{attainable_rate, fewest_rows, fixed_sequence};
/// use feasible::{Error, Inputs, Loss, Population, Problem, Requirement, Samples, Targets};
/// use feasible_nn::Linear;
/// let delta = Delta::confidence(0.95)?;
/// // 500 rows of class 1, and a model that says 1 everywhere but at every 25th.
/// let x = Inputs::dense((0..500).map(|i| f32::from(i % 25 == 0)).collect(), 1)?;
/// let held_out = Population::new(Samples::new(x, Targets::Classes(vec![1; 500]))?);
/// let model = Linear::new(1, 1)?;
/// let limit = |c| {
///     let smooth = Requirement::average("error", &held_out, Loss::SmoothedError);
///     let error = smooth.measured_by(Loss::Error).at_most(c);
///     Problem::minimise(&held_out, Loss::CrossEntropy).subject_to(error).check()
/// };
/// let design = Design::new(delta);
/// let certificate = design.certify(&limit(0.1)?, &model, &[-2.0, 1.0])?;
/// assert!(certificate.all_met() && certificate.all_hold() && certificate.largest_p() < 0.001);
/// let Finding { verdict, estimate, opposite, .. } = &certificate.findings[0];
/// assert_eq!((*verdict, *estimate), (Verdict::Certified, Some(0.04)));
/// // The bound on the other side would refute it above the limit.
/// assert!(opposite.is_some_and(|bound| bound < 0.04));
/// // Rows of one person count as one: twenty persons prove less.
/// let persons: Vec<u32> = (0..500).map(|row| row / 25).collect();
/// let claims = design.claims_by_unit(&limit(0.1)?, &model, &[-2.0, 1.0], &persons)?;
/// assert!(claims[0].bound(delta) > Some(0.1));
/// assert!(claims[0].opposite(delta) < claims[0].bound(delta));
/// // The logarithm of the p-value of "it does not hold": not below log δ here.
/// assert!((delta.ln()..=0.0).contains(&claims[0].ln_p_not_met(delta)));
///
/// // Before rows are looked at: what 500 of them can certify at all.
/// assert_eq!(fewest_rows(0.1, delta), 29);
/// assert!(matches!(attainable_rate(20, 0.1, delta, 0.9), Err(Error::TooFewRows { needed: 29, .. })));
/// assert!((0.06..0.08).contains(&attainable_rate(500, 0.1, delta, 0.9)?) && MOST_ROWS > 500);
/// // Models in an order that was fixed before, the most cautious first: up to the first that fails.
/// let thetas = [[-2.0, 1.0], [0.0, 1.0], [0.0, -1.0], [0.0, 1.0]];
/// let problem = limit(0.1)?;
/// assert_eq!(fixed_sequence(4, |at| design.certify(&problem, &model, &thetas[at]))?, 2);
/// # Ok::<(), feasible::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// The probability of a wrong certificate that is accepted.
    pub delta: Delta,
    /// How requirements share it.
    pub simultaneous: Simultaneous,
    /// ε: the share of the population that may violate a pointwise requirement which allows none. "None"
    /// cannot be certified from any number of rows.
    pub all_but: f64,
    /// The bound for averages of losses that are not indicators.
    pub method: Method,
    /// The seed of the order in which rows are bet on.
    pub order: u64,
    /// How common the positive class is, where that is not as in the sample.
    pub base_rate: Option<BaseRate>,
    /// Γ: every requirement is to hold wherever no kind of row becomes more than this many times as common; `None` where each
    /// has its own.
    pub shift: Option<f64>,
}

impl Design {
    /// At δ: Holm, all but 1 %, betting.
    pub fn new(delta: Delta) -> Self {
        let (simultaneous, method) = (Simultaneous::Holm, Method::Betting);
        Self { delta, simultaneous, all_but: 0.01, method, order: 0, base_rate: None, shift: None }
    }

    /// Judges the requirements of a problem whose populations are held-out rows.
    ///
    /// # Errors
    /// A model that does not fit.
    pub fn certify<M: Model>(
        &self,
        problem: &Problem,
        model: &M,
        theta: &[M::Real],
    ) -> Result<Certificate> {
        let claims = self.claims(problem, model, theta)?;
        Ok(Certificate::new(&claims, self.delta, self.simultaneous))
    }

    /// The claims that the requirements make, with the evidence for them.
    ///
    /// # Errors
    /// As [`Design::certify`].
    pub fn claims<M: Model>(
        &self,
        problem: &Problem,
        model: &M,
        theta: &[M::Real],
    ) -> Result<Vec<Claim>> {
        self.claims_clipped(problem, model, theta, None, &[])
    }

    /// As [`Design::claims`], where losses without an upper bound are clipped: those of the i-th requirement at `clips[i]`, which must
    /// not depend on the rows of the problem. Rows with the same number in `units` count as one.
    ///
    /// ```
    /// use feasible::certificate::{Certificate, ClippedFinding, Delta, Design, Simultaneous, Verdict};
    /// use feasible::{Inputs, Loss, Population, Problem, Requirement, Samples, Targets};
    /// use feasible_nn::Linear;
    /// let (x, y) = (vec![0.5; 200], vec![1.0; 200]);
    /// let rows = Population::new(Samples::new(Inputs::new(x, 1)?, Targets::Values(y))?);
    /// let error = Requirement::average("error", &rows, Loss::Squared).at_most(0.5);
    /// let problem = Problem::minimise(&rows, Loss::Squared).subject_to(error).check()?;
    /// let (delta, model) = (Delta::new(0.05)?, Linear::new(1, 1)?);
    /// // f(x) = x, so every loss is (0.5 − 1)² = 0.25.
    /// let claims = Design::new(delta).claims_clipped(&problem, &model, &[1.0, 0.0], None, &[Some(2.0)])?;
    /// let certificate = Certificate::new(&claims, delta, Simultaneous::Holm);
    /// let finding = &certificate.findings[0];
    /// assert_eq!(finding.verdict, Verdict::Met); // and not certified
    /// let of = |clipped: &ClippedFinding| clipped.within_limit && clipped.above == 0;
    /// assert_eq!(finding.clipped.as_ref().map(of), Some(true));
    /// # Ok::<(), feasible::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Design::certify`] and [`Design::claims_by_unit`].
    pub fn claims_clipped<M: Model>(
        &self,
        problem: &Problem,
        model: &M,
        theta: &[M::Real],
        units: Option<&[u32]>,
        clips: &[Option<f64>],
    ) -> Result<Vec<Claim>> {
        if let Some(units) = units {
            units::check(problem, units)?;
        }
        let requirements = problem.requirements().iter();
        let terms = requirements.flat_map(|r| r.terms().iter().map(|term| (r.who(), term.clone())));
        let losses = losses(&terms.collect::<Vec<_>>(), model, theta)?;
        self.claims_of(problem, losses, model.output_width(), units, clips)
    }

    /// The claims, from the losses of each term and the number of outputs.
    fn claims_of(
        &self,
        problem: &Problem,
        mut losses: Vec<Vec<f64>>,
        outputs: usize,
        units: Option<&[u32]>,
        clips: &[Option<f64>],
    ) -> Result<Vec<Claim>> {
        let requirements = problem.requirements().iter();
        let terms = requirements.flat_map(|r| r.terms().iter().map(move |term| (r, term)));
        for ((requirement, term), losses) in terms.zip(&mut losses) {
            let worst = worst_loss(requirement, term, outputs);
            losses.iter_mut().filter(|loss| loss.is_nan()).for_each(|loss| *loss = worst);
        }
        let mut losses = losses.iter().map(Vec::as_slice);
        let mut claims = Vec::new();
        for (at, requirement) in problem.requirements().iter().enumerate() {
            let clip = clips.get(at).copied().flatten();
            let terms = requirement.terms().iter();
            let terms = terms.zip(losses.by_ref()).map(|(term, losses)| ObservedTerm {
                term,
                losses,
                units,
                discoveries: false,
                clip,
            });
            let terms: Vec<ObservedTerm<'_>> = terms.collect();
            if let Some(by_class) = self.by_class(requirement, &terms)? {
                let Limit::Common(limit) = *requirement.limit() else { continue };
                claims.push(Claim {
                    name: requirement.name().to_string(),
                    subject: terms[0].number(),
                    sense: requirement.sense(),
                    limit,
                    evidence: Some(Evidence::ByClass(by_class)),
                });
                continue;
            }
            claims.push(match discoveries(requirement, &terms)? {
                Some((term, losses)) if losses.is_empty() => {
                    let nothing = ObservedTerm { term: &term, losses: &[], ..terms[0] };
                    self.without_rows(requirement, &nothing)
                }
                Some((term, losses)) => {
                    let (term, losses) = (&term, &losses[..]);
                    let among = [ObservedTerm { term, losses, units, discoveries: true, clip }];
                    self.claim(requirement, &among, outputs)?
                }
                None => self.claim(requirement, &terms, outputs)?,
            });
        }
        Ok(claims)
    }

    /// A rate that depends on how common the positive class is, where the design says that; `None` for any other number, and
    /// where one of the classes has no row.
    fn by_class(
        &self,
        requirement: &Requirement,
        terms: &[ObservedTerm<'_>],
    ) -> Result<Option<ByClass>> {
        let (Some(base_rate), [one]) = (self.base_rate, terms) else { return Ok(None) };
        let Targets::Classes(y) = one.population().samples().targets() else { return Ok(None) };
        let average = requirement.kind() == Kind::Average && one.losses.len() == one.rows();
        if !average || one.units.is_some() || one.term.coefficient() != 1.0 {
            return Ok(None);
        }
        let (class, among_predicted) = match one.measure() {
            Loss::Error => (base_rate.class, false),
            Loss::Selected { class } => (*class, false),
            Loss::FalseDiscovery { class, .. } if discoveries(requirement, terms)?.is_some() => {
                (*class, true)
            }
            _ => return Ok(None),
        };
        let is_hit = |loss: &f64| match among_predicted {
            true => is_discovery(*loss),
            false => loss.is_nan() || *loss > 0.5,
        };
        let hits = |of: bool| {
            let rows = one.population().rows().zip(one.losses);
            let rows = rows.filter(|(row, _)| (y[*row as usize] == class) == of);
            Count::of(rows.map(|(_, loss)| is_hit(loss)))
        };
        let (Ok(of_class), Ok(of_others)) = (hits(true), hits(false)) else { return Ok(None) };
        let share = base_rate.of(class);
        let discoveries = among_predicted;
        Ok(Some(ByClass { of_class, of_others, discoveries, one_minus: false, share }))
    }

    /// The claim of an average for which no row counts.
    fn without_rows(&self, requirement: &Requirement, seen: &ObservedTerm<'_>) -> Claim {
        Claim {
            name: requirement.name().to_string(),
            subject: seen.number(),
            sense: requirement.sense(),
            limit: requirement.limit().of(0),
            evidence: None,
        }
    }

    fn claim(
        &self,
        requirement: &Requirement,
        terms: &[ObservedTerm<'_>],
        width: usize,
    ) -> Result<Claim> {
        let (sense, limit) = (requirement.sense(), requirement.limit());
        let shown = match limit {
            Limit::Common(c) => c.to_string(),
            Limit::PerPoint(_) => "its limit".into(),
        };
        let name = requirement.name().to_string();
        if requirement.kind() == Kind::Pointwise {
            let seen = &terms[0];
            let units = seen.units;
            let violation = |point: usize, loss: f64| sense.sign() * (loss - limit.of(point));
            // The limit as written, whatever the training tolerates; NaN violates.
            let over = |violation: f64| violation.is_nan() || violation > 0.0;
            let violates = |row: usize| seen.points(row).any(|(p, l)| over(violation(p, l)));
            let count = match units {
                Some(units) => units::any(seen.population(), units, violates)?,
                None => Count::of((0..seen.rows()).map(violates))?,
            };
            let side = if sense == Sense::AtMost { "exceeds" } else { "is below" };
            let allowed = requirement.allowed_share();
            return Ok(Claim {
                name,
                subject: format!("the probability that the {} {side} {shown}", seen.measure()),
                sense: Sense::AtMost,
                limit: if allowed > 0.0 { allowed } else { self.all_but },
                evidence: Some(Evidence::Share(count)),
            });
        }
        let Limit::Common(limit) = *limit else {
            let reason = "is not one number".into();
            return Err(Error::Limit { requirement: name, value: f64::NAN, sample: None, reason });
        };
        let evidence = match terms {
            [one] if one.term.coefficient() == 1.0 => self.average(one, width)?,
            [one, other] if is_difference(one, other) => {
                Evidence::Difference(difference(one, other)?)
            }
            [one, other] if self.method == Method::Betting && is_contrast(one, other, width) => {
                Evidence::Contrast(contrast(one, other, width)?.shuffled(self.order))
            }
            _ => {
                let term = |seen: &ObservedTerm<'_>| {
                    Ok((seen.term.coefficient(), self.average(seen, width)?))
                };
                Evidence::Sum(terms.iter().map(term).collect::<Result<_>>()?)
            }
        };
        let subject = match terms {
            [one] => one.number(),
            [one, other] if !one.has_measure_of(other) => {
                let (a, b) = (one.number(), other.number());
                match (one.term.coefficient(), other.term.coefficient()) {
                    (1.0, -1.0) => format!("{a} minus {b}"),
                    (x, y) => format!("{x} times {a} plus {y} times {b}"),
                }
            }
            [one, _] if one.is_indicator() => {
                format!("the difference of the {}s", rate_name(one.measure()))
            }
            [one, rest @ ..] if rest.iter().all(|other| one.has_measure_of(other)) => {
                format!("the difference of the expected {}", one.measure())
            }
            [_, ..] => "the weighted sum of expected losses".into(),
            [] => String::new(),
        };
        Ok(Claim { name, subject, sense, limit, evidence: Some(evidence) })
    }

    fn average(&self, seen: &ObservedTerm<'_>, width: usize) -> Result<Evidence> {
        if seen.is_indicator() && seen.units.is_none() {
            return Ok(Evidence::Share(seen.count()?));
        }
        let measure = seen.measure();
        let Some(bound) = measure.properties(width).bound else { return self.unbounded(seen) };
        let mean = |row: usize| seen.mean(row);
        let values = match seen.units {
            Some(units) => units::means(seen.population(), units, mean),
            None => (0..seen.rows()).map(mean).collect(),
        };
        let values = Values::new(values, bound)?;
        Ok(Evidence::Mean { values: values.shuffled(self.order), method: self.method })
    }

    fn unbounded(&self, seen: &ObservedTerm<'_>) -> Result<Evidence> {
        let loss = |row: usize| seen.mean(row);
        let Some(units) = seen.units else {
            let losses: Vec<f64> = (0..seen.rows()).map(loss).collect();
            let of = Unbounded::new(&losses, seen.clip, self.method, self.order)?;
            return Ok(Evidence::Unbounded(of));
        };
        let population = seen.population();
        let clipped = match seen.clip {
            Some(clip) => {
                let above = units::any(population, units, |row| is_above(loss(row), clip))?;
                let values = units::means(population, units, |row| loss(row).min(clip));
                Clipped::new(values, clip, above, self.method, self.order)?
            }
            None => None,
        };
        Ok(Evidence::Unbounded(Unbounded::of_units(
            &units::means(population, units, loss),
            clipped,
        )))
    }
}

/// What stands for the loss of a row without a finite output: the largest or smallest possible loss, whichever is further
/// from the limit; NaN where rows are judged one by one.
fn worst_loss(requirement: &Requirement, term: &Term, outputs: usize) -> f64 {
    if requirement.kind() == Kind::Pointwise {
        return f64::NAN;
    }
    let bound = term.measure().properties(outputs).bound;
    match (requirement.sense() == Sense::AtMost) == (term.coefficient() > 0.0) {
        true => bound.unwrap_or(f64::INFINITY),
        // Losses with a bound are at least 0.
        false => bound.map_or(f64::NEG_INFINITY, |_| 0.0),
    }
}

/// The term of a requirement on the share of wrong ones among predictions of a class, and its losses, on the rows
/// of which that class is predicted. These are drawn from those of the population, like the rows of any subset,
/// and each is wrong or not.
fn discoveries(
    requirement: &Requirement,
    terms: &[ObservedTerm<'_>],
) -> Result<Option<(Term, Vec<f64>)>> {
    let [one] = terms else { return Ok(None) };
    let (Loss::FalseDiscovery { rate, .. }, Limit::Common(limit)) =
        (one.measure(), requirement.limit())
    else {
        return Ok(None);
    };
    let rates = requirement.kind() == Kind::Average && one.losses.len() == one.rows();
    // Against another limit than its rate, the average says nothing about the share.
    if !rates || one.term.coefficient() != 1.0 || rate != limit {
        return Ok(None);
    }
    // A rate of 0 or 1 cannot be told from what it stands beside.
    if !(*rate > 0.0 && *rate < 1.0) {
        return Ok(None);
    }
    let counts = |loss: &f64| is_discovery(*loss);
    let mask: Vec<bool> = one.losses.iter().map(counts).collect();
    let population = one.population().subset(&mask)?;
    let losses = one.losses.iter().copied().filter(counts).collect();
    Ok(Some((Term { population, ..one.term.clone() }, losses)))
}

/// Whether the class is predicted of a row with this loss.
fn is_discovery(loss: f64) -> bool {
    loss.is_nan() || loss == 0.0 || loss == 1.0
}

/// A term and the losses of its points.
#[derive(Clone, Copy)]
struct ObservedTerm<'a> {
    term: &'a Term,
    losses: &'a [f64],
    units: Option<&'a [u32]>,
    /// Whether these are the rows of which a class is predicted, and their losses whether that is wrong.
    discoveries: bool,
    /// Where losses without an upper bound are clipped.
    clip: Option<f64>,
}

impl ObservedTerm<'_> {
    fn population(&self) -> &Population {
        self.term.population()
    }

    fn measure(&self) -> &Loss {
        self.term.measure()
    }

    fn rows(&self) -> usize {
        self.population().len()
    }

    /// The points of a row and their losses; points are ordered by ρ, then by row.
    fn points(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let rows = self.rows();
        (row..self.losses.len()).step_by(rows).map(|point| (point, self.losses[point]))
    }

    /// The mean over the points of a row.
    fn mean(&self, row: usize) -> f64 {
        let sum: f64 = self.points(row).map(|(_, loss)| loss).sum();
        sum / self.term.population().transformations() as f64
    }

    /// Whether both are measured by the same loss.
    fn has_measure_of(&self, other: &Self) -> bool {
        self.measure().is_same(other.measure())
    }

    /// The number of the population that it estimates.
    fn number(&self) -> String {
        match self.is_indicator() {
            true => format!("the {}", rate_name(self.measure())),
            false => format!("the expected {}", self.measure()),
        }
    }

    /// Whether a row's loss can only be 0 or 1.
    fn is_indicator(&self) -> bool {
        let counts = matches!(self.measure(), Loss::Error | Loss::Selected { .. } | Loss::Flip);
        (counts || self.discoveries) && self.losses.len() == self.rows()
    }

    fn count(&self) -> Result<Count> {
        Count::of(self.losses.iter().map(|loss| *loss > 0.5))
    }
}

fn rate_name(loss: &Loss) -> &'static str {
    match loss {
        Loss::Error => "error rate",
        Loss::Selected { .. } => "selection rate",
        Loss::FalseDiscovery { .. } => "false discovery rate",
        Loss::Flip => "flip rate",
        _ => "rate",
    }
}

fn is_difference(one: &ObservedTerm<'_>, other: &ObservedTerm<'_>) -> bool {
    // A unit may have rows of both.
    let rates = one.units.is_none() && one.is_indicator() && other.is_indicator();
    rates && is_of_one_measure(one, other)
}

fn is_of_one_measure(one: &ObservedTerm<'_>, other: &ObservedTerm<'_>) -> bool {
    one.has_measure_of(other) && one.term.coefficient() == 1.0 && other.term.coefficient() == -1.0
}

/// Whether it is the difference of the means of a bounded loss, in groups of the same rows.
fn is_contrast(one: &ObservedTerm<'_>, other: &ObservedTerm<'_>, width: usize) -> bool {
    is_of_one_measure(one, other)
        && Arc::ptr_eq(one.population().samples(), other.population().samples())
        && one.measure().properties(width).bound.is_some()
}

/// The mean loss of each row, or unit, in each of two groups.
fn contrast(one: &ObservedTerm<'_>, other: &ObservedTerm<'_>, width: usize) -> Result<Contrast> {
    let bound = one.measure().properties(width).bound.unwrap_or(f64::NAN);
    let mut sums = BTreeMap::<u32, [(f64, f64); 2]>::new();
    for (group, seen) in [one, other].into_iter().enumerate() {
        for (member, row) in seen.population().rows().enumerate() {
            let number = seen.units.map_or(row, |units| units[row as usize]);
            let (sum, rows) = &mut sums.entry(number).or_default()[group];
            *sum += seen.mean(member);
            *rows += 1.0;
        }
    }
    let mean = |(sum, rows): (f64, f64)| (rows > 0.0).then(|| sum / rows);
    Contrast::new(sums.into_values().map(|groups| groups.map(mean)).collect(), bound)
}

/// How the rows of two rates lie to each other, and what was counted.
fn difference(one: &ObservedTerm<'_>, other: &ObservedTerm<'_>) -> Result<Difference> {
    let (a, b) = (one.count()?, other.count()?);
    if !Arc::ptr_eq(one.population().samples(), other.population().samples()) {
        return Ok(Difference::Any { a, b });
    }
    // Both ascend.
    let mut there = other.population().rows().zip(other.losses).peekable();
    let (mut common, mut hits, mut equal) = (0, 0, true);
    for (row, loss) in one.population().rows().zip(one.losses) {
        while there.next_if(|(at, _)| *at < row).is_some() {}
        if let Some((_, same)) = there.next_if(|(at, _)| *at == row) {
            common += 1;
            hits += u64::from(loss.is_nan() || *loss > 0.5);
            equal &= loss == same || (loss.is_nan() && same.is_nan());
        }
    }
    if common == 0 {
        return Ok(Difference::Apart { a, b });
    }
    if common == a.rows() && equal {
        let others = b.rows() - a.rows();
        let rest = if others == 0 { None } else { Some(Count::new(b.hits() - a.hits(), others)?) };
        return Ok(Difference::Within { part: a, rest });
    }
    if equal {
        return Ok(Difference::Shared { a, b, both: Count::new(hits, common)? });
    }
    Ok(Difference::Any { a, b })
}
