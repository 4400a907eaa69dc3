//! What the paper claims of robust networks, and whether it shows here.

use feasible_problem::text::{percent, short};
use feasible_run::RequirementResult;
use feasible_run::attack::Curve;
use serde::Serialize;

/// A result of the paper, and whether it shows here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown {
    /// What the paper says.
    pub claim: String,
    /// What is found here.
    pub found: String,
    /// Whether that agrees.
    pub agrees: bool,
}

/// The accuracy at an ε; 0 if that was not attacked.
pub(super) fn at(curve: &Curve, epsilon: f64) -> f64 {
    curve.at(epsilon).map_or(0.0, |point| point.accuracy)
}

/// A network fails at ε: less than a quarter of its clean accuracy is left.
pub(super) fn fails(claim: &str, curve: &Curve, epsilon: f64) -> Shown {
    let (there, clean) = (at(curve, epsilon), at(curve, 0.0));
    Shown {
        claim: claim.into(),
        found: format!("{} there, {} clean", percent(there), percent(clean)),
        agrees: there < 0.25 * clean,
    }
}

/// A network stands where the one without requirement does not: more than a `share` of the images, and
/// beyond what chance explains.
pub(super) fn holds(name: &str, own: &Curve, nominal: &Curve, epsilon: f64, share: f64) -> Shown {
    let (there, without) = (at(own, epsilon), at(nominal, epsilon));
    let apart = own.at(epsilon).zip(nominal.at(epsilon)).is_some_and(|(a, b)| a.low > b.high);
    Shown {
        claim: format!("with {name} it holds at ε = {}", short(epsilon)),
        found: format!("{}, against {} without", percent(there), percent(without)),
        agrees: there > share && apart,
    }
}

/// The requirements are met, on the training images.
pub(super) fn met(standings: &[RequirementResult]) -> impl Iterator<Item = Shown> {
    standings.iter().map(|standing| Shown {
        claim: format!("its loss under attack is at most {}", short(standing.limit)),
        found: format!("{} on the training images", short(standing.value.unwrap_or(f64::NAN))),
        agrees: standing.met,
    })
}

/// One network is more accurate at ε than another.
pub(super) fn above(claim: &str, own: &Curve, other: &Curve, epsilon: f64) -> Shown {
    let (own, other) = (at(own, epsilon), at(other, epsilon));
    Shown {
        claim: claim.into(),
        found: format!("{} against {}", percent(own), percent(other)),
        agrees: own > other,
    }
}

/// Two networks are as accurate at ε, as far as the images can say: their intervals overlap.
pub(super) fn alike(claim: &str, own: &Curve, other: &Curve, epsilon: f64) -> Shown {
    let both = own.at(epsilon).zip(other.at(epsilon));
    Shown {
        claim: claim.into(),
        found: format!("{} against {}", percent(at(own, epsilon)), percent(at(other, epsilon))),
        agrees: both.is_some_and(|(a, b)| a.low <= b.high && b.low <= a.high),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use feasible_run::attack::{AttackOptions, CurvePoint};

    /// 100 images; ε, how many stand, and intervals of ±10 of them.
    fn curve(points: &[(f64, usize)]) -> Curve {
        let point = |&(epsilon, correct): &(f64, usize)| {
            let accuracy = correct as f64 / 100.0;
            let (low, high) = (accuracy - 0.1, accuracy + 0.1);
            CurvePoint { epsilon, correct, total: 100, accuracy, low, high }
        };
        let (problem, data) = ("problem".into(), "data".into());
        let attack = AttackOptions::default();
        let points = points.iter().map(point).collect();
        Curve {
            problem,
            data,
            selected: None,
            attack,
            points,
            by_class: Vec::new(),
            examples: None,
        }
    }

    #[test]
    fn a_network_fails_below_a_quarter_of_its_clean_accuracy() {
        let claim = |there| fails("fails", &curve(&[(0.0, 80), (0.1, there)]), 0.1);
        assert!(claim(19).agrees && !claim(20).agrees);
        assert_eq!(claim(19).found, "19.00 % there, 80.00 % clean");
    }

    #[test]
    fn a_network_holds_if_it_has_the_share_and_chance_does_not_explain_the_difference() {
        let nominal = curve(&[(0.1, 45)]);
        let claim = |there| holds("it", &curve(&[(0.1, there)]), &nominal, 0.1, 0.5).agrees;
        assert!(claim(66));
        assert!(!claim(64), "the intervals touch");
        let low = holds("it", &curve(&[(0.1, 50)]), &curve(&[(0.1, 0)]), 0.1, 0.5);
        assert!(!low.agrees, "no more than the share");
        assert!(
            !holds("it", &curve(&[(0.2, 90)]), &nominal, 0.1, 0.5).agrees,
            "not attacked there"
        );
    }

    #[test]
    fn two_networks_are_compared_at_one_epsilon() {
        let curves = |own, other| (curve(&[(0.1, own)]), curve(&[(0.1, other)]));
        for (own, other, greater, same) in [
            (50, 49, true, true),
            (50, 50, false, true),
            (50, 71, false, false),
            (71, 50, true, false),
        ] {
            let (own, other) = curves(own, other);
            assert_eq!(above("", &own, &other, 0.1).agrees, greater);
            assert_eq!(alike("", &own, &other, 0.1).agrees, same);
        }
    }
}
