"""Experiments: runs are rows, tables and figures are functions of rows.

``tensorcrp compare`` runs every method on the user's data, ``tensorcrp reproduce`` the
paper's experiments, ``tensorcrp bench`` measures speed and memory. In: names of data
sets. Out: rows (JSON Lines), tables, figures, a report. `compare_methods` is the first
of them as a function, and `register_method` adds a method to both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what `__getattr__` loads
    from tensorcrp.experiments.compare import compare_methods
    from tensorcrp.experiments.registry import register_method

__all__ = ["compare_methods", "register_method"]

if not TYPE_CHECKING:  # or checkers would accept every misspelt name

    def __getattr__(name: str) -> Any:
        # Loaded when asked for: methods import every estimator and scikit-learn's
        # parts.
        if name == "compare_methods":
            from tensorcrp.experiments.compare import compare_methods

            return compare_methods
        if name == "register_method":
            from tensorcrp.experiments.methods import register_method

            return register_method
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
