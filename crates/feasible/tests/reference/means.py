"""Upper bounds on a mean, from the formulas of the papers in plain Python: writes means.csv.

Values in [0, B]: x_i = B * ((i * i * a + 7 * i) % 101 / 101) ** s, i = 1, ..., n.
    python3 means.py > means.csv
"""
from math import ceil, comb, exp, floor, log, pi, sin, sqrt

SHARE = 0.99
BEYOND = 0.9


def values(n, a, s):
    return [((i * i * a + 7 * i) % 101 / 101) ** s for i in range(1, n + 1)]


def root(above, low, high):
    for _ in range(200):
        middle = (low + high) / 2
        if above(middle):
            high = middle
        else:
            low = middle
    return high


def hoeffding(x, delta):
    n = len(x)
    return sum(x) / n + sqrt(log(1 / delta) / (2 * n))


def bernstein(x, delta):
    n, mean = len(x), sum(x) / len(x)
    # The variance as the mean of half the squared differences of all pairs, as in the paper.
    v = sum((p - q) ** 2 for p in x for q in x) / (2 * n * (n - 1))
    return mean + sqrt(2 * v * log(2 / delta) / n) + 7 * log(2 / delta) / (3 * (n - 1))


def bentkus(x, delta):
    n, mean = len(x), sum(x) / len(x)

    def p(m):
        h = (mean * log(mean / m) if mean > 0 else 0) + (1 - mean) * log((1 - mean) / (1 - m))
        tail = sum(comb(n, k) * m**k * (1 - m) ** (n - k) for k in range(ceil(n * mean) + 1))
        return min(exp(-n * h), exp(1) * tail)

    return root(lambda m: m > mean and p(m) < delta, mean, 1 - 1e-12)


def aim(missing):
    t = sqrt(2 * missing)
    return t * t / (t + 0.2 + 0.5 / (1 + 0.35 * t))


def betting(x, delta):
    n = len(x)
    cells = ceil(16 * sqrt(n))
    goal = log(1 / delta)
    low = [sin(pi / 2 * k / cells) ** 2 for k in range(cells + 1)]

    def richest(cell, m):
        """The largest capital at m with the stakes of the cell's lower end."""
        own, capital, most = 0.0, 0.0, 0.0
        for t in range(n):
            seen = x[:t]
            means = [(0.5 + sum(x[: i + 1])) / (i + 2) for i in range(t)]
            variance = (0.25 + sum((v - u) ** 2 for v, u in zip(seen, means))) / (t + 1)
            goals = max(0, floor(own / goal)) + 1
            stake = aim(goals * goal - log(BEYOND) - own) / sqrt(variance * (n - t))
            stake = min(stake, SHARE / (1 - low[cell]))
            own += log(1 + stake * (low[cell] - x[t]))
            capital += log(1 + stake * (m - x[t]))
            most = max(most, capital)
        return most

    for cell in reversed(range(cells)):
        if richest(cell, low[cell]) < goal:
            if richest(cell, low[cell + 1]) < goal:
                return low[cell + 1]
            left, right = low[cell], low[cell + 1]
            while right - left > 1e-12:
                middle = (left + right) / 2
                left, right = (left, middle) if richest(cell, middle) >= goal else (middle, right)
            return right
    return low[0]


print("rows,a,s,bound,delta,hoeffding,empirical-bernstein,hoeffding-bentkus,betting")
for n, a, s, b, delta in [(20, 3, 1, 1, 0.05), (40, 5, 4, 1, 0.05), (40, 5, 4, 2.5, 0.001), (60, 2, 0.2, 1, 0.1), (60, 11, 20, 7, 0.05)]:
    x = values(n, a, s)
    bounds = [b * min(1.0, f(x, delta)) for f in (hoeffding, bernstein, bentkus, betting)]
    print(f"{n},{a},{s},{b},{delta}," + ",".join(repr(u) for u in bounds))
