"""Estimators for scikit-learn that meet requirements.

>>> import numpy as np
>>> from feasible import FeasibleClassifier, rate
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(400, 3))
>>> y = np.where(X[:, 0] + X[:, 1] > 1, "yes", "no")
>>> model = FeasibleClassifier([rate("recall", at_least=0.9)], epochs=60).fit(X, y)
>>> model.requirements_.met
True
>>> model.predict(X[:2]).shape
(2,)
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ._base import FeasibleEstimator
from ._feasible import FeasibleError, Run, Table
from ._frames import check_labels, check_numbers, is_frame
from .requirements import Requirement, label

__all__ = ["FeasibleClassifier", "FeasibleRegressor", "load"]

_PARAMETERS = """
    Parameters
    ----------
    requirements : list of requirements
        What the model must meet: see :mod:`feasible.requirements`.
    model : "auto", "mlp", "linear" or "kernel"
        "auto" is an "mlp" of sigmoids or, on small tables, of ReLUs if these do better on validation rows. Small tables
        without requirements get the average of five, each mixed with a linear model by as much as cross-validation says.
    hidden : widths of the hidden layers of an "mlp"; one of 64 by default
    objective : the loss that is minimised
    weight_decay, learner, epochs, batch_size, rate, seconds
        How it is trained; what is not given follows from the table.
    validation : the share of the rows that chooses the iterate that is kept, and the margins
    certificate : a confidence such as 0.95
        Keeps rows back, trains with room to spare, and certifies the requirements on those rows (``certificate_``).
    missing : "reject", "category" or "impute"
        What becomes of NaN and None.
    unseen : "error" or "other"
        What becomes of categories that were not there in training.
    random_state : the seed; the same seed and the same data give the same bits
    n_jobs : threads, of which results do not depend; all cores for predictions by default
    verbose : show progress
    callback : called as ``callback(metrics, epoch)`` after every epoch
    settings : anything else of a problem file, as nested dictionaries
"""


class FeasibleClassifier(ClassifierMixin, FeasibleEstimator):  # type: ignore[misc]
    """A classifier that meets requirements.
    {parameters}
    class_weight : "balanced", or a weight for each class
    positive : the class that rates are about, of two
        Needed by requirements on recall, precision, selection and the like, unless the labels are 0 (or -1) and 1, False
        and True, or no and yes: then it is the second of ``classes_``.
    decision : "accuracy", "balanced-accuracy" or "f1"
        Chooses the threshold, of two classes, that maximises this on the validation rows under the requirements.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as scikit-learn has them
    requirements_ : a table: limit, value, met, multiplier
    multipliers_ : λ of every row, for requirements on every row
    report_ : the run on one page
    summary_, advice_, notes_ : what was achieved, what to try, what was decided about the data

    Examples
    --------
    >>> import numpy as np
    >>> from feasible import FeasibleClassifier, parity
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> sex = rng.choice(["f", "m"], size=600)
    >>> y = (X[:, 0] + 0.5 * (sex == "m") > 0).astype(int)
    >>> model = FeasibleClassifier([parity("selection", groups="sex", within=0.1)], epochs=40)
    >>> model = model.fit(X, y, sensitive_features={{"sex": sex}})
    >>> [row.name for row in model.requirements_][:2]
    ['selection by sex: f (not above)', 'selection by sex: f (not below)']
    """

    _task = "classify"
    classes_: np.ndarray

    def __init__(
        self,
        requirements: Iterable[Requirement | Mapping[str, Any]] | None = None,
        *,
        model: str = "auto",
        hidden: Sequence[int] | None = None,
        objective: str | None = None,
        weight_decay: float | None = None,
        class_weight: str | Mapping[Any, float] | None = None,
        positive: Any = None,
        decision: str | None = None,
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
        super().__init__(
            requirements,
            model=model,
            hidden=hidden,
            objective=objective,
            weight_decay=weight_decay,
            learner=learner,
            epochs=epochs,
            batch_size=batch_size,
            rate=rate,
            seconds=seconds,
            validation=validation,
            certificate=certificate,
            missing=missing,
            unseen=unseen,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
            callback=callback,
            settings=settings,
        )
        self.class_weight = class_weight
        self.positive = positive
        self.decision = decision

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, sensitive_features: Any = None
    ) -> FeasibleClassifier:
        """Trains; a requirement that cannot be, and data that cannot be used, are a :class:`FeasibleError`.

        ``sensitive_features`` are columns that requirements may speak of and that the model does not see: a frame, a
        series, a dictionary of columns, or an array. Rows that weigh 0 are left out. Ctrl-C ends the training with the
        best model so far.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        self._fit(X, y, sample_weight, sensitive_features)
        self._order_classes()
        return self

    def _order_classes(self) -> None:
        own = self.run_.classes
        assert own is not None
        labels = [label(one) for one in self.classes_]
        #: Of each of ``classes_``, its place among the classes of the run.
        self._place = np.array([own.index(one) for one in labels])

    def _add_target(self, table: Table, target: str, y: Any, rows: int, *, fitted: bool) -> None:
        if is_frame(y) and hasattr(y, "columns"):
            y = np.asarray(y)
        y = column_or_1d(y, warn=True)
        check_labels("y", y)
        check_classification_targets(y)
        if len(y) != rows:
            raise FeasibleError(f"y: {len(y)} values, but X has {rows} rows")
        if fitted:
            known = {label(one): at for at, one in enumerate(self.classes_)}
            # Each label is looked up once.
            found, places = np.unique(y, return_inverse=True)
            strange = [one for one in found if label(one) not in known]
            if strange:
                row = int(np.flatnonzero(y == strange[0])[0])
                raise FeasibleError(f"y, row {row}: the class {label(strange[0])!r} was not there in training")
            of_label = np.array([known[label(one)] for one in found], dtype=np.int64)
            table.add_codes(target, list(known), of_label[places])
            return
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise FeasibleError(
                f"y has one class, {label(self.classes_[0])!r}, and there is nothing to learn: give rows of two classes "
                "or more"
            )
        table.add_codes(target, [label(one) for one in self.classes_], codes.astype(np.int64))

    def _adapt(self, problem: dict[str, Any]) -> None:
        if self.positive is not None:
            problem["data"]["positive"] = label(self.positive)
        if self.decision is not None:
            problem.setdefault("decision", {}).setdefault("maximise", self.decision)
        if self.class_weight is None:
            return
        if isinstance(self.class_weight, str):
            problem["objective"]["class_weights"] = self.class_weight
            return
        known = {label(one) for one in self.classes_}
        given = {label(one): float(weight) for one, weight in dict(self.class_weight).items()}
        for name in given:
            if name not in known:
                raise FeasibleError(f"class_weight: there is no class {name!r} in y: {', '.join(sorted(known))}")
        problem["objective"]["class_weights"] = {one: given.get(one, 1.0) for one in sorted(known)}

    def _asked(self, X: Any, sensitive_features: Any) -> Table:
        table, rows, names, _ = self._inputs(X, reset=False)
        self._beside(table, X, names, rows, sensitive_features)
        by = self.run_.decided_by
        if by is not None and by not in table.names:
            raise FeasibleError(f"thresholds depend on '{by}': give sensitive_features with that column")
        return table

    def predict(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """The class of every row; ``sensitive_features`` where thresholds depend on such a column."""
        check_is_fitted(self, "run_")
        found = self.run_.predict(self._asked(X, sensitive_features), None, self._threads())
        back = np.empty(len(self._place), dtype=np.int64)
        back[self._place] = np.arange(len(self._place))
        classes: np.ndarray = self.classes_[back[found]]
        return classes

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities of the classes, in the order of ``classes_``."""
        check_is_fitted(self, "run_")
        found = self.run_.probabilities(self._columns_of(X), None, self._threads())
        if (self._place == np.arange(len(self._place))).all():
            return found
        ordered: np.ndarray = found[:, self._place]
        return ordered

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            logs: np.ndarray = np.log(self.predict_proba(X))
        return logs

    def decision_function(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray:
        """Of two classes, positive where the second is predicted; of more, a number for each."""
        check_is_fitted(self, "run_")
        found = self.run_.decisions(self._asked(X, sensitive_features), None, self._threads())
        if found.shape[1] == 1:
            side: np.ndarray = found[:, 0] if self._place[0] == 0 else -found[:, 0]
            return side
        ordered: np.ndarray = found[:, self._place]
        return ordered

    def _columns_of(self, X: Any) -> Table:
        table, rows, _, _ = self._inputs(X, reset=False)
        by = self.run_.decided_by
        if by is not None and by not in table.names:
            # Probabilities do not depend on where they are cut.
            table.add_codes(by, [], np.full(rows, -1, dtype=np.int64))
        return table


class FeasibleRegressor(RegressorMixin, FeasibleEstimator):  # type: ignore[misc]
    """A regressor that meets requirements.
    {parameters}

    Attributes
    ----------
    As :class:`FeasibleClassifier` has them, without classes.

    Examples
    --------
    >>> import numpy as np
    >>> from feasible import FeasibleRegressor, loss
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = X[:, 0] - 2 * X[:, 1]
    >>> model = FeasibleRegressor([loss("absolute", where="x0 > 0", at_most=0.3)], epochs=80).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    _task = "regress"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, sensitive_features: Any = None) -> FeasibleRegressor:
        """As :meth:`FeasibleClassifier.fit`."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        self._fit(X, y, sample_weight, sensitive_features)
        return self

    def _add_target(self, table: Table, target: str, y: Any, rows: int, *, fitted: bool) -> None:
        if is_frame(y) and hasattr(y, "columns"):
            y = np.asarray(y)
        y = column_or_1d(y, warn=True)
        if len(y) != rows:
            raise FeasibleError(f"y: {len(y)} values, but X has {rows} rows")
        try:
            values = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise FeasibleError(f"y: {error}: a number is predicted") from None
        check_numbers("y", values)
        table.add_numbers([target], [values])

    def predict(self, X: Any) -> np.ndarray:
        """The number of every row."""
        check_is_fitted(self, "run_")
        return self.run_.values(self._inputs(X, reset=False)[0], None, self._threads())


for _one in (FeasibleClassifier, FeasibleRegressor):
    _one.__doc__ = (_one.__doc__ or "").replace("{parameters}", _PARAMETERS.strip()).replace("{{", "{").replace("}}", "}")


def load(path: str | os.PathLike[str]) -> FeasibleClassifier | FeasibleRegressor:
    """The estimator of a run directory, of this package or of the program, or of a model file.

    Classes that are whole numbers are so again; all others are text. A model file alone predicts; it has no
    certificate and no page, which need the record of the run.
    """
    run = Run.open(os.fspath(path))
    model: FeasibleClassifier | FeasibleRegressor
    if run.classes is not None:
        model = FeasibleClassifier()
        model.classes_ = _labels(run.classes)
        order = np.argsort(model.classes_, kind="stable")
        model.classes_ = model.classes_[order]
    else:
        model = FeasibleRegressor()
    model.feature_names_in_ = np.array(run.inputs, dtype=object)
    model.n_features_in_ = len(run.inputs)
    if run.inputs == [f"x{at}" for at in range(len(run.inputs))]:
        # Of an array, whose columns have no names.
        del model.feature_names_in_
    model._adopt(run)
    model._loaded = True
    if isinstance(model, FeasibleClassifier):
        model._order_classes()
    problem = run.problem()
    if problem is not None:
        requirements = json.loads(run.requirements())
        model.requirements = [Requirement(**one) for one in requirements]
    return model


def _labels(classes: list[str]) -> np.ndarray:
    try:
        whole = [int(one) for one in classes]
    except ValueError:
        return np.array(classes)
    return np.array(whole) if [str(one) for one in whole] == classes else np.array(classes)
