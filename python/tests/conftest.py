from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

Rows = tuple[pd.DataFrame, pd.Series]


def people(rows: int, seed: int) -> Rows:
    """Applicants: whether they are hired depends on age and city, and a little on sex."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 70, rows),
            "sex": rng.choice(["F", "M"], rows),
            "city": pd.Categorical(rng.choice(["Lyon", "Turin", "Oslo"], rows)),
            "score": rng.normal(size=rows),
        }
    )
    odds = 0.05 * (X["age"] - 40) + X["score"] + 0.6 * (X["sex"] == "M") + rng.normal(scale=0.5, size=rows)
    return X, pd.Series(np.where(odds > 0.3, "yes", "no"), name="hired")


@pytest.fixture(scope="session")
def train() -> Rows:
    return people(1500, 1)


@pytest.fixture(scope="session")
def test() -> Rows:
    return people(4000, 2)
