//! Random convex problems, built twice from the same raw numbers.
//!
//! Limits are set from a reference θ that trades the objective against the requirements: it is
//! strictly feasible by construction (so Slater's condition holds and multipliers exist), while
//! the unconstrained optimum usually is not (so they are not 0).

use feasible::rho::{self, Rho};
use feasible::{Loss, Population, Problem, Requirement};
use feasible_nn::Kernel;

use super::machine::{Machine, Regression};
use super::random::{Random, grid};
use super::raw::{Features, Raw};
use super::{Program, Rows, Scope, Verdict, solve};

/// What is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Nothing.
    Free,
    /// One to three averages.
    Average,
    /// One or two requirements for every point.
    Pointwise,
    /// Two to four of both kinds.
    Mixed,
    /// One to three that cost nothing.
    Inactive,
    /// Two or three that contradict each other, and perhaps others.
    Infeasible,
}

impl Family {
    pub const ALL: [Self; 6] =
        [Self::Free, Self::Average, Self::Pointwise, Self::Mixed, Self::Inactive, Self::Infeasible];
}

/// A problem, twice.
#[derive(Clone, Debug)]
pub struct Instance {
    pub problem: Problem,
    pub program: Program,
    pub machine: Machine,
}

/// A requirement without limit, twice.
pub(super) struct Sketch {
    pub(super) requirement: Requirement,
    pub(super) rows: Rows,
    pub(super) pointwise: bool,
}

impl Sketch {
    pub(super) fn multipliers(&self) -> usize {
        if self.pointwise { self.rows.points.len() } else { 1 }
    }

    pub(super) fn at_most(self, limit: f64) -> (Requirement, (Rows, Scope)) {
        let scope = match self.pointwise {
            true => Scope::Pointwise(vec![limit; self.rows.points.len()]),
            false => Scope::Average(limit),
        };
        (self.requirement.at_most(limit), (self.rows, scope))
    }

    pub(super) fn at_most_each(self, limits: Vec<f64>) -> (Requirement, (Rows, Scope)) {
        (self.requirement.at_most_each(limits.clone()), (self.rows, Scope::Pointwise(limits)))
    }
}

/// Problem `number` of a kind: its model, its family, its seed.
pub fn instance(regression: Regression, kernel: bool, family: Family, number: u64) -> Instance {
    let kind = (regression as u64 * 2 + u64::from(kernel)) * 6 + family as u64;
    let mut random = Random::new(kind, number);
    let generator = Generator::new(&mut random, regression, kernel);
    generator.instance(&mut random, family)
}

pub(super) struct Generator {
    pub(super) regression: Regression,
    /// The loss of the objective.
    pub(super) objective: Loss,
    pub(super) machine: Machine,
    pub(super) base: Raw,
    pub(super) features: Features,
    pub(super) population: Population,
    pub(super) decay: f64,
}

impl Generator {
    pub(super) fn new(random: &mut Random, regression: Regression, kernel: bool) -> Self {
        let inputs = random.count(2, 6);
        let count = random.count(10, 60);
        let base = data(random, regression, count, inputs, 0.0);
        Self::of(random, regression, kernel, base)
    }

    /// With these data.
    pub(super) fn of(random: &mut Random, regression: Regression, kernel: bool, base: Raw) -> Self {
        let (inputs, outputs) = (base.x[0].len(), regression.outputs());
        let machine = match kernel {
            true => kernel_expansion(random, &base, outputs),
            false => Machine::Linear { inputs, outputs },
        };
        let features = machine.features(&base.x);
        let population = base.population(regression);
        // Without decay a least-squares problem still has a minimum; the others might not.
        let spread = 10f64.powf(random.between(-3.0, -1.0));
        let bare = regression == Regression::Number && !kernel && random.count(0, 3) == 0;
        let decay = if bare { 0.0 } else { spread };
        let objective = regression.loss();
        Self { regression, objective, machine, base, features, population, decay }
    }

    pub(super) fn program(&self, requirements: Vec<(Rows, Scope)>) -> Program {
        Program {
            parameters: self.machine.parameters(),
            decay: self.decay,
            objective: self.features.loss(&self.objective, &self.base.y),
            requirements,
        }
    }

    fn instance(self, random: &mut Random, family: Family) -> Instance {
        let stated = match family {
            Family::Free => Vec::new(),
            Family::Infeasible => self.contradiction(random),
            _ => self.feasible(random, family),
        };
        let mut draft =
            Problem::minimise(&self.population, self.regression.loss()).weight_decay(self.decay);
        let mut rows = Vec::new();
        for (requirement, numbers) in stated {
            draft = draft.subject_to(requirement);
            rows.push(numbers);
        }
        let problem = draft.check().expect("a well-formed problem");
        Instance { problem, program: self.program(rows), machine: self.machine }
    }

    fn feasible(&self, random: &mut Random, family: Family) -> Vec<(Requirement, (Rows, Scope))> {
        let kinds: Vec<bool> = match family {
            Family::Average => vec![false; random.count(1, 3)],
            Family::Pointwise => vec![true; random.count(1, 2)],
            Family::Mixed => {
                let more = random.count(0, 2);
                [true, false].into_iter().chain((0..more).map(|_| random.coin())).collect()
            }
            _ => (0..random.count(1, 3)).map(|_| random.coin()).collect(),
        };
        let sketches: Vec<Sketch> =
            kinds.iter().enumerate().map(|(i, &point)| self.sketch(random, i, point)).collect();
        let loose = family == Family::Inactive;
        let theta = self.reference(random, &sketches, loose);
        sketches.into_iter().map(|sketch| limit(random, sketch, &theta, loose)).collect()
    }

    /// A requirement without limit.
    pub(super) fn sketch(&self, random: &mut Random, number: usize, pointwise: bool) -> Sketch {
        let name = format!("requirement {number}");
        if random.count(0, 3) == 0 {
            let (rho, moved) = self.counterfactual(random);
            let population = self.population.counterfactual(rho).expect("columns exist");
            let rows = self.features.squared_distance(&self.machine.features(&moved));
            return sketch(name, &population, Loss::SquaredDistance, rows, pointwise);
        }
        let loss = match (self.regression, random.coin()) {
            (Regression::Number, true) => Loss::Huber { delta: random.between(0.3, 1.5) },
            (Regression::Binary, true) => Loss::SquaredHinge,
            (regression, _) => regression.loss(),
        };
        let (raw, population) = match random.count(0, 2) {
            // A group, or some of everyone.
            group @ (0 | 1) => {
                let last = self.base.x[0].len() - 1;
                let mut mask: Vec<bool> = match group {
                    0 => self.base.x.iter().map(|x| x[last] == 1.0).collect(),
                    _ => self.base.x.iter().map(|_| random.coin()).collect(),
                };
                mask[0] = true;
                let population = self.population.subset(&mask).expect("a mask for everyone");
                (self.base.subset(&mask), population)
            }
            // Others, who want something else.
            _ => {
                let count = random.count(5, 30);
                let shift = random.between(-1.0, 1.0);
                let raw = data(random, self.regression, count, self.base.x[0].len(), shift);
                let population = raw.population(self.regression);
                (raw, population)
            }
        };
        let rows = self.machine.features(&raw.x).loss(&loss, &raw.y);
        sketch(name, &population, loss, rows, pointwise)
    }

    /// Reverses the indicator (the same shift for all: multipliers are then not unique), or
    /// moves every column to the next place.
    fn counterfactual(&self, random: &mut Random) -> (Rho, Vec<Vec<f64>>) {
        let last = self.base.x[0].len() - 1;
        let mut moved = self.base.x.clone();
        if random.count(0, 3) == 0 {
            moved.iter_mut().for_each(|x| x[last] = 1.0 - x[last]);
            (rho::flip(last), moved)
        } else {
            moved.iter_mut().for_each(|x| x.rotate_right(1));
            (Rho::from(|x: &mut [f32]| x.rotate_right(1)), moved)
        }
    }

    /// A θ that takes the requirements seriously, or the optimum that ignores them.
    pub(super) fn reference(
        &self,
        random: &mut Random,
        sketches: &[Sketch],
        loose: bool,
    ) -> Vec<f64> {
        let without_limit = |s: &Sketch| {
            let none = f64::NAN;
            let scope = match s.pointwise {
                true => Scope::Pointwise(vec![none; s.multipliers()]),
                false => Scope::Average(none),
            };
            (s.rows.clone(), scope)
        };
        let program = self.program(sketches.iter().map(without_limit).collect());
        let mut weights: Vec<Vec<f64>> =
            sketches.iter().map(|s| vec![random.between(0.5, 3.0); s.multipliers()]).collect();
        if loose {
            let free = Program { requirements: Vec::new(), ..program };
            let Verdict::Solved { theta, .. } = solve(&free) else { panic!("a convex problem") };
            return theta;
        }
        let theta = program.compromise(&weights);
        if sketches.iter().all(|s| !s.pointwise) {
            return theta;
        }
        // The worst points weigh most, so that a common limit is worth something.
        for (sketch, weights) in sketches.iter().zip(&mut weights).filter(|(s, _)| s.pointwise) {
            let values = sketch.rows.values(&theta);
            let squares: f64 = values.iter().map(|v| v * v).sum();
            for (weight, v) in weights.iter_mut().zip(&values) {
                *weight *= values.len() as f64 * v * v / squares;
            }
        }
        program.compromise(&weights)
    }

    /// Requirements that cannot be met together; why is said at each.
    fn contradiction(&self, random: &mut Random) -> Vec<(Requirement, (Rows, Scope))> {
        let count = random.count(1, 6);
        let picked: Vec<bool> = (0..self.base.y.len()).map(|n| n < count).collect();
        let x = self.base.subset(&picked).x;
        let tight = random.between(0.3, 0.95);
        let one = |random: &mut Random, name: &str, x: &[Vec<f64>], y: f64| {
            let raw = Raw { x: x.to_vec(), y: vec![y; x.len()] };
            let rows = self.machine.features(&raw.x).loss(&self.regression.loss(), &raw.y);
            let population = raw.population(self.regression);
            sketch(name, &population, self.regression.loss(), rows, random.coin())
        };
        let views = self.regression != Regression::Softmax && random.coin();
        // The same x wants to be two things, or x and ρ(x) want to be two things and one.
        let other: Vec<Vec<f64>> = match views {
            true => x.iter().map(|x| moved_by_one(x)).collect(),
            false => x.clone(),
        };
        let (here, there) = match self.regression {
            Regression::Number => (random.datum(), grid(random.between(0.5, 2.0))),
            _ => (1.0, 0.0),
        };
        let away = if self.regression == Regression::Number { here + there } else { there };
        let first = one(random, "one thing", &x, here);
        let second = one(random, "another thing", &other, away);
        let mut stated = Vec::new();
        let room = match self.regression {
            // (root) mean square distances to two numbers at distance g add up to at least g.
            Regression::Number => {
                let share = random.between(0.2, 0.8);
                let (a, b) = (tight * share * there, tight * (1.0 - share) * there);
                let (a, b) = if views { (0.5 * a, 0.5 * b) } else { (a, b) };
                stated.push(first.at_most(a * a));
                stated.push(second.at_most(b * b));
                0.5 * tight * there
            }
            // −log p − log(1 − p) ≥ 2 log 2, and −log p₀ − log p₁ ≥ 2 log 2; with views, both
            // logits are at least `margin` from 0, on different sides, on average (convexity).
            _ => {
                let limit = tight * std::f64::consts::LN_2;
                stated.push(first.at_most(limit));
                stated.push(second.at_most(limit));
                -2.0 * limit.exp_m1().ln() * tight
            }
        };
        if views {
            let raw = Raw { x: x.clone(), y: vec![here; x.len()] };
            let population = raw.population(self.regression);
            let rotate = Rho::from(|x: &mut [f32]| x.rotate_right(1));
            let population = population.counterfactual(rotate).expect("any columns");
            let rows = self.machine.features(&x).squared_distance(&self.machine.features(&other));
            let pointwise = random.coin();
            let same = sketch("the same", &population, Loss::SquaredDistance, rows, pointwise);
            stated.push(same.at_most(room * room));
        }
        if random.coin() {
            stated.extend(self.feasible(random, Family::Inactive).into_iter().take(1));
        }
        stated
    }
}

pub(super) fn sketch(
    name: impl Into<String>,
    population: &Population,
    loss: Loss,
    rows: Rows,
    pointwise: bool,
) -> Sketch {
    let requirement = match pointwise {
        true => Requirement::pointwise(name, population, loss),
        false => Requirement::average(name, population, loss),
    };
    Sketch { requirement, rows, pointwise }
}

/// A limit that `theta` meets, by a hair or easily.
pub(super) fn limit(
    random: &mut Random,
    sketch: Sketch,
    theta: &[f64],
    loose: bool,
) -> (Requirement, (Rows, Scope)) {
    let values = sketch.rows.values(theta);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let worst = values.iter().copied().fold(0.0, f64::max);
    let room = if loose { random.between(0.5, 1.0) } else { random.between(0.01, 0.1) };
    let bit = if loose { 0.2 } else { 1e-3 };
    match (sketch.pointwise, random.coin()) {
        (false, _) => sketch.at_most((1.0 + room) * mean + bit),
        (true, false) => sketch.at_most((1.0 + room) * worst + bit),
        (true, true) => sketch.at_most_each(values.iter().map(|v| v + room * mean + bit).collect()),
    }
}

/// Centres among the samples; RBF, or a polynomial of degree 2.
fn kernel_expansion(random: &mut Random, base: &Raw, outputs: usize) -> Machine {
    let centres = base.x.iter().take(random.count(3, 9)).cloned().collect();
    let kernel = match random.coin() {
        true => Kernel::Rbf { gamma: random.between(0.1, 1.0) },
        false => Kernel::Polynomial { offset: random.between(0.0, 1.0), degree: 2 },
    };
    Machine::Kernel { centres, kernel, outputs }
}

/// Normal inputs whose last column is 0 or 1, and targets that follow them with noise.
pub(super) fn data(
    random: &mut Random,
    kind: Regression,
    n: usize,
    inputs: usize,
    shift: f64,
) -> Raw {
    let outputs = kind.outputs();
    let weights = random.normals(inputs * outputs);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let mut row: Vec<f64> = (0..inputs).map(|_| random.datum()).collect();
        row[inputs - 1] = f64::from(u8::from(random.coin()));
        let logits: Vec<f64> = (0..outputs)
            .map(|j| {
                let of = |(c, x): (usize, &f64)| x * weights[c * outputs + j];
                row.iter().enumerate().map(of).sum::<f64>() + random.normal() + shift * j as f64
            })
            .collect();
        let best = (0..outputs).fold(0, |a, b| if logits[b] > logits[a] { b } else { a });
        y.push(match kind {
            Regression::Number => grid(0.7 * logits[0] + shift),
            Regression::Binary => f64::from(u8::from(logits[0] + shift > 0.0)),
            Regression::Softmax => best as f64,
        });
        x.push(row);
    }
    Raw { x, y }
}

fn moved_by_one(x: &[f64]) -> Vec<f64> {
    let mut x = x.to_vec();
    x.rotate_right(1);
    x
}
