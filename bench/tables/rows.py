"""A table in memory, its splits, and the limits of its requirements."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from competitors import reference, swapped
from measure import Rows
from requirements import REQUIREMENTS, group_of, values
from showable import showable


def load(cache: Path, table: dict) -> Rows:
    """Only an empty cell is missing, as for Feasible; labels are text."""
    classification = table["task"] != "regression"
    kind = {table["target"]: str} if classification else None
    data = pd.read_csv(cache / "csv" / f"{table['name']}.csv", keep_default_na=False, na_values=[""], dtype=kind, low_memory=False)
    table = dict(table)
    if table["sensitive"]:
        table["categories"] = sorted(data[table["sensitive"]].unique())
    return Rows(data, table, sorted(data[table["target"]].unique()) if classification else [])


def split(rows: Rows, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of the training rows and of the test rows, 30 % of all."""
    order = np.random.default_rng(number).permutation(len(rows.data))
    test = round(0.3 * len(order))
    return order[test:], order[:test]


def limits(cache: Path, rows: Rows) -> dict[str, float]:
    """The limit of every requirement; also sets the group of group-loss. Computed once for each table."""
    file = cache / "limits" / f"{rows.table['name']}.json"
    if not file.exists():
        cross_validated = reference(rows)
        rows.table["group"] = group_of(rows, cross_validated)
        found = values(rows, cross_validated)
        limit = {name: REQUIREMENTS[name].limit(value) for name, value in found.items()}
        file.parent.mkdir(exist_ok=True)
        shows = {name: showable(name, rows, cross_validated, limit[name]) for name in limit}
        text = json.dumps({"limit": limit, "group": rows.table["group"], "reference": found, "showable": shows}, indent=1)
        file.write_text(text + "\n")
    rule = json.loads(file.read_text())
    rows.table["group"] = rule["group"]
    return rule["limit"]


def write_split(cache: Path, rows: Rows, number: int) -> Path:
    """CSV files for Feasible: the training rows, half of the test rows, and every row with the sensitive column exchanged.

    The program sees only half of the test rows, so that what it says of them can be held against the others.
    """
    folder = cache / "splits" / rows.table["name"] / str(number)
    if not (folder / "test.csv").exists():
        folder.mkdir(parents=True, exist_ok=True)
        train, test = split(rows, number)
        rows.take(train).data.to_csv(folder / "train.csv", index=False)
        rows.take(shown(test)).data.to_csv(folder / "test.csv", index=False)
    other = cache / "csv" / f"{rows.table['name']}.swapped.csv"
    if rows.table["sensitive"] and not other.exists():
        column = rows.table["sensitive"]
        rows.data.assign(**{column: swapped(rows)[column]}).to_csv(other, index=False)
    return folder


def shown(test: np.ndarray) -> np.ndarray:
    return test[: len(test) // 2]


def kept(test: np.ndarray) -> np.ndarray:
    return test[len(test) // 2 :]
