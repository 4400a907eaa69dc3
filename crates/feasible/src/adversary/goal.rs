//! What an adversary maximises: a loss of the outputs, its gradient, and whether it has won.

use serde::{Deserialize, Serialize};

use crate::samples::Target;

/// The loss that is made large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttackLoss {
    /// ln Σ e^{z_j} − z_y.
    #[default]
    CrossEntropy,
    /// max over j ≠ y of z_j − z_y: positive exactly when the answer is wrong.
    Margin,
}

/// Where the model is to be led.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aim {
    /// Away from the right answer.
    #[default]
    Untargeted,
    /// To this class: the loss of this class is made small. Samples of the class are left alone.
    Targeted(u32),
}

/// A loss of one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// What counts first: the loss that a [`Judge`](crate::adversary::Judge) measures, 0 without one.
    pub(super) rank: f32,
    /// What is raised.
    pub loss: f32,
    /// Whether the attack has succeeded.
    pub won: bool,
}

impl Value {
    /// Whether this is worse for the model: the larger rank, a win before none, then the larger loss.
    pub(super) fn beats(self, other: Self) -> bool {
        (self.rank, self.won, self.loss) > (other.rank, other.won, other.loss)
    }

    pub(super) const NOTHING: Self =
        Self { rank: f32::NEG_INFINITY, loss: f32::NEG_INFINITY, won: false };
}

/// The value at the outputs `z` of one sample, and the gradient of its loss into `seeds`.
///
/// One output and a class is the logit of class 1. A number as target, or several, is attacked through the
/// squared error, and never won.
#[doc(hidden)]
pub fn goal(loss: AttackLoss, aim: Aim, target: Target<'_>, z: &[f32], seeds: &mut [f32]) -> Value {
    let y = match target {
        Target::Value(y) => {
            let mut total = 0.0;
            for (s, &z) in seeds.iter_mut().zip(z) {
                *s = 2.0 * (z - y);
                total += (z - y) * (z - y);
            }
            return Value { rank: 0.0, loss: total, won: false };
        }
        Target::Vector(y) => {
            let mut total = 0.0;
            for ((s, &z), &y) in seeds.iter_mut().zip(z).zip(y) {
                *s = 2.0 * (z - y);
                total += (z - y) * (z - y);
            }
            return Value { rank: 0.0, loss: total, won: false };
        }
        Target::Class(y) => y as usize,
    };
    let (class, sign) = match aim {
        Aim::Untargeted => (y, 1.0),
        Aim::Targeted(t) => (t as usize, -1.0),
    };
    if let [z] = z {
        // Logits (0, z): the margin of the other class over this one is ∓z.
        let side = if class == 1 { -1.0 } else { 1.0 };
        let (value, slope) = match loss {
            AttackLoss::Margin => (side * z, side),
            AttackLoss::CrossEntropy => {
                let m = side * z;
                (m.max(0.0) + (-m.abs()).exp().ln_1p(), side / (1.0 + (-m).exp()))
            }
        };
        seeds[0] = sign * slope;
        let wrong = z.is_nan() || if class == 1 { *z <= 0.0 } else { *z > 0.0 };
        let won = wrong == (aim == Aim::Untargeted);
        return Value { rank: 0.0, loss: sign * value, won };
    }
    let rival = rival(z, class);
    let value = match loss {
        AttackLoss::Margin => {
            seeds.fill(0.0);
            seeds[rival] = sign;
            seeds[class] -= sign;
            z[rival] - z[class]
        }
        AttackLoss::CrossEntropy => {
            let top = z.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let mut total = 0.0;
            for (s, &z) in seeds.iter_mut().zip(z) {
                *s = (z - top).exp();
                total += *s;
            }
            let factor = sign / total;
            seeds.iter_mut().for_each(|s| *s *= factor);
            seeds[class] -= sign;
            total.ln() + top - z[class]
        }
    };
    let wrong = z.iter().any(|z| z.is_nan()) || first_largest(z) != class;
    Value { rank: 0.0, loss: sign * value, won: wrong == (aim == Aim::Untargeted) }
}

/// The largest output besides `class`.
fn rival(z: &[f32], class: usize) -> usize {
    let mut best = usize::from(class == 0);
    for (j, &value) in z.iter().enumerate() {
        if j != class && value > z[best] {
            best = j;
        }
    }
    best
}

/// The answer: the first of the largest outputs.
pub(super) fn first_largest(z: &[f32]) -> usize {
    let mut best = 0;
    for (j, &value) in z.iter().enumerate() {
        if value > z[best] {
            best = j;
        }
    }
    best
}
