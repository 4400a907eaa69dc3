"""What becomes of the rows that are taken for validation: one network without them, one that is refitted on all rows, or the average of the models of five folds.

Trains the tables of the development half without a requirement: one network (`training.folds = 1`), the same once more on all training rows with the same
rates for as many epochs as were kept, and as `fit` does by default. Prints the loss of the first on the test rows (cross-entropy, or the mean squared error), and the
means of the paired differences of the others from it in per cent with their standard errors: negative where they are better.

    bench/tables/refit [--splits 10] [--most-rows 20000] [--tables wine,diabetes]
"""

import argparse
import json
import subprocess
import tempfile
import tomllib
from pathlib import Path

import numpy as np
from catalogue import manifest
from feasible import problem
from lines import BENCH
from rows import load, write_split


def fitted(args: argparse.Namespace, text: str, settings: dict[str, str]) -> tuple[dict, dict]:
    """What the program says of a model, and the settings with which it was trained."""
    with tempfile.TemporaryDirectory(prefix="feasible-refit-") as scratch:
        file, run = Path(scratch) / "problem.toml", Path(scratch) / "run"
        file.write_text(text)
        command = [args.feasible, "fit", file, "-o", run, "-q", "--no-report", "--threads", "1"]
        command += [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise SystemExit(done.stderr)
        return json.loads((run / "summary.json").read_text()), tomllib.loads((run / "problem.toml").read_text())


def losses(args: argparse.Namespace, text: str) -> list[float]:
    """The test losses of one network with a share of the rows kept for validation, of the refit on all, and of the average."""
    first, spec = fitted(args, text, {"training.folds": 1})
    if not first.get("validation"):
        raise SystemExit(f"no validation rows were taken:\n{text}")
    again = {
        "data.split": "{ validation = 0 }",
        "objective.weight_decay": spec["objective"]["weight_decay"],
        "training.batch_size": spec["training"]["batch_size"],
        "training.epochs": first["kept_epoch"],
        "training.schedule": f"{{ cosine = {{ over = {float(spec['training']['epochs'])} }} }}",
        "training.keep": "last",
        "training.patience": 0,
    }
    others = [fitted(args, text, settings)[0] for settings in (again, {})]
    return [summary["test"]["objective"] for summary in (first, *others)]


def difference(one: np.ndarray, other: np.ndarray) -> str:
    change = 100 * (other - one) / one.mean()
    spread = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else np.nan
    return f"{change.mean():>+11.2f} ± {spread:.2f} %".rjust(20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--most-rows", type=int, default=20_000)
    parser.add_argument("--tables", type=lambda text: text.split(","))
    parser.add_argument("--feasible", type=Path, default=BENCH.parent / "target/release/feasible")
    parser.add_argument("--cache", type=Path, default=BENCH / ".tables")
    args = parser.parse_args()
    args.feasible = args.feasible.resolve()
    tables = [t for t in manifest(args.cache) if t["half"] == "development" and t["rows"] <= args.most_rows]
    print(f"{'table':<16}{'rows':>7}{'one network':>13}{'refitted':>20}{'average (default)':>20}")
    for table in sorted(tables, key=lambda t: t["rows"]):
        if args.tables and table["name"] not in args.tables:
            continue
        rows = load(args.cache, table)
        found = [losses(args, problem(rows, write_split(args.cache, rows, n), "none", None)) for n in range(args.splits)]
        one, *others = np.array(found).T
        print(f"{table['name']:<16}{table['rows']:>7}{one.mean():>13.5g}{''.join(difference(one, of) for of in others)}", flush=True)


if __name__ == "__main__":
    main()
