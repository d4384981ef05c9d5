"""Samples as points: two or three of their features, by class.

In: features ``(n, h)`` and labels ``(n,)``. Out: a cloud of points per class, in
its own colour and marker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, column_or_1d

from tensorcrp.base.namespace import host
from tensorcrp.base.types import Samples
from tensorcrp.plotting.axes import check_components, legend_beside, panels
from tensorcrp.plotting.style import cloud


class EmbeddingDisplay:
    """Two or three features of samples, by class.

    Parameters
    ----------
    features : array-like of shape (n, h)
        As `transform` returns them.
    y : array-like of shape (n,)
        Labels.
    components : sequence of two or three int, default=(0, 1)
        Which features, numbered from 0.
    class_names : sequence of str, default=None
        Names of the classes in the order of ``numpy.unique(y)``; None for the
        labels themselves.

    Attributes
    ----------
    points : ndarray of shape (n, 2) or (n, 3)
        What is drawn.
    classes : ndarray of shape (c,)
        The labels that occur.
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes or Axes3D
    clouds_ : list of matplotlib PathCollection
        One per class.

    See Also
    --------
    ProjectionDisplay : The weights of the features.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import TensorCRP
    >>> from tensorcrp.plotting import EmbeddingDisplay
    >>> digits = load_digits()
    >>> X, y = digits.images, digits.target
    >>> crp = TensorCRP(3).fit(X[:500], y[:500])
    >>> display = EmbeddingDisplay.from_estimator(crp, X[500:800], y[500:800])
    >>> display.points.shape, len(display.clouds_)
    ((300, 2), 10)
    >>> plt.close(display.figure_)
    """

    figure_: Any
    ax_: Any
    clouds_: list[Any]

    def __init__(
        self,
        features: ArrayLike,
        y: ArrayLike,
        *,
        components: Sequence[int] = (0, 1),
        class_names: Sequence[str] | None = None,
    ) -> None:
        features = host(features)
        if features.ndim != 2:
            raise ValueError(
                f"features has shape {features.shape}; pass features of shape (n, h), "
                "as transform returns them."
            )
        self.components = _check_pick(components, features.shape[1])
        self.y = column_or_1d(host(y))
        if len(self.y) != len(features) or not len(features):
            raise ValueError(
                f"there are {len(features)} samples and {len(self.y)} labels; pass one "
                "label for every sample, and at least one sample."
            )
        self.points, self.classes = features[:, self.components], np.unique(self.y)
        names = self.classes if class_names is None else class_names
        self.class_names = [str(name) for name in names]
        if len(self.class_names) != len(self.classes):
            raise ValueError(
                f"class_names gives {len(self.class_names)} names, but y has "
                f"{len(self.classes)} classes; give one name per class."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Samples,
        y: ArrayLike,
        *,
        components: Sequence[int] = (0, 1),
        class_names: Sequence[str] | None = None,
        ax: Any = None,
        **how: Any,
    ) -> Self:
        """Draw features that a fitted estimator gives samples.

        Parameters
        ----------
        estimator : transformer
            Fitted; any that has `transform`, a pipeline too.
        X : array-like of shape (n, l_1, ..., l_N), or as in `fit`
            Samples to draw.
        y : array-like of shape (n,)
            Their labels.
        components : sequence of two or three int, default=(0, 1)
            Which features, numbered from 0.
        class_names : sequence of str, default=None
            Names of the classes in the order of ``numpy.unique(y)``.
        ax : matplotlib Axes, default=None
            For three features one with ``projection="3d"``; None for a new
            figure.
        **how
            Passed to `plot`.

        Returns
        -------
        EmbeddingDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "transform"):
            raise ValueError(
                f"{type(estimator).__name__} has no transform; pass a transformer, of "
                "a pipeline with a classifier the steps before it: pipeline[:-1]."
            )
        display = cls(
            estimator.transform(X),
            y,
            components=components,
            class_names=class_names,
        )
        return display.plot(ax=ax, **how)

    def plot(self, *, ax: Any = None, scatter_kw: dict[str, Any] | None = None) -> Self:
        """Draw the points.

        Colours and markers repeat after 40 classes, and beyond 28 there is no legend.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            For three features one with ``projection="3d"``; None for a new
            figure.
        scatter_kw : dict, default=None
            Passed to ``Axes.scatter``, for all classes.

        Returns
        -------
        EmbeddingDisplay
            With `figure_`, `ax_` and `clouds_`.
        """
        solid = len(self.components) == 3
        if ax is not None and solid != (getattr(ax, "name", "") == "3d"):
            raise ValueError(
                f"components={tuple(self.components)} needs "
                + ('axes made with projection="3d".' if solid else "plain axes.")
            )
        kind = {"projection": "3d"} if solid else {}
        with panels(ax, size=(6.4, 4.6), subplot_kw=kind) as (figure, axes):
            self.figure_, self.ax_, self.clouds_ = figure, axes[0, 0], []
            for i, (label, name) in enumerate(
                zip(self.classes, self.class_names, strict=True)
            ):
                style = {**cloud(i), "s": 26, "label": name} | (scatter_kw or {})
                mine = self.points[self.y == label].T
                self.clouds_.append(self.ax_.scatter(*mine, **style))
            self._name_axes(solid)
        return self

    def _name_axes(self, solid):
        words = [f"feature {p + 1}" for p in self.components]
        self.ax_.set(xlabel=words[0], ylabel=words[1])
        if solid:
            self.ax_.set_zlabel(words[2])
        # Room for the name of the third feature, which matplotlib leaves out of sight.
        place = {"bbox_to_anchor": (1.12, 1.0)} if solid else {}
        legend_beside(self.ax_, len(self.classes), **place)


def _check_pick(components, count):
    """Two or three numbers of features."""
    numbers = [components] if np.ndim(components) == 0 else list(components)
    if len(numbers) not in (2, 3):
        raise ValueError(
            f"components={components!r} picks {len(numbers)} features; pick two or "
            "three, e.g. (0, 1)."
        )
    if len(numbers) > count:
        raise ValueError(
            f"components={components!r} asks for {len(numbers)} features of "
            f"{count}; fit with n_components={len(numbers)} or more, or pick fewer."
        )
    return check_components(numbers, count)
