"""The requirements, and the rule that gives each its limit on a table.

A limit follows from the table alone, by one rule for all tables. The reference is scikit-learn's logistic or ridge regression at its
defaults, cross-validated in five folds over the whole table:

| requirement | limit |
| --- | --- |
| recall | halfway from the reference's recall to 1, at most 0.99 |
| parity, opportunity, odds | half the reference's gap, at least 0.02 |
| counterfactual | KL divergence at most 0.001 for every row when the sensitive column is exchanged; on rows held out, all but 1 % of them |
| group-loss | three quarters of the reference's mean loss in a group: the positive class, the class with the largest loss, or the rows with a target above the upper quartile |
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from measure import KL_LIMIT, Prediction, Rows, apart, kl, mean_loss


@dataclass(frozen=True)
class Requirement:
    name: str
    applies: Callable[[dict], bool]
    limit: Callable[[float], float]  # from the reference's value
    value: Callable[[Rows, Prediction], float | None]
    toml: Callable[[dict, float], str]
    at_least: bool = False

    def holds(self, value: float, limit: float) -> bool:
        return value >= limit if self.at_least else value <= limit


def fair(table: dict) -> bool:
    return table["task"] == "binary" and table["sensitive"] is not None


def selected(rows: Rows, p: Prediction) -> np.ndarray:
    return p.labels == rows.table["positive"]


def recall(rows: Rows, p: Prediction) -> float:
    return float(selected(rows, p)[rows.positive()].mean())


def parity(rows: Rows, p: Prediction) -> float:
    return apart(selected(rows, p), rows.groups(), np.ones(len(rows.data), bool))


def opportunity(rows: Rows, p: Prediction) -> float:
    return apart(selected(rows, p), rows.groups(), rows.positive())


def odds(rows: Rows, p: Prediction) -> float:
    return max(opportunity(rows, p), apart(selected(rows, p), rows.groups(), ~rows.positive()))


def counterfactual(rows: Rows, p: Prediction) -> float | None:
    """Share of rows whose KL divergence is over the limit."""
    return None if p.swapped is None else float((kl(p.probabilities, p.swapped) > KL_LIMIT).mean())


def group_loss(rows: Rows, p: Prediction) -> float | None:
    return mean_loss(rows, p, in_group(rows, rows.table["group"]))


def group_of(rows: Rows, reference: Prediction) -> dict:
    """The group of group-loss, which depends on the reference for problems of several classes."""
    if rows.table["task"] == "binary":
        return {"class": rows.table["positive"]}
    if rows.table["task"] == "regression":
        return {"above": float(np.quantile(rows.target, 0.75))}
    each = {c: mean_loss(rows, reference, rows.target == c) for c in rows.classes}
    return {"class": max(each, key=each.get)}


def in_group(rows: Rows, group: dict) -> np.ndarray:
    if "above" in group:
        return rows.target > group["above"]
    return rows.target.astype(str) == group["class"]


def toml_fairness(kind: str) -> Callable[[dict, float], str]:
    return lambda t, limit: f'fairness = "{kind}"\ngroups = "{t["sensitive"]}"\nwithin = {limit}'


def toml_group(table: dict, limit: float) -> str:
    target, group = f"`{table['target']}`", table["group"]
    where = f"{target} > {group['above']}" if "above" in group else f"{target} == '{group['class']}'"
    loss = "squared" if table["task"] == "regression" else "cross-entropy"
    return f'loss = "{loss}"\nwhere = "{where}"\nat_most = {limit}'


def toml_swap(table: dict, _: float) -> str:
    first, second = table["categories"]
    swap = f'{{ swap = {{ "{table["sensitive"]}" = ["{first}", "{second}"] }} }}'
    return f'loss = "kl"\nkind = "pointwise"\nat_most = {KL_LIMIT}\ncounterfactual = {swap}'


def half_gap(gap: float) -> float:
    return round(max(0.02, gap / 2), 3)


REQUIREMENTS = {
    r.name: r
    for r in [
        Requirement(
            "recall", lambda t: t["task"] == "binary", lambda r: round(min(0.99, (1 + r) / 2), 2), recall,
            lambda t, limit: f'rate = "recall"\nat_least = {limit}', at_least=True,
        ),
        Requirement("parity", fair, half_gap, parity, toml_fairness("demographic-parity")),
        Requirement("opportunity", fair, half_gap, opportunity, toml_fairness("equal-opportunity")),
        Requirement("odds", fair, half_gap, odds, toml_fairness("equalised-odds")),
        Requirement(
            "counterfactual", lambda t: t["task"] != "regression" and t["sensitive"] is not None,
            lambda _: 0.01, counterfactual, toml_swap,
        ),
        Requirement("group-loss", lambda t: True, lambda loss: float(f"{0.75 * loss:.3g}"), group_loss, toml_group),
    ]
}  # fmt: skip


def values(rows: Rows, p: Prediction) -> dict[str, float]:
    """The value of every requirement that applies to the table and can be measured."""
    found = {name: r.value(rows, p) for name, r in REQUIREMENTS.items() if r.applies(rows.table)}
    return {name: value for name, value in found.items() if value is not None}
