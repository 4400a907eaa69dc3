"""The peers, at their defaults, behind one preparation of columns: one-hot categories, standardised numbers.

A competitor is a function from training rows to a function that predicts any rows of the table. Those without a requirement are
fitted once for each split and measured against every requirement.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from measure import Prediction, Rows, losses
from requirements import in_group
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

Predictor = Callable[[Rows], Prediction]


def prepared(model) -> Pipeline:
    text = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include=np.number)),
        (text, make_column_selector(dtype_exclude=np.number)),
    )
    return make_pipeline(columns, model)


def inputs(rows: Rows, without: str | None = None) -> pd.DataFrame:
    return rows.data.drop(columns=[rows.table["target"]] + ([without] if without else []))


def swapped(rows: Rows) -> pd.DataFrame:
    """The inputs with the sensitive column's two categories exchanged."""
    first, second = rows.table["categories"]
    column = rows.table["sensitive"]
    return inputs(rows).assign(**{column: rows.data[column].map({first: second, second: first})})


def predictor(model: Pipeline, threshold: float = 0.5, without: str | None = None) -> Predictor:
    """Predicts with a fitted model; `threshold` is the least probability at which a row is called positive."""

    def predict(rows: Rows) -> Prediction:
        if rows.table["task"] == "regression":
            return Prediction(numbers=model.predict(inputs(rows, without)))
        p = model.predict_proba(inputs(rows, without))
        labels = np.array(rows.classes)[p.argmax(axis=1)]
        if rows.table["task"] == "binary":
            one = rows.classes.index(rows.table["positive"])
            labels = np.array(rows.classes)[np.where(p[:, one] >= threshold, one, 1 - one)]
        other = None
        if rows.table["sensitive"]:
            other = p if without else model.predict_proba(swapped(rows))
        return Prediction(labels=labels, probabilities=p, swapped=other)

    return predict


def model(kind: str, task: str, seed: int) -> Pipeline:
    kinds = {
        "linear": (LogisticRegression(), Ridge()),
        "mlp": (MLPClassifier(random_state=seed), MLPRegressor(random_state=seed)),
        "boosting": (HistGradientBoostingClassifier(random_state=seed), HistGradientBoostingRegressor(random_state=seed)),
    }
    return prepared(kinds[kind][task == "regression"])


def unconstrained(kind: str) -> Callable[[Rows, int], Predictor]:
    """Logistic or ridge regression, network, or boosted trees of scikit-learn."""
    return lambda train, seed: predictor(model(kind, train.table["task"], seed).fit(inputs(train), train.target))


def folds(task: str, seed: int = 0):
    return (KFold if task == "regression" else StratifiedKFold)(5, shuffle=True, random_state=seed)


def reference(rows: Rows) -> Prediction:
    """Cross-validated predictions of logistic or ridge regression, from which limits follow."""
    task = rows.table["task"]
    if task == "regression":
        return Prediction(numbers=cross_val_predict(model("linear", task, 0), inputs(rows), rows.target, cv=folds(task)))
    p = np.zeros((len(rows.data), len(rows.classes)))
    other = p.copy()
    for train, test in folds(task).split(rows.data, rows.target):
        held_out = unconstrained("linear")(rows.take(train), 0)(rows.take(test))
        p[test] = held_out.probabilities
        if held_out.swapped is not None:
            other[test] = held_out.swapped
    return Prediction(np.array(rows.classes)[p.argmax(axis=1)], p, swapped=other if rows.table["sensitive"] else None)


def recall_threshold(kind: str) -> Callable[[Rows, float, int], Predictor]:
    """The largest threshold at which the cross-validated recall on the training rows is at the limit."""

    def fit(train: Rows, limit: float, seed: int) -> Predictor:
        estimator = model(kind, "binary", seed)
        cv = folds("binary", seed)
        p = cross_val_predict(estimator, inputs(train), train.target, cv=cv, method="predict_proba")
        own = np.sort(p[train.positive(), train.classes.index(train.table["positive"])])
        threshold = own[int(np.floor((1 - limit) * len(own)))]
        return predictor(estimator.fit(inputs(train), train.target), threshold)

    return fit


def without_sensitive(train: Rows, _: float, seed: int) -> Predictor:
    """Logistic regression that does not see the sensitive column."""
    column = train.table["sensitive"]
    return predictor(model("linear", "binary", seed).fit(inputs(train, column), train.target), without=column)


def weighted_group(train: Rows, limit: float, seed: int) -> Predictor:
    """Logistic or ridge regression with the least weight on the group whose cross-validated loss there is at the limit."""
    task, group = train.table["task"], in_group(train, train.table["group"])
    estimator = model("linear", task, seed)
    last = estimator.steps[-1][0]

    def fit(rows: Rows, of: np.ndarray, weight: float) -> Predictor:
        weights = {f"{last}__sample_weight": np.where(of, weight, 1.0)}
        return predictor(clone(estimator).fit(inputs(rows), rows.target, **weights))

    for weight in WEIGHTS:
        each = np.zeros(len(group))
        for part, rest in folds(task, seed).split(train.data, train.target):
            held_out = train.take(rest)
            each[rest] = losses(held_out, fit(train.take(part), group[part], weight)(held_out))
        if each[group].mean() <= limit:
            break
    return fit(train, group, weight)


WEIGHTS = [1, 1.5, 2, 3, 5, 8, 16]
UNCONSTRAINED = {kind: unconstrained(kind) for kind in ("linear", "mlp", "boosting")}
CONSTRAINED = {
    "recall": {"linear-threshold": recall_threshold("linear"), "boosting-threshold": recall_threshold("boosting")},
    "counterfactual": {"linear-blind": without_sensitive},
    "group-loss": {"linear-weighted": weighted_group},
}
