//! `where` expressions: which rows a requirement speaks of.
//!
//! ```
//! use feasible_data::{Expression, Format, Table, UnknownCategories};
//! let csv = b"age,race\n41,Black\n38,Black\n50,White\n,Black\n";
//! let table = Table::from_bytes("people.csv", csv, &Format::default())?;
//! let older = Expression::parse("race == 'Black' and age > 40")?;
//! let filter = older.bind(&table, None, UnknownCategories::Reject)?;
//! assert_eq!(filter.mask(), [true, false, false, false]);
//! assert_eq!(filter.select(&[3, 2, 0]), [0]);
//! # Ok::<(), feasible_data::Error>(())
//! ```
//!
//! The language:
//!
//! - a column by its name; in backticks or double quotes if the name has other characters than
//!   letters, digits, `_`, `-` and `.`: `` `years of age` ``;
//! - `encoded(age)`: a column as the model sees it, grouped or binned: `encoded(age) == '<= 24'`;
//! - numbers; text in single quotes (a quote inside is doubled);
//! - `==` (or `=`), `!=`; for numbers also `<`, `<=`, `>`, `>=`; `in ['a', 'b']`, `not in`;
//!   `is missing`, `is not missing`;
//! - `not`, `and`, `or`, binding in this order, and parentheses.
//!
//! A comparison with a missing cell is neither true nor false, and neither is its negation; a
//! row is selected only where the whole is true. (This is SQL's logic, and Kleene's.)

mod bind;
mod error;
mod lexer;
mod parser;
mod print;

use lexer::Position;

pub use bind::{Filter, UnknownCategories};
pub use error::ExpressionError;

/// A parsed expression, not yet held against a table. See the [module](self).
///
/// It is printed in a form that parses to the same expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Or(Vec<Node>),
    And(Vec<Node>),
    Not(Box<Node>),
    Compare { subject: Subject, comparison: Comparison, value: Literal },
    In { subject: Subject, values: Vec<Literal> },
    Missing { subject: Subject },
}

/// A column, as read or as encoded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Subject {
    name: String,
    encoded: bool,
    at: Position,
}

impl Subject {
    /// Whether it is this column as read.
    fn is_read(&self, column: &str) -> bool {
        self.name == column && !self.encoded
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Literal {
    value: Value,
    at: Position,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Number(f64),
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Comparison {
    /// The comparison with its sides exchanged: 40 < age is age > 40.
    fn turned(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::AtMost => Self::AtLeast,
            Self::Greater => Self::Less,
            Self::AtLeast => Self::AtMost,
            same => same,
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// What is wrong, and at which character.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        Ok(Self { text: text.to_string(), root: parser::parse(text)? })
    }

    /// The rows whose cell of a column is this category; of the column as the model sees it, if `encoded`. Whatever
    /// characters both have.
    ///
    /// ```
    /// use feasible_data::Expression;
    /// let built = Expression::is("a`b' c", "it's", false);
    /// assert_eq!(built.to_string(), "`a``b' c` == 'it''s'");
    /// assert!(built.same_as(&Expression::parse(&built.to_string())?));
    /// # Ok::<(), feasible_data::ExpressionError>(())
    /// ```
    pub fn is(column: &str, category: &str, encoded: bool) -> Self {
        let at = Position(0);
        let subject = Subject { name: column.to_string(), encoded, at };
        let value = Literal { value: Value::Text(category.to_string()), at };
        Self::of(Node::Compare { subject, comparison: Comparison::Equal, value })
    }

    /// The rows that both select.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let mut parts = Vec::new();
        for root in [self.root, other.root] {
            match root {
                Node::And(inner) => parts.extend(inner),
                root => parts.push(root),
            }
        }
        Self::of(Node::And(parts))
    }

    /// The expressions that must all hold: `a > 1 and b < 2` has two.
    pub fn parts(&self) -> Vec<Self> {
        match &self.root {
            Node::And(parts) => parts.iter().cloned().map(Self::of).collect(),
            _ => vec![self.clone()],
        }
    }

    /// Whether it only asks which cells are missing.
    ///
    /// ```
    /// use feasible_data::Expression;
    /// assert!(Expression::parse("not (x is missing or y is missing)")?.is_of_missing_cells());
    /// assert!(!Expression::parse("x is missing or y > 2")?.is_of_missing_cells());
    /// # Ok::<(), feasible_data::ExpressionError>(())
    /// ```
    pub fn is_of_missing_cells(&self) -> bool {
        fn walk(node: &Node) -> bool {
            match node {
                Node::Or(parts) | Node::And(parts) => parts.iter().all(walk),
                Node::Not(inner) => walk(inner),
                Node::Missing { .. } => true,
                Node::Compare { .. } | Node::In { .. } => false,
            }
        }
        walk(&self.root)
    }

    /// Of its root; the text is what is printed.
    fn of(root: Node) -> Self {
        Self { text: root.to_string(), root }
    }

    /// The source columns it speaks of, in order of first mention.
    pub fn columns(&self) -> Vec<&str> {
        fn walk<'a>(node: &'a Node, found: &mut Vec<&'a str>) {
            match node {
                Node::Or(parts) | Node::And(parts) => {
                    parts.iter().for_each(|part| walk(part, found));
                }
                Node::Not(inner) => walk(inner, found),
                Node::Compare { subject, .. }
                | Node::In { subject, .. }
                | Node::Missing { subject } => {
                    if !found.contains(&subject.name.as_str()) {
                        found.push(&subject.name);
                    }
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.root, &mut found);
        found
    }

    /// The numbers that it compares a column with, in order of mention, and whether the number itself belongs to the
    /// lower side of the cut: `age < 65` cuts below 65. An equality cuts on both sides.
    ///
    /// ```
    /// use feasible_data::Expression;
    /// let between = Expression::parse("age >= 18 and age <= 64 and height > 2")?;
    /// assert_eq!(between.cuts("age"), [(18.0, false), (64.0, true)]);
    /// assert_eq!(Expression::parse("age == 7")?.cuts("age"), [(7.0, false), (7.0, true)]);
    /// # Ok::<(), feasible_data::ExpressionError>(())
    /// ```
    pub fn cuts(&self, column: &str) -> Vec<(f64, bool)> {
        fn walk(node: &Node, column: &str, cuts: &mut Vec<(f64, bool)>) {
            match node {
                Node::Or(parts) | Node::And(parts) => {
                    parts.iter().for_each(|part| walk(part, column, cuts));
                }
                Node::Not(inner) => walk(inner, column, cuts),
                Node::Compare { subject, comparison, value } => {
                    if let (true, Value::Number(x)) = (subject.is_read(column), &value.value) {
                        match comparison {
                            Comparison::Less | Comparison::AtLeast => cuts.push((*x, false)),
                            Comparison::AtMost | Comparison::Greater => cuts.push((*x, true)),
                            Comparison::Equal | Comparison::Unequal => {
                                cuts.extend([(*x, false), (*x, true)]);
                            }
                        }
                    }
                }
                Node::In { subject, values } => {
                    for value in values.iter().filter(|_| subject.is_read(column)) {
                        if let Value::Number(x) = value.value {
                            cuts.extend([(x, false), (x, true)]);
                        }
                    }
                }
                Node::Missing { .. } => {}
            }
        }
        let mut cuts = Vec::new();
        walk(&self.root, column, &mut cuts);
        cuts
    }

    /// Whether both say the same, however they are written.
    pub fn same_as(&self, other: &Self) -> bool {
        self.root == other.root
    }
}
