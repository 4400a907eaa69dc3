//! What an attack raises.

use feasible::Target;
use feasible::adversary::{Aim, AttackLoss};
use feasible::internals::goal;

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
