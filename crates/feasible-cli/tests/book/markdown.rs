//! As much Markdown as the tests need.

use std::ops::Range;

/// A fenced block of code.
pub struct Block {
    /// What follows the fence.
    pub language: String,
    /// The comment on the line before it, without its marks: `slow`, `file: loans.toml`.
    pub mark: Option<String>,
    /// Where its text is.
    pub range: Range<usize>,
}

/// The fenced blocks at the beginning of a line, in order.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut at = 0;
    let mut mark = None;
    let mut open: Option<(String, usize)> = None;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_end();
        if let Some((language, begin)) = &open {
            if trimmed == "```" {
                let block =
                    Block { language: language.clone(), mark: mark.take(), range: *begin..at };
                blocks.push(block);
                open = None;
            }
        } else if let Some(language) = trimmed.strip_prefix("```") {
            open = Some((language.to_string(), at + line.len()));
        } else if !trimmed.is_empty() {
            let comment = trimmed.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
            mark = comment.map(|comment| comment.trim().to_string());
        }
        at += line.len();
    }
    blocks
}

/// The text outside fenced blocks, inline code and comments, with line numbers from 1.
pub fn prose(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            let plain = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
            lines.push((number + 1, plain));
        }
    }
    lines
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
pub fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        }
        let Some((hashes, title)) = line.split_once(' ').filter(|_| !inside) else { continue };
        if hashes.is_empty() || hashes.chars().any(|c| c != '#') {
            continue;
        }
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let anchor: String = title.trim().to_lowercase().chars().filter(kept).collect();
        let anchor = anchor.replace(' ', "-");
        let before = anchors.iter().filter(|known| **known == anchor).count();
        anchors.push(if before == 0 { anchor } else { format!("{anchor}-{before}") });
    }
    anchors
}
