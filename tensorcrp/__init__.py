"""Compound rank-k projections: supervised reduction of matrices and tensors."""

from tensorcrp.crp import TensorCRP
from tensorcrp.scatter import ClassScatter

__version__ = "0.1.0"

__all__ = ["ClassScatter", "TensorCRP"]
