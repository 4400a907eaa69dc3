from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import feasible
from feasible import (
    Requirement, demographic_parity, equal_opportunity, equalised_odds, invariant, loss, parity, rate, robust,
)  # fmt: skip
from feasible.requirements import as_dicts


def test_a_requirement_is_the_table_of_a_problem_file() -> None:
    one = invariant("gender", swap=("Male", "Female"), at_most=1e-3, every="row")
    assert one.to_dict() == {
        "name": "gender",
        "loss": "kl",
        "kind": "pointwise",
        "at_most": 1e-3,
        "counterfactual": {"swap": {"gender": ["Male", "Female"]}},
    }
    assert rate("recall", of=3.0, at_least=0.8).to_dict()["class"] == "3"


@pytest.mark.parametrize(
    ("requirement", "sentence"),
    [
        (rate("recall", where="age > 60", at_least=0.8), "recall where age > 60 is at least 0.8"),
        (rate("error", groups="city", at_most=0.2), "error rate of each city is at most 0.2"),
        (equalised_odds("race", within=0.1), "the recall and false positive rate of each race are within 0.1 of everyone's"),
        (parity("recall", groups="race", within=0.1), "the recall of each race is within 0.1 of everyone's"),
        (loss("squared", at_most=2), "the squared is at most 2"),
        (
            loss("absolute", every="row", all_but=0.01, at_most=2),
            "the absolute of every row, all but 1 % of them is at most 2",
        ),
        (
            invariant("race", at_most=0.01, every=None),
            "the prediction of everyone, on average, changes by at most 0.01 (KL divergence) under every exchange of "
            "two categories of race",
        ),
        (robust(0.1, at_most=0.9), "the cross-entropy under attack (ε = 0.1) is at most 0.9"),
    ],
)
def test_a_requirement_prints_as_a_sentence(requirement: Requirement, sentence: str) -> None:
    assert str(requirement) == sentence


def test_requirements_are_equal_by_content_and_survive_copies() -> None:
    one = parity("selection", groups="race", within=0.05)
    assert copy.deepcopy(one) == one == pickle.loads(pickle.dumps(one))
    assert hash(copy.deepcopy(one)) == hash(one)
    assert one != parity("selection", groups="race", within=0.06)


def test_two_requirements_of_one_name_are_told_apart() -> None:
    names = [one["name"] for one in as_dicts([rate("recall", at_least=0.8), rate("recall", at_most=0.9)])]
    assert names == ["recall", "recall (2)"]


def test_what_is_no_requirement_is_refused() -> None:
    with pytest.raises(feasible.FeasibleError, match=r"requirements\[0\]: int is not a requirement"):
        as_dicts([3])  # type: ignore[list-item]
    with pytest.raises(feasible.FeasibleError, match="give a list"):
        as_dicts(rate("recall", at_least=0.8))  # type: ignore[arg-type]
    with pytest.raises(feasible.FeasibleError, match="every"):
        invariant("race", at_most=0.1, every="column")  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["at_most", "at_least"])
@pytest.mark.parametrize("function", [parity, demographic_parity, equal_opportunity, equalised_odds])
def test_a_difference_of_groups_is_limited_by_within_alone(function: Any, key: str) -> None:
    with pytest.raises(feasible.FeasibleError, match=r"did you mean within=0.05\?"):
        function(groups="race", **{key: 0.05})
    with pytest.raises(feasible.FeasibleError, match="needs a limit"):
        function(groups="race")
