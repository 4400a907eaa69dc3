"""What experiment trackers are told: requirements and certificates as metrics, the page as an artifact.

>>> import numpy as np
>>> from feasible import FeasibleClassifier, rate
>>> from feasible.tracking import metrics
>>> X = np.random.default_rng(0).normal(size=(200, 2))
>>> model = FeasibleClassifier([rate("recall", at_least=0.5)], epochs=5).fit(X, X[:, 0] > 0)
>>> sorted(name for name in metrics(model) if name.startswith("recall"))
['recall/limit', 'recall/met', 'recall/validation', 'recall/value']

While it trains, ``callback`` takes any ``log(dict, step)``: ``FeasibleClassifier(callback=wandb.log)``,
``FeasibleClassifier(callback=mlflow.log_metrics)``, ``FeasibleClassifier(callback=tensorboard(writer))``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from .results import Certificate, Judgement

__all__ = ["log_to_mlflow", "metrics", "tensorboard"]


def metrics(model: Any, certificate: Certificate | Judgement | None = None) -> dict[str, float]:
    """Numbers of a fitted estimator: accuracy, requirements, and what a certificate says (1 if certified)."""
    found: dict[str, float | None] = {}
    for part in ("train", "validation"):
        evaluation = model.summary_.get(part) or {}
        for name in ("accuracy", "rmse", "objective"):
            found[f"{part}/{name}"] = evaluation.get(name)
    for row in model.requirements_:
        found[f"{row.name}/limit"] = row.limit
        found[f"{row.name}/value"] = row.value
        found[f"{row.name}/validation"] = row.validation_value
        found[f"{row.name}/multiplier"] = row.multiplier
        found[f"{row.name}/met"] = float(row.met)
    found["requirements_met"] = float(model.requirements_.met)
    if isinstance(certificate, Judgement):
        certificate = certificate.certificate
    if certificate is not None:
        found["certified"] = float(certificate.certified)
        found["confidence"] = certificate.confidence
        for finding in certificate.findings:
            found[f"{finding.name}/certified"] = float(finding.verdict == "certified")
            found[f"{finding.name}/bound"] = finding.details.get("bound")
    return {_name(name): float(x) for name, x in found.items() if x is not None and math.isfinite(x)}


def log_to_mlflow(model: Any, certificate: Certificate | Judgement | None = None, name: str = "model") -> Any:
    """Logs the model, its metrics and its page to the active run of MLflow; gives what ``log_model`` gives."""
    import mlflow
    import mlflow.sklearn

    mlflow.log_metrics(metrics(model, certificate))
    mlflow.log_text(model.report_.html, "report.html")
    if model.report_.card is not None:
        mlflow.log_text(model.report_.card, "model-card.md")
    if certificate is not None:
        mlflow.log_text(str(certificate), "certificate.txt")
    return mlflow.sklearn.log_model(model, name=name, serialization_format="cloudpickle")


def tensorboard(writer: Any) -> Callable[[dict[str, Any], int], None]:
    """A callback that adds every number of an epoch to a ``SummaryWriter``."""

    def log(metrics: dict[str, Any], step: int) -> None:
        for name, value in metrics.items():
            if isinstance(value, (int, float)):
                writer.add_scalar(_name(name), float(value), step)

    return log


def _name(name: str) -> str:
    """A name as trackers allow it."""
    return re.sub(r"[^\w\-. :/]", "_", name)
