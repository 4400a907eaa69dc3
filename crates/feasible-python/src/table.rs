//! Arrays of numpy, columns of objects and Arrow streams as one table.

use feasible_data::{CellPlace, Cells, Column, Error, MISSING, Numbers, time_text};
use numpy::ndarray::{ArrayView1, ArrayView2};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrow;
use crate::categories::CategoryBuilder;
use crate::error::{FeasibleError, TABLE, refused};
use crate::objects::objects;

/// Columns of a matrix that are read together: what one cache line holds of a row.
const TOGETHER: usize = 8;

/// A table that is handed over once: to a training, or to a model.
#[pyclass(module = "feasible._feasible")]
#[derive(Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
}

impl Table {
    /// The table; nothing is left of it here.
    pub(crate) fn take(&mut self) -> PyResult<feasible_data::Table> {
        feasible_data::Table::new(TABLE, std::mem::take(&mut self.columns)).map_err(refused)
    }
}

#[pymethods]
impl Table {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// The columns so far.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// Adds the columns of a matrix of numbers.
    fn add_matrix(
        &mut self,
        py: Python<'_>,
        names: Vec<String>,
        values: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let columns = if let Ok(values) = values.extract::<PyReadonlyArray2<'_, f32>>() {
            let values = values.as_array();
            py.detach(|| matrix(&names, values, |&x| f64::from(x)))
        } else {
            let values = values.extract::<PyReadonlyArray2<'_, f64>>()?;
            let values = values.as_array();
            py.detach(|| matrix(&names, values, |&x| x))
        };
        self.columns.extend(columns.map_err(refused)?);
        Ok(())
    }

    /// Adds columns of numbers.
    fn add_numbers(
        &mut self,
        py: Python<'_>,
        names: Vec<String>,
        arrays: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let held = arrays.iter().map(NumberArray::of).collect::<PyResult<Vec<_>>>()?;
        let views: Vec<NumberView<'_>> = held.iter().map(NumberArray::view).collect();
        let columns: Result<Vec<Column>, Error> = py.detach(|| {
            let each = names.par_iter().zip(&views);
            each.map(|(name, view)| view.column(name)).collect()
        });
        self.columns.extend(columns.map_err(refused)?);
        Ok(())
    }

    /// Adds a column of categories by number; a negative number is a missing cell.
    fn add_codes(
        &mut self,
        name: &str,
        categories: Vec<String>,
        codes: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<()> {
        let code = |&code: &i64| match usize::try_from(code) {
            Ok(at) if at < categories.len() => at as u32,
            _ => MISSING,
        };
        let codes: Vec<u32> = codes.as_array().iter().map(code).collect();
        self.columns.push(Column::coded(name, &categories, &codes));
        Ok(())
    }

    /// Adds a column of dates and times: units since 1970-01-01, so many a second; the least number is a missing cell.
    fn add_times(
        &mut self,
        name: &str,
        units: PyReadonlyArray1<'_, i64>,
        a_second: i64,
    ) -> PyResult<()> {
        let mut categories = CategoryBuilder::default();
        for (row, &unit) in units.as_array().iter().enumerate() {
            let text = match unit {
                i64::MIN => None,
                unit => Some(time_text(unit, a_second).ok_or_else(|| no_date(name, row))?),
            };
            categories.push(text.as_deref());
        }
        self.columns.push(categories.finish(name));
        Ok(())
    }

    /// Adds a column of objects: all numbers, or text, or true and false; None and NaN are missing.
    fn add_objects(&mut self, name: &str, cells: &Bound<'_, PyAny>) -> PyResult<()> {
        self.columns.push(objects(name, cells)?);
        Ok(())
    }

    /// Adds the columns of what has `__arrow_c_stream__`, under these names.
    fn add_arrow(
        &mut self,
        py: Python<'_>,
        names: Option<Vec<String>>,
        frame: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.columns.extend(arrow::columns(py, names, frame)?);
        Ok(())
    }
}

/// What a date beyond the calendar is told.
fn no_date(name: &str, row: usize) -> PyErr {
    let place = place(name, row);
    refused(Error::NotADate { place, value: "a date beyond the years 1 to 9999".into() })
}

fn place(column: &str, row: usize) -> CellPlace {
    CellPlace { file: TABLE.into(), line: row as u64 + 1, column: column.into() }
}

/// A column of numbers, NaN where cells are missing.
pub(crate) fn numbers(name: &str, values: impl Iterator<Item = f64>) -> Result<Column, Error> {
    let (mut row, mut infinite) = (0, None);
    let mut cells = Numbers::default();
    cells.extend(values.inspect(|x| {
        if x.is_infinite() && infinite.is_none() {
            infinite = Some((row, *x));
        }
        row += 1;
    }));
    match infinite {
        Some((row, x)) => Err(Error::NotFinite { place: place(name, row), value: x.to_string() }),
        None => Ok(Column { name: name.to_string(), cells: Cells::Numbers(cells) }),
    }
}

fn matrix<T: Sync>(
    names: &[String],
    values: ArrayView2<'_, T>,
    number: impl Fn(&T) -> f64 + Sync,
) -> Result<Vec<Column>, Error> {
    if names.len() != values.ncols() {
        let reason = format!("{} names for {} columns", names.len(), values.ncols());
        return Err(Error::Nothing { what: TABLE.into(), reason });
    }
    let starts: Vec<usize> = (0..names.len()).step_by(TOGETHER).collect();
    let some = |&start: &usize| -> Result<Vec<Column>, Error> {
        let here = start..names.len().min(start + TOGETHER);
        // Row by row in all of these columns, so that a row that is one after the other in memory is read once.
        let mut cells: Vec<Vec<f64>> =
            here.clone().map(|_| Vec::with_capacity(values.nrows())).collect();
        if let Some(all) = values.as_slice() {
            for row in all.chunks_exact(names.len().max(1)) {
                for (cells, x) in cells.iter_mut().zip(&row[here.clone()]) {
                    cells.push(number(x));
                }
            }
        } else {
            for (cells, at) in cells.iter_mut().zip(here.clone()) {
                cells.extend(values.column(at).iter().map(&number));
            }
        }
        let each = names[here].iter().zip(cells);
        each.map(|(name, cells)| numbers(name, cells.into_iter())).collect()
    };
    let parts: Result<Vec<Vec<Column>>, Error> = starts.par_iter().map(some).collect();
    Ok(parts?.into_iter().flatten().collect())
}

macro_rules! number_arrays {
    ($($kind:ident $of:ty),*) => {
        /// A one-dimensional array that is borrowed for as long as it is read.
        enum NumberArray<'py> {
            $($kind(PyReadonlyArray1<'py, $of>)),*
        }

        /// The same, without the interpreter.
        enum NumberView<'a> {
            $($kind(ArrayView1<'a, $of>)),*
        }

        impl<'py> NumberArray<'py> {
            fn of(array: &Bound<'py, PyAny>) -> PyResult<Self> {
                $(if let Ok(array) = array.extract() {
                    return Ok(Self::$kind(array));
                })*
                Err(FeasibleError::new_err("a column is not an array of numbers"))
            }

            fn view(&self) -> NumberView<'_> {
                match self {
                    $(Self::$kind(array) => NumberView::$kind(array.as_array())),*
                }
            }
        }

        impl NumberView<'_> {
            fn column(&self, name: &str) -> Result<Column, Error> {
                match self {
                    $(Self::$kind(view) => numbers(name, view.iter().map(|&x| x as f64))),*
                }
            }
        }
    };
}

number_arrays!(F64 f64, F32 f32, I64 i64, I32 i32, I16 i16, I8 i8, U64 u64, U32 u32, U16 u16, U8 u8);
