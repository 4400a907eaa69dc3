//! Who was hard, against scipy.

use feasible::Result;
use feasible::certificate::{Count, Delta};
use feasible::internals::{fisher, holm};
use feasible::sensitivity::{Among, Group, Hardest, Prevalence, prevalence};

/// population, group, hardest, k, low, high, p; from reference/sensitivity.py.
const SCIPY: &str = include_str!("reference/sensitivity.csv");

#[test]
fn intervals_and_tests_are_those_of_scipy() -> Result<()> {
    let mut cases = 0;
    for line in SCIPY.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let whole = |at: usize| cells[at].parse::<usize>().unwrap_or(usize::MAX);
        let real = |at: usize| cells[at].parse::<f64>().unwrap_or(f64::NAN);
        let (population, all, n, k) = (whole(0), whole(1), whole(2), whole(3));
        let (seen, tail) = (Count::new(k as u64, n as u64)?, Delta::confidence(0.95)?.among(2));
        let (low, high) = (seen.lower(tail), seen.upper(tail));
        // The stored numbers have ten digits and more.
        assert!((low - real(4)).abs() < 1e-9, "{line}: {low}");
        assert!((high - real(5)).abs() < 1e-9, "{line}: {high}");
        let p = fisher(population, all, n, k);
        // Logarithms of factorials of a million keep about 1e-9.
        let expected = real(6);
        assert!((p - expected).abs() <= 1e-6 * expected + 1e-300, "{line}: {p}");
        cases += 1;
    }
    assert!(cases >= 30);
    Ok(())
}

#[test]
fn holm_multiplies_by_what_is_left_and_never_falls() {
    let of = |p: f64| Prevalence {
        name: String::new(),
        among_hardest: 0,
        among_all: 0,
        share: 0.0,
        share_of_all: 0.0,
        ratio: 0.0,
        interval: (0.0, 1.0),
        p,
        adjusted: f64::NAN,
    };
    let mut found = [0.03, 0.01, 0.02, 0.9].map(of);
    holm(&mut found);
    let adjusted = found.map(|f| f.adjusted);
    // 4 · 0.01, 3 · 0.02, max(2 · 0.03, 0.06), 1 · 0.9.
    let expected = [0.06, 0.04, 0.06, 0.9];
    for (found, expected) in adjusted.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-15, "{adjusted:?}");
    }
}

#[test]
fn the_hardest_are_the_largest_and_ties_are_counted() -> Result<()> {
    let lambda = [0.0, 2.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let all = Hardest::of(&lambda, 0.2, Among::All)?;
    assert_eq!((all.members.as_slice(), all.of, all.least, all.tied), (&[1, 2][..], 10, 1.0, 2));
    let positive = Hardest::of(&lambda, 0.25, Among::Positive)?;
    assert_eq!((positive.members.as_slice(), positive.of, positive.tied), (&[1][..], 4, 0));
    assert_eq!(Hardest::of(&lambda, 1.0, Among::All)?.members.len(), 10);
    assert!(Hardest::of(&lambda, 0.0, Among::All).is_err());
    assert!(Hardest::of(&[0.0; 3], 0.5, Among::Positive).is_err());
    assert!(Hardest::of(&[1.0, f64::NAN], 0.5, Among::All).is_err());
    Ok(())
}

#[test]
fn groups_are_ranked_and_bad_members_are_refused() -> Result<()> {
    let lambda: Vec<f64> = (0..100).map(f64::from).collect();
    let hardest = Hardest::of(&lambda, 0.2, Among::All)?;
    let groups = [
        Group::new("low", 0..50),
        Group::new("none", []),
        Group::new("even", (0..100).step_by(2)),
        Group::new("top", 90..100),
    ];
    let found = prevalence(100, &hardest, &groups, 0.95)?;
    let names: Vec<&str> = found.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["top", "even", "low"]);
    assert_eq!((found[0].share, found[0].share_of_all, found[0].ratio), (0.5, 0.1, 5.0));
    // Half of the hardest are even, as half of all are: nothing is more likely.
    assert!(found[0].adjusted < 1e-6 && (found[1].adjusted - 1.0).abs() < 1e-9);
    assert!(found[2].p < 1e-4 && found[2].interval.0 == 0.0);
    assert!(prevalence(100, &hardest, &[Group::new("x", [1, 1])], 0.95).is_err());
    assert!(prevalence(100, &hardest, &[Group::new("x", [100])], 0.95).is_err());
    assert!(prevalence(100, &hardest, &groups, 1.0).is_err());
    Ok(())
}
