"""The drawings of `ProjectionDisplay`, one per kind: a layout and a way to draw.

In: a `Picture`, what the Display holds and how it is to look. Out: ``layout``, rows and
columns of panels and the size of a figure for them, or an error if the projections do
not suit; ``draw``, the artists in the order of the panels.
"""

import numpy as np

from tensorcrp.base.parameters import check_integer
from tensorcrp.plotting._picture import (
    check_order,
    coordinates,
    in_words,
    name_ticks,
)
from tensorcrp.plotting.style import series

GRID_COLUMNS = 5  # of a grid of images


class Images:
    """Order 2: a grid of images."""

    def layout(self, picture):
        check_order(picture, "image", "matrices", 2)
        return self._grid(picture)

    def _grid(self, picture):
        count = len(picture.weights)
        rows = -(-count // GRID_COLUMNS)
        columns = min(count, GRID_COLUMNS)
        tall = np.clip(picture.shape[0] / picture.shape[1], 0.4, 2.5)
        return rows, columns, (1.7 * columns + 1.1, rows * (1.45 * tall + 0.35) + 0.2)

    def draw(self, picture, axes):
        artists = []
        for ax, weights, title in _cells(picture, axes):
            artists.append(ax.imshow(weights, **picture.colours()))
            ax.set(xticks=[], yticks=[])
            ax.set_title(title, fontsize="medium")
        _colour_bar(artists[-1], axes)
        return artists


class ColourImages(Images):
    """Order 3 with three colours last: a grid of images in colour."""

    def layout(self, picture):
        what = "images with a last mode of three colours"
        check_order(picture, "rgb", what, 3)
        if picture.shape[-1] != 3:
            raise ValueError(
                f"kind='rgb' is for {what}, but the last mode has size "
                f"{picture.shape[-1]}; use kind='film' or 'factors'."
            )
        return self._grid(picture)

    def draw(self, picture, axes):
        artists = []
        for ax, weights, title in _cells(picture, axes):
            artists.append(ax.imshow(picture.in_colour(weights)))
            ax.set(xticks=[], yticks=[])
            ax.set_title(title, fontsize="medium")
        return artists


class Films:
    """Order 3, or 4 with three colours last: a strip of frames per projection."""

    def layout(self, picture):
        check_order(picture, "film", "clips", 3, 4)
        check_integer("max_frames", picture.max_frames)
        mode, order = picture.frame_mode, len(picture.shape)
        if order == 4 and (picture.shape[-1] != 3 or mode == 3):
            raise ValueError(
                "kind='film' at order 4 is for clips with a last mode of three "
                f"colours, but the projections have shape {picture.shape} and "
                f"frame_mode={mode}; use kind='factors'."
            )
        if mode is not None and mode not in range(order):
            raise ValueError(
                f"frame_mode={mode!r} is none of the {order} modes; they are numbered "
                f"from 0 to {order - 1}."
            )
        films, shown = picture.frames()
        tall = np.clip(films.shape[2] / films.shape[3], 0.4, 2.5)
        size = (1.05 * len(shown) + 1.2, len(films) * (0.92 * tall + 0.1) + 0.35)
        return len(films), len(shown), size

    def draw(self, picture, axes):
        films, shown = picture.frames()
        mode = picture.frame_mode or 0
        name = picture.display.mode_names[mode]
        values = picture.display.mode_values[mode]
        artists = []
        for p, (row, title) in enumerate(
            zip(axes, picture.display.labels, strict=True)
        ):
            for ax, t in zip(row, shown, strict=True):
                artists.append(self._frame(picture, ax, films[p, t]))
                ax.set(xticks=[], yticks=[])
                if p == 0:
                    ax.set_title(in_words(values[t]), fontsize="small")
            row[0].set_ylabel(title)
        axes[0, 0].set_title(f"{name} = {in_words(values[0])}", fontsize="small")
        if films.ndim == 4:
            _colour_bar(artists[-1], axes)
        return artists

    def _frame(self, picture, ax, weights):
        if weights.ndim == 3:
            return ax.imshow(picture.in_colour(weights))
        return ax.imshow(weights, **picture.colours())


class Maps:
    """Order 2 with an axis per mode, such as channel x time."""

    def layout(self, picture):
        check_order(picture, "map", "matrices", 2)
        return len(picture.weights), 1, (6.4, 2.4 * len(picture.weights) + 0.4)

    def draw(self, picture, axes):
        display, artists = picture.display, []
        down, across = display.mode_values
        for ax, weights, title in _cells(picture, axes):
            x, y = coordinates(across), coordinates(down)
            artists.append(
                ax.pcolormesh(x, y, weights, shading="nearest", **picture.colours())
            )
            ax.invert_yaxis()  # the first channel on top, as in the matrix
            name_ticks(ax.xaxis, across)
            name_ticks(ax.yaxis, down)
            ax.set(ylabel=display.mode_names[0])
            ax.set_title(title, fontsize="medium")
        axes[-1, 0].set(xlabel=display.mode_names[1])
        _colour_bar(artists[-1], axes)
        return artists


class Curves:
    """Order 1: a line per projection, in one panel."""

    def layout(self, picture):
        check_order(picture, "curve", "vectors", 1)
        return 1, 1, (6.4, 3.4)

    def draw(self, picture, axes):
        ax, display = axes[0, 0], picture.display
        ax.axhline(0, color="gray", linewidth=0.8)
        x, columns = display.mode_values[0], picture.weights.T
        lines = _lines(picture, ax, x, columns, display.labels)
        ax.set(xlabel=display.mode_names[0], ylabel="weight")
        if len(lines) > 1:
            ax.legend(fontsize="small")
        return lines


class Factors:
    """Any order: a row per projection, a panel per mode, a line per column."""

    name = "factors"

    def values(self, picture):
        """What is drawn, (h, l_m, k) per mode, or an error."""
        factors = picture.display.factors
        if factors is None:
            raise ValueError(
                "kind='factors' needs the CP factors of the projections, which are not "
                "there; pass factors, or an estimator that has them, such as TensorCRP."
            )
        return factors

    def layout(self, picture):
        values, shape = self.values(picture), picture.shape
        count = len(picture.weights)
        wanted = [(count, size) for size in shape]
        if [each.shape[:2] for each in values] != wanted:
            raise ValueError(
                f"{self.name} have shapes {[f.shape for f in values]}; give one array "
                f"(h, l_m, k) per mode, the first two sizes being {wanted}."
            )
        return count, len(shape), (min(2.9 * len(shape) + 0.6, 8.4), 2.5 * count + 0.4)

    def draw(self, picture, axes):
        return self.curves(picture, axes, range(len(picture.shape)))

    def curves(self, picture, axes, modes):
        """Lines of some modes, in axes (h, modes)."""
        display, values, artists = picture.display, self.values(picture), []
        rank = values[0].shape[2]
        columns = [f"column {r + 1}" for r in range(rank)]
        for p, title in enumerate(display.labels):
            for ax, mode in zip(axes[p], modes, strict=True):
                ax.axhline(0, color="gray", linewidth=0.8)
                x = display.mode_values[mode]
                artists += _lines(picture, ax, x, values[mode][p], columns)
                if p == len(display.components) - 1:
                    ax.set_xlabel(display.mode_names[mode])
            axes[p, 0].set_ylabel(f"{self.name} of {title}")
        if 1 < rank <= 8:
            axes[0, -1].legend(fontsize="small")
        return artists


DRAWINGS = {
    "image": Images(),
    "rgb": ColourImages(),
    "film": Films(),
    "map": Maps(),
    "curve": Curves(),
    "factors": Factors(),
}


def _cells(picture, axes):
    """Axes, weights and title of every projection; what is left over stays empty."""
    for ax in axes.flat[len(picture.weights) :]:
        ax.set_axis_off()
    cells = axes.flat[: len(picture.weights)]
    return zip(cells, picture.weights, picture.display.labels, strict=True)


def _lines(picture, ax, values, columns, labels):
    """Lines over a mode (l_m,), one per column of (l_m, k)."""
    x, lines = coordinates(values), []
    for i, (column, label) in enumerate(zip(columns.T, labels, strict=True)):
        style = {**series(i), "markersize": 3.5, "label": label}
        style["markevery"] = max(1, len(x) // 12)
        lines += ax.plot(x, column, **style | picture.line_kw)
    name_ticks(ax.xaxis, values)
    return lines


def _colour_bar(image, axes):
    figure = axes.flat[0].figure
    figure.colorbar(image, ax=axes, label="weight")
