"""The data sets that come with Feasible.

>>> X, y, X_test, y_test = load("adult")
>>> len(X), len(X_test), y.name, sorted(set(X["gender"]))
(32561, 16281, 'income', ['Female', 'Male'])
>>> x, y, x_test, y_test, classes = load_images("fashion-mnist-sample")
>>> x.shape, x.dtype, x_test.shape, classes[y[0]]
((6000, 1, 28, 28), dtype('uint8'), (1000, 1, 28, 28), 'Coat')
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _feasible

__all__ = ["load", "load_images"]


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


def load_images(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Training images and labels, test images and labels, and the names of the classes.

    Images are bytes of shape (count, channels, height, width). ``"fashion-mnist-sample"`` is inside the package; ``"fashion-mnist"``,
    ``"mnist"`` and ``"cifar-10"`` are read from files, and the error says where they are looked for.
    """
    images, labels, classes, train = _feasible.load_images(name)
    return images[:train], labels[:train], images[train:], labels[train:], classes
