"""Fairlearn and error-parity over logistic regression, at their defaults apart from the limit.

ThresholdOptimizer takes no limit by default and makes the rates equal. error-parity's tolerance is between groups, ours between
a group and everyone: it gets the tolerance at which both say the same of the training rows. All of them draw some predictions by lot
(seeded here) and give no probabilities; all but ExponentiatedGradient need the sensitive column when they predict.
"""

from collections.abc import Callable

import numpy as np
from competitors import Predictor, inputs, prepared
from measure import Prediction, Rows
from sklearn.linear_model import LogisticRegression

MOMENTS = {"parity": "DemographicParity", "opportunity": "TruePositiveRateParity", "odds": "EqualizedOdds"}
THRESHOLDS = {"parity": "demographic_parity", "opportunity": "true_positive_rate_parity", "odds": "equalized_odds"}


def labelled(rows: Rows, positive: np.ndarray) -> Prediction:
    one = rows.classes.index(rows.table["positive"])
    return Prediction(np.array(rows.classes)[np.where(np.asarray(positive) > 0, one, 1 - one)])


def exponentiated_gradient(requirement: str) -> Callable[[Rows, float, int], Predictor]:
    def fit(train: Rows, limit: float, seed: int) -> Predictor:
        from fairlearn import reductions

        moment = getattr(reductions, MOMENTS[requirement])(difference_bound=limit)
        columns = prepared("passthrough").fit(inputs(train))
        model = reductions.ExponentiatedGradient(LogisticRegression(), moment)
        model.fit(columns.transform(inputs(train)), train.positive().astype(int), sensitive_features=sensitive(train))
        return lambda rows: labelled(rows, model.predict(columns.transform(inputs(rows)), random_state=seed))

    return fit


def threshold_optimizer(requirement: str) -> Callable[[Rows, float, int], Predictor]:
    def fit(train: Rows, _: float, seed: int) -> Predictor:
        from fairlearn.postprocessing import ThresholdOptimizer

        linear = prepared(LogisticRegression())
        model = ThresholdOptimizer(estimator=linear, constraints=THRESHOLDS[requirement])
        model.fit(inputs(train), train.positive().astype(int), sensitive_features=sensitive(train))
        return lambda rows: labelled(rows, model.predict(inputs(rows), sensitive_features=sensitive(rows), random_state=seed))

    return fit


def error_parity(requirement: str) -> Callable[[Rows, float, int], Predictor]:
    def fit(train: Rows, limit: float, seed: int) -> Predictor:
        from error_parity import RelaxedThresholdOptimizer

        positive, groups = train.positive(), train.groups()
        among = {"parity": [positive | True], "opportunity": [positive], "odds": [positive, ~positive]}[requirement]
        largest = max(g[of].mean() for of in among for g in groups)
        linear = prepared(LogisticRegression()).fit(inputs(train), positive)
        model = RelaxedThresholdOptimizer(
            predictor=lambda x: linear.predict_proba(x)[:, 1],
            constraint=THRESHOLDS[requirement], tolerance=limit / largest, seed=seed,
        )  # fmt: skip
        model.fit(inputs(train), positive.astype(int), group=codes(train))
        return lambda rows: labelled(rows, model.predict(inputs(rows), group=codes(rows)))

    return fit


def sensitive(rows: Rows):
    return rows.data[rows.table["sensitive"]]


def codes(rows: Rows) -> np.ndarray:
    return (sensitive(rows) == rows.table["categories"][0]).to_numpy().astype(int)


def peers(requirement: str) -> dict[str, Callable[[Rows, float, int], Predictor]]:
    return {
        "exponentiated-gradient": exponentiated_gradient(requirement),
        "threshold-optimizer": threshold_optimizer(requirement),
        "error-parity": error_parity(requirement),
    }
