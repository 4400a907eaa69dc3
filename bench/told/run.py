"""Are requirements that new rows miss told beforehand? Counted on generated tables, whose population is known.

Each table is drawn by its seed: 300 to 20,000 rows (`--rows`), one to three requirements. `fit` runs with its defaults on the rows and on 3/7 as many test rows;
then the model is asked about all of them and about 20,000 fresh rows of the same population. One line of JSON for each requirement.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
from clauses import Answered, Stated, clauses
from tables import World, world

FRESH = 20_000


def requirements(w: World, fresh: pd.DataFrame, truth: np.ndarray, rng: np.random.Generator) -> list[Stated]:
    """One to three, with limits that the best predictor meets, more or less easily."""
    group = fresh["group"].to_numpy()
    if not w.binary:
        g = str(rng.choice(w.groups))
        best = ((truth - fresh["y"].to_numpy())[group == g] ** 2).mean()
        return [Stated("squared", g, round(float(best * rng.uniform(1.05, 1.6)), 4))]
    yes = (fresh["y"] == "yes").to_numpy()
    own = np.where(yes, truth, 1 - truth)

    def one(kind: str) -> Stated:
        g = str(rng.choice(w.groups))
        mine = group == g
        if kind == "recall everyone":
            return Stated("recall", None, round(rng.uniform(0.6, 0.95), 2))
        if kind == "recall":
            return Stated("recall", g, round(rng.uniform(0.6, 0.95), 2))
        if kind == "precision":
            rate = yes.mean()
            best = yes[truth > np.quantile(truth, 1 - rate / 2)].mean()
            return Stated("precision", None, round(float(rate + (best - rate) * rng.uniform(0.4, 0.95)), 3))
        if kind == "error":
            best = np.minimum(truth, 1 - truth)[mine].mean()
            return Stated("error", g, round(float(best * rng.uniform(1.05, 1.6)), 4))
        if kind == "loss":
            best = -(truth * np.log(truth) + (1 - truth) * np.log(1 - truth))[mine].mean()
            return Stated("loss", g, round(float(best * rng.uniform(1.03, 1.5)), 4))
        if kind == "counterfactual":
            return Stated(kind, None, 0.001)
        return Stated(kind, None, round(rng.uniform(0.02, 0.15), 3))

    kinds = ["recall everyone", "recall", "precision", "error", "parity", "opportunity", "odds", "loss", "counterfactual"]
    count = rng.choice([1, 2, 3], p=[0.6, 0.25, 0.15])
    return [one(str(kind)) for kind in rng.choice(kinds, count, replace=False)]


def command(program: str, *words) -> subprocess.CompletedProcess:
    env = os.environ | {"FEASIBLE_THREADS": "1", "NO_COLOR": "1"}
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, env=env, timeout=600)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{words[0]} exits with {done.returncode}: {done.stderr.strip()}")
    return done


def answers(program: str, run: Path, data: pd.DataFrame, w: World, swaps: bool) -> Answered:
    def ask(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        file = run.parent / "ask.csv"
        rows.to_csv(file, index=False)
        found = json.loads(command(program, "predict", run, file, "--json").stdout)
        if not w.binary:
            return np.zeros(len(rows), bool), np.array([row["value"] for row in found["rows"]])
        at = found["classes"].index("yes")
        chosen = np.array([row["class"] == "yes" for row in found["rows"]])
        return chosen, np.array([row["probabilities"][at] for row in found["rows"]])

    chosen, p = ask(data)
    swapped = None
    if swaps:
        a, b = w.groups[:2]
        other = data["group"].map(lambda g: {a: b, b: a}.get(g, g))
        swapped = ask(data.assign(group=other))[1]
    return Answered(data, chosen, p, swapped)


def numbers(ranges: list[list[int]]) -> np.ndarray:
    return np.concatenate([np.arange(first, last + 1) for first, last in ranges])


def measured(program: str, seed: int, size: tuple[int, int], more: str) -> list[dict]:
    rng = np.random.default_rng(seed)
    w = world(rng)
    fresh, truth = w.draw(FRESH, rng)
    stated = requirements(w, fresh, truth, rng)
    n = int(np.exp(rng.uniform(*np.log(size))))
    train, _ = w.draw(n, rng)
    test, _ = w.draw(3 * n // 7, rng)
    swaps = any(s.kind == "counterfactual" for s in stated)
    with tempfile.TemporaryDirectory(prefix="feasible-told-") as scratch:
        folder = Path(scratch)
        train.to_csv(folder / "train.csv", index=False)
        test.to_csv(folder / "test.csv", index=False)
        text = f'[data]\ntrain = "{folder}/train.csv"\ntest = "{folder}/test.csv"\ntarget = "y"\nunseen = "other"\n'
        text += 'positive = "yes"\n' if w.binary else ""
        text += "".join(s.toml(w.groups) for s in stated) + more
        (folder / "problem.toml").write_text(text)
        run = folder / "run"
        command(program, "fit", folder / "problem.toml", "--output", run, "--no-report", "--no-baseline", "--quiet")
        summary = json.loads((run / "summary.json").read_text())
        split = json.loads((run / "rows.json").read_text())
        all_rows = answers(program, run, pd.concat([train, test, fresh], ignore_index=True), w, swaps)
    parts = {
        "train": all_rows.take(numbers(split["train"])),
        "validation": all_rows.take(numbers(split["validation"])),
        "test": all_rows.take(np.arange(n, n + len(test))),
        "population": all_rows.take(np.arange(n + len(test), len(all_rows.data))),
    }
    told = [doubt["requirement"] for doubt in summary.get("doubts", [])]
    met = {r["name"]: r["met"] for r in summary["test"]["requirements"]}
    quality = {}
    if w.binary:
        of = parts["population"]
        yes = (of.data["y"] == "yes").to_numpy()
        own = np.clip(np.where(yes, of.p, 1 - of.p), 1e-12, 1)
        quality = {"accuracy": float((of.chosen == yes).mean()), "log_loss": float(-np.log(own).mean())}
        best = np.where(yes, truth, 1 - truth)
        quality |= {"best_accuracy": float(np.maximum(truth, 1 - truth).mean()), "best_log_loss": float(-np.log(best).mean())}
    lines = []
    for s in stated:
        seen = {part: [asdict(c) for c in clauses(s, of, w.groups)] for part, of in parts.items()}
        own = [name for name in met if name == s.name or name.startswith((s.name + ":", s.name + " ("))]
        lines.append({
            "seed": seed, "rows": n, "kind": s.kind, "group": s.group, "limit": s.limit, "requirements": len(stated),
            "parameters": summary["parameters"], "told": any(t in own for t in told), "test_met": all(met[name] for name in own),
            "population_met": all(c["violation"] <= 0 for c in seen["population"] if c["rows"]), **quality, "seen": seen,
        })  # fmt: skip
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--feasible", default="target/release/feasible")
    parser.add_argument("--seeds", default="0..200", help="FROM..TO")
    parser.add_argument("--rows", default="300..20000", help="LEAST..MOST")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--more", default="", help="text at the end of every problem file")
    args = parser.parse_args()
    first, last = map(int, args.seeds.split(".."))
    size = tuple(map(int, args.rows.split("..")))
    done = set()
    if args.out.exists():
        done = {json.loads(line)["seed"] for line in args.out.read_text().splitlines()}
    with args.out.open("a") as out:
        for seed in range(first, last):
            if seed in done:
                continue
            try:
                lines = measured(args.feasible, seed, size, args.more)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"seed {seed}: {error}", file=sys.stderr)
                continue
            out.writelines(json.dumps(line) + "\n" for line in lines)
            out.flush()


if __name__ == "__main__":
    main()
