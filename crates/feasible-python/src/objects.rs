//! Columns of Python objects: all numbers, all text, or all true and false.

use feasible_data::Column;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::categories::CategoryBuilder;
use crate::error::{FeasibleError, TABLE, refused};
use crate::table::numbers;

/// What the cells of a column of objects are, so far.
enum Objects {
    Unknown(usize),
    Numbers(Vec<f64>),
    Categories(CategoryBuilder, &'static str),
}

pub(crate) fn objects(name: &str, cells: &Bound<'_, PyAny>) -> PyResult<Column> {
    let mut so_far = Objects::Unknown(0);
    for (row, cell) in cells.try_iter()?.enumerate() {
        let cell = cell?;
        if let (Objects::Categories(builder, TEXT), Ok(text)) =
            (&mut so_far, cell.cast::<PyString>())
        {
            builder.push(Some(text.to_str()?));
            continue;
        }
        match Object::of(&cell)? {
            Object::Missing => so_far.push_missing(),
            Object::Category(text, kind) => {
                so_far.push_category(&text, kind).map_err(|what| mixed(name, row, &cell, what))?;
            }
            Object::Number(x) => {
                so_far.push_number(x).map_err(|what| mixed(name, row, &cell, what))?;
            }
            Object::Other => {
                return Err(FeasibleError::new_err(format!(
                    "{TABLE}, row {row}, column '{name}': {} is neither a number nor text: convert the column, or \
                     leave it out",
                    cell.get_type().name()?
                )));
            }
        }
    }
    match so_far {
        Objects::Unknown(rows) => {
            numbers(name, std::iter::repeat_n(f64::NAN, rows)).map_err(refused)
        }
        Objects::Numbers(values) => numbers(name, values.into_iter()).map_err(refused),
        Objects::Categories(builder, _) => Ok(builder.finish(name)),
    }
}

const TEXT: &str = "text";
const BOOLEANS: &str = "true and false";
const NUMBERS: &str = "numbers";

/// A cell of a column of objects.
enum Object {
    Missing,
    Category(String, &'static str),
    Number(f64),
    Other,
}

impl Object {
    fn of(cell: &Bound<'_, PyAny>) -> PyResult<Self> {
        if cell.is_none() {
            return Ok(Self::Missing);
        }
        if let Ok(text) = cell.cast::<PyString>() {
            return Ok(Self::Category(text.to_str()?.to_string(), TEXT));
        }
        let kind = cell.get_type().name()?;
        match kind.to_str()? {
            // pandas has two objects for what is missing.
            "NAType" | "NaTType" => return Ok(Self::Missing),
            "bool" | "bool_" => {
                let text = if cell.is_truthy()? { "true" } else { "false" };
                return Ok(Self::Category(text.to_string(), BOOLEANS));
            }
            _ => {}
        }
        if !cell.hasattr("__float__")? {
            return Ok(Self::Other);
        }
        let x: f64 = cell.call_method0("__float__")?.extract()?;
        Ok(if x.is_nan() { Self::Missing } else { Self::Number(x) })
    }
}

impl Objects {
    fn push_missing(&mut self) {
        match self {
            Self::Unknown(rows) => *rows += 1,
            Self::Numbers(values) => values.push(f64::NAN),
            Self::Categories(builder, _) => builder.push(None),
        }
    }

    /// Adds a number; or what the column holds, if that is something else.
    fn push_number(&mut self, x: f64) -> Result<(), &'static str> {
        if let Self::Unknown(rows) = self {
            *self = Self::Numbers(vec![f64::NAN; *rows]);
        }
        match self {
            Self::Categories(_, known) => return Err(known),
            Self::Numbers(values) => values.push(x),
            Self::Unknown(_) => {}
        }
        Ok(())
    }

    /// Adds a category; or what the column holds, if that is something else.
    fn push_category(&mut self, text: &str, kind: &'static str) -> Result<(), &'static str> {
        if let Self::Unknown(rows) = self {
            let mut builder = CategoryBuilder::default();
            (0..*rows).for_each(|_| builder.push(None));
            *self = Self::Categories(builder, kind);
        }
        match self {
            Self::Categories(builder, known) if *known == kind => builder.push(Some(text)),
            Self::Categories(_, known) => return Err(known),
            _ => return Err(NUMBERS),
        }
        Ok(())
    }
}

/// What a column of more than one kind is told.
fn mixed(name: &str, row: usize, cell: &Bound<'_, PyAny>, what: &str) -> PyErr {
    let found = cell.get_type().name().map(|kind| kind.to_string()).unwrap_or_default();
    FeasibleError::new_err(format!(
        "{TABLE}, row {row}, column '{name}': {found} among {what}: a column holds numbers only, or text only"
    ))
}
