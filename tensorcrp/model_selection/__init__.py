"""Choice of parameters on the training data alone."""

from tensorcrp.model_selection.search import TensorCRPCV

__all__ = ["TensorCRPCV"]
