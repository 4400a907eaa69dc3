//! Columns of anything that has `__arrow_c_stream__`: polars, pyarrow, DuckDB, pandas.
//!
//! As Parquet files are read: numbers and decimals are numbers; text, dictionaries and booleans are categories; dates
//! and timestamps become text that columns of dates are made of; null is missing.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, TimeUnit};
use feasible_data::{Column, MISSING, date_text, time_text};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use rayon::prelude::*;

use crate::categories::CategoryBuilder;
use crate::error::{FeasibleError, TABLE, refused};
use crate::table::numbers;

/// The columns of a frame, called as it calls them unless `names` are given.
pub(crate) fn columns(
    py: Python<'_>,
    names: Option<Vec<String>>,
    frame: &Bound<'_, PyAny>,
) -> PyResult<Vec<Column>> {
    let capsule = frame.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: a capsule of this name holds a stream by the Arrow PyCapsule interface; it is moved out, and what the
    // capsule's destructor finds is an empty one.
    #[allow(unsafe_code)]
    let reader = unsafe {
        RecordBatchStreamReader::from_raw(pointer.cast::<FFI_ArrowArrayStream>().as_ptr())
    };
    let reader = reader.map_err(refused)?;
    let own: Vec<String> = reader.schema().fields().iter().map(|f| f.name().clone()).collect();
    // A stream may call back into Python, which takes the interpreter's lock for itself.
    let batches: Result<Vec<RecordBatch>, _> = py.detach(|| reader.collect());
    let batches = batches.map_err(refused)?;
    let names = names.unwrap_or(own);
    if batches.first().is_some_and(|batch| batch.num_columns() != names.len()) {
        return Err(FeasibleError::new_err("the frame has another number of columns than names"));
    }
    let columns: Result<Vec<Column>, String> = py.detach(|| {
        let column = |(at, name): (usize, &String)| {
            let parts: Vec<&ArrayRef> = batches.iter().map(|batch| batch.column(at)).collect();
            of_arrays(name, &parts)
        };
        names.par_iter().enumerate().map(column).collect()
    });
    columns.map_err(FeasibleError::new_err)
}

fn of_arrays(name: &str, parts: &[&ArrayRef]) -> Result<Column, String> {
    let Some(first) = parts.first() else {
        return Err(format!("{TABLE} has no rows"));
    };
    macro_rules! number {
        ($type:ty, $number:expr) => {{
            let cells = parts.iter().flat_map(|part| part.as_primitive::<$type>().iter());
            numbers(name, cells.map(|cell| cell.map_or(f64::NAN, $number)))
                .map_err(|e| e.to_string())
        }};
        ($type:ty) => {{
            // Without nulls a column is a slice.
            if parts.iter().all(|part| part.null_count() == 0) {
                let cells =
                    parts.iter().flat_map(|part| part.as_primitive::<$type>().values().iter());
                numbers(name, cells.map(|&x| x as f64)).map_err(|e| e.to_string())
            } else {
                number!($type, |x| x as f64)
            }
        }};
    }
    macro_rules! dates {
        ($type:ty, $text:expr) => {
            categories(name, parts, |part, at| {
                let cell = part.as_primitive::<$type>().value(at);
                $text(cell).map(Some).ok_or_else(|| {
                    format!("{TABLE}, column '{name}': a date beyond the years 1 to 9999")
                })
            })
        };
    }
    match first.data_type() {
        DataType::Float64 => number!(Float64Type),
        DataType::Float32 => number!(Float32Type),
        DataType::Float16 => number!(Float16Type, |x| f64::from(x.to_f32())),
        DataType::Int64 => number!(Int64Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int8 => number!(Int8Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::Decimal128(_, scale) => {
            let scale = 10f64.powi(i32::from(*scale));
            number!(Decimal128Type, |x| x as f64 / scale)
        }
        DataType::Null => {
            let rows = parts.iter().map(|part| part.len()).sum();
            numbers(name, std::iter::repeat_n(f64::NAN, rows)).map_err(|e| e.to_string())
        }
        DataType::Boolean => categories(name, parts, |part, at| {
            Ok(Some(if part.as_boolean().value(at) { "true" } else { "false" }))
        }),
        DataType::Date32 => dates!(Date32Type, |days: i32| date_text(days.into())),
        DataType::Date64 => dates!(Date64Type, |ms: i64| date_text(ms.div_euclid(86_400_000))),
        DataType::Timestamp(unit, _) => match unit {
            TimeUnit::Second => dates!(TimestampSecondType, |x| time_text(x, 1)),
            TimeUnit::Millisecond => dates!(TimestampMillisecondType, |x| time_text(x, 1_000)),
            TimeUnit::Microsecond => dates!(TimestampMicrosecondType, |x| time_text(x, 1_000_000)),
            TimeUnit::Nanosecond => {
                dates!(TimestampNanosecondType, |x| time_text(x, 1_000_000_000))
            }
        },
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let mut builder = CategoryBuilder::default();
            parts.iter().for_each(|part| texts(part, |text| builder.push(text)));
            Ok(builder.finish(name))
        }
        DataType::Dictionary(_, values) if is_text(values) => Ok(dictionary(name, parts)),
        other => Err(format!(
            "{TABLE}, column '{name}': {other} is neither a number nor text: convert the column, or leave it out"
        )),
    }
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Every cell of a column of text.
fn texts<'a>(part: &'a ArrayRef, each: impl FnMut(Option<&'a str>)) {
    match part.data_type() {
        DataType::Utf8 => part.as_string::<i32>().iter().for_each(each),
        DataType::LargeUtf8 => part.as_string::<i64>().iter().for_each(each),
        _ => part.as_string_view().iter().for_each(each),
    }
}

fn categories<'a, T: AsRef<str>>(
    name: &str,
    parts: &[&'a ArrayRef],
    text: impl Fn(&'a ArrayRef, usize) -> Result<Option<T>, String>,
) -> Result<Column, String> {
    let mut builder = CategoryBuilder::default();
    for part in parts {
        for at in 0..part.len() {
            let cell = if part.is_null(at) { None } else { text(part, at)? };
            builder.push(cell.as_ref().map(T::as_ref));
        }
    }
    Ok(builder.finish(name))
}

/// Each part has its own dictionary.
fn dictionary(name: &str, parts: &[&ArrayRef]) -> Column {
    let mut builder = CategoryBuilder::default();
    for part in parts {
        let part = part.as_any_dictionary();
        let mut codes = Vec::with_capacity(part.values().len());
        texts(part.values(), |text| codes.push(text.map_or(MISSING, |text| builder.code(text))));
        let keys = part.normalized_keys();
        for (at, key) in keys.into_iter().enumerate() {
            let code = if part.is_null(at) { None } else { codes.get(key) };
            builder.push_code(code.copied().unwrap_or(MISSING));
        }
    }
    builder.finish(name)
}
