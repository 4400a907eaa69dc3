"""Bad input gets the sentence that says what and where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import feasible
from feasible import FeasibleClassifier, FeasibleError, FeasibleRegressor, invariant, parity, rate

from .conftest import Rows


def refused(X: Any, y: Any, says: str, *requirements: Any, **parameters: Any) -> None:
    with pytest.raises(FeasibleError, match=says):
        FeasibleClassifier(list(requirements), epochs=2, **parameters).fit(X, y)


def test_a_missing_number(train: Rows) -> None:
    X, y = train
    X = X.copy()
    X.loc[X.index[5], "score"] = np.nan
    refused(X, y, r"X, row 5, column 'score': the value is NaN or None, .*missing=\"impute\"")
    FeasibleClassifier(epochs=2, missing="impute").fit(X, y)
    array = X[["age", "score"]].to_numpy()
    refused(array, y, r"X, row 5, column 'x1': the value is NaN")


def test_an_infinite_number(train: Rows) -> None:
    X, y = train
    refused(X.assign(score=np.where(np.arange(len(X)) == 9, np.inf, X["score"])), y, r"X, row 9, column 'score'.*inf")


def test_objects_that_are_neither_numbers_nor_text(train: Rows) -> None:
    X, y = train
    odd = X.assign(city=[{"a": 1} if at == 3 else "Oslo" for at in range(len(X))])
    refused(odd, y, r"X, row 3, column 'city': dict is neither a number nor text")
    mixed = X.assign(city=[7 if at == 4 else "Oslo" for at in range(len(X))])
    refused(mixed, y, r"X, row 4, column 'city': int among text")


def test_a_category_that_was_not_there_in_training(train: Rows) -> None:
    X, y = train
    model = FeasibleClassifier(epochs=2).fit(X, y)
    unseen = X.assign(city=["Bern" if at == 8 else "Oslo" for at in range(len(X))])
    with pytest.raises(FeasibleError, match=r"X, row 8, column 'city'.*'Bern'"):
        model.predict(unseen)
    lenient = FeasibleClassifier(epochs=2, unseen="other").fit(X, y)
    assert len(lenient.predict(unseen)) == len(X)


def test_a_requirement_on_a_column_that_is_not_there(train: Rows) -> None:
    X, y = train
    refused(X, y, r"requirement\[0\]\.groups: .*no column 'town'", parity(groups="town", within=0.1))
    refused(X, y, r"'agee'.*did you mean 'age'", rate("recall", where="agee > 3", at_least=0.1))
    refused(X, y, r"'X' .*did you mean|no category 'X'|'X'", invariant("sex", swap=("F", "X"), at_most=0.1))
    refused(X, y, r"did you mean 0\.15", rate("error", at_most=15))
    refused(X, y, r"unknown value 'recal': did you mean 'recall'", rate("recal", at_least=0.5))


def test_wrong_lengths(train: Rows) -> None:
    X, y = train
    refused(X, y[:10], "y: 10 values, but X has 1500 rows")
    with pytest.raises(FeasibleError, match="sample_weight: 2 values, but X has 1500 rows"):
        FeasibleClassifier(epochs=1).fit(X, y, sample_weight=[1.0, 2.0])
    model = FeasibleClassifier(epochs=1).fit(X, y)
    with pytest.raises(ValueError, match="feature"):
        model.predict(X.drop(columns="age"))


def test_a_target_that_cannot_be_learned(train: Rows) -> None:
    X, y = train
    refused(X, np.full(len(X), "yes"), "y has one class, 'yes'")
    with pytest.raises(FeasibleError, match=r"y, row 2: the value is nan"):
        FeasibleRegressor(epochs=1).fit(X, np.where(np.arange(len(X)) == 2, np.nan, 1.0))
    model = FeasibleClassifier(epochs=1).fit(X, y)
    with pytest.raises(FeasibleError, match="y, row 0: the class 'maybe' was not there"):
        model.certify(X, np.full(len(X), "maybe"))


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_label_that_is_missing(train: Rows, missing: Any) -> None:
    X, y = train
    labels = y.astype(object).where(np.arange(len(X)) != 7, missing)
    refused(X, labels, "y, row 7: the label is missing: leave the row out")
    refused(X, labels.to_numpy(), "y, row 7: the label is missing")
    refused(X, np.where(np.arange(len(X)) == 7, np.nan, np.arange(len(X)) % 2), "y, row 7: the label is missing")
    with pytest.raises(FeasibleError, match="y, row 7: the label is missing"):
        feasible.certify(y, labels, [rate("error", at_most=0.5)])
    with pytest.raises(FeasibleError, match="predictions, row 7: the label is missing"):
        feasible.certify(labels, y, [rate("error", at_most=0.5)])


def test_predictions_that_are_no_probabilities_or_numbers() -> None:
    y = np.arange(60) % 2
    chances = np.column_stack([1 - 0.2 * y, 0.2 * y])
    chances[3] = [0.7, 0.7]
    with pytest.raises(FeasibleError, match=r"predictions, row 3: \[0\.7, 0\.7\] add up to 1\.4"):
        feasible.certify(chances, y, [rate("error", at_most=0.5)])
    with pytest.raises(FeasibleError, match=r"predictions, row 2: the value is nan"):
        feasible.certify(np.where(np.arange(60) == 2, np.nan, 0.5), y + 0.5, [feasible.loss("squared", at_most=0.5)])
    with pytest.raises(FeasibleError, match=r"y, row 2: the value is inf"):
        feasible.certify(y + 0.5, np.where(np.arange(60) == 2, np.inf, 0.5), [feasible.loss("squared", at_most=0.5)])


def test_settings_are_those_of_a_problem_file(train: Rows) -> None:
    X, y = train
    refused(X, y, "training.epoch: unknown key 'epoch'", settings={"training": {"epoch": 3}})
    refused(X, y, "Remove it", settings={"data": {"file": "people.csv"}})
    refused(X, y, "model.kind|unknown value 'forest'", model="forest")
    refused(X, y, "ladder", settings={"certify": {"ladder": [1.0, 0.0]}})


def test_a_frame_without_rows() -> None:
    X = pd.DataFrame({"a": np.zeros(0), "b": np.zeros(0)})
    with pytest.raises(ValueError, match="0 sample"):
        FeasibleClassifier().fit(X, [])


def test_a_tensor_that_is_elsewhere_or_differentiated() -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.randn(60, 2), torch.arange(60) % 2
    FeasibleClassifier(epochs=1).fit(x, y)
    # A device that is always there, and that numpy cannot read any more than CUDA.
    refused(x.to("meta"), y, r"X is a tensor on meta: give X\.cpu\(\)")
    refused(x, y.to("meta"), r"y is a tensor on meta: give y\.cpu\(\)")
    refused(x.requires_grad_(), y, r"X is a tensor that is differentiated: give X\.detach\(\)")
    with pytest.raises(FeasibleError, match=r"predictions is a tensor on meta: give predictions\.cpu\(\)"):
        feasible.certify(y.to("meta"), y, [rate("error", at_most=0.5)])
