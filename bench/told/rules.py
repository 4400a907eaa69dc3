"""Rules that tell by training and validation rows alone; what `fit` does is a copy of one of them."""

import numpy as np
from scipy.stats import binom, norm

GAPS = ("parity", "opportunity", "odds")


def likely(seen: dict, among: int = 1) -> bool:
    """At 95 %, as one of several that must hold together."""
    delta = 0.05 / among
    if seen["hits"] is not None:
        return seen["rows"] > 0 and binom.cdf(seen["hits"], seen["rows"], seen["allowed"]) <= delta
    return seen["rows"] >= 10 and seen["violation"] + norm.isf(delta) * seen["error"] <= 0


def family(line: dict) -> int:
    """Clauses of a requirement that can be missed by themselves: a gap has two sides, and is on one of them."""
    clauses = len(line["seen"]["train"])
    return max(1, clauses // 2 if line["kind"] in GAPS else clauses)


def pooled(a: dict, b: dict) -> dict:
    n = a["rows"] + b["rows"]
    mean = lambda key: (a["rows"] * a[key] + b["rows"] * b[key]) / n  # noqa: E731
    hits = None if a["hits"] is None else a["hits"] + b["hits"]
    error = np.hypot(a["rows"] * a["error"], b["rows"] * b["error"]) / n
    return {"rows": n, "violation": mean("violation"), "error": error, "hits": hits, "allowed": a["allowed"]}


def worse(held: dict, trained: dict) -> float:
    apart = held["violation"] - trained["violation"]
    if apart <= 0:
        return 0.0
    if held["hits"] is not None:
        both = (held["hits"] + trained["hits"]) / (held["rows"] + trained["rows"])
        error = np.sqrt(both * (1 - both) * (1 / held["rows"] + 1 / trained["rows"]))
    else:
        error = np.hypot(held["error"], trained["error"])
    return apart / error if error > 0 else np.inf


def each(rule):
    """A requirement is told if one of its clauses is."""
    def told(line: dict) -> bool:
        seen = line["seen"]
        return any(rule(t, v, line) for t, v in zip(seen["train"], seen["validation"], strict=True))
    return told


@each
def old(t: dict, v: dict, line: dict) -> bool:
    if t["rows"] and t["violation"] > 0:
        return True
    if not v["rows"]:
        return True
    if likely(v):
        return False
    return not (t["rows"] and v["violation"] <= 0 and worse(v, t) <= 1 and likely(pooled(t, v)))


@each
def validation_only(t: dict, v: dict, line: dict) -> bool:
    return (t["rows"] > 0 and t["violation"] > 0) or not likely(v)


def together(z: float, flattered: tuple[float, float], plain: tuple[float, float], jointly: bool = False):
    """Validation rows alone, or both weighed by their variances: training rows flatter by so many of their standard errors, give or take so many.

    Jointly: the clauses of a requirement share the error, so that all of them hold together."""

    @each
    def rule(t: dict, v: dict, line: dict) -> bool:
        if not v["rows"] or not t["rows"] or t["violation"] > 0:
            return True
        among = family(line) if jointly else 1
        if likely(v, among):
            return False
        by, give_or_take = plain if line["kind"] in (*GAPS, "counterfactual") else flattered
        deviation = max(t["error"] * np.sqrt(t["rows"]), v["error"] * np.sqrt(v["rows"]))
        error = deviation / np.sqrt(t["rows"])
        weights = np.array([v["rows"] / deviation**2, 1 / (error**2 * (1 + give_or_take**2))])
        violation = weights @ [v["violation"], t["violation"] + by * error] / weights.sum()
        return bool(violation + norm.isf(norm.sf(z) / among) / np.sqrt(weights.sum()) > 0)

    return rule


RULES = {
    "pooled (before)": old,
    "validation alone": validation_only,
    "each by itself (before)": together(1.3, (2, 2), (0, 1)),
    "chosen": together(1.3, (2, 2), (0, 1), jointly=True),
    **{f"together z={z} {f} {p}": together(z, f, p) for z in (1.0, 1.3, 1.645) for f in ((0, 1), (0, 2), (1, 2), (2, 2), (3, 3)) for p in ((0, 0.5), (0, 1))},
}
