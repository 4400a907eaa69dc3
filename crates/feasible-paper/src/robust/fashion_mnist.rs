//! Fashion-MNIST: no requirement; the expected loss under attack at most c for ε = 0.04 and for ε = 0.1;
//! and for ε ~ 0.25 Beta(3, 8).

use super::claims::{Shown, at, fails, holds, met};
use super::table::RobustRow;
use super::{Reduced, RobustExperiment, Variant};

/// The paper's experiment on Fashion-MNIST. The reduced run keeps the network and the attack. From 300
/// images of each class, of the embedded sample, a network learns less than from 5,900, so the limits
/// are higher than the paper's (chosen on validation images), and training is stricter than they are.
pub static FASHION_MNIST: RobustExperiment = RobustExperiment {
    name: "fashion-mnist",
    title: "Fashion-MNIST",
    figure: "Fig. 2",
    variants: &[
        Variant {
            problem: "fashion-mnist-nominal",
            name: "no requirement",
            paper: &[(0.0, "93.5"), (0.04, "0")],
            small_limit: None,
            small_epochs: 12,
        },
        Variant {
            problem: "fashion-mnist-eps04",
            name: "ε = 0.04",
            paper: &[(0.0, "88"), (0.04, "85"), (0.08, "9")],
            small_limit: Some(0.7),
            small_epochs: 6,
        },
        Variant {
            problem: "fashion-mnist-eps10",
            name: "ε = 0.1",
            paper: &[(0.0, "84.6")],
            small_limit: Some(1.1),
            small_epochs: 6,
        },
        Variant {
            problem: "fashion-mnist-prior",
            name: "ε ~ 0.25 Beta(3, 8)",
            paper: &[(0.0, "87"), (0.12, "67")],
            small_limit: Some(1.0),
            small_epochs: 6,
        },
    ],
    shown: &[0.0, 0.04, 0.08, 0.1, 0.12],
    epsilons: &[0.0, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.12, 0.16, 0.2],
    small: Reduced {
        overrides: &[
            "data.source=fashion-mnist-sample",
            "data.per_class.train=300",
            "data.per_class.validation=50",
            "training.recipe=feasible",
            "training.batch_size=32",
            "training.measure_on=200",
            "training.dual.rate=0.05",
        ],
        margin: 0.15,
        epsilons: &[0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.16],
        restarts: 2,
        per_class: 20,
    },
    claims,
};

fn claims(rows: &[RobustRow]) -> Vec<Shown> {
    let [nominal, small, large, prior] = rows else { return Vec::new() };
    let claim = "without a requirement the network fails by ε = 0.04";
    let mut claims = vec![fails(claim, &nominal.curve, 0.04)];
    // Where the paper shows each to hold.
    for (row, epsilon) in [(small, 0.04), (large, 0.1), (prior, 0.12)] {
        claims.push(holds(&row.variant, &row.curve, &nominal.curve, epsilon, 0.5));
        claims.extend(met(&row.summary.train.requirements));
    }
    claims.push(fails("with ε = 0.04 it fails soon after: 9 % at ε = 0.08", &small.curve, 0.08));
    let fall = |row: &RobustRow| at(&row.curve, 0.04) - at(&row.curve, 0.12);
    claims.push(Shown {
        claim: "a prior degrades more smoothly than one small ε".into(),
        found: format!(
            "from ε = 0.04 to 0.12 it loses {:.1} points, the other {:.1}",
            100.0 * fall(prior),
            100.0 * fall(small)
        ),
        agrees: fall(prior) < fall(small) && at(&prior.curve, 0.12) > at(&small.curve, 0.12),
    });
    claims
}
