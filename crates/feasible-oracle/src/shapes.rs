//! Shapes of problems that are hard in one way each: units, conditioning, degenerate data, losses that are
//! linear. Each is built twice from the same numbers; the oracle's is in units in which it is
//! easy, and `Shaped` says how the two sets of numbers go together.

use std::sync::Arc;

use feasible::loss::{CustomLoss, Properties};
use feasible::{Loss, Population, Problem, Requirement, Target};

use super::generate::{Generator, Sketch, data, limit, sketch};
use super::machine::Regression;
use super::raw::Raw;
use super::{Curve, Instance, Point, Random, Rows, Scope, grid};

/// What is hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Huber's loss, or the squared hinge, as the objective.
    OtherObjectives,
    /// Outputs and targets in units of 2¹⁰ or 2⁻¹⁰: squared losses a million times as large or small.
    Units,
    /// The same losses times 1e6 or 1e-6, objective and requirements differently.
    Factors,
    /// Inputs whose singular values span a factor of 1e6, no weight decay.
    Conditioning,
    /// Fewer rows than columns.
    Wide,
    /// Every row two or three times.
    Duplicates,
    /// The difference of mean outputs of two groups.
    Differences,
    /// A mean output of at least a limit.
    AtLeast,
    /// A mean output that equals a limit: two inequalities.
    Equalities,
    /// Limits of their own for every point.
    Limits,
    /// A share of the points that may violate a requirement.
    AllBut,
}

impl Shape {
    pub const ALL: [Self; 11] = [
        Self::OtherObjectives,
        Self::Units,
        Self::Factors,
        Self::Conditioning,
        Self::Wide,
        Self::Duplicates,
        Self::Differences,
        Self::AtLeast,
        Self::Equalities,
        Self::Limits,
        Self::AllBut,
    ];
}

/// A problem, twice, with what the numbers of the first are in those of the second.
#[derive(Clone, Debug)]
pub struct Shaped {
    pub instance: Instance,
    /// Objectives are so many times the oracle's.
    pub objective: f64,
    /// Multipliers are so many times the oracle's, per requirement.
    pub multipliers: Vec<f64>,
}

/// The output itself, or a loss times a factor.
#[derive(Debug)]
enum Made {
    Output,
    Times(f64, Loss),
}

impl CustomLoss for Made {
    fn name(&self) -> String {
        format!("{self:?}")
    }

    fn value(&self, at: &[f64], _: &[f64], target: Target<'_>) -> f64 {
        match self {
            Self::Output => at[0],
            Self::Times(factor, loss) => factor * of(loss, at[0], target).0,
        }
    }

    fn gradient(
        &self,
        at: &[f64],
        _: &[f64],
        target: Target<'_>,
        by_at: &mut [f64],
        _: &mut [f64],
    ) {
        by_at[0] = match self {
            Self::Output => 1.0,
            Self::Times(factor, loss) => factor * of(loss, at[0], target).1,
        };
    }

    fn properties(&self, _: usize) -> Properties {
        Properties { convex: true, ..Properties::default() }
    }
}

/// Value and slope of the losses used here, written out.
fn of(loss: &Loss, f: f64, target: Target<'_>) -> (f64, f64) {
    match (loss, target) {
        (Loss::Logistic, Target::Class(y)) => {
            let sign = if y == 1 { -1.0 } else { 1.0 };
            let (u, e) = (sign * f, (-(f.abs())).exp());
            let share = if u > 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) };
            (u.max(0.0) + e.ln_1p(), sign * share)
        }
        (_, Target::Value(y)) => {
            let r = f - f64::from(y);
            (r * r, 2.0 * r)
        }
        _ => panic!("no such loss here"),
    }
}

fn output() -> Loss {
    Loss::Custom(Arc::new(Made::Output))
}

/// Problem `number` of a shape.
pub fn shaped(shape: Shape, number: u64) -> Shaped {
    let mut random = Random::new(1000 + shape as u64, number);
    let random = &mut random;
    let regression = if random.coin() { Regression::Number } else { Regression::Binary };
    match shape {
        Shape::OtherObjectives => {
            let mut generator = Generator::new(random, regression, false);
            generator.objective = match regression {
                Regression::Number => Loss::Huber { delta: random.between(0.3, 1.5) },
                _ => Loss::SquaredHinge,
            };
            generator.decay = generator.decay.max(1e-3);
            with_usual(random, generator, 2)
        }
        Shape::Units => units(random),
        Shape::Factors => factors(random, regression),
        Shape::Conditioning => conditioning(random),
        Shape::Wide => {
            let (rows, inputs) = (random.count(5, 9), random.count(12, 20));
            let base = data(random, regression, rows, inputs, 0.0);
            let mut generator = Generator::of(random, regression, false, base);
            generator.decay = generator.decay.max(1e-3);
            with_usual(random, generator, 1)
        }
        Shape::Duplicates => {
            let base = data(random, regression, 12, 4, 0.0);
            let times = random.count(2, 3);
            let base = Raw { x: vec![base.x; times].concat(), y: base.y.repeat(times) };
            let mut generator = Generator::of(random, regression, false, base);
            generator.decay = generator.decay.max(1e-3);
            with_usual(random, generator, 2)
        }
        Shape::Differences | Shape::AtLeast | Shape::Equalities => {
            linear(random, regression, shape)
        }
        Shape::Limits => {
            let generator = Generator::new(random, regression, false);
            let sketch = generator.sketch(random, 0, true);
            let theta = generator.reference(random, std::slice::from_ref(&sketch), false);
            let values = sketch.rows.values(&theta);
            let limits = values.iter().map(|v| v * (1.0 + random.between(0.0, 0.3)) + 1e-3);
            let stated = sketch.at_most_each(limits.collect());
            plain(generator, vec![stated])
        }
        Shape::AllBut => {
            let generator = Generator::new(random, regression, false);
            let sketch = generator.sketch(random, 0, true);
            let theta = generator.reference(random, std::slice::from_ref(&sketch), false);
            let (requirement, rows) = limit(random, sketch, &theta, false);
            plain(generator, vec![(requirement.all_but(0.1), rows)])
        }
    }
}

/// A squared loss on a group that is measured by Huber's. The oracle's limit, of the squared loss, is not
/// known before the problem is solved: NaN.
pub fn measured(number: u64) -> Instance {
    let mut random = Random::new(2000, number);
    let random = &mut random;
    let generator = Generator::new(random, Regression::Number, false);
    let mask = group(&generator.base);
    let some = generator.population.subset(&mask).expect("a mask for everyone");
    let raw = generator.base.subset(&mask);
    let features = generator.machine.features(&raw.x);
    let (rows, huber) =
        (features.loss(&Loss::Squared, &raw.y), Loss::Huber { delta: random.between(0.3, 1.0) });
    let sketched = sketch("group", &some, Loss::Squared, rows.clone(), false);
    let theta = generator.reference(random, std::slice::from_ref(&sketched), false);
    let limit = 1.02 * features.loss(&huber, &raw.y).mean(&theta) + 1e-3;
    let requirement = sketched.requirement.measured_by(huber).at_most(limit);
    plain(generator, vec![(requirement, (rows, Scope::Average(f64::NAN)))]).instance
}

type Stated = (Requirement, (Rows, Scope));

/// The same numbers on both sides.
fn plain(generator: Generator, stated: Vec<Stated>) -> Shaped {
    let mut draft = Problem::minimise(&generator.population, generator.objective.clone())
        .weight_decay(generator.decay);
    let mut rows = Vec::new();
    for (requirement, numbers) in stated {
        draft = draft.subject_to(requirement);
        rows.push(numbers);
    }
    let problem = draft.check().expect("a well-formed problem");
    let (program, count) = (generator.program(rows), problem.requirements().len());
    let instance = Instance { problem, program, machine: generator.machine };
    Shaped { instance, objective: 1.0, multipliers: vec![1.0; count] }
}

/// One to `most` averages or pointwise requirements, as elsewhere.
fn with_usual(random: &mut Random, generator: Generator, most: usize) -> Shaped {
    let count = random.count(1, most);
    let sketches: Vec<Sketch> = (0..count)
        .map(|i| {
            let pointwise = random.coin();
            generator.sketch(random, i, pointwise)
        })
        .collect();
    let theta = generator.reference(random, &sketches, false);
    let stated = sketches.into_iter().map(|s| limit(random, s, &theta, false)).collect();
    plain(generator, stated)
}

/// A group by its last column, never empty and never everyone.
fn group(raw: &Raw) -> Vec<bool> {
    let last = raw.x[0].len() - 1;
    let mut mask: Vec<bool> = raw.x.iter().map(|x| x[last] == 1.0).collect();
    (mask[0], mask[1]) = (true, false);
    mask
}

/// A squared loss on a group, below what the optimum without it has there.
fn one_group(random: &mut Random, generator: &Generator) -> (Vec<bool>, f64, Rows) {
    let mask = group(&generator.base);
    let raw = generator.base.subset(&mask);
    let rows = generator.machine.features(&raw.x).loss(&generator.objective, &raw.y);
    let population = generator.population.subset(&mask).expect("a mask for everyone");
    let sketched = sketch("group", &population, generator.objective.clone(), rows.clone(), false);
    let theta = generator.reference(random, std::slice::from_ref(&sketched), false);
    let mean = rows.mean(&theta);
    (mask, grid(1.02 * mean + 0.005), rows)
}

fn units(random: &mut Random) -> Shaped {
    let mut generator = Generator::new(random, Regression::Number, false);
    generator.decay = 0.0;
    let (mask, limit, rows) = one_group(random, &generator);
    let unit = if random.coin() { 1024.0 } else { 1.0 / 1024.0 };
    let base = &generator.base;
    let scaled = Raw { x: base.x.clone(), y: base.y.iter().map(|y| unit * y).collect() };
    let everyone = scaled.population(Regression::Number);
    let some = everyone.subset(&mask).expect("a mask for everyone");
    let scaled = limit * unit * unit;
    let problem = Problem::minimise(&everyone, Loss::Squared)
        .subject_to(Requirement::average("group", &some, Loss::Squared).at_most(scaled))
        .check()
        .expect("a well-formed problem");
    let program = generator.program(vec![(rows, Scope::Average(limit))]);
    let instance = Instance { problem, program, machine: generator.machine };
    Shaped { instance, objective: unit * unit, multipliers: vec![1.0] }
}

fn factors(random: &mut Random, regression: Regression) -> Shaped {
    let generator = Generator::new(random, regression, false);
    let (mask, limit, rows) = one_group(random, &generator);
    let factor = |random: &mut Random| [1e-6, 1.0, 1e6][random.count(0, 2)];
    let (a, b) = (factor(random), factor(random));
    let loss = regression.loss();
    let times = |factor| Loss::Custom(Arc::new(Made::Times(factor, loss.clone())));
    let some = generator.population.subset(&mask).expect("a mask for everyone");
    let problem = Problem::minimise(&generator.population, times(a))
        .weight_decay(a * generator.decay)
        .subject_to(Requirement::average("group", &some, times(b)).at_most(b * limit))
        .check()
        .expect("a well-formed problem");
    let program = generator.program(vec![(rows, Scope::Average(limit))]);
    let instance = Instance { problem, program, machine: generator.machine };
    Shaped { instance, objective: a, multipliers: vec![a / b] }
}

/// Columns times 1 … 1e-6, and mixed, and the oracle's coordinates those of an orthonormal basis of the columns.
fn conditioning(random: &mut Random) -> Shaped {
    let (rows, inputs) = (random.count(20, 60), random.count(3, 6));
    let spread = random.between(3.0, 6.0);
    let base = data(random, Regression::Number, rows, inputs, 0.0);
    // A reflection, I − 2vvᵀ/‖v‖², mixes the columns and changes no singular value.
    let v: Vec<f64> = random.normals(inputs);
    let square: f64 = v.iter().map(|v| v * v).sum();
    let mixed = |x: &Vec<f64>| -> Vec<f64> {
        let shrink = |c: usize| 10f64.powf(-spread * c as f64 / (inputs - 1) as f64);
        let x: Vec<f64> = x.iter().enumerate().map(|(c, x)| x * shrink(c)).collect();
        let along = 2.0 * x.iter().zip(&v).map(|(x, v)| x * v).sum::<f64>() / square;
        // What the crate is given, in single precision, is what the oracle has.
        x.iter().zip(&v).map(|(x, v)| f64::from((x - along * v) as f32)).collect()
    };
    let base = Raw { x: base.x.iter().map(mixed).collect(), y: base.y };
    let mut generator = Generator::of(random, Regression::Number, false, base);
    generator.decay = 0.0;
    // Before limits are set: descent in bad coordinates gets nowhere.
    let basis = orthonormal(&generator.features.rows);
    generator.features.rows = basis;
    let mask = group(&generator.base);
    let kept: Vec<Vec<f64>> =
        generator.features.rows.iter().zip(&mask).filter(|p| *p.1).map(|p| p.0.clone()).collect();
    let places = generator.features.places.clone();
    let some = generator.base.subset(&mask);
    let rows = super::Features { places, rows: kept }.loss(&Loss::Squared, &some.y);
    let population = generator.population.subset(&mask).expect("a mask for everyone");
    let sketched = sketch("group", &population, Loss::Squared, rows.clone(), false);
    let theta = generator.reference(random, std::slice::from_ref(&sketched), false);
    let limit = 1.02 * rows.mean(&theta) + 0.005;
    let stated = (sketched.requirement.at_most(limit), (rows, Scope::Average(limit)));
    plain(generator, vec![stated])
}

/// The columns of a matrix, orthonormal in the mean: Gram and Schmidt, twice.
fn orthonormal(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let (count, width) = (rows.len(), rows[0].len());
    let mut columns: Vec<Vec<f64>> =
        (0..width).map(|c| rows.iter().map(|row| row[c]).collect()).collect();
    for c in (0..width).rev() {
        for _ in 0..3 {
            for d in c + 1..width {
                let share: f64 = columns[c].iter().zip(&columns[d]).map(|(a, b)| a * b).sum();
                let other = columns[d].clone();
                let scale = share / count as f64;
                columns[c].iter_mut().zip(&other).for_each(|(a, b)| *a -= scale * b);
            }
            let square: f64 = columns[c].iter().map(|a| a * a).sum();
            let norm = (square / count as f64).sqrt();
            columns[c].iter_mut().for_each(|a| *a /= norm);
        }
    }
    (0..count).map(|n| columns.iter().map(|column| column[n]).collect()).collect()
}

/// Requirements on mean outputs.
fn linear(random: &mut Random, regression: Regression, shape: Shape) -> Shaped {
    let mut generator = Generator::new(random, regression, false);
    generator.decay = generator.decay.max(1e-3);
    let free = generator.reference(random, &[], true);
    let mask = group(&generator.base);
    let inverse: Vec<bool> = mask.iter().map(|m| !m).collect();
    let mean = |mask: &[bool]| -> Point {
        let raw = generator.base.subset(mask);
        let features = generator.machine.features(&raw.x);
        let count = features.rows.len() as f64;
        let width = features.rows[0].len();
        let of = |c: usize| features.rows.iter().map(|row| row[c]).sum::<f64>() / count;
        Point { slopes: vec![(0..width).map(of).collect()], constants: vec![0.0] }
    };
    let population =
        |mask: &[bool]| -> Population { generator.population.subset(mask).expect("a mask") };
    let one = |sign: f64, point: &Point, limit: f64| {
        let slopes = point.slopes[0].iter().map(|s| sign * s).collect();
        let point = Point { slopes: vec![slopes], constants: vec![0.0] };
        (Rows { curve: Curve::Linear, points: vec![point] }, Scope::Average(sign * limit))
    };
    let (ours, theirs) = (mean(&mask), mean(&inverse));
    let difference = Point {
        slopes: vec![ours.slopes[0].iter().zip(&theirs.slopes[0]).map(|(a, b)| a - b).collect()],
        constants: vec![0.0],
    };
    let at = |point: &Point| super::program::dot(&point.slopes[0], &free);
    let some = population(&mask);
    let stated: Vec<Stated> = match shape {
        Shape::Differences => {
            let sign = if at(&difference) > 0.0 { 1.0 } else { -1.0 };
            let limit = if random.coin() { 0.0 } else { 0.5 * at(&difference).abs() };
            let (a, b) = if sign > 0.0 { (&mask, &inverse) } else { (&inverse, &mask) };
            let requirement = Requirement::average("difference", &population(a), output());
            let requirement = requirement.minus(&population(b)).at_most(limit);
            vec![(requirement, one(sign, &difference, sign * limit))]
        }
        Shape::AtLeast => {
            let limit = at(&ours) + random.between(0.2, 2.0);
            let requirement = Requirement::average("floor", &some, output()).at_least(limit);
            vec![(requirement, one(-1.0, &ours, limit))]
        }
        _ => {
            let limit = at(&ours) + random.between(-2.0, 2.0);
            let of = |name: &str| Requirement::average(name, &some, output());
            vec![
                (of("ceiling").at_most(limit), one(1.0, &ours, limit)),
                (of("floor").at_least(limit), one(-1.0, &ours, limit)),
            ]
        }
    };
    plain(generator, stated)
}
