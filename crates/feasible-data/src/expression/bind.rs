//! An expression held against a table: names and kinds checked, ready to select rows.

use std::borrow::Cow;

use super::{Comparison, Expression, ExpressionError, Literal, Node, Subject, Value};
use crate::column::{Categories, Cells, MISSING};
use crate::dates;
use crate::encoder::Encoder;
use crate::error::Result;
use crate::nearest::nearest;
use crate::numbers::Numbers;
use crate::table::Table;

/// What to do when an expression names a category that the table does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownCategories {
    /// An error: it is likely misspelt. For the table a problem is written for.
    Reject,
    /// It matches no row. For other tables, which may lack a category.
    MatchNothing,
}

/// An expression that fits its table. See the [module](super).
#[derive(Clone, Debug)]
pub struct Filter<'t> {
    rows: usize,
    test: Test<'t>,
}

/// False, unknown and true, so that and, or and not are minimum, maximum and 2 − x.
type Truth = u8;
const FALSE: Truth = 0;
const UNKNOWN: Truth = 1;
const TRUE: Truth = 2;

#[derive(Clone, Debug)]
enum Test<'t> {
    Or(Vec<Test<'t>>),
    And(Vec<Test<'t>>),
    Not(Box<Test<'t>>),
    Number {
        x: &'t Numbers,
        comparison: Comparison,
        value: f64,
    },
    NumberIn {
        x: &'t Numbers,
        values: Vec<f64>,
    },
    NumberMissing {
        x: &'t Numbers,
    },
    /// Per category whether it passes.
    Category {
        categories: Cow<'t, Categories>,
        passes: Vec<bool>,
    },
    CategoryMissing {
        categories: Cow<'t, Categories>,
    },
}

impl Expression {
    /// Checks the expression against a table; `encoder` is needed for `encoded(column)`.
    ///
    /// # Errors
    /// Unknown columns or categories, with the nearest; text against numbers or the reverse; each
    /// with its place in the expression.
    pub fn bind<'t>(
        &self,
        table: &'t Table,
        encoder: Option<&Encoder>,
        unknown: UnknownCategories,
    ) -> Result<Filter<'t>> {
        let binder = Binder { text: &self.text, table, encoder, unknown };
        Ok(Filter { rows: table.rows(), test: binder.node(&self.root)? })
    }
}

struct Binder<'a, 't> {
    text: &'a str,
    table: &'t Table,
    encoder: Option<&'a Encoder>,
    unknown: UnknownCategories,
}

enum Bound<'t> {
    Numbers(&'t Numbers),
    Categories(Cow<'t, Categories>),
}

impl<'t> Binder<'_, 't> {
    fn wrong(&self, byte: usize, message: String) -> ExpressionError {
        ExpressionError::at_byte(self.text, byte, message)
    }

    fn node(&self, node: &Node) -> Result<Test<'t>, ExpressionError> {
        let all = |parts: &[Node]| -> Result<Vec<_>, ExpressionError> {
            parts.iter().map(|part| self.node(part)).collect()
        };
        match node {
            Node::Or(parts) => Ok(Test::Or(all(parts)?)),
            Node::And(parts) => Ok(Test::And(all(parts)?)),
            Node::Not(inner) => Ok(Test::Not(Box::new(self.node(inner)?))),
            Node::Missing { subject } => Ok(match self.subject(subject)? {
                Bound::Numbers(x) => Test::NumberMissing { x },
                Bound::Categories(categories) => Test::CategoryMissing { categories },
            }),
            Node::Compare { subject, comparison, value } => match self.subject(subject)? {
                Bound::Numbers(x) => {
                    let value = self.number(subject, value)?;
                    Ok(Test::Number { x, comparison: *comparison, value })
                }
                Bound::Categories(categories) => {
                    if let Some(passes) = by_date(&categories, *comparison, &value.value) {
                        return Ok(Test::Category { categories, passes });
                    }
                    if !matches!(comparison, Comparison::Equal | Comparison::Unequal) {
                        let message = format!(
                            "column '{}' is text, which {} cannot order: use ==, != or in",
                            subject.name,
                            comparison.symbol()
                        );
                        return Err(self.wrong(subject.at.0, message));
                    }
                    let mut passes =
                        self.chosen(subject, &categories, std::slice::from_ref(value))?;
                    if *comparison == Comparison::Unequal {
                        passes.iter_mut().for_each(|pass| *pass = !*pass);
                    }
                    Ok(Test::Category { categories, passes })
                }
            },
            Node::In { subject, values } => match self.subject(subject)? {
                Bound::Numbers(x) => {
                    let number = |value| self.number(subject, value);
                    let values = values.iter().map(number).collect::<Result<_, _>>()?;
                    Ok(Test::NumberIn { x, values })
                }
                Bound::Categories(categories) => {
                    let passes = self.chosen(subject, &categories, values)?;
                    Ok(Test::Category { categories, passes })
                }
            },
        }
    }

    fn subject(&self, subject: &Subject) -> Result<Bound<'t>, ExpressionError> {
        let wrong = |message: String| self.wrong(subject.at.0, message);
        if subject.encoded {
            let encoder = self.encoder.ok_or_else(|| {
                wrong("encoded() cannot be used here: nothing is encoded yet".to_string())
            })?;
            let categories = encoder.derived(self.table, &subject.name);
            return categories
                .map(|categories| Bound::Categories(Cow::Owned(categories)))
                .map_err(|error| wrong(error.to_string()));
        }
        let column = self.table.column(&subject.name).map_err(|error| wrong(error.to_string()))?;
        Ok(match &column.cells {
            Cells::Numbers(x) => Bound::Numbers(x),
            Cells::Categories(categories) => Bound::Categories(Cow::Borrowed(categories)),
        })
    }

    fn number(&self, subject: &Subject, literal: &Literal) -> Result<f64, ExpressionError> {
        match &literal.value {
            Value::Number(x) => Ok(*x),
            Value::Text(text) => {
                let name = &subject.name;
                let hint = match text.parse::<f64>() {
                    Ok(_) => format!("write {text} without quotes"),
                    Err(_) => format!("compare it with a number, or use encoded({name})"),
                };
                let message = format!("column '{name}' is numeric and '{text}' is text: {hint}");
                Err(self.wrong(literal.at.0, message))
            }
        }
    }

    /// Which categories are among the values.
    fn chosen(
        &self,
        subject: &Subject,
        categories: &Categories,
        values: &[Literal],
    ) -> Result<Vec<bool>, ExpressionError> {
        let mut chosen = vec![false; categories.names.len()];
        for literal in values {
            let name = &subject.name;
            let category = match &literal.value {
                Value::Text(category) => category,
                Value::Number(x) => {
                    let message =
                        format!("column '{name}' is text: put the value in quotes, '{x}'");
                    return Err(self.wrong(literal.at.0, message));
                }
            };
            match categories.names.iter().position(|known| known == category) {
                Some(at) => chosen[at] = true,
                None if self.unknown == UnknownCategories::MatchNothing => {}
                None => {
                    let nearest = nearest(category, categories.names.iter().map(String::as_str));
                    let hint = crate::nearest::suggestion(&nearest, &categories.names);
                    let message = format!("column '{name}' has no category '{category}'{hint}");
                    return Err(self.wrong(literal.at.0, message));
                }
            }
        }
        Ok(chosen)
    }
}

/// Which dates stand so to a date; `None` unless all are dates and they are ordered.
fn by_date(categories: &Categories, comparison: Comparison, value: &Value) -> Option<Vec<bool>> {
    let Value::Text(text) = value else { return None };
    let than = dates::parse(text)?;
    let passes = |day: f64| match comparison {
        Comparison::Less => Some(day < than),
        Comparison::AtMost => Some(day <= than),
        Comparison::Greater => Some(day > than),
        Comparison::AtLeast => Some(day >= than),
        Comparison::Equal | Comparison::Unequal => None,
    };
    categories.names.iter().map(|name| passes(dates::parse(name)?)).collect()
}

impl Filter<'_> {
    /// For every row of the table, whether it is selected.
    pub fn mask(&self) -> Vec<bool> {
        let rows: Vec<u32> = (0..self.rows as u32).collect();
        self.test.truths(&rows).into_iter().map(|truth| truth == TRUE).collect()
    }

    /// Those of the given rows that are selected, in their order.
    pub fn select(&self, rows: &[u32]) -> Vec<u32> {
        let truths = self.test.truths(rows);
        rows.iter().zip(truths).filter(|(_, truth)| *truth == TRUE).map(|(&row, _)| row).collect()
    }
}

impl Test<'_> {
    /// The truth for each of the rows.
    fn truths(&self, rows: &[u32]) -> Vec<Truth> {
        let by_row = |test: &dyn Fn(usize) -> Truth| -> Vec<Truth> {
            rows.iter().map(|&row| test(row as usize)).collect()
        };
        let number = |x: &Numbers, pass: &dyn Fn(f64) -> bool| -> Vec<Truth> {
            let truth = |x: f64| if x.is_nan() { UNKNOWN } else { TRUE * Truth::from(pass(x)) };
            rows.iter().map(|&row| truth(x.get(row as usize))).collect()
        };
        match self {
            Self::Or(parts) => fold(parts, rows, Truth::max),
            Self::And(parts) => fold(parts, rows, Truth::min),
            Self::Not(inner) => {
                let mut truths = inner.truths(rows);
                truths.iter_mut().for_each(|truth| *truth = TRUE - *truth);
                truths
            }
            Self::Number { x, comparison, value } => {
                let value = *value;
                match comparison {
                    Comparison::Equal => number(x, &|x| x == value),
                    Comparison::Unequal => number(x, &|x| x != value),
                    Comparison::Less => number(x, &|x| x < value),
                    Comparison::AtMost => number(x, &|x| x <= value),
                    Comparison::Greater => number(x, &|x| x > value),
                    Comparison::AtLeast => number(x, &|x| x >= value),
                }
            }
            Self::NumberIn { x, values } => number(x, &|x| values.contains(&x)),
            Self::NumberMissing { x } => by_row(&|row| TRUE * Truth::from(x.get(row).is_nan())),
            Self::Category { categories, passes } => {
                by_row(&|row| match categories.codes.get(row) {
                    MISSING => UNKNOWN,
                    code if passes[code as usize] => TRUE,
                    _ => FALSE,
                })
            }
            Self::CategoryMissing { categories } => {
                by_row(&|row| TRUE * Truth::from(categories.codes.get(row) == MISSING))
            }
        }
    }
}

fn fold(parts: &[Test<'_>], rows: &[u32], combine: fn(Truth, Truth) -> Truth) -> Vec<Truth> {
    let mut parts = parts.iter().map(|part| part.truths(rows));
    let mut all = parts.next().unwrap_or_default();
    for part in parts {
        all.iter_mut().zip(part).for_each(|(truth, other)| *truth = combine(*truth, other));
    }
    all
}
