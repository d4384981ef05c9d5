"""Transformations of samples before they are projected.

In: samples (n, l_1, ..., l_N), one of whose modes is time. Out: samples in which what
does not change over time is gone.

On clips with a static scene the scene varies far more between clips than what moves in
front of it, and a linear feature of the pixels sees little else. Differences of
successive frames remove the scene exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tensorcrp.base.gate import UNLABELLED, check_samples, check_tensor
from tensorcrp.base.namespace import followed
from tensorcrp.base.parameters import check_choice, check_integer
from tensorcrp.base.sample_steps import SampleTransformer
from tensorcrp.base.state import OneState
from tensorcrp.base.types import Array, Floats, Shape
from tensorcrp.solver.cp import working_dtype

__all__ = ["Motion"]


def _centred(X, mode):
    return X - X.mean(axis=mode, keepdims=True)


def _difference(X, mode):
    return np.abs(np.diff(X, axis=mode))


def _root(X, mode):
    return np.sqrt(_difference(X, mode))


# Name -> function (X, axis of X) -> X. Differences have one time less.
KINDS = {
    "none": lambda X, mode: X,
    "centred": _centred,
    "difference": _difference,
    "root": _root,
}
SHORTER = ("difference", "root")
PIXELS = ("uint8", "uint16")


def _other_pixels(fitted, found):
    """Whether one of two largest values is of fractions, the other of 8-bit pixels."""
    after_fractions = 0.1 < fitted <= 1 and found > 100
    after_bytes = 100 < fitted <= 255 and 0 < found <= 1
    return after_fractions or after_bytes


class Motion(OneState, SampleTransformer, TransformerMixin, BaseEstimator):
    """Change over time, in place of the values themselves.

    Parameters
    ----------
    kind : {"none", "centred", "difference", "root"}, default="difference"
        "none" leaves samples as they are. "centred" subtracts the mean over time.
        "difference" is the absolute difference of successive times, of which there is
        one less. "root" is its square root, which weakens the few large differences.
    mode : int, default=0
        The mode of a sample that is time; of clips it is the first.
    sample_shape : tuple of int, default=None
        Shape of a sample when the rows of X are flattened samples.

    Attributes
    ----------
    sample_shape_ : tuple of int
        Shape of a sample.
    input_shape_ : tuple of int
        The same, or the length of a flattened sample.
    n_features_in_ : int
    dtype_ : str
        Of the samples in `fit`. Pixels of 8 or 16 bits and fractions are not the same
        numbers: after the ones, `transform` rejects the others.
    range_ : (float, float)
        Smallest and largest value of the samples in `fit`. After pixels from 0 to 1,
        `transform` rejects those from 0 to 255, and the reverse.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.preprocessing import Motion
    >>> clip = np.array([[[1.0, 5.0], [1.0, 7.0], [2.0, 7.0]]])  # 3 frames, 2 pixels
    >>> Motion("difference").fit_transform(clip)
    array([[[0., 2.],
            [1., 0.]]])
    """

    sample_shape_: Shape
    input_shape_: Shape
    n_features_in_: int
    dtype_: str
    range_: tuple[float, float]

    if TYPE_CHECKING:  # scikit-learn's methods, which have no types

        def fit_transform(
            self, X: ArrayLike, y: ArrayLike | None = None, **fit_params: Any
        ) -> Floats: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...

    def __init__(
        self,
        kind: Literal["none", "centred", "difference", "root"] = "difference",
        *,
        mode: int = 0,
        sample_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.kind = kind
        self.mode = mode
        self.sample_shape = sample_shape

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Note the shape, type and range of samples; nothing is learnt.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or (n, P) with `sample_shape`
            Samples.
        y : array-like of shape (n,), default=None
            Ignored.

        Returns
        -------
        Motion
            The fitted estimator.
        """
        check_choice("kind", self.kind, tuple(KINDS))
        check_integer("mode", self.mode, least=0)
        X, _, _ = check_samples(self, X, UNLABELLED)
        self.output_shape(X.shape[1:])
        self.dtype_, self.range_ = (
            np.dtype(X.dtype).name,
            (float(X.min()), float(X.max())),
        )
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Samples after the transformation.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape seen in `fit`; never modified.

        Returns
        -------
        ndarray of shape (n, l_1, ..., l_N), or flattened as in `fit`
            In float32 if X is float32, else in float64. "difference" and "root" have
            one time less. An array of the kind of X on its device, computed on the
            host.
        """
        given, X = X, check_tensor(self, X, lazy=False)
        self._check_values(X)
        flat = X.ndim - 1 < len(self.sample_shape_)
        tensors = X.reshape(len(X), *self.sample_shape_)
        tensors = tensors.astype(working_dtype(X), copy=False)
        changed = KINDS[self.kind](tensors, self.mode + 1)
        return followed(changed.reshape(len(X), -1) if flat else changed, given)

    def _check_values(self, X):
        """Reject 8- or 16-bit pixels after fractions, and the reverse, in any type."""
        fitted = getattr(self, "dtype_", None)  # older model files do not say
        found = np.dtype(X.dtype).name
        if fitted is not None and (fitted in PIXELS) != (found in PIXELS):
            raise ValueError(
                f"samples are {found}; the model was fitted on {fitted}. Convert them "
                "in the same way, e.g. 8-bit pixels to fractions by X / 255."
            )
        low, high = getattr(self, "range_", (-1.0, 1.0))
        largest = float(np.abs(X).max(initial=0))
        if low >= 0 and _other_pixels(high, largest):
            raise ValueError(
                f"the largest value of the samples is {largest:g}; the model was "
                f"fitted on values from {low:g} to {high:g}. Bring them to the same "
                "unit, e.g. 8-bit pixels to fractions by X / 255."
            )

    def output_shape(self, shape: Shape) -> Shape:
        """Shape of a transformed sample.

        Parameters
        ----------
        shape : tuple of int
            Shape of a sample.

        Returns
        -------
        tuple of int
            The shape that `transform` gives it.
        """
        if not self.mode < len(shape):
            raise ValueError(
                f"mode={self.mode}, but samples of shape {tuple(shape)} have the modes "
                f"0 to {len(shape) - 1}."
            )
        if self.kind not in SHORTER:
            return tuple(shape)
        if shape[self.mode] < 2:
            raise ValueError(
                f"kind={self.kind!r} needs two times or more, but mode {self.mode} of "
                f'samples of shape {tuple(shape)} has one; take "none".'
            )
        return (*shape[: self.mode], shape[self.mode] - 1, *shape[self.mode + 1 :])

    def __sklearn_is_fitted__(self):
        return hasattr(self, "sample_shape_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the entries of a transformed sample.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Ignored.

        Returns
        -------
        ndarray of str
            "motion" and a number.
        """
        check_is_fitted(self)
        n = int(np.prod(self.output_shape(self.sample_shape_)))
        return np.array([f"motion{i}" for i in range(n)], dtype=object)
