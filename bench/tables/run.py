"""Measures Feasible and its peers on the tables: the same rows, the same measures, the same requirements.

Every result is a line of JSON. Those of the peers are kept (bench/results/tables/peers.jsonl) and not computed again; those of
Feasible are kept as long as the program is the same file. A run that was stopped continues where it was.
"""

import argparse
import hashlib
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

for name in ("OMP", "MKL", "OPENBLAS"):  # one thread each, before anything loads them
    os.environ[f"{name}_NUM_THREADS"] = "1"

import fair
import feasible
from catalogue import manifest
from competitors import CONSTRAINED, UNCONSTRAINED
from lines import BENCH, HALVES, RESULTS, Key, append, cache_of, read
from measure import Prediction, Rows, quality
from requirements import REQUIREMENTS, values
from rows import limits, load, split

LARGE = 10_000  # rows; the standard errors of larger tables are small after a few splits
PEERS = CONSTRAINED | {name: fair.peers(name) for name in ("parity", "opportunity", "odds")}


def rounded(value):
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return float(f"{value:.5g}") if isinstance(value, float) else value


def measured(rows: Rows, test_of: int, p: Prediction) -> dict:
    """What a prediction of all rows of the table is worth on training and test rows."""
    train, test = split(rows, test_of)
    return {
        part: quality(rows.take(index), p.take(index)) | values(rows.take(index), p.take(index))
        for part, index in (("train", train), ("test", test))
    }


def work(args: argparse.Namespace, table: dict, number: int, wanted: list[tuple[str, str]]) -> list[dict]:
    """The lines of one split of one table, for pairs of competitor and requirement."""
    warnings.filterwarnings("ignore")
    rows = load(args.cache, table)
    limit_of = limits(args.cache, rows)
    train = rows.take(split(rows, number)[0])
    found = []
    for competitor, requirement in wanted:
        line = {"table": table["name"], "split": number, "competitor": competitor, "requirement": requirement}
        limit = limit_of.get(requirement)
        line |= {"limit": limit} if limit is not None else {}
        began = time.process_time()
        try:
            if competitor == "feasible":
                line["program"] = args.program
                p, facts = feasible.fitted(args, rows, number, requirement, limit)
                line |= facts
            elif requirement == "none":
                p = UNCONSTRAINED[competitor](train, number)(rows)
            else:
                p = PEERS[requirement][competitor](train, limit, number)(rows)
            line.setdefault("cpu", time.process_time() - began)
            line |= measured(rows, number, p)
        except Exception as error:
            line["error"] = f"{type(error).__name__}: {error}"[:400]
        found.append(rounded(line))
    return found


def competitors(requirement: str) -> list[str]:
    return ["feasible", *(UNCONSTRAINED if requirement == "none" else PEERS.get(requirement, {}))]


def wanted(args: argparse.Namespace, table: dict, number: int, have: dict[Key, dict]) -> list[tuple[str, str]]:
    """Pairs of competitor and requirement that are asked for, make sense, and are not there yet."""
    pairs = []
    for requirement in args.requirements:
        if requirement != "none" and not REQUIREMENTS[requirement].applies(table):
            continue
        for competitor in competitors(requirement):
            line = have.get((table["name"], number, competitor, requirement))
            done = line is not None and "error" not in line and line.get("program") in (None, args.program)
            if competitor in (args.only or [competitor]) and not done:
                pairs.append((competitor, requirement))
    return pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    comma = lambda text: text.split(",")
    parser.add_argument("--half", choices=HALVES, help="settings are chosen on the first, figures reported on the second; found: problems nobody chose (find.py)")
    parser.add_argument("--tables", type=comma, help="names, with commas between them; default those of the half")
    parser.add_argument("--requirements", type=comma, default=["none", *REQUIREMENTS])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--large-splits", type=int, default=3, help=f"the most for tables of more than {LARGE:,} rows")
    parser.add_argument("--only", type=comma, help="competitors, with commas between them")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--feasible", type=Path, default=BENCH.parent / "target/release/feasible")
    parser.add_argument("--seconds", type=float, default=900, help="the longest that one fit of Feasible may take")
    parser.add_argument("--out", type=Path, default=RESULTS / "feasible.jsonl", help="lines of Feasible")
    parser.add_argument("--peers", type=Path, default=RESULTS / "peers.jsonl", help="lines of the others")
    parser.add_argument("--cache", type=Path)
    args = parser.parse_args()
    args.cache = args.cache or cache_of(args.half)
    if not args.half and not args.tables:
        parser.error("--half development, --half report or --tables NAME,NAME is needed")
    for requirement in args.requirements:
        if requirement != "none" and requirement not in REQUIREMENTS:
            parser.error(f"no requirement '{requirement}': none, {', '.join(REQUIREMENTS)}")
    tables = [t for t in manifest(args.cache) if not args.half or t["half"] == args.half]
    if unknown := set(args.tables or []) - {t["name"] for t in tables}:
        parser.error(f"no such table{f' in the {args.half} half' if args.half else ''}: {', '.join(sorted(unknown))}")
    tables = [t for t in tables if not args.tables or t["name"] in args.tables]
    args.feasible = args.feasible.resolve()
    args.program = hashlib.sha256(args.feasible.read_bytes()).hexdigest()[:12] if args.feasible.exists() else None

    have = read(args.peers) | read(args.out)
    with ProcessPoolExecutor(args.jobs) as pool:
        tasks = {}
        for number in range(args.splits):
            small_first = sorted(tables, key=lambda t: t["rows"] * t["columns"])
            for table in (t for t in small_first if number < args.large_splits or t["rows"] <= LARGE):
                if pairs := wanted(args, table, number, have):
                    tasks[pool.submit(work, args, table, number, pairs)] = (table["name"], number)
        for place, task in enumerate(as_completed(tasks), 1):
            new = task.result()
            append(args.peers, [line for line in new if line["competitor"] != "feasible"])
            append(args.out, [line for line in new if line["competitor"] == "feasible"])
            errors = "".join(f"\n  {l['competitor']}, {l['requirement']}: {l['error']}" for l in new if "error" in l)
            print(f"{place} of {len(tasks)}: {tasks[task][0]}, split {tasks[task][1]}{errors}", flush=True)


if __name__ == "__main__":
    main()
