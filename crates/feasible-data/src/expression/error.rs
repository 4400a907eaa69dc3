//! What is wrong with an expression, with a mark under the place.

use std::fmt;

use crate::visible::{is_hidden, visible};

/// An expression that cannot be read, or does not fit its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// The expression.
    pub text: String,
    /// The character at which it goes wrong, from 0.
    pub at: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl ExpressionError {
    /// At a byte position of the text.
    pub(super) fn at_byte(text: &str, byte: usize, message: impl Into<String>) -> Self {
        let at = text.char_indices().take_while(|&(start, _)| start < byte).count();
        Self { text: text.to_string(), at, message: message.into() }
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "at character {}: {}", self.at + 1, visible(&self.message))?;
        // Long expressions are shown around the place only, one mark for what is hidden: ^ counts characters.
        let start = self.at.saturating_sub(60);
        let line = |c: char| match c {
            c if c.is_whitespace() => ' ',
            c if is_hidden(c) => '�',
            c => c,
        };
        let shown: String = self.text.chars().skip(start).take(120).map(line).collect();
        writeln!(f, "  {shown}")?;
        write!(f, "  {:>1$}", "^", self.at - start + 1)
    }
}

impl std::error::Error for ExpressionError {}
