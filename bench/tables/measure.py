"""What is measured of predictions, by the same code for everybody."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

KL_LIMIT = 1e-3


@dataclass
class Rows:
    """Rows of a table with what is known about them."""

    data: pd.DataFrame
    table: dict  # its line of the manifest; categories of the sensitive column, group of group-loss
    classes: list[str]  # sorted; empty for a regression

    @property
    def target(self) -> np.ndarray:
        return self.data[self.table["target"]].to_numpy()

    def positive(self) -> np.ndarray:
        return self.target == self.table["positive"]

    def groups(self) -> list[np.ndarray]:
        column = self.data[self.table["sensitive"]]
        return [(column == name).to_numpy() for name in sorted(column.unique())]

    def take(self, index: np.ndarray) -> "Rows":
        return Rows(self.data.iloc[index], self.table, self.classes)


@dataclass
class Prediction:
    """What a model says about rows: classes with probabilities (in the order of `Rows.classes`), or numbers.

    `swapped` are the probabilities when the sensitive column has its other value. A competitor without probabilities leaves them out.
    """

    labels: np.ndarray | None = None
    probabilities: np.ndarray | None = None
    numbers: np.ndarray | None = None
    swapped: np.ndarray | None = None

    def take(self, index: np.ndarray) -> "Prediction":
        return Prediction(*(None if part is None else part[index] for part in vars(self).values()))


def losses(rows: Rows, p: Prediction) -> np.ndarray | None:
    """Cross-entropy or squared error of each row; probabilities are at least 1e-15."""
    if p.numbers is not None:
        return (p.numbers - rows.target) ** 2
    if p.probabilities is None:
        return None
    own = np.searchsorted(rows.classes, rows.target.astype(str))
    return -np.log(np.clip(p.probabilities[np.arange(len(own)), own], 1e-15, 1))


def kl(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """KL divergence of each row."""
    p, q = np.clip(p, 1e-15, 1), np.clip(q, 1e-15, 1)
    return (p * np.log(p / q)).sum(axis=1)


def apart(selected: np.ndarray, groups: list[np.ndarray], among: np.ndarray) -> float:
    """Largest difference between a group's rate of selection and everyone's, among some of the rows."""
    everyone = selected[among].mean() if among.any() else np.nan
    own = [selected[g & among].mean() if (g & among).any() else np.nan for g in groups]
    return float(np.max(np.abs(np.array(own) - everyone)))


def mean_loss(rows: Rows, p: Prediction, group: np.ndarray) -> float | None:
    each = losses(rows, p)
    return None if each is None or not group.any() else float(each[group].mean())


def quality(rows: Rows, p: Prediction) -> dict[str, float]:
    """Accuracy and log-loss, or root mean squared error."""
    each = losses(rows, p)
    if p.numbers is not None:
        return {"rmse": float(np.sqrt(each.mean()))}
    found = {"accuracy": float((p.labels == rows.target.astype(str)).mean())}
    return found if each is None else found | {"log_loss": float(each.mean())}
