"""Trainings on a Dask cluster of this machine; not run where Dask is not installed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from feasible import FeasibleError

distributed: Any = pytest.importorskip("distributed")
import feasible.dask  # noqa: E402

PROGRAM = os.environ.get("FEASIBLE_PROGRAM", "")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="FEASIBLE_PROGRAM names no program: python/check builds it")
EPOCHS = ["training.epochs=3"]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        yield client


def models(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in sorted(directory.rglob("model.safetensors"))}


def alone(directory: Path, *words: str) -> None:
    done = subprocess.run([PROGRAM, *words, "--threads", "1", "-o", directory, "-q", "--no-report"], capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr


def test_a_sweep_is_that_of_one_machine(client: Any, tmp_path: Path) -> None:
    options: dict[str, Any] = {"requirement": "invariance", "limits": [1e-3, 1e-2], "seeds": 2, "settings": EPOCHS, "program": PROGRAM}
    frontier = feasible.dask.sweep(client, "compas", tmp_path / "cluster", **options)
    assert [(p["limit"], p["seed"]) for p in frontier["points"]] == [(1e-3, 0), (1e-3, 1), (1e-2, 0), (1e-2, 1)]
    words = ("--requirement", "invariance", "--limits", "1e-3,1e-2", "--seeds", "2", "--set", *EPOCHS)
    alone(tmp_path / "alone", "sweep", "compas", *words)
    found = models(tmp_path / "cluster")
    assert len(found) == 4 and found == models(tmp_path / "alone")
    # Finished, it is not trained again.
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "cluster").rglob("model.safetensors")}
    assert feasible.dask.sweep(client, "compas", tmp_path / "cluster", **options) == frontier
    assert all(file.stat().st_mtime_ns == time for file, time in before.items())


def test_seeds_are_shared_out(client: Any, tmp_path: Path) -> None:
    results = feasible.dask.fit(client, "compas", tmp_path / "cluster", seeds=3, settings=EPOCHS, parts=3, program=PROGRAM)
    assert len(results["runs"]) == 3
    alone(tmp_path / "alone", "fit", "compas", "--seeds", "3", "--set", *EPOCHS)
    assert models(tmp_path / "cluster") == models(tmp_path / "alone")


def test_a_search_is_that_of_one_machine(client: Any, tmp_path: Path) -> None:
    settings = ["training.epochs=9"]
    found = feasible.dask.tune(client, "compas", tmp_path / "cluster", trials=9, settings=settings, program=PROGRAM)
    assert len(found["trials"]) == 9 and found["chosen"] is not None
    alone(tmp_path / "alone", "tune", "compas", "--trials", "9", "--set", *settings)
    assert (tmp_path / "cluster/tune.json").read_bytes() == (tmp_path / "alone/tune.json").read_bytes()
    assert models(tmp_path / "cluster") == models(tmp_path / "alone")


def test_what_goes_wrong_is_said_in_the_words_of_the_program(client: Any, tmp_path: Path) -> None:
    with pytest.raises(FeasibleError, match="no requirement is named 'invarianse': did you mean 'invariance'"):
        feasible.dask.sweep(client, "compas", tmp_path / "run", requirement="invarianse", limits="1e-3..1e-2", program=PROGRAM)
    with pytest.raises(FeasibleError, match="cannot be started on this worker"):
        feasible.dask.fit(client, "compas", tmp_path / "run", seeds=2, program="no-such-program")
    with pytest.raises(FeasibleError, match="give a list of KEY=VALUE"):
        feasible.dask.fit(client, "compas", tmp_path / "run", seeds=2, settings="training.epochs=3", program=PROGRAM)
    with pytest.raises(FeasibleError, match="parts: 0"):
        feasible.dask.fit(client, "compas", tmp_path / "run", seeds=2, parts=0, program=PROGRAM)
