//! What no output may do. Each rule is named; it gives the contradiction that it finds.

use feasible::Outcome;
use feasible::certificate::Verdict;
use feasible::requirement::Sense;
use feasible_problem::spec::RequirementKind;
use feasible_run::{Evaluation, RequirementResult, Summary};

/// All that a run says.
#[derive(Clone)]
pub struct Outputs {
    /// What `fit` prints.
    pub terminal: String,
    /// `summary.json`.
    pub summary: Summary,
    /// The same, as it is written.
    pub written: serde_json::Value,
    /// `report.html`, if there is a page.
    pub page: Option<String>,
    /// `model-card.md`.
    pub card: Option<String>,
    /// Of each requirement the share that may violate it.
    pub all_but: Vec<f64>,
    /// Of each requirement the violation up to which it counts as met.
    pub tolerances: Vec<f64>,
    /// Of the real program.
    pub code: Option<i32>,
}

pub type Rule = fn(&Outputs) -> Result<(), String>;

pub const RULES: [(&str, Rule); 18] = [
    ("a requirement is met if and only if its numbers say so", met_by_numbers),
    ("how training ended agrees with the training rows", outcome_agrees),
    ("infeasible is not said beside met", infeasible_beside_met),
    ("the verdict is the first line, and said once", verdict_first),
    ("summary.json has the verdict of the terminal", written_verdict),
    ("what is certified is within its limit on its own sample", certified_within),
    ("met and NOT MET are printed as they are measured", printed_as_measured),
    ("what is not met is named with advice, what is met is not", advice_agrees),
    ("page and card say what the terminal says", same_verdict),
    ("no number is printed that is none", numbers_are_numbers),
    ("shares are between 0 and 1, percentages between -100 and 100", shares_are_shares),
    ("multipliers are not negative", multipliers_are_not_negative),
    ("the exit code says what the verdict says", exit_code_agrees),
    ("doubts call met what the table calls met", doubts_agree),
    ("the bound that is printed is the one behind the verdict", bounds_printed),
    ("rows that are missing and rows in all differ by the rows there are", rows_add_up),
    ("worse than the best constant is said at the top", useless_said),
    ("what is violated comes before what is not", worst_first),
];

fn unless(wrong: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if wrong { Err(message()) } else { Ok(()) }
}

fn met_by_numbers(o: &Outputs) -> Result<(), String> {
    for (part, evaluation) in o.summary.parts() {
        let all = evaluation.requirements.iter().all(|r| r.met);
        unless(all != evaluation.met, || format!("{part}: met is {}", evaluation.met))?;
        let allowed = o.all_but.iter().zip(&o.tolerances);
        for (r, (&all_but, &tolerance)) in evaluation.requirements.iter().zip(allowed) {
            let shown = || format!("{part}: {r:?}, all but {all_but}, tolerance {tolerance}");
            let Some((value, worst, violated)) = numbers(r) else {
                unless(r.points > 0 && r.met, shown)?;
                continue;
            };
            let over = if r.sense == "<=" { value - r.limit } else { r.limit - value };
            // Sums of a few hundred numbers, in another order.
            let rounding = 1e-9 * (1.0 + value.abs() + r.limit.abs());
            unless(over > worst + rounding, shown)?;
            match r.kind {
                RequirementKind::Average => {
                    unless((over - worst).abs() > rounding, shown)?;
                    unless(r.met != (worst <= tolerance), shown)?;
                }
                RequirementKind::Pointwise => unless(r.met != (violated <= all_but), shown)?,
            }
            unless((violated > 0.0) != (worst > tolerance), shown)?;
        }
    }
    Ok(())
}

fn numbers(r: &RequirementResult) -> Option<(f64, f64, f64)> {
    Some((r.value?, r.worst_violation?, r.violated?))
}

fn outcome_agrees(o: &Outputs) -> Result<(), String> {
    let train = &o.summary.train;
    let agrees = match o.summary.outcome {
        Outcome::Unconstrained => train.requirements.is_empty(),
        Outcome::Feasible => train.met && !train.requirements.is_empty(),
        Outcome::Converged => train.met,
        Outcome::MaxEpochs | Outcome::Stalled | Outcome::Infeasible { .. } => !train.met,
        Outcome::Diverged { .. } => true,
        _ => false,
    };
    unless(!agrees, || format!("{:?}, training rows met: {}", o.summary.outcome, train.met))?;
    let first = o.summary.headline();
    let speaks = ["requirement", " met", "feasible"].iter().any(|word| first.contains(word));
    unless(train.requirements.is_empty() && speaks, || first)
}

fn infeasible_beside_met(o: &Outputs) -> Result<(), String> {
    let said = |text: &str| text.contains("infeasible") || text.contains("no feasible model");
    let texts = [Some(&o.terminal), o.page.as_ref(), o.card.as_ref()];
    for text in texts.into_iter().flatten().filter(|text| said(text)) {
        let text = text.replace("very other requirement is met on", "");
        unless(!matches!(o.summary.outcome, Outcome::Infeasible { .. }), || {
            format!("{:?} is called infeasible", o.summary.outcome)
        })?;
        let wrong = ["very requirement is met", "equirement is met on", "show no violation"];
        for wrong in wrong {
            unless(text.contains(wrong), || format!("infeasible beside '{wrong}'"))?;
        }
    }
    Ok(())
}

fn verdict_first(o: &Outputs) -> Result<(), String> {
    let verdict = o.summary.verdict();
    let mut lines = o.terminal.lines();
    let first = lines.next().unwrap_or_default();
    let second = lines.find(|line| line.contains(", seed ")).unwrap_or_default();
    unless(first != verdict, || format!("'{first}' is not '{verdict}'"))?;
    let times = o.terminal.matches(verdict.trim_end_matches('.')).count();
    unless(times != 1, || format!("'{verdict}' {times} times"))?;
    let (_, judged) = o.summary.judged();
    let none = judged.requirements.is_empty();
    unless(none != (verdict == "No requirements were stated."), || verdict.clone())?;
    unless(none && o.terminal.contains("equirement is met"), || "nothing is required".into())?;
    let known = judged.requirements.iter().all(|r| r.points > 0);
    unless(first.starts_with("Every requirement is met") && !(judged.met && known), || {
        first.into()
    })?;
    // How training ended is about the training rows, and says which.
    let feasible = second.contains("feasible on the training rows");
    unless(feasible != (o.summary.train.met && !none) && !diverged(o), || second.into())
}

fn written_verdict(o: &Outputs) -> Result<(), String> {
    let verdict = o.summary.verdict();
    let expected = match (o.summary.judged().1.requirements.is_empty(), o.summary.certify) {
        (true, _) => "no-requirements",
        (false, true) if o.summary.met() => "certified",
        (false, true) => "not-certified",
        (false, false) if o.summary.met() => "met",
        (false, false) => "not-met",
    };
    let written = &o.written["verdict"];
    unless(written != expected, || format!("{written}, where the terminal says '{verdict}'"))?;
    let met = ["met", "certified", "no-requirements"].contains(&expected);
    let good = ["Every", "All requirements", "No requirements were"];
    let good = good.iter().any(|start| verdict.starts_with(start))
        || verdict.contains("show no violation")
        || verdict.contains("counts for");
    let bad = verdict.contains("othing is known") || fails_before(&verdict);
    unless(met != (good && !bad), || format!("{expected}: '{verdict}'"))?;
    unless(o.written["format"] != 1, || format!("format {}", o.written["format"]))
}

/// Whether a verdict says of a requirement that it is not met, on the rows that decide on it.
fn fails_before(verdict: &str) -> bool {
    let parts = verdict.split("; ").filter(|part| !part.contains("how no violation"));
    verdict.contains("counts for") && parts.into_iter().any(|part| part.contains(" not met"))
}

fn diverged(o: &Outputs) -> bool {
    matches!(o.summary.outcome, Outcome::Diverged { .. })
}

fn certified_within(o: &Outputs) -> Result<(), String> {
    let Some(certificate) = &o.summary.certificate else { return Ok(()) };
    for f in &certificate.certificate.findings {
        let beyond = |x: f64| if f.sense == Sense::AtMost { x > f.limit } else { x < f.limit };
        let shown = || format!("{f:?}");
        let outside = f.estimate.is_none_or(|estimate| !estimate.is_finite() || beyond(estimate));
        match f.verdict {
            Verdict::Certified | Verdict::Met => unless(outside, shown)?,
            Verdict::Violated => unless(!outside, shown)?,
            _ => {}
        }
        if let (Some(estimate), Some(bound)) = (f.estimate, f.bound) {
            // A bound is on the far side of what was seen.
            let inside = if f.sense == Sense::AtMost { bound < estimate } else { bound > estimate };
            unless(inside, shown)?;
        }
    }
    Ok(())
}

fn printed_as_measured(o: &Outputs) -> Result<(), String> {
    let of = |e: &Evaluation| e.requirements.iter().filter(|r| !r.met).count();
    let missed: usize = o.summary.parts().iter().map(|(_, e)| of(e)).sum();
    let printed = o.terminal.matches("NOT MET").count();
    unless(printed != missed, || format!("{printed} times NOT MET, {missed} are not"))
}

fn advice_agrees(o: &Outputs) -> Result<(), String> {
    let (judged, train) = (&o.summary.judged().1.requirements, &o.summary.train.requirements);
    let pairs = train.iter().zip(judged);
    let missed: Vec<&str> =
        pairs.filter(|(t, j)| !(t.met && j.met)).map(|(t, _)| t.name.as_str()).collect();
    let advice = &o.summary.advice;
    unless(missed.is_empty() != advice.is_empty(), || format!("{missed:?}: {advice:?}"))?;
    for name in missed.iter().take(5) {
        let named = advice.iter().any(|line| line.starts_with(&format!("'{name}'")));
        unless(!named, || format!("'{name}' is not in {advice:?}"))?;
    }
    for line in advice {
        unless(!o.terminal.contains(line.as_str()), || format!("not printed: {line}"))?;
    }
    Ok(())
}

/// As the page writes text.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('\'', "&#x27;").replace('<', "&lt;").replace('>', "&gt;")
}

fn same_verdict(o: &Outputs) -> Result<(), String> {
    let (verdict, headline) = (o.summary.verdict(), o.summary.headline());
    unless(!o.terminal.contains(&headline), || format!("no '{headline}'"))?;
    if let Some(page) = &o.page {
        unless(!page.contains(&escaped(&verdict)), || format!("no '{verdict}' on the page"))?;
    }
    if let Some(card) = &o.card {
        unless(!card.contains(&verdict), || format!("no '{verdict}' on the card"))?;
    }
    Ok(())
}

fn numbers_are_numbers(o: &Outputs) -> Result<(), String> {
    let texts = [Some(&o.terminal), o.page.as_ref(), o.card.as_ref()];
    for text in texts.into_iter().flatten() {
        let none = |word: &&str| ["NaN", "nan", "inf", "Infinity"].contains(word);
        let mut lines = text.lines();
        let found = lines.find(|line| line.split(|c: char| !c.is_alphanumeric()).any(|w| none(&w)));
        if let Some(line) = found {
            return Err(line.chars().take(300).collect());
        }
    }
    Ok(())
}

fn shares_are_shares(o: &Outputs) -> Result<(), String> {
    for (part, e) in o.summary.parts() {
        let of = |r: &RequirementResult| [r.violated, r.multipliers_at_zero];
        let shares = e.requirements.iter().flat_map(of).chain([e.accuracy]);
        let shares = shares.chain(e.flip_rates.iter().map(|f| Some(f.share)));
        for share in shares.flatten() {
            unless(!(0.0..=1.0).contains(&share), || format!("{part}: a share of {share}"))?;
        }
    }
    let words: Vec<&str> = o.terminal.split_whitespace().collect();
    for pair in words.windows(2).filter(|pair| pair[1].starts_with('%')) {
        let number: Result<f64, _> = pair[0].trim_start_matches('(').parse();
        let outside = number.is_ok_and(|x| !(-100.0..=100.0).contains(&x));
        unless(outside, || format!("{} %", pair[0]))?;
    }
    Ok(())
}

fn multipliers_are_not_negative(o: &Outputs) -> Result<(), String> {
    for r in &o.summary.train.requirements {
        let negative = |m: Option<f64>| m.is_some_and(|m| m.is_nan() || m < 0.0);
        unless(negative(r.multiplier) || negative(r.largest_multiplier), || format!("{r:?}"))?;
    }
    Ok(())
}

fn exit_code_agrees(o: &Outputs) -> Result<(), String> {
    let Some(code) = o.code else { return Ok(()) };
    let expected = i32::from(!o.summary.met());
    let verdict = o.summary.verdict();
    unless(code != expected, || format!("{code}, where met is {}", o.summary.met()))?;
    let good = ["Every", "All requirements"].iter().any(|start| verdict.starts_with(start));
    let good = good || verdict.contains("show no violation") || verdict.contains("counts for");
    let good = good && !verdict.contains("othing is known") && !fails_before(&verdict);
    let none = verdict == "No requirements were stated.";
    unless((good || none) != (code == 0), || format!("{code}: {verdict}"))
}

/// One line, as if the terminal were wide.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn doubts_agree(o: &Outputs) -> Result<(), String> {
    let text = unwrapped(&o.terminal);
    let every = text.contains("Every requirement is met on the training rows");
    unless(every && !o.summary.train.met, || "every requirement is met".into())?;
    let parts = [("the training", Some(&o.summary.train)), ("its", o.summary.validation.as_ref())];
    let certified = o.summary.certificate.iter().flat_map(|c| &c.certificate.findings);
    let certified: Vec<&str> =
        certified.filter(|f| f.verdict == Verdict::Certified).map(|f| f.name.as_str()).collect();
    let doubts = o.summary.doubt_lines().join(" ");
    for (rows, evaluation) in parts {
        for r in evaluation.into_iter().flat_map(|e| &e.requirements) {
            let said = |what: &str| doubts.contains(&format!("'{}' is {what} on {rows} ", r.name));
            let wrong = said("not met") && r.met || said("met") && !r.met;
            unless(wrong, || format!("{rows} rows: {r:?}: {doubts}"))?;
            let told = doubts.contains(&format!("'{}'", r.name));
            let told = told && certified.contains(&r.name.as_str());
            unless(told, || format!("'{}' is certified: {doubts}", r.name))?;
        }
    }
    Ok(())
}

/// The number of `≤ 12.3 %`.
fn number(cell: &str) -> Option<f64> {
    let text = cell.trim_start_matches(['≤', '≥']).trim_start_matches("all but").trim();
    match text.strip_suffix('%') {
        Some(points) => Some(points.trim().parse::<f64>().ok()? / 100.0),
        None => text.parse().ok(),
    }
}

fn bounds_printed(o: &Outputs) -> Result<(), String> {
    let Some(certificate) = o.summary.certificate.as_ref().filter(|c| !c.chosen) else {
        return Ok(());
    };
    let Some((_, table)) = o.terminal.split_once("\nCertificate on ") else { return Ok(()) };
    let together = certificate.certificate.all_hold();
    for f in &certificate.certificate.findings {
        let cells = |line: &str| -> Vec<String> {
            line.split("  ").map(|c| c.trim().to_string()).filter(|c| !c.is_empty()).collect()
        };
        let found = table.lines().map(cells).find(|cells| cells.first() == Some(&f.name));
        let Some(cells) = found else { continue };
        let bounds: Vec<&String> = cells
            .iter()
            .skip(1)
            .filter(|c| ["≤ ", "≥ ", "all but "].iter().any(|start| c.starts_with(start)))
            .collect();
        let shown = || format!("{cells:?}: {f:?}");
        let is_verdict = |cell: &&String| {
            ["CERTIFIED", "MET", "VIOLATED", "OPEN"].iter().any(|verdict| cell.starts_with(verdict))
        };
        let verdict = cells.iter().skip(1).find(is_verdict);
        unless(!verdict.is_some_and(|cell| cell.starts_with(&f.verdict.to_string())), shown)?;
        let [limit, bound] = bounds[..] else {
            unless(f.bound.is_some(), shown)?;
            continue;
        };
        let (Some(c), Some(u)) = (number(limit), number(bound)) else { return Err(shown()) };
        let certified = f.verdict == Verdict::Certified || f.verdict == Verdict::Met && together;
        let within = if f.sense == Sense::AtMost { u <= c } else { u >= c };
        unless(certified != within, shown)?;
        // At least two digits.
        let exact = f.bound.filter(|_| f.verdict != Verdict::Met || !together).unwrap_or(f.limit);
        unless((u - exact).abs() > 0.06 * exact.abs() + 1e-12, shown)?;
        let rounded_in = if f.sense == Sense::AtMost { u < exact } else { u > exact };
        unless(rounded_in && (u - exact).abs() > 1e-3 * (exact - f.limit).abs() + 1e-9, shown)?;
        if let Some(card) = &o.card {
            let line = card.lines().filter(|line| line.starts_with(&format!("| {} ", f.name)));
            let same = line.into_iter().any(|line| line.contains(&format!("| {bound} |")));
            unless(!same, || format!("the card has another bound than {bound}: {}", shown()))?;
        }
        if let Some(page) = &o.page {
            unless(!page.contains(&escaped(bound)), || format!("not on the page: {}", shown()))?;
        }
    }
    Ok(())
}

fn rows_add_up(o: &Outputs) -> Result<(), String> {
    let findings = || o.summary.certificate.iter().flat_map(|c| &c.certificate.findings);
    let count = |text: &str| text.replace(',', "").parse::<u64>().ok();
    let texts = [Some(&o.terminal), o.page.as_ref(), o.card.as_ref()];
    for text in texts.into_iter().flatten() {
        let text = unwrapped(text);
        for (before, after) in text.match_indices(" in all)").map(|(at, _)| text.split_at(at)) {
            let Some((start, all)) = before.rsplit_once('(') else { continue };
            let Some((_, start)) = start.rsplit_once("about ") else { continue };
            let more = start.split(' ').next().and_then(count);
            let (Some(more), Some(all)) = (more, count(all)) else { continue };
            let sum = findings().any(|f| f.rows + more == all);
            unless(!sum, || format!("{more} more, {all} in all: {}", &after[..8]))?;
        }
        // A clause has one number of rows.
        for f in findings().filter(|f| f.verdict == Verdict::Met && f.rows_needed.is_some()) {
            let doubts = o.summary.doubts.iter().filter(|doubt| doubt.requirement == f.name);
            let others: Vec<_> = doubts.filter(|doubt| doubt.rows_needed.is_some()).collect();
            unless(!others.is_empty(), || format!("{others:?} beside {:?}", f.rows_needed))?;
        }
    }
    Ok(())
}

fn useless_said(o: &Outputs) -> Result<(), String> {
    let (_, judged) = o.summary.judged();
    let Some(constant) = &judged.constant else { return Ok(()) };
    let worse = match judged.accuracy {
        Some(accuracy) => accuracy < constant.value - 5e-5,
        None => judged.objective > constant.value * 1.001,
    };
    let close = match judged.accuracy {
        Some(accuracy) => (accuracy - constant.value).abs() < 1e-4,
        None => (judged.objective / constant.value - 1.0).abs() < 2e-3,
    };
    if close || !judged.objective.is_finite() {
        return Ok(());
    }
    let top: String = o.terminal.lines().take(3).collect::<Vec<_>>().join(" ");
    let texts = [Some(&top), o.page.as_ref(), o.card.as_ref()];
    for text in texts.into_iter().flatten() {
        let said = text.contains(" than always predicting ");
        unless(said != worse, || format!("{judged:?}: {}", &text[..text.len().min(400)]))?;
    }
    Ok(())
}

fn worst_first(o: &Outputs) -> Result<(), String> {
    let verdict = o.summary.verdict();
    let place = |what: &str| verdict.find(what);
    if let (Some(good), Some(bad)) = (place("every other requirement is met"), place("not met")) {
        unless(good < bad, || verdict.clone())?;
    }
    if let (Some(open), Some(violated)) = (place("not certified"), place("violated")) {
        unless(open < violated, || verdict.clone())?;
    }
    Ok(())
}
