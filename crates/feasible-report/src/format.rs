//! Numbers, times and names as the page says them.

use feasible_problem::spec::RequirementKind;

use crate::chart::{grouped, number};
use crate::layout::name;
use crate::run::Run;

/// `1 epoch`, `3,000 epochs`.
pub(crate) fn counted(n: usize, one: &str) -> String {
    let many = if n == 1 { "" } else { "s" };
    format!("{} {one}{many}", grouped(&n.to_string()))
}

/// `‘a’`, `‘a’ and ‘b’`, `‘a’, ‘b’ and 11 more`.
pub(crate) fn listed(names: &[&str]) -> String {
    const MOST: usize = 3;
    let quoted = |one: &&str| format!("‘{}’", name(one));
    let shown = if names.len() > MOST + 1 { MOST } else { names.len() };
    let mut parts: Vec<String> = names.iter().take(shown).map(quoted).collect();
    if names.len() > shown {
        parts.push(format!("{} more", names.len() - shown));
    }
    match parts.pop() {
        Some(last) if !parts.is_empty() => format!("{} and {last}", parts.join(", ")),
        last => last.unwrap_or_default(),
    }
}

/// The limit, to three digits, that a value meets: rounded up for "at most", down for "at least".
pub(crate) fn limit_met(value: f64, up: bool) -> String {
    if value == 0.0 || !value.is_finite() {
        return number(value);
    }
    let unit = 10f64.powi(value.abs().log10().floor() as i32 - 2);
    // What is a step already, but for its last bits, stays where it is.
    let steps = value / unit;
    let steps = match (steps.round(), up) {
        (near, _) if (near - steps).abs() < 1e-9 * near.abs() => near,
        (_, true) => steps.ceil(),
        (_, false) => steps.floor(),
    };
    number(steps * unit)
}

/// `82.41 %`.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.2} %", 100.0 * share) } else { "unknown".into() }
}

/// `4.1 s`, `12 min 5 s`, `2 h 3 min`.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "unknown".into(),
        s if s < 1.0 => format!("{:.0} ms", 1e3 * s),
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{} min {} s", (s / 60.0) as u64, (s % 60.0) as u64),
        s => format!("{} h {} min", (s / 3600.0) as u64, (s % 3600.0 / 60.0) as u64),
    }
}

/// `pointwise`.
pub(crate) fn kind(kind: RequirementKind) -> &'static str {
    match kind {
        RequirementKind::Average => "average",
        RequirementKind::Pointwise => "pointwise",
    }
}

/// Which optimiser moved the multipliers, and how far their sizes can be trusted.
pub(crate) fn dual(run: &Run) -> String {
    fn method(table: Option<&toml::Value>) -> Option<&str> {
        table.and_then(|dual| dual.get("method")).and_then(toml::Value::as_str)
    }
    let training = run.settings.get("training");
    let learner = training.and_then(|training| training.get("learner"));
    if learner.and_then(toml::Value::as_str) == Some("exact") {
        return "The exact learner moved them, by their violations: at convergence they are the prices \
                of the requirements."
            .into();
    }
    let general = method(training.and_then(|training| training.get("dual")));
    let requirements = run.settings.get("requirement").and_then(toml::Value::as_array);
    let own = requirements.into_iter().flatten().filter_map(|r| method(r.get("dual")));
    let mut methods: Vec<&str> = own.collect();
    let all = requirements.map_or(0, Vec::len);
    if methods.len() < all {
        methods.extend(general);
    }
    methods.sort_unstable();
    methods.dedup();
    let one = |method: &str| match method {
        "adam" => {
            "Multipliers moved by Adam take about the same step whatever the violation, so the step \
             and not the violation sets their size: read their order, not their ratio."
        }
        "ascent" | "algorithm1" => {
            "Multipliers moved by projected ascent are sums of violations times the rate, and at \
             convergence the prices of their requirements."
        }
        "nu-pi" => {
            "Multipliers moved by νPI are sums of violations with a damping term, and at convergence the prices of \
             their requirements."
        }
        _ => "",
    };
    methods.into_iter().map(one).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The unit of a chart of times whose longest is this: its name, and how many of it make a second.
pub(crate) fn time_unit(longest: f64) -> (&'static str, f64) {
    match longest {
        s if s < 1.0 => ("milliseconds", 1e3),
        s if s < 120.0 => ("seconds", 1.0),
        s if s < 7200.0 => ("minutes", 1.0 / 60.0),
        _ => ("hours", 1.0 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_not_several() {
        assert_eq!(counted(1, "multiplier"), "1 multiplier");
        assert_eq!(counted(29_304, "multiplier"), "29,304 multipliers");
        assert_eq!(counted(0, "row"), "0 rows");
    }

    #[test]
    fn failures_are_named_and_the_rest_is_counted() {
        assert_eq!(listed(&["a"]), "‘a’");
        assert_eq!(listed(&["a", "b"]), "‘a’ and ‘b’");
        assert_eq!(listed(&["a", "b", "c", "d"]), "‘a’, ‘b’, ‘c’ and ‘d’");
        assert_eq!(listed(&["a", "b", "c", "d", "e"]), "‘a’, ‘b’, ‘c’ and 2 more");
    }

    #[test]
    fn a_limit_that_is_proposed_is_met() {
        assert_eq!(limit_met(0.142_78, false), "0.142");
        assert_eq!(limit_met(0.142_78, true), "0.143");
        assert_eq!(limit_met(0.15, true), "0.15");
        assert_eq!(limit_met(3.217e-7, true), "3.22 × 10⁻⁷");
        assert_eq!(limit_met(-0.012_34, true), "−0.0123");
        assert_eq!(limit_met(0.0, true), "0");
    }

    #[test]
    fn times_have_a_unit_that_makes_sense() {
        assert_eq!(time_unit(0.06).0, "milliseconds");
        assert_eq!(time_unit(60.0), ("seconds", 1.0));
        assert_eq!(time_unit(600.0).0, "minutes");
        assert_eq!([0.06, 60.0, 7_500.0].map(duration), ["60 ms", "1 min 0 s", "2 h 5 min"]);
    }
}
