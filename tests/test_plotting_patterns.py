"""Patterns as curves and head maps, and names of channels that can be read."""

import sys
from itertools import pairwise, product

import matplotlib
import mne
import numpy as np
import pytest
from scipy.spatial import QhullError
from sklearn.pipeline import make_pipeline

from tensorcrp import ClassScatter, Patterns, TensorCRP, TensorCRPCV
from tensorcrp.baselines import RidgeLDA
from tensorcrp.datasets import make_multichannel
from tensorcrp.plotting import ProjectionDisplay
from tensorcrp.signals import ChannelScaler

matplotlib.use("Agg")
import matplotlib.pyplot as plt

pytestmark = pytest.mark.usefixtures("no_trace")


@pytest.fixture(scope="module")
def bursts():
    return make_multichannel(60, n_channels=20, n_times=32, random_state=0)


@pytest.fixture(scope="module")
def crp(bursts):
    return TensorCRP(3, rank=2).fit(bursts.data, bursts.target)


def names(count):
    return [f"EEG {i:03d}" for i in range(count)]


def test_curves_are_the_patterns(crp, bursts):
    found = Patterns.from_estimator(crp, bursts.data)
    for X in (bursts.data, ClassScatter.from_samples(bursts.data, bursts.target)):
        display = ProjectionDisplay.from_estimator(
            crp, components=[2, 0], kind="patterns", X=X
        )
        assert display.kind_ == "patterns" and display.axes_.shape == (2, 2)
        for row, p in zip(display.axes_, (2, 0), strict=True):
            for ax, factor in zip(row, found.factors, strict=True):
                for line, column in zip(ax.lines[1:], factor[p].T, strict=True):
                    np.testing.assert_allclose(line.get_ydata(), column, atol=1e-9)
    assert display.axes_[0, 0].get_ylabel() == "patterns of W 3"
    by_hand = ProjectionDisplay(crp.components_, patterns=found.factors)
    assert by_hand.plot(kind="patterns").axes_.shape == (3, 2)


def test_a_pipeline_is_drawn_in_the_units_of_its_samples(bursts):
    units = np.geomspace(1e-2, 1e2, 20)[:, None]
    pipeline = make_pipeline(ChannelScaler(), TensorCRP(2, rank=1))
    pipeline.fit(units * bursts.data, bursts.target)
    how = {"kind": "patterns", "X": units * bursts.data}
    display = ProjectionDisplay.from_estimator(pipeline, **how)
    found = Patterns.from_estimator(pipeline, units * bursts.data)
    drawn = display.axes_[0, 0].lines[1].get_ydata()
    np.testing.assert_allclose(drawn, found.factors[0][0, :, 0])
    with pytest.raises(ValueError, match="Pipeline has no components_"):
        ProjectionDisplay.from_estimator(pipeline)


def test_channels_with_places_are_head_maps(crp, bursts):
    display = ProjectionDisplay.from_estimator(
        crp,
        components=[0, 1],
        kind="patterns",
        X=bursts.data,
        positions=bursts.positions,
    )
    assert display.axes_.shape == (2, 3)  # two columns of channels, one mode of time
    found = Patterns.from_estimator(crp, bursts.data).factors[0]
    for p in (0, 1):
        images = [ax.images[0] for ax in display.axes_[p, :2]]
        limits = {image.get_clim() for image in images}
        largest = np.abs(found[p]).max()
        np.testing.assert_allclose(list(limits), [(-largest, largest)])
        for image, column in zip(images, found[p].T, strict=True):
            drawn = np.ma.filled(image.get_array(), 0.0)
            assert np.sign(drawn.flat[np.abs(drawn).argmax()]) == np.sign(
                column[np.abs(column).argmax()]
            )


def test_positions_are_those_of_mne():
    channels = ["Fz", "Cz", "Pz", "C3", "C4", "Oz"]
    info = mne.create_info(channels, 100.0, "eeg")
    X = np.random.default_rng(0).standard_normal((30, 6, 8))
    crp = TensorCRP(1, rank=1).fit(X, np.arange(30) % 2)
    how = {"kind": "patterns", "X": X}
    with pytest.raises(ValueError, match=r"6 channels of mode 0 .*set_montage"):
        ProjectionDisplay.from_estimator(crp, positions=info, **how)
    info.set_montage("biosemi64")
    display = ProjectionDisplay.from_estimator(crp, positions=info, **how)
    assert len(display.axes_[0, 0].images) == 1 and display.axes_.shape == (1, 2)


def test_places_that_are_no_map(crp, bursts, monkeypatch):
    """MNE triangulates places; some, e.g. on one line, cannot be."""

    def failing(*args, **kwargs):
        raise QhullError("QH6239 Qhull precision error")

    monkeypatch.setattr(mne.viz, "plot_topomap", failing)
    how = {"kind": "patterns", "X": bursts.data, "positions": bursts.positions}
    with pytest.raises(ValueError, match=r"from 20 places .* one line; leave"):
        ProjectionDisplay.from_estimator(crp, **how)
    assert plt.get_fignums() == []


def test_errors_say_what_is_missing(crp, bursts, monkeypatch):
    draw = ProjectionDisplay.from_estimator
    with pytest.raises(ValueError, match=r"kind='patterns' needs .* pass X"):
        draw(crp, kind="patterns")
    ridge = RidgeLDA().fit(bursts.data, bursts.target)
    with pytest.raises(ValueError, match="an estimator with CP factors"):
        draw(ridge, kind="patterns", X=bursts.data)
    with pytest.raises(ValueError, match=r"positions has shape \(3, 2\).*20 entries"):
        draw(crp, positions=bursts.positions[:3])
    with pytest.raises(ValueError, match="patterns have shapes"):
        ProjectionDisplay(crp.components_, patterns=crp.factors_[:1]).plot(
            kind="patterns"
        )
    monkeypatch.setitem(sys.modules, "mne", None)
    with pytest.raises(ImportError, match=r"tensorcrp\[signals\]"):
        draw(crp, kind="patterns", X=bursts.data, positions=bursts.positions)
    assert plt.get_fignums() == []


def test_a_search_hands_its_best_on(bursts):
    search = TensorCRPCV(ranks=(1,), regs=(0.1,), cv=2).fit(bursts.data, bursts.target)
    display = ProjectionDisplay.from_estimator(search, kind="patterns", X=bursts.data)
    assert display.axes_.shape == (1, 2)


def overlapping(axis):
    """Pairs of successive labels that are printed over each other."""
    axis.axes.figure.canvas.draw()
    boxes = [t.get_window_extent() for t in axis.get_ticklabels() if t.get_text()]
    assert len(boxes) > 4
    return [a for a, b in pairwise(boxes) if a.overlaps(b)]


# All names fit, or few of them; in between for one axis of each direction.
@pytest.mark.parametrize(
    ("kind", "count"),
    [
        *product(["map", "factors", "patterns", "curve"], [6, 204]),
        *product(["map", "factors"], [20, 64]),
    ],
)
def test_names_of_channels_do_not_overprint(kind, count):
    X = np.random.default_rng(0).standard_normal((20, count, 5))
    X = X[:, :, 0] if kind == "curve" else X
    values = [names(count), None][: X.ndim - 1]
    crp = TensorCRP(2, rank=1).fit(X, np.arange(20) % 2)
    display = ProjectionDisplay.from_estimator(
        crp, components=[0, 1], kind=kind, X=X, mode_values=values
    )
    for ax in display.axes_[:, 0]:
        axis = ax.yaxis if kind == "map" else ax.xaxis
        texts = [t.get_text() for t in axis.get_ticklabels()]
        assert set(texts) <= set(names(count)) and texts[0] == "EEG 000"
        where = [round(float(t)) for t in axis.get_ticklocs()]
        assert texts == [names(count)[i] for i in where]
        assert not overlapping(axis)


def test_frames_of_a_film_have_names():
    films = np.random.default_rng(0).standard_normal((1, 3, 4, 5))
    display = ProjectionDisplay(films, mode_values=[["a", "b", "c"], None, None])
    titles = [ax.get_title() for ax in display.plot(kind="film").axes_.flat]
    assert titles == ["mode 0 = a", "b", "c"]
