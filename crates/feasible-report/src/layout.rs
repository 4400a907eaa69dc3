//! What all pages have in common: the frame they are laid out in, and how text gets into it. All
//! text goes through the template's escaping, and hidden characters are written out; only charts, which escape their own, are put in as
//! they are.

use feasible_data::{visible, visible_lines};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, context, escape_formatter};
use serde::{Deserialize, Serialize};

use crate::chart::{css, escape};
use crate::error::{Error, Result};
use crate::figures::Figure;
use crate::glossary;

/// Characters of a name that are shown.
const NAME: usize = 160;

/// What a page begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageVerdict {
    /// `met`, `missed` or `none`: also a class.
    pub state: &'static str,
    /// In one sentence.
    pub sentence: String,
    /// A line below it.
    pub more: String,
}

/// Parts that templates share: they are given `import` as `parts`.
const PARTS: &str = include_str!("parts.html");

/// Lays out a page: `template` extends `base`, and is given `content` and the style sheet. The table of contents has
/// every `<h2 id="…">` of it, the glossary at its end every term that it links to.
///
/// # Errors
/// A template that cannot be laid out.
pub fn page(template: &str, content: Value) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => {
            escape_formatter(out, state, &Value::from(visible_lines(text).as_ref()))
        }
        _ => escape_formatter(out, state, value),
    });
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_function("term", |term: &str, shown: Option<&str>| {
        Value::from_safe_string(glossary::link(term, shown.unwrap_or(term)))
    });
    environment.add_filter("code", |text: &str| Value::from_safe_string(code(text)));
    environment.add_template("base", include_str!("base.html"))?;
    environment.add_template("parts", PARTS)?;
    environment.add_template("attacked", include_str!("attacked.html"))?;
    environment.add_template("cost", include_str!("cost.html"))?;
    environment.add_template("groups", include_str!("groups.html"))?;
    environment.add_template("data", include_str!("data.html"))?;
    environment.add_template("page", template)?;
    let frame = context! {
        css => Value::from_safe_string(format!("{}{}", css(), include_str!("page.css"))),
        program => env!("CARGO_PKG_VERSION"),
    };
    let html = environment.get_template("page")?.render(context! { ..content, ..frame })?;
    // What people wrote is escaped, so these marks are ours.
    let html = html.replacen("<!--glossary-->", &glossary::section(&html), 1);
    let contents = contents(&html);
    Ok(html.replacen("<!--contents-->", &contents, 1))
}

/// Text, escaped, with what stands between backticks as code.
fn code(text: &str) -> String {
    let text = escape(text);
    // Without a second backtick the first one is only that.
    if !text.matches('`').count().is_multiple_of(2) {
        return text;
    }
    let part = |(at, part): (usize, &str)| match at % 2 {
        0 => part.to_string(),
        _ => format!("<code>{part}</code>"),
    };
    text.split('`').enumerate().map(part).collect()
}

/// Links to the sections of a page.
fn contents(html: &str) -> String {
    let heads = html.split("<h2 id=\"").skip(1).filter_map(|rest| {
        let (id, rest) = rest.split_once("\">")?;
        let (title, _) = rest.split_once("</h2>")?;
        Some(format!("<li><a href=\"#{id}\">{title}</a></li>\n"))
    });
    format!("<ol>\n{}</ol>", heads.collect::<String>())
}

/// Figures as the templates take them.
pub fn drawn(figures: &[Figure]) -> Vec<Value> {
    let one = |figure: &Figure| {
        let svg = Value::from_safe_string(figure.inline());
        let values = figure.values();
        context! {
            svg,
            title => name(figure.title()),
            description => bounded(&figure.description(), 6_000),
            head => values.head,
            rows => values.rows,
            left_out => values.left_out,
        }
    };
    figures.iter().map(one).collect()
}

/// A value as the templates take it.
///
/// # Errors
/// A value that is not JSON.
pub fn value(of: &impl Serialize) -> Result<Value> {
    let json = serde_json::to_value(of).map_err(|e| Error::Layout { reason: e.to_string() })?;
    Value::deserialize(json).map_err(|e| Error::Layout { reason: e.to_string() })
}

/// A name as it is shown: of bounded length, with what moves, turns or hides text written out.
pub fn name(text: &str) -> String {
    bounded(text, NAME)
}

/// Text in which no line ends between a number and its sign.
pub(crate) fn unbroken(text: &str) -> String {
    text.replace(" %", "\u{a0}%").replace("≤ ", "≤\u{a0}").replace("≥ ", "≥\u{a0}")
}

/// Text as it is shown, at most this number of characters of it.
pub fn bounded(text: &str, most: usize) -> String {
    let text = visible(text);
    let mut shown: String = text.chars().take(most).collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_backticks_is_code_and_harmless() {
        assert_eq!(code("try `a < b` now"), "try <code>a &lt; b</code> now");
        assert_eq!(code("one ` only <b>"), "one ` only &lt;b&gt;");
    }
}
