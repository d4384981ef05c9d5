"""A fitted model as one matrix: the fast path for samples that are in memory.

In: a fitted pipeline whose steps are linear. Out: `LinearMap`, one matrix product from
a flattened sample to the scores of the classes, without any check of input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

from tensorcrp.base.types import Array, Floats, Shape
from tensorcrp.model_selection import DistanceFeatures
from tensorcrp.preprocessing import KINDS, Motion
from tensorcrp.solver.cp import working_dtype


@dataclass(frozen=True)
class LinearMap:
    """Scores of classes by one matrix product.

    Parameters
    ----------
    coef : ndarray of shape (c, P)
        Weights of the entries of a sample, or of its change over time.
    intercept : ndarray of shape (c,)
        Constants.
    classes : ndarray of shape (c,)
        Labels.
    shape : tuple of int
        Shape of a sample.
    motion : str, default="none"
        Applied first, see `tensorcrp.preprocessing.Motion`.
    mode : int, default=0
        The mode of time.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.files import LinearMap
    >>> names = np.array(["dark", "bright"])
    >>> coef = np.array([[-1.0, -1.0], [1.0, 1.0]])
    >>> model = LinearMap(coef, np.array([1.0, -1.0]), names, (2,))
    >>> str(model.predict_one(np.array([0.9, 0.8])))
    'bright'
    """

    coef: Floats
    intercept: Floats
    classes: Array
    shape: Shape
    motion: str = "none"
    mode: int = 0

    def scores_one(self, sample: Array) -> Floats:
        """Scores of one sample; nothing is checked.

        Parameters
        ----------
        sample : ndarray of shape (l_1, ..., l_N)
            A sample in memory.

        Returns
        -------
        ndarray of shape (c,)
            The largest is that of the predicted class.
        """
        if self.motion != "none":
            # In floats, as in Motion: differences of unsigned integers wrap around.
            sample = sample.astype(working_dtype(sample), copy=False)
            sample = KINDS[self.motion](sample, self.mode)
        return self.coef @ sample.reshape(-1) + self.intercept

    def predict_one(self, sample: Array) -> Any:
        """Label of one sample; nothing is checked.

        Parameters
        ----------
        sample : ndarray of shape (l_1, ..., l_N)
            A sample in memory.

        Returns
        -------
        label
            One of `classes`.
        """
        return self.classes[self.scores_one(sample).argmax()]


def fold_linear(model: Any, dtype: Any = "float32") -> LinearMap:
    """Fold the linear steps of a fitted model into one matrix.

    Parameters
    ----------
    model : FileClassifier, TensorCRPCV or Pipeline, fitted
        Transformers of this package and scalers, then a linear classifier: LDA,
        logistic regression, a linear SVM or nearest mean. A `Motion` may come first.
    dtype : dtype, default="float32"
        Of the matrix; samples of the same type are fastest.

    Returns
    -------
    LinearMap
        Its labels are those of ``model.predict``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from tensorcrp import TensorCRP
    >>> from tensorcrp.datasets import load_digits
    >>> from tensorcrp.files import fold_linear
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = LogisticRegression(max_iter=1000)
    >>> model = make_pipeline(TensorCRP(5), classifier).fit(X[:500], y[:500])
    >>> fast = fold_linear(model, float)
    >>> [int(fast.predict_one(x)) for x in X[:5]] == model.predict(X[:5]).tolist()
    True
    """
    steps, classes = model_steps(model)
    motion = steps.pop(0) if isinstance(steps[0], Motion) else None
    shape = (
        (motion or steps[0]).input_shape_ if _has_shape(motion or steps[0]) else None
    )
    matrix, constant = linear_classifier(steps.pop())
    for step in reversed(steps):
        slopes, start = affine(step)
        constant = constant + matrix @ start
        matrix = matrix * slopes if slopes.ndim == 1 else matrix @ slopes
    shape = (matrix.shape[1],) if shape is None else tuple(shape)
    return LinearMap(
        np.ascontiguousarray(matrix, dtype),
        np.asarray(constant, dtype),
        classes,
        shape,
        "none" if motion is None else motion.kind,
        0 if motion is None else motion.mode,
    )


def _has_shape(step):
    return hasattr(step, "input_shape_")


def model_steps(model):
    """Fitted steps of a model, nested ones one after the other; names of classes."""
    classes = getattr(model, "classes_", None)
    if hasattr(model, "model_"):  # a FileClassifier
        model = model.model_
    return list(_flattened(model)), classes


def _flattened(model):
    if hasattr(model, "steps"):
        for _, step in model.steps:
            if step is not None and step != "passthrough":
                yield from _flattened(step)
    elif hasattr(model, "estimator_"):  # a TensorCRPCV
        yield model
        yield model.distances_
        yield from _flattened(model.estimator_)
    else:
        yield model


def affine(step):
    """Slopes and constant of a step: x -> slopes x + constant.

    Slopes are a matrix (h, P), or (P,) where every entry is scaled by itself.
    """
    if isinstance(step, (StandardScaler, RobustScaler)):
        # StandardScaler learns a mean that it may not be asked to subtract.
        known = isinstance(step, StandardScaler) and step.with_mean
        centre = step.mean_ if known else getattr(step, "center_", None)
        slopes = (
            np.ones(step.n_features_in_) if step.scale_ is None else 1 / step.scale_
        )
        return slopes, -slopes * (0 if centre is None else centre)
    if isinstance(step, DistanceFeatures) and step.distance == "euclidean":
        return np.ones(step.n_features_in_), -step.mean_
    if isinstance(step, MaxAbsScaler):
        return 1 / step.scale_, np.zeros(step.n_features_in_)
    if isinstance(step, MinMaxScaler) and not step.clip:
        return step.scale_, step.min_
    if hasattr(step, "projections_"):
        return step.projections_, np.zeros(len(step.projections_))
    if hasattr(step, "sample_shape_") and hasattr(step, "transform"):
        size = int(np.prod(step.sample_shape_))
        units = np.vstack([np.zeros(size), np.eye(size)])
        values = np.asarray(step.transform(units.reshape(-1, *step.input_shape_)))
        return (values[1:] - values[0]).T, values[0]
    raise ValueError(
        f"{step} is not linear, or not a step that fold_linear knows; use predict."
    )


def is_nearest_mean(classifier):
    """Whether it is scikit-learn's, by plain distances and with classes as likely."""
    if type(classifier) is not NearestCentroid or classifier.metric != "euclidean":
        return False
    return np.allclose(classifier.class_prior_, 1 / len(classifier.classes_))


def linear_classifier(classifier):
    """Weights (c, h) and constants (c,) whose largest score is the prediction.

    Of two classes, scores differ by the decision function.
    """
    if is_nearest_mean(classifier):
        centres = np.asarray(classifier.centroids_)
        return 2 * centres, -(centres**2).sum(axis=1)  # |x|^2 - |x - m|^2
    if hasattr(classifier, "coef_") and hasattr(classifier, "intercept_"):
        weights = np.atleast_2d(classifier.coef_)
        constants = np.zeros(len(weights)) + classifier.intercept_
        if len(classifier.classes_) == 2 and len(weights) == 1:
            halves = np.array([[-0.5], [0.5]])
            return halves * weights, halves[:, 0] * constants
        if len(weights) == len(classifier.classes_):
            return weights, constants
    raise ValueError(
        f"{type(classifier).__name__} is not a linear classifier; use LDA, logistic "
        "regression, LinearSVC or NearestCentroid."
    )
