"""Whether refitting on all rows pays: the validation rows given back to the training once they have chosen its length.

Trains the tables of the development half without a requirement, as `fit` does by default, and then once more on all training rows with the same
rates for as many epochs as were kept. Prints the loss of both on the test rows (cross-entropy, or the mean squared error), and the mean of the
paired differences in per cent with its standard error: negative where refitting is better.

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


def pair(args: argparse.Namespace, text: str) -> tuple[float, float]:
    """The test loss with a share of the rows kept for validation, and that of the refit on all."""
    first, spec = fitted(args, text, {})
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
    second, _ = fitted(args, text, again)
    return first["test"]["objective"], second["test"]["objective"]


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
    print(f"{'table':<16}{'rows':>7}{'by default':>13}{'refitted':>13}{'difference':>22}")
    for table in sorted(tables, key=lambda t: t["rows"]):
        if args.tables and table["name"] not in args.tables:
            continue
        rows = load(args.cache, table)
        losses = [pair(args, problem(rows, write_split(args.cache, rows, n), "none", None)) for n in range(args.splits)]
        before, after = np.array(losses).T
        change = 100 * (after - before) / before.mean()
        spread = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else np.nan
        print(f"{table['name']:<16}{table['rows']:>7}{before.mean():>13.5g}{after.mean():>13.5g}{change.mean():>+12.2f} ± {spread:.2f} %", flush=True)


if __name__ == "__main__":
    main()
