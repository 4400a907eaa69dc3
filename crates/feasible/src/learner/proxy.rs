//! Requirements that are measured by another loss than the one θ follows: where the surrogate's limit
//! must stand for the measured requirement to be met, and not more than met.
//!
//! A limit of the surrogate (a logistic loss) says nothing about what it stands for (an error rate). As in the
//! proxy-Lagrangian of Cotter et al. (2019), θ minimises a Lagrangian with the surrogate while the
//! measured violation moves the multiplier. The exact learner minimises to convergence in between, so it can do
//! better than small steps: the surrogate is required to stay below its limit plus an offset t, the
//! measured violation s(t) of the solution is a function of t that rises with it, and its zero is found by safeguarded
//! secants, one bracket for each multiplier. A rate moves in jumps of one sample: then the
//! bracket closes around a jump, and the side on which the requirement is met is the solution. So it is for smooth measures, and for rates of single points;
//! averages that are rates have [multipliers](super::rates) instead.

use serde::{Deserialize, Serialize};

use crate::learner::rates::is_rate;
use crate::learner::sizes::Sizes;
use crate::measurement::{Measurement, Violations};
use crate::multiplier::Multipliers;
use crate::problem::Problem;
use crate::requirement::Requirement;

/// A bracket is closed at this share of the requirement's size,
const CLOSED: f64 = 1e-11;
/// or at this one if the violation jumps in it,
const CLOSED_AT_A_JUMP: f64 = 1e-6;
/// by this multiple of the bracket's width.
const JUMP: f64 = 100.0;
/// How often a bracket is opened again, because other requirements have moved or what was noted had not
/// settled.
const OPENED: u32 = 4;

/// The offset of one surrogate violation, with what is known on both sides of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bracket {
    /// The offset.
    pub at: f64,
    /// The last step.
    pub step: f64,
    /// Where the measured requirement was met, with its violation.
    pub met: Option<(f64, f64)>,
    /// Where it was violated.
    pub violated: Option<(f64, f64)>,
    /// Whether it was violated the last time.
    pub above: bool,
    /// How often it was opened again.
    pub opened: u32,
}

/// The numbers that a bracket is made of.
pub(crate) const NUMBERS: usize = 10;

impl Bracket {
    fn numbers(&self) -> [f64; NUMBERS] {
        let flag = |is: bool| f64::from(u8::from(is));
        let ((met, s), (violated, t)) =
            (self.met.unwrap_or_default(), self.violated.unwrap_or_default());
        let (has_met, has_violated) = (flag(self.met.is_some()), flag(self.violated.is_some()));
        let opened = f64::from(self.opened);
        [self.at, self.step, has_met, met, s, has_violated, violated, t, flag(self.above), opened]
    }

    fn of_numbers(numbers: [f64; NUMBERS]) -> Self {
        let [at, step, has_met, met, s, has_violated, violated, t, above, opened] = numbers;
        Self {
            at,
            step,
            met: (has_met == 1.0).then_some((met, s)),
            violated: (has_violated == 1.0).then_some((violated, t)),
            above: above == 1.0,
            opened: opened as u32,
        }
    }

    /// Whether both sides are known and as near to each other as need be, on a scale of `size`.
    pub fn is_closed(&self, size: f64) -> bool {
        let Some((met, violated)) = self.met.zip(self.violated) else { return false };
        let (width, jump) = (violated.0 - met.0, violated.1 - met.1);
        width <= CLOSED * size || (width <= CLOSED_AT_A_JUMP * size && jump > JUMP * width)
    }

    /// Moves the offset, the measured violation of the solution there being `violation`.
    pub fn note(&mut self, violation: f64, size: f64) {
        let (here, above) = ((self.at, violation), violation > 0.0);
        // What other requirements have done since may have moved the zero out of the bracket.
        if self.is_closed(size) {
            (self.met, self.violated) = (None, None);
            self.opened += 1;
        }
        if above {
            self.violated = Some(here);
            self.met = self.met.filter(|met| met.0 < self.at);
        } else {
            self.met = Some(here);
            self.violated = self.violated.filter(|violated| violated.0 > self.at);
        }
        let next = match (self.met, self.violated) {
            (Some((low, s)), Some((high, t))) => {
                let share = if above == self.above { 0.5 } else { (s / (s - t)).clamp(0.1, 0.9) };
                low + share * (high - low)
            }
            (_, None) => self.at + violation.abs().max(2.0 * self.step).max(CLOSED * size),
            (None, _) => self.at - violation.abs().max(2.0 * self.step).max(CLOSED * size),
        };
        (self.step, self.at, self.above) = ((next - self.at).abs(), next, above);
    }
}

/// The brackets of all requirements; empty for those measured by the loss θ follows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Brackets(Vec<Vec<Bracket>>);

impl Brackets {
    /// At the offsets of the objective's own minimiser.
    pub(crate) fn new(sizes: &Sizes) -> Self {
        let of = |at: &f64| Bracket { at: *at, ..Bracket::default() };
        Self(sizes.offsets.iter().map(|of_one| of_one.iter().map(of).collect()).collect())
    }

    /// Whether they are of these requirements.
    pub(crate) fn fits(&self, problem: &Problem) -> bool {
        let each = self.0.iter().zip(problem.requirements());
        self.0.len() == problem.requirements().len()
            && each.into_iter().all(|(own, r)| own.is_empty() || own.len() == r.multipliers())
    }

    /// The brackets of a requirement, as lists with a number of each; empty ones if it has none.
    pub(crate) fn lists(&self, requirement: usize) -> Vec<Vec<f64>> {
        let of = self.0.get(requirement).map_or(&[][..], Vec::as_slice);
        (0..NUMBERS).map(|k| of.iter().map(|bracket| bracket.numbers()[k]).collect()).collect()
    }

    /// Puts the brackets of such lists in the place of those of a requirement.
    pub(crate) fn set_lists(&mut self, requirement: usize, lists: &[Vec<f64>]) {
        let (Some(of), Some(first)) = (self.0.get_mut(requirement), lists.first()) else { return };
        let bracket = |n: usize| Bracket::of_numbers(std::array::from_fn(|k| lists[k][n]));
        *of = (0..first.len()).map(bracket).collect();
    }

    /// The offsets, per requirement.
    pub(crate) fn offsets(&self) -> Vec<Vec<f64>> {
        self.0.iter().map(|of| of.iter().map(|bracket| bracket.at).collect()).collect()
    }

    pub(crate) fn of_mut(&mut self, requirement: usize) -> &mut [Bracket] {
        self.0.get_mut(requirement).map_or(&mut [], Vec::as_mut_slice)
    }

    /// The largest step last taken, beside the size of its requirement.
    pub(crate) fn step(&self, problem: &Problem, sizes: &Sizes) -> f64 {
        let of = |((brackets, size), requirement): ((&Vec<Bracket>, &f64), &Requirement)| {
            let steps = brackets.iter().map(|b| b.step / size).fold(0.0, f64::max);
            if is_rate(requirement) { 0.0 } else { steps }
        };
        let each = self.0.iter().zip(&sizes.requirements).zip(problem.requirements());
        problem.workers().largest(each.map(of).fold(0.0, f64::max))
    }

    /// Moves every offset that matters by what was measured; whether any did.
    pub(crate) fn note(
        &mut self,
        problem: &Problem,
        measurement: &Measurement,
        multipliers: &Multipliers,
        sizes: &Sizes,
    ) -> bool {
        let mut moved = false;
        let each = self.0.iter_mut().zip(problem.requirements()).enumerate();
        for (i, (brackets, _)) in each.filter(|(_, (_, requirement))| !is_rate(requirement)) {
            let Violations { measured, margin, .. } = &measurement.violations[i];
            let (of, size) = (multipliers.of(i), sizes.requirements[i]);
            for ((bracket, &m), s) in brackets.iter_mut().zip(of).zip(measured) {
                let matters = m > 0.0 || s + margin > 0.0;
                if matters && (bracket.opened < OPENED || !bracket.is_closed(size)) {
                    bracket.note(s + margin, size);
                    moved = true;
                }
            }
        }
        problem.workers().any(moved)
    }
}
