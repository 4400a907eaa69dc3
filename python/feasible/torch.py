"""Multipliers in a PyTorch training step.

    duals = feasible.torch.Duals(average("robust", at_most=0.4), every_row("invariant", rows=len(data), at_most=1e-3))
    for x, y, rows in loader:
        out = net(x)
        loss = duals.lagrangian(cross_entropy(out, y), robust=ce(net(attack(x, y)), y), invariant=(kl(out, net(flip(x))), rows))
        loss.backward(); optimiser.step(); optimiser.zero_grad(); duals.step()

Values are tensors on any device, of any floating type; multipliers are in the loss in single precision at least. `proxy` puts a
surrogate into the loss and measures another value. With gradient accumulation, call ``lagrangian`` for each part and ``step`` once. The
multipliers themselves are kept in Rust: ``torch.compile`` leaves `Duals` out of its graphs, and compiles the network as before. `with_rows`
gives a data set that tells the id of each sample. `feasible.lightning` has a callback.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import Dataset

from . import duals as _duals
from .duals import DualMethod, DualRequirement, Proxy, adam, algorithm1, ascent, average, cosine, every_row, nu_pi, proxy, step_schedule
from ._feasible import FeasibleError

__all__ = [
    "DualMethod", "DualRequirement", "Duals", "Proxy", "adam", "algorithm1", "ascent", "average", "cosine", "every_row", "nu_pi", "proxy",
    "step_schedule", "with_rows",
]  # fmt: skip


def _array(values: Any) -> Any:
    """Off the graph and the device; what is no tensor stays."""
    if not isinstance(values, torch.Tensor):
        return values
    # First to the processor: not every device has double precision.
    values = values.detach().cpu()
    return (values.double() if values.is_floating_point() else values).numpy()


def _on_device(name: str, what: str, values: Any) -> None:
    if isinstance(values, torch.Tensor) and values.device.type == "meta":
        raise FeasibleError(f"requirement '{name}': its {what} are on the device meta, which has no numbers: move the network to a real one")


class _WithRows(Dataset):  # type: ignore
    def __init__(self, data: Any) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, row: int) -> tuple[Any, ...]:
        sample = self.data[row]
        return (*sample, row) if isinstance(sample, (tuple, list)) else (sample, row)


def with_rows(data: Any) -> Dataset:  # type: ignore
    """The data set, each sample followed by its id: its place in ``data``.

    A ``DataLoader`` of it gives batches ``x, y, rows``, shuffled or not, with any number of workers.
    """
    if not (hasattr(data, "__len__") and hasattr(data, "__getitem__")):
        raise FeasibleError(f"with_rows needs a data set with a length, not {type(data).__name__}: samples are known by their place in it")
    return _WithRows(data)


class Duals(_duals.Duals):
    """`feasible.Duals` whose Lagrangian is a tensor. See the module."""

    def multipliers(self, name: str, rows: Any | None = None) -> npt.NDArray[np.float64]:
        """μ of an average, as an array of one; λ of these samples."""
        return super().multipliers(name, _array(rows))

    @torch.compiler.disable  # type: ignore
    def lagrangian(self, objective: torch.Tensor, /, **terms: Any) -> torch.Tensor:  # type: ignore[override]
        """The Lagrangian of a batch, to be differentiated; measures the values, too."""
        if not isinstance(objective, torch.Tensor) or objective.numel() != 1:
            raise FeasibleError("the objective must be one number in a tensor: take the mean over the batch")
        measured: dict[str, tuple[Any, Any | None]] = {}
        total = objective.reshape(()).to(torch.promote_types(objective.dtype, torch.float32))
        for name, given in terms.items():
            requirement = _duals.requirement_for(self._requirements, name)
            one = _duals.term(requirement, given)
            values = one.surrogate
            if not isinstance(values, torch.Tensor):
                raise FeasibleError(f"requirement '{name}': give a tensor to differentiate, not {type(values).__name__}")
            if values.device != total.device:
                raise FeasibleError(
                    f"requirement '{name}': its values are on {values.device}, the objective is on {total.device}: move one of them"
                )
            for what, tensor in (("values", values), ("measured values", one.measured), ("sample ids", one.rows)):
                _on_device(name, what, tensor)
            if values.ndim > 1:
                raise FeasibleError(f"requirement '{name}': its values have the shape {tuple(values.shape)}: give one for each sample")
            values = values.reshape(-1).to(torch.promote_types(values.dtype, torch.float32))
            rows = None if one.rows is None else _array(one.rows)
            multipliers = torch.from_numpy(self.multipliers(name, rows)).to(values)
            if not len(values):
                raise FeasibleError(f"requirement '{name}': there are no values")
            if requirement.every_row and len(values) != len(multipliers):
                raise FeasibleError(
                    f"requirement '{name}': {len(values)} values for {len(multipliers)} sample ids: give one value for each sample"
                )
            total = total + requirement.sign * (multipliers * (values - requirement.limit)).mean()
            measured[name] = (_array(one.measured), rows)
        self._measure(measured)
        return total

    @torch.compiler.disable  # type: ignore
    def measure(self, name: str, values: Any, rows: Any | None = None) -> None:
        """Takes measured values into the next step: tensors on any device, or plain numbers."""
        for what, tensor in (("values", values), ("sample ids", rows)):
            _on_device(name, what, tensor)
        super().measure(name, _array(values), _array(rows))

    @torch.compiler.disable  # type: ignore
    def step(self, epoch: float = 0.0) -> None:
        """Moves the multipliers of all that was measured since the last step; ``epoch`` is for schedules."""
        super().step(epoch)
