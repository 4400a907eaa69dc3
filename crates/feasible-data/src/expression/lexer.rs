//! From characters to words.

use super::{Comparison, ExpressionError};

/// A byte position in the text. Positions take no part in comparing expressions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position(pub(super) usize);

impl PartialEq for Position {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    And,
    Or,
    Not,
    In,
    Is,
    /// A bare word that is no keyword.
    Word(String),
    /// A name in backticks or double quotes.
    Quoted(String),
    Text(String),
    Number(f64),
    Comparison(Comparison),
    Open,
    Close,
    OpenList,
    CloseList,
    Comma,
    End,
}

/// Whether a name can stand without quotes.
pub(super) fn is_bare(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(starts_word) && letters.all(in_word) && keyword(name).is_none()
}

fn starts_word(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

fn keyword(word: &str) -> Option<Token> {
    match word.to_ascii_lowercase().as_str() {
        "and" => Some(Token::And),
        "or" => Some(Token::Or),
        "not" => Some(Token::Not),
        "in" => Some(Token::In),
        "is" => Some(Token::Is),
        _ => None,
    }
}

/// All words with the byte each begins at; the last is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, ExpressionError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (token, length) = token(text, at, c)?;
        tokens.push((token, at));
        at += length;
    }
    tokens.push((Token::End, text.len()));
    Ok(tokens)
}

/// The word that begins at byte `at` with `c`, and its length in bytes.
fn token(text: &str, at: usize, c: char) -> Result<(Token, usize), ExpressionError> {
    let rest = &text[at..];
    let wrong = |message: &str| Err(ExpressionError::at_byte(text, at, message));
    let next = rest[c.len_utf8()..].chars().next();
    match c {
        '(' => Ok((Token::Open, 1)),
        ')' => Ok((Token::Close, 1)),
        '[' => Ok((Token::OpenList, 1)),
        ']' => Ok((Token::CloseList, 1)),
        ',' => Ok((Token::Comma, 1)),
        '=' if next == Some('=') => Ok((Token::Comparison(Comparison::Equal), 2)),
        '=' => Ok((Token::Comparison(Comparison::Equal), 1)),
        '!' if next == Some('=') => Ok((Token::Comparison(Comparison::Unequal), 2)),
        '!' => wrong("'!' alone means nothing here: write not"),
        '<' if next == Some('=') => Ok((Token::Comparison(Comparison::AtMost), 2)),
        '<' if next == Some('>') => wrong("write != for unequal"),
        '<' => Ok((Token::Comparison(Comparison::Less), 1)),
        '>' if next == Some('=') => Ok((Token::Comparison(Comparison::AtLeast), 2)),
        '>' => Ok((Token::Comparison(Comparison::Greater), 1)),
        '&' => wrong("write and"),
        '|' => wrong("write or"),
        '\'' => quoted(text, at, c).map(|(text, length)| (Token::Text(text), length)),
        '`' | '"' => quoted(text, at, c).map(|(name, length)| (Token::Quoted(name), length)),
        c if c.is_ascii_digit() || matches!(c, '+' | '-' | '.') => number(text, at),
        c if starts_word(c) => {
            let word: String = rest.chars().take_while(|&c| in_word(c)).collect();
            let length = word.len();
            Ok((keyword(&word).unwrap_or(Token::Word(word)), length))
        }
        c => wrong(&format!("unexpected {c:?}: put names with odd characters in backticks")),
    }
}

/// Text between two `quote`s, one inside being doubled; and the length with its quotes.
fn quoted(text: &str, at: usize, quote: char) -> Result<(String, usize), ExpressionError> {
    let mut out = String::new();
    let mut rest = text[at + 1..].char_indices().peekable();
    while let Some((offset, c)) = rest.next() {
        if c != quote {
            out.push(c);
        } else if rest.next_if(|&(_, next)| next == quote).is_some() {
            out.push(quote);
        } else {
            return Ok((out, offset + 2));
        }
    }
    let message = format!("this {quote} is never closed");
    Err(ExpressionError::at_byte(text, at, message))
}

fn number(text: &str, at: usize) -> Result<(Token, usize), ExpressionError> {
    let bytes = &text.as_bytes()[at..];
    let mut end = usize::from(matches!(bytes[0], b'+' | b'-'));
    while let Some(&byte) = bytes.get(end) {
        let exponent_sign = matches!(byte, b'+' | b'-') && matches!(bytes[end - 1], b'e' | b'E');
        if !(byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_' || exponent_sign) {
            break;
        }
        end += 1;
    }
    let word = &text[at..at + end];
    let numeric = word.bytes().any(|b| b.is_ascii_digit());
    match word.parse::<f64>() {
        Ok(x) if numeric && x.is_finite() => Ok((Token::Number(x), end)),
        Ok(_) if numeric => {
            Err(ExpressionError::at_byte(text, at, format!("{word} is too large a number")))
        }
        _ => {
            let message = format!(
                "'{word}' is not a number; a column of that name needs backticks: `{word}`"
            );
            Err(ExpressionError::at_byte(text, at, message))
        }
    }
}
