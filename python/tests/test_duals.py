"""Multipliers for a training loop of one's own: a model in numpy."""

from __future__ import annotations

import copy
import json
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from feasible import FeasibleError
from feasible.duals import Duals, adam, algorithm1, ascent, average, cosine, every_row, nu_pi, proxy, step_schedule


def test_an_average_requirement_moves_one_multiplier_by_its_violation() -> None:
    duals = Duals(average("loss", at_most=0.4, dual=ascent(0.5)))
    assert duals.lagrangian(2.0, loss=np.array([0.5, 0.7])) == pytest.approx(2.0 + 1.0 * (0.6 - 0.4))
    duals.step()
    assert duals.multipliers("loss") == pytest.approx([1.0 + 0.5 * 0.2])
    duals.lagrangian(2.0, loss=-9.0)
    duals.step()
    assert duals.multipliers("loss")[0] == 0.0


def test_at_least_turns_the_sign_around() -> None:
    duals = Duals(average("recall", at_least=0.8, dual=ascent(1.0)))
    assert duals.lagrangian(0.0, recall=0.5) == pytest.approx(0.3)
    duals.step()
    assert duals.multipliers("recall") == pytest.approx([1.3])


def test_a_multiplier_belongs_to_its_sample_and_is_made_when_that_is_measured() -> None:
    duals = Duals(every_row("kl", rows=10**12, at_most=0.1, dual=ascent(1.0), start=0.5))
    duals.lagrangian(0.0, kl=(np.array([0.2, 0.0]), np.array([10**11, 3])))
    duals.step()
    assert duals.multipliers("kl", [3, 10**11, 4]) == pytest.approx([0.4, 0.6, 0.5])
    assert duals.known("kl") == pytest.approx({10**11: 0.6, 3: 0.4})


def test_values_of_several_parts_of_a_batch_are_averaged_by_one_step() -> None:
    whole, parts = (Duals(every_row("kl", at_most=0.1), average("loss", at_most=0.2)) for _ in range(2))
    values, rows = np.array([0.3, 0.0, 0.5, 0.1]), np.array([0, 1, 2, 3])
    whole.lagrangian(0.0, kl=(values, rows), loss=values)
    for part in (slice(0, 2), slice(2, 4)):
        parts.lagrangian(0.0, kl=(values[part], rows[part]), loss=values[part])
    whole.step()
    parts.step()
    assert whole.known("kl") == parts.known("kl")
    assert whole.multipliers("loss") == pytest.approx(parts.multipliers("loss"))


def test_a_proxy_is_in_the_loss_and_what_is_measured_moves_the_multiplier() -> None:
    duals = Duals(average("errors", at_most=0.1, dual=ascent(1.0)))
    assert duals.lagrangian(0.0, errors=proxy(0.7, 0.2)) == pytest.approx(0.6)
    duals.step()
    assert duals.multipliers("errors") == pytest.approx([1.1])


METHODS: list[tuple[Any, list[float | None]]] = [
    # By hand: violations 0.2 and −0.1 in turn.
    (ascent(0.5), [1.1, 1.05]),
    (algorithm1(0.5), [1.0 + 0.1 / 4, 1.0 + 0.05 / 4]),
    (nu_pi(0.5, 2.0, 0.0), [1.1, 1.1 - 0.05 + 2.0 * (-0.1 - 0.2)]),
    (ascent(0.5, step_schedule(0.5, 1)), [1.1, 1.1 - 0.025]),
    (ascent(0.5, cosine(1.0)), [1.1, 1.1]),
    (adam(0.1), [1.1, None]),
]


@pytest.mark.parametrize(("method", "expected"), METHODS)
def test_every_dual_method_of_the_core_is_there(method: Any, expected: list[float | None]) -> None:
    duals = Duals(every_row("x", rows=4, at_most=0.0, dual=method))
    for epoch, violation in enumerate([0.2, -0.1]):
        duals.measure("x", [violation], [2])
        duals.step(epoch)
        if (wanted := expected[epoch]) is not None:
            assert duals.multipliers("x", [2]) == pytest.approx([max(0.0, wanted)], abs=1e-6)


@pytest.mark.parametrize("method", [ascent(0.5), adam(0.1), nu_pi(0.5, 2.0, 0.9)])
def test_a_saved_state_continues_to_the_same_bits(method: Any, tmp_path: Path) -> None:
    def make() -> Duals:
        return Duals(average("a", at_most=0.1, dual=method), every_row("b", rows=3000, at_most=0.0, dual=method))

    draw = np.random.default_rng(0)
    batches = [(draw.normal(size=50), draw.permutation(3000)[:50]) for _ in range(120)]

    def run(duals: Duals, batches: list[Any]) -> None:
        for values, rows in batches:
            duals.lagrangian(0.0, a=values, b=(values, rows))
            duals.step()

    whole, half = make(), make()
    run(whole, batches)
    run(half, batches[:60])
    half.save(tmp_path / "duals.json")
    again = make()
    again.load(tmp_path / "duals.json")
    run(again, batches[60:])
    assert again.state_dict() == whole.state_dict()
    assert again.steps == 120 and len(again.history) == 240
    assert [entry.name for entry in tmp_path.iterdir()] == ["duals.json"]


def test_the_history_says_what_every_step_saw() -> None:
    duals = Duals(every_row("kl", at_most=0.1, dual=ascent(100.0)))
    duals.lagrangian(0.0, kl=([0.3, 0.0], [0, 1]))
    duals.step()
    (line,) = duals.history
    expected = {"step": 0, "violation": 0.05, "worst": 0.2, "multiplier": 10.5, "at_zero": 0.5, "samples": 2}
    assert {name: line[name] for name in expected} == pytest.approx(expected)
    assert line["requirement"] == "kl"


def two() -> Duals:
    return Duals(average("mean", at_most=0.1), every_row("row", rows=5, at_most=0.1))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Duals(), "at least one requirement"),
        (lambda: Duals(average("a", at_most=1), average("a", at_most=2)), "'a' is stated twice"),
        (lambda: average("a"), "'a': give either at_most or at_least"),
        (lambda: average("a", at_most=1, at_least=0), "give either at_most or at_least"),
        (lambda: Duals(average("a", at_most=math.nan)), "NaN"),
        (lambda: Duals(average("a", at_most=1, dual=ascent(-1.0))), "dual rate"),
        (lambda: Duals(average("a", at_most=1, start=-1.0)), "start is -1"),
        (lambda: every_row("a", rows=0, at_most=1), "rows=0"),
        (lambda: Duals("a"), "average(…) or every_row(…), not str"),  # type: ignore[arg-type]
        (lambda: two().lagrangian(0.0, men=0.1), "no requirement 'men': there are mean, row"),
        (lambda: two().lagrangian(0.0, row=[0.1]), "row=(values, rows)"),
        (lambda: two().lagrangian(0.0, mean=([0.1], [0])), "mean=values"),
        (lambda: two().lagrangian(0.0, row=([0.1], [5])), "sample id 5 at position 0 is out of range: ids are from 0 to 4"),
        (lambda: two().lagrangian(0.0, row=([0.1, 0.2], [0, -1])), "sample id -1 at position 1"),
        (lambda: two().lagrangian(0.0, row=([0.1, 0.2], [0])), "2 values for 1 sample ids"),
        (lambda: two().lagrangian(0.0, row=([0.1], [0.5])), "of type float64: give whole numbers"),
        (lambda: two().lagrangian(0.0, row=([[0.1]], [0])), "shape (1, 1)"),
        (lambda: two().lagrangian(0.0, mean=[0.1, math.nan]), "value 1 of 2 is NaN"),
        (lambda: two().lagrangian(0.0, mean=math.inf), "value 0 of 1 is inf"),
        (lambda: two().lagrangian(0.0, mean="much"), "are no numbers"),
        (lambda: two().lagrangian(0.0, mean=[]), "there are no values"),
        (lambda: two().step(), "nothing was measured"),
        (lambda: two().load_state_dict({}), "no state of Duals"),
        (lambda: two().load_state_dict({"feasible.Duals": "{}"}), "no state of Duals"),
        (lambda: two().load_state_dict(Duals(average("a", at_most=1)).state_dict()), "of other requirements: 'a' on average"),
    ],
)
def test_what_is_wrong_gets_a_sentence(call: Any, words: str) -> None:
    with pytest.raises(FeasibleError) as error:
        call()
    assert words.replace("NaN", "nan").lower() in str(error.value).lower()


@pytest.mark.parametrize("wrong", [([0.1], [9]), ([math.nan], [1]), (proxy([0.1], [math.nan]), [1]), (proxy([0.1], [0.1, 0.2]), [1])])
def test_a_mistake_in_one_requirement_leaves_the_others_unmeasured(wrong: Any) -> None:
    duals = two()
    with pytest.raises(FeasibleError):
        duals.lagrangian(0.0, mean=0.5, row=wrong)
    with pytest.raises(FeasibleError, match="nothing was measured"):
        duals.step()


def test_a_damaged_state_is_refused_and_changes_nothing() -> None:
    duals = two()
    duals.lagrangian(0.0, mean=0.5, row=([0.1, 0.4], [1, 2]))
    duals.step()
    before = duals.state_dict()
    damages: list[Any] = [
        lambda state: state["requirements"][1]["ids"].pop(),
        lambda state: state["requirements"][1]["multipliers"].__setitem__(0, -1.0),
        lambda state: state["requirements"][1]["ids"].__setitem__(0, 2),
        lambda state: state["requirements"][1]["ids"].__setitem__(0, 5),
        lambda state: state["requirements"][0]["states"][0]["first"].pop(),
        lambda state: state.__setitem__("format", 9),
    ]
    for damage in damages:
        state = json.loads(before["feasible.Duals"])
        damage(state)
        with pytest.raises(FeasibleError):
            duals.load_state_dict({"feasible.Duals": json.dumps(state)})
        assert duals.state_dict() == before


def test_a_model_in_numpy_meets_its_requirement_and_the_multiplier_is_the_price() -> None:
    # minimise θ² subject to 1 − θ ≤ 0: θ = 1, and 2θ − μ = 0 makes μ = 2.
    duals, theta = Duals(average("far", at_most=0.0, dual=ascent(0.05))), 0.0
    for _ in range(2000):
        duals.lagrangian(theta**2, far=1 - theta)
        theta -= 0.05 * (2 * theta - duals.multipliers("far")[0])
        duals.step()
    assert theta == pytest.approx(1.0, abs=1e-3)
    assert duals.multipliers("far") == pytest.approx([2.0], abs=1e-2)


def test_the_last_step_is_the_end_of_the_history() -> None:
    duals = Duals(average("a", at_most=0.0), every_row("b", at_most=0.0))
    assert duals.last == []
    for values in ({"a": 1.0}, {"a": 1.0, "b": ([0.5], [3])}, {"b": ([0.5], [3])}):
        duals.lagrangian(0.0, **values)
        duals.step()
        assert [line["requirement"] for line in duals.last] == list(values)
        assert duals.last == duals.history[-len(values) :]


def test_a_copy_and_a_pickle_continue_to_the_same_multipliers() -> None:
    duals = Duals(every_row("b", rows=9, at_most=0.0, dual=adam(0.1)))
    duals.lagrangian(0.0, b=([0.5, 1.0], [3, 4]))
    duals.step()
    others = [copy.deepcopy(duals), pickle.loads(pickle.dumps(duals))]
    for one in (duals, *others):
        one.lagrangian(0.0, b=([2.0], [4]))
        one.step()
    assert all(other.state_dict() == duals.state_dict() for other in others)
