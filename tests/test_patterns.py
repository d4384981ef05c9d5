"""Patterns against planted signals and against covariances written out."""

import matplotlib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tensorcrp import ClassScatter, Patterns, TensorCRP, TensorCRPCV
from tensorcrp.baselines import MultilinearLDA, RidgeLDA
from tensorcrp.preprocessing import Motion
from tensorcrp.signals import ChannelImputer, ChannelScaler
from tensorcrp.solver import Rows

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def cosine(a, b):
    return abs(np.vdot(a, b)) / np.linalg.norm(a) / np.linalg.norm(b)


def planted(shape, snr_db, n=400, seed=0):
    """Two classes that differ by a product of one course per mode, in smooth noise.

    Neighbours in every mode share noise, so that a good filter is not its course.
    """
    rng = np.random.default_rng(seed)
    noise, signal, courses = rng.standard_normal((n, *shape)), np.ones(()), []
    for mode, size in enumerate(shape):
        place = np.linspace(0, 1, size)
        courses.append(np.exp(-((place - 0.35) ** 2) / 0.02) * np.cos(8 * place))
        signal = np.multiply.outer(signal, courses[-1])
        apart = np.abs(np.subtract.outer(place, place))
        root = np.linalg.cholesky(np.exp(-apart / 0.2) + 1e-3 * np.eye(size))
        noise = np.moveaxis(np.tensordot(root, noise, (1, mode + 1)), 0, mode + 1)
    y = np.arange(n) % 2
    X = (y - 0.5).reshape(-1, *[1] * len(shape)) * signal
    strength = np.sqrt(10 ** (snr_db / 10) * np.mean(noise**2) / np.mean(X**2))
    return strength * X + noise, y, courses


@pytest.mark.parametrize("shape", [(24, 40), (12, 8, 20)])
@pytest.mark.parametrize("snr_db", [0, -5, -10, -15])
@pytest.mark.parametrize("reg", [0.01, 0.3, 3.0])
def test_patterns_are_what_was_planted_and_filters_are_not(shape, snr_db, reg):
    X, y, courses = planted(shape, snr_db)
    crp = TensorCRP(1, rank=1, reg=reg).fit(X, y)
    found = Patterns.from_estimator(crp, X)
    for mode, course in enumerate(courses):
        assert cosine(found.factors[mode][0], course) > 0.98
        assert cosine(found.filters[mode][0], course) < 0.97
    dense = np.multiply.outer(courses[0], courses[1])
    if len(shape) == 2:  # contraction removes noise
        per_mode = min(cosine(found.factors[m][0], courses[m]) for m in (0, 1))
        assert per_mode > cosine(found.tensors[0], dense)


def written_out(crp, X):
    """Covariances of all entries with each feature, and contractions by loops."""
    shape, scores = X.shape[1:], crp.transform(X)
    tensors, modes = [], [[] for _ in shape]
    for p, s in enumerate(scores.T):
        both = np.cov(np.column_stack([X.reshape(len(X), -1), s]).T, bias=True)
        tensors.append((both[:-1, -1] / both[-1, -1]).reshape(shape))
        for mode, columns in enumerate(modes):
            contracted = np.zeros((len(X), shape[mode], crp.factors_[0].shape[2]))
            for index in np.ndindex(*shape):
                others = [m for m in range(len(shape)) if m != mode]
                weight = np.prod([crp.factors_[m][p, index[m]] for m in others], axis=0)
                entry = X[(slice(None), *index)]
                contracted[:, index[mode]] += entry[:, None] * weight
            centred = contracted - contracted.mean(axis=0)
            cov = np.einsum("nlk,n->lk", centred, s - s.mean()) / len(X)
            columns.append(cov / s.var())
    return np.array(tensors), [np.array(columns) for columns in modes]


@pytest.mark.parametrize("shape", [(6,), (5, 4), (3, 4, 2), (2, 3, 2, 2)])
@pytest.mark.parametrize("rank", [1, 2, "full"])
@pytest.mark.parametrize("smooth", [None, 0.7])
def test_patterns_are_covariances(shape, rank, smooth, make_samples):
    X, y = make_samples(shape, n=40)
    crp = TensorCRP(4, rank=rank, smooth=smooth).fit(X + 3.0, y)
    tensors, modes = written_out(crp, X + 3.0)
    scatter = ClassScatter.from_samples(X + 3.0, y)
    for given in (X + 3.0, scatter):
        found = Patterns.from_estimator(crp, given)
        np.testing.assert_allclose(found.tensors, tensors, atol=1e-10)
        for one, other in zip(found.factors, modes, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-10)
    assert found.filters[0] is crp.factors_[0]


def test_at_rank_one_it_is_the_covariance_times_the_filter(make_samples):
    """Haufe's formula for the samples contracted with the other mode's filter."""
    X, y = make_samples((5, 7), n=60)
    crp = TensorCRP(1, rank=1).fit(X, y)
    u, v = (factor[0, :, 0] for factor in crp.factors_)
    found = Patterns.from_estimator(crp, X)
    pattern = np.cov((X @ v).T, bias=True) @ u
    pattern /= (X @ v @ u).var()
    np.testing.assert_allclose(found.factors[0][0, :, 0], pattern, atol=1e-12)
    assert found.factors[0][0, :, 0] @ u == pytest.approx(1.0)


def test_order_one_is_the_pattern_of_a_linear_model(make_samples):
    X, y = make_samples((6,), n=80)
    found = Patterns.from_estimator(TensorCRP(2).fit(X, y), X)
    np.testing.assert_allclose(found.tensors, found.factors[0][:, :, 0])


def test_statistics_of_batches_and_other_layouts(make_samples):
    X, y = make_samples((4, 5), n=50)
    crp = TensorCRP(2).fit(X, y)
    found = Patterns.from_estimator(crp, X)
    halves = [ClassScatter.from_samples(X[i::2], y[i::2]) for i in (0, 1)]
    flat = TensorCRP(2, sample_shape=(4, 5)).fit(X.reshape(50, -1), y)
    vectors = ClassScatter.from_samples(X.reshape(50, -1), y)
    for model, given in [
        (crp, halves[0].merge(halves[1])),
        (flat, X.reshape(50, -1)),
        (crp, vectors),
    ]:
        other = Patterns.from_estimator(model, given)
        np.testing.assert_allclose(other.tensors, found.tensors, atol=1e-10)
        np.testing.assert_allclose(other.patterns_, found.patterns_, atol=1e-10)


@pytest.mark.parametrize("kind", ["memmap", "zarr", "dask"])
def test_patterns_beyond_memory(kind, make_samples, tmp_path, monkeypatch):
    X, y = make_samples((6, 5), n=90)
    crp = TensorCRP(2).fit(X, y)
    found = Patterns.from_estimator(crp, X)
    np.save(tmp_path / "X.npy", X)
    stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        stored = zarr.create_array(tmp_path / "X.zarr", data=X, chunks=(20, 6, 5))
    if kind == "dask":
        array = pytest.importorskip("dask.array")
        stored = array.from_array(X, chunks=(20, 6, 5))
    whole = Rows.__array__

    def load(rows, *args, **kwargs):
        assert len(rows) <= 20, "more than a chunk was loaded at once"
        return whole(rows, *args, **kwargs)

    monkeypatch.setattr(Rows, "__array__", load)
    other = Patterns.from_estimator(crp, stored)
    np.testing.assert_allclose(other.tensors, found.tensors, atol=1e-10)


def test_searches_and_methods_without_factors(make_samples):
    X, y = make_samples((4, 5), n=60)
    search = TensorCRPCV(ranks=(1,), regs=(0.1, 1.0), cv=2).fit(X, y)
    found = Patterns.from_estimator(search, X)
    assert found.tensors.shape == search.components_.shape
    ridge = Patterns.from_estimator(RidgeLDA().fit(X, y), X)
    assert ridge.tensors.shape == (2, 4, 5) and ridge.factors is None
    with pytest.raises(AttributeError, match="no CP factors"):
        _ = ridge.patterns_
    for wrong in (
        make_pipeline(MultilinearLDA(), LogisticRegression()).fit(X, y),
        MultilinearLDA().fit(X, y),
    ):
        with pytest.raises(TypeError, match="has no projections_; pass a fitted"):
            Patterns.from_estimator(wrong, X)


def test_the_class_difference_is_the_pattern_without_noise():
    X, y, courses = planted((9, 7), snr_db=200.0, n=20)
    crp = TensorCRP(1, rank=1, reg=1e-3).fit(X, y)
    found = Patterns.from_estimator(crp, X)
    assert cosine(found.tensors[0], np.multiply.outer(*courses)) > 1 - 1e-12


def test_the_form_is_that_of_mne(make_samples):
    import mne

    X, y = make_samples((6, 20), n=60)
    crp = TensorCRP(3, rank=2).fit(X, y)
    found = Patterns.from_estimator(crp, X)
    assert found.patterns_.shape == found.filters_.shape == (6, 6)
    np.testing.assert_array_equal(found.patterns_[3], found.factors[0][1, :, 1])
    np.testing.assert_array_equal(found.filters_[3], crp.factors_[0][1, :, 1])
    for name in ("patterns_", "filters_"):
        coef = mne.decoding.get_coef(found, name)
        np.testing.assert_array_equal(coef, getattr(found, name))
    if hasattr(mne.decoding, "SpatialFilter"):  # since MNE 1.11
        info = mne.create_info(["Fz", "Cz", "Pz", "C3", "C4", "Oz"], 100.0, "eeg")
        info.set_montage("biosemi64")
        how = {"patterns": found.patterns_, "patterns_method": "haufe"}
        display = mne.decoding.SpatialFilter(info, found.filters_, **how)
        figure = display.plot_patterns(components=[0, 3], show=False)
        assert sum(len(ax.images) for ax in figure.axes) >= 2
        plt.close("all")


UNITS = np.geomspace(1e-2, 1e2, 12)[[5, 0, 9, 2, 11, 7, 1, 10, 4, 8, 3, 6]]


@pytest.mark.parametrize("centre", ["channel", "sample", "none"])
def test_patterns_of_a_pipeline_have_the_units_of_its_samples(centre):
    X, y, courses = planted((12, 20), snr_db=-5)
    pipeline = make_pipeline(
        ChannelScaler(centre=centre),
        TensorCRP(1, rank=1, reg=0.3),
        LogisticRegression(),
    ).fit(X * UNITS[:, None], y)
    found = Patterns.from_estimator(pipeline, X * UNITS[:, None])
    assert cosine(found.factors[0][0], UNITS * courses[0]) > 0.98
    assert cosine(found.factors[1][0], courses[1]) > 0.98
    step = pipeline[1]
    blind = Patterns.from_estimator(step, pipeline[0].transform(X * UNITS[:, None]))
    assert cosine(blind.factors[0][0], UNITS * courses[0]) < 0.9


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("rank", [1, 2])
def test_a_pipeline_and_scaling_by_hand_agree(mode, rank, make_samples):
    """Patterns are those of scaled samples times the scale, filters divided by it."""
    X, y = make_samples((3, 4, 5), n=300)
    others = tuple(m for m in range(3) if m != mode)
    units = np.expand_dims(np.geomspace(1e-2, 1e2, X.shape[mode + 1]), others)
    raw = units * X + 7.0
    pipeline = make_pipeline(ChannelScaler(mode), TensorCRP(2, rank=rank)).fit(raw, y)
    found = Patterns.from_estimator(pipeline, raw)
    scaled = Patterns.from_estimator(pipeline[1], pipeline[0].transform(raw))
    along = np.expand_dims(pipeline[0].scale_, others)
    np.testing.assert_allclose(found.tensors, scaled.tensors * along, rtol=1e-8)
    centred = raw - raw.mean(axis=0)
    for p, s in enumerate(pipeline.transform(raw).T):  # the factors are filters of raw
        weights = np.einsum("ar,br,cr->abc", *(each[p] for each in found.filters))
        if p == 0:  # later projections are deflated
            s_found = np.tensordot(centred, weights, 3)
            np.testing.assert_allclose(s_found, s - s.mean(), atol=1e-8)
        for m in range(3):
            expected = scaled.factors[m][p] * (along.reshape(-1, 1) if m == mode else 1)
            for one, other in zip(found.factors[m][p].T, expected.T, strict=True):
                assert cosine(one, other) == pytest.approx(1.0, abs=1e-10)


def test_steps_that_change_nothing_leave_the_patterns_alone(make_samples, tmp_path):
    X, y = make_samples((4, 5), n=300)
    crp = TensorCRP(2, rank=2).fit(X, y)
    found = Patterns.from_estimator(crp, X)
    pipeline = make_pipeline("passthrough", Motion("none"), crp, LogisticRegression())
    pipeline.fit(X, y)
    np.save(tmp_path / "X.npy", X)
    for given in (X, X.tolist(), np.load(tmp_path / "X.npy", mmap_mode="r")):
        other = Patterns.from_estimator(pipeline, given)
        np.testing.assert_allclose(other.tensors, found.tensors, atol=1e-10)
        np.testing.assert_allclose(other.patterns_, found.patterns_, atol=1e-10)
        np.testing.assert_allclose(other.filters_, found.filters_, atol=1e-12)


def test_missing_channels_are_taken_as_the_first_step_fills_them(make_samples):
    X, y = make_samples((4, 5), n=60)
    X[7, 2] = np.nan
    pipeline = make_pipeline(ChannelImputer(), ChannelScaler(), TensorCRP(1, rank=1))
    pipeline.fit(X, y)
    found = Patterns.from_estimator(pipeline, X)
    filled = Patterns.from_estimator(pipeline[1:], pipeline[0].transform(X))
    np.testing.assert_allclose(found.tensors, filled.tensors, atol=1e-10)
    np.testing.assert_allclose(found.patterns_, filled.patterns_, atol=1e-10)


def test_pipelines_without_a_way_back(make_samples):
    X, y = make_samples((4, 5), n=40)
    shorter = make_pipeline(Motion("difference", mode=1), TensorCRP(1)).fit(X, y)
    with pytest.raises(ValueError, match=r"Motion makes samples of shape \(4, 4\)"):
        Patterns.from_estimator(shorter, X)
    flat = FunctionTransformer(lambda X: X.reshape(len(X), -1))
    vectors = make_pipeline(flat, TensorCRP(1)).fit(X, y)
    with pytest.raises(ValueError, match=r"pipeline\[1:\], and X as they get it"):
        Patterns.from_estimator(vectors, X)
    scaled = make_pipeline(ChannelScaler(), TensorCRP(1)).fit(X, y)
    with pytest.raises(TypeError, match="patterns of a pipeline need samples"):
        Patterns.from_estimator(scaled, ClassScatter.from_samples(X, y))
    alone = make_pipeline(TensorCRP(1)).fit(X, y)
    by_statistics = Patterns.from_estimator(alone, ClassScatter.from_samples(X, y))
    assert by_statistics.tensors.shape == (1, 4, 5)


def test_a_representation_is_one_line(make_samples):
    X, y = make_samples((4, 3), n=20)
    crp = TensorCRP(2, rank=2).fit(X, y)
    shown = repr(Patterns.from_estimator(crp, X))
    assert shown == "Patterns(features=2, sample_shape=(4, 3), rank=2)"
    assert repr(Patterns(np.ones((1, 5)))) == "Patterns(features=1, sample_shape=(5,))"
