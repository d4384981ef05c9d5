"""What a search keeps: the best point, the average, and its classifier.

In: scores of the points of a grid (folds, points), and the models of the folds. Out:
fitted attributes of `TensorCRPCV`: one linear map, and a classifier of its features.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorcrp.base.types import Floats
from tensorcrp.crp import TensorCRP
from tensorcrp.model_selection.average import Average
from tensorcrp.model_selection.classified import FeatureClassifier, classifiers_of
from tensorcrp.model_selection.distances import DistanceFeatures, seen_features
from tensorcrp.model_selection.fold_scores import fitted
from tensorcrp.model_selection.folds import features_of
from tensorcrp.model_selection.scores import check_scores, results_of, warn_of_ends
from tensorcrp.model_selection.selection import best_candidate


class ChosenModels(FeatureClassifier):
    """The part of `TensorCRPCV` that turns scores into a model."""

    average: int
    white: bool
    max_memory: float | None
    members_: list[dict[str, Any]]
    weights_: Floats
    projections_: Floats
    best_estimator_: TensorCRP

    def _basis(self):
        """Flattened tensors (H, P) that a unit of each feature adds to a sample.

        Of an average these are the smallest tensors that have the features.
        """
        if len(self.members_) == 1:
            units = np.eye(len(self.projections_))
            return self.best_estimator_.inverse_transform(units).reshape(len(units), -1)
        return np.linalg.pinv(self.projections_).T

    def _choose(self, grid, scores, seen):
        """The best point from scores (folds, points), and those of the average."""
        self.cv_results_ = results_of(grid, scores, seen)
        means = self.cv_results_["mean_test_score"]
        check_scores(means, seen, len(scores), classifiers_of(self)[0])
        best, self.weights_ = grid.members(scores, self.average)
        points, self.n_splits_ = grid.points(), len(scores)
        self.best_index_ = int(best[0])
        self.best_score_ = float(means[self.best_index_])
        self.best_params_ = points[self.best_index_]
        self.members_ = [points[i] for i in best]
        warn_of_ends(grid, self)
        return best

    def _refit(self, search, grid, best, folds, models, options):
        """The best point and the average on all samples, and the classifier."""
        names = ("white", "reg_scale", "between", "init", "n_init", "max_iter", "tol")
        shared = {name: getattr(self, name) for name in (*names, "max_memory")}
        seed = search.spec.random_state
        crp = TensorCRP(random_state=seed, **self.best_params_, **shared)
        weight = None if (search.weight == 1).all() else search.weight
        self.best_estimator_ = crp.fit(search.X, search.y, weight)
        for name in ("components_", "factors_", "classes_", "n_iter_"):
            setattr(self, name, getattr(crp, name))
        average = Average.of(grid, best, self.weights_, self.white)
        self.projections_ = crp.projections_
        if len(best) > 1:
            self.projections_ = average.projections(search, models, len(folds))
        chosen = best_candidate(search, average, folds, models, options)
        distance, classifier, self.candidates_ = chosen
        features = features_of(search.X, self.projections_)
        self.distances_ = DistanceFeatures(distance)
        self.distances_.fit(features, sample_weight=search.weight)
        seen = seen_features(self.distances_, features)
        self.estimator_ = fitted(classifier, seen, search.y, search.weight)
