from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import feasible
from feasible import FeasibleClassifier, FeasibleRegressor, invariant, loss, parity, rate

from .conftest import Rows

SEX = invariant("sex", swap=("F", "M"), at_most=1e-2, all_but=0.05)


@pytest.fixture(scope="module")
def model(train: Rows) -> FeasibleClassifier:
    requirements = [SEX, rate("recall", where="age > 50", at_least=0.8), parity(groups="city", within=0.15)]
    return FeasibleClassifier(requirements, epochs=60).fit(*train)


def test_requirements_are_a_table_with_groups_written_out(model: FeasibleClassifier) -> None:
    names = [row.name for row in model.requirements_]
    assert names[:2] == ["sex", "recall where age > 50"]
    assert names[2:] == [f"selection by city: {city}" for city in ("Lyon", "Oslo", "Turin")] or len(names) == 8
    assert model.requirements_.met
    assert "multiplier" in repr(model.requirements_) and "<table>" in model.requirements_._repr_html_()
    assert list(model.requirements_.to_pandas().index) == names


def test_multipliers_are_aligned_with_the_index_of_x(train: Rows) -> None:
    X, y = train
    X, y = X.set_index(np.arange(len(X)) + 7000), y.set_axis(np.arange(len(y)) + 7000)
    model = FeasibleClassifier([SEX], epochs=10).fit(X, y)
    multipliers = model.multipliers_
    assert list(multipliers.columns) == ["sex"] and (multipliers.index == X.index).all()
    # 20 % of the rows are for validation, and have none.
    assert multipliers["sex"].isna().sum() == 300
    assert (multipliers["sex"].dropna() >= 0).all()


def test_it_is_better_than_chance_and_gives_probabilities(model: FeasibleClassifier, test: Rows) -> None:
    X, y = test
    assert model.score(X, y) > 0.75
    chances = model.predict_proba(X)
    assert chances.shape == (len(X), 2) and np.allclose(chances.sum(axis=1), 1)
    assert list(model.classes_) == ["no", "yes"]
    assert ((model.decision_function(X) > 0) == (model.predict(X) == "yes")).all()
    assert ((chances[:, 1] > 0.5) == (model.predict(X) == "yes")).all()


def test_the_positive_class_may_be_the_first(train: Rows, test: Rows) -> None:
    model = FeasibleClassifier([rate("recall", at_least=0.9)], positive="no", epochs=40).fit(*train)
    X, y = test
    assert list(model.classes_) == ["no", "yes"]
    assert (model.predict(X)[y == "no"] == "no").mean() > 0.85
    # One rate is met by the threshold: those who are found are above it, and it need not be 1/2.
    chances = model.predict_proba(X)[:, 0]
    found = model.predict(X) == "no"
    assert chances[found].min() > chances[~found].max()
    assert ((model.decision_function(X) > 0) == (model.predict(X) == "yes")).all()


def test_a_copy_a_pickle_and_a_run_directory_predict_the_same(
    model: FeasibleClassifier, test: Rows, tmp_path: Path
) -> None:
    X, y = test
    chances = model.predict_proba(X)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(X) == chances).all()
    assert again.requirements_ == model.requirements_ and again.report_.html == model.report_.html
    model.save(tmp_path / "run")
    for path in (tmp_path / "run", tmp_path / "run" / "model.safetensors"):
        loaded = feasible.load(path)
        assert isinstance(loaded, FeasibleClassifier)
        assert (loaded.predict_proba(X) == chances).all() and (loaded.predict(X) == model.predict(X)).all()
    with pytest.raises(feasible.FeasibleError, match="not empty"):
        model.save(tmp_path / "run")
    model.save(tmp_path / "run", force=True)
    assert (feasible.load(tmp_path / "run").certify(X, y).to_dict()) == model.certify(X, y).to_dict()
    model.save(tmp_path / "alone.safetensors")
    alone = feasible.load(tmp_path / "alone.safetensors")
    assert (alone.predict_proba(X) == chances).all()
    with pytest.raises(feasible.FeasibleError, match="needs the run directory"):
        alone.certify(X, y)


def test_the_page_is_shown_and_saved(model: FeasibleClassifier, tmp_path: Path) -> None:
    assert model.report_.save(tmp_path / "report.html").read_text().startswith("<!")
    assert "srcdoc" in model.report_._repr_html_() and "recall where age" in model.report_.html
    assert "accuracy" in str(model.report_) and model.report_.card is not None


def test_held_out_rows_certify_and_rows_of_the_training_are_refused(
    model: FeasibleClassifier, train: Rows, test: Rows
) -> None:
    certificate = model.certify(*test, confidence=0.9)
    assert certificate.confidence == pytest.approx(0.9) and certificate.rows == 4000
    assert {one.verdict for one in certificate.findings} <= {"certified", "met", "violated", "open"}
    assert "4,000 rows of X" in str(certificate)
    with pytest.raises(feasible.FeasibleError, match="train"):
        model.certify(*train)


def test_rows_may_be_kept_back_for_a_certificate(train: Rows) -> None:
    model = FeasibleClassifier([rate("accuracy", at_least=0.6)], certificate=0.95, epochs=30).fit(*train)
    assert model.certificate_ is not None and "300 reserved rows" in model.certificate_["rows"]


def test_an_audit_is_of_the_rows_given(model: FeasibleClassifier, test: Rows) -> None:
    audit = model.audit(*test)
    assert audit.accuracy == pytest.approx(model.score(*test))
    assert audit.certificate is None and "these rows" in repr(audit)


def test_sensitive_features_are_spoken_of_and_not_seen(train: Rows, test: Rows) -> None:
    X, y = train
    inputs = ["age", "score"]
    requirement = parity(groups="sex", within=0.1)
    one = FeasibleClassifier([requirement], epochs=40)
    one.fit(X[inputs], y, sensitive_features=X["sex"])
    assert one.run_.inputs == inputs and len(one.requirements_) > 0
    others = {
        "frame": X[["sex"]],
        "dictionary": {"sex": X["sex"].to_list()},
    }
    for sensitive in others.values():
        other = clone(one).fit(X[inputs], y, sensitive_features=sensitive)
        assert (other.predict_proba(test[0][inputs]) == one.predict_proba(test[0][inputs])).all()
    unnamed = clone(one).set_params(requirements=[parity(groups="sensitive_feature_0", within=0.1)])
    unnamed.fit(X[inputs], y, sensitive_features=X["sex"].to_numpy())
    assert (unnamed.predict_proba(test[0][inputs]) == one.predict_proba(test[0][inputs])).all()
    with pytest.raises(feasible.FeasibleError, match="requirements speak of 'sex'"):
        one.certify(test[0][inputs], test[1])
    one.certify(test[0][inputs], test[1], sensitive_features=test[0]["sex"])
    clone(one).fit(X, y, sensitive_features=X["sex"])
    with pytest.raises(feasible.FeasibleError, match=r"sensitive_features\['sex'\] differs from the column 'sex' of X"):
        one.fit(X, y, sensitive_features=X["sex"].iloc[::-1])
    with pytest.raises(feasible.FeasibleError, match=r"sensitive_features\['sex'\]: 3 values, but X has 1500 rows"):
        one.fit(X[inputs], y, sensitive_features=X["sex"][:3])


def test_weights_count_and_rows_that_weigh_nothing_are_left_out(train: Rows) -> None:
    X, y = train
    weights = np.where(X["sex"] == "F", 0.0, 1.0)
    weighed = FeasibleClassifier(epochs=20).fit(X[["age", "score"]], y, sample_weight=weights)
    without = FeasibleClassifier(epochs=20).fit(X.loc[X["sex"] == "M", ["age", "score"]], y[X["sex"] == "M"])
    assert np.abs(weighed.predict_proba(X[["age", "score"]]) - without.predict_proba(X[["age", "score"]])).max() < 1e-6
    heavy = FeasibleClassifier(epochs=20).fit(X, y, sample_weight=np.where(y == "yes", 20.0, 1.0))
    plain = FeasibleClassifier(epochs=20).fit(X, y)
    assert (heavy.predict(X) == "yes").mean() > (plain.predict(X) == "yes").mean() + 0.1
    balanced = FeasibleClassifier(epochs=20, class_weight={"yes": 20.0}).fit(X, y)
    assert (balanced.predict(X) == "yes").mean() > (plain.predict(X) == "yes").mean() + 0.1


def test_metadata_is_routed_through_a_pipeline_and_a_search(train: Rows) -> None:
    X, y = train
    with sklearn.config_context(enable_metadata_routing=True):
        one = FeasibleClassifier([parity(groups="sex", within=0.2)], epochs=5)
        one.set_fit_request(sensitive_features=True, sample_weight=True).set_score_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), one)
        # The scaler gives an array; the core calls its columns x0, x1.
        search = GridSearchCV(pipe, {"feasibleclassifier__epochs": [2, 4]}, cv=2)
        search.fit(X[["age", "score"]], y, sensitive_features=X["sex"], sample_weight=np.ones(len(X)))
        assert np.isfinite(search.best_score_)
        best = search.best_estimator_[-1]
        assert best.run_.spoken_of == ["sex"] and best.run_.weight == "sample_weight"


def test_a_search_over_requirements_clones_them(train: Rows) -> None:
    X, y = train
    grid = {"requirements": [[rate("recall", at_least=floor)] for floor in (0.5, 0.95)]}
    search = GridSearchCV(FeasibleClassifier(epochs=15), grid, cv=2, scoring="recall_macro").fit(X, y)
    assert search.best_params_["requirements"] in grid["requirements"]


def test_output_may_be_a_frame(train: Rows) -> None:
    X, y = train
    pipe = make_pipeline(StandardScaler(), FeasibleClassifier([rate("error", where="age > 0", at_most=0.4)], epochs=4))
    pipe.set_output(transform="pandas").fit(X[["age", "score"]], y)
    assert list(pipe[-1].feature_names_in_) == ["age", "score"]


def test_numbers_are_predicted_under_requirements(train: Rows) -> None:
    X, _ = train
    y = 3 * X["score"] + 0.1 * X["age"]
    model = FeasibleRegressor([loss("squared", groups="sex", at_most=1.0)], epochs=80).fit(X, y)
    assert model.score(X, y) > 0.9 and model.requirements_.met
    assert isinstance(pickle.loads(pickle.dumps(model)), FeasibleRegressor)


def test_classes_are_of_the_kind_that_was_given(train: Rows) -> None:
    X, y = train
    for values in (y == "yes", (y == "yes").astype(int) + 5, np.where(y == "yes", 2.5, -1.0)):
        if np.asarray(values).dtype.kind == "f":
            continue
        model = FeasibleClassifier(epochs=2).fit(X, values)
        assert model.predict(X).dtype == np.asarray(values).dtype
        assert set(model.predict(X)) <= set(np.asarray(values))


def test_a_problem_file_becomes_an_estimator(train: Rows, tmp_path: Path) -> None:
    file = tmp_path / "people.toml"
    file.write_text(
        "[data]\nfile = 'people.csv'\ntarget = 'hired'\npositive = 'no'\ndrop = ['city']\n"
        "[training]\nepochs = 7\nseed = 3\n"
        "[[requirement]]\nname = 'older'\nrate = 'recall'\nwhere = 'age > 50'\nat_least = 0.6\n"
    )
    model = FeasibleClassifier.from_toml(file).fit(*train)
    assert (model.positive, model.random_state, model.summary_["epochs"]) == ("no", 3, 7)
    assert [row.name for row in model.requirements_] == ["older"] and "city" not in model.run_.inputs
    file.write_text("[training]\nepoch = 7\n[data]\n")
    with pytest.raises(feasible.FeasibleError, match="unknown key 'epoch': did you mean 'epochs'"):
        FeasibleClassifier.from_toml(file)


def test_the_same_seed_gives_the_same_bits_and_threads_do_not_matter(train: Rows) -> None:
    X, y = train
    files = [
        FeasibleClassifier([SEX], epochs=4, n_jobs=jobs, random_state=seed).fit(X, y).predict_proba(X).tobytes()
        for jobs, seed in ((None, 0), (2, 0), (None, 1))
    ]
    assert files[0] == files[1] != files[2]


def test_a_callback_is_told_of_every_epoch(train: Rows, capfd: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[int, float]] = []
    model = FeasibleClassifier([SEX], epochs=5, verbose=True, callback=lambda m, step: told.append((step, m["objective"])))
    model.fit(*train)
    assert [step for step, _ in told] == [1, 2, 3, 4, 5]
    assert "epoch 5 of 5" in capfd.readouterr().err


def test_an_exception_of_a_callback_ends_the_training(train: Rows) -> None:
    def fail(metrics: dict[str, object], step: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        FeasibleClassifier(epochs=1000, callback=fail).fit(*train)


def test_a_threshold_may_depend_on_a_column(train: Rows, test: Rows) -> None:
    X, y = train
    model = FeasibleClassifier(epochs=10, decision="accuracy", settings={"decision": {"per": "sex"}})
    model.fit(X[["age", "score"]], y, sensitive_features=X["sex"])
    found = model.predict(test[0][["age", "score"]], sensitive_features=test[0]["sex"])
    assert set(found) == {"no", "yes"}
    side = model.decision_function(test[0][["age", "score"]], sensitive_features=test[0]["sex"])
    assert ((side > 0) == (found == "yes")).all()
    assert model.predict_proba(test[0][["age", "score"]]).shape == (4000, 2)
    with pytest.raises(feasible.FeasibleError, match="thresholds depend on 'sex'"):
        model.predict(test[0][["age", "score"]])


def test_frames_of_pandas_keep_integers_and_categories(train: Rows) -> None:
    X, y = train
    coded = X.assign(sex=X["sex"].astype("category"), city=X["city"].astype(str))
    one, other = (FeasibleClassifier([SEX], epochs=3).fit(frame, y) for frame in (X, coded))
    assert (one.predict_proba(X) == other.predict_proba(coded)).all()
    assert isinstance(one.multipliers_, pd.DataFrame)


def test_a_certificate_can_be_asked_for_a_shift_and_for_a_range_of_base_rates(train: Rows, test: Rows) -> None:
    wanted = [rate("error", at_most=0.45)]
    model = FeasibleClassifier(wanted, epochs=20).fit(*train)
    plain = model.certify(*test).findings[0].details
    carries = plain["still_true_if"]["shift"]
    assert carries > 1.05
    within, beyond = (model.certify(*test, shift=factor * carries) for factor in (0.99, 1.01))
    assert within.certified and "wherever no kind of row is more than" in str(within).replace("\n", " ")
    assert within.findings[0].details["bound"] == pytest.approx(0.99 * carries * plain["bound"])
    assert beyond.findings[0].verdict == "met"
    mixed = model.certify(*test, base_rate=(0.3, 0.6))
    assert mixed.findings[0].details["still_true_if"] == {"base_rate": [0.3, 0.6]}
    assert model.certify(*test, base_rate=0.5).findings[0].details["still_true_if"] == {"base_rate": [0.5, 0.5]}
    for asked, said in (({"shift": 0.5}, "at least 1"), ({"base_rate": (0.6, 0.3)}, "at most the 0.3"), ({"base_rate": 2}, "a share")):
        with pytest.raises(feasible.FeasibleError, match=said):
            model.certify(*test, **asked)
    # The same of what any predictor has predicted.
    predicted = model.predict(test[0])
    judged = feasible.certify(predicted, test[1], wanted, shift=0.99 * carries)
    assert judged.certificate is not None and judged.certificate.certified
    judged = feasible.certify(predicted, test[1], wanted, base_rate=(0.3, 0.6))
    assert judged.certificate is not None
    assert judged.certificate.findings[0].details["bound"] == pytest.approx(mixed.findings[0].details["bound"])


def test_rows_that_a_model_is_not_for_are_predicted_with_a_warning(train: Rows, test: Rows) -> None:
    X, y = train
    model = FeasibleClassifier([], epochs=2, settings={"data": {"rows": "age > 40"}}).fit(X, y)
    outside = f"{(test[0]['age'] <= 40).sum():,} of the 4,000 rows are not rows that the model is for: those where age > 40"
    for predict in (model.predict, model.predict_proba, model.decision_function):
        with pytest.warns(UserWarning, match=outside) as warned:
            assert len(predict(test[0])) == 4000
        assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(test[0][test[0]["age"] > 40])


def test_rates_need_the_positive_class_unless_the_labels_say_it(train: Rows, test: Rows) -> None:
    (X, y), (later, labels_of_later) = train, test
    recall = [rate("recall", at_least=0.5)]
    named = y.map({"no": "control", "yes": "case"})
    with pytest.raises(feasible.FeasibleError, match=r"'case' \(\d[\d,]* rows\) or 'control' \(\d[\d,]* rows\)"):
        FeasibleClassifier(recall, epochs=1).fit(X, named)
    model = FeasibleClassifier(recall, positive="case", epochs=1).fit(X, named)
    certificate = model.certify(later, labels_of_later.map({"no": "control", "yes": "case"}))
    assert "recall of 'case'" in str(certificate)
    FeasibleClassifier([rate("error", at_most=0.9)], epochs=1).fit(X, named)
    for labels in ({"no": 0, "yes": 1}, {"no": False, "yes": True}, {"no": "no", "yes": "yes"}):
        FeasibleClassifier(recall, epochs=1).fit(X, y.map(labels))
