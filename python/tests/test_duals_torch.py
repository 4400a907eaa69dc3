"""The same multipliers in PyTorch; not run where it is not installed."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from feasible import FeasibleError
from feasible.duals import Duals as Core
from feasible.duals import ascent, average, every_row, proxy

torch = pytest.importorskip("torch")
import feasible.torch  # noqa: E402
from feasible.torch import with_rows  # noqa: E402


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


def problem() -> tuple[Any, Any, Any]:
    """A network, and samples whose first two columns decide."""
    torch.manual_seed(0)
    x = torch.randn(64, 4)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)), x, (x[:, 0] + x[:, 1] > 0).long()


def losses(net: Any, x: Any, y: Any) -> tuple[Any, Any]:
    out = net(x)
    return torch.nn.functional.cross_entropy(out, y), torch.nn.functional.cross_entropy(out, y, reduction="none")


def test_training_under_autocast_follows_training_in_single_precision() -> None:
    found = []
    for half in (False, True):
        net, x, y = problem()
        duals = feasible.torch.Duals(every_row("each", rows=64, at_most=0.1, dual=ascent(0.05)))
        optimiser = torch.optim.SGD(net.parameters(), lr=0.2)
        for _ in range(20):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
                objective = net(x).square().mean()
                each = torch.nn.functional.cross_entropy(net(x), y, reduction="none")
                assert not half or net(x).dtype == torch.bfloat16
                loss = duals.lagrangian(objective, each=(each, torch.arange(64)))
            assert loss.dtype == torch.float32
            loss.backward()
            optimiser.step()
            optimiser.zero_grad()
            duals.step()
        found.append(duals.multipliers("each", np.arange(64)))
    # bfloat16 has eight bits, and losses are about 1: 20 steps of 0.05 · 2⁻⁸ · a few.
    assert found[1] == pytest.approx(found[0], abs=0.02)
    assert (found[1] != found[0]).any()


def test_a_batch_that_a_gradient_scaler_skips_can_be_left_out() -> None:
    duals = feasible.torch.Duals(average("a", at_most=0.0, dual=ascent(1.0)))
    x = torch.tensor(2.0, requires_grad=True)
    optimiser, scaler = torch.optim.SGD([x], lr=0.1), torch.amp.GradScaler("cpu", init_scale=4.0)
    for factor in (float("inf"), 1.0):
        scaler.scale(duals.lagrangian(x * factor if factor == 1 else x + (x - x.detach()) * factor, a=x)).backward()
        before = scaler.get_scale()
        scaler.step(optimiser)
        scaler.update()
        optimiser.zero_grad()
        if scaler.get_scale() < before:
            duals.forget()
        else:
            duals.step()
    assert duals.steps == 1 and duals.multipliers("a") == pytest.approx([3.0])


def test_accumulated_gradients_are_those_of_the_whole_batch() -> None:
    (net, x, y), states, gradients = problem(), [], []
    for parts in (1, 4):
        duals = feasible.torch.Duals(average("mean", at_most=0.1), every_row("each", rows=64, at_most=0.1))
        net.zero_grad()
        for part in torch.arange(64).chunk(parts):
            objective, each = losses(net, x[part], y[part])
            (duals.lagrangian(objective, mean=each, each=(each, part)) / parts).backward()
        duals.step()
        gradients.append(torch.cat([p.grad.flatten() for p in net.parameters()]))
        states.append((duals.multipliers("mean"), duals.multipliers("each", np.arange(64))))
    # Single precision, and sums of 64 numbers of about 1 in another order.
    assert torch.allclose(gradients[0], gradients[1], atol=1e-6)
    assert states[0][0] == pytest.approx(states[1][0], abs=1e-9) and states[0][1] == pytest.approx(states[1][1], abs=1e-6)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_of_a_loader_give_every_sample_its_own_id(start: str) -> None:
    data = with_rows(torch.utils.data.TensorDataset(torch.arange(40.0), torch.zeros(40)))
    loader = torch.utils.data.DataLoader(data, batch_size=7, shuffle=True, num_workers=2, multiprocessing_context=start)
    duals = feasible.torch.Duals(every_row("b", rows=40, at_most=0.0, start=0.0, dual=ascent(1.0)))
    for value, _, rows in loader:
        duals.lagrangian(torch.tensor(0.0), b=(value, rows))
    duals.step()
    # λ is what was measured of the sample of that id.
    assert duals.multipliers("b", torch.arange(40)).tolist() == list(range(40))


def test_a_sample_that_is_no_tuple_gets_its_id_too() -> None:
    assert with_rows([5.0, 6.0])[1] == (6.0, 1) and len(with_rows([5.0])) == 1  # type: ignore
    with pytest.raises(FeasibleError, match="a data set with a length, not generator"):
        with_rows(x for x in range(3))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_network_trains_as_one_that_is_not(backend: str) -> None:
    found = []
    for compiled in (False, True):
        net, x, y = problem()
        duals = feasible.torch.Duals(every_row("each", rows=64, at_most=0.1))
        optimiser = torch.optim.SGD(net.parameters(), lr=0.2)
        forward = torch.compile(net, backend=backend) if compiled else net
        for _ in range(5):
            objective, each = losses(forward, x, y)
            duals.lagrangian(objective, each=(each, torch.arange(64))).backward()
            optimiser.step()
            optimiser.zero_grad()
            duals.step()
        found.append(duals.multipliers("each", np.arange(64)))
    assert found[1] == pytest.approx(found[0], abs=1e-6)


def test_a_whole_step_may_be_compiled() -> None:
    net, x, y = problem()
    duals = feasible.torch.Duals(every_row("each", rows=64, at_most=0.1))

    def step(x: Any, y: Any, rows: Any) -> Any:
        objective, each = losses(net, x, y)
        duals.lagrangian(objective * 2, each=(each * 1.5, rows)).backward()
        duals.step()
        return objective + 1

    compiled = torch.compile(step, backend="eager")
    for _ in range(3):
        compiled(x, y, torch.arange(64))
    assert duals.steps == 3


def test_a_checkpoint_of_torch_continues_to_the_same_multipliers(tmp_path: Path) -> None:
    requirements = (average("mean", at_most=0.1), every_row("each", rows=64, at_most=0.1))

    def train(net: Any, duals: Any, steps: int) -> None:
        optimiser = torch.optim.SGD(net.parameters(), lr=0.2)
        for _ in range(steps):
            objective, each = losses(net, x, y)
            duals.lagrangian(objective, mean=each, each=(each, torch.arange(64))).backward()
            optimiser.step()
            optimiser.zero_grad()
            duals.step()

    net, x, y = problem()
    whole = feasible.torch.Duals(*requirements)
    train(net, whole, 6)
    net, x, y = problem()
    half, again = feasible.torch.Duals(*requirements), feasible.torch.Duals(*requirements)
    train(net, half, 3)
    torch.save({"net": net.state_dict(), "duals": half.state_dict()}, tmp_path / "checkpoint.pt")
    kept = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    net.load_state_dict(kept["net"])
    again.load_state_dict(kept["duals"])
    train(net, again, 3)
    assert again.state_dict() == whole.state_dict()
    for other in (pickle.loads(pickle.dumps(whole)), copy.deepcopy(whole)):
        assert type(other) is feasible.torch.Duals and other.state_dict() == whole.state_dict()


def test_tensors_on_two_devices_get_a_sentence() -> None:
    # A device that is always there, and has no numbers: what CUDA is to a processor.
    duals = feasible.torch.Duals(average("a", at_most=0.0), every_row("b", rows=3, at_most=0.0))
    one, there = torch.tensor(0.0), torch.ones(2, device="meta")
    with pytest.raises(FeasibleError, match="'a': its values are on meta, the objective is on cpu: move one of them"):
        duals.lagrangian(one, a=there)
    with pytest.raises(FeasibleError, match="'b': its sample ids are on the device meta"):
        duals.lagrangian(one, b=(torch.ones(2), there.long()))
    with pytest.raises(FeasibleError, match="'a': its measured values are on the device meta"):
        duals.lagrangian(one, a=proxy(torch.ones(2), there))
    with pytest.raises(FeasibleError, match="'a': its values are on the device meta"):
        duals.measure("a", there)
    with pytest.raises(FeasibleError, match="nothing was measured"):
        duals.step()


def test_the_core_says_what_to_do_with_a_tensor_that_it_cannot_read() -> None:
    core = Core(average("a", at_most=0.0), every_row("b", rows=3, at_most=0.0))
    with pytest.raises(FeasibleError, match="a tensor on cpu that is differentiated: use feasible.torch.Duals"):
        core.lagrangian(0.0, a=torch.ones(2, requires_grad=True))
    with pytest.raises(FeasibleError, match="'b': its sample ids are a tensor on meta: use feasible.torch.Duals"):
        core.measure("b", np.ones(2), torch.ones(2, device="meta"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_tensors_on_cuda_give_the_numbers_of_the_processor() -> None:
    found = []
    for device in ("cpu", "cuda"):
        duals = feasible.torch.Duals(average("a", at_most=0.1), every_row("b", rows=9, at_most=0.2))
        values = torch.linspace(0, 1, 5, device=device, requires_grad=True)
        rows = torch.arange(5, device=device)
        loss = duals.lagrangian(values.sum(), a=values, b=(values, rows))
        loss.backward()
        duals.step()
        found.append((loss.item(), duals.multipliers("b", rows).tolist(), values.grad.cpu().tolist()))
    assert found[0] == pytest.approx(found[1])


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
    with pytest.raises(FeasibleError, match="there are no values"):
        duals.lagrangian(one, b=(torch.ones(0), torch.ones(0, dtype=torch.long)))
    with pytest.raises(FeasibleError, match=r"the shape \(2, 1\)"):
        duals.lagrangian(one, b=(torch.ones(2, 1), torch.tensor([0, 1])))
