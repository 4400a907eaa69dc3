"""Requirements of generated tables: as a problem file, and as numbers of any rows.

A requirement is one or several clauses "Σ a · mean(loss of some rows) ≤ limit". Of a clause and some rows, `Seen` has the violation (value − limit;
positive is violated), its standard error, the rows it speaks of, and, where each row violates or not, how many do.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

KL_LIMIT, ALL_BUT = 1e-3, 0.01


@dataclass
class Stated:
    kind: str
    group: str | None
    limit: float

    @property
    def name(self) -> str:
        return f"{self.kind} {self.group}" if self.group else self.kind

    def toml(self, groups: list[str]) -> str:
        where = f"where = \"group == '{self.group}'\"\n" if self.group else ""
        fair = {"parity": "demographic-parity", "opportunity": "equal-opportunity", "odds": "equalised-odds"}
        loss = {"loss": "cross-entropy", "squared": "squared"}
        text = f'\n[[requirement]]\nname = "{self.name}"\n{where}'
        if self.kind in ("recall", "precision"):
            return text + f'rate = "{self.kind}"\nat_least = {self.limit}\n'
        if self.kind == "error":
            return text + f'rate = "error"\nat_most = {self.limit}\n'
        if self.kind in fair:
            return text + f'fairness = "{fair[self.kind]}"\ngroups = "group"\nwithin = {self.limit}\n'
        if self.kind in loss:
            return text + f'loss = "{loss[self.kind]}"\nat_most = {self.limit}\n'
        swap = f'{{ swap = {{ group = ["{groups[0]}", "{groups[1]}"] }} }}'
        return text + f'loss = "kl"\nkind = "pointwise"\nat_most = {KL_LIMIT}\ncounterfactual = {swap}\n'


@dataclass
class Answered:
    """Rows and what a model says about them."""

    data: pd.DataFrame
    chosen: np.ndarray  # predicted "yes"
    p: np.ndarray  # of "yes", or the number that is predicted
    swapped: np.ndarray | None

    def take(self, rows) -> "Answered":
        swapped = None if self.swapped is None else self.swapped[rows]
        return Answered(self.data.iloc[rows], self.chosen[rows], self.p[rows], swapped)


@dataclass
class Seen:
    rows: int
    violation: float
    error: float
    hits: int | None  # rows that violate, of a share
    allowed: float | None


def smoothed(rate: float, rows: float) -> float:
    rate = (rate * rows + 1) / (rows + 2)
    return rate * (1 - rate)


def share(violates: np.ndarray, allowed: float) -> Seen:
    n = len(violates)
    if not n:
        return Seen(0, np.nan, np.nan, 0, allowed)
    hits = int(violates.sum())
    return Seen(n, hits / n - allowed, float(np.sqrt(smoothed(hits / n, n) / n)), hits, allowed)


def mean(losses: np.ndarray, limit: float) -> Seen:
    n = len(losses)
    if not n:
        return Seen(0, np.nan, np.nan, None, None)
    return Seen(n, float(losses.mean() - limit), float(losses.std() / np.sqrt(n)), None, None)


def gap(chosen: np.ndarray, group: np.ndarray, among: np.ndarray, limit: float, sign: float) -> Seen:
    own, everyone = group & among, among
    n, m = own.sum(), everyone.sum()
    if not n:
        return Seen(0, np.nan, np.nan, None, None)
    a, b = chosen[own].mean(), chosen[everyone].mean()
    influence = np.where(own, (chosen - a) / n, 0) - np.where(everyone, (chosen - b) / m, 0)
    added = sum(max(0, smoothed(r, k) - r * (1 - r)) / k for r, k in ((a, n), (b, m)))
    return Seen(int(n), float(sign * (a - b) - limit), float(np.sqrt((influence**2).sum() + added)), None, None)


def kl(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    p, q = np.clip(p, 1e-12, 1 - 1e-12), np.clip(q, 1e-12, 1 - 1e-12)
    return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))


def clauses(stated: Stated, of: Answered, groups: list[str]) -> list[Seen]:
    """What the rows show of each clause, in the same order for all rows."""
    everyone = np.ones(len(of.data), bool)
    mine = (of.data["group"] == stated.group).to_numpy() if stated.group else everyone
    if stated.kind == "squared":
        return [mean((of.p - of.data["y"].to_numpy())[mine] ** 2, stated.limit)]
    yes = (of.data["y"] == "yes").to_numpy()
    if stated.kind == "recall":
        return [share(~of.chosen[mine & yes], 1 - stated.limit)]
    if stated.kind == "precision":
        return [share(~yes[mine & of.chosen], 1 - stated.limit)]
    if stated.kind == "error":
        return [share((of.chosen != yes)[mine], stated.limit)]
    if stated.kind == "loss":
        own = np.clip(np.where(yes, of.p, 1 - of.p), 1e-12, 1)
        return [mean(-np.log(own)[mine], stated.limit)]
    if stated.kind == "counterfactual":
        return [share(kl(of.p, of.swapped) > KL_LIMIT, ALL_BUT)]
    among = {"parity": [everyone], "opportunity": [yes], "odds": [yes, ~yes]}[stated.kind]
    own = [(of.data["group"] == g).to_numpy() for g in groups]
    return [gap(of.chosen, g, a, stated.limit, sign) for a in among for g in own for sign in (1, -1)]
