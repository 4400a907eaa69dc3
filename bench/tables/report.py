"""The page of results, from the lines that `run` wrote: losses first, then every table.

Means ± standard errors over splits. A loss is a mean of paired differences, split by split, that is worse than 0 by more than one
standard error.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from catalogue import manifest
from lines import BLIND, FRESH, HALVES, RESULTS, cache_of
from requirements import REQUIREMENTS
from results import NAMES, UNCONSTRAINED, Cell, Results, behind, common, measures, number

TOLD = """Told: `fit` doubted, going by training and validation rows, that the requirement holds on new rows (`doubts` of `summary.json`). Held, missed: on the test
rows, of which it had seen none by then. A silent miss is one that was not told; in brackets its share of all runs."""
GOAL = ("linear", "mlp")  # the peers that the default is meant to be as good as
FEASIBLE = {"feasible"}  # and the names of --also
BEGIN, END = "<!-- results -->", "<!-- end of results -->"


def markdown(header: list[str], body: list[list[str]]) -> str:
    rows = [header, ["---"] * len(header), *body]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def best(cells: dict[str, Cell], us: str, names: list[str], measure: str) -> list[str]:
    """The name of whom we are furthest behind, or least ahead of, on the splits that both have; none if there is no such split."""
    lead = {n: behind(cells[us], cells[n], measure)[0] for n in names if n in cells}
    known = {n: mean for n, mean in lead.items() if not np.isnan(mean)}
    return [max(known, key=known.get)] if known else []


def rivals(cells: dict[str, Cell], us: str, requirement: str, measure: str) -> list[str]:
    """Whom we are compared with.

    Without a requirement, the better of the goal, and the trees. With one, the best of those that were asked for it and
    hold it as often as we do, or hold it in every split without being asked.
    """
    if requirement == "none":
        return best(cells, us, list(GOAL), measure) + best(cells, us, ["boosting"], measure)
    held = {n: cell.at(common(cells[us], cell, "held")).mean("held") for n, cell in cells.items()}
    ours = {n: cells[us].at(common(cells[us], cell, "held")).mean("held") for n, cell in cells.items()}
    asked = [n for n in cells if n not in UNCONSTRAINED and n not in FEASIBLE]
    if measure != "held":
        asked = [n for n in asked if held[n] >= ours[n]]
    free = [n for n in UNCONSTRAINED if held.get(n) == 1]
    return best(cells, us, asked + free, measure)


def losses(results: Results, us: str) -> str:
    """Where we are behind by more than one standard error."""
    body, goal, ahead, compared = [], 0, 0, 0
    for table in results.tables:
        for requirement in ["none", *REQUIREMENTS]:
            cells = results.cells(table["name"], requirement)
            for measure in (measures(table) + ([] if requirement == "none" else ["held"])) if us in cells else []:
                for name in rivals(cells, us, requirement, measure):
                    compared += requirement == "none" and name in GOAL
                    mean, error = behind(cells[us], cells[name], measure)
                    ahead += requirement == "none" and name in GOAL and mean < -error
                    if mean > error:
                        goal += requirement == "none" and name in GOAL
                        both = common(cells[us], cells[name], measure)
                        pair = (cells[us].at(both), cells[name].at(both))
                        ours, theirs = (c.held() if measure == "held" else c.spread(measure) for c in pair)
                        body.append([table["name"], requirement, NAMES[measure], ours, name, theirs, f"{number(mean, 3)} ± {number(error, 2)}"])
    text = f"Without a requirement: behind the better of linear and mlp by more than one standard error in {goal} of {compared} comparisons, and ahead of both by as much in {ahead}.\n\n"
    return text + markdown(["table", "requirement", "measure", us, "peer", "its", "behind by"], body)


def share(values: list[float]) -> str:
    return f"{sum(values):.0f} of {len(values)} ({np.mean(values):.0%})" if values else ""


def told(results: Results, us: str, showable: dict) -> str:
    """How often it was told, before a test row was looked at, that a requirement may not hold on new rows, and whether that was right."""
    body, sums = [], {}
    for shown, where in ((True, "a sample as large as the test rows can show it"), (False, "it cannot")):
        for name in REQUIREMENTS:
            lines = []
            for table in results.tables:
                cell = results.cells(table["name"], name).get(us)
                if cell and bool(showable.get(table["name"], {}).get(name)) == shown:
                    held = cell.numbers("held")
                    lines += [(held[s], line["told"]) for s, line in cell.lines.items() if s in held and "told" in line]
            if lines:
                body.append([name, where, *counts(lines)])
                sums.setdefault(where, []).extend(lines)
    body += [["all", where, *counts(lines)] for where, lines in sums.items()]
    header = ["requirement", "where", "runs", "held", "held, not told", "held, told", "missed, told", "missed, not told (silent)"]
    return markdown(header, body) if body else ""


def counts(lines: list[tuple[float, bool]]) -> list[str]:
    """Runs, those that held, and the four ways in which that and being told go together."""
    cases = [sum(bool(held) == h and said == t for held, said in lines) for h, t in ((True, False), (True, True), (False, True), (False, False))]
    silent = f"{cases[3]} ({cases[3] / len(lines):.1%})"
    return [str(len(lines)), f"{sum(held for held, _ in lines):.0f}", *map(str, cases[:3]), silent]


def requirements(results: Results, us: str, showable: dict) -> str:
    """How often each requirement held on test rows."""
    body = []
    for name in REQUIREMENTS:
        train, test, sure, peers = [], [], [], []
        for table in results.tables:
            cells = results.cells(table["name"], name)
            if us not in cells:
                continue
            train += cells[us].numbers("held", "train").values()
            test += cells[us].numbers("held").values()
            if showable.get(table["name"], {}).get(name):
                sure += cells[us].numbers("held").values()
            asked = [n for n in cells if n not in UNCONSTRAINED and n not in FEASIBLE]
            for peer in best(cells, us, asked, "held"):
                peers += cells[peer].numbers("held").values()
        if test:
            body.append([name, share(train), share(test), share(sure), share(peers)])
    header = ["requirement", "held on training rows", "held on test rows", "where a sample as large as the test rows can show it", "best peer of each table, on test rows"]
    return markdown(header, body)


def verdicts(results: Results, us: str) -> str:
    """Whether what the program said was true."""
    certified = wrong = runs = disagree = off = failed = 0
    for table in results.tables:
        for requirement in ["none", *REQUIREMENTS]:
            for line in results.found.get((table["name"], requirement), {}).get(us, {}).values():
                failed += "error" in line
                off += not line.get("agrees", True)
                if requirement == "none" or line.get("shown") is None:
                    continue
                holds = REQUIREMENTS[requirement].holds
                runs += 1
                disagree += (line["exit"] == 0) != holds(line["shown"], line["limit"])
                if line.get("verdict") == "CERTIFIED":
                    certified += 1
                    wrong += not holds(line["kept"], line["limit"])
    return (
        f"{certified} runs of {runs} ended CERTIFIED; {wrong} of these are contradicted by as many fresh test rows that the program did not "
        f"see. In {disagree} of {runs} runs the exit status and our own measure of the rows it speaks of disagree, in {off} its accuracy or error and ours. "
        f"{failed} runs failed.\n"
    )


def every_table(results: Results, us: str) -> str:
    """One line for each table and requirement: we, and the best peer that holds it as often."""
    body = []
    for table in results.tables:
        measure = measures(table)[-1]
        for requirement in ["none", *REQUIREMENTS]:
            cells = results.cells(table["name"], requirement)
            if us not in cells:
                continue
            ours, limit = cells[us], cells[us].limit
            sign = "" if limit is None else f"{'≥' if REQUIREMENTS[requirement].at_least else '≤'} {number(limit, 3)}"
            value = "" if limit is None else ours.spread(requirement)
            held = "" if limit is None else ours.held()
            if warned := sum(l.get("told", False) for l in ours.lines.values()) if limit is not None else 0:
                held += f", told {warned}"
            seconds = [l["cpu"] for l in ours.lines.values() if "cpu" in l]
            quality = [f"{NAMES[m]} {ours.spread(m)}" for m in measures(table)]
            peers = [f"{n}: {NAMES[m]} {cells[n].spread(m)}" + ("" if limit is None else f", held {cells[n].held()}")
                     for m in measures(table) for n in rivals(cells, us, requirement, m)[:1]]  # fmt: skip
            body.append([table["name"], requirement, sign, value, held, "; ".join(quality), "; ".join(peers), f"{np.median(seconds):.2g}" if seconds else ""])
    return markdown(["table", "requirement", "limit", "value on test", "held", us, "best peer", "CPU seconds"], body)


def details(results: Results, us: str) -> str:
    """Every competitor."""
    text = ""
    for table in results.tables:
        for requirement in ["none", *REQUIREMENTS]:
            cells = results.cells(table["name"], requirement)
            if not cells:
                continue
            limit = next(iter(cells.values())).limit
            sign = "" if limit is None else f" ({'≥' if REQUIREMENTS[requirement].at_least else '≤'} {number(limit, 3)})"
            text += f"\n### {table['name']}, {requirement}{sign}\n\n"
            body = []
            for name in sorted(cells, key=lambda n: (n != us, n not in UNCONSTRAINED, n)):
                cell = cells[name]
                row = [name, *(cell.spread(m) for m in measures(table))]
                if limit is not None:
                    row += [cell.spread(requirement, "train"), cell.spread(requirement), cell.held()]
                seconds = [l["cpu"] for l in cell.lines.values() if "cpu" in l]
                failed = sum("error" in l for l in cell.lines.values())
                body.append([*row, f"{np.median(seconds):.2g}" if seconds else "", f"{failed} failed" if failed else ""])
            value = [] if limit is None else ["value, train", "value, test", "held on test"]
            text += markdown(["", *(NAMES[m] for m in measures(table)), *value, "CPU seconds", ""], body)
    return text


def sources(tables: list[dict]) -> str:
    header = ["table", "half", "rows", "columns", "task", "target", "positive", "sensitive", "package", "licence of the package"]
    body = []
    for t in tables:
        rows = f"{t['rows']:,}" + (f" of {t['rows_in_package']:,}" if t["rows"] < t["rows_in_package"] else "")
        package = f"{t['package']} {t['version']}"
        body.append([t["name"], t["half"], rows, str(t["columns"]), t["task"], t["target"], t["positive"] or "", t["sensitive"] or "", package, t["licence"]])
    return markdown(header, body)


def extent(results: Results, us: str) -> str:
    """What the figures stand on."""
    runs = {t["name"]: results.cells(t["name"], "none").get(us) for t in results.tables}
    splits = [len(cell.lines) for cell in runs.values() if cell]
    programs = sorted({l["program"] for cell in runs.values() if cell for l in cell.lines.values()})
    if not splits:
        return "Nothing is measured yet."
    text = f"{len(splits)} of {len(runs)} tables are measured, {min(splits)} to {max(splits)} splits of each"
    return f"{text}, with the program whose SHA-256 begins with {', '.join(programs)}. Peers are compared on the splits that both sides have."


def summary(results: Results, us: str, showable: dict) -> str:
    parts = [extent(results, us), "### Where it loses", losses(results, us), "### Requirements", requirements(results, us, showable), verdicts(results, us)]
    if warned := told(results, us, showable):
        parts += ["### What was told beforehand", TOLD, warned]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


TITLES = {
    "report": "The report half", "blind": "Blind tables, measured once", "fresh-report": "Fresh tables, looked at once before", "development": "The development half",
    "fresh-development": "Fresh tables that choices were made on",
}  # fmt: skip


def page(half: dict[str, Results], us: str, showable: dict, tables: list[dict]) -> str:
    """What stands in docs/quality.md between the marks."""
    text = ""
    for name, title in TITLES.items():
        text += f"\n## {title}\n\n{summary(half[name], us, showable)}\n### Every table\n\n{every_table(half[name], us)}"
    return text + f"\n## The tables\n\n{sources(tables)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--tables", type=lambda text: text.split(","))
    parser.add_argument("--feasible", type=Path, default=RESULTS / "feasible.jsonl", help="lines of Feasible")
    parser.add_argument("--peers", type=Path, default=RESULTS / "peers.jsonl")
    parser.add_argument("--also", action="append", default=[], metavar="NAME=FILE", help="lines of another Feasible, shown beside")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--short", action="store_true", help="the summary only")
    parser.add_argument("--into", type=Path, metavar="PAGE", help="replace the results of this page, of both halves and of the fresh tables")
    args = parser.parse_args()
    args.cache = args.cache or cache_of(args.half)
    caches = [args.cache, BLIND, FRESH] if args.into else [args.cache]
    tables = [table for cache in caches for table in manifest(cache)]
    files = {"feasible": args.feasible} | {n: Path(f) for n, f in (also.split("=", 1) for also in args.also)}
    FEASIBLE.update(files)
    showable = {
        t["name"]: json.loads(file.read_text())["showable"]
        for cache in caches
        for t in manifest(cache)
        if (file := cache / "limits" / f"{t['name']}.json").exists()
    }
    if args.into:
        half = {h: Results([t for t in tables if t["half"] == h], args.peers, files) for h in TITLES}
        before, rest = args.into.read_text().split(BEGIN)
        args.into.write_text(before + BEGIN + "\n" + page(half, "feasible", showable, tables) + "\n" + END + rest.split(END)[1])
        return
    tables = [t for t in tables if (not args.half or t["half"] == args.half) and (not args.tables or t["name"] in args.tables)]
    results = Results(tables, args.peers, files)
    for us in files:
        print(f"## {us}\n\n{summary(results, us, showable)}")
    if not args.short:
        print(f"## Every table\n{details(results, 'feasible')}")


if __name__ == "__main__":
    main()
