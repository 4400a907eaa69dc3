//! The offset of a surrogate at which the measured violation is zero.

use feasible::internals::Bracket;

fn find(violation: impl Fn(f64) -> f64, start: f64) -> (Bracket, usize) {
    let mut bracket = Bracket { at: start, ..Bracket::default() };
    for tried in 0..100 {
        if bracket.is_closed(1.0) {
            return (bracket, tried);
        }
        bracket.note(violation(bracket.at), 1.0);
    }
    (bracket, 100)
}

#[test]
fn the_offset_at_which_a_violation_is_zero_is_found_in_any_unit_smooth_or_not() {
    for start in [-50.0, 0.2, 3.0] {
        let (bracket, tried) = find(|t| (t - 0.7).exp() - 1.0, start);
        assert!((bracket.at - 0.7).abs() < 1e-5 && tried < 60, "{bracket:?} after {tried}");
        // A rate of 20 samples, met up to an offset of 0.7.
        let (bracket, tried) = find(|t| ((t - 0.7) * 20.0).ceil() / 20.0, start);
        assert!((bracket.at - 0.7).abs() < 1e-5 && tried < 60, "{bracket:?} after {tried}");
        assert!(bracket.met.unwrap().0 <= 0.7 && bracket.violated.unwrap().0 > 0.7);
    }
}
