//! From words to an expression, by recursive descent.
//!
//! ```text
//! either   = both ("or" both)*
//! both     = negated ("and" negated)*
//! negated  = "not" negated | "(" either ")" | test
//! test     = operand comparison operand
//!          | column ["not"] "in" "[" literal ("," literal)* "]"
//!          | column "is" ["not"] "missing"
//! column   = name | "encoded" "(" name ")"
//! ```

use super::lexer::{Position, Token, tokens};
use super::{ExpressionError, Literal, Node, Subject, Value};

/// How deep parentheses and `not` may be nested.
const MAX_DEPTH: usize = 64;

pub(super) fn parse(text: &str) -> Result<Node, ExpressionError> {
    let mut parser = Parser { text, tokens: tokens(text)?, at: 0, depth: 0 };
    if parser.peek() == &Token::End {
        return Err(
            parser.wrong("the expression is empty: write, for example, column == 'category'")
        );
    }
    let node = parser.either()?;
    match parser.peek() {
        Token::End => Ok(node),
        Token::Close => Err(parser.wrong("this ) has no ( before it")),
        _ => Err(parser.wrong("expected and, or, or the end")),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
}

enum Operand {
    Column(Subject),
    Literal(Literal),
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn position(&self) -> Position {
        Position(self.tokens[self.at].1)
    }

    /// Takes the current word; the end stays.
    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn accept(&mut self, token: &Token) -> bool {
        let found = self.peek() == token;
        if found {
            self.take();
        }
        found
    }

    fn wrong(&self, message: &str) -> ExpressionError {
        ExpressionError::at_byte(self.text, self.position().0, message)
    }

    fn either(&mut self) -> Result<Node, ExpressionError> {
        let mut parts = vec![self.both()?];
        while self.accept(&Token::Or) {
            parts.push(self.both()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Node::Or(parts) })
    }

    fn both(&mut self) -> Result<Node, ExpressionError> {
        let mut parts = vec![self.negated()?];
        while self.accept(&Token::And) {
            parts.push(self.negated()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Node::And(parts) })
    }

    fn negated(&mut self) -> Result<Node, ExpressionError> {
        if self.depth == MAX_DEPTH {
            return Err(self.wrong(&format!("nested more than {MAX_DEPTH} deep: simplify")));
        }
        self.depth += 1;
        let node = if self.accept(&Token::Not) {
            Node::Not(Box::new(self.negated()?))
        } else if self.peek() == &Token::Open {
            let open = self.position().0;
            self.take();
            let inner = self.either()?;
            if !self.accept(&Token::Close) {
                let message = "this ( is never closed";
                return Err(match self.peek() {
                    Token::End => ExpressionError::at_byte(self.text, open, message),
                    _ => self.wrong("expected and, or, or )"),
                });
            }
            inner
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn test(&mut self) -> Result<Node, ExpressionError> {
        let left = self.operand()?;
        let subject = match (left, self.peek()) {
            (Operand::Literal(value), Token::Comparison(_)) => return self.turned(value),
            (Operand::Literal(_), _) => {
                return Err(self.wrong("expected a comparison: ==, !=, <, <=, > or >="));
            }
            (Operand::Column(subject), _) => subject,
        };
        let negated = self.accept(&Token::Not);
        let node = match self.peek() {
            Token::In => {
                self.take();
                Node::In { subject, values: self.list()? }
            }
            _ if negated => return Err(self.wrong("expected in after not")),
            Token::Is => {
                self.take();
                let negated = self.accept(&Token::Not);
                match self.peek() {
                    Token::Word(word) if word.eq_ignore_ascii_case("missing") => self.take(),
                    _ => return Err(self.wrong("expected missing")),
                };
                let test = Node::Missing { subject };
                return Ok(if negated { Node::Not(Box::new(test)) } else { test });
            }
            Token::Comparison(comparison) => {
                let comparison = *comparison;
                self.take();
                let value = self.literal()?;
                Node::Compare { subject, comparison, value }
            }
            _ => {
                return Err(self.wrong("expected a comparison (== != < <= > >=), in or is missing"));
            }
        };
        Ok(if negated { Node::Not(Box::new(node)) } else { node })
    }

    /// `40 < age`, once the number is read.
    fn turned(&mut self, value: Literal) -> Result<Node, ExpressionError> {
        let Token::Comparison(comparison) = self.take() else {
            return Err(self.wrong("expected a comparison"));
        };
        let at = self.position().0;
        match self.operand()? {
            Operand::Column(subject) => {
                Ok(Node::Compare { subject, comparison: comparison.turned(), value })
            }
            Operand::Literal(_) => {
                Err(ExpressionError::at_byte(self.text, at, "expected a column on one side"))
            }
        }
    }

    fn list(&mut self) -> Result<Vec<Literal>, ExpressionError> {
        let close = match self.take() {
            Token::OpenList => Token::CloseList,
            Token::Open => Token::Close,
            _ => {
                self.at -= 1;
                return Err(self.wrong("expected a list: ['a', 'b']"));
            }
        };
        let mut values = vec![self.literal()?];
        while self.accept(&Token::Comma) {
            if self.peek() == &close {
                break;
            }
            values.push(self.literal()?);
        }
        match self.accept(&close) {
            true => Ok(values),
            false => Err(self.wrong("expected a comma or the end of the list")),
        }
    }

    fn literal(&mut self) -> Result<Literal, ExpressionError> {
        let at = self.position();
        match self.operand()? {
            Operand::Literal(literal) => Ok(literal),
            Operand::Column(subject) => {
                let name = subject.name.replace('\'', "''");
                let message = format!("expected a value: write text in single quotes, '{name}'");
                Err(ExpressionError::at_byte(self.text, at.0, message))
            }
        }
    }

    fn operand(&mut self) -> Result<Operand, ExpressionError> {
        let at = self.position();
        let literal = |value| Ok(Operand::Literal(Literal { value, at }));
        let column = |name, encoded| Ok(Operand::Column(Subject { name, encoded, at }));
        match self.peek().clone() {
            Token::Number(x) => {
                self.take();
                literal(Value::Number(x))
            }
            Token::Text(text) => {
                self.take();
                literal(Value::Text(text))
            }
            Token::Quoted(name) => {
                self.take();
                column(name, false)
            }
            Token::Word(word) => {
                self.take();
                if !(word.eq_ignore_ascii_case("encoded") && self.accept(&Token::Open)) {
                    return column(word, false);
                }
                let name = match self.peek().clone() {
                    Token::Word(name) | Token::Quoted(name) => name,
                    _ => return Err(self.wrong("expected a column: encoded(age)")),
                };
                self.take();
                match self.accept(&Token::Close) {
                    true => column(name, true),
                    false => Err(self.wrong("expected ) after the column")),
                }
            }
            Token::End => Err(self.wrong("the expression ends too early")),
            _ => Err(self.wrong("expected a column, a number or text in single quotes")),
        }
    }
}
