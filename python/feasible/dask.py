"""Many trainings on the workers of a Dask cluster.

    from dask.distributed import Client
    import feasible.dask

    client = Client("tcp://scheduler:8786")
    frontier = feasible.dask.sweep(
        client, "lending.toml", "runs/frontier", requirement="regions", limits="0.02..0.2", seeds=5
    )
    for point in frontier["points"]:
        print(point["limit"], point["seed"], point["train"]["objective"])

Every worker runs the program ``feasible`` on its share (``--part``), in a directory that all workers see; what is finished there is not
trained again, so a call that was interrupted goes on where it was. The results have the same bits as those of one machine.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

from distributed import Client, as_completed

from ._feasible import FeasibleError

__all__ = ["fit", "sweep", "tune"]

# The rounds of a search, at most: its trials are compared after each.
_ROUNDS = 3


def sweep(
    client: Client,
    problem: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    *,
    requirement: str,
    limits: str | Sequence[float],
    seeds: int = 3,
    settings: Sequence[str] = (),
    parts: int | None = None,
    program: str = "feasible",
) -> dict[str, Any]:
    """Solves a problem at several limits of a requirement, and returns the frontier as ``sweep.json`` has it.

    ``problem``, ``directory`` and ``program`` are paths on the workers. ``limits`` is a range such as ``"1e-3..0.1"``, or the limits
    themselves; ``settings`` are as after ``--set``. There are as many parts as workers, unless ``parts`` says otherwise.
    """
    given = limits if isinstance(limits, str) else ",".join(repr(float(limit)) for limit in limits)
    command = ["sweep", os.fspath(problem), "--requirement", requirement, f"--limits={given}"]
    frontier: dict[str, Any] = _spread(client, [*command, *_common(seeds, settings)], directory, parts, program, "sweep.json")["frontier"]
    return frontier


def fit(
    client: Client,
    problem: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    *,
    seeds: int,
    settings: Sequence[str] = (),
    parts: int | None = None,
    program: str = "feasible",
) -> dict[str, Any]:
    """Trains a problem with several seeds, and returns all results as ``summary.json`` has them. Arguments are as for ``sweep``."""
    command = ["fit", os.fspath(problem), *_common(seeds, settings)]
    return _spread(client, command, directory, parts, program, "summary.json")


def tune(
    client: Client,
    problem: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    *,
    trials: int | None = None,
    settings: Sequence[str] = (),
    parts: int | None = None,
    program: str = "feasible",
) -> dict[str, Any]:
    """Searches settings, and returns all trials and the number of the chosen one as ``tune.json`` has them.

    The run of the chosen settings is in ``directory``. Arguments are as for ``sweep``; there are as many ``trials`` as the problem file
    says, or 27.
    """
    given = [] if trials is None else ["--trials", str(trials)]
    command = ["tune", os.fspath(problem), *given, *_settings(settings)]
    return _spread(client, command, directory, parts, program, "tune.json", _ROUNDS)


def _common(seeds: int, settings: Sequence[str]) -> list[str]:
    return ["--seeds", str(seeds), *_settings(settings)]


def _settings(settings: Sequence[str]) -> list[str]:
    if isinstance(settings, str):
        raise FeasibleError(f'settings: give a list of KEY=VALUE, such as ["{settings}"]')
    return [word for setting in settings for word in ("--set", setting)]


def _spread(
    client: Client, command: list[str], directory: str | os.PathLike[str], parts: int | None, program: str, result: str, rounds: int = 1
) -> dict[str, Any]:
    workers: dict[str, int] = client.nthreads()
    if not workers:
        raise FeasibleError("the cluster has no workers: start some, or wait for them (client.wait_for_workers)")
    addresses = sorted(workers)
    count = len(addresses) if parts is None else parts
    if count < 1:
        raise FeasibleError(f"parts: {count} is less than 1")
    top = os.fspath(directory)
    futures: list[Any] = []
    try:
        for _ in range(rounds):
            futures.clear()
            for part in range(count):
                address = addresses[part % len(addresses)]
                words = [*command, "-o", top, "--part", f"{part + 1}/{count}", "--threads", str(workers[address]), "--no-report", "-q"]
                futures.append(client.submit(_run, program, words, workers=[address], allow_other_workers=True, pure=False, key=None))
            for done in as_completed(futures):
                done.result()
        join = client.submit(_joined, program, top, result, pure=False)
        futures.append(join)
        joined: dict[str, Any] = json.loads(join.result())
        return joined
    finally:
        # Those that have not begun, should one have failed or the call be interrupted.
        client.cancel(futures)


def _run(program: str, words: list[str]) -> str:
    """Runs the program on a worker. That a requirement is not met (status 1) is a result."""
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise FeasibleError(f"{program} cannot be started on this worker: {error}. Install it there, or name it with program=") from None
    if done.returncode not in (0, 1):
        raise FeasibleError(done.stderr.strip().removeprefix("error: ") or f"{program} ended with status {done.returncode}")
    return done.stdout


def _joined(program: str, directory: str, result: str) -> str:
    """Joins the parts where they are, and returns the file of their results."""
    _run(program, ["report", directory, "-q"])
    with open(os.path.join(directory, result), encoding="utf-8") as file:
        return file.read()
