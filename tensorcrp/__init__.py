"""Compound rank-k projections: supervised reduction of matrices and tensors."""

from tensorcrp.crp import TensorCRP
from tensorcrp.scatter import ClassScatter

__version__ = "0.2.0"

__all__ = ["ClassScatter", "TensorCRP", "TensorCRPCV"]


def __getattr__(name):
    # Loaded when asked for: it needs scikit-learn's classifiers and splitters, which
    # would double the time of `import tensorcrp`.
    if name == "TensorCRPCV":
        from tensorcrp.model_selection import TensorCRPCV

        return TensorCRPCV
    raise AttributeError(f"module 'tensorcrp' has no attribute {name!r}")
