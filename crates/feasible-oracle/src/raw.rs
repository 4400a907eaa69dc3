//! Raw data, and the affine functions u(θ) a loss makes of them.

use feasible::{Inputs, Loss, Population, Samples, Targets};

use super::machine::Regression;
use super::{Curve, Point, Rows};

/// Inputs and targets in full precision; class c is the number c.
#[derive(Clone, Debug)]
pub struct Raw {
    pub x: Vec<Vec<f64>>,
    pub y: Vec<f64>,
}

impl Raw {
    /// The same data, for the crate.
    pub fn population(&self, regression: Regression) -> Population {
        let width = self.x[0].len();
        let x = self.x.iter().flatten().map(|&x| x as f32).collect();
        let targets = match regression {
            Regression::Number => Targets::Values(self.y.iter().map(|&y| y as f32).collect()),
            _ => Targets::Classes(self.y.iter().map(|&y| y as u32).collect()),
        };
        let inputs = Inputs::new(x, width).expect("finite inputs");
        Population::new(Samples::new(inputs, targets).expect("as many targets as inputs"))
    }

    /// The samples for which `mask` is true.
    pub fn subset(&self, mask: &[bool]) -> Self {
        let keep = |n: &usize| mask[*n];
        let rows: Vec<usize> = (0..self.y.len()).filter(keep).collect();
        Self {
            x: rows.iter().map(|&n| self.x[n].clone()).collect(),
            y: rows.iter().map(|&n| self.y[n]).collect(),
        }
    }
}

/// Features of samples: output j of sample n is `Σ_c rows[n][c] · θ[places[c][j]]`.
#[derive(Clone, Debug)]
pub struct Features {
    pub places: Vec<Vec<usize>>,
    pub rows: Vec<Vec<f64>>,
}

impl Features {
    fn output(&self, row: &[f64], j: usize, sign: f64, slopes: &mut [f64]) {
        for (c, feature) in row.iter().enumerate() {
            slopes[self.places[c][j]] += sign * feature;
        }
    }

    fn outputs(&self) -> usize {
        self.places[0].len()
    }

    fn parameters(&self) -> usize {
        self.places.len() * self.outputs()
    }

    /// A loss of the outputs and the targets.
    pub fn loss(&self, loss: &Loss, targets: &[f64]) -> Rows {
        let one = |sign: f64, row: &[f64], constant: f64| {
            let mut slopes = vec![0.0; self.parameters()];
            self.output(row, 0, sign, &mut slopes);
            Point { slopes: vec![slopes], constants: vec![constant] }
        };
        // −m: −z for class 1, z for class 0.
        let sign = |y: f64| 1.0 - 2.0 * y;
        let point = |row: &[f64], y: f64| match loss {
            Loss::Squared | Loss::Huber { .. } => one(1.0, row, -y),
            Loss::Logistic => one(sign(y), row, 0.0),
            Loss::SquaredHinge => one(sign(y), row, 1.0),
            Loss::CrossEntropy => {
                let y = y as usize;
                let others = (0..self.outputs()).filter(|&j| j != y);
                let contrast = |j| {
                    let mut slopes = vec![0.0; self.parameters()];
                    self.output(row, j, 1.0, &mut slopes);
                    self.output(row, y, -1.0, &mut slopes);
                    slopes
                };
                let slopes: Vec<_> = others.map(contrast).collect();
                Point { constants: vec![0.0; slopes.len()], slopes }
            }
            other => panic!("no conic form of {other} here"),
        };
        let curve = match loss {
            Loss::Squared => Curve::Squares,
            Loss::Huber { delta } => Curve::Huber(*delta),
            Loss::SquaredHinge => Curve::SquaredPlus,
            _ => Curve::LogSumExp,
        };
        let points = self.rows.iter().zip(targets).map(|(row, &y)| point(row, y)).collect();
        Rows { curve, points }
    }

    /// ‖f(x) − f(ρ(x))‖², `moved` being the features of ρ(x).
    pub fn squared_distance(&self, moved: &Self) -> Rows {
        let point = |(row, other): (&Vec<f64>, &Vec<f64>)| {
            let difference: Vec<f64> = row.iter().zip(other).map(|(a, b)| a - b).collect();
            let of = |j| {
                let mut slopes = vec![0.0; self.parameters()];
                self.output(&difference, j, 1.0, &mut slopes);
                slopes
            };
            Point {
                slopes: (0..self.outputs()).map(of).collect(),
                constants: vec![0.0; self.outputs()],
            }
        };
        let points = self.rows.iter().zip(&moved.rows).map(point).collect();
        Rows { curve: Curve::Squares, points }
    }
}
