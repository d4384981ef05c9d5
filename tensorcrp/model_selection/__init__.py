"""Cross-validated choice of parameters, averages of models, distances of features."""

from tensorcrp.model_selection.distances import DistanceFeatures
from tensorcrp.model_selection.scores import GridEndWarning
from tensorcrp.model_selection.search import TensorCRPCV

__all__ = ["DistanceFeatures", "GridEndWarning", "TensorCRPCV"]
