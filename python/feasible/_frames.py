"""Arrays and frames of any kind as the core's table, in the order of their columns."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from ._feasible import FeasibleError, Table
from .requirements import label


def is_frame(X: Any) -> bool:
    """Whether X has named columns of their own kinds."""
    if isinstance(X, np.ndarray):
        return False
    return is_pandas(X) or hasattr(X, "__arrow_c_stream__") or hasattr(X, "__dataframe__")


def is_pandas(X: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, (pandas.DataFrame, pandas.Series))


def check_readable(what: str, values: Any) -> None:
    """Refuses a tensor that numpy cannot read, with what to do."""
    device = getattr(getattr(values, "device", None), "type", "cpu")
    if device != "cpu":
        raise FeasibleError(f"{what} is a tensor on {values.device}: give {what}.cpu()")
    if getattr(values, "requires_grad", False):
        raise FeasibleError(f"{what} is a tensor that is differentiated: give {what}.detach()")


def check_labels(what: str, labels: np.ndarray) -> None:
    """Refuses a label that is missing, with its row."""
    if labels.dtype.kind == "f":
        missing = np.isnan(labels)
    elif labels.dtype.kind == "O":
        missing = np.array([_is_missing(one) for one in labels.reshape(-1)], dtype=bool)
    else:
        return
    if missing.any():
        raise FeasibleError(f"{what}, row {int(np.argmax(missing))}: the label is missing: leave the row out")


def _is_missing(cell: Any) -> bool:
    # pandas has two objects for what is missing.
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and math.isnan(cell))


def check_numbers(what: str, values: np.ndarray) -> None:
    """Refuses a number that is none, with its row."""
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise FeasibleError(f"{what}, row {wrong[0]}: the value is {values[wrong[0]]} (NaN or inf): leave the row out")


def column_names(X: Any) -> list[str]:
    """The names of a frame's columns, as text."""
    if hasattr(X, "columns") and not callable(X.columns) and not hasattr(X, "column_names"):
        return [str(name) for name in X.columns]
    if hasattr(X, "column_names"):  # pyarrow, and the interchange protocol
        names = X.column_names
        return [str(name) for name in (names() if callable(names) else names)]
    return [str(name) for name in X.__dataframe__().column_names()]


def add_frame(table: Table, X: Any) -> None:
    """Adds the columns of a frame."""
    if is_pandas(X):
        _add_pandas(table, X)
    elif hasattr(X, "__arrow_c_stream__"):
        table.add_arrow(column_names(X), X)
    else:
        _add_interchange(table, X)


def add_array(table: Table, X: np.ndarray, names: list[str]) -> None:
    """Adds the columns of a two-dimensional array."""
    if X.dtype.kind in "OUS":
        for at, name in enumerate(names):
            table.add_objects(name, X[:, at].tolist())
    else:
        table.add_matrix(names, X if X.dtype in (np.float64, np.float32) else X.astype(np.float64))


def add_column(table: Table, name: str, values: Any, rows: int, what: str) -> None:
    """Adds one column: an array, a list or a series."""
    if is_pandas(values):
        values = values.to_frame(name) if values.ndim == 1 else values
        length = len(values)
    elif isinstance(values, np.ndarray) or not hasattr(values, "__arrow_c_stream__"):
        values = np.asarray(values) if not isinstance(values, list) else np.array(values, dtype=None)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise FeasibleError(f"{what}: {values.ndim} dimensions, where one value for each row is needed")
        length = len(values)
    else:
        length = len(values)
    if length != rows:
        raise FeasibleError(f"{what}: {length} values, but X has {rows} rows")
    if is_pandas(values):
        _add_pandas(table, values)
    elif isinstance(values, np.ndarray):
        _add_values(table, name, values)
    else:  # polars.Series and the like: by their own values
        _add_values(table, name, np.asarray(values))


def _add_values(table: Table, name: str, values: np.ndarray) -> None:
    if values.dtype.kind == "b":
        table.add_codes(name, ["false", "true"], values.astype(np.int64))
    elif values.dtype.kind in "fiu":
        table.add_numbers([name], [values if values.dtype != np.float16 else values.astype(np.float32)])
    elif values.dtype.kind == "M":
        table.add_times(name, values.astype("datetime64[us]").astype(np.int64), 1_000_000)
    else:
        table.add_objects(name, values.tolist())


def _add_pandas(table: Table, X: Any) -> None:
    import pandas as pd

    names: list[str] = []
    numbers: list[np.ndarray] = []

    def flush() -> None:
        # Runs of numbers go together, and are converted on all cores.
        if names:
            table.add_numbers(names.copy(), numbers.copy())
        names.clear()
        numbers.clear()

    for at, name in enumerate(column_names(X)):
        series = X.iloc[:, at]
        dtype = series.dtype
        if isinstance(dtype, np.dtype) and dtype.kind in "fiu":
            values = series.to_numpy()
            names.append(name)
            numbers.append(values.astype(np.float64) if dtype == np.float16 else values)
            continue
        flush()
        if isinstance(dtype, pd.CategoricalDtype):
            categories = [label(category) for category in dtype.categories]
            table.add_codes(name, categories, series.cat.codes.to_numpy().astype(np.int64))
        elif pd.api.types.is_bool_dtype(dtype):
            missing = series.isna().to_numpy()
            codes = np.where(missing, -1, series.fillna(False).to_numpy(dtype=bool).astype(np.int64))
            table.add_codes(name, ["false", "true"], codes)
        elif pd.api.types.is_numeric_dtype(dtype) and dtype.kind in "fiu":
            table.add_numbers([name], [series.to_numpy(dtype=np.float64, na_value=np.nan)])
        elif pd.api.types.is_datetime64_any_dtype(dtype):
            if getattr(dtype, "tz", None) is not None:
                series = series.dt.tz_convert("UTC").dt.tz_localize(None)
            table.add_times(name, series.to_numpy("datetime64[us]").astype(np.int64), 1_000_000)
        else:
            table.add_objects(name, series.to_numpy(dtype=object).tolist())
    flush()


def _add_interchange(table: Table, X: Any) -> None:
    if "pyarrow" in sys.modules or _importable("pyarrow"):
        from pyarrow.interchange import from_dataframe

        frame = from_dataframe(X)
        table.add_arrow(column_names(frame), frame)
        return
    if _importable("pandas"):
        from pandas.api.interchange import from_dataframe as to_pandas

        _add_pandas(table, to_pandas(X))
        return
    kind = type(X).__name__
    raise FeasibleError(f"X: reading {kind} by __dataframe__ needs pyarrow or pandas: install one of them")


def _importable(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None
