//! What a run says, compared with what a table, its predictions and a problem file come to when they are computed again: means of
//! losses, rates, the best constant, hits, p-values, bounds and verdicts, by formulas of this file alone.

use std::collections::BTreeMap;

use feasible::certificate::Verdict;
use feasible::requirement::Sense;
use feasible_run::{Certification, Evaluation, Summary};
use serde_json::Value;

/// A problem as its file states it, its table, and the model's predictions.
pub struct Facts {
    /// By column.
    cells: BTreeMap<String, Vec<String>>,
    rows: usize,
    /// `predict --json`.
    predicted: Value,
    /// `rows.json`: the rows of each part.
    parts: BTreeMap<String, Vec<usize>>,
    /// Key and value of every line below each `[[requirement]]`.
    requirements: Vec<BTreeMap<String, String>>,
    objective: String,
}

impl Facts {
    pub fn new(csv: &str, toml: &str, predicted: Value, parts: &Value) -> Self {
        let mut lines = csv.lines();
        let names: Vec<&str> = lines.next().unwrap().split(',').collect();
        let mut cells: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut rows = 0;
        for line in lines {
            for (name, cell) in names.iter().zip(line.split(',')) {
                cells.entry((*name).into()).or_default().push(cell.into());
            }
            rows += 1;
        }
        let ranges = |part: &Value| -> Vec<usize> {
            let all = part.as_array().into_iter().flatten();
            let number = |x: &Value| x.as_u64().unwrap() as usize;
            all.flat_map(|range| number(&range[0])..=number(&range[1])).collect()
        };
        let parts = parts.as_object().unwrap();
        let parts = parts.iter().map(|(name, of)| (name.clone(), ranges(of))).collect();
        let (mut requirements, mut objective, mut section) =
            (Vec::<BTreeMap<String, String>>::new(), String::from("cross-entropy"), "");
        for line in toml.lines() {
            if line.starts_with('[') {
                section = line;
                if line == "[[requirement]]" {
                    requirements.push(BTreeMap::new());
                }
            } else if let Some((key, value)) = line.split_once(" = ") {
                let value = value.trim_matches('"').to_string();
                match section {
                    "[[requirement]]" => {
                        requirements.last_mut().unwrap().insert(key.into(), value);
                    }
                    "[objective]" if key == "loss" => objective = value,
                    _ => {}
                }
            }
        }
        Self { cells, rows, predicted, parts, requirements, objective }
    }

    fn target(&self, row: usize) -> &str {
        &self.cells["y"][row]
    }

    fn number(&self, row: usize) -> f64 {
        self.target(row).parse().unwrap()
    }

    fn of_classes(&self) -> bool {
        self.predicted["classes"].as_array().is_some_and(|classes| !classes.is_empty())
    }

    fn class(&self, row: usize) -> &str {
        self.predicted["rows"][row]["class"].as_str().unwrap()
    }

    fn value(&self, row: usize) -> f64 {
        self.predicted["rows"][row]["value"].as_f64().unwrap()
    }

    /// The probabilities with the place of the true class.
    fn probabilities(&self, row: usize) -> (Vec<f64>, usize) {
        let all = self.predicted["rows"][row]["probabilities"].as_array().unwrap();
        let classes = self.predicted["classes"].as_array().unwrap();
        let place = classes.iter().position(|class| class.as_str() == Some(self.target(row)));
        (all.iter().map(|p| p.as_f64().unwrap()).collect(), place.unwrap())
    }

    fn part(&self, name: &str) -> Vec<usize> {
        self.parts.get(name).cloned().unwrap_or_default()
    }

    /// The loss of a row by name; `None` for one that this file does not know.
    fn loss(&self, name: &str, row: usize) -> Option<f64> {
        if self.of_classes() {
            let (p, y) = self.probabilities(row);
            return Some(match name {
                "cross-entropy" => -p[y].ln(),
                "smoothed-error" => 1.0 - p[y],
                "brier" => {
                    let hit = |j: usize| f64::from(u8::from(j == y));
                    0.5 * p.iter().enumerate().map(|(j, p)| (p - hit(j)).powi(2)).sum::<f64>()
                }
                _ => return None,
            });
        }
        let r = (self.value(row) - self.number(row)).abs();
        Some(match name {
            "squared" => r * r,
            "absolute" => r,
            "huber" if r <= 1.0 => 0.5 * r * r,
            "huber" => r - 0.5,
            _ => return None,
        })
    }

    /// Whether a row counts for a rate, and whether it is a hit.
    fn hit(&self, rate: &str, row: usize) -> Option<bool> {
        let (truth, said) = (self.target(row), self.class(row));
        let positive = truth == "yes";
        match rate {
            "error" => Some(truth != said),
            "accuracy" => Some(truth == said),
            "selection" => Some(said == "yes"),
            "tpr" => positive.then_some(said == "yes"),
            "fpr" => (!positive).then_some(said == "yes"),
            _ => None,
        }
    }

    /// Whom a requirement is about; `None` where this file cannot say.
    fn whom(&self, of: &BTreeMap<String, String>, row: usize) -> Option<bool> {
        match of.get("where").map(String::as_str) {
            None => Some(true),
            Some("g == 'a'") => Some(self.cells["g"][row] == "a"),
            Some("x0 > 0") => self.cells["x0"][row].parse::<f64>().ok().map(|x| x > 0.0),
            Some(_) => None,
        }
    }

    /// A requirement of the file by its name, if it is one that this file computes again.
    fn stated(&self, name: &str) -> Option<&BTreeMap<String, String>> {
        let of = self.requirements.iter().find(|of| of["name"] == name)?;
        let others = ["fairness", "groups", "against", "counterfactual", "measured_by", "bound"];
        (!others.iter().any(|key| of.contains_key(*key))).then_some(of)
    }

    /// Hits among the rows that a rate is about.
    fn count(&self, of: &BTreeMap<String, String>, rows: &[usize]) -> Option<(u64, u64)> {
        let rate = of.get("rate")?;
        let (mut hits, mut all) = (0, 0);
        for &row in rows {
            if !self.whom(of, row)? {
                continue;
            }
            if let Some(hit) = self.hit(rate, row) {
                hits += u64::from(hit);
                all += 1;
            }
        }
        Some((hits, all))
    }

    /// The mean of a loss over the rows that it is about, and the share of them above the limit.
    fn mean(&self, of: &BTreeMap<String, String>, rows: &[usize]) -> Option<(f64, f64, usize)> {
        let (name, limit) = (of.get("loss")?, of.get("at_most")?.parse::<f64>().unwrap());
        let (mut sum, mut over, mut all) = (0.0, 0, 0);
        for &row in rows {
            if self.whom(of, row)? {
                let loss = self.loss(name, row)?;
                sum += loss;
                over += usize::from(loss > limit);
                all += 1;
            }
        }
        Some((sum / all as f64, over as f64 / all as f64, all))
    }

    /// The best constant prediction of the training rows, and its accuracy or squared error on some rows.
    fn constant(&self, rows: &[usize]) -> Option<(String, f64)> {
        let train = self.part("train");
        if self.of_classes() {
            let classes = self.predicted["classes"].as_array().unwrap();
            let count =
                |class: &str| train.iter().filter(|&&row| self.target(row) == class).count();
            let mut best: Option<(&str, usize)> = None;
            for class in classes.iter().filter_map(Value::as_str) {
                if best.is_none_or(|(_, most)| count(class) > most) {
                    best = Some((class, count(class)));
                }
            }
            let (class, _) = best?;
            let right = rows.iter().filter(|&&row| self.target(row) == class).count();
            return Some((class.into(), right as f64 / rows.len() as f64));
        }
        if self.objective != "squared" {
            return None;
        }
        let mean = train.iter().map(|&row| self.number(row)).sum::<f64>() / train.len() as f64;
        let squares = rows.iter().map(|&row| (self.number(row) - mean).powi(2)).sum::<f64>();
        Some((String::new(), squares / rows.len() as f64))
    }
}

fn near(a: f64, b: f64, size: f64) -> bool {
    // Predictions and losses are computed in single precision.
    (a - b).abs() <= 2e-5 * (1e-3 + size.abs().max(a.abs()).max(b.abs()))
}

fn insist(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

/// Every number of an evaluation that this file can compute from the table and the predictions.
pub fn evaluation(facts: &Facts, rows: &[usize], part: &str, e: &Evaluation) -> Result<(), String> {
    insist(e.rows == rows.len(), || format!("{part}: {} rows, not {}", e.rows, rows.len()))?;
    let mean =
        |of: &dyn Fn(usize) -> f64| rows.iter().map(|&r| of(r)).sum::<f64>() / rows.len() as f64;
    let objective = mean(&|row| facts.loss(&facts.objective, row).unwrap());
    // Of probabilities near 0 the logarithm has few digits.
    if e.objective.is_finite() && objective < 8.0 {
        insist((objective - e.objective).abs() <= 1e-3 * (1.0 + objective), || {
            format!("{part}: objective {} is {objective}", e.objective)
        })?;
    }
    if facts.of_classes() {
        let right = mean(&|row| f64::from(u8::from(facts.target(row) == facts.class(row))));
        insist(near(right, e.accuracy.unwrap(), 1.0), || {
            format!("{part}: accuracy {:?} is {right}", e.accuracy)
        })?;
    }
    if let (Some((predicts, value)), Some(constant)) = (facts.constant(rows), &e.constant) {
        let same = predicts.is_empty() || predicts == constant.predicts;
        insist(same && near(value, constant.value, value), || {
            format!("{part}: {constant:?} is {predicts} {value}")
        })?;
    }
    insist(e.constant.is_some(), || format!("{part}: no constant prediction"))?;
    for r in &e.requirements {
        let Some(of) = facts.stated(&r.name) else { continue };
        if let Some((hits, all)) = facts.count(of, rows) {
            insist((r.points > 0) == (all > 0), || format!("{part}: {r:?} is about {all}"))?;
            let value = (all > 0).then(|| hits as f64 / all as f64);
            let same = r.value.zip(value).is_none_or(|(a, b)| near(a, b, 1.0));
            insist(same && r.value.is_some() == value.is_some(), || {
                format!("{part}: {r:?} is {value:?}")
            })?;
        } else if let Some((value, over, all)) = facts.mean(of, rows) {
            if all == 0 || !value.is_finite() {
                continue;
            }
            let digits = |a: f64, b: f64| (a - b).abs() <= 1e-3 * (1e-3 + a.abs().max(b.abs()));
            if value < 8.0 || !facts.of_classes() {
                insist(digits(value, r.value.unwrap()), || format!("{part}: {r:?} is {value}"))?;
            }
            if of.contains_key("kind") {
                // A row at the limit may be counted or not.
                let slack = 1.5 / all as f64;
                insist((over - r.violated.unwrap()).abs() <= slack, || {
                    format!("{part}: {r:?} is violated for {over}")
                })?;
            }
        }
    }
    Ok(())
}

/// log Σ_{j ≤ k} (n over j) p^j (1 − p)^{n−j}, term by term.
fn ln_at_most(k: u64, n: u64, p: f64) -> f64 {
    if p <= 0.0 || k >= n {
        return 0.0;
    }
    if p >= 1.0 {
        return f64::NEG_INFINITY;
    }
    let (mut term, mut terms) = (n as f64 * (1.0 - p).ln(), Vec::new());
    for j in 0..=k {
        terms.push(term);
        term += ((n - j) as f64 / (j + 1) as f64).ln() + (p / (1.0 - p)).ln();
    }
    let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (most + terms.iter().map(|t| (t - most).exp()).sum::<f64>().ln()).min(0.0)
}

/// The upper bound of Clopper and Pearson.
fn upper(k: u64, n: u64, delta: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if ln_at_most(k, n, middle) < delta.ln() { high = middle } else { low = middle }
    }
    if k == n { 1.0 } else { high }
}

/// Verdicts by Holm's order from the p-values, and everything about rates from their hits.
pub fn certificate(facts: &Facts, rows: &[usize], of: &Certification) -> Result<(), String> {
    let findings = &of.certificate.findings;
    let (m, delta) = (findings.len(), of.certificate.delta.value());
    if of.chosen || m == 0 {
        return Ok(());
    }
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|&i, &j| findings[i].p.total_cmp(&findings[j].p));
    let tested = order.iter().enumerate();
    let certified = tested.take_while(|(at, i)| findings[**i].p <= delta / (m - at) as f64).count();
    for (at, &i) in order.iter().enumerate() {
        let f = &findings[i];
        let shown = || format!("{f:?}, {certified} of {m} are certified at {delta}");
        insist((f.verdict == Verdict::Certified) == (at < certified), shown)?;
        let within = |x: f64| if f.sense == Sense::AtMost { x <= f.limit } else { x >= f.limit };
        if let Some(bound) = f.bound {
            let agrees = within(bound) == (f.verdict == Verdict::Certified);
            insist(agrees || bound == f.limit, shown)?;
        }
        let Some(stated) = facts.stated(&f.name) else { continue };
        let Some((hits, all)) = facts.count(stated, rows).filter(|_| of.count == rows.len()) else {
            continue;
        };
        insist(f.rows == all, || format!("{f:?} is about {all} rows"))?;
        if all == 0 {
            insist(f.verdict == Verdict::Open && f.bound.is_none(), shown)?;
            continue;
        }
        // An upper bound on a rate is one minus a lower bound on its complement.
        let (hits, limit, value): (u64, f64, fn(f64) -> f64) = match f.sense {
            Sense::AtMost => (hits, f.limit, |x| x),
            Sense::AtLeast => (all - hits, 1.0 - f.limit, |x| 1.0 - x),
        };
        insist(near(value(hits as f64 / all as f64), f.estimate.unwrap(), 1.0), shown)?;
        let p = ln_at_most(hits, all, limit).exp();
        let expected = match hits as f64 / all as f64 > limit {
            true => f.p,
            false => p,
        };
        insist((expected - f.p).abs() <= 1e-7, || format!("{}: p is {p}", shown()))?;
        let bound = match f.verdict {
            Verdict::Certified => upper(hits, all, delta / m as f64).min(limit),
            _ => upper(hits, all, delta / (m - certified) as f64).max(limit),
        };
        insist((value(bound) - f.bound.unwrap()).abs() <= 1e-7, || {
            format!("{}: the bound is {}", shown(), value(bound))
        })?;
    }
    Ok(())
}

/// Everything that a summary says of its parts and its certificate.
pub fn summary(facts: &Facts, of: &Summary) -> Result<(), String> {
    for (part, e) in of.parts() {
        evaluation(facts, &facts.part(part), part, e)?;
    }
    let reserve = facts.part("reserve");
    let held = if reserve.is_empty() { facts.part("test") } else { reserve };
    match &of.certificate {
        Some(found) => certificate(facts, &held, found),
        None => Ok(()),
    }
}

/// What `audit` of the table that was trained on says.
pub fn audit(facts: &Facts, json: &Value, text: &str) -> Result<(), String> {
    let read = |value: &Value| serde_json::from_value::<Evaluation>(value.clone());
    let e = read(&json["evaluation"]).map_err(|error| error.to_string())?;
    let all: Vec<usize> = (0..facts.rows).collect();
    evaluation(facts, &all, "audit", &e)?;
    let used = facts.part("train").len() + facts.part("validation").len();
    insist(json["trained_on"].as_u64() == Some(used as u64), || {
        format!("trained on {}, not {used}", json["trained_on"])
    })?;
    let first = text.lines().next().unwrap_or_default();
    insist(first.starts_with("These are rows the model was trained on: "), || first.into())
}
