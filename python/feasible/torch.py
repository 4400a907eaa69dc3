"""Multipliers in a PyTorch training step.

    duals = feasible.torch.Duals(average("robust", at_most=0.4), every_row("invariant", rows=len(data), at_most=1e-3))
    for x, y, rows in loader:
        out = net(x)
        loss = duals.lagrangian(cross_entropy(out, y), robust=ce(net(attack(x, y)), y), invariant=(kl(out, net(flip(x))), rows))
        loss.backward(); optimiser.step(); optimiser.zero_grad(); duals.step()

Values are tensors on any device, of any floating type; multipliers are in the loss in single precision at least. `proxy` puts a
surrogate into the loss and measures another value. With gradient accumulation, call ``lagrangian`` for each part and ``step`` once. The
multipliers themselves are kept in Rust: ``torch.compile`` leaves ``lagrangian`` out of its graphs, and compiles the network as before.
"""

from __future__ import annotations

from typing import Any

import torch

from . import duals as _duals
from .duals import DualMethod, DualRequirement, Proxy, adam, algorithm1, ascent, average, cosine, every_row, nu_pi, proxy, step_schedule
from ._feasible import FeasibleError

__all__ = [
    "DualMethod", "DualRequirement", "Duals", "Proxy", "adam", "algorithm1", "ascent", "average", "cosine", "every_row", "nu_pi", "proxy",
    "step_schedule",
]  # fmt: skip


def _measured(values: Any) -> Any:
    """Off the graph and the device."""
    return values.detach().to("cpu", torch.float64).numpy() if isinstance(values, torch.Tensor) else values


def _ids(rows: Any) -> Any:
    return rows.detach().cpu().numpy() if isinstance(rows, torch.Tensor) else rows


class Duals(_duals.Duals):
    """`feasible.Duals` whose Lagrangian is a tensor. See the module."""

    @torch.compiler.disable  # type: ignore
    def lagrangian(self, objective: torch.Tensor, /, **terms: Any) -> torch.Tensor:  # type: ignore[override]
        """The Lagrangian of a batch, to be differentiated; measures the values, too."""
        if not isinstance(objective, torch.Tensor) or objective.numel() != 1:
            raise FeasibleError("the objective must be one number in a tensor: take the mean over the batch")
        measured: dict[str, tuple[Any, Any | None]] = {}
        total = objective.float() if objective.dtype in (torch.float16, torch.bfloat16) else objective
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
            if values.ndim > 1:
                raise FeasibleError(f"requirement '{name}': its values have the shape {tuple(values.shape)}: give one for each sample")
            values = values.reshape(-1).to(torch.promote_types(values.dtype, torch.float32))
            rows = None if one.rows is None else _ids(one.rows)
            multipliers = torch.from_numpy(self.multipliers(name, rows)).to(values)
            if requirement.every_row and len(values) != len(multipliers):
                raise FeasibleError(
                    f"requirement '{name}': {len(values)} values for {len(multipliers)} sample ids: give one value for each sample"
                )
            total = total + requirement.sign * (multipliers * (values - requirement.limit)).mean()
            measured[name] = (_measured(one.measured), rows)
        self._measure(measured)
        return total
