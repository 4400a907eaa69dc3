//! A model card: the run in a page of Markdown, for those who are handed the model.
//!
//! The headings are those of Mitchell and others, "Model Cards for Model Reporting" (2019), as far
//! as a run can answer them. What only people know (who should use it, and for what) is left open,
//! and says so.

use feasible::sensitivity::Among;
use feasible_data::disk::MARK;

use crate::certain;
use crate::chart::{grouped, number, share};
use crate::format::percent;
use crate::hard::{Options, Who};
use crate::layout::bounded;
use crate::requirements::verdict;
use crate::run::Run;

/// Rows of a table that are listed.
const MOST: usize = 60;

pub(crate) fn card(run: &Run, options: &Options, who: &[Who]) -> String {
    let summary = &run.summary;
    let (part, judged) = summary.judged();
    let mut text = format!("# Model card: {}\n\n", inline(run.title()));
    text += &format!("**{}** {}\n\n", inline(&verdict(run).sentence), inline(&verdict(run).more));

    text += "## Model\n\n";
    for (label, value) in model(run) {
        text += &format!("- {label}: {value}\n");
    }

    text += "\n## Intended use\n\n";
    text += "Not stated in the problem file. Whoever releases the model should say here what it is \
             for, and what it is not for.\n";

    text += "\n## Data\n\n";
    let count = |n: usize| grouped(&n.to_string());
    let rows: Vec<String> =
        summary.parts().iter().map(|(name, e)| format!("{} {name}", count(e.rows))).collect();
    text += &format!("Rows: {}.\n\n", rows.join(", "));
    text += "| table | SHA-256 |\n| --- | --- |\n";
    for table in run.info.tables.iter().take(MOST) {
        text += &format!("| {} | `{}` |\n", cell(&table.table), cell(&table.sha256));
    }

    text += &format!("\n## Metrics on the {part} rows\n\n");
    if let Some(accuracy) = judged.accuracy {
        text += &format!("- accuracy: {}\n", percent(accuracy));
    }
    if let Some(comparison) = summary.comparison() {
        text += &format!("- {}\n", inline(&comparison.sentence(&format!("the {part} rows"))));
    }
    if let Some(rmse) = judged.rmse {
        text += &format!("- {}: {}\n", judged.rmse_name(), number(rmse));
    }
    for of in judged.by_target.iter().take(MOST) {
        let target = inline(&of.target);
        text += &format!("- root mean squared error of {target}: {}\n", number(of.rmse));
    }
    text += &format!("- objective: {}\n", number(judged.objective));
    if let Some(f1) = judged.f1 {
        let label = match judged.by_class.as_deref() {
            Some([_, positive]) => format!("F1 of '{}'", inline(&positive.class)),
            _ => "F1, mean of classes".into(),
        };
        text += &format!("- {label}: {}\n", percent(f1));
    }
    if let Some(folds) = &summary.cross_validation {
        text += &format!("- {}\n", inline(&folds.to_text().replace('\n', " ")));
    }
    if let Some(decision) = &summary.decision {
        text += &format!("- {}\n", inline(&decision.to_text()));
    }
    for flip in judged.flip_rates.iter().take(MOST) {
        let name = inline(&flip.counterfactual);
        text += &format!("- predictions that change under {name}: {}\n", percent(flip.share));
    }

    if !judged.requirements.is_empty() {
        text += "\n## Requirements\n\n";
        text += "| requirement | kind | limit | value | over the limit | verdict | certificate | multiplier |\n";
        text += "| --- | --- | ---: | ---: | ---: | --- | --- | ---: |\n";
        for row in crate::requirements::rows(run).iter().take(MOST) {
            text += &format!("{}\n", row.to_markdown(cell));
        }
        if judged.requirements.len() > MOST {
            let more = judged.requirements.len() - MOST;
            text += &format!("\n{more} more are in summary.json.\n");
        }
        let doubts = summary.doubt_lines();
        if !doubts.is_empty() {
            text += "\nWhat not to expect on new rows:\n\n";
            doubts.iter().for_each(|line| text += &format!("- {}\n", inline(line)));
        }
        if !summary.advice.is_empty() {
            text += "\nWhat is not met, and what to try:\n\n";
            summary.advice.iter().for_each(|line| text += &format!("- {}\n", inline(line)));
        }
        if let Some(certain) = summary.certificate.as_ref().and_then(certain::of) {
            text += &certified(&certain);
        }
    }

    text += &hardest(options, who);

    text += "\n## Caveats\n\n";
    text += &caveats(run);

    text += "\n## How to reproduce it\n\n";
    text += &format!(
        "`feasible fit problem.toml --seed {}` with feasible {} and the `problem.toml` of the run.",
        summary.seed,
        inline(&run.info.feasible)
    );
    if let Some(start) = &run.info.started_from {
        let start = inline(start);
        text += &format!(
            " Training started from {start} of a sweep: the command alone ends elsewhere."
        );
    }
    text + &format!("\n\n<!-- {MARK} {} -->\n", env!("CARGO_PKG_VERSION"))
}

/// What is certain: a line for each requirement, then what else follows.
fn certified(certain: &certain::Certain) -> String {
    let mut text = format!("\n{}\n\n", inline(&certain.lead));
    text += "| requirement | certificate | limit | in the sample | bound | still true if |\n";
    text += "| --- | --- | ---: | ---: | ---: | --- |\n";
    for claim in certain.claims.iter().take(MOST) {
        text += &format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            cell(&claim.name),
            claim.verdict,
            claim.limit,
            claim.sample,
            claim.bound,
            claim.still
        );
    }
    let next = certain.claims.iter().filter(|claim| !claim.next.is_empty());
    let next = next.map(|claim| format!("‘{}’: {}", claim.name, claim.next));
    let lines: Vec<String> = next
        .chain(certain.sentences.iter().cloned())
        .chain(certain.methods.iter().cloned())
        .collect();
    if !lines.is_empty() {
        text.push('\n');
    }
    lines.iter().take(MOST).for_each(|line| text += &format!("- {}\n", inline(line)));
    text
}

fn model(run: &Run) -> Vec<(&'static str, String)> {
    let summary = &run.summary;
    let setting = |table: &str, key: &str| -> Option<String> {
        let value = run.settings.get(table)?.get(key)?;
        Some(match value {
            toml::Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    };
    let mut lines = Vec::new();
    if let Some(kind) = setting("model", "kind") {
        let hidden = setting("model", "hidden").map_or(String::new(), |h| format!(", hidden {h}"));
        let activation = setting("model", "activation").map_or(String::new(), |a| format!(", {a}"));
        lines.push(("kind", inline(&format!("{kind}{hidden}{activation}"))));
    }
    lines.push(("parameters", grouped(&summary.parameters.to_string())));
    let target = setting("data", "target");
    let positive = setting("data", "positive").map(|class| format!(", positive: '{class}'"));
    let predicts = target.map(|target| target + positive.as_deref().unwrap_or_default());
    lines.extend(predicts.map(|predicts| ("predicts", inline(&predicts))));
    let rows = setting("data", "rows");
    lines.extend(rows.map(|rows| ("for rows where", inline(&rows))));
    let loss = setting("objective", "loss");
    lines.extend(loss.map(|loss| ("minimises", inline(&loss))));
    let best = summary.best_epoch().map(|best| format!("best epoch: {best}"));
    lines.push(("training", best.unwrap_or_else(|| summary.headline())));
    let sha = run.model_sha256.as_ref();
    lines.extend(sha.map(|sha| ("file", format!("model.safetensors, SHA-256 `{sha}`"))));
    lines
}

/// Groups that had more than their part of the hardest.
fn hardest(options: &Options, who: &[Who]) -> String {
    let mut text = String::new();
    for one in who {
        let Ok(hard) = &one.hard else { continue };
        let over: Vec<_> =
            hard.groups.iter().filter(|g| g.ratio > 1.0 && g.adjusted < 0.05).take(8).collect();
        if over.is_empty() {
            continue;
        }
        if text.is_empty() {
            text += "\n## For whom it was hard\n";
        }
        let whom = if options.among == Among::All { "everyone" } else { "those with λ > 0" };
        let top = number(100.0 * options.top);
        let name = inline(&one.name);
        text += &format!("\nAmong the {top} % of {whom} with the largest λ of {name}:\n\n");
        text += "| group | of the hardest | of all | ratio |\n| --- | ---: | ---: | ---: |\n";
        for group in over {
            text += &format!(
                "| {} | {} | {} | {:.2} |\n",
                cell(&group.name),
                share(group.share),
                share(group.share_of_all),
                group.ratio
            );
        }
    }
    text
}

fn caveats(run: &Run) -> String {
    let (part, _) = run.summary.judged();
    let mut text = match part {
        "train" => "- Judged on the rows it was trained on: nothing is known about other rows.\n",
        "validation" => "- Judged on the rows its iterate was chosen by: a little flattering.\n",
        _ => "- Judged on rows that training did not see, of the same source.\n",
    }
    .to_string();
    if run.summary.certificate.as_ref().and_then(certain::of).is_none() {
        text += "- Nothing is certified: values are measurements, not guarantees for new rows.\n";
    }
    let dual = crate::format::dual(run);
    if !dual.is_empty() {
        text += &format!("- Multipliers: {dual}\n");
    }
    text
}

/// Text within a line of Markdown: nothing in it is markup, a link or a line's end.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for c in bounded(text, 400).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' | '$' => {
                out.extend(['\\', c])
            }
            c => out.push(c),
        }
    }
    out
}

/// Text within a cell of a table.
fn cell(text: &str) -> String {
    inline(&bounded(text, 160))
}
