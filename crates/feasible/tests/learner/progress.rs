//! Which of two iterates is better, and when a training is stuck.

use feasible::learner::{Merit, Progress};
use feasible::{Loss, Problem, Requirement};

use super::{everyone, measurement};

#[test]
fn a_model_is_not_ruined_for_a_little_more_room() {
    let everyone = everyone();
    let mean = Requirement::average("mean", &everyone, Loss::Squared).at_most(1.0);
    let problem = Problem::minimise(&everyone, Loss::Squared).subject_to(mean).check().unwrap();
    // The limit that counts is 1.5: of violations, half a unit is room.
    let merit = |objective: f64, violation: f64| {
        let measurement = measurement(objective, vec![vec![violation]]);
        let infeasible = Merit { feasible: false, value: violation };
        infeasible.wanting(&problem, &measurement, &[0.0], &[0.5])
    };
    // All of the room is worth a tenth of the objective, of any size and sign.
    for size in [1e-12, 1.0, 1e12] {
        assert!(merit(0.5 * size, 0.4).beats(&merit(0.7 * size, 0.1), 0.0), "{size}");
        assert!(merit(0.5 * size, 0.4).beats(&merit(0.501 * size, 0.45), 0.0), "{size}");
        assert!(merit(0.51 * size, 0.1).beats(&merit(0.5 * size, 0.4), 0.0), "{size}");
        assert!(merit(-0.5 * size, 0.1).beats(&merit(-0.5 * size, 0.4), 0.0), "{size}");
    }
    // Whatever it costs, the limit itself comes first; beyond it, the violation.
    assert!(merit(1e300, 0.5).beats(&merit(0.1, 0.6), 0.0));
    assert!(merit(9.0, 0.6).beats(&merit(0.1, 0.7), 0.0));
}

#[test]
fn feasible_beats_cheap_and_among_feasible_ones_the_cheaper_wins() {
    let merit = |feasible, value| Merit { feasible, value };
    assert!(merit(true, 9.0).beats(&merit(false, 0.1), 0.0));
    assert!(!merit(false, 0.1).beats(&merit(true, 9.0), 0.0));
    assert!(merit(true, 1.0).beats(&merit(true, 2.0), 0.0));
    assert!(!merit(true, 1.99).beats(&merit(true, 2.0), 0.1));
}

#[test]
fn being_stuck_is_noticed_after_the_window_and_later_after_twice_the_window() {
    let mut progress = Progress::default();
    assert!(!progress.is_stuck(1.0, 3));
    let stuck: Vec<bool> = (0..9).map(|_| progress.is_stuck(1.0, 3)).collect();
    assert_eq!(stuck, [false, false, true, false, false, false, false, false, true]);
}
