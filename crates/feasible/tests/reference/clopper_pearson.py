"""Clopper-Pearson bounds in 40 digits: writes clopper_pearson.csv.

Independent of the crate: sums of the binomial series in mpmath (1.3.0), roots by the secant method.
    python3 clopper_pearson.py > clopper_pearson.csv
"""
from mpmath import mp, mpf, log, loggamma, findroot, sqrt

mp.dps = 40


def log_at_most(k, n, p):
    """log P(bin(n, p) <= k), k below the mean, term by term downwards."""
    q = 1 - p
    first = loggamma(n + 1) - loggamma(k + 1) - loggamma(n - k + 1) + k * log(p) + (n - k) * log(q)
    term, total, i = mpf(1), mpf(1), k
    odds = q / p
    while i > 0:
        term *= i * odds / (n - i + 1)
        total += term
        if term < total * mpf(10) ** -38:
            break
        i -= 1
    return first + log(total)


def upper(k, n, delta):
    if k == n:
        return mpf(1)
    if k == 0:
        return 1 - delta ** (mpf(1) / n)
    # In log p/(1 - p), from a normal start.
    z = sqrt(-2 * log(delta))
    rate = (k + z * z / 2 + z * sqrt(k * (1 - mpf(k) / n) + z * z / 4) + 1) / (n + z * z + 2)
    start = log(rate / (1 - rate))
    p_of = lambda t: 1 / (1 + mp.exp(-t))
    root = findroot(lambda t: log_at_most(k, n, p_of(t)) - log(delta), (start, start * (1 - mpf(10) ** -4)),
                    solver="secant", tol=mpf(10) ** -50, verify=False)
    return p_of(root)


def lower(k, n, delta):
    if k == 0:
        return mpf(0)
    return 1 - upper(n - k, n, delta)


print("hits,rows,delta,lower,upper")
for n in [1, 2, 10, 100, 16281, 10**6, 10**9]:
    hits = sorted({0, 1, n // 1000, n // 10, n // 2, n - 1, n} & set(range(0, n + 1)) if n < 10**7
                  else {0, 1, 7, 1000, 10**9 // 10})
    for k in hits:
        for delta in ["0.05", "0.001", "1e-12"]:
            d = mpf(delta)
            print(f"{k},{n},{delta},{mp.nstr(lower(k, n, d), 20)},{mp.nstr(upper(k, n, d), 20)}", flush=True)
