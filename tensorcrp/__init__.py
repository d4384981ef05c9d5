"""Compound rank-k projections: supervised reduction of matrices and tensors."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what `__getattr__` loads
    from tensorcrp import baselines as baselines
    from tensorcrp import datasets as datasets
    from tensorcrp import experiments as experiments
    from tensorcrp import files as files
    from tensorcrp import model_selection as model_selection
    from tensorcrp import patterns as patterns
    from tensorcrp import persistence as persistence
    from tensorcrp import plotting as plotting
    from tensorcrp import preprocessing as preprocessing
    from tensorcrp import report as report
    from tensorcrp import scatter as scatter
    from tensorcrp import signals as signals
    from tensorcrp import solver as solver
    from tensorcrp import video as video
    from tensorcrp.crp import TensorCRP
    from tensorcrp.model_selection import TensorCRPCV
    from tensorcrp.patterns import Patterns
    from tensorcrp.scatter import ClassScatter

__version__ = "0.3.0"

__all__ = ["ClassScatter", "Patterns", "TensorCRP", "TensorCRPCV"]

_HOMES = {
    "ClassScatter": "scatter",
    "Patterns": "patterns",
    "TensorCRP": "crp",
    "TensorCRPCV": "model_selection",
}
_MODULES = (
    *("baselines", "datasets", "experiments", "files", "model_selection"),
    *("patterns", "persistence", "plotting", "preprocessing", "report"),
    *("scatter", "signals", "solver", "video"),
)

if not TYPE_CHECKING:  # or checkers would accept every misspelt name

    def __getattr__(name: str) -> Any:
        # Modules are loaded when they are asked for: `import tensorcrp` takes no time,
        # and what is optional is imported by those who use it.
        if name in _MODULES:
            return import_module(f"tensorcrp.{name}")
        if name in _HOMES:
            return getattr(import_module(f"tensorcrp.{_HOMES[name]}"), name)
        raise AttributeError(f"module 'tensorcrp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])
