"""The callback, with Lightning itself; not run where it is not installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from feasible import FeasibleError
from feasible.duals import ascent, every_row, step_schedule

torch = pytest.importorskip("torch")
try:
    import lightning.pytorch as lightning
except ModuleNotFoundError:
    lightning = pytest.importorskip("pytorch_lightning")
import feasible.torch  # noqa: E402
from feasible.lightning import DualsCallback  # noqa: E402

ROWS, BATCH = 48, 8


def samples() -> Any:
    torch.manual_seed(0)
    x = torch.randn(ROWS, 4)
    return feasible.torch.with_rows(torch.utils.data.TensorDataset(x, (x[:, 0] > 0).long()))


class Net(lightning.LightningModule):  # type: ignore
    def __init__(self, duals: Any) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.net, self.duals = torch.nn.Linear(4, 2), duals

    def training_step(self, batch: Any, at: int) -> Any:
        x, y, rows = batch
        each = torch.nn.functional.cross_entropy(self.net(x), y, reduction="none")
        return self.duals.lagrangian(each.mean(), each=(each, rows))

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def fresh(**given: Any) -> tuple[Any, Any]:
    duals = feasible.torch.Duals(every_row("each", rows=ROWS, at_most=0.2, dual=given.pop("dual", ascent(0.1))))
    return duals, DualsCallback(duals, **given)


def train(duals: Any, callback: Any, epochs: int, checkpoint: Any = None, **options: Any) -> Any:
    net = Net(duals)
    loader = torch.utils.data.DataLoader(samples(), batch_size=BATCH)
    trainer = lightning.Trainer(
        max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=[callback], **options,
    )  # fmt: skip
    restored: dict[str, Any] = {"ckpt_path": checkpoint, "weights_only": True} if checkpoint else {}
    trainer.fit(net, loader, **restored)
    return trainer


@pytest.mark.parametrize(("accumulate", "steps"), [(1, 12), (3, 4)])
def test_multipliers_step_whenever_the_optimiser_does(accumulate: int, steps: int) -> None:
    duals, callback = fresh()
    trainer = train(duals, callback, 2, accumulate_grad_batches=accumulate)
    assert duals.steps == trainer.global_step == steps
    # Every sample was measured, and once between two steps.
    assert {line["samples"] for line in duals.history} == {BATCH * accumulate}
    logged = trainer.callback_metrics
    assert logged["each/multiplier"].item() == pytest.approx(duals.last[0]["multiplier"])
    assert logged["each/violation"].item() == pytest.approx(duals.last[0]["violation"])


def test_lightning_gives_the_multipliers_of_a_loop_by_hand() -> None:
    dual = ascent(0.1, step_schedule(0.5, 0.5))
    duals, callback = fresh(dual=dual)
    train(duals, callback, 2)
    by_hand, _ = fresh(dual=dual)
    net = Net(by_hand)
    optimiser = net.configure_optimizers()
    for epoch in range(2):
        for at, batch in enumerate(torch.utils.data.DataLoader(samples(), batch_size=BATCH)):
            optimiser.zero_grad()
            net.training_step(batch, at).backward()
            optimiser.step()
            by_hand.step(epoch + at * BATCH / ROWS)
    assert duals.state_dict() == by_hand.state_dict()


def test_a_dual_step_may_wait_for_the_end_of_the_epoch() -> None:
    duals, callback = fresh(every="epoch")
    train(duals, callback, 3)
    assert duals.steps == 3 and {line["samples"] for line in duals.history} == {ROWS}


def test_a_checkpoint_of_the_trainer_continues_with_its_multipliers(tmp_path: Path) -> None:
    whole, callback = fresh()
    train(whole, callback, 4)
    first, callback = fresh()
    train(first, callback, 2).save_checkpoint(tmp_path / "half.ckpt")
    again, callback = fresh()
    train(again, callback, 4, checkpoint=tmp_path / "half.ckpt")
    assert again.steps == whole.steps == 24
    assert again.multipliers("each", np.arange(ROWS)) == pytest.approx(whole.multipliers("each", np.arange(ROWS)), abs=1e-6)


def test_mixed_precision_of_the_trainer_trains_multipliers() -> None:
    duals, callback = fresh()
    train(duals, callback, 1, precision="bf16-mixed")
    exact, callback = fresh()
    train(exact, callback, 1)
    # Eight bits of losses of about 1, times a rate of 0.1.
    assert duals.multipliers("each", np.arange(ROWS)) == pytest.approx(exact.multipliers("each", np.arange(ROWS)), abs=5e-3)


def test_what_is_wrong_gets_a_sentence() -> None:
    duals, _ = fresh()
    with pytest.raises(FeasibleError, match="give the Duals that training_step uses, not dict"):
        DualsCallback({})  # type: ignore
    with pytest.raises(FeasibleError, match="'batch' is neither 'step' nor 'epoch'"):
        DualsCallback(duals, every="batch")  # type: ignore
