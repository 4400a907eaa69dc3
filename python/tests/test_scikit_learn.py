"""`check_estimator` of scikit-learn, beside LogisticRegression's."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import check_estimator

from feasible import FeasibleClassifier, FeasibleRegressor

#: Weights are those of losses: columns are standardised, and batches drawn, by rows. Where neither matters, a weight of
#: 2 is two rows: see below. Rows of weight 0 are left out, as the check of single classes sees.
DECLARED = {
    "check_sample_weight_equivalence_on_dense_data": "preprocessing and batches count rows, not weights",
}


@pytest.mark.parametrize(
    ("estimator", "reference"),
    [(FeasibleClassifier(), LogisticRegression()), (FeasibleRegressor(), Ridge())],
    ids=["classifier", "regressor"],
)
def test_estimators_keep_the_contract_of_scikit_learn(estimator: Any, reference: Any) -> None:
    results = check_estimator(estimator, on_fail=None, expected_failed_checks=DECLARED)
    counts = Counter(result["status"] for result in results)
    print(type(estimator).__name__, dict(counts))
    failed = {result["check_name"]: str(result["exception"])[:300] for result in results if result["status"] == "failed"}
    assert failed == {}
    assert counts["xfail"] <= 1
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    theirs = check_estimator(reference, on_fail=None)
    assert skipped <= {result["check_name"] for result in theirs if result["status"] == "skipped"}


def test_a_weight_of_two_is_two_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    weights = rng.integers(0, 5, 300)
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    z = X @ [1.0, 2.0, 3.0] + rng.normal(size=300)
    # Nothing is drawn, and without weight decay the units of columns do not matter.
    exact: Any = {"model": "linear", "learner": "exact", "weight_decay": 0.0, "validation": 0}
    repeated = FeasibleClassifier(**exact).fit(X.repeat(weights, 0), y.repeat(weights)).predict_proba(X)
    weighted = FeasibleClassifier(**exact).fit(X, y, sample_weight=weights).predict_proba(X)
    unweighted = FeasibleClassifier(**exact).fit(X, y).predict_proba(X)
    # Outputs in single precision.
    assert np.abs(repeated - weighted).max() < 1e-6 < 1e-2 < np.abs(repeated - unweighted).max()
    numbers = [
        FeasibleRegressor(**exact).fit(X.repeat(weights, 0), z.repeat(weights)).predict(X),
        FeasibleRegressor(**exact).fit(X, z, sample_weight=weights).predict(X),
    ]
    assert np.abs(numbers[0] - numbers[1]).max() < 1e-5
