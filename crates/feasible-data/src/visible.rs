//! Text from files as people can be shown it: what moves a terminal's cursor, turns text around or cannot be
//! seen is written out.
//!
//! ```
//! use feasible_data::visible;
//! assert_eq!(visible("Zoë, née Ó Sé"), "Zoë, née Ó Sé");
//! assert_eq!(visible("\u{1b}[2Jred\u{202e}der"), r"\u{1b}[2Jred\u{202e}der");
//! assert_eq!(visible("a\tb\nc"), r"a\tb\nc");
//! ```
//!
//! It is for people only. Files that programs read (CSV, TOML, the model) hold names and values as they are.

use std::borrow::Cow;

/// Whether a character is written out: control characters (ESC, BEL, NUL, line ends, …), those that set the
/// direction of text, and those that take no room.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}'                       // soft hyphen
            | '\u{61c}'                    // Arabic letter mark
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // letters without a shape
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'      // zero width; left-to-right and right-to-left marks
            | '\u{2028}'..='\u{202e}'      // line and paragraph separators; embeddings and overrides
            | '\u{2060}'..='\u{206f}'      // word joiner, isolates, …
            | '\u{feff}'                   // byte-order mark
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}') // tags
}

/// A text in one line, every hidden character written out (`\n`, `\u{1b}`).
pub fn visible(text: &str) -> Cow<'_, str> {
    written_out(text, is_hidden)
}

/// As [`visible`], of a text that has lines: line feeds stay.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    written_out(text, |c| c != '\n' && is_hidden(c))
}

fn written_out(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' if hidden(c) => out.extend(c.escape_default()),
            c if hidden(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_stays_and_what_is_hidden_is_written_out() {
        for plain in ["", "p(<=50K)", "Œuvre ≥ 3 µm", "مرحبا", "日本語", "🙂", "a\\n"]
        {
            assert_eq!(visible(plain), plain);
        }
        let hidden = "\0\u{7}\u{1b}\u{7f}\u{85}\u{9b}\u{200b}\u{200f}\u{202e}\u{2066}\u{feff}";
        for c in hidden.chars() {
            let shown = visible_lines(c.encode_utf8(&mut [0; 4])).into_owned();
            assert_eq!(shown, format!("\\u{{{:x}}}", u32::from(c)));
        }
        assert_eq!(visible_lines("a\nb\r\tc"), "a\nb\\r\\tc");
        assert_eq!(visible("a\nb"), "a\\nb");
    }
}
