"""Fairlearn, where it applies: demographic parity of a linear classifier on Adult."""

import tomllib
from pathlib import Path

import numpy as np
from fairlearn.reductions import DemographicParity, ExponentiatedGradient
from sklearn.linear_model import LogisticRegression
from tables import Table


def train(table: Table, file: Path, seed: int) -> ExponentiatedGradient:
    requirement = tomllib.loads(file.read_text())["requirement"][0]
    assert requirement["fairness"] == "demographic-parity"
    within = requirement["within"]
    mitigator = ExponentiatedGradient(
        LogisticRegression(max_iter=1000, random_state=seed),
        # Each group's selection rate against everyone's, as `within` means it.
        DemographicParity(difference_bound=within),
        eps=within,
    )
    mitigator.fit(table.x[0], table.y, sensitive_features=table.group)
    return mitigator


def reached(model: ExponentiatedGradient, table: Table, seed: int) -> dict:
    """The classifier is a lottery over several: its draws are part of what it reaches."""
    result: dict = {}
    for part, x, y, group in (
        ("train", table.x, table.y, table.group),
        ("test", table.x_test, table.y_test, table.group_test),
    ):
        chosen = model.predict(x[0], random_state=seed)
        apart = max(abs(chosen[group == g].mean() - chosen.mean()) for g in np.unique(group))
        result[part] = {
            "rows": len(y),
            "accuracy": 100 * float((chosen == y).mean()),
            "parity": float(apart),
        }
    return result
