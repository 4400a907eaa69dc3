//! A preprocessor for mdBook: displayed formulas, `$$ … $$`, become MathML, which browsers render by themselves, and
//! links to files outside the book become their text.
//!
//! mdBook calls it as `docs/book.toml` says, with the book as JSON on standard input.

use std::io::{Read, Write};
use std::process::ExitCode;

use pulldown_latex::config::{DisplayMode, RenderConfig};
use pulldown_latex::{Parser, Storage, push_mathml};
use serde_json::Value;

fn main() -> ExitCode {
    // `supports RENDERER` asks whether a renderer can use the result.
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("supports") {
        return ExitCode::from(u8::from(arguments.next().as_deref() != Some("html")));
    }
    match preprocess() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn preprocess() -> Result<(), String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|e| e.to_string())?;
    let input: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let Value::Array(mut parts) = input else { return Err("mdBook gave no book".into()) };
    let mut book = parts.pop().ok_or("mdBook gave no book")?;
    chapters(&mut book)?;
    std::io::stdout().write_all(book.to_string().as_bytes()).map_err(|e| e.to_string())
}

/// Changes every chapter below a value.
fn chapters(value: &mut Value) -> Result<(), String> {
    match value {
        Value::Array(values) => values.iter_mut().try_for_each(chapters),
        Value::Object(fields) => {
            let path = fields.get("path").and_then(Value::as_str).unwrap_or_default().to_string();
            if let Some(Value::String(content)) = fields.get_mut("content") {
                *content = chapter(&path, content).map_err(|e| format!("{path}: {e}"))?;
            }
            fields.values_mut().try_for_each(chapters)
        }
        _ => Ok(()),
    }
}

/// A chapter with its formulas and links changed, and its code as it is.
fn chapter(path: &str, content: &str) -> Result<String, String> {
    let mut out = String::with_capacity(content.len());
    let mut formula: Option<String> = None;
    let mut code = false;
    for line in content.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        let trimmed = line.trim();
        match formula.take() {
            Some(tex) if trimmed == "$$" => out += &mathml(&tex)?,
            Some(tex) => formula = Some(tex + line),
            None if code => out += line,
            None if trimmed == "$$" => formula = Some(String::new()),
            None => match trimmed.strip_prefix("$$").and_then(|rest| rest.strip_suffix("$$")) {
                Some(tex) => out += &mathml(tex)?,
                None => out += &inner_links(path, line),
            },
        }
    }
    match formula {
        Some(_) => Err("a formula is not closed by $$".into()),
        None => Ok(out),
    }
}

fn mathml(tex: &str) -> Result<String, String> {
    let storage = Storage::new();
    let config = RenderConfig { display_mode: DisplayMode::Block, ..RenderConfig::default() };
    let events: Result<Vec<_>, _> = Parser::new(tex, &storage).collect();
    events.map_err(|e| format!("{}: {e}", tex.trim()))?;
    let mut out = String::new();
    let parser = Parser::new(tex, &storage);
    push_mathml(&mut out, parser, config).map_err(|e| format!("{}: {e}", tex.trim()))?;
    // A blank line would end the HTML block; and the library leaves out a space, and does not escape.
    let out = out.replace('\n', " ").replace("\"minsize", "\" minsize");
    let out = out.replace("<mo><</mo>", "<mo>&lt;</mo>").replace("<mo>&</mo>", "<mo>&amp;</mo>");
    Ok(format!("<div class=\"formula\">{out}</div>\n"))
}

/// The line with links that leave the book replaced by their text.
fn inner_links(path: &str, line: &str) -> String {
    let depth = path.matches('/').count();
    let mut out = String::new();
    let mut rest = line;
    while let Some(middle) = rest.find("](") {
        let target = &rest[middle + 2..];
        let end = target.find(')').unwrap_or(target.len());
        let up = target[..end].split('/').take_while(|part| *part == "..").count();
        let open = rest[..middle].rfind('[');
        match open {
            Some(open) if up > depth => {
                out += &rest[..open];
                out += &rest[open + 1..middle];
            }
            _ => out += &rest[..middle + 2 + (end + 1).min(target.len())],
        }
        rest = &target[(end + 1).min(target.len())..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_book_become_text_and_others_stay() {
        let line = "See [the code](../crates/x.rs) and [a page](other.md#there).\n";
        assert_eq!(inner_links("a.md", line), "See the code and [a page](other.md#there).\n");
        let up = "[a](../a.md) [b](../../b.md)";
        assert_eq!(inner_links("tutorials/x.md", up), "[a](../a.md) b");
    }

    #[test]
    fn formulas_become_mathml_and_code_stays() {
        let page = chapter("a.md", "$$\n\\lambda \\le 1\n$$\n\n```sh\necho $$\n```\n").unwrap();
        assert!(page.contains("<math") && page.contains('λ') && page.contains("echo $$"), "{page}");
        assert!(chapter("a.md", "$$\nx").is_err());
    }
}
