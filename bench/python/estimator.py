"""The package beside the program and scikit-learn: ratios of times, each pair measured in turn in one run.

Seconds are of the clock, the least of some; "cpu" is the time of the processor, of all threads, which other work on the machine
disturbs less. The program is told to write no page and to train no baseline, which `fit` of the package does not do either.

    cargo build --release -p feasible-cli
    pip install ./python pandas polars
    python bench/python/estimator.py [--rows 1000000] [--program target/release/feasible]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

import feasible
from feasible import FeasibleClassifier, invariant
from feasible._feasible import Table
from feasible._frames import add_array, add_frame


class Took(NamedTuple):
    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:6.2f} s, cpu {self.cpu:.2f} s"


def took(work: Callable[[], object], times: int = 3) -> Took:
    """The least of some times, of this process and those that it waited for."""
    found = []
    for _ in range(times):
        start, before = time.perf_counter(), sum(os.times()[:4])
        work()
        found.append((time.perf_counter() - start, sum(os.times()[:4]) - before))
    return Took(*map(min, zip(*found)))


def side_by_side(what: str, mine: Callable[[], object], other: str, theirs: Callable[[], object], times: int) -> None:
    # In turn, so that what else the machine does meets both.
    pairs = [(took(mine, 1), took(theirs, 1)) for _ in range(times)]
    a, b = (Took(*map(min, zip(*(pair[at] for pair in pairs)))) for at in (0, 1))
    print(f"{what:<38} {a}; {other} {b}; ratio {a.wall / b.wall:.2f}, cpu {a.cpu / b.cpu:.2f}")


def importing() -> None:
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"

    def importing_took(module: str) -> float:
        run = [subprocess.run([sys.executable, "-c", code.format(module)], capture_output=True, text=True) for _ in range(5)]
        return min(float(one.stdout) for one in run)

    print(f"import feasible                        {1e3 * importing_took('feasible'):6.0f} ms   (numpy alone {1e3 * importing_took('numpy'):.0f} ms)")
    size = Path(feasible._feasible.__file__ or "").stat().st_size
    print(f"extension module                       {size / 1e6:6.1f} MB")


def fitting(program: str) -> None:
    X, y, _, _ = feasible.datasets.load("adult")
    numbers = X.select_dtypes("number")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        X.assign(income=y).to_csv(place / "adult.csv", index=False)
        swap = '{ swap = { gender = ["Male", "Female"] } }'
        (place / "adult.toml").write_text(
            '[data]\nfile = "adult.csv"\ntarget = "income"\nmissing = "category"\nsplit = { test = 0.0 }\n'
            f'[[requirement]]\nname = "gender"\nloss = "kl"\nkind = "pointwise"\nat_most = 1e-3\ncounterfactual = {swap}\n'
        )
        np.savetxt(place / "numbers.csv", np.column_stack([numbers, y == y.iloc[0]]), delimiter=",", fmt="%.17g",
                   header=",".join([f"x{at}" for at in range(numbers.shape[1])] + ["target"]), comments="")  # fmt: skip
        (place / "numbers.toml").write_text('[data]\nfile = "numbers.csv"\ntarget = "target"\ntask = "classify"\nsplit = { test = 0.0 }\n')

        def run(name: str) -> None:
            out = [program, "fit", str(place / f"{name}.toml"), "--output", str(place / "run"), "--force", "--quiet"]
            out += ["--no-report", "--no-baseline"]
            done = subprocess.run(out, capture_output=True, text=True)
            assert done.returncode in (0, 1), done.stderr

        array, target = numbers.to_numpy(dtype=np.float64), (y == y.iloc[0]).to_numpy().astype(int)
        own = FeasibleClassifier([invariant("gender", swap=("Male", "Female"), at_most=1e-3)], missing="category")
        for what, theirs, mine in (
            ("fit, Adult, pandas", lambda: run("adult"), lambda: own.fit(X, y)),
            ("fit, Adult's numbers, numpy", lambda: run("numbers"), lambda: FeasibleClassifier().fit(array, target)),
        ):
            side_by_side(what, mine, "program", theirs, 5)


def converting(rows: int) -> None:
    X = np.random.default_rng(0).normal(size=(rows, 50))
    names = [f"x{at}" for at in range(50)]
    frame = pd.DataFrame(X, columns=names)
    for what, add in (
        ("numpy", lambda: add_array(Table(), X, names)),
        ("pandas", lambda: add_frame(Table(), frame)),
        ("polars", lambda arrow=pl.from_pandas(frame): add_frame(Table(), arrow)),
    ):
        print(f"{f'convert {rows:,} x 50, {what}':<38} {took(add)}")


def predicting(rows: int) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 50))
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    mine = FeasibleClassifier(epochs=2, hidden=[64]).fit(X[:20000], y[:20000])
    theirs = MLPClassifier((64,), max_iter=2).fit(X[:20000], y[:20000])
    ours = lambda: mine.predict_proba(X)  # noqa: E731
    side_by_side(f"predict_proba, {rows:,} x 50", ours, "scikit-learn's MLP", lambda: theirs.predict_proba(X), 4)


def main() -> None:
    import warnings

    warnings.simplefilter("ignore", ConvergenceWarning)
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--program", default="target/release/feasible")
    options = parser.parse_args()
    print(f"feasible {feasible.__version__}, {os.cpu_count()} cores")
    importing()
    converting(options.rows)
    predicting(options.rows)
    if Path(options.program).exists():
        fitting(options.program)
    else:
        print(f"{options.program} is not there: fit is not compared with it")


if __name__ == "__main__":
    main()
