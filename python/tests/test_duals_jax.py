"""The same multipliers as pure functions in JAX; not run where JAX is not installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from feasible import FeasibleError
from feasible.duals import Duals, adam, algorithm1, ascent, average, cosine, every_row, nu_pi, proxy, step_schedule

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from feasible.jax import check, init, lagrangian, update  # noqa: E402

METHODS = [ascent(0.5), algorithm1(5.0), adam(0.1), nu_pi(0.3, 1.0, 0.5), ascent(0.5, step_schedule(0.5, 3)), adam(0.1, schedule=cosine(8, 0.1))]


@pytest.mark.parametrize("method", METHODS)
def test_the_steps_are_those_of_the_core_under_jit(method: Any) -> None:
    requirements = (average("a", at_least=0.1, dual=method), every_row("b", rows=20, at_most=0.2, dual=method))
    core, state = Duals(*requirements), init(requirements)
    value = jax.jit(lambda state, x, v, rows: lagrangian(requirements, state, x, a=v, b=(v, rows)))
    move = jax.jit(lambda state, epoch, v, rows: update(requirements, state, epoch, a=v, b=(v, rows)))
    draw = np.random.default_rng(1)
    for epoch in range(10):
        # A sample may be in a batch twice.
        values, rows = draw.normal(size=6).astype(np.float32), draw.integers(0, 20, 6)
        expected = core.lagrangian(1.5, a=values, b=(values, rows))
        # Single precision on one side: a few roundings of numbers of size 1.
        assert float(value(state, 1.5, values, rows)) == pytest.approx(expected, abs=2e-6)
        core.step(epoch)
        state = move(state, epoch, values, rows)
        for name, ids in (("a", None), ("b", np.arange(20))):
            assert np.asarray(state[name]["multipliers"]) == pytest.approx(core.multipliers(name, ids), abs=1e-5)


def test_the_gradient_is_of_the_surrogate_and_not_of_multipliers() -> None:
    requirements = (average("errors", at_most=0.1, start=3.0),)
    state = init(requirements)
    loss = lambda theta: lagrangian(requirements, state, theta**2, errors=proxy(2 * theta, 0.0))
    assert float(jax.grad(loss)(1.0)) == pytest.approx(2 + 3 * 2)


def test_an_id_out_of_range_shows_as_nan_moves_nothing_and_is_named_by_check() -> None:
    requirements = (every_row("b", rows=3, at_most=0.0),)
    state = init(requirements)
    for bad in (3, -1):
        given = {"b": (jnp.ones(2), jnp.array([0, bad]))}
        assert np.isnan(float(lagrangian(requirements, state, jnp.asarray(0.0), **given)))
        after = update(requirements, state, **given)
        assert np.asarray(after["b"]["steps"]).tolist() == [1, 0, 0]
        with pytest.raises(FeasibleError, match=f"sample id {bad} at position 1"):
            check(requirements, **given)


def test_what_is_wrong_gets_a_sentence_before_it_is_traced() -> None:
    with pytest.raises(FeasibleError, match="give rows="):
        init((every_row("b", at_most=0.0),))
    requirements = (every_row("b", rows=3, at_most=0.0),)
    with pytest.raises(FeasibleError, match="give one value for each sample"):
        lagrangian(requirements, init(requirements), jnp.asarray(0.0), b=(jnp.ones(2), jnp.array([0])))
    with pytest.raises(FeasibleError, match="no requirement 'c'"):
        lagrangian(requirements, init(requirements), jnp.asarray(0.0), c=1.0)


def test_a_model_in_jax_meets_its_requirement() -> None:
    # minimise mean (θ − y)² subject to θ ≥ y for every row: θ is the largest y.
    y = jnp.array([0.0, 1.0, 2.0])
    requirements = (every_row("above", rows=3, at_most=0.0, dual=ascent(0.1)),)

    @jax.jit  # type: ignore
    def step(theta: Any, state: Any) -> Any:
        def terms(theta: Any) -> dict[str, Any]:
            return {"above": (y - theta, jnp.arange(3))}

        def loss(theta: Any) -> Any:
            return lagrangian(requirements, state, jnp.mean((theta - y) ** 2), **terms(theta))

        theta = theta - 0.05 * jax.grad(loss)(theta)
        return theta, update(requirements, state, **terms(theta))

    theta, state = jnp.asarray(0.0), init(requirements)
    for _ in range(3000):
        theta, state = step(theta, state)
    assert float(theta) == pytest.approx(2.0, abs=1e-2)
    assert np.asarray(state["above"]["multipliers"]) == pytest.approx([0.0, 0.0, 6.0], abs=0.1)
