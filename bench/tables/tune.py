"""Does `feasible tune` pay? The settings it chooses against those of `fit`, on test rows: the same rows, seeds and requirements.

Of every table at most 3,000 rows, of which at most 700 are trained and validated on and the others are test rows; without requirements, and with one. The rule by which
`tune` chooses may be changed on the development half only; docs/tune.md has the figures of both.
"""

import argparse
import json
import math
import tempfile
from pathlib import Path

import numpy as np
from catalogue import manifest
from feasible import Failed, command, problem
from lines import BENCH, HALVES, cache_of
from rows import limits, load

MOST, TRAIN = 3000, 700


def facts(run: Path) -> dict:
    test = json.loads((run / "summary.json").read_text())["test"]
    return {"objective": test["objective"], "met": all(r["met"] for r in test["requirements"])}


def measured(args: argparse.Namespace, table: dict, requirement: str, number: int) -> dict:
    """A line: what `fit` and `tune` reach on test rows of one split."""
    rows = load(args.cache, table)
    rows = rows.take(np.sort(np.random.default_rng(99).permutation(len(rows.data))[:MOST]))
    limit = limits(args.sampled, rows).get(requirement)
    order = np.random.default_rng(number).permutation(len(rows.data))
    n = min(TRAIN, round(0.7 * len(order)))
    line = {"table": table["name"], "requirement": requirement, "split": number}
    with tempfile.TemporaryDirectory(prefix="feasible-tune-") as scratch:
        folder = Path(scratch)
        rows.take(order[:n]).data.to_csv(folder / "train.csv", index=False)
        rows.take(order[n:]).data.to_csv(folder / "test.csv", index=False)
        (folder / "p.toml").write_text(problem(rows, folder, requirement, limit))
        seed = ("--set", f"training.seed={number}")
        command(args, "fit", folder / "p.toml", "-o", folder / "fit", "--no-report", "--no-baseline", "--quiet", *seed)
        options = ("--trials", args.trials, "--seed", number, "--no-report", "--quiet")
        command(args, "tune", folder / "p.toml", "-o", folder / "tuned", *options)
        kept = json.loads((folder / "tuned/tune.json").read_text())["chosen"] == 0
        return line | {"kept": kept, "fit": facts(folder / "fit"), "tuned": facts(folder / "tuned")}


def summary(lines: list[dict], constrained: bool) -> str:
    """A row of the table in docs/tune.md; the standard error is over tables."""
    mine = [line for line in lines if (line["requirement"] != "none") == constrained]
    change = lambda line: math.log(line["tuned"]["objective"] / line["fit"]["objective"])
    tables = sorted({line["table"] for line in mine})
    each = np.array([np.mean([change(line) for line in mine if line["table"] == t]) for t in tables])
    error = each.std(ddof=1) / math.sqrt(len(each))
    missed = [sum(not line[way]["met"] for line in mine) for way in ("fit", "tuned")]
    kept = sum(line["kept"] for line in mine)
    met = f"{missed[0]} → {missed[1]}" if constrained else ""
    return (
        f"| {'one requirement' if constrained else 'none'} | {len(tables)} | {len(mine)} | {kept} | {(each < -0.005).sum()} | "
        f"{(each > 0.005).sum()} | {100 * each.mean():+.1f} ± {100 * error:.1f} % | {met} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES, default="development")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--trials", type=int, default=9)
    parser.add_argument("--feasible", type=Path, default=BENCH.parent / "target/release/feasible")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--out", type=Path, help="lines of JSON; a measurement that was stopped continues with them")
    args = parser.parse_args()
    args.cache, args.feasible = cache_of(args.half), args.feasible.resolve()
    args.sampled = args.cache / "sampled"
    args.sampled.mkdir(exist_ok=True)
    out = args.out or args.sampled / f"{args.half}.jsonl"
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    have = {(line["table"], line["requirement"], line["split"]) for line in lines}
    tables = sorted((t for t in manifest(args.cache) if t["half"] == args.half), key=lambda t: t["rows"] * t["columns"])
    for number in range(args.splits):
        for table in tables:
            for requirement in ("none", "recall" if table["task"] == "binary" else "group-loss"):
                if (table["name"], requirement, number) in have:
                    continue
                try:
                    line = measured(args, table, requirement, number)
                except Failed as error:
                    print(f"{table['name']}, {requirement}, split {number}: {error}", flush=True)
                    continue
                lines.append(line)
                with out.open("a") as file:
                    file.write(json.dumps(line) + "\n")
    print("| requirement | tables | searches | settings kept | lower loss | higher loss | change of the loss | missed on test rows |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(summary(lines, constrained) for constrained in (False, True)))


if __name__ == "__main__":
    main()
