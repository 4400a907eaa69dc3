"""The same rows in every kind of frame are the same table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from feasible import FeasibleClassifier, FeasibleError, invariant

from .conftest import Rows

SEX = invariant("sex", swap=("F", "M"), at_most=1e-2)


class OnlyInterchange:
    """A frame that is read by `__dataframe__` alone."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.shape = frame.shape
        self.columns = list(frame.columns)

    def __dataframe__(self, *given: Any, **named: Any) -> Any:
        return pa.Table.from_pandas(self._frame, preserve_index=False).__dataframe__(*given, **named)

    def __len__(self) -> int:
        return len(self._frame)


def test_every_kind_of_frame_gives_the_same_bits(train: Rows) -> None:
    X, y = train
    made: dict[str, Any] = {
        "pandas": X,
        "pandas, another index": X.set_index(np.arange(len(X))[::-1]),
        "pandas, arrow types": X.convert_dtypes(dtype_backend="pyarrow"),
        "polars": pl.from_pandas(X),
        "pyarrow": pa.Table.from_pandas(X, preserve_index=False),
        "pyarrow in chunks": pa.concat_tables(
            [pa.Table.from_pandas(part, preserve_index=False) for part in (X[:700], X[700:])]
        ),
        "interchange": OnlyInterchange(X),
    }
    found = {}
    for name, frame in made.items():
        model = FeasibleClassifier([SEX], epochs=3).fit(frame, y.to_numpy())
        found[name] = model.predict_proba(frame).tobytes()
    assert {name for name, bits in found.items() if bits != found["pandas"]} == set()


def test_the_order_in_memory_of_an_array_does_not_matter(train: Rows) -> None:
    X, y = train
    array = X[["age", "score"]].to_numpy()
    found = [
        FeasibleClassifier(epochs=2).fit(values, y).predict_proba(values).tobytes()
        for values in (array, np.asfortranarray(array), np.repeat(array, 2, axis=0)[::2])
    ]
    assert found[0] == found[1] == found[2]
    small = array.astype(np.float32)
    FeasibleClassifier(epochs=2).fit(small, y).predict(small)


def test_arrays_of_objects_hold_numbers_and_text(train: Rows) -> None:
    X, y = train
    objects = X[["age", "sex"]].to_numpy(dtype=object)
    model = FeasibleClassifier([invariant("x1", swap=("F", "M"), at_most=0.01)], epochs=2).fit(objects, y)
    assert model.run_.inputs == ["x0", "x1"]


def test_dates_booleans_and_missing_cells_of_all_frames_agree(train: Rows) -> None:
    X, y = train
    rich = X.assign(
        joined=pd.date_range("2020-01-01", periods=len(X), freq="37h"),
        member=np.arange(len(X)) % 3 == 0,
        score=X["score"].where(np.arange(len(X)) % 11 > 0),
        sex=X["sex"].where(np.arange(len(X)) % 13 > 0),
    )
    parameters: dict[str, Any] = {"epochs": 2, "missing": "category"}
    found = [
        FeasibleClassifier(**parameters).fit(frame, y.to_numpy()).predict_proba(frame)
        for frame in (rich, pl.from_pandas(rich), pa.Table.from_pandas(rich, preserve_index=False))
    ]
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()


def test_a_column_of_lists_is_refused(train: Rows) -> None:
    X, y = train
    frame = pl.from_pandas(X).with_columns(pl.Series("tags", [["a"]] * len(X)))
    with pytest.raises(FeasibleError, match="column 'tags'"):
        FeasibleClassifier(epochs=1).fit(frame, y.to_numpy())
