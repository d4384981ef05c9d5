"""Projections as images, film strips, colours, maps or curves, and their patterns.

In: projections ``W_p`` (``components_``) of shape (h, l_1, ..., l_N) and, for curves
per mode, their CP factors or patterns, one array (h, l_m, k) per mode. Out: panels,
one row or one cell per projection. Colours are centred at zero: negative weights are
dark and blue, positive ones light and yellow, and zero is gray.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tensorcrp.base.labelled import mode_labels
from tensorcrp.base.types import Array, Samples
from tensorcrp.patterns import Patterns, projecting_step
from tensorcrp.plotting._panels import DRAWINGS
from tensorcrp.plotting._patterns import PatternPanels, check_positions
from tensorcrp.plotting._picture import Picture, default_kind
from tensorcrp.plotting.axes import check_components, fitted_model, panels
from tensorcrp.scatter import ClassScatter

DRAWN_KINDS = {**DRAWINGS, "patterns": PatternPanels()}


class ProjectionDisplay:
    """Projections as pictures.

    Parameters
    ----------
    components : array-like of shape (h, l_1, ..., l_N)
        The projections.
    factors : sequence of array-like of shape (h, l_m, k), default=None
        Their CP factors, for ``kind="factors"``.
    labels : iterable of str, default=None
        Names of the projections; None for "W 1", "W 2", ...
    mode_names : sequence of str, default=None
        What the modes are, e.g. ``("channel", "time (s)")``.
    mode_values : sequence of array-like of shape (l_m,) or None, default=None
        Coordinates along the modes, e.g. times in seconds, or names, e.g. of channels;
        None for a mode means 0, 1, ...
    patterns : sequence of array-like of shape (h, l_m, k), default=None
        Their patterns, for ``kind="patterns"``: `tensorcrp.Patterns.factors`.
    positions : mne.Info or array-like of shape (l_1, 2), default=None
        Places of the entries of mode 0, such as channels: their patterns are drawn as
        head maps, which need the extra ``signals``.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of matplotlib Axes
        Of shape (rows, columns).
    artists_ : list
        Images or lines, panel by panel.
    kind_ : str
        What was drawn.

    See Also
    --------
    ConvergenceDisplay : How the projections were found.
    EmbeddingDisplay : Samples as their features.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_digits
    >>> from tensorcrp import TensorCRP
    >>> from tensorcrp.plotting import ProjectionDisplay
    >>> digits = load_digits()
    >>> crp = TensorCRP(4).fit(digits.images, digits.target)
    >>> display = ProjectionDisplay.from_estimator(crp, components=[0, 1, 2])
    >>> display.kind_, display.axes_.shape
    ('image', (1, 3))
    >>> plt.close(display.figure_)
    >>> display = ProjectionDisplay.from_estimator(
    ...     crp, kind="factors", mode_names=["row", "column"]
    ... )
    >>> [ax.get_xlabel() for ax in display.axes_.flat]
    ['row', 'column']
    >>> plt.close(display.figure_)
    """

    figure_: Any
    axes_: Array
    artists_: list[Any]
    kind_: str

    def __init__(
        self,
        components: ArrayLike,
        factors: Sequence[ArrayLike] | None = None,
        *,
        labels: Iterable[str] | None = None,
        mode_names: Sequence[str] | None = None,
        mode_values: Sequence[ArrayLike | None] | None = None,
        patterns: Sequence[ArrayLike] | None = None,
        positions: Any = None,
    ) -> None:
        self.components = np.asarray(components)
        self.factors = _arrays(factors)
        self.patterns = _arrays(patterns)
        if self.components.ndim < 2 or not self.components.size:
            raise ValueError(
                f"components has shape {self.components.shape}; pass projections of "
                "shape (h, l_1, ..., l_N), at least one."
            )
        if labels is None:
            labels = [f"W {p + 1}" for p in range(len(self.components))]
        self.labels = list(labels)
        if len(self.labels) != len(self.components):
            raise ValueError(
                f"labels names {len(self.labels)} projections, but there are "
                f"{len(self.components)}; give one name per projection."
            )
        shape = self.components.shape[1:]
        labels = mode_labels(mode_names, mode_values, shape)
        self.mode_names, self.mode_values = labels
        self.positions = check_positions(positions, shape[0])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        components: int | Sequence[int] | None = 0,
        kind: str = "auto",
        X: Samples | ClassScatter | None = None,
        mode_names: Sequence[str] | None = None,
        mode_values: Sequence[ArrayLike | None] | None = None,
        positions: Any = None,
        ax: Any = None,
        **how: Any,
    ) -> Self:
        """Draw projections of a fitted estimator.

        Parameters
        ----------
        estimator : TensorCRP, TensorCRPCV, or another one with `components_`
            Fitted; of a TensorCRPCV the refitted best. For ``kind="patterns"`` also a
            fitted pipeline, and X as it enters that.
        components : int, sequence of int or None, default=0
            Which projections, numbered from 0; None for all.
        kind : str, default="auto"
            As in `plot`.
        X : array-like of shape (n, l_1, ..., l_N) or ClassScatter, default=None
            Samples of the fit or their statistics, for ``kind="patterns"``: see
            `tensorcrp.Patterns`.
        mode_names : sequence of str, default=None
            What the modes are.
        mode_values : sequence of array-like of shape (l_m,) or None, default=None
            Coordinates along the modes, or names of their entries.
        positions : mne.Info or array-like of shape (l_1, 2), default=None
            Places of the entries of mode 0, for head maps of their patterns.
        ax : matplotlib Axes or array of them, default=None
            As in `plot`.
        **how
            Passed to `plot`.

        Returns
        -------
        ProjectionDisplay
        """
        owner = projecting_step(estimator)[1] if kind == "patterns" else estimator
        model = fitted_model(owner, "components_")
        numbers = check_components(components, len(model.components_))
        factors = getattr(model, "factors_", None)
        if factors is not None and any(np.ndim(factor) != 3 for factor in factors):
            factors = None  # of another kind, such as those of a Tucker form
        patterns = None
        if kind == "patterns" and X is not None:
            patterns = Patterns.from_estimator(estimator, X).factors
        display = cls(
            model.components_[numbers],
            _chosen(factors, numbers),
            labels=[f"W {p + 1}" for p in numbers],
            mode_names=mode_names,
            mode_values=mode_values,
            patterns=_chosen(patterns, numbers),
            positions=positions,
        )
        return display.plot(kind=kind, ax=ax, **how)

    def plot(
        self,
        *,
        kind: str = "auto",
        ax: Any = None,
        frame_mode: int | None = None,
        max_frames: int = 8,
        cmap: Any = None,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the projections.

        Parameters
        ----------
        kind : str, default="auto"
            "image" for order 2, square pixels; "rgb" for order 3 with a last mode of
            three colours, of which gray is zero; "film" for a strip of frames, each an
            image (order 3) or in colour (order 4, last mode of three); "map" for order
            2 with an axis per mode, such as channel x time; "curve" for order 1;
            "factors" for a panel per mode with a line per column of the CP factor;
            "patterns" for the same of the patterns, with a head map for each column of
            mode 0 if there are `positions`, one scale of colours per projection.
            "auto" is the first of "curve", "image", "rgb" and "film" that suits the
            order, else "factors".
        ax : matplotlib Axes or array of them, default=None
            One axes, divided if there are several panels, or as many as there are
            panels; None for a new figure.
        frame_mode : int, default=None
            The mode that runs from frame to frame in a film; None for the first.
        max_frames : int, default=8
            Longer films are shown by this many evenly spaced frames.
        cmap : str or Colormap, default=None
            Colour map instead of the default; it is centred at zero.
        line_kw : dict, default=None
            Passed to ``Axes.plot`` for curves.

        Returns
        -------
        ProjectionDisplay
            With `figure_`, `axes_`, `artists_` and `kind_`.
        """
        kind = default_kind(self.components.shape[1:]) if kind == "auto" else kind
        if kind not in DRAWN_KINDS:
            raise ValueError(f"kind must be one of 'auto', {_listed()}, got {kind!r}.")
        picture = Picture(self, frame_mode, max_frames, cmap, line_kw or {})
        drawing = DRAWN_KINDS[kind]
        rows, columns, size = drawing.layout(picture)
        with panels(ax, rows, columns, size) as (self.figure_, self.axes_):
            self.kind_, self.artists_ = kind, drawing.draw(picture, self.axes_)
        return self


def _arrays(values):
    return None if values is None else [np.asarray(each) for each in values]


def _chosen(values, numbers):
    """The given projections of arrays (h, l_m, k), if there are any."""
    return None if values is None else [each[numbers] for each in values]


def _listed():
    return ", ".join(map(repr, DRAWN_KINDS))
