"""What a model must meet, as objects that read like the problem file and print as sentences.

>>> from feasible import invariant, rate, parity
>>> print(rate("recall", where="age > 60", at_least=0.8))
recall where age > 60 is at least 0.8
>>> print(parity("selection", groups="race", within=0.05))
the selection rate of each race is within 0.05 of everyone's
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

__all__ = [
    "Requirement",
    "demographic_parity",
    "equal_opportunity",
    "equalised_odds",
    "invariant",
    "loss",
    "parity",
    "rate",
    "robust",
]

_SPOKEN = {
    "kl": "KL divergence",
    "symmetric-kl": "symmetric KL divergence",
    "total-variation": "total variation",
    "squared-distance": "squared distance",
}
_RATES = {
    "selection": "selection rate",
    "positive-rate": "selection rate",
    "tpr": "recall",
    "fpr": "false positive rate",
    "fnr": "false negative rate",
    "npv": "negative predictive value",
    "ppv": "precision",
    "error": "error rate",
}
_FAIRNESS = {
    "demographic-parity": "selection rate",
    "equal-opportunity": "recall",
    "equalised-odds": "recall and false positive rate",
}
Number = float


class Requirement:
    """One ``[[requirement]]`` of a problem file: any of its keys, under their names there.

    The functions of this module write the usual ones. ``where_`` and ``class_`` stand for keys that Python reserves
    or that read better so.

    >>> r = Requirement(name="older", rate="error", where="age > 60", at_most=0.15)
    >>> print(r)
    error rate where age > 60 is at most 0.15
    >>> r.to_dict()
    {'name': 'older', 'rate': 'error', 'where': 'age > 60', 'at_most': 0.15}
    """

    def __init__(self, name: str | None = None, **keys: Any) -> None:
        given = {"name": name, **keys}
        self._keys: dict[str, Any] = {
            key.rstrip("_"): _plain(value) for key, value in given.items() if value is not None
        }

    @property
    def name(self) -> str:
        """What it is called in tables, pages and messages."""
        return str(self._keys.get("name") or _usual_name(self._keys))

    def to_dict(self) -> dict[str, Any]:
        """The keys of the problem file."""
        return {"name": self.name, **{k: v for k, v in self._keys.items() if k != "name"}}

    def __str__(self) -> str:
        shift = self._keys.get("shift", 1)
        where = f", also where kinds of rows become up to {_number(shift)} times as common" if shift > 1 else ""
        return _sentence(self._keys) + where

    def __repr__(self) -> str:
        keys = ", ".join(f"{key}={value!r}" for key, value in self._keys.items())
        return f"Requirement({keys})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Requirement) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(repr(sorted(self.to_dict().items(), key=lambda item: item[0])))


def invariant(
    column: str | None = None,
    swap: Sequence[Any] | Mapping[str, Sequence[Any]] | None = None,
    *,
    at_most: Number,
    every: Literal["row"] | None = "row",
    set: Mapping[str, Any] | None = None,
    crosses: Sequence[str] | None = None,
    loss: str = "kl",
    where: str | None = None,
    all_but: float | None = None,
    name: str | None = None,
    **keys: Any,
) -> Requirement:
    """The prediction stays the same under a counterfactual: for every row, or on average with ``every=None``.

    ``swap`` names the two categories of ``column`` to exchange; without it every pair of its categories is. ``swap``
    may also be a mapping of several columns, ``set`` gives columns a value, ``crosses`` exchanges pairs of several
    columns at once.

    >>> print(invariant("gender", swap=("Male", "Female"), at_most=1e-3))
    the prediction of every row changes by at most 0.001 (KL divergence) under gender: Male ↔ Female
    """
    change: dict[str, Any] = {}
    if isinstance(swap, Mapping):
        change["swap"] = {of: list(pair) for of, pair in swap.items()}
    elif swap is not None:
        if column is None:
            raise _refused("invariant: swap=(a, b) needs the column: invariant('gender', swap=('Male', 'Female'))")
        change["swap"] = {column: list(swap)}
    if set is not None:
        change["set"] = dict(set)
    if crosses is not None:
        change["crosses"] = list(crosses)
    if not change:
        if column is None:
            raise _refused("invariant: name a column, or give swap, set or crosses")
        change["pairs"] = column
    return Requirement(
        name=name,
        loss=loss,
        kind="pointwise" if _every(every) else None,
        at_most=at_most,
        where=where,
        all_but=all_but,
        counterfactual=change,
        **keys,
    )


def rate(
    rate: str,
    *,
    where: str | None = None,
    at_most: Number | None = None,
    at_least: Number | None = None,
    within: Number | None = None,
    groups: str | None = None,
    against: str | None = None,
    of: Any = None,
    name: str | None = None,
    **keys: Any,
) -> Requirement:
    """A rate of everyone, of those ``where`` selects, or of each of ``groups``; ``of`` is the class it is about.

    Rates: ``selection``, ``recall`` (``tpr``), ``fpr``, ``fnr``, ``specificity``, ``precision``, ``npv``, ``error``,
    ``accuracy``. ``within`` compares with ``against``: an expression, or ``"everyone"``.

    >>> print(rate("selection", where="sex == 'F'", against="sex == 'M'", within=0.1))
    the selection rate where sex == 'F' is within 0.1 of that where sex == 'M'
    >>> print(rate("error", at_most=0.1, shift=1.5))
    error rate is at most 0.1, also where kinds of rows become up to 1.5 times as common
    """
    return Requirement(
        name=name,
        rate=rate,
        class_=None if of is None else label(of),
        where=where,
        groups=groups,
        against=against,
        at_most=at_most,
        at_least=at_least,
        within=within,
        **keys,
    )


def parity(
    rate: str = "selection", *, groups: str, within: Number | None = None, name: str | None = None, **keys: Any
) -> Requirement:
    """A rate of each group is within so much of everyone's; ``"odds"`` stands for recall and the false positive rate.

    >>> print(parity("odds", groups="sex", within=0.1))
    the recall and false positive rate of each sex are within 0.1 of everyone's
    """
    within = _within(within, keys)
    if rate in ("odds", "equalised-odds", "equalized-odds"):
        return Requirement(name=name, fairness="equalised-odds", groups=groups, within=within, **keys)
    return Requirement(name=name, rate=rate, groups=groups, within=within, **keys)


def demographic_parity(
    groups: str, *, within: Number | None = None, name: str | None = None, **keys: Any
) -> Requirement:
    """Equal selection rates between the groups of a column."""
    within = _within(within, keys)
    return Requirement(name=name, fairness="demographic-parity", groups=groups, within=within, **keys)


def equal_opportunity(
    groups: str, *, within: Number | None = None, name: str | None = None, **keys: Any
) -> Requirement:
    """Equal recall between the groups of a column."""
    within = _within(within, keys)
    return Requirement(name=name, fairness="equal-opportunity", groups=groups, within=within, **keys)


def equalised_odds(groups: str, *, within: Number | None = None, name: str | None = None, **keys: Any) -> Requirement:
    """Equal recall and false positive rates between the groups of a column."""
    within = _within(within, keys)
    return Requirement(name=name, fairness="equalised-odds", groups=groups, within=within, **keys)


def _within(within: Number | None, keys: Mapping[str, Any]) -> Number:
    """How far apart the rates of groups may be, the one limit of these requirements."""
    for key in ("at_most", "at_least"):
        if key in keys:
            raise _refused(
                f"{key} limits a rate itself, and this requirement how far the rates of groups are apart: did you mean "
                f"within={_number(keys[key])}?"
            )
    if within is None:
        raise _refused("this requirement needs a limit: how far the rates of groups may be apart, such as within=0.05")
    return within


def loss(
    loss: str,
    *,
    at_most: Number,
    where: str | None = None,
    groups: str | None = None,
    every: Literal["row"] | None = None,
    all_but: float | None = None,
    name: str | None = None,
    **keys: Any,
) -> Requirement:
    """A loss, on average or for every row, of everyone, of those ``where`` selects, or of each of ``groups``.

    >>> print(loss("cross-entropy", groups="city", at_most=0.6))
    the cross-entropy of each city is at most 0.6
    """
    kind = "pointwise" if _every(every) else None
    return Requirement(
        name=name, loss=loss, kind=kind, at_most=at_most, where=where, groups=groups, all_but=all_but, **keys
    )


def robust(
    epsilon: float | Mapping[str, Any],
    *,
    at_most: Number,
    loss: str = "cross-entropy",
    name: str | None = None,
    **keys: Any,
) -> Requirement:
    """A loss at the worst point within ``epsilon`` standard deviations of every row.

    >>> print(robust(0.1, at_most=0.7))
    the cross-entropy under attack (ε = 0.1) is at most 0.7
    """
    epsilon = dict(epsilon) if isinstance(epsilon, Mapping) else epsilon
    return Requirement(name=name, loss=loss, at_most=at_most, adversary={"epsilon": epsilon}, **keys)


def label(value: Any) -> str:
    """A category as the core writes it: ``3`` for 3.0, ``true`` for True."""
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def as_dicts(requirements: Iterable[Requirement | Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """The requirements as the problem file has them; names that occur twice are numbered."""
    if requirements is None:
        return []
    if isinstance(requirements, (Requirement, Mapping, str)):
        raise _refused("requirements: give a list of requirements, such as [rate('recall', at_least=0.8)]")
    found: list[dict[str, Any]] = []
    for at, one in enumerate(requirements):
        if isinstance(one, Mapping):
            one = Requirement(**one)
        if not isinstance(one, Requirement):
            raise _refused(f"requirements[{at}]: {type(one).__name__} is not a requirement: use rate(…), parity(…), …")
        keys, names = one.to_dict(), {other["name"] for other in found}
        name, number = keys["name"], 2
        while keys["name"] in names:
            keys["name"], number = f"{name} ({number})", number + 1
        found.append(keys)
    return found


def _refused(message: str) -> Exception:
    from ._feasible import FeasibleError

    return FeasibleError(message)


def _every(every: object) -> bool:
    if every not in (None, "row"):
        raise _refused(f"every: {every!r} is neither 'row' nor None (on average)")
    return every == "row"


def _plain(value: Any) -> Any:
    """Numbers of numpy as numbers of Python, tuples as lists."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        return value.item()
    return value


def _change(keys: Mapping[str, Any]) -> str:
    changes = keys["counterfactual"]
    said = []
    for change in changes if isinstance(changes, list) else [changes]:
        said += [f"{column}: {label(a)} ↔ {label(b)}" for column, (a, b) in change.get("swap", {}).items()]
        said += [f"{column} set to {label(value)}" for column, value in change.get("set", {}).items()]
        if "pairs" in change:
            said.append(f"every exchange of two categories of {change['pairs']}")
        if "crosses" in change:
            said.append(f"every exchange of categories of {' and '.join(change['crosses'])} at once")
    return ", ".join(said)


def _usual_name(keys: Mapping[str, Any]) -> str:
    if "counterfactual" in keys:
        changes = keys["counterfactual"]
        change = changes[0] if isinstance(changes, list) else changes
        for kind in ("swap", "set"):
            if kind in change:
                return " and ".join(change[kind])
        return str(change.get("pairs") or " and ".join(change.get("crosses", ["invariant"])))
    what = keys.get("fairness") or keys.get("rate") or keys.get("loss") or "requirement"
    what = "robust" if "adversary" in keys else str(what)
    what += f" of {keys['class']}" if "class" in keys else ""
    what += f" by {keys['groups']}" if "groups" in keys else ""
    what += f" where {keys['where']}" if "where" in keys else ""
    return what


def _number(x: Any) -> str:
    return f"{x:g}" if isinstance(x, (int, float)) else str(x)


def _sentence(keys: Mapping[str, Any]) -> str:
    several = keys.get("fairness") == "equalised-odds"
    pointwise = keys.get("kind") == "pointwise"
    whose = f" of each {keys['groups']}" if "groups" in keys else ""
    whose += f" where {keys['where']}" if "where" in keys else ""
    share = f", all but {100 * keys['all_but']:g} % of them" if keys.get("all_but") else ""
    if "counterfactual" in keys:
        of = f"of every row{whose}{share}" if pointwise else f"{whose.strip() or 'of everyone'}, on average,"
        by = _SPOKEN.get(str(keys.get("loss")), str(keys.get("loss")))
        limit = _number(keys.get("at_most"))
        return f"the prediction {of} changes by at most {limit} ({by}) under {_change(keys)}"
    if "fairness" in keys:
        what = _FAIRNESS.get(keys["fairness"], keys["fairness"])
    elif "rate" in keys:
        what = _RATES.get(keys["rate"], keys["rate"])
        what += f" of '{keys['class']}'" if "class" in keys else ""
    else:
        what = str(keys.get("loss", "it"))
    if "adversary" in keys:
        epsilon = keys["adversary"].get("epsilon")
        what += f" under attack (ε = {_number(epsilon)})"
    article = "" if "rate" in keys and "within" not in keys else "the "
    every = f" of every row{share}" if pointwise else ""
    verb = "are" if several else "is"
    against = keys.get("against", "everyone")
    whom = "everyone's" if against == "everyone" else f"that where {against}"
    limits = []
    if "at_most" in keys:
        limits.append(f"at most {_number(keys['at_most'])}")
    if "at_least" in keys:
        limits.append(f"at least {_number(keys['at_least'])}")
    if "within" in keys:
        limits.append(f"within {_number(keys['within'])} of {whom}")
    elif "against" in keys:
        limits[-1:] = [f"{limit} above {whom}" for limit in limits[-1:]]
    return f"{article}{what}{every}{whose} {verb} {' and '.join(limits) or 'without a limit'}"
