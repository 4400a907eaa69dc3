"""Generated tables whose population is known: any number of rows can be drawn from it, with the probability of each target."""

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass
class World:
    """Where rows come from: numbers, a group, another category, and a target that depends on them more or less."""

    numbers: int
    shares: np.ndarray  # of the groups
    shift: np.ndarray  # of the numbers, by group
    weights: np.ndarray
    bends: np.ndarray  # of the squares
    effect: np.ndarray  # of the group on the target
    town: np.ndarray  # of the other category
    level: float  # of the logit
    noise: float  # of a number that is predicted
    tail: float  # degrees of freedom of that noise
    binary: bool

    @property
    def groups(self) -> list[str]:
        return [f"g{i}" for i in range(len(self.shares))]

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
        """Rows, and what the target of each is expected to be (a probability, or a number)."""
        group = rng.choice(len(self.shares), rows, p=self.shares)
        town = rng.integers(len(self.town), size=rows)
        x = rng.normal(size=(rows, self.numbers)) + self.shift[group]
        signal = x @ self.weights + (x**2 - 1) @ self.bends + self.effect[group] + self.town[town]
        data = pd.DataFrame({f"x{i}": np.round(x[:, i], 4) for i in range(self.numbers)})
        data["group"] = np.array(self.groups)[group]
        data["town"] = np.array([f"t{i}" for i in range(len(self.town))])[town]
        if not self.binary:
            data["y"] = np.round(signal + self.noise * rng.standard_t(self.tail, rows), 4)
            return data, signal
        p = 1 / (1 + np.exp(-(self.level + signal)))
        data["y"] = np.where(rng.random(rows) < p, "yes", "no")
        return data, p


def world(rng: np.random.Generator) -> World:
    numbers, groups = int(rng.integers(3, 20)), int(rng.integers(2, 5))
    shares = rng.dirichlet(np.full(groups, 3.0)) * 0.85 + 0.15 / groups
    scale = np.exp(rng.uniform(np.log(0.4), np.log(2.5)))
    weights = rng.normal(size=numbers) * (rng.random(numbers) < 0.6)
    size = max(1e-9, np.linalg.norm(weights))
    bends = rng.normal(size=numbers) * (rng.random(numbers) < 0.2) * 0.3 * scale / np.sqrt(numbers)
    return World(
        numbers=numbers,
        shares=shares / shares.sum(),
        shift=rng.normal(size=(groups, numbers)) * 0.3,
        weights=scale * weights / size,
        bends=bends,
        effect=rng.normal(size=groups) * rng.choice([0.0, 0.3, 1.0]),
        town=rng.normal(size=int(rng.integers(2, 12))) * 0.3,
        level=rng.uniform(-2.5, 0.3),
        noise=np.exp(rng.uniform(np.log(0.3), np.log(2.0))),
        tail=rng.choice([3.0, 5.0, 30.0]),
        binary=rng.random() < 0.85,
    )
