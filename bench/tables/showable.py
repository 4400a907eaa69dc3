"""Whether a sample as large as the test rows could show a requirement, at 95 % confidence, of a model that meets it with room.

Recall: every positive row is right, and the exact bound is at the limit. Gaps: the gap is 0 in the sample, and
the normal bound of the smallest group's rate is within the limit. Counterfactual: no row is over, and the exact bound is at 1 %. Group loss:
never, for it has no bound.
"""

import numpy as np
from measure import Prediction, Rows
from requirements import selected

SHARE, CONFIDENCE, NORMAL = 0.3, 0.95, 1.645


def showable(name: str, rows: Rows, p: Prediction, limit: float) -> bool:
    if name == "recall":
        return no_error_shows(SHARE * rows.positive().sum(), limit)
    if name == "counterfactual":
        return no_error_shows(SHARE * len(rows.data), 1 - limit)
    if name == "group-loss":
        return False
    everyone = np.ones(len(rows.data), bool)
    among = {"parity": [everyone], "opportunity": [rows.positive()], "odds": [rows.positive(), ~rows.positive()]}[name]
    return all(width(selected(rows, p)[of & g], limit) for of in among for g in rows.groups())


def no_error_shows(count: float, limit: float) -> bool:
    return bool(limit**count <= 1 - CONFIDENCE)


def width(picked: np.ndarray, limit: float) -> bool:
    rate = picked.mean() if len(picked) else 0.5
    return bool(NORMAL * np.sqrt(rate * (1 - rate) / max(1, SHARE * len(picked))) <= limit)
