"""Lines of results by table, requirement, competitor and split, and what is computed of them."""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lines import read
from requirements import REQUIREMENTS

BETTER = {"accuracy": +1, "log_loss": -1, "rmse": -1, "held": +1}
NAMES = {"accuracy": "accuracy", "log_loss": "log-loss", "rmse": "RMSE", "held": "held on test"}
UNCONSTRAINED = ("linear", "mlp", "boosting")


@dataclass
class Cell:
    """One competitor on one table under one requirement: a line for each split."""

    requirement: str
    limit: float | None
    lines: dict[int, dict]

    def numbers(self, measure: str, part: str = "test") -> dict[int, float]:
        if measure == "held":
            holds = REQUIREMENTS[self.requirement].holds
            return {s: float(holds(v, self.limit)) for s, v in self.numbers(self.requirement, part).items()}
        return {s: l[part][measure] for s, l in sorted(self.lines.items()) if measure in l.get(part, {})}

    def mean(self, measure: str, part: str = "test") -> float:
        found = self.numbers(measure, part)
        return float(np.mean(list(found.values()))) if found else np.nan

    def spread(self, measure: str, part: str = "test") -> str:
        return spread(list(self.numbers(measure, part).values()))

    def at(self, splits) -> "Cell":
        """The lines of these splits only."""
        return Cell(self.requirement, self.limit, {s: l for s, l in self.lines.items() if s in splits})

    def held(self, part: str = "test") -> str:
        found = list(self.numbers("held", part).values())
        return f"{sum(found):.0f} of {len(found)}" if found else ""


def number(value: float, digits: int) -> str:
    """Without powers of ten."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.{digits}g}"


def spread(values: list[float]) -> str:
    """Mean ± standard error."""
    if not values:
        return ""
    mean = number(np.mean(values), 4)
    return mean if len(values) == 1 else f"{mean} ± {number(np.std(values, ddof=1) / np.sqrt(len(values)), 2)}"


def common(ours: Cell, theirs: Cell, measure: str) -> list[int]:
    return sorted(ours.numbers(measure).keys() & theirs.numbers(measure).keys())


def behind(ours: Cell, theirs: Cell, measure: str) -> tuple[float, float]:
    """How much worse we are, split by split: mean and standard error."""
    a, b = ours.numbers(measure), theirs.numbers(measure)
    d = np.array([BETTER[measure] * (b[s] - a[s]) for s in common(ours, theirs, measure)])
    error = d.std(ddof=1) / np.sqrt(len(d)) if len(d) > 1 else np.inf
    return (float(d.mean()) if len(d) else np.nan), float(error)


class Results:
    def __init__(self, tables: list[dict], peers: Path, feasible: dict[str, Path]) -> None:
        self.tables = tables
        found: dict[tuple[str, str], dict[str, dict[int, dict]]] = defaultdict(lambda: defaultdict(dict))
        for line in read(peers).values():
            found[line["table"], line["requirement"]][line["competitor"]][line["split"]] = line
        for name, file in feasible.items():
            for line in read(file).values():
                found[line["table"], line["requirement"]][name][line["split"]] = line
        self.found = found

    def cells(self, table: str, requirement: str) -> dict[str, Cell]:
        """By competitor. Models without a requirement are measured against every one of them."""
        own = self.found.get((table, requirement), {})
        free = self.found.get((table, "none"), {}) if requirement != "none" else {}
        limit = next((l["limit"] for by in own.values() for l in by.values() if "limit" in l), None)
        all_of = {name: by for name, by in free.items() if name in UNCONSTRAINED} | own
        return {name: Cell(requirement, limit, by) for name, by in all_of.items()} if own else {}


def measures(table: dict) -> list[str]:
    return ["rmse"] if table["task"] == "regression" else ["accuracy", "log_loss"]
