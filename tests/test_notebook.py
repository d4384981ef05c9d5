"""Estimators in a notebook: scikit-learn's HTML, and a fit at a glance."""

import io
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr

from tensorcrp import TensorCRP, TensorCRPCV, baselines, persistence
from tensorcrp.base.pixels import png, strip
from tensorcrp.datasets import load_digits, make_moving_shapes, make_multichannel

ESTIMATORS = [
    TensorCRP(),
    TensorCRPCV(ranks=(1,), regs=(1.0,), cv=2),
    *(each.cls() for each in baselines.BASELINES),
]
every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)


def added(estimator):
    """What we add to scikit-learn's texts: lines of words, and a parsed table."""
    bundle = estimator._repr_mimebundle_()
    own = BaseEstimator._repr_mimebundle_(estimator)
    assert bundle.keys() == own.keys() == {"text/plain", "text/html"}
    assert bundle["text/plain"].startswith(own["text/plain"])
    lines = bundle["text/plain"].removeprefix(own["text/plain"]).split("\n")
    # scikit-learn numbers its diagrams, so two of them are never equal.
    table = bundle["text/html"][bundle["text/html"].index("<table class='tensorcrp") :]
    return lines[1:], ElementTree.fromstring(table)


@every
@pytest.mark.parametrize("fitted", [False, True])
def test_every_estimator_has_html(estimator, fitted, make_samples):
    X, y = make_samples((4, 3), n=40)
    if fitted:
        estimator = type(estimator)(**estimator.get_params(deep=False)).fit(X, y)
    name = type(estimator).__name__
    bundle = estimator._repr_mimebundle_(include=None, exclude=None)
    assert name in bundle["text/html"] and name in bundle["text/plain"]
    for html in (estimator._repr_html_(), estimator_html_repr(estimator)):
        assert name in html
    pipeline = make_pipeline(estimator)
    assert name in pipeline._repr_mimebundle_()["text/html"]


def test_unfitted_it_is_scikit_learns_own():
    bundle = TensorCRP(rank=3)._repr_mimebundle_()
    assert bundle["text/plain"] == "TensorCRP(rank=3)"
    assert "tensorcrp-fit" not in bundle["text/html"]


def test_a_fit_at_a_glance(make_samples):
    X, y = make_samples((5, 2, 4), n=50, n_classes=3)
    crp = TensorCRP(3, rank=2, max_iter=4, tol=0).fit(X, y)
    lines, table = added(crp)
    text = "\n".join(lines)
    assert "samples: 5 x 2 x 4 (order 3), 3 classes" in text
    assert f"projections: 3 of rank 2, lambda = {crp.lambda_:.3g}" in text
    first, last = crp.objective_[0], crp.objective_[2]
    assert f"objective J: {first:.3g} (first) to {last:.3g} (last)" in text
    gain = max(curve[-1] / curve[-4] - 1 for curve in crp.history_)
    assert "at most 4 of max_iter=4 sweeps" in text
    assert f"raised J by at most {100 * gain:.2g} %" in text
    cells = ["".join(cell.itertext()) for cell in table.iter("td")]
    for line, cell in zip(lines, cells, strict=False):
        assert line.endswith(cell)


def test_curves_are_the_objective(make_samples):
    X, y = make_samples((5, 4), n=50, n_classes=3)
    crp = TensorCRP(8, rank=1, max_iter=5, tol=0).fit(X, y)
    _, table = added(crp)
    drawn = [line.get("points") for line in table.iter("polyline")]
    assert len(drawn) == 6 and "and 2 more" in "".join(table.itertext())
    for points, curve in zip(drawn, crp.history_, strict=False):
        y = np.array([float(pair.split(",")[1]) for pair in points.split()])
        height = (y[0] - y) / np.ptp(y)  # of the page: larger is lower
        np.testing.assert_allclose(
            height, (curve - curve[0]) / np.ptp(curve), atol=0.011
        )


def test_one_update_and_loaded_models(make_samples, tmp_path):
    X, y = make_samples((5, 4), n=50)
    crp = TensorCRP(2, rank="full").fit(X, y)
    lines, table = added(crp)
    assert "projections: 2 of rank 4" in lines[1]
    assert all("nan" not in line.get("points") for line in table.iter("polyline"))
    persistence.save(crp, tmp_path / "model")
    assert added(persistence.load(tmp_path / "model"))[0] == lines


def test_words_of_the_user_are_escaped(make_samples):
    X, y = make_samples((5, 4), n=50)
    crp = TensorCRP(2).fit(X, np.array(["<b>", "<i>", "<script>x</script>"])[y])
    crp.set_params(max_iter="<script>alert(1)</script>")
    _, table = added(crp)
    assert not list(table.iter("script")) and not list(table.iter("b"))
    assert "<script>alert(1)</script>" in "".join(table.itertext())


def test_display_as_text_and_pipelines(make_samples):
    X, y = make_samples((5, 4), n=50)
    model = make_pipeline(TensorCRP(2), KNeighborsClassifier(1)).fit(X, y)
    with config_context(display="text"):
        bundle = model[0]._repr_mimebundle_()
        assert list(bundle) == ["text/plain"] and "projections: 2" in str(bundle)
    # In the diagram of a pipeline a step is as scikit-learn draws it.
    html = model._repr_mimebundle_()["text/html"]
    assert "TensorCRP" in html and "tensorcrp-fit" not in html
    assert repr(model[0]) == "TensorCRP(n_components=2)"


# --- samples ----------------------------------------------------------------------


def test_samples_are_a_few_lines_and_a_film_strip():
    for bunch in (make_moving_shapes(2, 2, frames=4, random_state=0), load_digits()):
        assert len(repr(bunch)) < 400 and len(repr(bunch).splitlines()) <= 5
        assert f"{len(bunch.data)} samples" in repr(bunch)
        assert bunch._repr_html_().count("data:image/png;base64,") == 3
    signals = make_multichannel(random_state=0)
    assert "<img" not in signals._repr_html_() and "channel" in repr(signals)


def test_film_strips_are_sound_pictures():
    image_module = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for shape in [(5, 8, 6), (8, 6), (5, 8, 6, 3), (8, 6, 3)]:
        pixels = strip(rng.random(shape), 4)
        with image_module.open(io.BytesIO(png(pixels))) as image:
            np.testing.assert_array_equal(np.asarray(image), pixels)
    signed = strip(np.array([[-1.0, 0.0, 0.5]]), signed=True)
    assert signed[0, 0, 0] == 0 and 127 <= signed[0, 64, 0] <= 128
    gaps = strip(np.ones((3, 64, 5)))[..., -1]  # of whatever colour the page has
    assert (gaps == [*[255] * 5, 0, *[255] * 5, 0, *[255] * 5]).all()


def test_a_search_shows_what_it_has_chosen():
    X, y = load_digits(return_X_y=True)
    search = TensorCRPCV(ranks=(1,), regs=(0.1, 1.0), smooth=(0.0,), cv=2)
    assert "average" not in search._repr_mimebundle_()["text/plain"]
    bundle = search.fit(X[:100], y[:100])._repr_mimebundle_()
    for text in (bundle["text/plain"], bundle["text/html"]):
        assert f"reg={search.best_params_['reg']}" in text
        assert f"{search.best_score_:.3f}" in text
        assert "8 points on 2 folds" in text and "both distance" in text
