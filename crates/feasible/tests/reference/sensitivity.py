"""Writes sensitivity.csv: exact intervals and Fisher's exact test by scipy, for the tests of
feasible::sensitivity.

    pip install scipy && python sensitivity.py
"""
import pathlib
import random
from scipy.stats import beta, fisher_exact

random.seed(1)
cases = [(10, 3, 2, 2), (10, 3, 2, 0), (10, 10, 4, 4), (5, 1, 5, 1), (100, 10, 20, 10), (32561, 4745, 985, 263),
         (32561, 1723, 985, 111), (32561, 15417, 985, 488), (1_000_000, 100_000, 40_000, 4_100),
         (1_000_000, 3, 40_000, 3), (1_000_000, 500_000, 200_000, 100_400)]
while len(cases) < 40:
    population = random.choice([20, 200, 5000, 40_000])
    group, hardest = random.randint(1, population), random.randint(1, population)
    low, high = max(0, group + hardest - population), min(group, hardest)
    mean = group * hardest / population
    spread = (mean * (1 - group / population)) ** 0.5
    k = round(random.gauss(mean, 2 * spread + 0.5))
    cases.append((population, group, hardest, min(high, max(low, k))))
lines = ["population,group,hardest,k,low,high,p"]
for population, group, hardest, k in cases:
    low = beta.ppf(0.025, k, hardest - k + 1) if k else 0.0
    high = beta.ppf(0.975, k + 1, hardest - k) if k < hardest else 1.0
    table = [[k, hardest - k], [group - k, population - group - hardest + k]]
    p = fisher_exact(table)[1]
    lines.append(f"{population},{group},{hardest},{k},{float(low)!r},{float(high)!r},{float(p)!r}")
pathlib.Path(__file__).with_suffix(".csv").write_text("\n".join(lines) + "\n")
