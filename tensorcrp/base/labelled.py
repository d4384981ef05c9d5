"""Factors for other packages: with names and values of modes, or as CP tensors.

In: a fitted estimator with ``factors_``, one array (h, l_m, k) per mode, and names and
values of the modes. Out: an ``xarray.Dataset`` or a ``pandas.DataFrame``, packages that
are optional and imported where they are used, or tensorly's ``CPTensor``.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tensorcrp.base.state import OneState
from tensorcrp.solver.cp import cp_tensor

RESERVED = ("component", "column", "components", "objective", "n_iter", "converged")


class LabelledFactors(OneState):
    """Methods that return factors as objects of other packages."""

    def cp_tensor(self, component: int) -> Any:
        """One projection as a tensorly ``CPTensor``.

        Parameters
        ----------
        component : int
            Number p of the projection, from 0 on.

        Returns
        -------
        tensorly.cp_tensor.CPTensor
            Weights of one and a factor (l_m, k) per mode.
        """
        check_is_fitted(self)
        return cp_tensor([factor[component] for factor in self.factors_])

    def to_xarray(
        self,
        mode_names: Sequence[str] | None = None,
        mode_values: Sequence[ArrayLike | None] | None = None,
    ) -> Any:
        """Projections and factors as an ``xarray.Dataset``.

        Its variables are ``components`` (component, mode 0, mode 1, ...), a ``factor of
        NAME`` (component, NAME, column) for every mode, and ``objective``, ``n_iter``
        and ``converged`` (component).

        Parameters
        ----------
        mode_names : sequence of str, default=None
            Names of the modes; None for "mode 0", "mode 1", ...
        mode_values : sequence of array-like of shape (l_m,) or None, default=None
            What the entries of a mode mean: times, frequencies, names of channels.
            None, or None for a mode, numbers them from 0 on.

        Returns
        -------
        xarray.Dataset
            With copies of the arrays, and lambda as an attribute.
        """
        check_is_fitted(self)
        xarray = _package("xarray", "to_xarray")
        names, values = _distinct_labels(mode_names, mode_values, self.sample_shape_)
        h, _, rank = self.factors_[0].shape
        variables = {
            "components": (("component", *names), self.components_.copy()),
            "objective": ("component", np.array(self.objective_)),
            "n_iter": ("component", self.n_iters_),
        }
        if self.converged_ is not None:
            variables["converged"] = ("component", self.converged_.copy())
        for name, factor in zip(names, self.factors_, strict=True):
            axes = "component", name, "column"
            variables[f"factor of {name}"] = axes, factor.copy()
        coords = dict(zip(names, values, strict=True))
        coords |= {"component": np.arange(h), "column": np.arange(rank)}
        return xarray.Dataset(variables, coords, {"lambda": self.lambda_})

    def to_pandas(
        self,
        mode_names: Sequence[str] | None = None,
        mode_values: Sequence[ArrayLike | None] | None = None,
    ) -> Any:
        """Factors of all modes as one ``pandas.DataFrame``.

        Parameters
        ----------
        mode_names : sequence of str, default=None
            Names of the modes; None for "mode 0", "mode 1", ...
        mode_values : sequence of array-like of shape (l_m,) or None, default=None
            What the entries of a mode mean, as in `to_xarray`.

        Returns
        -------
        pandas.DataFrame
            A row for every entry of every mode, indexed by "mode" and "value"; a column
            for every column of every factor, by "component" and "column".
        """
        check_is_fitted(self)
        pandas = _package("pandas", "to_pandas")
        names, values = _distinct_labels(mode_names, mode_values, self.sample_shape_)
        h, _, rank = self.factors_[0].shape
        tables = [f.transpose(1, 0, 2).reshape(-1, h * rank) for f in self.factors_]
        pairs = zip(names, values, strict=True)
        rows = [(name, value) for name, each in pairs for value in each.tolist()]
        columns = [range(h), range(rank)]
        return pandas.DataFrame(
            np.concatenate(tables),
            pandas.MultiIndex.from_tuples(rows, names=["mode", "value"]),
            pandas.MultiIndex.from_product(columns, names=["component", "column"]),
        )


def _package(name, method):
    """An optional package, or an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{method} needs {name}: pip install {name}; the arrays are in factors_."
        ) from error


def mode_labels(names, values, shape):
    """Names and values (l_m,) of every mode of a shape, checked; numbers by default."""
    return _checked_names(names, shape), _checked_values(values, shape)


def _checked_names(names, shape):
    if names is None:
        return [f"mode {mode}" for mode in range(len(shape))]
    if isinstance(names, str) or len(names) != len(shape):
        raise ValueError(
            f"mode_names={names!r} must name the {len(shape)} modes of projections of "
            f"shape {shape}; give {len(shape)} names."
        )
    return [str(name) for name in names]


def _checked_values(values, shape):
    values = [None] * len(shape) if values is None else list(values)
    if len(values) != len(shape):
        raise ValueError(
            f"mode_values has {len(values)} entries for {len(shape)} modes; give one "
            "array, or None, per mode."
        )
    for mode, (given, size) in enumerate(zip(values, shape, strict=True)):
        if given is not None and np.shape(given) != (size,):
            raise ValueError(
                f"mode_values[{mode}] has shape {np.shape(given)}; mode {mode} has "
                f"{size} entries, give as many numbers."
            )
    return [
        np.arange(size) if given is None else np.asarray(given)
        for given, size in zip(values, shape, strict=True)
    ]


def _distinct_labels(names, values, shape):
    """`mode_labels`, or an error if names are equal, or those of other variables."""
    names, values = mode_labels(names, values, shape)
    if len(set(names)) < len(names) or set(names) & set(RESERVED):
        raise ValueError(
            f"mode_names must differ from each other and from {', '.join(RESERVED)}; "
            f"got {names}."
        )
    return names, values
