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
pub(super) struct Value {
    /// What counts first: the loss that a [`Judge`](crate::adversary::Judge) measures, 0 without one.
    pub(super) rank: f32,
    pub(super) loss: f32,
    /// Whether the attack has succeeded.
    pub(super) won: bool,
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
pub(super) fn goal(
    loss: AttackLoss,
    aim: Aim,
    target: Target<'_>,
    z: &[f32],
    seeds: &mut [f32],
) -> Value {
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
        let wrong = if class == 1 { *z <= 0.0 } else { *z > 0.0 };
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
    let wrong = first_largest(z) != class;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_the_gradient_of_the_loss() {
        let outputs: [&[f32]; 3] = [&[0.3, -1.25, 2.0, 0.5], &[0.75], &[-0.5, 0.25]];
        for z in outputs {
            for loss in [AttackLoss::CrossEntropy, AttackLoss::Margin] {
                for aim in [Aim::Untargeted, Aim::Targeted(1), Aim::Targeted(0)] {
                    for y in 0..z.len().max(2) as u32 {
                        let mut seeds = vec![0.0; z.len()];
                        let value = |z: &[f32], s: &mut [f32]| {
                            f64::from(goal(loss, aim, Target::Class(y), z, s).loss)
                        };
                        value(z, &mut seeds);
                        for j in 0..z.len() {
                            let mut moved = z.to_vec();
                            let mut spare = vec![0.0; z.len()];
                            moved[j] += 1.0 / 64.0;
                            let up = value(&moved, &mut spare);
                            moved[j] -= 1.0 / 32.0;
                            let down = value(&moved, &mut spare);
                            // Truncation h²/6 = 4e-5; rounding of f32 values of order 1 over h: 1e-5.
                            let slope = (up - down) * 32.0;
                            assert!(
                                (slope - f64::from(seeds[j])).abs() < 1e-4,
                                "{loss:?} {aim:?} {z:?}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_win_is_a_wrong_answer_or_the_wanted_one() {
        let z = [0.3, 2.0, 0.5];
        let won = |aim, y| goal(AttackLoss::Margin, aim, Target::Class(y), &z, &mut [0.0; 3]).won;
        assert!(!won(Aim::Untargeted, 1) && won(Aim::Untargeted, 0));
        assert!(won(Aim::Targeted(1), 0) && !won(Aim::Targeted(2), 0));
    }
}
