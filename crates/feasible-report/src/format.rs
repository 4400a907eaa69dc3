//! Numbers and times as the page says them.

use feasible_problem::spec::RequirementKind;

use crate::run::Run;

/// `82.41 %`.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.2} %", 100.0 * share) } else { "unknown".into() }
}

/// `4.1 s`, `12 min 5 s`.
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
            "Adam moved them: each moves by about its rate a step whatever the violation, so the step \
             and not the violation sets their size. Read their order, not their ratio."
        }
        "ascent" | "algorithm1" => {
            "Projected ascent moved them: each is the sum of its violations times the rate, and at \
             convergence the price of its requirement."
        }
        "nu-pi" => {
            "νPI moved them: sums of violations with a damping term, and at convergence the prices of \
             the requirements."
        }
        _ => "",
    };
    methods.into_iter().map(one).filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}
