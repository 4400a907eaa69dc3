"""The data sets that come with Feasible.

>>> X, y, X_test, y_test = load("adult")
>>> len(X), len(X_test), y.name, sorted(set(X["gender"]))
(32561, 16281, 'income', ['Female', 'Male'])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _feasible

__all__ = ["load"]


def load(name: str) -> tuple[Any, Any, Any, Any]:
    """Training and test rows of ``"adult"`` or ``"compas"``, as pandas frames and series."""
    import pandas as pd

    columns, target, train, test = _feasible.load_data(name)
    made: dict[str, Any] = {}
    for column, values in columns.items():
        if isinstance(values, np.ndarray):
            whole = bool(np.all(np.isfinite(values)) and np.all(values == np.rint(values)))
            made[column] = values.astype(np.int64) if whole else values
        else:
            names, codes = values
            made[column] = pd.Series(pd.Categorical.from_codes(codes, names))
    frame = pd.DataFrame(made)
    X, y = frame.drop(columns=target), frame[target].astype(str)
    return X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test]
