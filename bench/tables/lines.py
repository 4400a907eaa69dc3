"""Results as lines of JSON: the last line of a key counts."""

import fcntl
import json
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
RESULTS = BENCH / "results" / "tables"
FOUND = BENCH / ".tables-found"  # of find.py
FRESH = BENCH / ".tables-fresh"  # of fresh.py
BLIND = BENCH / ".tables-blind"  # of blind.py
HALVES = ["development", "report", "found", "fresh-development", "fresh-report", "blind"]
Key = tuple[str, int, str, str]  # table, split, competitor, requirement


def cache_of(half: str | None) -> Path:
    """Where the tables are."""
    caches = {"found": FOUND, "fresh-development": FRESH, "fresh-report": FRESH, "blind": BLIND}
    return caches.get(half, BENCH / ".tables")


def key(line: dict) -> Key:
    return line["table"], line["split"], line["competitor"], line["requirement"]


def read(file: Path) -> dict[Key, dict]:
    if not file.exists():
        return {}
    return {key(line): line for line in map(json.loads, file.read_text().splitlines())}


def append(file: Path, new: list[dict]) -> None:
    """Whole lines, also if several runs write to the file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        out.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in new)
