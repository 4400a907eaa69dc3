"""Softmax regression with one average requirement, solved to the digits: the method of multipliers, full-batch
L-BFGS with a strong Wolfe search inside, in double precision as Feasible's exact learner.
"""

import tomllib
from pathlib import Path

import torch
from problem import Settings, divergences
from tables import Table

PENALTY = 10.0  # where Feasible's starts
TOLERANCE = 1e-6  # of the violation and of complementarity


def settings(file: Path) -> Settings:
    spec = tomllib.loads(file.read_text())
    requirement, training = spec["requirement"][0], spec["training"]
    assert spec["model"]["kind"] == "linear" and training["learner"] == "exact" and requirement["loss"] == "kl"
    return Settings(requirement["at_most"], False, training["epochs"], 0, 0.0, 0.0, 1.0, 1, 0, (), "none")


def train(table: Table, s: Settings) -> tuple[torch.nn.Module, torch.Tensor, int]:
    x, y = torch.from_numpy(table.x).double(), torch.from_numpy(table.y)
    net = torch.nn.Linear(x.shape[2], 2).double()
    torch.nn.init.zeros_(net.weight)
    torch.nn.init.zeros_(net.bias)
    mu, penalty, before = torch.zeros(x.shape[0] - 1, dtype=torch.float64), PENALTY, float("inf")
    for step in range(1, s.epochs + 1):
        inner = torch.optim.LBFGS(
            net.parameters(), max_iter=1000, tolerance_grad=1e-7, tolerance_change=1e-14, history_size=10,
            line_search_fn="strong_wolfe",
        )

        def closure() -> torch.Tensor:
            inner.zero_grad()
            logits = net(x)
            violation = divergences(logits).mean(1) - s.limit
            raised = (mu + penalty * violation).clamp(min=0)
            value = torch.nn.functional.cross_entropy(logits[0], y)
            value = value + ((raised**2 - mu**2) / (2 * penalty)).sum()
            value.backward()
            return value

        inner.step(closure)
        with torch.no_grad():
            violation = divergences(net(x)).mean(1) - s.limit
            unsettled = torch.maximum(violation, -mu / penalty).abs().max().item()
            mu = (mu + penalty * violation).clamp(min=0)
        if unsettled <= TOLERANCE:
            break
        penalty, before = penalty * (4 if unsettled > 0.25 * before else 1), min(before, unsettled)
    return net, mu, step
