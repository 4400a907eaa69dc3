"""Train models that must meet requirements.

>>> from feasible import FeasibleClassifier, invariant, rate, parity
>>> print(invariant("gender", swap=("Male", "Female"), at_most=1e-3, every="row"))
the prediction of every row changes by at most 0.001 (KL divergence) under gender: Male ↔ Female
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._feasible import FeasibleError, version
from .requirements import (
    Requirement,
    demographic_parity,
    equal_opportunity,
    equalised_odds,
    invariant,
    loss,
    parity,
    rate,
    robust,
)

if TYPE_CHECKING:
    from . import datasets, duals, tracking
    from .duals import Duals, average, every_row
    from .estimators import FeasibleClassifier, FeasibleRegressor, load
    from .predictors import audit, certify

__version__ = version()

__all__ = [
    "Duals",
    "FeasibleClassifier",
    "FeasibleError",
    "FeasibleRegressor",
    "Requirement",
    "__version__",
    "audit",
    "average",
    "certify",
    "datasets",
    "duals",
    "demographic_parity",
    "equal_opportunity",
    "equalised_odds",
    "every_row",
    "invariant",
    "load",
    "loss",
    "parity",
    "rate",
    "robust",
    "tracking",
]

#: Imported when they are asked for: scikit-learn takes a second.
_LATER = {
    "FeasibleClassifier": "estimators",
    "FeasibleRegressor": "estimators",
    "load": "estimators",
    "Duals": "duals",
    "average": "duals",
    "every_row": "duals",
    "audit": "predictors",
    "certify": "predictors",
}
_MODULES = ("datasets", "duals", "estimators", "jax", "lightning", "predictors", "torch", "tracking")


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _LATER:
        value = getattr(import_module(f".{_LATER[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'feasible' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
