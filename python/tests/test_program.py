"""The program and the estimator: the same bits, and each reads what the other writes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import feasible
from feasible import FeasibleClassifier, invariant, rate

PROGRAM = os.environ.get("FEASIBLE_PROGRAM", "")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="FEASIBLE_PROGRAM names no program: python/check builds it")


def run(*arguments: str | Path, status: tuple[int, ...] = (0, 1)) -> str:
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode in status, done.stderr
    return done.stdout


def tensors(file: Path) -> bytes:
    """What a safetensors file has behind its header."""
    content = file.read_bytes()
    return content[8 + int.from_bytes(content[:8], "little") :]


def test_a_parquet_file_that_is_replaced_while_a_fit_starts_gives_its_own_hash_or_a_refusal(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for name in ("first", "second"):
        x = rng.normal(size=300)
        y = np.where(x + 0.5 * rng.normal(size=300) > 0, "yes", "no")
        pd.DataFrame({"x": x, "y": y}).to_parquet(tmp_path / f"{name}.parquet")
    data = '[data]\nfile = "table.parquet"\ntarget = "y"\nsplit = { test = 0.2 }\n'
    (tmp_path / "p.toml").write_text(data + '[model]\nkind = "linear"\n[training]\nepochs = 1\n')

    def fit(table: str, opening: int) -> tuple[str, bytes] | None:
        (tmp_path / "table.parquet").write_bytes((tmp_path / f"{table}.parquet").read_bytes())
        (tmp_path / "new.parquet").write_bytes((tmp_path / "second.parquet").read_bytes())
        fault = {"FEASIBLE_FAULT": f"read:{opening}:new.parquet:table.parquet"} if opening else {}
        words = [PROGRAM, "fit", "p.toml", "-o", "run", "--force", "-q", "--no-report"]
        done = subprocess.run(words, cwd=tmp_path, env={**os.environ, **fault}, capture_output=True, text=True, check=False)
        if done.returncode == 2:
            assert "changed while it was read" in done.stderr
            return None
        assert done.returncode == 0, done.stderr
        (found,) = json.loads((tmp_path / "run" / "run.json").read_text())["tables"]
        return found["sha256"], tensors(tmp_path / "run" / "model.safetensors")

    known = [fit("first", 0), fit("second", 0)]
    assert None not in known and known[0] != known[1]
    found = [fit("first", opening) for opening in range(1, 13)]
    assert all(one is None or one in known for one in found)
    assert known[0] in found and known[1] in found


@pytest.fixture(scope="module")
def adult(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adult")
    X, y, _, _ = feasible.datasets.load("adult")
    X.assign(**{str(y.name): y}).to_csv(folder / "adult.csv", index=False)
    (folder / "adult.toml").write_text(
        f"""
        [data]
        file = "adult.csv"
        target = "{y.name}"
        positive = ">50K"
        missing = "category"
        split = {{ test = 0.0 }}

        [[requirement]]
        name = "gender"
        loss = "kl"
        kind = "pointwise"
        at_most = 1e-3
        counterfactual = {{ swap = {{ gender = ["Male", "Female"] }} }}

        [[requirement]]
        name = "older"
        rate = "recall"
        where = "age > 60"
        at_least = 0.5

        [training]
        epochs = 4
        seed = 5
        """
    )
    return folder


def test_adult_is_trained_to_the_same_bits(adult: Path) -> None:
    run("fit", adult / "adult.toml", "--output", adult / "run")
    frame = pd.read_csv(adult / "adult.csv", keep_default_na=False, na_values=[""])
    y = frame.pop(frame.columns[-1])
    requirements = [
        invariant("gender", swap=("Male", "Female"), at_most=1e-3, every="row"),
        rate("recall", where="age > 60", at_least=0.5, name="older"),
    ]
    one = FeasibleClassifier(requirements, positive=">50K", missing="category", epochs=4, random_state=5)
    model = one.fit(frame, y)
    model.save(adult / "mine")
    assert tensors(adult / "mine" / "model.safetensors") == tensors(adult / "run" / "model.safetensors")
    theirs, mine = (json.loads((adult / of / "summary.json").read_text()) for of in ("run", "mine"))
    assert mine["train"] == theirs["train"] and mine["validation"] == theirs["validation"]
    for name in ("multipliers.csv", "metrics.jsonl", "rows.json"):
        assert (adult / "mine" / name).read_bytes() == (adult / "run" / name).read_bytes()


def test_the_program_predicts_with_a_model_that_was_saved_here(adult: Path) -> None:
    frame = pd.read_csv(adult / "adult.csv", keep_default_na=False, na_values=[""])
    y = frame.pop(frame.columns[-1])
    model = FeasibleClassifier(epochs=2, missing="category").fit(frame, y)
    model.save(adult / "saved")
    run("predict", adult / "saved", adult / "adult.csv", "--output", adult / "predictions.csv")
    theirs = pd.read_csv(adult / "predictions.csv")
    chances = theirs.iloc[:, 2:].to_numpy()
    assert np.abs(chances - model.predict_proba(frame)).max() < 1e-12
    assert (theirs["class"].to_numpy() == model.predict(frame)).all()
    loaded = feasible.load(adult / "run")
    assert isinstance(loaded, FeasibleClassifier) and loaded.predict(frame).shape == (len(frame),)
    assert "older" in repr(loaded.requirements_)
