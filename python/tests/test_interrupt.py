"""Ctrl-C, threads, and a bug in the extension."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from feasible import FeasibleClassifier, _feasible

from .conftest import Rows


def test_ctrl_c_returns_the_best_so_far(train: Rows) -> None:
    def press(metrics: dict[str, object], step: int) -> None:
        if step == 3:
            os.kill(os.getpid(), signal.SIGINT)

    # A shell that starts the tests in the background has them ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.warns(ConvergenceWarning, match="interrupted after"):
            model = FeasibleClassifier(epochs=100_000, callback=press, settings={"training": {"patience": 100_000}}).fit(*train)
    finally:
        signal.signal(signal.SIGINT, before)
    assert 3 <= model.summary_["epochs"] < 100_000
    assert model.score(*train) > 0.6


def test_other_threads_run_while_one_trains(train: Rows) -> None:
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    FeasibleClassifier(epochs=300, settings={"training": {"patience": 300}}).fit(*train)
    done.set()
    thread.join()
    assert counted > 20


def test_trainings_in_several_threads_do_not_meet(train: Rows) -> None:
    X, y = train
    found: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: found.append(FeasibleClassifier(epochs=3).fit(X, y).predict_proba(X)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3 and (found[0] == found[1]).all() and (found[0] == found[2]).all()


@pytest.mark.skipif(not hasattr(_feasible, "panic_for_a_test"), reason="a build for use, not for tests")
@pytest.mark.parametrize("on_a_thread", [False, True])
def test_a_panic_is_an_exception_and_the_interpreter_lives(on_a_thread: bool, train: Rows) -> None:
    with pytest.raises(BaseException, match="a bug, for a test"):
        getattr(_feasible, "panic_for_a_test")(on_a_thread)
    assert FeasibleClassifier(epochs=1).fit(*train).score(*train) > 0.4
