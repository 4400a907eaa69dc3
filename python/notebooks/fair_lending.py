# %% [markdown]
# # Fair lending: from a data frame to a certificate
#
# Who earns more than 50,000 a year? A bank that lends by such a model must not decide by gender, must find the older people who can pay, and must not favour a race. We
# train a model that meets all three, and have rows that it has not seen certify it.
# %%
import feasible
from feasible import FeasibleClassifier, invariant, parity, rate

X, y, X_test, y_test = feasible.datasets.load("adult")
X.head(3)
# %% [markdown]
# Without requirements the model is accurate, and changes its mind when a man is called a woman.
# %%
plain = FeasibleClassifier(missing="category").fit(X, y)
other = X_test.assign(gender=X_test["gender"].map({"Male": "Female", "Female": "Male"}))
changed = (plain.predict(X_test) != plain.predict(other)).mean()
print(f"accuracy {plain.score(X_test, y_test):.3f}, predictions that change with the gender {changed:.2%}")
# %% [markdown]
# Requirements are objects that print as sentences.
# %%
requirements = [
    invariant("gender", swap=("Male", "Female"), at_most=1e-3, every="row"),
    rate("recall", where="age > 60", at_least=0.5),
    parity("selection", groups="gender", within=0.12),
]
for requirement in requirements:
    print("-", requirement)
# %%
model = FeasibleClassifier(requirements, positive=">50K", missing="category").fit(X, y)
model.requirements_
# %%
changed = (model.predict(X_test) != model.predict(other)).mean()
print(f"accuracy {model.score(X_test, y_test):.3f}, predictions that change with the gender {changed:.2%}")
# %% [markdown]
# Who made it hard? The multiplier of a row says how much the requirement costs there.
# %%
hard = model.multipliers_["gender"]
print(f"for {(hard.dropna() == 0).mean():.0%} of the people it was free")
X.assign(multiplier=hard).nlargest(5, "multiplier")
# %% [markdown]
# What do the test rows prove about everyone whom they are drawn from?
# %%
certificate = model.certify(X_test, y_test, confidence=0.95)
print(certificate)
# %% [markdown]
# The same for a model of another library: what it predicts is enough.
# %%
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

encode = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    (StandardScaler(), make_column_selector(dtype_include="number")),
)
theirs = make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(X, y)
feasible.audit(theirs.predict_proba, X_test, y_test, requirements, positive=">50K").requirements
