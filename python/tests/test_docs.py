"""The code of docs/python.md and docs/duals.md runs, that of other packages too where they are installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feasible

#: In the repository, and beside the tests where `python/check` copies both.
DOCS = next((p for p in (Path(__file__).parents[2] / "docs", Path(__file__).parents[1] / "docs") if (p / "duals.md").exists()), None)
pytestmark = pytest.mark.skipif(DOCS is None, reason="the book is not beside the tests")


def blocks(page: str, heading: str | None = None) -> list[str]:
    """The Python code of a page, or of one of its sections."""
    assert DOCS is not None
    text = (DOCS / page).read_text(encoding="utf-8")
    if heading is not None:
        text = re.split(r"^#+ ", text.split(f"# {heading}\n")[1], flags=re.M)[0]
    else:
        text = re.split(r"^## ", text, flags=re.M)[0]
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)


def sides(code: str) -> tuple[str, str]:
    """Code in two columns: theirs, and ours, which begins where the first line goes on after a gap."""
    lines = code.splitlines()
    gap = re.search(r"\S {2,}(?=\S)", lines[0])
    assert gap is not None, "the first line has one column"
    at = gap.end()
    assert all(line[at - 2 : at].strip() == "" for line in lines), "a line crosses the gap"
    return tuple("\n".join(line[part].rstrip() for line in lines) for part in (slice(at), slice(at, None)))  # type: ignore


def run(code: str, names: dict[str, Any]) -> dict[str, Any]:
    names = dict(names)
    exec(compile(code, "the book", "exec"), names)
    return names


def adult() -> dict[str, Any]:
    names = ("X", "y", "X_test", "y_test")
    return {name: part[:3000] for name, part in zip(names, feasible.datasets.load("adult"))}


def test_the_page_of_the_estimators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code in blocks("python.md"):
        names = run(code, names)
    model = names["model"]
    assert model.score(names["X_test"], names["y_test"]) > 0.8
    assert (tmp_path / "runs" / "adult" / "report.html").exists() and (tmp_path / "adult.onnx").exists()
    for code in blocks("python.md", "Requirements"):
        names = run(code, names)
    names["clf"] = feasible.load("runs/adult")
    for code in blocks("python.md", "Any other predictor"):
        names = run(code, names)
    assert "recall" in str(names["judged"].requirements)


def test_from_scikit_learn() -> None:
    theirs, ours = sides(blocks("python.md", "From scikit-learn")[0])
    rows = adult()
    for part in ("X", "X_test"):
        rows[part] = rows[part][["gender", "race", "age", "hours-per-week"]]
    names = [run(code, rows) for code in (theirs, ours)]
    scores = [one["model"].score(rows["X_test"], rows["y_test"]) for one in names]
    assert min(scores) > 0.75, scores


def test_from_fairlearn() -> None:
    theirs, ours = sides(blocks("python.md", "From Fairlearn")[0])
    rows = adult()
    rows["race"] = rows["X"]["race"]
    for part in ("X", "X_test"):
        rows[part] = rows[part][["age", "hours-per-week"]]
    # Fairlearn takes 0 and 1.
    rows["y"] = (rows["y"] == ">50K").astype(int)
    mine = run(ours, rows)["model"]
    assert (mine.predict(rows["X_test"]) == mine.predict(rows["X_test"])).all()
    pytest.importorskip("fairlearn")
    assert hasattr(run(theirs, rows)["model"], "predictors_")


def network(torch: Any) -> dict[str, Any]:
    """What the loops of the book take as given."""
    torch.manual_seed(0)
    F = torch.nn.functional
    x = torch.randn(256, 6)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    sign = torch.tensor([-1.0, 1, 1, 1, 1, 1])

    def kl(a: Any, b: Any) -> Any:
        p, q = F.log_softmax(a, 1), F.log_softmax(b, 1)
        return (p.exp() * (p - q)).sum(1)

    def attack(x: Any, y: Any) -> Any:
        x = x.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(F.cross_entropy(net(x), y), x)
        return (x + 0.1 * gradient.sign()).detach()

    y = (x[:, 0] + x[:, 1] > 0).long()
    return {
        "torch": torch, "net": net, "x": x, "y": y, "other": x * sign, "flip": lambda x: x * sign, "kl": kl, "attack": attack,
        "cross_entropy": F.cross_entropy, "ce": F.cross_entropy, "optimiser": torch.optim.SGD(net.parameters(), lr=0.1),
        "batches": [torch.arange(256).roll(17 * step)[:64] for step in range(20)],
        "data": torch.utils.data.TensorDataset(x, y), "DataLoader": torch.utils.data.DataLoader,
    }  # fmt: skip


def test_from_cooper() -> None:
    torch = pytest.importorskip("torch")
    theirs, ours = sides(blocks("python.md", "From Cooper")[0])
    mine = run(ours, network(torch))["duals"].multipliers("invariant", np.arange(256))
    assert len(set(mine)) > 100
    pytest.importorskip("cooper")
    other = run(theirs, network(torch))["problem"].invariant.multiplier.weight.detach().flatten().numpy()
    # The same steps in single precision: multipliers of about 1, moved twenty times by 20 · violation.
    assert mine == pytest.approx(other, abs=1e-3)


def test_multipliers_in_numpy() -> None:
    rows = np.array([3, 59_999])
    given = {"objective": 0.7, "losses": np.array([0.3, 0.6]), "divergences": np.array([0.0, 0.1]), "rows": rows}
    duals = run(blocks("duals.md")[0], given)["duals"]
    assert duals.multipliers("invariant", rows) == pytest.approx([0.999, 1.099])


def test_multipliers_in_torch() -> None:
    torch = pytest.importorskip("torch")
    code = blocks("duals.md", "PyTorch")
    names = network(torch)
    duals = run(code[0], names)["duals"]
    assert duals.steps == 4 and len(duals.known("invariant")) == 256
    # The loop of the module's first lines is the same.
    import feasible.torch

    loop = (feasible.torch.__doc__ or "").split("\n\n")[1]
    assert [line.strip() for line in loop.splitlines()] == [line.strip() for line in code[0].splitlines()[-5:]]


def test_multipliers_in_lightning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    lightning = pytest.importorskip("lightning.pytorch")
    import feasible.torch

    monkeypatch.chdir(tmp_path)
    given = network(torch)

    class Base(lightning.LightningModule):  # type: ignore
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.duals = given["net"], duals

        def forward(self, x: Any) -> Any:
            return self.inner(x)

        def configure_optimizers(self) -> Any:
            return given["optimiser"]

    duals = feasible.torch.Duals(feasible.torch.every_row("invariant", rows=256, at_most=1e-3))

    class Given:
        LightningModule = Base

        @staticmethod
        def Trainer(**options: Any) -> Any:
            return lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_progress_bar=False, **options)

    loader = torch.utils.data.DataLoader(feasible.torch.with_rows(given["data"]), batch_size=64)
    code = blocks("duals.md", "PyTorch")[1]
    given.update(lightning=Given, duals=duals, loader=loader)
    start, _, fit = code.partition("trainer.fit")
    names = run(start + "net = Net()\ntrainer.fit(net, loader)\ntrainer.save_checkpoint('last.ckpt')\n", given)
    steps = duals.steps
    run(start + "net = Net()\ntrainer.fit" + fit, names)
    assert steps == 8 and duals.steps == 8


def test_multipliers_in_jax() -> None:
    pytest.importorskip("jax")
    import jax.numpy as jnp

    rows = jnp.arange(4)
    given = {
        "average": feasible.duals.average,
        "every_row": feasible.duals.every_row,
        "objective": lambda theta, batch: jnp.mean((batch - theta) ** 2),
        "terms": lambda theta, batch: {"robust": jnp.mean(theta**2), "invariant": (jnp.full(4, theta * 0.01), rows)},
    }
    names = run(blocks("duals.md", "JAX")[0], given)
    theta, state = names["step"](jnp.asarray(1.0), names["state"], jnp.ones(4))
    assert theta < 1 and state["invariant"]["multipliers"][0] != state["invariant"]["multipliers"][5]
