"""Train models that must meet requirements."""

from ._feasible import FeasibleError, version

__version__ = version()

__all__ = ["FeasibleError", "__version__"]
