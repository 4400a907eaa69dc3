"""`feasible.torch` beside Cooper 1.0.1 and a loop by hand: results over seeds, overhead of a step, lines of user code.

    pip install ./python torch cooper-optim==1.0.1 pandas
    python bench/python/duals.py [--seeds 3] [--epochs 5]

Two tasks, each written three times: Adult, where the prediction of every person must not depend on gender (a multiplier a person),
and a small convolutional network on the embedded sample of Fashion-MNIST, whose mean loss under attack is limited (one
multiplier). All three do the same steps on the same batches, so that results may differ by rounding alone. They train in turn, seed by seed, on one
thread; times are of the processor, and of the fastest tenth of the steps, which other work on the machine disturbs least.
"""

from __future__ import annotations

import argparse
import inspect
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cooper
import torch
from torch.nn.functional import cross_entropy, log_softmax

import feasible
import feasible.torch
from feasible.torch import ascent, average, every_row

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "peers"))
import tables  # noqa: E402

LIMIT, DUAL_RATE = 1e-3, 20.0
ROBUST_LIMIT, ROBUST_DUAL_RATE, EPSILON = 0.8, 0.05, 0.05
INEQUALITY, LAGRANGIAN = cooper.ConstraintType.INEQUALITY, cooper.formulations.Lagrangian


def kl(a: Any, b: Any) -> Any:
    """Of each row KL(a ‖ b)."""
    p, q = log_softmax(a, 1), log_softmax(b, 1)
    return (p.exp() * (p - q)).sum(1)


def attacked(net: Any, x: Any, y: Any) -> Any:
    """The fast gradient sign method."""
    x = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(cross_entropy(net(x), y), x)
    return (x + EPSILON * gradient.sign()).clamp(0, 1).detach()


# Adult, by hand, with Feasible, with Cooper. ------------------------------------------------------------------------------------


def adult_by_hand(net: Any, optimiser: Any, x: Any, other: Any, y: Any, batches: Any) -> Any:
    multipliers = torch.ones(len(y))
    for rows in batches:
        out = net(x[rows])
        violations = kl(out, net(other[rows])) - LIMIT
        loss = cross_entropy(out, y[rows]) + (multipliers[rows] * violations).mean()
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        multipliers[rows] = (multipliers[rows] + DUAL_RATE * violations.detach()).clamp(min=0)
    return multipliers


def adult_with_feasible(net: Any, optimiser: Any, x: Any, other: Any, y: Any, batches: Any) -> Any:
    duals = feasible.torch.Duals(every_row("invariant", rows=len(y), at_most=LIMIT, dual=ascent(DUAL_RATE)))
    for rows in batches:
        out = net(x[rows])
        loss = duals.lagrangian(cross_entropy(out, y[rows]), invariant=(kl(out, net(other[rows])), rows))
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        duals.step()
    return torch.from_numpy(duals.multipliers("invariant", torch.arange(len(y))))


class Invariance(cooper.ConstrainedMinimizationProblem):
    def __init__(self, net: Any, rows: int) -> None:
        super().__init__()
        self.net = net
        multiplier = cooper.multipliers.IndexedMultiplier(init=torch.ones(rows))
        self.invariant = cooper.Constraint(INEQUALITY, LAGRANGIAN, multiplier=multiplier)

    def compute_cmp_state(self, x: Any, other: Any, y: Any, rows: Any) -> Any:
        out = self.net(x)
        violations = kl(out, self.net(other)) - LIMIT
        # Cooper adds up λ(n) · violation(n): the mean goes into the loss, and each violation moves its own multiplier.
        state = cooper.ConstraintState(
            violations / len(rows), rows, strict_violation=violations.detach()
        )
        return cooper.CMPState(cross_entropy(out, y), {self.invariant: state})


def adult_with_cooper(net: Any, optimiser: Any, x: Any, other: Any, y: Any, batches: Any) -> Any:
    problem = Invariance(net, len(y))
    dual = torch.optim.SGD(problem.dual_parameters(), lr=DUAL_RATE, maximize=True)
    both = cooper.optim.SimultaneousOptimizer(problem, optimiser, dual)
    for rows in batches:
        both.roll(compute_cmp_state_kwargs=dict(x=x[rows], other=other[rows], y=y[rows], rows=rows))
    return problem.invariant.multiplier.weight.detach().flatten()


# The same for a network of images. ----------------------------------------------------------------------------------------------


def images_by_hand(net: Any, optimiser: Any, x: Any, y: Any, batches: Any) -> Any:
    multiplier = torch.ones(())
    for rows in batches:
        robust = cross_entropy(net(attacked(net, x[rows], y[rows])), y[rows])
        loss = cross_entropy(net(x[rows]), y[rows]) + multiplier * (robust - ROBUST_LIMIT)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        multiplier = (multiplier + ROBUST_DUAL_RATE * (robust.detach() - ROBUST_LIMIT)).clamp(min=0)
    return multiplier.reshape(1)


def images_with_feasible(net: Any, optimiser: Any, x: Any, y: Any, batches: Any) -> Any:
    duals = feasible.torch.Duals(average("robust", at_most=ROBUST_LIMIT, dual=ascent(ROBUST_DUAL_RATE)))
    for rows in batches:
        robust = cross_entropy(net(attacked(net, x[rows], y[rows])), y[rows])
        loss = duals.lagrangian(cross_entropy(net(x[rows]), y[rows]), robust=robust)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        duals.step()
    return torch.from_numpy(duals.multipliers("robust"))


class Robustness(cooper.ConstrainedMinimizationProblem):
    def __init__(self, net: Any) -> None:
        super().__init__()
        self.net = net
        multiplier = cooper.multipliers.DenseMultiplier(init=torch.ones(1))
        self.robust = cooper.Constraint(INEQUALITY, LAGRANGIAN, multiplier=multiplier)

    def compute_cmp_state(self, x: Any, y: Any) -> Any:
        robust = cross_entropy(self.net(attacked(self.net, x, y)), y)
        state = cooper.ConstraintState(violation=robust.reshape(1) - ROBUST_LIMIT)
        return cooper.CMPState(cross_entropy(self.net(x), y), {self.robust: state})


def images_with_cooper(net: Any, optimiser: Any, x: Any, y: Any, batches: Any) -> Any:
    problem = Robustness(net)
    dual = torch.optim.SGD(problem.dual_parameters(), lr=ROBUST_DUAL_RATE, maximize=True)
    both = cooper.optim.SimultaneousOptimizer(problem, optimiser, dual)
    for rows in batches:
        both.roll(compute_cmp_state_kwargs=dict(x=x[rows], y=y[rows]))
    return problem.robust.multiplier.weight.detach().flatten()


# What they are measured with. ---------------------------------------------------------------------------------------------------


@dataclass
class Task:
    name: str
    network: Callable[[], Any]
    rate: float
    batch: int
    train: tuple[Any, ...]
    #: (name, the function that trains, all that a user writes)
    sides: list[tuple[str, Callable[..., Any], list[Any]]]
    results: Callable[[Any, Any], dict[str, float]]


def batches(rows: int, size: int, epochs: int, seed: int) -> list[Any]:
    draw = torch.Generator().manual_seed(seed)
    return [part for _ in range(epochs) for part in torch.randperm(rows, generator=draw).split(size)]


def timed(parts: list[Any], took: list[float]) -> Iterator[Any]:
    """The batches, and the time that is spent on each."""
    for part in parts:
        start = time.process_time()
        yield part
        took.append(time.process_time() - start)


def adult() -> Task:
    x, y, x_test, y_test = feasible.datasets.load("adult")
    with tempfile.TemporaryDirectory() as folder:
        for part, inputs, target in (("train", x, y), ("test", x_test, y_test)):
            inputs.assign(income=target).to_csv(Path(folder) / f"adult-{part}.csv", index=False, na_rep="?")
        table = tables.adult(Path(folder))
    own, other = torch.from_numpy(table.x[0]), torch.from_numpy(table.x[1])
    test, other_test = torch.from_numpy(table.x_test[0]), torch.from_numpy(table.x_test[1])
    target, test_target = torch.from_numpy(table.y), torch.from_numpy(table.y_test)

    def network() -> Any:
        return torch.nn.Sequential(torch.nn.Linear(own.shape[1], 64), torch.nn.Sigmoid(), torch.nn.Linear(64, 2))

    def results(net: Any, multipliers: Any) -> dict[str, float]:
        out, changed = net(test), net(other_test)
        return {
            "test accuracy, %": 100 * (out.argmax(1) == test_target).double().mean().item(),
            "flip rate, %": 100 * (out.argmax(1) != changed.argmax(1)).double().mean().item(),
            "rows over the limit, %": 100 * (kl(net(own), net(other)) > LIMIT).double().mean().item(),
            "mean multiplier": multipliers.double().mean().item(),
        }

    sides = [
        ("by hand", adult_by_hand, [adult_by_hand]),
        ("feasible", adult_with_feasible, [adult_with_feasible]),
        ("cooper", adult_with_cooper, [Invariance, adult_with_cooper]),
    ]
    return Task(f"Adult, {own.shape[1]} → 64 → 2, every row", network, 0.01, 128, (own, other, target), sides, results)


def images() -> Task:
    x, y, x_test, y_test, _ = feasible.datasets.load_images("fashion-mnist-sample")
    scaled, target = torch.from_numpy(x).float() / 255, torch.from_numpy(y)
    test, test_target = torch.from_numpy(x_test).float() / 255, torch.from_numpy(y_test)

    def network() -> Any:
        return torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(8, 16, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Flatten(), torch.nn.Linear(400, 10),
        )  # fmt: skip

    def results(net: Any, multiplier: Any) -> dict[str, float]:
        with torch.enable_grad():
            attack = attacked(net, test, test_target)
        return {
            "test accuracy, %": 100 * (net(test).argmax(1) == test_target).double().mean().item(),
            "under attack, %": 100 * (net(attack).argmax(1) == test_target).double().mean().item(),
            "loss under attack": cross_entropy(net(attack), test_target).item(),
            "multiplier": multiplier.double().item(),
        }

    sides = [
        ("by hand", images_by_hand, [images_by_hand]),
        ("feasible", images_with_feasible, [images_with_feasible]),
        ("cooper", images_with_cooper, [Robustness, images_with_cooper]),
    ]
    return Task("Fashion-MNIST sample, two convolutions, under attack", network, 0.003, 64, (scaled, target), sides, results)


def lines(parts: list[Any]) -> int:
    """Lines of code without comments and signatures of functions."""
    text = "".join(inspect.getsource(part) for part in parts).splitlines()
    return sum(bool(line.strip()) and not line.strip().startswith(("#", "def ")) for line in text)


def measure(task: Task, seeds: int, epochs: int) -> None:
    rows = len(task.train[-1])
    took: dict[str, list[float]] = {name: [] for name, _, _ in task.sides}
    found: dict[str, list[dict[str, float]]] = {name: [] for name, _, _ in task.sides}
    for seed in range(seeds):
        parts = batches(rows, task.batch, epochs, seed)
        for name, train, _ in task.sides:
            torch.manual_seed(seed)
            net = task.network()
            optimiser = torch.optim.Adam(net.parameters(), lr=task.rate)
            steps: list[float] = []
            multipliers = train(net, optimiser, *task.train, timed(parts, steps))
            took[name].append(statistics.quantiles(steps, n=10)[0])
            with torch.no_grad():
                found[name].append(task.results(net, multipliers))
    print(f"\n{task.name}: {seeds} seeds, {len(parts)} steps of {task.batch}; mean ± deviation over seeds")
    keys = list(found["by hand"][0])
    print("| | ms a step | over the loop by hand | lines | " + " | ".join(keys) + " |\n|" + " --- |" * (4 + len(keys)))
    for name, _, written in task.sides:
        ratios = [own / bare - 1 for own, bare in zip(took[name], took["by hand"])]
        cells = [f"{1e3 * statistics.median(took[name]):.2f}", f"{100 * statistics.median(ratios):+.1f} %", str(lines(written))]
        for key in keys:
            numbers = [one[key] for one in found[name]]
            cells.append(f"{statistics.mean(numbers):.3f} ± {statistics.pstdev(numbers):.3f}")
        print(f"| {name} | " + " | ".join(cells) + " |")
    for name in ("feasible", "cooper"):
        gaps = {key: max(abs(a[key] - b[key]) for a, b in zip(found[name], found["by hand"])) for key in keys}
        print(f"largest difference of {name} to the loop by hand: " + ", ".join(f"{key} {gap:.2g}" for key, gap in gaps.items()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"feasible {feasible.__version__}, torch {torch.__version__}, cooper-optim 1.0.1, one thread; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for task in (adult(), images()):
        measure(task, options.seeds, options.epochs)
    print(f"\nload at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
