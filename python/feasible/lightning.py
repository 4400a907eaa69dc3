"""A callback for Lightning that steps multipliers with the optimiser and keeps them in the trainer's checkpoints.

    class Net(lightning.LightningModule):
        def __init__(self, duals):
            super().__init__()
            self.duals = duals
            ...
        def training_step(self, batch, _):
            x, y, rows = batch
            return self.duals.lagrangian(cross_entropy(self(x), y), invariant=(kl(self(x), self(flip(x))), rows))

    duals = feasible.torch.Duals(every_row("invariant", rows=len(data), at_most=1e-3))
    trainer = lightning.Trainer(callbacks=[feasible.lightning.DualsCallback(duals)])

A step of the optimiser is followed by one of the multipliers, with gradient accumulation too; ``every="epoch"`` steps once, at the end of an
epoch. ``trainer.fit(…, ckpt_path=…)`` continues with the multipliers of the checkpoint.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Literal

from . import duals as _duals
from ._feasible import FeasibleError

# Lightning has two names, and a trainer takes callbacks of its own: the one that is imported already, if one is.
if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning import Callback
else:
    try:
        from lightning.pytorch import Callback  # type: ignore
    except ModuleNotFoundError:
        from pytorch_lightning import Callback

__all__ = ["DualsCallback"]


class DualsCallback(Callback):  # type: ignore
    """Steps multipliers, logs them, and has the trainer save them. See the module.

    Logged are ``NAME/violation`` and ``NAME/multiplier``, means over what was measured, unless ``log`` is False.
    """

    def __init__(self, duals: _duals.Duals, *, every: Literal["step", "epoch"] = "step", log: bool = True) -> None:
        if not isinstance(duals, _duals.Duals):
            raise FeasibleError(f"give the Duals that training_step uses, not {type(duals).__name__}")
        if every not in ("step", "epoch"):
            raise FeasibleError(f"every: {every!r} is neither 'step' nor 'epoch'")
        self.duals, self.every, self.log = duals, every, log
        self._stepped = 0

    @property
    def state_key(self) -> str:
        return str(self._generate_state_key(duals=[one.name for one in self.duals.requirements]))

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        # Of a check of the validation loop before the training.
        self.duals.forget()
        self._stepped = trainer.global_step

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        # With gradient accumulation the optimiser has not moved after every batch.
        if self.every == "step" and trainer.global_step != self._stepped:
            self._stepped = trainer.global_step
            batches = trainer.num_training_batches
            share = batch_idx / batches if batches not in (0, float("inf")) else 0.0
            self._step(trainer.current_epoch + share, pl_module)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        if self.every == "epoch":
            self._step(trainer.current_epoch, pl_module)

    def _step(self, epoch: float, pl_module: Any) -> None:
        self.duals.step(epoch)
        if self.log:
            for line in self.duals.last:
                name = line["requirement"]
                pl_module.log_dict({f"{name}/violation": line["violation"], f"{name}/multiplier": line["multiplier"]})

    def state_dict(self) -> dict[str, str]:
        return self.duals.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, str]) -> None:
        self.duals.load_state_dict(state_dict)
