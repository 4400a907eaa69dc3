"""Feasible through its program, with a problem file that has neither a [model] nor a [training] section."""

import argparse
import json
import os
import resource
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from measure import Prediction, Rows, quality
from requirements import REQUIREMENTS
from rows import kept, shown, split, write_split


class Failed(Exception):
    """The program ended with neither 0 nor 1, or took too long."""


def problem(rows: Rows, folder: Path, requirement: str, limit: float | None) -> str:
    table = rows.table
    text = f'[data]\ntrain = "{folder}/train.csv"\ntest = "{folder}/test.csv"\ntarget = "{table["target"]}"\n'
    text += 'unseen = "other"\n'
    if table["positive"]:
        text += f'positive = "{table["positive"]}"\n'
    if table["task"] == "regression":
        text += 'task = "regress"\n'  # few whole numbers would be taken for classes
    if table["missing"]:
        text += 'missing = "category"\n'
    if requirement != "none":
        text += f'\n[[requirement]]\nname = "{requirement}"\n{REQUIREMENTS[requirement].toml(table, limit)}\n'
    return text


def command(args: argparse.Namespace, *words) -> subprocess.CompletedProcess:
    env = os.environ | {"FEASIBLE_THREADS": "1", "NO_COLOR": "1"}
    try:
        done = subprocess.run([args.feasible, *map(str, words)], capture_output=True, text=True, env=env, timeout=args.seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f"{words[0]} takes more than {args.seconds:g} s") from None
    if done.returncode not in (0, 1):
        raise Failed(f"{words[0]} exits with {done.returncode}: {done.stderr.strip()}")
    return done


def cpu() -> float:
    """Seconds of CPU time of the programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def predictions(args: argparse.Namespace, run: Path, table: Path, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities in the order of the classes, or numbers, of all rows."""
    found = json.loads(command(args, "predict", run, table, "--json").stdout)
    if not rows.classes:
        return None, np.array([row["value"] for row in found["rows"]])
    order = [found["classes"].index(name) if name in found["classes"] else -1 for name in rows.classes]
    p = np.array([[*row["probabilities"], 0.0] for row in found["rows"]])[:, order]
    return np.array([row["class"] for row in found["rows"]]), p


def fitted(
    args: argparse.Namespace, rows: Rows, number: int, requirement: str, limit: float | None
) -> tuple[Prediction, dict]:
    """Predictions of all rows of the table, and what the program said about its model."""
    folder = write_split(args.cache, rows, number)
    name = rows.table["name"]
    with tempfile.TemporaryDirectory(prefix="feasible-tables-") as scratch:
        file, run = Path(scratch) / "problem.toml", Path(scratch) / "run"
        file.write_text(problem(rows, folder, requirement, limit))
        began = cpu()
        done = command(args, "fit", file, "--output", run, "--no-report", "--quiet")
        facts = {"cpu": cpu() - began, "exit": done.returncode}
        summary = json.loads((run / "summary.json").read_text())
        labels, outputs = predictions(args, run, args.cache / "csv" / f"{name}.csv", rows)
        p = Prediction(numbers=outputs) if labels is None else Prediction(labels, outputs)
        if rows.table["sensitive"] and labels is not None:
            _, p.swapped = predictions(args, run, args.cache / "csv" / f"{name}.swapped.csv", rows)
    return p, facts | said(summary) | truth(rows, number, requirement, p, summary)


def said(summary: dict) -> dict:
    """How training ended, whether it was told that a requirement may not hold on new rows, and the least that its certificate says of one."""
    facts = {"outcome": summary["outcome"]["ended"], "epochs": summary["epochs"], "told": bool(summary.get("doubts"))}
    claims = summary.get("certificate", {}).get("certificate", {}).get("findings", [])
    order = ["VIOLATED", "OPEN", "MET", "CERTIFIED"]
    if claims:
        facts["verdict"] = min((claim["verdict"] for claim in claims), key=order.index)
    return facts


def truth(rows: Rows, number: int, requirement: str, p: Prediction, summary: dict) -> dict:
    """Whether the program's accuracy or error is ours; the requirement's value on the test rows that it saw, and on those it did not."""
    _, test = split(rows, number)
    measure = "accuracy" if rows.classes else "rmse"
    ours = quality(rows.take(shown(test)), p.take(shown(test)))[measure]
    facts = {"agrees": bool(np.isclose(ours, summary["test"][measure], rtol=1e-4))}
    if requirement == "none":
        return facts
    value = REQUIREMENTS[requirement].value
    parts = {"shown": shown(test), "kept": kept(test)}
    return facts | {part: value(rows.take(index), p.take(index)) for part, index in parts.items()}
