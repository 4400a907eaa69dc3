# %% [markdown]
# # What a stricter limit costs
#
# Every requirement has a price. We train for a sequence of limits on the same rows, and look at accuracy, at the multiplier, and at what is left of the requirement on rows
# that were not trained on.
# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import feasible
from feasible import FeasibleClassifier, parity

X, y, X_test, y_test = feasible.datasets.load("adult")
limits = [0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2]
# %%
rows = []
for limit in limits:
    requirement = parity("selection", groups="gender", within=limit)
    model = FeasibleClassifier([requirement], positive=">50K", missing="category", epochs=20).fit(X, y)
    judged = model.audit(X_test, y_test)
    rows.append(
        {
            "limit": limit,
            "accuracy": judged.accuracy,
            "difference": max(row.value for row in judged.requirements),
            "multiplier": sum(row.multiplier for row in model.requirements_),
        }
    )
frontier = pd.DataFrame(rows).set_index("limit")
frontier.round(4)
# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.plot(frontier.index, frontier["accuracy"], marker="o")
left.set(xlabel="limit on the difference of selection rates", ylabel="accuracy on test rows")
right.plot(frontier.index, frontier["difference"], marker="o", label="on test rows")
right.plot(frontier.index, frontier.index, linestyle=":", color="grey", label="the limit")
right.set(xlabel="limit", ylabel="largest difference to everyone's rate")
right.legend()
plt.show()
# %% [markdown]
# The multiplier falls as the limit is relaxed: where it is 0, the requirement costs nothing.
# %%
plt.figure(figsize=(5, 3), layout="constrained")
plt.plot(frontier.index, frontier["multiplier"], marker="o")
plt.xlabel("limit")
plt.ylabel("sum of multipliers")
plt.show()
# %%
print(f"accuracy lost between the loosest and the strictest limit: {np.ptp(frontier['accuracy']):.3f}")
