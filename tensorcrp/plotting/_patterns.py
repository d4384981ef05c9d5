"""Patterns of the modes: curves, and head maps of channels whose places are known.

In: patterns (h, l_m, k), one array per mode, and places of the entries of mode 0, an
``mne.Info`` or an array (l_1, 2). Out: a row of panels per projection. MNE draws the
maps, and is imported when there is one to draw.
"""

import numpy as np
from scipy.spatial import QhullError

from tensorcrp.plotting._panels import Factors


class PatternPanels(Factors):
    """A row per projection: a map per column of mode 0, a panel per other mode."""

    name = "patterns"

    def values(self, picture):
        patterns = picture.display.patterns
        if patterns is None:
            raise ValueError(
                "kind='patterns' needs the patterns of the modes, which are not there: "
                "pass X, the samples of the fit, to from_estimator, and an estimator "
                "with CP factors, such as TensorCRP."
            )
        return patterns

    def layout(self, picture):
        rows, columns, size = super().layout(picture)
        if picture.display.positions is None:
            return rows, columns, size
        rank = self.values(picture)[0].shape[2]
        width = 1.9 * rank + 2.9 * (columns - 1) + 0.6
        return rows, rank + columns - 1, (width, 2.0 * rows + 0.5)

    def draw(self, picture, axes):
        if picture.display.positions is None:
            return super().draw(picture, axes)
        values = self.values(picture)
        rank = values[0].shape[2]
        others = range(1, len(values))
        artists = self._maps(picture, axes[:, :rank], values[0])
        if others:
            artists += self.curves(picture, axes[:, rank:], others)
        return artists

    def _maps(self, picture, axes, values):
        artists, display = [], picture.display
        cmap = picture.colours()["cmap"]
        for p, title in enumerate(display.labels):
            limit = float(np.abs(values[p]).max()) or 1.0  # a weak column looks weak
            how = {"cmap": cmap, "vlim": (-limit, limit)}
            for r, ax in enumerate(axes[p]):
                column = f", column {r + 1}" if axes.shape[1] > 1 else ""
                image = head_map(values[p, :, r], display.positions, ax, **how)
                ax.set_title(title + column, fontsize="medium")
                artists.append(image)
        return artists


def head_map(values, positions, ax, **how):
    """Values (channels,) as a map of the head: the image."""
    mne = _mne()
    if isinstance(positions, np.ndarray):
        radius = 1.05 * np.linalg.norm(positions, axis=1).max()
        how["sphere"] = (0.0, 0.0, 0.0, radius)
    try:
        image, _ = mne.viz.plot_topomap(
            values, positions, axes=ax, show=False, contours=0, **how
        )
    except QhullError as error:
        raise ValueError(
            f"a head map cannot be drawn from {len(values)} places that are few or lie "
            "on one line; leave positions out for a curve over the channels."
        ) from error
    return image


def check_positions(positions, size):
    """Places of the entries of mode 0: None, MNE's information, or (l_1, 2)."""
    if positions is None:
        return None
    if hasattr(positions, "ch_names"):
        if len(positions.ch_names) != size or positions.get_montage() is None:
            raise ValueError(
                f"positions is an Info of {len(positions.ch_names)} channels; it must "
                f"have the {size} channels of mode 0 and their places: "
                "info.set_montage('biosemi64'), or another one."
            )
        return positions
    places = np.asarray(positions, float)
    if places.shape != (size, 2):
        raise ValueError(
            f"positions has shape {places.shape}; give the places of the {size} "
            f"entries of mode 0, ({size}, 2), or an mne.Info."
        )
    return places


def _mne():
    try:
        import mne
    except ImportError as error:
        raise ImportError(
            'head maps need MNE: pip install "tensorcrp[signals]", or leave positions '
            "out"
        ) from error
    return mne
