//! The embedded tables, column by column, and images.

use feasible_data::{Cells, DataSet, ImageSet, MISSING};
use numpy::ndarray::Array4;
use numpy::{IntoPyArray, PyArray1, PyArray4};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::refused;

/// Columns by name, the target, the training rows and the test rows.
type Columns<'py> =
    (Bound<'py, PyDict>, String, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>);

/// The columns of a data set (numbers, or categories and codes), its target, and the rows of its parts.
#[pyfunction]
pub(crate) fn load_data<'py>(py: Python<'py>, name: &str) -> PyResult<Columns<'py>> {
    let set = DataSet::named(name).map_err(refused)?;
    let (table, split) = py.detach(|| set.load()).map_err(refused)?;
    let columns = PyDict::new(py);
    for column in table.columns() {
        match &column.cells {
            Cells::Numbers(x) => {
                columns.set_item(&column.name, x.iter().collect::<Vec<f64>>().into_pyarray(py))?;
            }
            Cells::Categories(categories) => {
                let code = |code| if code == MISSING { -1 } else { i64::from(code) };
                let codes: Vec<i64> = categories.codes.iter().map(code).collect();
                columns
                    .set_item(&column.name, (categories.names.clone(), codes.into_pyarray(py)))?;
            }
        }
    }
    let rows = |rows: &[u32]| -> Vec<i64> { rows.iter().map(|&row| i64::from(row)).collect() };
    let train = [&split.train[..], &split.validation].concat();
    Ok((
        columns,
        set.target.column.clone(),
        rows(&train).into_pyarray(py),
        rows(&split.test).into_pyarray(py),
    ))
}

/// Images (count × channels × height × width), their labels, the names of the classes, and how many are for training: those come first.
type LabelledImages<'py> =
    (Bound<'py, PyArray4<u8>>, Bound<'py, PyArray1<i64>>, Vec<String>, usize);

/// The images of a set: from the package, or from files where `feasible data show` looks for them.
#[pyfunction]
pub(crate) fn load_images<'py>(py: Python<'py>, name: &str) -> PyResult<LabelledImages<'py>> {
    let set = ImageSet::named(name).map_err(refused)?;
    let (images, split) = py.detach(|| set.load(None)).map_err(refused)?;
    let pixels: Vec<u8> = (0..images.len()).flat_map(|row| images.pixels(row)).copied().collect();
    let shape = (images.len(), set.shape.channels, set.shape.height, set.shape.width);
    let pixels = Array4::from_shape_vec(shape, pixels).map_err(refused)?;
    let labels: Vec<i64> = images.labels().iter().map(|&label| i64::from(label)).collect();
    let classes = images.classes().to_vec();
    Ok((pixels.into_pyarray(py), labels.into_pyarray(py), classes, split.train.len()))
}
