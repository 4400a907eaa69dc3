"""Certificates for any predictor: what it predicts is enough.

>>> import numpy as np
>>> import feasible
>>> rng = np.random.default_rng(0)
>>> sex = rng.choice(["f", "m"], size=2000)
>>> y = rng.integers(0, 2, size=2000)
>>> predictions = np.where(rng.random(2000) < 0.95, y, 1 - y)       # of a model of your own
>>> judged = feasible.certify(predictions, y, [feasible.rate("recall", groups="sex", at_least=0.9)], {"sex": sex})
>>> judged.certificate.certified
True
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from . import _feasible
from ._feasible import FeasibleError, Table
from ._frames import (
    add_array, add_column, add_frame, check_labels, check_numbers, check_readable, column_names, is_frame, is_pandas,
)  # fmt: skip
from .requirements import Requirement, as_dicts, label
from .results import Certificate, Judgement, certify_settings

__all__ = ["audit", "certify"]


def certify(
    predictions: Any,
    y: Any,
    requirements: Iterable[Requirement | Mapping[str, Any]],
    data: Any = None,
    *,
    under: Mapping[str, Any] | None = None,
    classes: Iterable[Any] | None = None,
    positive: Any = None,
    confidence: float = 0.95,
    unit: str | None = None,
    all_but: float | None = None,
    shift: float | None = None,
    base_rate: float | tuple[float, float] | None = None,
    title: str = "Predictions",
) -> Judgement:
    """What rows that a predictor has not seen prove about requirements on it.

    ``predictions`` are classes, probabilities (one column for each of ``classes``, the sorted labels by default; one
    number a row is that of ``positive``), or numbers. ``positive`` is the class that rates are about, of two: 1, True or
    yes beside 0 (or -1), False or no, and any other must be given. ``data`` has the columns that requirements speak of. ``under``
    has, for each requirement under a counterfactual by name, the predictions for the rows as it changes them;
    :func:`audit` computes them. ``shift`` and ``base_rate`` are as in ``FeasibleClassifier.certify``. ``title`` is that of
    the page, ``report``.
    """
    check_readable("predictions", predictions)
    check_readable("y", y)
    y = np.asarray(y)
    check_labels("y", y)
    if y.dtype.kind == "f":
        check_numbers("y", y)
    of_classes = classes is not None or type_of_target(y) in ("binary", "multiclass")
    known = np.asarray(list(classes)) if classes is not None else np.unique(y) if of_classes else None
    about = _positive(known, positive)
    wanted = as_dicts(requirements)
    problem = _problem(wanted, known, about)
    settings = certify_settings(
        confidence=float(confidence), unit=unit, all_but=all_but, shift=shift, base_rate=base_rate
    )
    outputs = _outputs("predictions", predictions, y, known, about)
    names = {change: _table_names(problem, change, data, y, known) for change in under or {}}
    changed = [
        (name, _outputs(f"under[{of!r}]", (under or {})[of], y, known, about))
        for of, found in names.items()
        for name in found
    ]
    table = _table(data, y, known)
    content, text, certified, page = _feasible.judge(json.dumps(problem), settings, title, table, outputs, changed)
    judged = json.loads(content)
    certificate = None if text is None else Certificate(judged["certificate"], text, certified)
    return Judgement(judged, certificate, page)


def audit(
    predict: Callable[[Any], Any],
    X: Any,
    y: Any,
    requirements: Iterable[Requirement | Mapping[str, Any]],
    *,
    data: Any = None,
    **options: Any,
) -> Judgement:
    """As :func:`certify`, of a function that predicts; counterfactuals of ``X``, a pandas frame, are made for it.

    ``data`` has further columns that requirements speak of; ``options`` are those of :func:`certify`.
    """
    wanted = as_dicts(requirements)
    under: dict[str, Any] = {}
    for one in wanted:
        if "counterfactual" in one:
            under[one["name"]] = predict(_changed(X, one))
    table = _joined(X, data)
    return certify(predict(X), y, wanted, table, under=under, **options)


def _positive(known: np.ndarray | None, given: Any) -> str | None:
    """The class that rates are about, of two, if it is given or its name implies it."""
    if known is None or len(known) != 2:
        return None
    labels = [label(one) for one in known]
    if given is not None:
        if label(given) not in labels:
            raise FeasibleError(f"positive: there is no class {label(given)!r}: {', '.join(map(repr, labels))}")
        return label(given)
    implied: dict[tuple[str, ...], str] = {("0", "1"): "1", ("-1", "1"): "1", ("false", "true"): "true", ("no", "yes"): "yes"}
    sides = {one.lower(): one for one in labels}
    found = implied.get(tuple(sorted(sides)))
    return None if found is None else sides[found]


def _in_order(known: np.ndarray, positive: str | None) -> np.ndarray:
    """The places of the classes in the core's order: the positive one last, or sorted, as numbers if all are numbers."""
    labels = [label(one) for one in known]
    if positive is not None:
        return np.argsort([one == positive for one in labels], kind="stable")
    try:
        return np.argsort([float(one) for one in labels], kind="stable")
    except ValueError:
        return np.argsort(np.array(labels), kind="stable")


def _problem(wanted: list[dict[str, Any]], known: np.ndarray | None, positive: str | None) -> dict[str, Any]:
    data: dict[str, Any] = {
        "target": "y",
        "task": "regress" if known is None else "classify",
        "split": {"test": 0.0, "validation": 0.0},
        "missing": "category",
    }
    if positive is not None:
        data["positive"] = positive
    return {"data": data, "model": {"kind": "linear"}, "requirement": wanted}


def _table(data: Any, y: np.ndarray, known: np.ndarray | None) -> Table:
    table, rows = Table(), len(y)
    # A problem has inputs, and requirements may speak of none.
    table.add_numbers(["(odd row)"], [np.arange(rows, dtype=np.float64) % 2])
    if data is None:
        pass
    elif isinstance(data, Mapping):
        for name, values in data.items():
            add_column(table, str(name), values, rows, f"data['{name}']")
    elif is_frame(data):
        if len(data) != rows:
            raise FeasibleError(f"data: {len(data)} rows, but y has {rows}")
        add_frame(table, data.to_frame() if is_pandas(data) and data.ndim == 1 else data)
    else:
        array = np.asarray(data)
        array = array[:, None] if array.ndim == 1 else array
        if len(array) != rows:
            raise FeasibleError(f"data: {len(array)} rows, but y has {rows}")
        add_array(table, array, [f"x{at}" for at in range(array.shape[1])])
    if "y" in table.names:
        raise FeasibleError("data: the column 'y' is what is predicted: give it another name")
    if known is None:
        table.add_numbers(["y"], [np.asarray(y, dtype=np.float64)])
    else:
        table.add_codes("y", [label(one) for one in known], _places("y", y, known))
    return table


def _places(what: str, labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Of each label its place among the classes; each is looked up once."""
    places = {label(one): at for at, one in enumerate(known)}
    found, inverse = np.unique(labels, return_inverse=True)
    strange = [one for one in found if label(one) not in places]
    if strange:
        row = int(np.flatnonzero(labels == strange[0])[0])
        raise FeasibleError(f"{what}, row {row}: {label(strange[0])!r} is not among the classes")
    of_label = np.array([places[label(one)] for one in found], dtype=np.int64)
    return of_label[inverse]


def _outputs(what: str, predictions: Any, y: np.ndarray, known: np.ndarray | None, positive: str | None) -> np.ndarray:
    """Log-probabilities of the classes in the core's order, or numbers."""
    found = np.asarray(predictions)
    if len(found) != len(y):
        raise FeasibleError(f"{what}: {len(found)} rows, but y has {len(y)}")
    if known is None:
        numbers = np.asarray(found.reshape(len(y), -1)[:, 0], dtype=np.float64)
        check_numbers(what, numbers)
        return np.ascontiguousarray(numbers[:, None], dtype=np.float32)
    if found.ndim == 2 and found.shape[1] > 1:
        if found.shape[1] != len(known):
            raise FeasibleError(f"{what}: {found.shape[1]} columns, but there are {len(known)} classes")
        chances = found.astype(np.float64)
    elif found.dtype.kind == "f" and not np.isin(found, known).all():
        one = found.reshape(-1).astype(np.float64)
        if len(known) != 2:
            raise FeasibleError(f"{what}: one probability a row is for two classes: give a column for each")
        if positive is None:
            names = " or ".join(repr(label(of)) for of in known)
            raise FeasibleError(f"{what}: one probability a row is that of the positive class: give positive, {names}")
        chances = np.column_stack([one if label(of) == positive else 1 - one for of in known])
    else:
        check_labels(what, found)
        chances = np.zeros((len(y), len(known)))
        chances[np.arange(len(y)), _places(what, found.reshape(-1), known)] = 1
    wrong = np.flatnonzero(~((chances >= 0) & (chances <= 1)).all(axis=1))
    if len(wrong):
        raise FeasibleError(f"{what}, row {wrong[0]}: {chances[wrong[0]].tolist()} are not probabilities")
    # Single precision, of a thousand classes.
    wrong = np.flatnonzero(np.abs(chances.sum(axis=1) - 1) > 1e-4)
    if len(wrong):
        row = chances[wrong[0]]
        raise FeasibleError(f"{what}, row {wrong[0]}: {row.tolist()} add up to {row.sum():g}, and probabilities of all classes to 1")
    ordered = chances[:, _in_order(known, positive)]
    return np.ascontiguousarray(np.log(np.maximum(ordered, 1e-12)), dtype=np.float32)


def _table_names(problem: dict[str, Any], of: str, data: Any, y: np.ndarray, known: np.ndarray | None) -> list[str]:
    """What the core calls the counterfactual of a requirement."""
    one = [wanted for wanted in problem["requirement"] if wanted["name"] == of]
    if not one:
        raise FeasibleError(f"under: there is no requirement {of!r}")
    return _feasible.changes(json.dumps({**problem, "requirement": one}), _table(data, y, known))


def _changed(X: Any, requirement: dict[str, Any]) -> Any:
    changes = requirement["counterfactual"]
    change = changes[0] if isinstance(changes, list) and len(changes) == 1 else changes
    name = requirement["name"]
    if not isinstance(change, Mapping) or {"pairs", "crosses"} & set(change):
        raise FeasibleError(f"requirement {name!r}: write each exchange as one of its own, invariant(column, swap=(a, b))")
    if not is_pandas(X):
        raise FeasibleError(f"requirement {name!r}: a counterfactual of X needs a pandas frame, not {type(X).__name__}")
    other = X.copy()
    for column, (a, b) in change.get("swap", {}).items():
        if column not in other.columns:
            raise FeasibleError(f"requirement {name!r}: X has no column {column!r}: it has {', '.join(map(str, other.columns))}")
        of = X[column]
        is_a, is_b = of.map(label) == label(a), of.map(label) == label(b)
        first, second = of[is_a], of[is_b]
        if first.empty or second.empty:
            lacking = a if first.empty else b
            raise FeasibleError(f"requirement {name!r}: no row of X has {column} = {lacking!r}")
        other.loc[is_a, column] = second.iloc[0]
        other.loc[is_b, column] = first.iloc[0]
    for column, value in change.get("set", {}).items():
        other[column] = value
    return other


def _joined(X: Any, data: Any) -> Any:
    if data is None:
        return X if is_frame(X) else np.asarray(X)
    names = column_names(X) if is_frame(X) else [f"x{at}" for at in range(np.asarray(X).shape[1])]
    if is_pandas(X):
        columns = {name: X.iloc[:, at] for at, name in enumerate(names)}
    elif is_frame(X):
        columns = {name: np.asarray(X[name]) for name in names}
    else:
        columns = {name: np.asarray(X)[:, at] for at, name in enumerate(names)}
    more = data if isinstance(data, Mapping) else {name: data[name] for name in column_names(data)}
    return {**columns, **{str(name): values for name, values in more.items()}}
