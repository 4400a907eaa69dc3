"""Multipliers in JAX, as pure functions for ``jit``.

>>> import jax.numpy as jnp
>>> from feasible.duals import ascent, average
>>> from feasible.jax import init, lagrangian, update
>>> requirements = (average("robust", at_most=0.4, dual=ascent(0.5)),)
>>> state = init(requirements)
>>> print(f"{lagrangian(requirements, state, jnp.asarray(1.0), robust=jnp.asarray(0.5)):.3f}")
1.100
>>> state = update(requirements, state, robust=jnp.asarray(0.5))
>>> print(f"{state['robust']['multipliers'][0]:.3f}")
1.050

The state is a dictionary of arrays; requirements are constants of the traced function. λ of every row is an array of ``rows`` entries, so that ``rows`` must
be given. Traced code raises no errors: an id out of range makes the Lagrangian NaN and moves nothing. `check` says what is wrong with
concrete arrays. Steps are those of `feasible.Duals`, in the precision of the arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from . import duals as _duals
from ._feasible import FeasibleError
from .duals import DualRequirement

__all__ = ["check", "init", "lagrangian", "update"]

State = dict[str, dict[str, jax.Array]]


def _by_name(requirements: Sequence[DualRequirement]) -> dict[str, DualRequirement]:
    # Everything that can be wrong with what is stated, said as `feasible.Duals` says it.
    return {one.name: one for one in _duals.Duals(*requirements).requirements}


def init(requirements: Sequence[DualRequirement]) -> State:
    """The state before the first step."""
    state = {}
    for name, one in _by_name(requirements).items():
        if one.every_row and one.rows is None:
            raise FeasibleError(f"requirement '{name}': give rows=, the number of samples: arrays of a traced function have a size")
        count = one.rows or 1
        zeros = jnp.zeros(count)
        state[name] = {
            "multipliers": jnp.full(count, one.start),
            "first": zeros,
            "second": zeros,
            "steps": jnp.zeros(count, dtype=jnp.int32),
        }
    return state


def check(requirements: Sequence[DualRequirement], **terms: Any) -> None:
    """Refuses concrete values and ids that cannot be used, with the sentence that says why."""
    _duals.Duals(*requirements).lagrangian(0.0, **terms)


def _shape(values: Any) -> tuple[int, ...]:
    return tuple(jnp.shape(values))


def _parts(requirements: Sequence[DualRequirement], terms: Mapping[str, Any]) -> list[tuple[DualRequirement, _duals.Term]]:
    known = {one.name: one for one in requirements}
    parts = []
    for name, given in terms.items():
        one = _duals.requirement_for(known, name)
        part = _duals.term(one, given)
        if one.every_row and _shape(part.surrogate) != _shape(part.rows):
            raise FeasibleError(
                f"requirement '{name}': values of shape {_shape(part.surrogate)} for sample ids of shape {_shape(part.rows)}: "
                "give one value for each sample"
            )
        parts.append((one, part))
    return parts


def lagrangian(
    requirements: Sequence[DualRequirement], state: State, objective: jax.Array, /, **terms: Any
) -> jax.Array:
    """The Lagrangian of a batch, to be differentiated with respect to the model; multipliers are constants."""
    total = objective
    for one, part in _parts(requirements, terms):
        multipliers = jax.lax.stop_gradient(state[one.name]["multipliers"])
        if one.every_row:
            rows = jnp.asarray(part.rows)
            known = (rows >= 0) & (rows < multipliers.shape[0])
            multipliers = jnp.where(known, multipliers[jnp.where(known, rows, 0)], jnp.nan)
        values = jnp.asarray(part.surrogate)
        total = total + one.sign * jnp.mean(multipliers * (values - one.limit))
    return total


def _rate(one: DualRequirement, epoch: Any) -> Any:
    name, numbers = one.dual.schedule
    at = dict(numbers)
    if name == "step":
        return one.dual.rate * at["factor"] ** jnp.floor(epoch / at["every"])
    if name == "cosine":
        share = jnp.minimum(epoch / at["over"], 1.0)
        return one.dual.rate * (at["floor"] + (1 - at["floor"]) * 0.5 * (1 + jnp.cos(jnp.pi * share)))
    return one.dual.rate


def _moved(one: DualRequirement, own: dict[str, jax.Array], violation: jax.Array, seen: jax.Array, epoch: Any) -> dict[str, jax.Array]:
    numbers, rate = dict(one.dual.numbers), _rate(one, epoch)
    first, second, steps = own["first"], own["second"], own["steps"] + 1
    if one.dual.method == "adam":
        beta1, beta2 = numbers["beta1"], numbers["beta2"]
        first = beta1 * first + (1 - beta1) * violation
        second = beta2 * second + (1 - beta2) * violation**2
        unbiased = [1 - jnp.power(beta, steps.astype(violation.dtype)) for beta in (beta1, beta2)]
        by = rate * (first / unbiased[0]) / (jnp.sqrt(second / unbiased[1]) + 1e-8)
    elif one.dual.method == "nu_pi":
        before = jnp.where(own["steps"] == 0, violation, first)
        first = numbers["nu"] * before + (1 - numbers["nu"]) * violation
        by = rate * violation + numbers["proportional"] * (first - before)
    else:
        points = one.rows if one.dual.method == "algorithm1" and one.every_row else 1
        by = rate * violation / points
    new = {"multipliers": jnp.maximum(own["multipliers"] + by, 0), "first": first, "second": second, "steps": steps}
    return {name: jnp.where(seen, value, own[name]) for name, value in new.items()}


def update(requirements: Sequence[DualRequirement], state: State, /, epoch: Any = 0.0, **terms: Any) -> State:
    """The state after a dual step on what was measured; samples that are not in the batch do not move."""
    after = dict(state)
    for one, part in _parts(requirements, terms):
        own = state[one.name]
        values = jax.lax.stop_gradient(jnp.asarray(part.measured))
        violation = one.sign * (values - one.limit)
        if one.every_row:
            count = own["multipliers"].shape[0]
            # An id out of range goes to a place that does not exist, and is dropped.
            rows = jnp.asarray(part.rows)
            rows = jnp.where((rows >= 0) & (rows < count), rows, count)
            zeros = jnp.zeros(count, dtype=own["multipliers"].dtype)
            times = zeros.at[rows].add(1.0, mode="drop")
            sums = zeros.at[rows].add(violation.astype(zeros.dtype), mode="drop")
            violation, seen = sums / jnp.maximum(times, 1), times > 0
        else:
            violation = jnp.mean(violation)[None]
            seen = jnp.ones(1, dtype=bool)
        after[one.name] = _moved(one, own, violation, seen, epoch)
    return after
