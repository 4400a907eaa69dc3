//! A [`Program`] as a conic program, and Clarabel's verdict on it.
//!
//! Curves become cones: ‖u‖² ≤ t is (t + 1, t − 1, 2u) in the second-order cone, a logarithm of a
//! sum of exponentials is exp(uⱼ − t) ≤ wⱼ with Σ w ≤ 1 in exponential cones, the positive part is a
//! variable h ≥ u, h ≥ 0, and Huber's loss is min over w of ½w² + δ|u − w|. Each limit is a
//! row of its own, "epigraph variables ≤ c", whose dual variable ν is the multiplier in
//! Clarabel's Lagrangian F₀ + Σ ν (φ − c). The crate's pointwise term is (1/N) Σ λ (φ − c), so
//! λ = N ν; for averages μ = ν.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolution, DefaultSolver, IPSolver, SolverStatus, SupportedConeT,
};

use super::program::{Program, Rows, Scope};
use super::{Curve, Point};

/// What Clarabel says.
#[derive(Clone, Debug)]
pub enum Verdict {
    Solved { theta: Vec<f64>, multipliers: Vec<Vec<f64>> },
    Infeasible,
    Undecided(String),
}

/// A linear expression in the program's variables: (column, factor).
type Expression = Vec<(usize, f64)>;

#[derive(Default)]
struct Conic {
    columns: usize,
    /// Upper triangle of P.
    quadratic: Vec<(usize, usize, f64)>,
    linear: Vec<f64>,
    /// A, as (row, column, factor).
    entries: Vec<(usize, usize, f64)>,
    bounds: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Conic {
    fn variable(&mut self) -> usize {
        self.columns += 1;
        self.linear.push(0.0);
        self.columns - 1
    }

    /// The row "expression + constant", a coordinate of the cone that is pushed next.
    fn row(&mut self, expression: &[(usize, f64)], constant: f64) -> usize {
        let row = self.bounds.len();
        self.entries.extend(expression.iter().map(|&(column, factor)| (row, column, -factor)));
        self.bounds.push(constant);
        row
    }

    /// expression + constant ≥ 0; the row, for its dual variable.
    fn at_least_zero(&mut self, expression: &[(usize, f64)], constant: f64) -> usize {
        let row = self.row(expression, constant);
        match self.cones.last_mut() {
            Some(SupportedConeT::NonnegativeConeT(rows)) => *rows += 1,
            _ => self.cones.push(SupportedConeT::NonnegativeConeT(1)),
        }
        row
    }

    /// A variable t ≥ Σ (factor · (expression + constant))².
    fn above_squares(&mut self, factor: f64, parts: &[(Expression, f64)]) -> usize {
        let t = self.variable();
        self.row(&[(t, 1.0)], 1.0);
        self.row(&[(t, 1.0)], -1.0);
        for (expression, constant) in parts {
            let scaled: Expression =
                expression.iter().map(|&(c, f)| (c, 2.0 * factor * f)).collect();
            self.row(&scaled, 2.0 * factor * constant);
        }
        self.cones.push(SupportedConeT::SecondOrderConeT(2 + parts.len()));
        t
    }

    /// A variable w ≥ exp(expression + constant).
    fn above_exponential(&mut self, expression: &[(usize, f64)], constant: f64) -> usize {
        let w = self.variable();
        self.row(expression, constant);
        self.row(&[], 1.0);
        self.row(&[(w, 1.0)], 0.0);
        self.cones.push(SupportedConeT::ExponentialConeT());
        w
    }

    /// An expression that is at least φ at a point, and can be equal.
    fn epigraph(&mut self, curve: Curve, point: &Point) -> Expression {
        let parts = parts(point);
        match curve {
            Curve::Squares => vec![(self.above_squares(1.0, &parts), 1.0)],
            Curve::LogSumExp => {
                let t = self.variable();
                let mut weights = vec![(self.above_exponential(&[(t, -1.0)], 0.0), -1.0)];
                for (mut expression, constant) in parts {
                    expression.push((t, -1.0));
                    weights.push((self.above_exponential(&expression, constant), -1.0));
                }
                self.at_least_zero(&weights, 1.0);
                vec![(t, 1.0)]
            }
            Curve::Linear => {
                let t = self.variable();
                self.at_least(t, &parts[0].0, parts[0].1, 1.0);
                vec![(t, 1.0)]
            }
            Curve::SquaredPlus => {
                let h = self.variable();
                self.at_least_zero(&[(h, 1.0)], 0.0);
                self.at_least(h, &parts[0].0, parts[0].1, 1.0);
                vec![(self.above_squares(1.0, &[(vec![(h, 1.0)], 0.0)]), 1.0)]
            }
            Curve::Huber(delta) => {
                let (w, v) = (self.variable(), self.variable());
                let (mut difference, constant) = parts[0].clone();
                difference.push((w, -1.0));
                self.at_least(v, &difference, constant, 1.0);
                self.at_least(v, &difference, constant, -1.0);
                let square = self.above_squares(1.0, &[(vec![(w, 1.0)], 0.0)]);
                vec![(square, 0.5), (v, delta)]
            }
        }
    }

    /// variable ≥ sign · (expression + constant).
    fn at_least(&mut self, variable: usize, expression: &Expression, constant: f64, sign: f64) {
        let mut row: Expression = expression.iter().map(|&(c, f)| (c, -sign * f)).collect();
        row.push((variable, 1.0));
        self.at_least_zero(&row, -sign * constant);
    }

    /// An expression that is at least the mean of φ, and can be equal.
    fn mean(&mut self, rows: &Rows) -> Expression {
        let count = rows.points.len() as f64;
        if rows.curve == Curve::Squares {
            let all: Vec<_> = rows.points.iter().flat_map(parts).collect();
            return vec![(self.above_squares(count.sqrt().recip(), &all), 1.0)];
        }
        let mut sum = Vec::new();
        for point in &rows.points {
            let epigraph = self.epigraph(rows.curve, point);
            sum.extend(epigraph.into_iter().map(|(c, f)| (c, f / count)));
        }
        sum
    }

    /// The objective: quadratic as it is, others through their epigraph.
    fn minimise(&mut self, program: &Program) {
        let (rows, p) = (&program.objective, program.parameters);
        let mut square = vec![0.0; p * p];
        for i in 0..p {
            square[i * p + i] = program.decay;
        }
        if rows.curve == Curve::Squares {
            let factor = 2.0 / rows.points.len() as f64;
            for (a, b) in rows.points.iter().flat_map(|q| q.slopes.iter().zip(&q.constants)) {
                for i in 0..p {
                    self.linear[i] += factor * b * a[i];
                    for j in i..p {
                        square[i * p + j] += factor * a[i] * a[j];
                    }
                }
            }
        } else {
            for (column, factor) in self.mean(rows) {
                self.linear[column] += factor;
            }
        }
        for j in 0..p {
            self.quadratic.extend((0..=j).map(|i| (i, j, square[i * p + j])));
        }
    }
}

/// The entries of u as expressions in θ, which are the first columns.
fn parts(point: &Point) -> Vec<(Expression, f64)> {
    let expression = |a: &Vec<f64>| {
        a.iter().copied().enumerate().filter(|(_, f)| *f != 0.0).collect::<Expression>()
    };
    point.slopes.iter().zip(&point.constants).map(|(a, &b)| (expression(a), b)).collect()
}

fn sparse(rows: usize, columns: usize, entries: &[(usize, usize, f64)]) -> CscMatrix<f64> {
    let i = entries.iter().map(|e| e.0).collect();
    let j = entries.iter().map(|e| e.1).collect();
    let v = entries.iter().map(|e| e.2).collect();
    CscMatrix::new_from_triplets(rows, columns, i, j, v)
}

impl Conic {
    fn new(program: &Program) -> Self {
        let mut conic = Self::default();
        for _ in 0..program.parameters {
            conic.variable();
        }
        conic
    }

    /// Rows "limit + room − epigraph ≥ 0" of every requirement; one row per multiplier.
    fn require(&mut self, program: &Program, room: &[(usize, f64)]) -> Vec<Vec<usize>> {
        let below = |conic: &mut Self, epigraph: Expression, c: f64| {
            let mut row: Expression = epigraph.into_iter().map(|(c, f)| (c, -f)).collect();
            row.extend(room);
            conic.at_least_zero(&row, c)
        };
        let mut limits = Vec::new();
        for (rows, scope) in &program.requirements {
            limits.push(match scope {
                Scope::Average(c) => {
                    let mean = self.mean(rows);
                    vec![below(self, mean, *c)]
                }
                Scope::Pointwise(c) => {
                    let limit = |(point, c): (&Point, &f64)| {
                        let epigraph = self.epigraph(rows.curve, point);
                        below(self, epigraph, *c)
                    };
                    rows.points.iter().zip(c).map(limit).collect()
                }
            });
        }
        limits
    }

    fn solve(&self, tolerance: f64) -> DefaultSolution<f64> {
        let a = sparse(self.bounds.len(), self.columns, &self.entries);
        let p = sparse(self.columns, self.columns, &self.quadratic);
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .tol_gap_abs(tolerance)
            .tol_gap_rel(tolerance)
            .tol_feas(tolerance)
            .max_threads(1)
            .build()
            .expect("these settings are in range");
        let (q, b) = (&self.linear, &self.bounds);
        let mut solver =
            DefaultSolver::new(&p, q, &a, b, &self.cones, settings).expect("sizes fit");
        solver.solve();
        solver.solution
    }
}

/// Solves a program with Clarabel.
pub fn solve(program: &Program) -> Verdict {
    let mut conic = Conic::new(program);
    conic.minimise(program);
    let limits = conic.require(program, &[]);
    let mut verdict = Verdict::Undecided(String::new());
    // First tighter than Clarabel's default of 1e-8, so that the oracle's own error vanishes
    // beside the tolerances of the tests; exponential cones do not always get that far.
    for tolerance in [1e-10, 1e-8] {
        let solution = conic.solve(tolerance);
        let theta = solution.x[..program.parameters].to_vec();
        let scaled = |rows: &Vec<usize>| {
            rows.iter().map(|&row| rows.len() as f64 * solution.z[row]).collect()
        };
        let multipliers: Vec<Vec<f64>> = limits.iter().map(scaled).collect();
        verdict = match solution.status {
            SolverStatus::Solved => Verdict::Solved { theta, multipliers },
            // Stopped short of 1e-10, but by its own KKT residual close enough.
            SolverStatus::AlmostSolved if program.kkt(&theta, &multipliers).residual() <= 1e-5 => {
                Verdict::Solved { theta, multipliers }
            }
            SolverStatus::PrimalInfeasible => Verdict::Infeasible,
            status => Verdict::Undecided(format!("{status:?}")),
        };
        if !matches!(verdict, Verdict::Undecided(_)) {
            break;
        }
    }
    verdict
}

/// The least τ for which some θ violates no requirement by more than τ: positive if and only if
/// the program is infeasible (up to the solver's 1e-8).
pub fn least_violation(program: &Program) -> f64 {
    let mut conic = Conic::new(program);
    let tau = conic.variable();
    conic.linear[tau] = 1.0;
    conic.require(program, &[(tau, 1.0)]);
    let solution = conic.solve(1e-8);
    let solved = matches!(solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved);
    assert!(solved, "phase one always has a solution: {:?}", solution.status);
    solution.x[tau]
}
