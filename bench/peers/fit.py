"""Trains one problem file with one peer, prints JSON: python fit.py PEER PROBLEM --data DIR."""

import argparse
import json
import time
from pathlib import Path

import problem


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=["pytorch", "cooper", "fairlearn"])
    parser.add_argument("problem", type=Path, help="a problem file")
    parser.add_argument("--data", type=Path, required=True, help="what `feasible data export` wrote")
    parser.add_argument("--rows", type=Path, help="rows.json of a run (COMPAS)")
    parser.add_argument("--epochs", type=int, help="instead of the file's")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    table = problem.load(args.problem.stem, args.data, args.rows)
    problem.prepare(args.seed)
    if args.peer == "fairlearn":
        import parity

        began, cpu = time.perf_counter(), time.process_time()
        model = parity.train(table, args.problem, args.seed)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        epochs, reached = None, parity.reached(model, table, args.seed)
    elif args.problem.stem == "adult-softmax":
        import exact

        settings = exact.settings(args.problem)
        began, cpu = time.perf_counter(), time.process_time()
        net, multipliers, epochs = exact.train(table, settings)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        reached = problem.reached(net.float(), table, settings, multipliers)
    else:
        if args.peer == "pytorch":
            from loop import train
        else:
            from cooper_loop import train
        settings = problem.Settings.read(args.problem, args.epochs, args.seed)
        began, cpu = time.perf_counter(), time.process_time()
        net, multipliers = train(table, settings)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        epochs, reached = settings.epochs, problem.reached(net, table, settings, multipliers)
    print(json.dumps({"training": seconds, "cpu": cpu, "epochs": epochs, "reached": reached}))


if __name__ == "__main__":
    main()
