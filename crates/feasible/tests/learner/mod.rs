//! The parts of learners.

mod lbfgs;
mod margin;
mod metric;
mod order;
mod progress;
mod proxy;

use feasible::measurement::Violations;
use feasible::{Inputs, Measurement, Population, Samples, Targets};

/// Two people with numbers as targets.
fn everyone() -> Population {
    let inputs = Inputs::new(vec![0.0, 1.0], 1).unwrap();
    Population::new(Samples::new(inputs, Targets::Values(vec![0.0, 1.0])).unwrap())
}

/// What was measured on one worker, with these violations of each requirement.
fn measurement(objective: f64, violations: Vec<Vec<f64>>) -> Measurement {
    let of = |measured| {
        let none = r#"{"measured": [], "surrogate": null, "margin": 0.0}"#;
        let mut violations: Violations = serde_json::from_str(none).unwrap();
        violations.measured = measured;
        violations
    };
    let violations = violations.into_iter().map(of).collect();
    Measurement { objective, surrogate: None, penalty: 0.0, violations }
}
