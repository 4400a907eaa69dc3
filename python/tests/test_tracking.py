"""MLflow and TensorBoard themselves, where they are installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from feasible import FeasibleClassifier, rate
from feasible.tracking import log_to_mlflow, metrics, tensorboard

from .conftest import Rows

OLDER = rate("recall", where="age > 50", at_least=0.7)


def test_metrics_are_numbers_under_names_that_trackers_allow(train: Rows, test: Rows) -> None:
    model = FeasibleClassifier([OLDER], epochs=10).fit(*train)
    found = metrics(model, model.certify(*test))
    assert found["recall where age _ 50/limit"] == 0.7
    assert found["certified"] in (0.0, 1.0) and 0 < found["train/accuracy"] <= 1
    assert all(isinstance(value, float) for value in found.values())


def test_mlflow_keeps_the_model_its_metrics_and_its_page(
    train: Rows, test: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    model = FeasibleClassifier([OLDER], epochs=5)
    with mlflow.start_run() as run:
        model.set_params(callback=lambda told, step: mlflow.log_metric("objective", told["objective"], step)).fit(*train)
        model.set_params(callback=None)
        logged = log_to_mlflow(model, model.certify(*test))
        page = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/report.html")
    again = mlflow.sklearn.load_model(logged.model_uri)
    assert (again.predict_proba(test[0]) == model.predict_proba(test[0])).all()
    stored = mlflow.get_run(run.info.run_id).data.metrics
    assert stored["requirements_met"] == float(model.requirements_.met) and "certified" in stored
    assert page == model.report_.html


def test_tensorboard_is_given_every_epoch(train: Rows, tmp_path: Path) -> None:
    board: Any = pytest.importorskip("tensorboardX")
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with board.SummaryWriter(str(tmp_path)) as writer:
        FeasibleClassifier([OLDER], epochs=4, callback=tensorboard(writer)).fit(*train)
    read = events.EventAccumulator(str(tmp_path))
    read.Reload()
    assert [event.step for event in read.Scalars("objective")] == [1, 2, 3, 4]
