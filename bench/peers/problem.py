"""What the peers share: the settings of a problem file, the network, what a run reached."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

import tables
import torch

Tensor = torch.Tensor


@dataclass
class Settings:
    limit: float
    pointwise: bool
    epochs: int
    batch: int
    rate: float
    dual_rate: float
    dual_factor: float  # of the dual rate, every `dual_every` epochs
    dual_every: int
    seed: int
    hidden: tuple[int, ...]
    activation: str

    @classmethod
    def read(cls, file: Path, epochs: int | None, seed: int) -> "Settings":
        spec = tomllib.loads(file.read_text())
        training, requirement = spec["training"], spec["requirement"][0]
        model = spec.get("model", {})
        assert training["recipe"] == "paper" and requirement["loss"] == "kl"
        dual = training["dual"]
        assert dual["method"] == "adam"
        step = dual.get("schedule", {}).get("step", {"factor": 1.0, "every": 1})
        return cls(
            limit=requirement["at_most"],
            pointwise=requirement.get("kind") == "pointwise",
            epochs=epochs or training["epochs"],
            batch=training["batch_size"],
            rate=training["rate"],
            dual_rate=dual["rate"],
            dual_factor=step["factor"],
            dual_every=int(step["every"]),
            seed=seed,
            hidden=tuple(model.get("hidden", [64])),
            activation=model.get("activation", "sigmoid"),
        )


def load(name: str, data: Path, rows: Path | None) -> tables.Table:
    if name.startswith("adult"):
        return tables.adult(data)
    if name.startswith("synthetic"):
        assert rows is not None, "a synthetic table needs --rows: the rows.json of a run"
        return tables.synthetic(data / f"{name}.csv", rows)
    assert rows is not None, "COMPAS needs --rows: the rows.json of a run"
    return tables.compas(data, rows)


def network(columns: int, hidden: tuple[int, ...] = (64,), activation: str = "sigmoid") -> torch.nn.Module:
    """PyTorch's default start, uniform on ±1/√(fan-in), is also Feasible's."""
    kind = {"sigmoid": torch.nn.Sigmoid, "relu": torch.nn.ReLU}[activation]
    layers: list[torch.nn.Module] = []
    for before, after in zip((columns, *hidden), hidden):
        layers += [torch.nn.Linear(before, after), kind()]
    return torch.nn.Sequential(*layers, torch.nn.Linear((columns, *hidden)[-1], 2))


def divergences(logits: Tensor) -> Tensor:
    """KL(view 0 ‖ view k) for k = 1, …: (views, rows, classes) → (views - 1, rows)."""
    log_p = torch.log_softmax(logits, 2)
    return (log_p[:1].exp() * (log_p[:1] - log_p[1:])).sum(2)


@torch.no_grad()
def reached(net: torch.nn.Module, table: tables.Table, s: Settings, multipliers: Tensor) -> dict:
    """Percentages. Violated: of people if pointwise, else of constraints."""
    result: dict = {
        "parameters": sum(p.numel() for p in net.parameters()),
        "multipliers at 0": 100 * (multipliers == 0).float().mean().item(),
    }
    for part, x, y in (("train", table.x, table.y), ("test", table.x_test, table.y_test)):
        logits = net(torch.from_numpy(x))
        classes = logits.argmax(2)
        values = divergences(logits)
        values = values if s.pointwise else values.mean(1)
        result[part] = {
            "rows": len(y),
            "accuracy": 100 * (classes[0] == torch.from_numpy(y)).float().mean().item(),
            "largest flip rate": 100 * (classes[0] != classes[1:]).float().mean(1).max().item(),
            "violated": 100 * (values > s.limit).float().mean().item(),
            "objective": torch.nn.functional.cross_entropy(logits[0], torch.from_numpy(y)).item(),
        }
    return result


def prepare(seed: int) -> None:
    """One thread, no denormals, and PyTorch's late imports (about a second) before the clock starts."""
    torch.set_num_threads(1)
    assert torch.set_flush_denormal(True)
    net = network(2)
    optimiser = torch.optim.Adam(net.parameters())
    divergences(net(torch.zeros(2, 2, 2))).sum().backward()
    optimiser.step()
    torch.manual_seed(seed)
