"""The counts: held, told, silent misses, cried wolf; by kind of requirement and by size of the table."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rules import RULES

KINDS = ["recall", "precision", "error", "parity", "opportunity", "odds", "loss", "squared", "counterfactual"]


def showable(line: dict) -> bool:
    """Whether the test rows could show it, if no row violated or the gap were 0; a mean loss: if its bound were half the limit."""
    for seen in line["seen"]["test"]:
        if seen["hits"] is not None:
            if seen["rows"] == 0 or (1 - seen["allowed"]) ** seen["rows"] > 0.05:
                return False
        elif seen["rows"] == 0 or 1.645 * seen["error"] > line["limit"] / (1 if line["kind"] in ("parity", "opportunity", "odds") else 2):
            return False
    return True


def table(lines: list[dict], told: Callable[[dict], bool], truth: str) -> str:
    text = "| requirement | runs | held | held, told | missed, told | missed, not told (silent) |\n| --- | --- | --- | --- | --- | --- |\n"
    for kind in [*KINDS, "all"]:
        own = [line for line in lines if kind in (line["kind"], "all")]
        if not own:
            continue
        cells = [(line[truth], told(line)) for line in own]
        count = lambda met, said: sum(c == (met, said) for c in cells)  # noqa: E731
        silent = count(False, False)
        held = count(True, True) + count(True, False)
        text += f"| {kind} | {len(own)} | {held} | {count(True, True)} | {count(False, True)} | {silent} ({silent / len(own):.1%}) |\n"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--rule", default="program", help=f"program (what it told), or one of {', '.join(RULES)}; all: a line for each")
    args = parser.parse_args()
    lines = [json.loads(line) for file in args.files for line in file.read_text().splitlines()]
    if args.rule == "all":
        for truth in ("population_met", "test_met"):
            for where, some in (("all", lines), ("showable", [line for line in lines if showable(line)])):
                print(f"\n{truth}, {where}: {len(some)} requirements, {sum(line[truth] for line in some)} held")
                for name, rule in {"program": lambda line: line["told"], **RULES}.items():
                    said = np.array([rule(line) for line in some])
                    met = np.array([line[truth] for line in some])
                    print(f"  {name:28} silent {(~met & ~said).mean():6.1%}  told of held {(met & said).sum() / met.sum():6.1%}  told of missed {(~met & said).sum() / max(1, (~met).sum()):6.1%}")
        return
    rule = (lambda line: line["told"]) if args.rule == "program" else RULES[args.rule]
    print(f"{len({line['seed'] for line in lines})} tables, {len(lines)} requirements, rule: {args.rule}\n")
    for truth, words in (("population_met", "Held: by the population (20,000 fresh rows)"), ("test_met", "Held: on the test rows, where they can show it")):
        some = lines if truth == "population_met" else [line for line in lines if showable(line)]
        print(f"{words}\n\n{table(some, rule, truth)}")


if __name__ == "__main__":
    main()
