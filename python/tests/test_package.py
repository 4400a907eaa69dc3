import feasible


def test_the_package_has_the_version_of_the_crates() -> None:
    assert feasible.__version__ == "0.1.0"


def test_what_is_refused_is_a_value_error() -> None:
    assert issubclass(feasible.FeasibleError, ValueError)
