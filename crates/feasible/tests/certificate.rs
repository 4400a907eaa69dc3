//! Certificates against closed forms, published tables and reference values.
#![allow(clippy::unwrap_used)]

use feasible::certificate::{
    Certificate, Claim, Count, Delta, Design, Difference, Evidence, Method, RowsNeeded,
    Simultaneous, Values, Verdict, attainable_rate, fewest_rows,
};
use feasible::requirement::Sense;
use feasible::{
    Inputs, Loss, Model, Population, Problem, Purpose, Requirement, Samples, Stream, Targets, rho,
};
use feasible_nn::Linear;
use proptest::prelude::*;

fn delta(x: f64) -> Delta {
    Delta::new(x).unwrap()
}

fn count(hits: u64, rows: u64) -> Count {
    Count::new(hits, rows).unwrap()
}

fn near(a: f64, b: f64, relative: f64) -> bool {
    a == b || (a - b).abs() <= relative * b.abs()
}

#[test]
fn counts_of_none_all_and_one_have_closed_forms() {
    for d in [0.5f64, 0.05, 1e-3, 1e-12] {
        for n in [1, 2, 100, 1_000_000_000] {
            let root = d.powf(1.0 / n as f64);
            // 1 − δ^{1/n} loses digits as n grows; −expm1(log δ/n) does not.
            let exact = -(f64::ln(d) / n as f64).exp_m1();
            assert!(near(count(0, n).upper(delta(d)), exact, 1e-15), "{n} {d}");
            assert!(near(count(n, n).lower(delta(d)), root, 1e-14), "{n} {d}");
            assert_eq!(count(n, n).upper(delta(d)), 1.0);
            assert_eq!(count(0, n).lower(delta(d)), 0.0);
        }
        // One row of one: the upper bound of 0 hits is 1 − δ, the lower bound of 1 hit is δ.
        // (The logarithm of 1e-12 is 28, and its rounding is the bound's: 28 · 2⁻⁵³.)
        assert!(near(count(0, 1).upper(delta(d)), 1.0 - d, 1e-14));
        assert!(near(count(1, 1).lower(delta(d)), d, 1e-14));
        // One of two: p⁺ solves 1 − p² = δ.
        assert!(near(count(1, 2).upper(delta(d)), (1.0 - d).sqrt(), 1e-14));
        assert!(near(count(1, 2).lower(delta(d)), d / (1.0 + (1.0 - d).sqrt()), 1e-13));
    }
    // A δ above a half is a bound on the other side of k/n: 1 − p² = 0.9.
    assert!(near(count(1, 2).upper(delta(0.9)), 0.1f64.sqrt(), 1e-14));
}

#[test]
fn intervals_are_those_of_newcombes_table() {
    // Newcombe (1998), Two-sided confidence intervals for the single proportion, Table I, method 5, 95 %.
    let table = [
        (81, 263, 0.2527, 0.3676),
        (15, 148, 0.0578, 0.1617),
        (0, 20, 0.0, 0.1684),
        (1, 29, 0.0009, 0.1776),
    ];
    for (hits, rows, lower, upper) in table {
        let c = count(hits, rows);
        let round = |x: f64| (x * 1e4).round() / 1e4;
        // With no hits the table's interval is two-sided all the same.
        assert_eq!(round(c.upper(delta(0.025))), upper, "{hits} of {rows}");
        assert_eq!(round(c.lower(delta(0.025))), lower, "{hits} of {rows}");
    }
}

#[test]
fn counting_bounds_agree_with_forty_digits_up_to_a_billion_rows_and_down_to_1e_12() {
    let reference = include_str!("reference/clopper_pearson.csv");
    let mut seen = 0;
    for line in reference.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let c = count(fields[0].parse().unwrap(), fields[1].parse().unwrap());
        let [d, lower, upper] = [2, 3, 4].map(|at| fields[at].parse::<f64>().unwrap());
        // 1e-12 in log δ (of size 28) moves the bound by less than 1e-11 of its distance from k/n.
        let (l, u) = (c.lower(delta(d)), c.upper(delta(d)));
        assert!(near(u, upper, 1e-12), "{line}: {u}");
        assert!(near(l, lower, 1e-12), "{line}: {l}");
        // The complement keeps its digits too: 1 − p⁺ is the other's lower bound.
        let other = count(c.rows() - c.hits(), c.rows()).lower(delta(d));
        assert!((1.0 - upper - other).abs() < 1e-15, "{line}: {other}");
        seen += 1;
    }
    assert!(seen > 90);
}

#[test]
fn bounds_on_means_agree_with_the_formulas_in_plain_python() {
    let reference = include_str!("reference/means.csv");
    for line in reference.lines().skip(1) {
        let f: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        let (n, a, s, bound, d) = (f[0] as u64, f[1] as u64, f[2], f[3], delta(f[4]));
        let share = |i: u64| (((i * i * a + 7 * i) % 101) as f64 / 101.0).powf(s);
        let values = Values::new((1..=n).map(|i| bound * share(i)).collect(), bound).unwrap();
        let methods = [
            Method::Hoeffding,
            Method::EmpiricalBernstein,
            Method::HoeffdingBentkus,
            Method::Betting,
        ];
        for (method, expected) in methods.into_iter().zip(&f[5..]) {
            let upper = values.upper(method, d);
            // Bets stop at 1e-9; the others at rounding.
            assert!(near(upper, *expected, 2e-9), "{method}: {upper} {expected}");
            // The p-value at the bound is δ, from either side of it.
            if upper < bound {
                let p = |m: f64| values.ln_p_at_least(method, m, d).exp();
                assert!(p(upper * 0.999) >= d.value() && p(upper * 1.001) <= d.value(), "{method}");
            }
        }
    }
}

#[test]
fn a_single_row_certifies_nothing_but_is_no_error() {
    for method in [Method::Hoeffding, Method::EmpiricalBernstein, Method::HoeffdingBentkus] {
        let one = Values::new(vec![0.0], 1.0).unwrap();
        assert!(one.upper(method, delta(0.05)) > 0.9, "{method}");
    }
    // One bet of at most 0.9 of the capital cannot make it twenty-fold... but at m = 1 nothing limits it.
    assert!(Values::new(vec![0.0], 1.0).unwrap().upper(Method::Betting, delta(0.05)) > 0.9);
}

#[test]
fn what_cannot_be_used_is_refused_with_its_value() {
    let refused = |what: Result<Values, feasible::Error>, words: &str| {
        let error = what.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(Values::new(vec![0.5, 1.5], 1.0), "a loss = 1.5: must be in [0, 1]");
    refused(Values::new(vec![f64::NAN], 1.0), "a loss = NaN");
    refused(Values::new(vec![], 1.0), "at least 1");
    refused(Values::new(vec![0.5], f64::INFINITY), "bound = inf");
    assert!(Count::new(3, 2).unwrap_err().to_string().contains("at most the 2 rows"));
    assert!(Count::new(0, 0).is_err());
    for bad in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(Delta::new(bad).is_err() && Delta::confidence(bad).is_err());
    }
}

#[test]
fn the_difference_of_large_groups_is_bounded_about_as_closely_as_by_the_normal_approximation() {
    // Groups that are too large for a search over every rate. The approximation is close for counts of a hundred and more.
    for (a, b) in [
        (count(300, 4000), count(2000, 5000)),
        (count(900, 10_000), count(150, 12_000)),
        (count(200, 100_000), count(500_000, 2_000_000)),
    ] {
        let difference = Difference::Apart { a, b };
        let variance = |c: Count| c.rate() * (1.0 - c.rate()) / c.rows() as f64;
        for d in [0.2, 0.001] {
            let normal = delta(d).normal_quantile() * (variance(a) + variance(b)).sqrt();
            for bound in [difference.upper(delta(d)), difference.lower(delta(d))] {
                let ratio = (bound - difference.estimate()).abs() / normal;
                assert!((0.9..1.15).contains(&ratio), "{a:?} {b:?} {d}: {ratio}");
            }
        }
    }
    // Nothing and everything: −1 is as low as it gets.
    let apart = Difference::Apart { a: count(0, 5000), b: count(4000, 4000) };
    let upper = apart.upper(delta(0.05));
    assert!(upper > -1.0 && upper < -0.998 && apart.lower(delta(0.05)) <= -1.0, "{upper}");
}

/// P(k of n).
fn probability(k: u64, n: u64, p: f64) -> f64 {
    let choose: f64 = (0..k).map(|i| (n - i) as f64 / (k - i) as f64).product();
    choose * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
}

#[test]
fn the_bound_for_small_groups_is_right_often_enough_whatever_the_two_rates() {
    // No simulation: every outcome, with its probability, on a grid of rates with both ends.
    for (rows_a, rows_b, d) in [(1, 1, 0.05), (5, 9, 0.05), (12, 3, 0.2), (2, 40, 0.01)] {
        let mut outcomes = Vec::new();
        for i in 0..=rows_a {
            for j in 0..=rows_b {
                let difference = Difference::Apart { a: count(i, rows_a), b: count(j, rows_b) };
                outcomes.push((i, j, difference.upper(delta(d)), difference.lower(delta(d))));
            }
        }
        for p in 0..=30 {
            for q in 0..=30 {
                let (p, q) = (f64::from(p) / 30.0, f64::from(q) / 30.0);
                let share = |wrong: &dyn Fn(f64, f64) -> bool| -> f64 {
                    let seen = outcomes.iter().filter(|(_, _, upper, lower)| wrong(*upper, *lower));
                    seen.map(|&(i, j, ..)| probability(i, rows_a, p) * probability(j, rows_b, q))
                        .sum()
                };
                let above = share(&|upper, _| upper < p - q - 1e-12);
                let below = share(&|_, lower| lower > p - q + 1e-12);
                assert!(above <= d && below <= d, "{rows_a} {rows_b} {p} {q}: {above} {below}");
            }
        }
    }
}

#[test]
fn a_small_group_against_a_large_one_has_a_bound_a_quarter_narrower_than_fishers_product() {
    // Fisher's product had 0.2411, 0.2252, 0.2435 and 0.3091.
    for (i, j, most) in [(2, 30, 0.175), (1, 15, 0.16), (10, 150, 0.192), (4, 45, 0.244)] {
        let difference = Difference::Apart { a: count(i, 20), b: count(j, 300) };
        let upper = difference.upper(delta(0.05));
        assert!(upper < most && upper > difference.estimate(), "{i} of 20, {j} of 300: {upper}");
        // The two groups may be given either way round.
        let turned = Difference::Apart { a: count(j, 300), b: count(i, 20) }.lower(delta(0.05));
        assert!((upper + turned).abs() < 1e-12, "{upper} {turned}");
    }
}

#[test]
fn the_p_value_of_a_difference_is_below_delta_where_the_bound_is_below_the_limit() {
    let (a, b) = (count(7, 60), count(40, 200));
    let differences = [
        Difference::Apart { a, b },
        Difference::Apart { a: count(700, 6000), b: count(4000, 20_000) },
        Difference::Within { part: a, rest: Some(b) },
        Difference::Within { part: a, rest: None },
        Difference::Any { a, b },
    ];
    for difference in differences {
        let evidence = Evidence::Difference(difference);
        for d in [0.2, 0.05, 1e-3].map(delta) {
            let (upper, lower) = (evidence.upper(d), evidence.lower(d));
            assert!(lower <= difference.estimate() && difference.estimate() <= upper);
            let above = evidence.ln_p_at_least(upper + 1e-6, d);
            let below = evidence.ln_p_at_least(upper - 2e-3, d);
            assert!(above <= d.ln() + 1e-5 && below >= d.ln() - 1e-5, "{difference:?}");
            let below = evidence.ln_p_at_most(lower - 1e-6, d);
            let above = evidence.ln_p_at_most(lower + 2e-3, d);
            assert!(below <= d.ln() + 1e-5 && above >= d.ln() - 1e-5, "{difference:?}");
        }
    }
}

#[test]
fn no_search_for_rows_takes_long_or_goes_on_for_ever() {
    let claim = |evidence, limit| Claim {
        name: "r".into(),
        subject: "the rate".into(),
        sense: Sense::AtMost,
        limit,
        evidence: Some(evidence),
    };
    let apart = |a, b| Evidence::Difference(Difference::Apart { a, b });
    let within = Difference::Within { part: count(20, 100), rest: Some(count(119, 600)) };
    let values: Vec<f64> = (0..700).map(|i| f64::from(i % 10) / 10.0).collect();
    let values = Values::new(values, 1.0).unwrap();
    let (mean, method) = (values.mean(), Method::Betting);
    let cases = [
        // German credit: demographic parity within 0.01 on 700 rows, a group of 100.
        claim(apart(count(20, 100), count(119, 600)), 0.01),
        claim(apart(count(21, 100), count(120, 600)), 0.01 + 1e-9),
        claim(Evidence::Difference(within), 0.01),
        claim(Evidence::Share(count(29_999, 300_000)), 0.1),
        claim(Evidence::Share(count(499_999_999, 1_000_000_000)), 0.5),
        claim(Evidence::Mean { values: values.clone(), method }, mean + 1e-9),
        claim(Evidence::Sum(vec![(1.0, Evidence::Mean { values, method })]), mean + 1e-3),
    ];
    let started = std::time::Instant::now();
    let needed: Vec<_> = cases.iter().map(|claim| claim.rows_needed(delta(0.05 / 3.0))).collect();
    // Some 20 ms each where nothing else runs, the bound itself included.
    assert!(started.elapsed().as_secs_f64() < 10.0, "{:?}", started.elapsed());
    use RowsNeeded::{About, MoreThan};
    let billion = Some(MoreThan(1_000_000_000));
    assert!(matches!(needed[0], Some(About(50_000..200_000))), "{needed:?}");
    assert!(matches!(needed[2], Some(About(50_000..200_000))), "{needed:?}");
    assert_eq!((needed[1], needed[3], needed[4], needed[5]), (billion, billion, billion, billion));
    assert!(matches!(needed[6], Some(About(100_000..2_000_000))), "{needed:?}");
    // In words for programs.
    let json = serde_json::to_string(&needed[..2]).unwrap();
    assert!(json.contains("{\"about\":") && json.contains("{\"more_than\":1000000000}"), "{json}");
}

#[test]
fn the_rows_that_are_said_to_do_do_about() {
    let d = delta(0.05);
    let claim = |evidence, limit| Claim {
        name: "r".into(),
        subject: "the rate".into(),
        sense: Sense::AtMost,
        limit,
        evidence: Some(evidence),
    };
    let rows = |claim: &Claim| match claim.rows_needed(d) {
        Some(RowsNeeded::About(n)) => n as f64,
        other => panic!("{other:?}"),
    };
    // The same proportions with so many rows: certified with a tenth more, not with a tenth less.
    let apart = |n: f64| {
        let part = |share: f64, rate: f64| {
            let rows = (n * share) as u64;
            count((rate * rows as f64) as u64, rows)
        };
        Evidence::Difference(Difference::Apart { a: part(0.5, 0.2), b: part(0.5, 0.2) })
    };
    let n = rows(&claim(apart(400.0), 0.05));
    let p = |n: f64| apart(n).ln_p_at_least(0.05, d);
    assert!(p(1.15 * n) < d.ln() && p(0.85 * n) > d.ln(), "{n}");
    let losses = |n: f64| {
        let values = (0..n as usize).map(|i| ((i * 7) % 10) as f64 / 10.0).collect();
        Evidence::Mean { values: Values::new(values, 1.0).unwrap(), method: Method::Betting }
    };
    let n = rows(&claim(losses(300.0), 0.455));
    let p = |n: f64| losses(n).ln_p_at_least(0.455, d);
    assert!(p(1.15 * n) < d.ln() && p(0.85 * n) > d.ln(), "{n}");
}

#[test]
fn a_betting_bound_is_never_below_the_sample_mean() {
    // Bets that win early: ones only at the end. By bets alone the bound would be 0.055.
    let mut values = vec![0.0; 60];
    values.extend([1.0; 40]);
    let values = Values::new(values, 1.0).unwrap();
    assert!(values.upper(Method::Betting, delta(0.05)) >= 0.4);
    let mut mirrored = vec![1.0; 60];
    mirrored.extend([0.0; 40]);
    let mirrored = Values::new(mirrored, 1.0).unwrap();
    assert!(mirrored.lower(Method::Betting, delta(0.05)) <= 0.6);
}

#[test]
fn all_requirements_together_are_certified_where_holm_certifies_none() {
    let claim = |hits| Claim {
        name: "r".into(),
        subject: "the rate".into(),
        sense: Sense::AtMost,
        limit: 0.1,
        evidence: Some(Evidence::Share(count(hits, 1000))),
    };
    // p-values of 0.031 each.
    let certificate = |claims: &[Claim]| Certificate::new(claims, delta(0.05), Simultaneous::Holm);
    let both = certificate(&[claim(82), claim(82)]);
    assert!(both.all_hold() && !both.each_certified(), "{both:#?}");
    assert!(both.findings.iter().all(|f| f.verdict == Verdict::Met));
    // One that does not hold in the sample, or is not quite certain, is enough to say no.
    assert!(!certificate(&[claim(1), claim(101)]).all_hold());
    assert!(!certificate(&[claim(1), claim(90)]).all_hold());
    let nothing = Claim { evidence: None, ..claim(1) };
    assert!(!certificate(&[claim(1), nothing]).all_hold());
}

#[test]
fn holm_certifies_what_bonferroni_does_and_sometimes_more() {
    let claim = |name: &str, hits| Claim {
        name: name.into(),
        subject: "the error rate".into(),
        sense: Sense::AtMost,
        limit: 0.1,
        evidence: Some(Evidence::Share(count(hits, 1000))),
    };
    // p-values about 1e-6, 0.0076, 0.026, 0.032.
    let claims = [claim("a", 58), claim("b", 77), claim("c", 82), claim("d", 82)];
    let verdicts = |simultaneous| -> Vec<Verdict> {
        let certificate = Certificate::new(&claims, delta(0.05), simultaneous);
        certificate.findings.iter().map(|finding| finding.verdict).collect()
    };
    use Verdict::{Certified, Met};
    assert_eq!(verdicts(Simultaneous::Bonferroni), [Certified, Certified, Met, Met]);
    let claims = &claims[..3];
    let holm = Certificate::new(claims, delta(0.05), Simultaneous::Holm);
    // Of 'c' Holm proves the limit and Bonferroni less: the limit is its bound.
    assert!(holm.each_certified() && holm.findings[2].bound == Some(0.1), "{holm:#?}");
    assert!(holm.findings[0].bound == claims[0].bound(delta(0.05).among(3)));
}

#[test]
fn a_limit_that_every_population_meets_is_certified() {
    for (sense, limit, hits) in [(Sense::AtMost, 1.0, 40), (Sense::AtLeast, 0.0, 0)] {
        let evidence = Some(Evidence::Share(count(hits, 40)));
        let (name, subject) = ("all".into(), "the rate".into());
        let claim = Claim { name, subject, sense, limit, evidence };
        let certificate = Certificate::new(&[claim], delta(0.05), Simultaneous::Holm);
        let finding = &certificate.findings[0];
        assert_eq!((finding.verdict, finding.bound), (Verdict::Certified, Some(limit)));
    }
}

#[test]
fn what_is_not_certified_has_the_bound_that_failed() {
    let claim = |hits| Claim {
        name: "r".into(),
        subject: "the error rate".into(),
        sense: Sense::AtMost,
        limit: 0.1,
        evidence: Some(Evidence::Share(count(hits, 1000))),
    };
    let claims = [claim(58), claim(90), claim(130)];
    let found = Certificate::new(&claims, delta(0.06), Simultaneous::Holm).findings;
    // One is certified, two are left for δ.
    assert_eq!(found[1].bound, claims[1].bound(delta(0.03)));
    assert_eq!(found[1].rows_needed, claims[1].rows_needed(delta(0.03)));
    assert!(found[1].bound > Some(0.1) && found[2].bound > Some(0.1));
    // 'r' is violated: the bound on the other side is above the limit, those of the others are not.
    assert_eq!(found[2].verdict, Verdict::Violated);
    assert!(found[2].opposite >= Some(0.1) && found[1].opposite <= Some(0.1));
}

#[test]
fn met_says_how_many_rows_would_do_and_they_do() {
    let claim = |hits, rows, sense, limit| Claim {
        name: "r".into(),
        subject: "the rate".into(),
        sense,
        limit,
        evidence: Some(Evidence::Share(count(hits, rows))),
    };
    let d = delta(0.05);
    // No hit: the closed form.
    let about = |claim: &Claim| match claim.rows_needed(d) {
        Some(RowsNeeded::About(n)) => n,
        other => panic!("{other:?}"),
    };
    let needed = about(&claim(0, 100, Sense::AtMost, 0.01));
    assert_eq!((needed, fewest_rows(0.01, d)), (299, 299));
    let needed = about(&claim(90, 100, Sense::AtLeast, 0.85));
    let hits = (0.9 * needed as f64) as u64;
    assert!(count(hits, needed).lower(d) > 0.8499, "{needed}");
    assert!(count(hits * 9 / 10, needed * 9 / 10).lower(d) < 0.85, "{needed}");
    // At the limit, no number does.
    assert_eq!(claim(10, 100, Sense::AtMost, 0.1).rows_needed(d), Some(RowsNeeded::Never));
    assert_eq!(claim(11, 100, Sense::AtMost, 0.1).rows_needed(d), None);
    // Real losses: the sample repeated.
    let values = Values::new((0..200).map(|i| f64::from(i % 10) / 10.0).collect(), 1.0).unwrap();
    let mean = Claim {
        evidence: Some(Evidence::Mean { values, method: Method::Betting }),
        ..claim(0, 1, Sense::AtMost, 0.47)
    };
    let needed = about(&mean);
    // About z² σ²/gap² = 2.7 · 0.0825 / 0.0004, and something for the bets.
    assert!((560..1200).contains(&needed), "{needed}");
}

#[test]
fn a_reserve_leaves_room_for_a_certificate_or_says_how_large_it_must_be() {
    let d = delta(0.05);
    let rate = attainable_rate(2000, 0.1, d, 0.9).unwrap();
    // Normal: 0.1 − (1.645 + 1.282) √(0.09/2000).
    assert!((rate - 0.0804).abs() < 0.003, "{rate}");
    assert_eq!(attainable_rate(10, 1.0, d, 0.9).unwrap(), 1.0);
    let error = attainable_rate(200, 0.01, d, 0.9).unwrap_err().to_string();
    assert!(error.contains("200 rows") && error.contains("at least 299"), "{error}");
    assert!(attainable_rate(200, 0.0, d, 0.9).is_err());
}

/// Four samples with one input; the model's logit is the input.
fn identity() -> (Population, Linear, Vec<f32>) {
    let x = Inputs::new(vec![2.0, 1.0, -1.0, -2.0, 0.5], 1).unwrap();
    let everyone = Population::new(Samples::new(x, Targets::Classes(vec![1, 0, 0, 1, 1])).unwrap());
    let model = Linear::new(1, 1).unwrap();
    let mut theta = vec![0.0; model.parameter_count()];
    theta[0] = 1.0;
    (everyone, model, theta)
}

#[test]
fn claims_count_rows_of_the_problem() {
    let (everyone, model, theta) = identity();
    let positive = everyone.filter(|s| s.inputs()[0] > 0.0);
    let negative = everyone.filter(|s| s.inputs()[0] < 0.0);
    let turned = everyone.counterfactual(rho::set(0, 0.25)).unwrap();
    let error = |name: &str, p: &Population| {
        Requirement::average(name, p, Loss::SmoothedError).measured_by(Loss::Error)
    };
    let problem = Problem::minimise(&everyone, Loss::Logistic)
        .subject_to(error("error", &everyone).at_most(0.5))
        .subject_to(error("apart", &positive).minus(&negative).at_most(0.1))
        .subject_to(error("within", &positive).minus(&everyone).at_most(0.1))
        .subject_to(error("whole", &everyone).minus(&positive).at_most(0.1))
        .subject_to(Requirement::average("brier", &everyone, Loss::Brier).at_least(0.1))
        .subject_to(Requirement::pointwise("each", &everyone, Loss::Logistic).at_most(1.0))
        .subject_to(
            Requirement::average("flips", &turned, Loss::TotalVariation { smoothing: 0.0 })
                .measured_by(Loss::Flip)
                .at_most(0.1),
        )
        .check()
        .unwrap();
    let claims = Design::new(delta(0.05)).claims(&problem, &model, &theta).unwrap();
    let share = |hits, rows| Evidence::Share(count(hits, rows));
    // Predicted 1, 1, 0, 0, 1 of 1, 0, 0, 1, 1.
    assert_eq!(claims[0].evidence, Some(share(2, 5)));
    let (a, b) = (count(1, 3), count(1, 2));
    assert_eq!(claims[1].evidence, Some(Evidence::Difference(Difference::Apart { a, b })));
    let within = Difference::Within { part: a, rest: Some(b) };
    assert_eq!(claims[2].evidence, Some(Evidence::Difference(within)));
    assert_eq!(claims[3].subject, "the difference of the error rates");
    assert!((claims[3].evidence.as_ref().unwrap().estimate() - (0.4 - 1.0 / 3.0)).abs() < 1e-12);
    assert!(
        matches!(&claims[4].evidence, Some(Evidence::Mean { values, .. }) if values.bound() == 1.0)
    );
    // Losses 0.13, 1.31, 0.31, 2.13, 0.47: two above 1; "none" is not certifiable, "all but 1 %" is.
    assert_eq!((&claims[5].evidence, claims[5].limit), (&Some(share(2, 5)), 0.01));
    assert_eq!(claims[6].evidence, Some(share(2, 5)));
}

#[test]
fn two_rates_of_different_losses_are_certified_apart() {
    let (everyone, model, theta) = identity();
    let positive = everyone.filter(|s| s.inputs()[0] > 0.0);
    let smooth = Requirement::average("both", &positive, Loss::SmoothedError);
    let requirement = smooth
        .measured_by(Loss::Error)
        .minus_loss(&positive, Loss::Probability { class: 1 })
        .at_most(0.1);
    let problem = Problem::minimise(&everyone, Loss::Logistic).subject_to(requirement);
    let problem = problem.check().unwrap();
    let claims = Design::new(delta(0.05)).claims(&problem, &model, &theta).unwrap();
    assert!(matches!(&claims[0].evidence, Some(Evidence::Sum(terms)) if terms.len() == 2));
    let subject = &claims[0].subject;
    assert!(subject.starts_with("the error rate minus the expected "), "{subject}");
}

#[test]
fn rows_of_one_unit_are_one_number() {
    let (everyone, model, theta) = identity();
    let positive = everyone.filter(|s| s.inputs()[0] > 0.0);
    let negative = everyone.filter(|s| s.inputs()[0] < 0.0);
    let error = |name: &str, p: &Population| {
        Requirement::average(name, p, Loss::SmoothedError).measured_by(Loss::Error)
    };
    let problem = Problem::minimise(&everyone, Loss::Logistic)
        .subject_to(error("error", &everyone).at_most(0.5))
        .subject_to(error("apart", &positive).minus(&negative).at_most(0.1))
        .subject_to(Requirement::pointwise("each", &everyone, Loss::Logistic).at_most(1.0))
        .check()
        .unwrap();
    let design = Design::new(delta(0.05));
    // Errors 0, 1 of the first unit, 0, 1, 0 of the second.
    let claims = design.claims_by_unit(&problem, &model, &theta, &[7, 7, 9, 9, 9]).unwrap();
    let evidence: Vec<&Evidence> = claims.iter().filter_map(|c| c.evidence.as_ref()).collect();
    assert_eq!(evidence[0].rows(), 2);
    assert!((evidence[0].estimate() - (0.5 + 1.0 / 3.0) / 2.0).abs() < 1e-12);
    // Errors 0, 1 | 0 among the positive, none | 0, 1 among the negative.
    assert!((evidence[1].estimate() - (0.25 - 0.5)).abs() < 1e-12);
    // A row above 1 in either unit.
    assert_eq!(evidence[2], &Evidence::Share(count(2, 2)));
    let error = design.claims_by_unit(&problem, &model, &theta, &[0, 1]).unwrap_err();
    assert!(error.to_string().contains("one for each of 5 rows"), "{error}");
}

#[test]
fn a_mean_without_an_upper_bound_is_refuted_or_left_open_but_never_certified() {
    let (everyone, model, theta) = identity();
    let problem = |limit: Requirement| {
        let draft = Problem::minimise(&everyone, Loss::Logistic).subject_to(limit);
        draft.check().unwrap()
    };
    let mean = || Requirement::average("loss", &everyone, Loss::Logistic);
    let design = Design::new(delta(0.05));
    let found = |problem: &Problem, clip: Option<f64>| {
        let units = [0, 1, 2, 3, 4];
        let by_row = design.claims_clipped(problem, &model, &theta, None, &[clip]).unwrap();
        let by_unit =
            design.claims_clipped(problem, &model, &theta, Some(&units), &[clip]).unwrap();
        // Units of one row each are the rows.
        assert_eq!(by_row[0].evidence, by_unit[0].evidence);
        Certificate::new(&by_row, delta(0.05), Simultaneous::Holm).findings.remove(0)
    };
    // However loose the limit.
    let loose = problem(mean().at_most(1e6));
    let certified = found(&loose, Some(2.0));
    assert_eq!((certified.verdict, certified.bound, certified.p), (Verdict::Met, None, 1.0));
    let clipped = certified.clipped.unwrap();
    assert!(clipped.at == 2.0 && clipped.within_limit && clipped.bound <= 2.0, "{clipped:?}");
    // Without a B nothing is proven.
    let nothing = found(&loose, None);
    assert!(
        nothing.clipped.is_none() && nothing.opposite.is_none() && nothing.verdict == Verdict::Met
    );
    // The clipped loss is no larger: from below it bounds the loss itself.
    let at_least = found(&problem(mean().at_least(1e-6)), Some(2.0));
    assert_eq!(at_least.verdict, Verdict::Certified);
    let violated = found(&problem(mean().at_most(1e-6)), Some(2.0));
    assert_eq!(violated.verdict, Verdict::Violated);
    // A difference is bounded from neither side.
    let apart = mean().minus(&everyone.filter(|s| s.inputs()[0] > 0.0)).at_most(1e6);
    let apart = found(&problem(apart), Some(2.0));
    assert_eq!((apart.verdict, apart.bound, apart.opposite), (Verdict::Met, None, None));
    assert!(apart.clipped.is_some());
}

proptest! {
    #[test]
    fn counting_bounds_are_ordered_and_monotone(
        n in 1u64..3000, share in 0.0f64..=1.0, d in 1e-9f64..0.49, more in 1u64..500,
    ) {
        let k = ((share * n as f64) as u64).min(n);
        let (c, dd) = (count(k, n), delta(d));
        let (l, u) = (c.lower(dd), c.upper(dd));
        prop_assert!(0.0 <= l && l <= c.rate() && c.rate() <= u && u <= 1.0);
        // A smaller δ is wider.
        prop_assert!(c.upper(delta(d / 2.0)) >= u && c.lower(delta(d / 2.0)) <= l);
        // One more hit moves both up; one more miss both down.
        if k < n {
            prop_assert!(count(k + 1, n).upper(dd) >= u && count(k + 1, n).lower(dd) >= l);
        }
        prop_assert!(count(k, n + more).upper(dd) <= u && count(k, n + more).lower(dd) <= l);
        // The p-value at the bound is δ.
        if k < n {
            prop_assert!((c.ln_p_at_least(u) - d.ln()).abs() < 1e-6 * d.ln().abs());
        }
        // Lower and upper mirror each other.
        prop_assert!((count(n - k, n).upper(dd) - (1.0 - l)).abs() < 1e-12);
    }

    #[test]
    fn a_bound_is_within_the_limit_if_and_only_if_it_is_certified(
        all in prop::collection::vec((1u64..2000, 0.0f64..=1.0, 0.001f64..0.999, 0usize..3), 1..7), d in 0.001f64..0.3,
        at_least in any::<bool>(), bonferroni in any::<bool>(),
    ) {
        let sense = if at_least { Sense::AtLeast } else { Sense::AtMost };
        let claim = |&(rows, share, limit, kind): &(u64, f64, f64, usize)| {
            let hits = (share * rows as f64) as u64;
            let values = || (0..rows).map(|row| f64::from(u8::from(row % rows.max(1) < hits))).collect();
            let evidence = match kind {
                0 => Evidence::Share(count(hits, rows)),
                1 if rows > 300 => {
                    let part = count(hits / 3, rows / 3);
                    Evidence::Difference(Difference::Apart { a: part, b: count(rows / 20, rows / 4) })
                }
                _ => {
                    let values = Values::new(values(), 1.0).unwrap().shuffled(7);
                    Evidence::Mean { values, method: Method::Betting }
                }
            };
            Claim { name: "r".into(), subject: "the rate".into(), sense, limit, evidence: Some(evidence) }
        };
        let claims: Vec<Claim> = all.iter().map(claim).collect();
        let simultaneous = if bonferroni { Simultaneous::Bonferroni } else { Simultaneous::Holm };
        let certificate = Certificate::new(&claims, delta(d), simultaneous);
        for f in &certificate.findings {
            let within = |x: f64| if at_least { x >= f.limit } else { x <= f.limit };
            let (bound, opposite) = (f.bound.unwrap(), f.opposite.unwrap());
            match f.verdict {
                Verdict::Certified => prop_assert!(within(bound), "{f:?}"),
                // At the limit itself where rounding alone is between them.
                _ => prop_assert!(!within(bound) || bound == f.limit, "{f:?}"),
            }
            match f.verdict {
                Verdict::Violated => prop_assert!(!within(opposite) || opposite == f.limit, "{f:?}"),
                _ => prop_assert!(within(opposite), "{f:?}"),
            }
        }
    }

    #[test]
    fn every_bound_on_a_mean_lies_between_the_mean_and_b_and_widens_with_less_delta(
        values in prop::collection::vec(0.0f64..=3.0, 1..80), d in 1e-6f64..0.4,
    ) {
        let v = Values::new(values, 3.0).unwrap();
        for method in [Method::Hoeffding, Method::EmpiricalBernstein, Method::HoeffdingBentkus, Method::Betting] {
            let (l, u) = (v.lower(method, delta(d)), v.upper(method, delta(d)));
            prop_assert!(u <= 3.0 + 1e-9 && l >= 0.0, "{}", method);
            prop_assert!(u >= v.mean() - 1e-12 && l <= v.mean() + 1e-12, "{}", method);
            if method != Method::Betting {
                prop_assert!(v.upper(method, delta(d / 2.0)) >= u - 1e-9, "{}", method);
            }
        }
    }
}

/// Rows (z, y) for a model whose only output is its only input.
fn predictions(rows: &[(f32, u32)]) -> Population {
    let x = rows.iter().map(|(z, _)| *z).collect();
    let y = rows.iter().map(|(_, y)| *y).collect();
    Population::new(Samples::new(Inputs::new(x, 1).unwrap(), Targets::Classes(y)).unwrap())
}

/// The requirement that the precision of a class is at least 1 − rate.
fn precision(population: &Population, class: u32, rate: f64) -> Problem {
    let loss = Loss::SmoothedFalseDiscovery { class, rate };
    Problem::minimise(population, Loss::CrossEntropy)
        .subject_to(
            Requirement::average("precision", population, loss)
                .measured_by(Loss::FalseDiscovery { class, rate })
                .at_most(rate),
        )
        .check()
        .unwrap()
}

#[test]
fn a_precision_is_certified_by_the_rows_that_are_predicted_alone() {
    // 100 predicted positive, 5 of them wrong; 400 predicted negative, whatever they are.
    let mut rows = vec![(1.0, 1); 95];
    rows.extend(vec![(1.0, 0); 5]);
    rows.extend((0..400).map(|i| (-1.0, i % 2)));
    let model = Linear::new(1, 1).unwrap();
    let theta = [1.0, 0.0];
    let delta = Delta::new(0.05).unwrap();
    let design = Design::new(delta);
    let claim = |population: &Population, class, rate| {
        let problem = precision(population, class, rate);
        design.claims(&problem, &model, &theta).unwrap().remove(0)
    };
    let claim = |class, rate| claim(&predictions(&rows), class, rate);
    let found = claim(1, 0.12);
    let exact = Count::new(5, 100).unwrap();
    assert_eq!(found.bound(delta), Some(exact.upper(delta)));
    assert_eq!(found.subject, "the false discovery rate");
    assert!(found.bound(delta).unwrap() < 0.12);
    // 5 of 100 do not show that at most 8 % are wrong.
    assert!(claim(1, 0.08).bound(delta).unwrap() > 0.08);
    // Of the predicted negatives half are wrong.
    assert_eq!(claim(0, 0.3).evidence.unwrap().estimate(), 0.5);
    // Nothing is predicted positive: nothing is known.
    let none = predictions(&[(-1.0, 1), (-1.0, 0)]);
    let problem = precision(&none, 1, 0.1);
    let claim = design.claims(&problem, &model, &theta).unwrap().remove(0);
    assert!(claim.evidence.is_none());
    assert_eq!(
        design.certify(&problem, &model, &theta).unwrap().findings[0].verdict,
        Verdict::Open
    );
}

#[test]
fn certificates_of_precision_are_wrong_no_more_often_than_they_say() {
    // Predicted positive with probability 0.3, and then wrong with probability 0.2: a certificate that at most 0.19 are
    // wrong is false.
    let model = Linear::new(1, 1).unwrap();
    let (delta, trials) = (0.1, 400);
    let design = Design::new(Delta::new(delta).unwrap());
    let mut wrong = 0;
    for trial in 0..trials {
        let mut stream = Stream::new(17, Purpose::View, trial, 5);
        let rows: Vec<(f32, u32)> = (0..120)
            .map(|_| match stream.uniform() < 0.3 {
                true => (1.0, u32::from(stream.uniform() >= 0.2)),
                false => (-1.0, u32::from(stream.uniform() < 0.5)),
            })
            .collect();
        let problem = precision(&predictions(&rows), 1, 0.199);
        let found = design.certify(&problem, &model, &[1.0, 0.0]).unwrap();
        wrong += u32::from(found.findings[0].verdict == Verdict::Certified);
    }
    // Binomial(400, 0.1) is above 70 with a probability below one in a million.
    assert!(wrong <= 70, "{wrong} of {trials}");
}

#[test]
fn a_row_without_a_finite_output_speaks_against_requirements_on_either_side() {
    // One in five rows overflows.
    let x: Vec<f32> = (0..200).map(|row| if row % 5 == 0 { 100.0 } else { -0.5e-37 }).collect();
    let inputs = Inputs::dense(x, 1).unwrap();
    let rows = Population::new(Samples::new(inputs, Targets::Classes(vec![1; 200])).unwrap());
    let (model, theta) = (Linear::new(1, 1).unwrap(), [1e37_f32, 1.0]);
    let selected = || Loss::Selected { class: 1 };
    let measured = |name: &str| {
        Requirement::average(name, &rows, Loss::Probability { class: 1 }).measured_by(selected())
    };
    let bounded = |name: &str| Requirement::average(name, &rows, Loss::Brier);
    let problem = Problem::minimise(&rows, Loss::CrossEntropy)
        .subject_to(measured("at least").at_least(0.99))
        .subject_to(measured("at most").at_most(0.99))
        .subject_to(bounded("Brier at most").at_most(0.9))
        .subject_to(bounded("Brier at least").at_least(0.01))
        .subject_to(Requirement::average("long", &rows, Loss::CrossEntropy).at_most(9.0))
        .check()
        .unwrap();
    let claims = Design::new(delta(0.05)).claims(&problem, &model, &theta).unwrap();
    let estimates = claims.iter().map(|claim| claim.evidence.as_ref().unwrap().estimate());
    let estimates: Vec<f64> = estimates.collect();
    // The others are all selected, with a probability of 0.62.
    assert_eq!(estimates[..2], [0.8, 1.0]);
    let brier = 0.8 * (1.0 - 1.0 / (1.0 + (-0.5_f64).exp())).powi(2);
    assert!((estimates[2] - (brier + 0.2)).abs() < 1e-6, "{estimates:?}");
    assert!((estimates[3] - brier).abs() < 1e-6, "{estimates:?}");
    assert_eq!(estimates[4], f64::INFINITY);
}
