"""Tables of packages as CSV files, and their manifest: what fresh.py and blind.py have in common."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from catalogue import PACKAGES
from lines import BENCH

MOST = 5_000  # rows; larger tables are sampled, seed 0


def write(cache: Path, name: str, half: str, package: str, rows: pd.DataFrame, target: str, classes: bool, sensitive: str | None, least: int = 1) -> dict:
    """Writes a table as CSV, without columns that are empty and classes of fewer than `least` rows; its line of the manifest.

    Of two classes the rarer is positive. A target of text is one of classes also without `classes`.
    """
    rows = rows[rows[target].notna()]
    found = len(rows)
    if found > MOST:
        rows = rows.sample(MOST, random_state=0).sort_index()
    positive, task = None, "regression"
    if classes or not pd.api.types.is_numeric_dtype(rows[target]):
        rows = rows.assign(**{target: "class " + rows[target].astype(str).str.strip()})
        rows = rows[rows[target].map(rows[target].value_counts()) >= least]
        rarest_first = rows[target].value_counts().sort_index().sort_values(kind="stable").index
        task = "binary" if len(rarest_first) == 2 else "classes"
        positive = rarest_first[0] if task == "binary" else None
    if sensitive:
        rows = rows.assign(**{sensitive: "is " + rows[sensitive].astype(str)})
    rows = rows.dropna(axis=1, how="all")
    rows.to_csv(cache / "csv" / f"{name}.csv", index=False)
    version, licence = PACKAGES[package]
    return {
        "name": name, "half": half, "rows": len(rows), "rows_in_package": found, "columns": len(rows.columns) - 1, "task": task, "target": target,
        "positive": positive, "sensitive": sensitive, "missing": bool(rows.isna().any().any()), "package": package, "version": version, "licence": licence,
    }  # fmt: skip


def script(text: str, cache: Path, lines: Callable[[Path, Path], list[dict]]) -> None:
    """The program around `lines`, a function of the cache and of the directory of the packages."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=cache)
    args = parser.parse_args()
    (args.cache / "csv").mkdir(parents=True, exist_ok=True)
    packages = BENCH / ".tables"
    (packages / "packages").mkdir(parents=True, exist_ok=True)
    found = lines(args.cache, packages)
    (args.cache / "manifest.json").write_text(json.dumps(found, indent=1) + "\n")
    print(pd.DataFrame(found).drop(columns=["version", "licence"]).to_string(index=False))
