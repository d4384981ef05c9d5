"""Transformers with one factor per mode, and what their classes share.

In: samples ``(n, l_1, ..., l_N)`` and fitted factors ``U^(m)`` of shape (l_m, r_m).
Out: the core ``Y = X x_1 U^(1)^T ... x_N U^(N)^T`` of each sample, flattened to
``r_1 ... r_N`` features; back by the tensor of least norm that has those features.

A supervised method derives from `TuckerDiscriminant` and says in ``solve_modes`` which
rule (`mode_rules`) and schedule (`modes`) it is made of.
"""

from __future__ import annotations

from functools import partial
from math import ceil, prod
from numbers import Integral
from string import Template
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from tensorcrp.base.estimator import TensorTransformer, check_features
from tensorcrp.base.fit_warnings import warn_if_unfinished
from tensorcrp.base.fitting import ScatterFit, check_within
from tensorcrp.base.namespace import as_type, is_foreign, namespace_of, put
from tensorcrp.base.one_by_one import cores_of_each
from tensorcrp.base.resources import bounded_threads
from tensorcrp.base.types import Array, DaskArray, Floats, Samples, Stored
from tensorcrp.baselines.forms import Form, FormLike, project
from tensorcrp.baselines.modes import ModesResult
from tensorcrp.solver.cp import working_dtype

Class = TypeVar("Class")


class TuckerTransformer(TensorTransformer):
    """Features by one mode product per mode; sets ``factors_`` in a subclass."""

    factors_: list[Floats]
    objective_: float

    @overload
    def transform(self, X: DaskArray) -> Any: ...
    @overload
    def transform(self, X: ArrayLike | Stored) -> Floats: ...

    def transform(self, X: Samples) -> Any:
        """Features of samples: their cores, flattened.

        Parameters
        ----------
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples of the shape seen in `fit`.

        Returns
        -------
        ndarray of shape (n, r_1 ... r_N)
            Features, in float32 if X is float32, else in float64. A dask array, not
            computed, if X is one. Memory maps, Zarr arrays and HDF5 datasets are read
            in blocks.
        """
        return super().transform(X)

    def _feature_map(self):
        mean = self.mean_ if self._centres else None
        return partial(core_features, self.factors_, mean)

    def _linear_features(self, tensors, magnitudes=False):
        factors = [np.abs(U) if magnitudes else U for U in self.factors_]
        return core_features(factors, None, tensors)

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Tensors of least norm that have the features.

        With orthonormal factors and ``Y = transform(X)`` this is the sample projected
        on their span.

        Parameters
        ----------
        X : array-like of shape (n, r_1 ... r_N)
            Features, as `transform` returns them.

        Returns
        -------
        ndarray of shape (n, l_1, ..., l_N), or flattened as in `fit`
            One tensor per row of features.
        """
        features = check_features(self, X)
        xp = namespace_of(features)
        core = xp.reshape(features, (-1, *self._sizes))
        tensors = project(core, [np.linalg.pinv(U) for U in self.factors_])
        if self._centres:
            tensors = tensors + put(self.mean_.astype(working_dtype(core)), core)
        return xp.reshape(tensors, (-1, *self.input_shape_))

    @property
    def _centres(self):
        return hasattr(self, "mean_")

    @property
    def _sizes(self):
        return tuple(factor.shape[1] for factor in self.factors_)

    @property
    def _n_features_out(self):
        return prod(self._sizes)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "factors_")


def core_features(factors, mean, X):
    """Cores of samples of any layout, less `mean` if there is one: (b, r_1 ... r_N)."""
    dtype, shape = working_dtype(X), [len(factor) for factor in factors]
    n, xp = X.shape[0], namespace_of(X)
    X = as_type(xp.reshape(X, (n, *shape)), dtype)
    with bounded_threads(n * prod(shape) * np.dtype(dtype).itemsize):
        if mean is not None:  # before the product: a large mean would hide the rest
            X = X - put(mean.astype(dtype), X)
        if is_foreign(X):
            return xp.reshape(project(X, factors), (n, -1))
        return cores_of_each(X, [U.T for U in factors]).reshape(n, -1)


class TuckerDiscriminant(ScatterFit, TuckerTransformer):
    """Base of supervised methods with one factor per mode.

    A method is a subclass with parameters `sizes` and `sample_shape` and a method
    `solve_modes`. Everything else comes from here: ``fit``, ``partial_fit``,
    ``fit_batches`` and ``fit_scatter``, checks of input, ``transform`` and
    ``inverse_transform``. A fit sets ``factors_``, ``objective_`` and ``classes_``,
    and what `ModesResult` has besides: ``history_`` and ``n_iter_`` of sweeps, and
    ``order_``. It warns if the sweeps have not converged.

    See Also
    --------
    alternate, one_pass, parallel : Schedules, which return a ModesResult.
    fisher, singular, difference, trace_ratio : Rules.

    Examples
    --------
    >>> import numpy as np
    >>> from tensorcrp.baselines import TuckerDiscriminant, parallel
    >>> class MaximumMargin(TuckerDiscriminant):
    ...     def __init__(self, sizes=None, *, sample_shape=None):
    ...         self.sizes = sizes
    ...         self.sample_shape = sample_shape
    ...
    ...     def solve_modes(self, between, within, sizes):
    ...         return parallel(between, within, sizes, self.rule)
    ...
    ...     def rule(self, B, W, size):
    ...         return np.linalg.eigh(B - W)[1][:, ::-1][:, :size]
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits().images, load_digits().target
    >>> MaximumMargin(sizes=(3, 2)).fit_transform(X, y).shape
    (1797, 6)
    """

    def solve_modes(
        self, between: FormLike, within: FormLike, sizes: tuple[int, ...]
    ) -> ModesResult:
        """Factors of all modes: the one thing that a method has to say.

        Called by the methods that fit; not meant to be called by users.

        Parameters
        ----------
        between, within : Form
            Between- and within-class scatter, as forms of samples.
        sizes : tuple of int
            Core sizes ``r_m``, checked.

        Returns
        -------
        ModesResult
            What a schedule returns.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no method solve_modes(between, within, sizes); "
            "return what alternate, one_pass or parallel returns."
        )

    classes_: Array

    def _solve_scatter(self, scatter):
        check_within(scatter)
        sizes = discriminant_sizes(self, scatter.classes)
        between = Form(scatter.between("samples"))
        within = Form(scatter.within, scatter.trace)
        with bounded_threads(0):  # products are small, however large the data are
            result = self.solve_modes(between, within, sizes)
        # A view, such as reversed columns, comes back from a file in another layout,
        # and its products would differ by rounding.
        self.factors_ = [U if U.flags.forc else U.copy() for U in result.factors]
        self.objective_, self.classes_ = result.objective, scatter.classes
        return self._keep(result)

    def _keep(self, result):
        """Set what not every schedule has."""
        if result.n_iter is not None:
            self.history_, self.n_iter_ = result.history, result.n_iter
        if result.order:
            self.order_ = result.order
        if hasattr(self, "tol"):
            warn_if_unfinished(self, result)
        return self

    def _check_sizes(self, labels):
        discriminant_sizes(self, np.unique(labels))


def discriminant_sizes(estimator, classes):
    """Core sizes ``r_m`` of a supervised method.

    By default about ``(c - 1)^2`` features in all, the number that the paper gives
    every method, with at least two per mode; at order 1 the c - 1 that exist.
    """
    shape, others = estimator.sample_shape_, len(classes) - 1
    if len(shape) == 1:
        default = others
    else:
        default = max(2, ceil(round(others ** (2 / len(shape)), 9)))
    return core_sizes(estimator.sizes, shape, [default] * len(shape))


def core_sizes(given, shape, default):
    """Core sizes ``r_m`` as a tuple, checked against the shape of a sample."""
    if given is None:
        given = default
    elif isinstance(given, Integral) and not isinstance(given, bool) and given > 0:
        given = [given] * len(shape)
    else:
        given = _exact_sizes(given, shape)
    return tuple(min(int(r), size) for r, size in zip(given, shape, strict=True))


def _exact_sizes(given, shape):
    try:
        sizes = list(given)
    except TypeError:
        sizes = []
    good = all(isinstance(r, Integral) and not isinstance(r, bool) for r in sizes)
    fits = good and len(sizes) == len(shape)
    if not fits or not all(0 < r <= size for r, size in zip(sizes, shape, strict=True)):
        raise ValueError(
            "sizes must be an integer of at least 1, or one such integer per mode and "
            f"none larger than its mode of a sample of shape {shape}, got {given!r}."
        )
    return sizes


_SHARED = {
    "sizes": """sizes : int, tuple of int or None, default=None
        Number of features ``r_m`` per mode; an integer is used for every mode,
        reduced to the size of the mode. None for about ``(c - 1)**2``
        features in all, ``ceil((c - 1)**(2 / N))`` per mode with c classes and at
        least 2; at order 1 for c - 1.""",
    "sample_shape": """sample_shape : tuple of int, default=None
        Shape of a sample when the rows of X are flattened samples.""",
    "factors": """factors_ : list of ndarray of shape (l_m, r_m)
        One factor per mode, best column first.""",
    "fitted": """classes_ : ndarray of shape (c,)
    sample_shape_ : tuple of int
    input_shape_ : tuple of int
        Shape of a sample as it was given to `fit`: flattened or not.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X had column names.""",
    "iterated": """objective_ : float
        The last value of the history.
    history_ : ndarray
        The objective after each factor, mode by mode.
    n_iter_ : int
        Number of sweeps.""",
}


def documented(cls) -> type[Class]:
    """Fill what several classes share into the docstrings of one."""
    if cls.__doc__:
        shared = {**_SHARED, "unlabelled": _SHARED["fitted"].split("\n", 1)[1].strip()}
        cls.__doc__ = Template(cls.__doc__).safe_substitute(shared)
    if "solve_modes" in vars(cls):
        cls.solve_modes.__doc__ = TuckerDiscriminant.solve_modes.__doc__
    return cls
