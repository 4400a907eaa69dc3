"""The same multipliers in PyTorch; not run where it is not installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from feasible import FeasibleError
from feasible.duals import Duals as Core
from feasible.duals import ascent, average, every_row, proxy

torch = pytest.importorskip("torch")
import feasible.torch  # noqa: E402


def test_the_lagrangian_is_a_tensor_with_the_numbers_of_the_core() -> None:
    requirements = (average("a", at_least=0.1), every_row("b", rows=20, at_most=0.2))
    core, duals = Core(*requirements), feasible.torch.Duals(*requirements)
    draw = np.random.default_rng(1)
    for _ in range(5):
        values, rows = draw.normal(size=6), draw.integers(0, 20, 6)
        expected = core.lagrangian(1.5, a=values, b=(values, rows))
        x = torch.tensor(values, requires_grad=True)
        loss = duals.lagrangian(torch.tensor(1.5), a=x, b=(x, torch.tensor(rows)))
        assert loss.item() == pytest.approx(expected)
        loss.backward()
        of_rows = core.multipliers("b", rows)
        assert x.grad.numpy() == pytest.approx((of_rows - core.multipliers("a")) / 6)
        core.step()
        duals.step()
    assert core.state_dict() == duals.state_dict()


def test_a_surrogate_is_differentiated_and_a_measured_value_moves_the_multiplier() -> None:
    duals = feasible.torch.Duals(average("errors", at_most=0.1, dual=ascent(1.0)))
    x = torch.tensor(0.7, requires_grad=True)
    duals.lagrangian(torch.tensor(0.0), errors=proxy(x, 0.2)).backward()
    duals.step()
    assert x.grad.item() == pytest.approx(1.0)
    assert duals.multipliers("errors") == pytest.approx([1.1])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_multiplied_in_single(dtype: Any) -> None:
    duals = feasible.torch.Duals(average("a", at_most=0.0, start=1e5))
    loss = duals.lagrangian(torch.tensor(1.0, dtype=dtype), a=torch.tensor([1.0], dtype=dtype))
    assert loss.dtype == torch.float32 and loss.item() == pytest.approx(100001.0)


def test_a_compiled_network_trains_with_multipliers() -> None:
    duals = feasible.torch.Duals(average("a", at_most=0.0))
    net = torch.compile(torch.nn.Linear(2, 1), backend="eager")
    loss = duals.lagrangian(net(torch.ones(3, 2)).square().mean(), a=net(torch.ones(3, 2)).squeeze(1))
    loss.backward()
    duals.step()
    assert duals.steps == 1


def test_what_is_wrong_gets_a_sentence() -> None:
    duals = feasible.torch.Duals(every_row("b", rows=3, at_most=0.0))
    one = torch.tensor(0.0)
    with pytest.raises(FeasibleError, match="one number in a tensor"):
        duals.lagrangian(torch.ones(2), b=(torch.ones(1), torch.tensor([0])))
    with pytest.raises(FeasibleError, match="2 values for 1 sample ids"):
        duals.lagrangian(one, b=(torch.ones(2), torch.tensor([0])))
    with pytest.raises(FeasibleError, match="sample id 3"):
        duals.lagrangian(one, b=(torch.ones(1), torch.tensor([3])))
    with pytest.raises(FeasibleError, match="is NaN"):
        duals.lagrangian(one, b=(torch.tensor([torch.nan]), torch.tensor([0])))
    with pytest.raises(FeasibleError, match="give a tensor"):
        duals.lagrangian(one, b=([0.5], torch.tensor([0])))
