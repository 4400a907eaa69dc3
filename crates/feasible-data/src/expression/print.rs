//! An expression as text that parses to the same expression.

use std::fmt::{self, Display, Formatter};

use super::lexer::is_bare;
use super::{Expression, Literal, Node, Subject, Value};

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.root.fmt(f)
    }
}

impl Node {
    /// How tightly it binds: or, and, then all others.
    fn strength(&self) -> u8 {
        match self {
            Self::Or(_) => 0,
            Self::And(_) => 1,
            _ => 2,
        }
    }

    /// As part of something that needs operands binding at least as tightly as `strength`.
    fn within(&self, strength: u8, f: &mut Formatter<'_>) -> fmt::Result {
        match self.strength() < strength {
            true => {
                f.write_str("(")?;
                self.fmt(f)?;
                f.write_str(")")
            }
            false => self.fmt(f),
        }
    }
}

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Or(parts) | Self::And(parts) => {
                let word = if self.strength() == 0 { " or " } else { " and " };
                for (at, part) in parts.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { word })?;
                    part.within(self.strength() + 1, f)?;
                }
                Ok(())
            }
            Self::Not(inner) => {
                f.write_str("not ")?;
                inner.within(2, f)
            }
            Self::Compare { subject, comparison, value } => {
                subject.fmt(f)?;
                write!(f, " {} {value}", comparison.symbol())
            }
            Self::In { subject, values } => {
                subject.fmt(f)?;
                f.write_str(" in [")?;
                for (at, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Self::Missing { subject } => {
                subject.fmt(f)?;
                f.write_str(" is missing")
            }
        }
    }
}

impl Display for Subject {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = match is_bare(&self.name) {
            true => self.name.clone(),
            false => format!("`{}`", self.name.replace('`', "``")),
        };
        // Where people read it (`{:#}`), a column is a column.
        match self.encoded && !f.alternate() {
            true => write!(f, "encoded({name})"),
            false => f.write_str(&name),
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Number(x) => write!(f, "{x}"),
            Value::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
        }
    }
}
