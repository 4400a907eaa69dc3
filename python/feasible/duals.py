"""Multipliers for a training loop of your own, whatever the model is written in.

A requirement is stated once, with its limit; the loop asks for multipliers, adds the requirements' terms to its loss, tells what
it measured and has the multipliers moved:

>>> import numpy as np
>>> from feasible.duals import Duals, ascent, average, every_row
>>> duals = Duals(
...     average("robust", at_most=0.4, dual=ascent(0.5)),
...     every_row("invariant", rows=1000, at_most=0.25, dual=ascent(1.0)),
... )
>>> rows = np.array([7, 3])
>>> duals.lagrangian(1.0, robust=0.6, invariant=(np.array([0.5, 0.0]), rows))
1.2
>>> duals.step()
>>> duals.multipliers("robust"), duals.multipliers("invariant", rows)
(array([1.1]), array([1.25, 0.75]))

The Lagrangian of a batch is objective + μ (mean of the values − limit) for an average, and objective + mean of λ(n) (value of n − limit) for
every row; a requirement with ``at_least`` has the sign turned around. λ belongs to a sample by its id, from 0: it is made when the sample is
first measured, kept in Rust, and moves only when its sample is measured.

Between two steps values may be measured any number of times (gradient accumulation); the step takes their mean.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from ._feasible import DualsCore, FeasibleError

__all__ = [
    "DualMethod",
    "DualRequirement",
    "Duals",
    "Proxy",
    "adam",
    "algorithm1",
    "ascent",
    "average",
    "cosine",
    "every_row",
    "nu_pi",
    "proxy",
    "step_schedule",
]

Schedule = Union[str, dict[str, dict[str, float]]]


@dataclass(frozen=True)
class DualMethod:
    """How violations move multipliers; made by `ascent`, `algorithm1`, `adam` and `nu_pi`."""

    method: str
    rate: float
    numbers: tuple[tuple[str, float], ...] = ()
    #: ``"constant"``, or a schedule of `step_schedule` or `cosine` as sorted pairs.
    schedule: tuple[str, tuple[tuple[str, float], ...]] = ("constant", ())

    def _spec(self) -> dict[str, Any]:
        name, numbers = self.schedule
        schedule: Schedule = {name: dict(numbers)} if numbers else name
        return {"method": self.method, "rate": self.rate, **dict(self.numbers), "schedule": schedule}


def step_schedule(factor: float, every: float) -> tuple[str, tuple[tuple[str, float], ...]]:
    """The rate is multiplied by ``factor`` after each ``every`` epochs."""
    return ("step", (("factor", float(factor)), ("every", float(every))))


def cosine(over: float, floor: float = 0.0) -> tuple[str, tuple[tuple[str, float], ...]]:
    """The rate goes down to ``floor`` of itself along half a cosine, over this many epochs."""
    return ("cosine", (("over", float(over)), ("floor", float(floor))))


_CONSTANT: tuple[str, tuple[tuple[str, float], ...]] = ("constant", ())


def ascent(rate: float, schedule: tuple[str, tuple[tuple[str, float], ...]] = _CONSTANT) -> DualMethod:
    """m ← max(0, m + rate · violation)."""
    return DualMethod("ascent", float(rate), (), schedule)


def algorithm1(rate: float, schedule: tuple[str, tuple[tuple[str, float], ...]] = _CONSTANT) -> DualMethod:
    """As `ascent`, the violation of a row divided by the number of rows: the gradient of the Lagrangian."""
    return DualMethod("algorithm1", float(rate), (), schedule)


def adam(
    rate: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    schedule: tuple[str, tuple[tuple[str, float], ...]] = _CONSTANT,
) -> DualMethod:
    """Adam on the violations: about ``rate`` a step, whatever their size."""
    return DualMethod("adam", float(rate), (("beta1", float(beta1)), ("beta2", float(beta2))), schedule)


def nu_pi(
    rate: float,
    proportional: float,
    nu: float = 0.0,
    schedule: tuple[str, tuple[tuple[str, float], ...]] = _CONSTANT,
) -> DualMethod:
    """νPI control (Sohrabi et al. 2024): integral gain ``rate``, proportional gain, smoothing ``nu``."""
    return DualMethod("nu_pi", float(rate), (("proportional", float(proportional)), ("nu", float(nu))), schedule)


@dataclass(frozen=True)
class DualRequirement:
    """A requirement on values that a training loop measures; made by `average` and `every_row`."""

    name: str
    limit: float
    at_least: bool
    every_row: bool
    rows: int | None
    dual: DualMethod
    start: float

    def __str__(self) -> str:
        sense = "at least" if self.at_least else "at most"
        whose = "for every row" if self.every_row else "on average"
        return f"{self.name} {sense} {self.limit:g} {whose}"

    @property
    def sign(self) -> float:
        """−1 where the value must be at least the limit, else 1: a violation is sign · (value − limit)."""
        return -1.0 if self.at_least else 1.0


def _limit(name: str, at_most: float | None, at_least: float | None) -> tuple[float, bool]:
    if (at_most is None) == (at_least is None):
        raise FeasibleError(f"requirement '{name}': give either at_most or at_least")
    given = at_least if at_most is None else at_most
    limit = float(given if given is not None else 0.0)
    if not math.isfinite(limit):
        raise FeasibleError(f"requirement '{name}': its limit is {limit}, not a number")
    return limit, at_most is None


def average(
    name: str,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    dual: DualMethod | None = None,
    start: float = 1.0,
) -> DualRequirement:
    """The mean of a value is at most, or at least, a limit; one multiplier μ.

    >>> print(average("robust", at_most=0.4))
    robust at most 0.4 on average
    """
    limit, least = _limit(name, at_most, at_least)
    return DualRequirement(name, limit, least, False, None, dual or adam(0.01), float(start))


def every_row(
    name: str,
    *,
    rows: int | None = None,
    at_most: float | None = None,
    at_least: float | None = None,
    dual: DualMethod | None = None,
    start: float = 1.0,
) -> DualRequirement:
    """The value of every sample is at most, or at least, a limit; a multiplier λ for each sample, by its id from 0.

    ``rows`` is the number of samples; without it ids may be anything from 0.
    """
    limit, least = _limit(name, at_most, at_least)
    count = None if rows is None else int(rows)
    if count is not None and count < 1:
        raise FeasibleError(f"requirement '{name}': rows={rows}, and there must be at least one sample")
    return DualRequirement(name, limit, least, True, count, dual or adam(0.01), float(start))


@dataclass(frozen=True)
class Proxy:
    """A value to differentiate, and the one that is measured and moves the multiplier."""

    surrogate: Any
    measured: Any


def proxy(surrogate: Any, measured: Any) -> Proxy:
    """A smooth surrogate stands for a value that cannot be differentiated, an error rate say (proxy constraints).

    The surrogate is in the loss; what was measured moves the multiplier.
    """
    return Proxy(surrogate, measured)


@dataclass(frozen=True)
class Term:
    """A keyword of ``lagrangian``, taken apart."""

    surrogate: Any
    measured: Any
    rows: Any | None


def term(requirement: DualRequirement, given: Any) -> Term:
    """``values``, ``(values, rows)``, or either with a `proxy`."""
    rows = None
    if requirement.every_row:
        if not (isinstance(given, tuple) and len(given) == 2):
            raise FeasibleError(
                f"requirement '{requirement.name}' is for every row: give the ids of the samples with the values, "
                f"{requirement.name}=(values, rows)"
            )
        given, rows = given
    elif isinstance(given, tuple):
        raise FeasibleError(
            f"requirement '{requirement.name}' is of an average, and has one multiplier: give its values without ids "
            f"of samples, {requirement.name}=values"
        )
    if isinstance(given, Proxy):
        return Term(given.surrogate, given.measured, rows)
    return Term(given, given, rows)


def _host_array(name: str, what: str, values: Any) -> npt.NDArray[Any]:
    """As numpy has it; a tensor that numpy cannot read is told where to go."""
    try:
        return np.atleast_1d(np.asarray(values))
    except (TypeError, ValueError, RuntimeError) as error:
        if hasattr(values, "requires_grad"):
            said = f"a tensor on {values.device}" + (" that is differentiated" if values.requires_grad else "")
            raise FeasibleError(
                f"requirement '{name}': its {what} are {said}: use feasible.torch.Duals, or give values.detach().cpu()"
            ) from None
        raise FeasibleError(f"requirement '{name}': its {what} are no numbers: {error}") from None


def as_values(name: str, values: Any) -> npt.NDArray[np.float64]:
    """Numbers in one dimension."""
    array = _host_array(name, "values", values)
    try:
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise FeasibleError(f"requirement '{name}': its values are no numbers: {error}") from None
    if array.ndim != 1:
        raise FeasibleError(f"requirement '{name}': its values have the shape {array.shape}: give one for each sample")
    return array


def as_rows(name: str, rows: Any) -> npt.NDArray[np.int64]:
    """Ids in one dimension."""
    array = _host_array(name, "sample ids", rows)
    if array.ndim != 1:
        raise FeasibleError(f"requirement '{name}': the ids of samples have the shape {array.shape}: give one for each sample")
    if not np.issubdtype(array.dtype, np.integer):
        raise FeasibleError(f"requirement '{name}': the ids of samples are of type {array.dtype}: give whole numbers")
    if array.dtype == np.uint64 and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise FeasibleError(f"requirement '{name}': sample id {int(array.max())} is out of range")
    return array.astype(np.int64)


def requirement_for(requirements: Mapping[str, DualRequirement], name: str) -> DualRequirement:
    """The requirement of a keyword."""
    if name not in requirements:
        raise FeasibleError(f"there is no requirement '{name}': there are {', '.join(requirements)}")
    return requirements[name]


class Duals:
    """Multipliers of named requirements. See the module."""

    def __init__(self, *requirements: DualRequirement) -> None:
        for given in requirements:
            if not isinstance(given, DualRequirement):
                raise FeasibleError(f"give requirements made by average(…) or every_row(…), not {type(given).__name__}")
            numbers = [given.start, given.dual.rate, *(number for _, number in given.dual.numbers + given.dual.schedule[1])]
            if not all(map(math.isfinite, numbers)):
                raise FeasibleError(f"requirement '{given.name}': start, rate and the other numbers must be finite")
        spec = [
            {
                "name": one.name,
                "limit": one.limit,
                "at_least": one.at_least,
                "every_row": one.every_row,
                "rows": one.rows,
                "dual": one.dual._spec(),
                "start": one.start,
            }
            for one in requirements
        ]
        self._core = DualsCore(json.dumps(spec))
        self._requirements = {one.name: one for one in requirements}

    @property
    def requirements(self) -> Sequence[DualRequirement]:
        """The requirements, as stated."""
        return tuple(self._requirements.values())

    def multipliers(self, name: str, rows: Any | None = None) -> npt.NDArray[np.float64]:
        """μ of an average, as an array of one; λ of these samples."""
        return self._core.multipliers(name, None if rows is None else as_rows(name, rows))

    def known(self, name: str) -> dict[int, float]:
        """λ of every sample that was measured, by id."""
        ids, multipliers = self._core.known(name)
        return dict(zip(ids.tolist(), multipliers.tolist()))

    def measure(self, name: str, values: Any, rows: Any | None = None) -> None:
        """Takes measured values into the next step."""
        self._measure({name: (values, rows)})

    def _measure(self, terms: Mapping[str, tuple[Any, Any | None]]) -> None:
        """All of them, or none if one cannot be used."""
        checked = [
            (name, as_values(name, values), None if rows is None else as_rows(name, rows))
            for name, (values, rows) in terms.items()
        ]
        self._core.measure(checked)

    def lagrangian(self, objective: float, /, **terms: Any) -> float:
        """The Lagrangian of a batch of plain numbers; measures the values, too."""
        total, measured = float(objective), {}
        for name, given in terms.items():
            requirement = requirement_for(self._requirements, name)
            one = term(requirement, given)
            values = as_values(name, one.surrogate)
            multipliers = self.multipliers(name, one.rows)
            measured[name] = (one.measured, one.rows)
            if not len(values):
                raise FeasibleError(f"requirement '{name}': there are no values")
            if requirement.every_row and len(values) != len(multipliers):
                raise FeasibleError(
                    f"requirement '{name}': {len(values)} values for {len(multipliers)} sample ids: give one value for each sample"
                )
            total += requirement.sign * float(np.mean(multipliers * (values - requirement.limit)))
        # After all of them: a mistake in one leaves nothing half-measured.
        self._measure(measured)
        return total

    def step(self, epoch: float = 0.0) -> None:
        """Moves the multipliers of all that was measured since the last step; ``epoch`` is for schedules."""
        if self._core.step(float(epoch)) == 0:
            raise FeasibleError("nothing was measured since the last step: call lagrangian(…) or measure(…) before step()")

    def forget(self) -> None:
        """Leaves out what was measured since the last step, of a batch that a gradient scaler skipped for instance."""
        self._core.forget()

    @property
    def steps(self) -> int:
        """Steps done."""
        return self._core.steps

    @property
    def history(self) -> list[dict[str, Any]]:
        """A line for each step and requirement: mean and worst violation, mean multiplier, share at 0, samples."""
        return list(json.loads(self._core.history()))

    @property
    def last(self) -> list[dict[str, Any]]:
        """The lines of the history that the last step added."""
        return list(json.loads(self._core.last()))

    def state_dict(self) -> dict[str, str]:
        """All that is needed to continue, for ``torch.save`` or any other form."""
        return {"feasible.Duals": self._core.state()}

    def load_state_dict(self, state: Mapping[str, str]) -> None:
        """Continues from `state_dict` of the same requirements. Limits and rates stay as they are stated here."""
        text = state.get("feasible.Duals") if isinstance(state, Mapping) else None
        if not isinstance(text, str):
            raise FeasibleError("this is no state of Duals: it has no entry 'feasible.Duals'")
        self._core.load(text)

    def save(self, path: str | os.PathLike[str]) -> None:
        """The state in one file, written whole or not at all."""
        path = Path(path)
        scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            with scratch.open("w", encoding="utf-8") as file:
                json.dump(self.state_dict(), file)
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Continues from a file of `save`."""
        try:
            state = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise FeasibleError(f"{path} is no state of Duals: {error}") from None
        self.load_state_dict(state)

    def __getstate__(self) -> tuple[Sequence[DualRequirement], dict[str, str]]:
        return self.requirements, self.state_dict()

    def __setstate__(self, state: tuple[Sequence[DualRequirement], dict[str, str]]) -> None:
        requirements, steps = state
        Duals.__init__(self, *requirements)
        self.load_state_dict(steps)

    def __repr__(self) -> str:
        return f"Duals({'; '.join(map(str, self.requirements))})"
