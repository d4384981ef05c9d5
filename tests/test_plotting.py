"""Displays hold and draw what an independent computation gives, and leave no trace.

Every figure is drawn without a screen (Agg) and closed; the colours are checked as a
colour-blind reader and a gray printer would see them.
"""

import sys
from itertools import pairwise

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from tensorcrp import TensorCRP, TensorCRPCV
from tensorcrp.baselines import MPCA, RidgeLDA
from tensorcrp.plotting import (
    ConvergenceDisplay,
    EmbeddingDisplay,
    PathDisplay,
    ProjectionDisplay,
    style,
)

pytestmark = pytest.mark.usefixtures("no_trace")


@pytest.fixture
def fit(make_samples):
    """A fitted TensorCRP on samples of a shape, with the samples."""

    def make(shape=(5, 4), h=3, rank=2, **how):
        X, y = make_samples(shape, n=40)
        return TensorCRP(h, rank=rank, **how).fit(X, y), X, y

    return make


def gray(colour):
    """Luminance of a colour, 0 black to 1 white (ITU-R BT.709, after gamma)."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


# --- convergence ------------------------------------------------------------------


def test_curves_are_the_objective(fit):
    crp, _, _ = fit(max_iter=6, tol=0)
    display = ConvergenceDisplay.from_estimator(crp, components=[2, 0])
    assert [line.get_label() for line in display.lines_] == [
        "projection 3",
        "projection 1",
    ]
    for line, p in zip(display.lines_, [2, 0], strict=True):
        np.testing.assert_array_equal(line.get_ydata(), crp.history_[p])
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 13))


@pytest.mark.parametrize(("shape", "rank", "updates"), [
    ((6,), 1, 1), ((5, 4), 2, 2), ((3, 4, 3), 1, 3), ((5, 4), "full", 1),
])  # fmt: skip
def test_a_sweep_is_an_update_of_every_mode(fit, shape, rank, updates):
    crp, _, _ = fit(shape, rank=rank, max_iter=4, tol=0)
    display = ConvergenceDisplay.from_estimator(crp, unit="sweep", relative=True)
    for line, curve in zip(display.lines_, crp.history_, strict=True):
        assert display.order == updates
        assert line.get_xdata()[-1] == len(curve) / updates
        assert line.get_xdata()[-1] == int(line.get_xdata()[-1])
        np.testing.assert_allclose(line.get_ydata(), curve / curve[-1])


def test_a_fit_may_end_within_a_sweep(fit):
    """Sweeps are counted by modes, whatever the length of the histories."""
    for tol in (0.3, 0.1, 0.03, 0.01, 0.003):
        crp, _, _ = fit((5, 4, 6), h=6, tol=tol, max_iter=50)
        display = ConvergenceDisplay.from_estimator(crp, unit="sweep")
        assert display.order == 3
        ends = [line.get_xdata()[-1] for line in display.lines_]
        assert ends == [len(curve) / 3 for curve in crp.history_]
        if any(end != int(end) for end in ends):
            return
    raise AssertionError("every fit ended with a sweep: the test shows nothing")


def test_a_search_shows_its_best(make_samples):
    X, y = make_samples((4, 3), n=40)
    search = TensorCRPCV(ranks=(1,), regs=(0.1, 1.0), cv=2).fit(X, y)
    display = ConvergenceDisplay.from_estimator(search)
    best = search.best_estimator_
    assert len(display.objective) == len(best.history_)
    np.testing.assert_array_equal(display.objective[0], best.history_[0])
    drawn = ProjectionDisplay.from_estimator(search, components=1)
    np.testing.assert_array_equal(drawn.components[0], best.components_[1])


# --- projections ------------------------------------------------------------------


def test_images_are_components_on_one_scale_about_zero(fit):
    crp, _, _ = fit((5, 4), h=7)
    display = ProjectionDisplay.from_estimator(crp, components=[6, 0, 3, 1, 2, 5])
    assert display.kind_ == "image" and display.axes_.shape == (2, 5)
    largest = np.abs(crp.components_[[6, 0, 3, 1, 2, 5]]).max()
    for image, p in zip(display.artists_, [6, 0, 3, 1, 2, 5], strict=True):
        np.testing.assert_array_equal(image.get_array(), crp.components_[p])
        assert image.get_clim() == (-largest, largest)
        assert image.axes.get_title() == f"W {p + 1}"
    assert not any(ax.axison for ax in display.axes_.flat[6:])


@pytest.mark.parametrize("mode", [0, 2])
def test_frames_are_slices(fit, mode):
    crp, _, _ = fit((9, 4, 11), h=2)
    display = ProjectionDisplay.from_estimator(
        crp, components=[0, 1], frame_mode=mode, max_frames=5,
        mode_names=["time", "row", "hour"],
    )  # fmt: skip
    assert display.kind_ == "film" and display.axes_.shape == (2, 5)
    size = crp.components_.shape[mode + 1]
    for p in range(2):
        for j, image in enumerate(display.artists_[5 * p : 5 * p + 5]):
            t = round(j * (size - 1) / 4)
            frame = np.take(crp.components_[p], t, axis=mode)
            np.testing.assert_array_equal(image.get_array(), frame)
    word = "time" if mode == 0 else "hour"
    titles = [ax.get_title() for ax in display.axes_[0]]
    assert titles[0] == f"{word} = 0" and titles[-1] == str(size - 1)


def test_short_films_show_every_frame(fit):
    crp, _, _ = fit((3, 4, 4), h=1, rank=1)
    assert ProjectionDisplay.from_estimator(crp).axes_.shape == (1, 3)


@pytest.mark.parametrize("shape", [(4, 5, 3), (6, 4, 5, 3)])
def test_colours_are_weights_about_gray(fit, shape):
    crp, _, _ = fit(shape, h=2, rank=1)
    display = ProjectionDisplay.from_estimator(crp, components=1)
    assert display.kind_ == ("rgb" if len(shape) == 3 else "film")
    drawn = np.array([image.get_array() for image in display.artists_])
    weights = crp.components_[1].reshape(drawn.shape)
    np.testing.assert_allclose((drawn - 0.5) * 2 * np.abs(weights).max(), weights)


def test_a_map_has_an_axis_per_mode(fit):
    crp, _, _ = fit((4, 9), h=1)
    times = np.linspace(0, 2, 9)
    display = ProjectionDisplay.from_estimator(
        crp, kind="map", mode_names=["channel", "time (s)"], mode_values=[None, times]
    )
    (mesh,), ax = display.artists_, display.axes_[0, 0]
    np.testing.assert_array_equal(mesh.get_array().reshape(4, 9), crp.components_[0])
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("channel", "time (s)")
    low, high = ax.get_xlim()
    assert low < 0 and high > 2  # cells are centred at the times
    assert ax.yaxis_inverted()


def test_factor_curves_are_the_factors(fit):
    crp, _, _ = fit((4, 5, 6), h=3)
    display = ProjectionDisplay.from_estimator(
        crp, components=[2, 1], kind="factors", mode_names=["a", "b", "c"]
    )
    lines = iter(display.artists_)
    for p in (2, 1):
        for mode in range(3):
            for r in range(2):
                expected = crp.factors_[mode][p, :, r]
                np.testing.assert_array_equal(next(lines).get_ydata(), expected)
    assert [ax.get_xlabel() for ax in display.axes_[1]] == ["a", "b", "c"]


def test_vectors_are_curves(fit):
    crp, _, _ = fit((7,), h=2, rank=1)
    display = ProjectionDisplay.from_estimator(crp, components=[0, 1])
    assert display.kind_ == "curve"
    drawn = [line.get_ydata() for line in display.artists_]
    np.testing.assert_array_equal(drawn, crp.components_)


def test_projections_of_other_methods(make_samples):
    X, y = make_samples((4, 3), n=40)
    ridge = RidgeLDA().fit(X, y)
    display = ProjectionDisplay.from_estimator(ridge)
    np.testing.assert_array_equal(display.artists_[0].get_array(), ridge.components_[0])
    with pytest.raises(ValueError, match="kind='factors' needs the CP factors"):
        ProjectionDisplay.from_estimator(ridge, kind="factors")


# --- embedding --------------------------------------------------------------------


@pytest.mark.parametrize("components", [(2, 0), (1, 0, 2)])
def test_points_are_features_by_class(fit, components):
    crp, X, y = fit(h=3)
    names = np.array(["one", "two", "three"])
    display = EmbeddingDisplay.from_estimator(
        crp, X, names[y], components=components, class_names=["I", "III", "II"]
    )
    features = crp.transform(X)
    labels = ["one", "three", "two"]  # in the order of numpy.unique
    for cloud, label in zip(display.clouds_, labels, strict=True):
        expected = features[names[y] == label][:, components]
        drawn = np.stack(
            cloud._offsets3d if len(components) == 3 else [*cloud.get_offsets().T]
        )
        # In space matplotlib may draw far points first.
        np.testing.assert_allclose(np.sort(drawn, axis=1), np.sort(expected.T, axis=1))
    words = [cloud.get_label() for cloud in display.clouds_]
    assert words == ["I", "III", "II"]
    assert display.ax_.get_xlabel() == f"feature {components[0] + 1}"


def test_a_pipeline_of_transformers_is_embedded(make_samples):
    X, y = make_samples((4, 3), n=40)
    model = make_pipeline(TensorCRP(2), KNeighborsClassifier(1)).fit(X, y)
    display = EmbeddingDisplay.from_estimator(model[:-1], X, y)
    np.testing.assert_allclose(display.points, model[0].transform(X))
    with pytest.raises(ValueError, match=r"pipeline\[:-1\]"):
        EmbeddingDisplay.from_estimator(model, X, y)


# --- path -------------------------------------------------------------------------


@pytest.fixture
def search(make_samples):
    X, y = make_samples((4, 3), n=60, seed=1)
    grids = {"ranks": (1, 2, "full"), "regs": (0.1, 1.0), "n_components": (1, 2, 4)}
    return TensorCRPCV(**grids, cv=3, race=False).fit(X, y)


def mean_score(search, rank, reg, size):
    """The mean of one point of the grid, looked up by its parameters."""
    results = search.cv_results_
    point = {"smooth": search.best_params_["smooth"]}
    point |= {"rank": rank, "reg": reg, "n_components": size}
    return results["mean_test_score"][results["params"].index(point)]


def test_paths_are_the_results_of_the_search(search):
    display = PathDisplay.from_estimator(search)
    assert {"smooth": search.best_params_["smooth"], **display.best} == (
        search.best_params_
    )
    best = search.best_params_["n_components"]
    for line, rank in zip(display.lines_, search.ranks, strict=True):
        expected = [100 * mean_score(search, rank, reg, best) for reg in search.regs]
        np.testing.assert_allclose(line.lines[0].get_ydata(), expected)
        np.testing.assert_array_equal(line.lines[0].get_xdata(), search.regs)
        assert line.get_label() == f"rank k = {rank}"
    smooth = search.cv_results_["param_smooth"] == search.best_params_["smooth"]
    folds = [search.cv_results_[f"split{i}_test_score"][smooth] for i in range(3)]
    error = np.std(folds, axis=0, ddof=1) / np.sqrt(3)
    np.testing.assert_allclose(display.standard_error.ravel(), error)


def test_paths_of_a_race(make_samples):
    X, y = make_samples((4, 3), n=60, seed=1)
    regs = tuple(np.logspace(-3, 2, 12))
    search = TensorCRPCV(ranks=(1, 2), regs=regs, n_components=(2, 3), cv=4).fit(X, y)
    results = search.cv_results_
    assert set(results["n_splits"]) == {0, 2, 4}
    display = PathDisplay.from_estimator(search)
    assert display.best["reg"] == search.best_params_["reg"]
    best = results["param_smooth"] == search.best_params_["smooth"]
    expected = results["mean_test_score"][best].reshape(display.mean.shape)
    np.testing.assert_allclose(display.mean, expected)
    gaps = results["n_splits"][best].reshape(display.mean.shape) == 0
    np.testing.assert_array_equal(np.isnan(display.standard_error), gaps)


def test_points_that_a_race_never_scored_are_gaps():
    scores = np.array([[[[0.5, 0.9], [0.7, np.nan]]], [[[0.7, 0.8], [0.9, np.nan]]]])
    grids = {"ranks": [1], "regs": [0.1, 1.0], "n_components": [3, 9]}
    display = PathDisplay(scores, **grids).plot(x="reg", lines="n_components")
    assert display.best == {"rank": 1, "reg": 0.1, "n_components": 9}
    drawn = [line.lines[0].get_ydata() for line in display.lines_]
    np.testing.assert_allclose(drawn, [[60, 80], [85, np.nan]])
    display.plot(kind="map", x="reg", lines="n_components")
    texts = {text.get_position(): text.get_text() for text in display.ax_.texts}
    assert texts == {(0, 0): "60.0", (1, 0): "80.0", (0, 1): "85.0"}
    assert display.ax_.get_title() == "rank k = 1, mean of 2 splits"
    scores[1, 0, 1] = np.nan
    title = PathDisplay(scores, **grids).plot(lines="n_components").ax_.get_title()
    assert title == "rank k = 1, mean of 1 to 2 splits"


def test_paths_over_any_parameter(search):
    display = PathDisplay.from_estimator(search, x="n_components", lines="reg", at=2)
    for line, reg in zip(display.lines_, search.regs, strict=True):
        expected = [100 * mean_score(search, 2, reg, h) for h in (1, 2, 4)]
        np.testing.assert_allclose(line.lines[0].get_ydata(), expected)
    display.plot(x="rank", lines="n_components", at=1.0)
    ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert ticks == ["1", "2", "full"]
    expected = [100 * mean_score(search, k, 1.0, 4) for k in search.ranks]
    np.testing.assert_allclose(display.lines_[2].lines[0].get_ydata(), expected)


def test_a_map_of_the_path(search):
    display = PathDisplay.from_estimator(search, kind="map", at=4)
    expected = [
        [100 * mean_score(search, rank, reg, 4) for reg in search.regs]
        for rank in search.ranks
    ]
    np.testing.assert_allclose(display.image_.get_array(), expected)
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == [f"{value:.1f}" for value in np.ravel(expected)]


def test_a_path_with_one_fold_and_without_ridge():
    display = PathDisplay(
        [[[[0.5], [0.7]]]], ranks=[1], regs=[0.0, 1.0], n_components=[3]
    ).plot()
    assert not display.standard_error.any()
    assert display.ax_.get_xscale() == "linear"  # 0 has no logarithm
    assert display.best == {"rank": 1, "reg": 1.0, "n_components": 3}


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"x": "rank"}, "both 'rank'"),
        ({"x": "tol"}, "x must be one of"),
        ({"at": 3}, r"at=3 is no value of n_components; it was tried at \[1, 2, 4\]"),
        ({"kind": "surface"}, "'surface'"),
    ],
)
def test_bad_paths(search, how, words):
    with pytest.raises(ValueError, match=words):
        PathDisplay.from_estimator(search, **how)
    assert plt.get_fignums() == []


def test_a_path_needs_a_search(fit):
    with pytest.raises(ValueError, match="pass a fitted TensorCRPCV"):
        PathDisplay.from_estimator(fit()[0])
    with pytest.raises(ValueError, match=r"\(folds, 1, 2, 1\)"):
        PathDisplay(np.ones((2, 1, 1)), ranks=[1], regs=[1, 2], n_components=[3])
    with pytest.raises(ValueError, match="scores are all NaN"):
        unknown = np.full((2, 1, 2, 1), np.nan)
        PathDisplay(unknown, ranks=[1], regs=[1, 2], n_components=[3])
    assert plt.get_fignums() == []


# --- axes, colours, errors --------------------------------------------------------


def test_given_axes_are_used_and_divided(fit):
    crp, X, y = fit((6, 4, 5), h=3)
    figure, axes = plt.subplots(2, 2)
    line = ConvergenceDisplay.from_estimator(crp, ax=axes[0, 0])
    points = EmbeddingDisplay.from_estimator(crp, X, y, ax=axes[0, 1])
    assert (line.ax_, points.ax_) == (axes[0, 0], axes[0, 1])
    film = ProjectionDisplay.from_estimator(crp, max_frames=4, ax=axes[1, 0])
    assert film.figure_ is figure and film.axes_.shape == (1, 4)
    place = axes[1, 0].get_position()
    for ax in film.axes_.flat:
        assert place.x0 <= ax.get_position().x0 < place.x1
    given = plt.subplots(1, 3)[1]
    factors = ProjectionDisplay.from_estimator(crp, kind="factors", ax=given)
    assert factors.axes_.tolist() == [given.tolist()]
    assert len(plt.get_fignums()) == 2  # the two made here


def test_a_display_draws_again(fit):
    crp, _, _ = fit()
    display = ProjectionDisplay.from_estimator(crp)
    first = display.figure_
    assert display.plot(kind="factors").figure_ is not first
    assert len(plt.get_fignums()) == 2
    plt.close(first)
    plt.close(display.figure_)
    assert plt.get_fignums() == []


def test_given_colours_and_lines(fit):
    crp, X, y = fit()
    image = ProjectionDisplay.from_estimator(crp, cmap="RdBu_r").artists_[0]
    assert image.get_cmap().name == "RdBu_r"
    line = ConvergenceDisplay.from_estimator(crp, line_kw={"linewidth": 7}).lines_[0]
    assert line.get_linewidth() == 7
    points = EmbeddingDisplay.from_estimator(crp, X, y, scatter_kw={"s": 3})
    assert points.clouds_[0].get_sizes() == [3]


def test_series_differ_without_colour():
    """Neighbours of any ten lines, and any two of ten classes of points."""
    lines = [style.series(i) for i in range(56)]
    looks = {(s["color"], s["marker"], s["linestyle"]) for s in lines}
    assert len(looks) == 56
    gray_looks = {(s["marker"], s["linestyle"], gray(s["color"])) for s in lines[:10]}
    assert len(gray_looks) == 10
    for one, other in pairwise(lines):
        assert one["marker"] != other["marker"]
        assert one["linestyle"] != other["linestyle"]
    points = [style.cloud(i) for i in range(40)]
    assert len({(p["marker"], p["facecolors"]) for p in points}) == 40
    for i, one in enumerate(points[:10]):
        for other in points[:i]:
            lighter = abs(gray(one["facecolors"]) - gray(other["facecolors"]))
            assert one["marker"] != other["marker"] or lighter > 0.1


def test_weights_are_ordered_by_luminance_and_gray_at_zero():
    cmap = style.weight_colours()
    ramp = np.array([gray(colour) for colour in cmap(np.linspace(0, 1, 101))[:, :3]])
    assert (np.diff(ramp) > 0).all()  # the sign survives a gray printer
    middle = np.array(cmap(0.5)[:3])
    assert np.ptp(middle) < 0.02
    below, above = np.array(cmap(0.25)[:3]), np.array(cmap(0.75)[:3])
    # Blue against yellow: what red-green blindness leaves.
    assert below[2] > below[0] + 0.2 and above[0] > above[2] + 0.2


BAD_LINES = [
    ({"components": 3}, "from 0 to 2"),
    ({"components": [-1]}, "-1 is none of the 3"),
    ({"components": []}, "empty"),
    ({"unit": "day"}, "'day'"),
]
BAD_PICTURES = [
    ({"components": 7}, "components=7"),
    ({"components": [True]}, "True is none"),
    ({"mode_names": ["row"]}, "give 2 names"),
    ({"mode_names": "rc"}, "give 2 names"),
    ({"mode_values": [None]}, "1 entries for 2 modes"),
    ({"mode_values": [None, [1, 2]]}, "has 4 entries"),
    ({"kind": "movie"}, "'movie'"),
    *(({"kind": kind}, r"shape \(5, 4\)") for kind in ("film", "rgb", "curve")),
]
BAD_POINTS = [
    ({"components": (0, 3)}, "from 0 to 2"),
    ({"components": (0, 1, 2, 3)}, "two or three"),
    ({"components": 0}, "two or three"),
    ({"class_names": ["a", "b"]}, "2 names"),
]
BAD_CLIPS = [  # shape of a projection, keywords, words
    ((3, 4, 5), {"frame_mode": 3}, "frame_mode=3"),
    ((3, 4, 5), {"max_frames": 0}, "max_frames must be"),
    ((3, 4, 5), {"kind": "rgb"}, "last mode has size 5"),
    ((3, 4, 5), {"kind": "image"}, "kind='factors' suits every shape"),
    ((3, 4, 5), {"kind": "factors"}, "not there; pass factors"),
    ((3, 4, 5, 6), {"kind": "film"}, "three colours"),
]


@pytest.mark.parametrize(("how", "words"), BAD_LINES)
def test_bad_lines(fit, how, words):
    with pytest.raises(ValueError, match=words):
        ConvergenceDisplay.from_estimator(fit()[0], **how)
    assert plt.get_fignums() == []


@pytest.mark.parametrize(("how", "words"), BAD_PICTURES)
def test_bad_pictures(fit, how, words):
    with pytest.raises(ValueError, match=words):
        ProjectionDisplay.from_estimator(fit()[0], **how)
    assert plt.get_fignums() == []


@pytest.mark.parametrize(("shape", "how", "words"), BAD_CLIPS)
def test_bad_clips(shape, how, words):
    with pytest.raises(ValueError, match=words):
        ProjectionDisplay(np.ones((1, *shape))).plot(**how)
    assert plt.get_fignums() == []


@pytest.mark.parametrize(("how", "words"), BAD_POINTS)
def test_bad_points(fit, how, words):
    crp, X, y = fit()
    with pytest.raises(ValueError, match=words):
        EmbeddingDisplay.from_estimator(crp, X, y, **how)
    assert plt.get_fignums() == []


def test_bad_data(fit):
    crp, X, y = fit(h=2)
    features = crp.transform(X)
    for call, words in [
        (lambda: EmbeddingDisplay(features, y[1:]), "40 samples and 39 labels"),
        (lambda: EmbeddingDisplay(features[:0], y[:0]), "at least one sample"),
        (lambda: EmbeddingDisplay(X, y), r"shape \(n, h\)"),
        (
            lambda: EmbeddingDisplay(features, y, components=(0, 1, 2)),
            "n_components=3 or more",
        ),
        (lambda: ProjectionDisplay(np.ones((0, 3))), "at least one"),
        (lambda: ProjectionDisplay(np.ones((1, 3)), labels="ab"), "names 2 proj"),
        (
            lambda: ProjectionDisplay(np.ones((1, 3, 4)), [np.ones((1, 3, 2))]).plot(
                kind="factors"
            ),
            "one array",
        ),
        (lambda: ConvergenceDisplay([]).plot(), "no values"),
        (lambda: ConvergenceDisplay([[1.0]], labels="ab").plot(), "names 2 lines"),
        (lambda: ConvergenceDisplay.from_estimator(MPCA().fit(X, y)), "no history"),
        (
            lambda: ConvergenceDisplay.from_estimator(make_pipeline(crp).fit(X, y)),
            r"pipeline\[0\]",
        ),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
        assert plt.get_fignums() == []


def test_unfitted_estimators(make_samples):
    X, y = make_samples((4, 3))
    with pytest.raises(NotFittedError):
        ConvergenceDisplay.from_estimator(TensorCRP())
    with pytest.raises(NotFittedError):
        ProjectionDisplay.from_estimator(TensorCRPCV())
    with pytest.raises(NotFittedError):
        PathDisplay.from_estimator(TensorCRPCV())
    with pytest.raises(NotFittedError):
        EmbeddingDisplay.from_estimator(TensorCRP(), X, y)
    assert plt.get_fignums() == []


def test_bad_axes_are_named(fit):
    crp, X, y = fit((6, 4, 5))
    figure, axes = plt.subplots(1, 2)
    with pytest.raises(ValueError, match="2 axes, but 6 panels"):
        ProjectionDisplay.from_estimator(crp, ax=axes)
    free = figure.add_axes((0, 0, 0.1, 0.1))
    with pytest.raises(ValueError, match="not part of a grid"):
        ProjectionDisplay.from_estimator(crp, ax=free)
    with pytest.raises(ValueError, match='projection="3d"'):
        EmbeddingDisplay.from_estimator(crp, X, y, components=(0, 1, 2), ax=free)


def test_a_figure_is_closed_if_drawing_fails(fit):
    crp, _, _ = fit()
    with pytest.raises(AttributeError):
        ConvergenceDisplay.from_estimator(crp, line_kw={"no_such_property": 1})
    assert plt.get_fignums() == []


def test_missing_matplotlib_is_said(fit, monkeypatch):
    crp, _, _ = fit()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"tensorcrp\[plot\]"):
        ConvergenceDisplay.from_estimator(crp)
