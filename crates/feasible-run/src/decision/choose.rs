//! The threshold that maximises a measure under the rates that are required.
//!
//! Every rate is a sum over rows of something that depends on whether the row is decided positive, so as the
//! threshold passes the contrast of a row, each changes by a known step. One walk over the sorted contrasts therefore
//! sees every threshold there is between two rows. Thresholds of groups are chosen in turn, the others as they
//! are, until none changes, from several starts; that is an optimum in each group, not always of all together.

use std::collections::BTreeMap;

use feasible::requirement::Sense;
use feasible::{Kind, Loss, Requirement, Target, Targets, View};
use feasible_problem::clause::Clause;
use feasible_problem::spec::{DecisionSpec, Maximise};

use super::{Decision, FARTHEST, GroupThresholds, contrast_of, probability};
use crate::subject::Answers;

/// Violations of so little are rounding.
const ROUNDING: f64 = 1e-12;
/// Rounds over all groups.
const ROUNDS: usize = 20;

/// What happens to a sum as the threshold passes a contrast.
struct Step {
    /// Whose row.
    group: usize,
    contrast: f64,
    /// Which sum: the true and false positives, then one for each requirement.
    sum: usize,
    change: f64,
}

/// The number of true positives, and of false ones.
const TRUE_POSITIVES: usize = 0;
const FALSE_POSITIVES: usize = 1;
const FIRST_REQUIREMENT: usize = 2;

/// All thresholds of the validation rows, and what each makes of the sums.
struct Walk {
    maximise: Maximise,
    positives: f64,
    rows: f64,
    /// The sums where everything is positive.
    start: Vec<f64>,
    /// By ascending contrast.
    steps: Vec<Step>,
}

/// How good a threshold is: what is violated, then what is maximised.
#[derive(Clone, Copy, Debug)]
struct Merit {
    violation: f64,
    measure: f64,
}

impl Merit {
    fn is_better_than(self, other: Self) -> bool {
        let (a, b) = (self.violation, other.violation);
        if (a - b).abs() > ROUNDING { a < b } else { self.measure > other.measure + ROUNDING }
    }
}

impl Walk {
    fn merit(&self, sums: &[f64]) -> Merit {
        let (tp, fp) = (sums[TRUE_POSITIVES], sums[FALSE_POSITIVES]);
        let (p, n) = (self.positives, self.rows - self.positives);
        let measure = match self.maximise {
            Maximise::Accuracy => (tp + n - fp) / self.rows,
            // With one class alone there is one recall.
            Maximise::BalancedAccuracy if p == 0.0 => (n - fp) / n,
            Maximise::BalancedAccuracy if n == 0.0 => tp / p,
            Maximise::BalancedAccuracy => 0.5 * (tp / p + (n - fp) / n),
            Maximise::F1 if tp + fp + p == 0.0 => 0.0,
            Maximise::F1 => 2.0 * tp / (tp + fp + p),
        };
        let violations = sums[FIRST_REQUIREMENT..].iter().filter(|v| **v > ROUNDING);
        Merit { violation: violations.sum(), measure }
    }

    /// The sums where each group is cut at its contrast.
    fn at(&self, cuts: &[f64]) -> Vec<f64> {
        let mut sums = self.start.clone();
        for step in self.steps.iter().filter(|step| step.contrast <= cuts[step.group]) {
            sums[step.sum] += step.change;
        }
        sums
    }

    /// The best cut of the groups that `moves` names, the others cut as they are; of equals the one nearest to 0.
    fn best(&self, cuts: &[f64], moves: impl Fn(usize) -> bool) -> (f64, Merit) {
        let held: Vec<f64> = cuts
            .iter()
            .enumerate()
            .map(|(group, cut)| if moves(group) { f64::NEG_INFINITY } else { *cut })
            .collect();
        let mut sums = self.at(&held);
        let steps: Vec<&Step> = self.steps.iter().filter(|step| moves(step.group)).collect();
        let mut best: Option<(f64, Merit)> = None;
        let mut from = f64::NEG_INFINITY;
        let mut next = 0;
        loop {
            let to = steps.get(next).map_or(f64::INFINITY, |step| step.contrast);
            if let Some(cut) = between(from, to) {
                let merit = self.merit(&sums);
                let better = best.is_none_or(|(other, known)| {
                    merit.is_better_than(known)
                        || !known.is_better_than(merit) && cut.abs() < other.abs()
                });
                if better {
                    best = Some((cut, merit));
                }
            }
            if next == steps.len() {
                break;
            }
            from = to;
            while let Some(step) = steps.get(next).filter(|step| step.contrast == to) {
                sums[step.sum] += step.change;
                next += 1;
            }
        }
        // Contrasts that are all beyond what a probability can tell apart are cut at 1/2.
        best.unwrap_or_else(|| (0.0, self.merit(&self.at(&vec![0.0; cuts.len()]))))
    }
}

/// A cut at or above `from` and below `to`, none of which is a row's own contrast: 0 if that is between them.
fn between(from: f64, to: f64) -> Option<f64> {
    let (low, high) = (from.max(-FARTHEST), to.min(FARTHEST));
    if low >= high {
        return None;
    }
    if low < 0.0 && 0.0 < high {
        return Some(0.0);
    }
    Some(0.5 * (low + high))
}

/// Rows that a threshold is chosen on, and the category of each where there is a threshold for every one.
pub(crate) struct ChoiceRows<'a> {
    pub(crate) answers: &'a Answers<'a>,
    pub(crate) categories: Vec<Option<String>>,
}

/// Chooses the threshold on validation rows. A rate that is left to it must hold on the training rows, too.
pub(crate) fn choose(
    validation: &ChoiceRows<'_>,
    training: Option<&ChoiceRows<'_>>,
    spec: &DecisionSpec,
) -> Decision {
    let answers = validation.answers;
    let mut names: Vec<Option<String>> = Vec::new();
    let mut number = BTreeMap::new();
    let mut of_rows = |rows: &ChoiceRows<'_>| -> Vec<usize> {
        let mut place = |name: &Option<String>| {
            *number.entry(name.clone()).or_insert_with(|| {
                names.push(name.clone());
                names.len() - 1
            })
        };
        match &spec.per {
            None => vec![0; rows.answers.samples.len()],
            Some(_) => rows.categories.iter().map(&mut place).collect(),
        }
    };
    let of_row = of_rows(validation);
    let of_training = training.map(|training| (training, of_rows(training)));
    let count = names.len().max(1);
    let mut walk = Walk::new(answers, spec.maximise, &of_row);
    if let Some((training, of_row)) = of_training {
        walk.require_all(training.answers, &of_row, |clause| {
            clause.by_threshold.map(|room| clause.margin.max(clause.room).max(room.training))
        });
    }
    walk.sort();
    let (common, mut merit) = walk.best(&vec![0.0; count], |_| true);
    let mut cuts = vec![common; count];
    if spec.per.is_some() {
        // Rows without a category stay at the common threshold, as they will when they are predicted.
        let own: Vec<bool> = names.iter().map(Option::is_some).collect();
        for start in walk.starts(common) {
            let start = own.iter().map(|own| if *own { start } else { common }).collect();
            let (found, reached) = walk.improved(start, &own);
            if reached.is_better_than(merit) {
                (cuts, merit) = (found, reached);
            }
        }
    }
    let thresholds = spec.per.as_ref().map(|column| GroupThresholds {
        column: column.clone(),
        thresholds: names
            .iter()
            .zip(&cuts)
            .filter_map(|(name, cut)| Some((name.clone()?, probability(*cut))))
            .collect(),
    });
    let left = answers.subject.clauses.iter().find(|clause| clause.by_threshold.is_some());
    let positive = answers.subject.classes.and_then(|classes| classes.get(1));
    Decision {
        maximise: spec.maximise,
        positive: positive.cloned().unwrap_or_default(),
        threshold: probability(common),
        groups: thresholds,
        rows: answers.samples.len(),
        reached: merit.measure,
        at_half: walk.merit(&walk.at(&vec![0.0; count])).measure,
        met: merit.violation <= ROUNDING,
        left: left.map(|clause| clause.name.clone()),
    }
}

impl Walk {
    /// Where the search for thresholds of groups begins: at the best common one, at 1/2, and all over the rows. Where a
    /// requirement compares groups, no single one of them can leave a threshold that meets it.
    fn starts(&self, common: f64) -> Vec<f64> {
        let place = |tenth: usize| {
            let from = self.steps.get(tenth * self.steps.len() / 10)?.contrast;
            let next = self.steps.partition_point(|step| step.contrast <= from);
            between(from, self.steps.get(next).map_or(f64::INFINITY, |step| step.contrast))
        };
        [common, 0.0].into_iter().chain((1..10).filter_map(place)).collect()
    }

    /// The cuts after each group's has been improved in turn, the others as they are, until none can be.
    fn improved(&self, mut cuts: Vec<f64>, own: &[bool]) -> (Vec<f64>, Merit) {
        let mut merit = self.merit(&self.at(&cuts));
        for _ in 0..ROUNDS {
            let mut changed = false;
            for group in (0..cuts.len()).filter(|&group| own[group]) {
                let (cut, found) = self.best(&cuts, |other| other == group);
                if found.is_better_than(merit) {
                    (cuts[group], merit, changed) = (cut, found, true);
                }
            }
            if !changed {
                break;
            }
        }
        (cuts, merit)
    }

    fn new(answers: &Answers<'_>, maximise: Maximise, groups: &[usize]) -> Self {
        let Targets::Classes(classes) = answers.samples.targets() else {
            unreachable!("a checked plan has classes where it has a decision")
        };
        let mut walk = Self {
            maximise,
            positives: 0.0,
            rows: classes.len() as f64,
            start: vec![0.0; 2],
            steps: Vec::new(),
        };
        for ((outputs, &y), &group) in answers.outputs().zip(classes).zip(groups) {
            let sum = if y == 1 { TRUE_POSITIVES } else { FALSE_POSITIVES };
            walk.positives += f64::from(u8::from(y == 1));
            walk.start[sum] += 1.0;
            walk.steps.push(Step { group, contrast: contrast_of(outputs), sum, change: -1.0 });
        }
        walk.require_all(answers, groups, |clause| {
            let chance = clause.by_threshold.map_or(0.0, |room| room.validation);
            Some(clause.margin.max(clause.room).max(chance))
        });
        walk
    }

    /// Puts the steps in order.
    fn sort(&mut self) {
        // What is not a number is never above a threshold.
        self.steps.retain(|step| !step.contrast.is_nan());
        self.steps.sort_by(|a, b| a.contrast.total_cmp(&b.contrast));
    }

    /// Adds the violations of requirements on some rows, stricter by what is said of each clause; none of those of which nothing is.
    fn require_all(
        &mut self,
        answers: &Answers<'_>,
        groups: &[usize],
        stricter: impl Fn(&Clause) -> Option<f64>,
    ) {
        let present = answers.subject.clauses.iter().zip(&answers.points);
        let present = present.filter(|(_, points)| points.is_some()).map(|(clause, _)| clause);
        for (clause, requirement) in present.zip(answers.problem.requirements()) {
            if let Some(stricter) = stricter(clause) {
                self.require(answers, clause, requirement, groups, stricter);
            }
        }
    }

    /// Adds the violation of a requirement, if it is of decisions.
    fn require(
        &mut self,
        answers: &Answers<'_>,
        clause: &Clause,
        requirement: &Requirement,
        groups: &[usize],
        stricter: f64,
    ) {
        let of_decisions =
            |r: &Requirement| r.terms().iter().all(|t| t.measure().is_of_decisions());
        if requirement.kind() != Kind::Average || !of_decisions(requirement) {
            return;
        }
        let sign = requirement.sense().sign();
        let first = &requirement.terms()[0];
        let stricter = stricter * clause.weight_of_discoveries(first.population());
        let limit = match requirement.sense() {
            Sense::AtMost => requirement.limit().of(0),
            Sense::AtLeast => -requirement.limit().of(0),
        };
        let sum = self.start.len();
        self.start.push(stricter - limit);
        for term in requirement.terms() {
            let population = term.population();
            let each = sign * term.coefficient() / population.points() as f64;
            let views = match population.view() {
                View::Counterfactual(shifts) => shifts.iter().map(Some).collect(),
                View::Identity | View::Adaptive(_) => vec![None],
            };
            for view in views {
                for row in population.rows() {
                    let row = row as usize;
                    let there = contrast_of(answers.output(view, row));
                    let group = groups[row];
                    let mut step = |contrast: f64, change: f64| {
                        self.steps.push(Step { group, contrast, sum, change: each * change });
                    };
                    if let Loss::Flip = term.measure() {
                        let here = contrast_of(answers.output(None, row));
                        step(here.min(there), 1.0);
                        step(here.max(there), -1.0);
                        continue;
                    }
                    let y = answers.samples.targets().get(row);
                    let (positive, negative) =
                        (value(term.measure(), 1, y), value(term.measure(), 0, y));
                    self.start[sum] += each * positive;
                    step(there, negative - positive);
                }
            }
        }
    }
}

/// A loss of decisions where this class is decided.
fn value(loss: &Loss, decided: u32, y: Target<'_>) -> f64 {
    let is = |event: bool| f64::from(u8::from(event));
    match loss {
        Loss::Error => is(y != Target::Class(decided)),
        Loss::Selected { class } => is(decided == *class),
        Loss::FalseDiscovery { class, .. } if decided == *class => is(y != Target::Class(*class)),
        Loss::FalseDiscovery { rate, .. } => *rate,
        _ => f64::NAN,
    }
}
