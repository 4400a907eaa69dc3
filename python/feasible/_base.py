"""What the estimators share: X and y as a table, the problem of the parameters, the run that comes of it."""

from __future__ import annotations

import copy
import json
import numbers
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _feasible
from ._feasible import FeasibleError, Run, Table
from ._frames import add_array, add_column, add_frame, check_readable, column_names, is_frame, is_pandas
from .progress import observer
from .requirements import Requirement, as_dicts
from .results import (
    Certificate, Judgement, Report, RequirementsTable, certify_settings, requirements_table,
)  # fmt: skip

Self = TypeVar("Self", bound="FeasibleEstimator")
#: Keys of ``[data]`` that say where the rows are, which is X here.
_PLACES = (
    "source", "directory", "folder", "per_class", "augment", "file", "train", "validation", "test", "format",
    "limits", "split_by",
)  # fmt: skip


class FeasibleEstimator(BaseEstimator):  # type: ignore[misc]
    _task: str

    def __init__(
        self,
        requirements: Iterable[Requirement | Mapping[str, Any]] | None = None,
        *,
        model: str = "auto",
        hidden: Sequence[int] | None = None,
        objective: str | None = None,
        weight_decay: float | None = None,
        learner: str | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        rate: float | None = None,
        seconds: float | None = None,
        validation: float | None = None,
        certificate: float | None = None,
        missing: str = "reject",
        unseen: str = "error",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callable[[dict[str, Any], int], object] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.requirements = requirements
        self.model = model
        self.hidden = hidden
        self.objective = objective
        self.weight_decay = weight_decay
        self.learner = learner
        self.epochs = epochs
        self.batch_size = batch_size
        self.rate = rate
        self.seconds = seconds
        self.validation = validation
        self.certificate = certificate
        self.missing = missing
        self.unseen = unseen
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback
        self.settings = settings

    @classmethod
    def from_toml(cls: type[Self], problem: str | os.PathLike[str], **parameters: Any) -> Self:
        """An estimator with the requirements and settings of a problem file, for rows that are given to ``fit``.

        What the file says about where its rows are, and which column is predicted, is left to ``fit``; ``parameters``
        are those of the constructor.
        """
        found = json.loads(_feasible.read_problem(os.fspath(problem)))
        data = found.get("data", {})
        for key in (*_PLACES, "target", "task"):
            data.pop(key, None)
        requirements = [Requirement(**one) for one in found.pop("requirement", [])]
        positive = data.pop("positive", None)
        if positive is not None and "positive" in cls._get_param_names():
            parameters.setdefault("positive", positive)
        data.pop("split", None)
        kind = found.get("model", {}).pop("kind", None)
        if kind is not None:
            parameters.setdefault("model", kind)
        seed = found.get("training", {}).pop("seed", None)
        if seed is not None:
            parameters.setdefault("random_state", seed)
        parameters.setdefault("requirements", requirements)
        return cls(settings={key: value for key, value in found.items() if value}, **parameters)

    def _problem(self, target: str, apart: list[str], weight: str | None) -> dict[str, Any]:
        """The problem file of this estimator."""
        problem: dict[str, Any] = copy.deepcopy(dict(self.settings or {}))
        for place in _PLACES:
            if place in problem.get("data", {}):
                raise FeasibleError(f"settings['data']['{place}']: the rows are those that fit is given. Remove it")
        data = problem.setdefault("data", {})
        data.update(target=target, task=self._task)
        split = data.setdefault("split", {})
        split.setdefault("test", 0.0)
        if self.validation is not None:
            split["validation"] = float(self.validation)
        if apart:
            data["drop"] = [*data.get("drop", []), *apart]
        if weight is not None:
            data["weight"] = weight
        if self.missing != "reject":
            data["missing"] = self.missing
        if self.unseen != "error":
            data["unseen"] = self.unseen
        if self.certificate is not None:
            problem["certify"] = self.certificate
        model = problem.setdefault("model", {})
        model.setdefault("kind", self.model)
        given = {"hidden": None if self.hidden is None else [int(width) for width in self.hidden]}
        model.update({key: value for key, value in given.items() if value is not None})
        wanted = {"loss": self.objective, "weight_decay": self.weight_decay}
        aims = problem.setdefault("objective", {})
        aims.update({key: value for key, value in wanted.items() if value is not None})
        trained = {
            "learner": self.learner,
            "epochs": self.epochs,
            "batch_size": self.batch_size,
            "rate": self.rate,
            "seconds": self.seconds,
            "seed": self._seed(),
            "threads": None if self.n_jobs is None else self._threads(),
        }
        training = problem.setdefault("training", {})
        training.update({key: _number(value) for key, value in trained.items() if value is not None})
        requirements = as_dicts(self.requirements)
        if requirements:
            problem["requirement"] = requirements
        return problem

    def _seed(self) -> int | None:
        if self.random_state is None:
            return None
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _threads(self) -> int:
        cores = os.cpu_count() or 1
        if self.n_jobs is None:
            return cores
        return self.n_jobs if self.n_jobs > 0 else max(1, cores + 1 + self.n_jobs)

    def _inputs(self, X: Any, *, reset: bool) -> tuple[Table, int, list[str], Any]:
        """The table of X, its rows, its columns, and X as it was checked."""
        check_readable("X", X)
        table = Table()
        if is_frame(X):
            if not reset and getattr(self, "_loaded", False):
                self._has_columns(column_names(X))
            else:
                validate_data(self, X, skip_check_array=True, reset=reset)
            names = column_names(X)
            rows = len(X) if hasattr(X, "__len__") else int(X.shape[0])
            if rows == 0:
                raise FeasibleError(f"Found array with 0 sample(s) (shape=(0, {len(names)})): X has no rows")
            add_frame(table, X)
            return table, rows, names, X
        given = X if hasattr(X, "dtype") or hasattr(X, "__array__") else np.asarray(X) if _is_plain(X) else X
        text = getattr(getattr(given, "dtype", None), "kind", "") in ("O", "U", "S")
        # What is not finite is found by the core, which says where.
        dtype = None if text else [np.float64, np.float32]
        X = validate_data(self, X, reset=reset, dtype=dtype, ensure_all_finite=False)
        names = self._names()
        add_array(table, X, names)
        return table, X.shape[0], names, X

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{at}" for at in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def _has_columns(self, names: list[str]) -> None:
        lacking = [name for name in self._names() if name not in names]
        if lacking:
            raise FeasibleError(f"X lacks the column{'s' if len(lacking) > 1 else ''} {', '.join(map(repr, lacking))}")

    def _beside(self, table: Table, X: Any, names: list[str], rows: int, sensitive: Any) -> list[str]:
        """Adds columns that requirements speak of and that are no inputs; gives their names."""
        if sensitive is None:
            return []
        if isinstance(sensitive, Mapping):
            columns = {str(name): values for name, values in sensitive.items()}
        elif is_pandas(sensitive):
            if sensitive.ndim == 1:
                columns = {str(sensitive.name or "sensitive_feature_0"): sensitive}
            else:
                columns = {str(name): sensitive[name] for name in sensitive.columns}
        elif is_frame(sensitive) and hasattr(sensitive, "columns"):
            columns = {name: np.asarray(sensitive[name]) for name in column_names(sensitive)}
        elif getattr(sensitive, "name", None) and hasattr(sensitive, "__len__"):
            columns = {str(sensitive.name): np.asarray(sensitive)}
        else:
            array = np.asarray(sensitive)
            array = array[:, None] if array.ndim == 1 else array
            columns = {f"sensitive_feature_{at}": array[:, at] for at in range(array.shape[1])}
        # A column that X has is the same one, and an input as it was.
        for name in columns.keys() & set(names):
            if is_pandas(X) and name in X and not _same(X[name], columns[name]):
                raise FeasibleError(f"sensitive_features['{name}'] differs from the column '{name}' of X: rename it")
        apart = {name: values for name, values in columns.items() if name not in names}
        for name, values in apart.items():
            add_column(table, name, values, rows, f"sensitive_features['{name}']")
        return list(apart)

    def _fit(self, X: Any, y: Any, sample_weight: Any, sensitive_features: Any) -> None:
        check_readable("X", X)
        check_readable("y", y)
        index = X.index if is_pandas(X) else None
        kept, weights, given = None, None, None
        if sample_weight is not None:
            weights = np.asarray(sample_weight, dtype=np.float64)
            if weights.ndim == 0:
                weights = np.full(_rows(X), float(weights))
            if weights.ndim != 1:
                raise FeasibleError("sample_weight: Sample weights must be 1D array or scalar")
            if len(weights) != _rows(X):
                raise FeasibleError(f"sample_weight: {len(weights)} values, but X has {_rows(X)} rows")
            given = len(weights)
            if not weights.any():
                raise FeasibleError("sample_weight: every weight is zero, and no rows are left to train on")
            if (weights == 0).any():
                # A row that weighs nothing is not there.
                kept = np.flatnonzero(weights)
                weights = weights[kept]
                X, y = _take(X, kept), _take(y, kept)
                sensitive_features = _take_all(sensitive_features, kept)
        target = getattr(y, "name", None)
        table, rows, names, _ = self._inputs(X, reset=True)
        if rows == 1:
            raise FeasibleError("X has one sample (n_samples=1), and nothing can be learned from it: give more rows")
        target = target if isinstance(target, str) and target not in names else _free("target", names)
        self._add_target(table, target, y, rows, fitted=False)
        apart = self._beside(table, X, [*names, target], rows, sensitive_features)
        weight = None
        if weights is not None:
            weight = _free("sample_weight", [*names, *apart, target])
            table.add_numbers([weight], [weights])
        problem = self._problem(target, apart, weight)
        self._adapt(problem)
        told = observer(self.verbose, self.callback)
        run, interrupted = _feasible.fit(type(self).__name__, json.dumps(problem), table, told)
        if interrupted:
            done = json.loads(run.summary())["epochs"]
            message = f"interrupted after {done} epochs: this is the best model so far"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        self._loaded = False
        self._adopt(run)
        self._rows_of_run = kept
        self._n_rows = rows if given is None else given
        self._index = index

    def _adapt(self, problem: dict[str, Any]) -> None:
        """What only one kind of estimator has."""

    def _add_target(self, table: Table, target: str, y: Any, rows: int, *, fitted: bool) -> None:
        raise NotImplementedError

    def _adopt(self, run: Run) -> None:
        """Takes what a run says of itself."""
        self.run_ = run
        self.summary_: dict[str, Any] = json.loads(run.summary())
        self.n_iter_: int = max(1, self.summary_["epochs"])
        self.requirements_: RequirementsTable = requirements_table(
            self.summary_["train"], self.summary_.get("validation")
        )
        self.advice_: list[str] = self.summary_.get("advice", [])
        self.notes_: list[str] = self.summary_.get("notes", [])
        certificate = self.summary_.get("certificate")
        self.certificate_: dict[str, Any] | None = certificate

    @property
    def multipliers_(self) -> Any:
        """λ of every row, a column for each requirement on rows; NaN for rows that it does not speak of.

        Rows that were taken for validation have none. A pandas frame with X's index if X was one, otherwise a
        dictionary of arrays. Multipliers of averages are in ``requirements_``.
        """
        check_is_fitted(self, "run_")
        columns: dict[str, np.ndarray] = {}
        size = getattr(self, "_n_rows", None)
        for name, pointwise, rows, multipliers, _ in self.run_.multipliers():
            if not pointwise:
                continue
            length = size if size is not None else int(rows.max()) + 1
            column = columns.setdefault(name, np.full(length, np.nan))
            kept = getattr(self, "_rows_of_run", None)
            column[rows if kept is None else kept[rows]] = multipliers
        index = getattr(self, "_index", None)
        if index is None:
            return columns
        import pandas as pd

        return pd.DataFrame(columns, index=index)

    @property
    def report_(self) -> Report:
        """The run on one page."""
        check_is_fitted(self, "run_")
        page, card = self.run_.report()
        return Report(page, card, self.run_.text())

    def certify(
        self,
        X: Any,
        y: Any,
        *,
        confidence: float | None = None,
        sensitive_features: Any = None,
        unit: str | None = None,
        all_but: float | None = None,
        method: str | None = None,
        shift: float | None = None,
        base_rate: float | tuple[float, float] | None = None,
    ) -> Certificate:
        """What rows that were not trained on prove about each requirement on the population they are drawn from.

        ``confidence`` is of all requirements together, 0.95 by default; rows that are equal in the column ``unit``
        count as one; a requirement for every row is certified for all but a share ``all_but`` (0.01) of the
        population; ``method`` is the bound of averages of losses. With ``shift=1.5`` it is certified for every population
        in which no kind of row is more than 1.5 times as common; with ``base_rate=(0.05, 0.2)`` selection, precision, error
        and accuracy are certified for these shares of the positive class. Rows that were trained on are known again and
        refused.
        """
        table = self._judged(X, y, sensitive_features, weighed=False)
        settings = certify_settings(
            confidence=confidence, unit=unit, all_but=all_but, method=method, shift=shift, base_rate=base_rate
        )
        content, text, certified = self.run_.certify(table, settings)
        return Certificate(json.loads(content), text, certified)

    def audit(self, X: Any, y: Any, *, sensitive_features: Any = None) -> Judgement:
        """How the model does on any rows: requirements, flip rates, accuracy. Nothing is certified."""
        content, text = self.run_.audit(self._judged(X, y, sensitive_features, weighed=True))
        said = "an audit is of these rows: `certify` speaks of the population"
        return Judgement({"evaluation": json.loads(content), "no_certificate": said}, None)

    def _judged(self, X: Any, y: Any, sensitive_features: Any, *, weighed: bool) -> Table:
        check_is_fitted(self, "run_")
        table, rows, names, _ = self._inputs(X, reset=False)
        target = self.run_.target
        self._add_target(table, target, y, rows, fitted=True)
        apart = self._beside(table, X, [*names, target], rows, sensitive_features)
        weight = self.run_.weight if weighed else None
        if weight is not None and weight not in [*names, *apart]:
            table.add_numbers([weight], [np.ones(rows)])
        lacking = [name for name in self.run_.spoken_of if name not in table.names]
        if lacking:
            said = ", ".join(map(repr, lacking))
            raise FeasibleError(f"requirements speak of {said}: give sensitive_features with the same columns as to fit")
        return table

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Writes a run directory that the program reads (``feasible predict``, ``audit``, ``certify``, ``report``).

        With a name that ends in ``.safetensors``, writes the model alone. ``force`` replaces a run.
        """
        check_is_fitted(self, "run_")
        self.run_.save(os.fspath(path), force)
        return Path(path)

    def to_onnx(self, path: str | os.PathLike[str] | None = None, *, numbers: Literal["double", "float"] = "double") -> bytes:
        """The model as an ONNX file, preprocessing and thresholds included; written to ``path`` if that is given.

        Every column is an input of shape N × 1, numbers as ``double`` (or ``float``), categories as ``string``; labels are
        strings. What else there is to know is in docs/export.md.
        """
        check_is_fitted(self, "run_")
        if numbers not in ("double", "float"):
            raise FeasibleError(f"numbers: '{numbers}' is neither 'double' nor 'float'")
        return self.run_.to_onnx(None if path is None else os.fspath(path), numbers == "float")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "reject"
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.sparse = False
        return tags


def _number(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _is_plain(X: Any) -> bool:
    return isinstance(X, (list, tuple))


def _rows(X: Any) -> int:
    if hasattr(X, "shape") and X.shape:
        return int(X.shape[0])
    return len(X) if hasattr(X, "__len__") else len(np.asarray(X))


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _take(values: Any, rows: np.ndarray) -> Any:
    if is_pandas(values):
        return values.iloc[rows]
    if isinstance(values, np.ndarray):
        return values[rows]
    if is_frame(values) and hasattr(values, "take"):
        return values.take(rows)
    if hasattr(values, "__getitem__") and hasattr(values, "columns"):
        return values[rows]
    return np.asarray(values)[rows]


def _take_all(values: Any, rows: np.ndarray) -> Any:
    if values is None:
        return None
    if isinstance(values, Mapping):
        return {name: _take(column, rows) for name, column in values.items()}
    return _take(values, rows)


def _same(a: Any, b: Any) -> bool:
    """Whether two columns have the same cells, whatever they are kept as."""
    a, b = np.asarray(a, dtype=object), np.asarray(b, dtype=object)
    return a.shape == b.shape and bool((a.astype(str) == b.astype(str)).all())
