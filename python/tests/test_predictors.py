"""Certificates of predictors that were trained elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import feasible
from feasible import FeasibleClassifier, FeasibleError, invariant, loss, parity, rate

from .conftest import Rows


def test_predictions_are_judged_as_the_model_of_feasible_is(train: Rows, test: Rows) -> None:
    requirements = [
        rate("recall", where="age > 50", at_least=0.8),
        parity(groups="city", within=0.2),
        loss("brier", groups="sex", at_most=0.8),
        invariant("sex", swap=("F", "M"), at_most=1e-2),
    ]
    model = FeasibleClassifier(requirements, epochs=30).fit(*train)
    X, y = test
    own = model.audit(X, y)
    judged = feasible.audit(model.predict_proba, X, y, requirements)
    assert judged.accuracy == own.accuracy
    for mine, other in zip(own.requirements, judged.requirements):
        assert (mine.name, mine.limit, mine.met) == (other.name, other.limit, other.met)
        assert mine.value == pytest.approx(other.value, rel=1e-4, abs=1e-7)
    certificate = model.certify(X, y, confidence=0.9)
    assert judged.certificate is not None
    theirs = feasible.audit(model.predict_proba, X, y, requirements, confidence=0.9).certificate
    assert theirs is not None
    assert [one.verdict for one in theirs.findings] == [one.verdict for one in certificate.findings]


def test_a_pipeline_of_scikit_learn_is_audited_under_a_counterfactual(train: Rows, test: Rows) -> None:
    encode = make_column_transformer((OneHotEncoder(), ["sex", "city"]), remainder="passthrough")
    theirs = make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(*train)
    X, y = test
    swap = invariant("sex", swap=("F", "M"), at_most=1e-3)
    judged = feasible.audit(theirs.predict_proba, X, y, [swap])
    other = X.assign(sex=X["sex"].map({"F": "M", "M": "F"}))
    p, q = theirs.predict_proba(X), theirs.predict_proba(other)
    kl = (p * np.log(p / q)).sum(axis=1)
    assert judged.requirements[0].value == pytest.approx(kl.mean(), rel=1e-3)
    assert judged.requirements[0].violated == pytest.approx((kl > 1e-3).mean(), abs=1e-3)
    assert not judged.met
    assert "if none of them was used in training" in str(judged.certificate)
    assert " not met on the 4,000 rows." in judged.report.html


def test_classes_probabilities_and_one_column_of_probabilities_agree() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 500)
    p = np.clip(0.5 + (y - 0.5) * 0.5 + rng.normal(scale=0.3, size=500), 0.01, 0.99)
    wanted = [rate("recall", at_least=0.5), rate("precision", at_least=0.5)]
    whole = np.column_stack([1 - p, p])
    found = [feasible.certify(q, y, wanted).requirements for q in (whole, p, (p > 0.5).astype(int))]
    assert [row.value for row in found[0]] == [row.value for row in found[1]] == [row.value for row in found[2]]
    recall = (p[y == 1] > 0.5).mean()
    assert found[0][0].value == pytest.approx(recall)


def test_numbers_are_judged_by_their_losses() -> None:
    rng = np.random.default_rng(4)
    y = rng.normal(size=300)
    judged = feasible.certify(y + 0.1, y, [loss("absolute", at_most=0.2)])
    assert judged.requirements[0].value == pytest.approx(0.1, rel=1e-4)


def test_what_does_not_fit_is_refused() -> None:
    y = np.array([0, 1] * 20)
    wanted = [rate("recall", at_least=0.5)]
    with pytest.raises(FeasibleError, match="predictions: 3 rows, but y has 40"):
        feasible.certify([0, 1, 1], y, wanted)
    with pytest.raises(FeasibleError, match=r"predictions, row 0: '7' is not among the classes"):
        feasible.certify(np.full(40, 7), y, wanted)
    with pytest.raises(FeasibleError, match=r"row 1: .* are not probabilities"):
        feasible.certify(np.where(np.arange(40) == 1, 1.5, 0.5), y, wanted)
    with pytest.raises(FeasibleError, match="no column 'sex'"):
        feasible.certify(y, y, [rate("recall", groups="sex", at_least=0.5)])
    with pytest.raises(FeasibleError, match="there are no predictions for the changed rows"):
        feasible.certify(y, y, [invariant("sex", swap=("f", "m"), at_most=0.1)], {"sex": ["f", "m"] * 20})


def test_the_positive_class_is_named_by_its_label_or_by_the_caller() -> None:
    rng = np.random.default_rng(5)
    y = rng.choice(["case", "control"], p=[0.2, 0.8], size=400)
    right = rng.random(400) < np.where(y == "case", 0.5, 0.9)
    predicted = np.where(right, y, np.where(y == "case", "control", "case"))
    recall = rate("recall", at_least=0.1)
    with pytest.raises(FeasibleError, match=r"'case' \(\d+ rows\) or 'control' \(\d+ rows\)"):
        feasible.certify(predicted, y, [recall])
    whole = np.column_stack([predicted == "case", predicted == "control"]).astype(float)
    for positive, at in (("case", 0), ("control", 1)):
        found = (predicted == positive)[y == positive].mean()
        # One number a row is that of the positive class, columns are in the order of the labels.
        for predictions in (predicted, whole, whole[:, at] * 0.8 + 0.1):
            judged = feasible.certify(predictions, y, [recall], positive=positive)
            assert judged.requirements[0].value == pytest.approx(found)
        assert f"recall of '{positive}'" in str(judged.certificate)
    with pytest.raises(FeasibleError, match="give positive, 'case' or 'control'"):
        feasible.certify(whole[:, 0] * 0.8 + 0.1, y, [rate("error", at_most=0.9)])
    judged = feasible.certify(whole, y, [rate("error", at_most=0.9)])
    assert judged.requirements[0].value == pytest.approx((predicted != y).mean())
    with pytest.raises(FeasibleError, match="there is no class 'cases'"):
        feasible.certify(predicted, y, [recall], positive="cases")
