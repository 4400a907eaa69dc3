//! What the words on a page mean, for readers who are not statisticians.
//!
//! A template writes `{{ term("limit") }}`: a link to the glossary at the end of the page that shows the definition
//! when pointed at. The glossary has the terms that the page uses, and no others.

use crate::chart::escape;

/// Terms, by the alphabet, and what they mean.
const TERMS: [(&str, &str); 33] = [
    ("accuracy", "The share of predictions that are right."),
    (
        "attack",
        "A search for small changes of the input that make the model wrong. It shows failures; it cannot prove that there are none.",
    ),
    (
        "average",
        "An average requirement limits a mean over the rows it applies to. Single rows may exceed the limit.",
    ),
    (
        "balanced accuracy",
        "The mean of the recalls of all classes: every class weighs the same, however rare it is.",
    ),
    (
        "best epoch",
        "The epoch whose model was kept: the best one that meets the requirements, if there is one.",
    ),
    (
        "calibration",
        "Whether predicted probabilities come true: of the rows given 30 %, about 30 % should be positive.",
    ),
    (
        "certified",
        "Proven, with the stated confidence, for the whole population that the held-out rows come from, not only for these rows.",
    ),
    (
        "confidence",
        "How often a statement made in this way is true: at 95 %, at most 1 in 20 such statements is wrong.",
    ),
    (
        "counterfactual",
        "The same row with one thing changed, such as the gender, and everything else as it is.",
    ),
    (
        "drifted",
        "Proven, with the stated confidence, to be on the wrong side of the limit on average over some tables in a row.",
    ),
    (
        "duality gap",
        "How far the result may be from the best possible one, as the multipliers estimate it; small is good.",
    ),
    ("epoch", "One pass of training over all training rows."),
    ("F1", "A mean of precision and recall that is high only if both are."),
    ("feasible", "Meeting every requirement."),
    ("flip rate", "The share of predictions that change under a counterfactual."),
    ("held-out rows", "Rows that were used neither to train nor to choose the model."),
    ("interval", "The range in which the true value lies, with the stated confidence."),
    ("limit", "The number that a requirement must not exceed (≤) or must reach (≥)."),
    ("met", "On the rows that were measured, the requirement is on the right side of its limit."),
    (
        "multiplier",
        "The price of a requirement: how fast the objective would fall if its limit were relaxed. At 0 the requirement does not hold the model back. An average requirement has one multiplier (μ), found from the gradients at this model, a pointwise one has one for each row (λ), as training left them.",
    ),
    (
        "objective",
        "What training makes as small as it can: the average loss of the predictions. Smaller is better.",
    ),
    ("open", "Not proven either way."),
    ("pointwise", "A pointwise requirement limits every single row, not only the mean."),
    (
        "population",
        "Everything that the rows are a sample of, including rows that nobody has seen.",
    ),
    ("precision", "Of the rows predicted to be of a class, the share that is of it."),
    (
        "recall",
        "Of the rows of a class, the share that is predicted to be of it; also called sensitivity or true positive rate.",
    ),
    (
        "requirement",
        "Something the model must satisfy: a number that must stay on one side of a limit.",
    ),
    (
        "root mean squared error",
        "The typical size of an error, in the units of what is predicted; large errors count more.",
    ),
    ("seed", "The number that fixes all random choices: the same seed gives the same model."),
    ("test rows", "Rows that training never saw; the model is judged by them."),
    (
        "validation rows",
        "Rows that training did not learn from, used to choose the epoch and the settings.",
    ),
    ("violated", "Proven, with the stated confidence, not to hold in the population."),
    (
        "violation",
        "How far a value is on the wrong side of its limit. A negative violation is room to spare.",
    ),
];

fn id(term: &str) -> String {
    format!("term-{}", term.to_lowercase().replace(' ', "-"))
}

fn definition(term: &str) -> Option<(&'static str, &'static str)> {
    // `recall of 'yes'`.
    let term = term.split_once(" of '").map_or(term, |(term, _)| term);
    TERMS.iter().find(|(name, _)| *name == term).copied()
}

/// A word with its definition: `shown` is how it stands in the text. A word that is not in the glossary stays as it is.
pub(crate) fn link(term: &str, shown: &str) -> String {
    match definition(term) {
        Some((name, text)) => {
            let (id, text, shown) = (id(name), escape(text), escape(shown));
            format!(r##"<a class="term" href="#{id}" title="{text}">{shown}</a>"##)
        }
        None => escape(shown),
    }
}

/// The glossary of a page: a section with the terms that it links to; nothing if it has none.
pub(crate) fn section(page: &str) -> String {
    let used = |term: &&(&str, &str)| page.contains(&format!("href=\"#{}\"", id(term.0)));
    let entry = |(name, text): &(&str, &str)| {
        format!("<dt id=\"{}\">{}</dt><dd>{}</dd>\n", id(name), escape(name), escape(text))
    };
    let entries: String = TERMS.iter().filter(used).map(entry).collect();
    match entries.is_empty() {
        true => String::new(),
        false => format!(
            "<section aria-labelledby=\"glossary\">\n<h2 id=\"glossary\">What the words mean</h2>\n\
             <dl class=\"glossary\">\n{entries}</dl>\n</section>\n"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_in_order_and_defined_once() {
        let names: Vec<String> = TERMS.iter().map(|(name, _)| name.to_lowercase()).collect();
        assert!(names.is_sorted());
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn a_page_has_the_terms_that_it_uses() {
        let page = format!("<p>{}</p>", link("flip rate", "flip rates"));
        let glossary = section(&page);
        assert!(glossary.contains("<dt id=\"term-flip-rate\">flip rate</dt>"), "{glossary}");
        assert_eq!(glossary.matches("<dt").count(), 1);
        assert_eq!(section("<p>no terms</p>"), "");
        assert_eq!(link("nothing", "a <b>"), "a &lt;b&gt;");
    }
}
