"""Adult and COMPAS as the paper prepares them, from the CSV files of `feasible data export`.

Written from the paper's tables, not from Feasible's encoder; `bench/run` checks that both sides
see the same number of columns and rows.
"""

import csv
import itertools
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Row = dict[str, str]
Swap = dict[str, tuple[str, str]]  # column: the two categories to exchange

EDUCATION = dict.fromkeys("Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th".split(), "Before-HS")
RACE = {"Amer-Indian-Eskimo": "Other"}
MARITAL = {
    "Married-civ-spouse": "Married",
    "Married-AF-spouse": "Married",
    "Married-spouse-absent": "Married",
    "Divorced": "Apart",
    "Separated": "Apart",
}
REGIONS = {
    "Latin-America": "Columbia Cuba Guatemala Haiti Ecuador El-Salvador Dominican-Republic Honduras "
    "Jamaica Nicaragua Peru Trinadad&Tobago",
    "Europe": "England France Germany Greece Holand-Netherlands Hungary Italy Ireland Portugal "
    "Scotland Poland Yugoslavia",
    "South-East-Asia": "Cambodia Laos Philippines Thailand Vietnam",
    "China": "China Hong Taiwan",
    "US": "United-States Outlying-US(Guam-USVI-etc) Puerto-Rico",
}
COUNTRY = {name: region for region, names in REGIONS.items() for name in names.split()}
COMPAS_RACE = {"Asian": "Other", "Native American": "Other"}


@dataclass
class Table:
    """`x` and `x_test` are (views, rows, columns): the people, then each of their counterfactuals."""

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    group: np.ndarray  # the sensitive column of the training rows
    group_test: np.ndarray


def read(path: Path) -> list[Row]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def ranges(pairs: list[list[int]]) -> list[int]:
    return [i for first, last in pairs for i in range(first, last + 1)]


def binned(value: str, edges: list[float]) -> str:
    return str(sum(float(value) > edge for edge in edges))


def exchange(row: Row, swap: Swap) -> Row:
    out = dict(row)
    for column, (a, b) in swap.items():
        out[column] = {a: b, b: a}.get(row[column], row[column])
    return out


def encode(train: list[Row], rows: list[Row], swaps: list[Swap]) -> np.ndarray:
    """One column for a variable of two categories, one per category for the others."""
    columns: list[tuple[str, str]] = []
    for name in train[0]:
        categories = sorted({row[name] for row in train})
        kept = categories[1:] if len(categories) == 2 else categories
        columns += [(name, category) for category in kept]
    place = {column: i for i, column in enumerate(columns)}
    out = np.zeros((1 + len(swaps), len(rows), len(columns)), np.float32)
    for view, swap in enumerate([{}, *swaps]):
        for i, row in enumerate(rows):
            for column in exchange(row, swap).items():
                if column in place:
                    out[view, i, place[column]] = 1.0
    return out


def adult(directory: Path) -> Table:
    train, test = read(directory / "adult-train.csv"), read(directory / "adult-test.csv")
    ages = np.array([float(row["age"]) for row in train])
    edges = list(np.quantile(ages, np.arange(1, 6) / 6))

    def prepare(row: Row) -> Row:
        return {
            "age": binned(row["age"], edges),
            "workclass": row["workclass"],
            "education": EDUCATION.get(row["education"], row["education"]),
            "marital": MARITAL.get(row["marital-status"], row["marital-status"]),
            "occupation": row["occupation"],
            "race": RACE.get(row["race"], row["race"]),
            "gender": row["gender"],
            "hours": binned(row["hours-per-week"], [40]),
            "country": COUNTRY.get(row["native-country"], row["native-country"]),
        }

    return table(train, test, prepare, "income", ">50K", "gender", [{"gender": ("Male", "Female")}])


def compas(directory: Path, rows_json: Path) -> Table:
    """On the rows that the run of `rows_json` trained and tested on: all have a charge within 30 days."""
    raw, parts = read(directory / "compas.csv"), json.loads(rows_json.read_text())
    train = [raw[i] for i in ranges(parts["train"])]
    test = [raw[i] for i in ranges(parts["test"])]
    assert all(abs(float(row["days_b_screening_arrest"])) <= 30 for row in train + test)
    ages = np.array([float(row["age"]) for row in train])
    edges = list(np.quantile(ages, np.arange(1, 5) / 5))

    def prepare(row: Row) -> Row:
        return {
            "sex": row["sex"],
            "age": binned(row["age"], edges),
            "race": COMPAS_RACE.get(row["race"], row["race"]),
            "juv_misd": binned(row["juv_misd_count"], [0, 1]),
            "juv_other": binned(row["juv_other_count"], [0, 1]),
            "priors": binned(row["priors_count"], [0, 1, 2, 3, 4]),
            "charge": row["c_charge_degree"],
        }

    sex = ("Male", "Female")
    pairs = list(itertools.combinations(["African-American", "Caucasian", "Hispanic", "Other"], 2))
    swaps: list[Swap] = [{"sex": sex}]
    swaps += [{"race": pair} for pair in pairs]
    swaps += [{"sex": sex, "race": pair} for pair in pairs]
    return table(train, test, prepare, "two_year_recid", "1", "sex", swaps)


def synthetic(file: Path, rows_json: Path) -> Table:
    """The table of synthetic.py: numbers standardised on the training rows, categories one-hot."""
    parts = json.loads(rows_json.read_text())
    with open(file) as lines:
        names = lines.readline().strip().split(",")
    numbers = [i for i, name in enumerate(names) if name.startswith("number")]
    x = np.loadtxt(file, delimiter=",", skiprows=1, usecols=numbers)
    cells = np.loadtxt(file, delimiter=",", skiprows=1, dtype="U3", usecols=range(len(numbers), len(names)))
    train, test = np.array(ranges(parts["train"])), np.array(ranges(parts["test"]))
    x = (x - x[train].mean(0)) / x[train].std(0)
    columns, gender = [x.astype(np.float32)], None
    for j in range(cells.shape[1] - 1):
        categories = np.unique(cells[train, j])
        gender = x.shape[1] if j == 0 else gender
        kept = categories[1:] if len(categories) == 2 else categories
        columns.append((cells[:, j : j + 1] == kept).astype(np.float32))
    x = np.concatenate(columns, 1)
    flipped = x.copy()
    flipped[:, gender] = 1 - flipped[:, gender]
    both, y = np.stack([x, flipped]), (cells[:, -1] == "yes").astype(np.int64)
    group = cells[:, 0]
    return Table(both[:, train], y[train], both[:, test], y[test], group[train], group[test])


def table(train, test, prepare, target: str, positive: str, group: str, swaps: list[Swap]) -> Table:
    fitted = [prepare(row) for row in train]
    return Table(
        encode(fitted, fitted, swaps),
        np.array([row[target] == positive for row in train], np.int64),
        encode(fitted, [prepare(row) for row in test], swaps),
        np.array([row[target] == positive for row in test], np.int64),
        np.array([row[group] for row in train]),
        np.array([row[group] for row in test]),
    )
