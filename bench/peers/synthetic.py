"""A synthetic table of mixed columns: python synthetic.py ROWS FILE.csv.

Twenty-five numbers (normal, skewed, heavy-tailed, rounded) and twenty-five categorical columns of two to
twelve categories, one of them `gender`; the target depends on a few of both and, a little, on gender. The first rows
of a longer table are those of a shorter one.
"""

import sys
from pathlib import Path

import numpy as np

NUMBERS, CATEGORICAL = 25, 25
BLOCK = 10_000  # rows drawn at a time, so that tables of different lengths share their first rows


def categories(column: int) -> int:
    return 2 + column % 11


def block(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng([7, number])
    x = draw.normal(size=(BLOCK, NUMBERS))
    x[:, 5:10] = np.exp(0.5 * x[:, 5:10])
    x[:, 10:15] = np.round(10 * x[:, 10:15])
    x[:, 15:20] = np.clip(draw.standard_t(5, size=(BLOCK, 5)), -20, 20)
    c = np.stack([draw.integers(0, categories(j), BLOCK) for j in range(CATEGORICAL)], 1)
    score = x[:, 0] - 0.7 * x[:, 1] + 0.5 * x[:, 2] * (c[:, 1] == 1) + 0.4 * (c[:, 9] > 5)
    score += 0.6 * (c[:, 0] == 1) - 0.8 + 0.1 * x[:, 10] / 10
    y = draw.random(BLOCK) < 1 / (1 + np.exp(-score))
    return x, c, y


def write(rows: int, path: Path) -> None:
    names = [f"number{j}" for j in range(NUMBERS)]
    names += ["gender"] + [f"category{j}" for j in range(1, CATEGORICAL)] + ["outcome"]
    with open(path, "w") as file:
        file.write(",".join(names) + "\n")
        for number in range(-(-rows // BLOCK)):
            x, c, y = block(number)
            for i in range(min(BLOCK, rows - number * BLOCK)):
                cells = [f"{v:.6g}" for v in x[i]] + [("M", "F")[c[i, 0]]]
                cells += [f"l{v}" for v in c[i, 1:]] + ["yes" if y[i] else "no"]
                file.write(",".join(cells) + "\n")


if __name__ == "__main__":
    write(int(sys.argv[1]), Path(sys.argv[2]))
