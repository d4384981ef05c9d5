"""Epochs, windows and spectrograms against direct computations."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import skops.io
from pairs import together
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from tensorcrp import TensorCRP, TensorCRPCV
from tensorcrp.base.one_by_one import scoring_each
from tensorcrp.baselines import BASELINES
from tensorcrp.datasets import make_multichannel
from tensorcrp.persistence import SKOPS_TYPES, ModelFormatError, load, save
from tensorcrp.preprocessing import Motion
from tensorcrp.signals import (
    ChannelImputer,
    ChannelScaler,
    epochs_to_tensor,
    spectrogram_tensor,
    window,
)


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((8, 3, 120))


@pytest.mark.parametrize("form", [np.asarray, list, np.ndarray.tolist])
def test_arrays_and_lists(form, X):
    y = ["a", "b"] * 4
    tensor = epochs_to_tensor(form(X), y)
    np.testing.assert_array_equal(tensor.data, X)
    assert tensor.target_names == ["a", "b"] and len(tensor.channel_names) == 3
    assert epochs_to_tensor(X).target is None


@pytest.mark.parametrize("length, step", [(10, None), (10, 3), (120, 1), (7, 20)])
def test_windows_are_slices(X, length, step):
    cut = window(X[0], length, step)
    starts = range(0, 120 - length + 1, step or length)
    direct = np.stack([X[0][:, s : s + length] for s in starts])
    np.testing.assert_array_equal(cut.data, direct)
    assert cut.starts.tolist() == list(starts) and cut.target is None
    assert np.shares_memory(cut.data, X)


def test_windows_over_a_change_of_label_are_dropped(X):
    labels = np.repeat(["rest", "move", "rest"], [50, 33, 37])
    cut = window(X[0], 10, 5, labels=labels)
    starts = [s for s in range(0, 111, 5) if len(set(labels[s : s + 10].tolist())) == 1]
    np.testing.assert_array_equal(cut.data, [X[0][:, s : s + 10] for s in starts])
    assert cut.starts.tolist() == starts
    assert cut.target.tolist() == [labels[s] for s in starts]


@pytest.mark.parametrize("length, step", [(10, 3), (10, 10), (7, 20), (12, 1)])
@pytest.mark.parametrize("block", [None, 30, 37])
@pytest.mark.parametrize("labelled", [False, True])
def test_windows_of_two_groups_share_no_time(X, length, step, block, labelled):
    labels = np.repeat([0, 1, 0], [50, 33, 37]) if labelled else None
    cut = window(X[0], length, step, labels=labels, block=block)
    times = {
        g: {t for s in cut.starts[cut.groups == g] for t in range(s, s + length)}
        for g in np.unique(cut.groups)
    }
    assert len(cut.data) == len(cut.groups) and list(times) == list(range(len(times)))
    for g, h in combinations(times, 2):
        assert not times[g] & times[h]
    if block:
        assert all(len({t // block for t in each}) == 1 for each in times.values())
    elif step < length and not labelled:
        assert len(times) == 1  # every window overlaps the next one


def test_spectrogram_is_the_power_of_windows(X):
    """One window computed by hand: Tukey taper, mean taken off, one-sided density."""
    from scipy.signal.windows import tukey

    spectra = spectrogram_tensor(X, 50.0, window_length=40, overlap=0.5, log=False)
    assert spectra.data.shape == (8, 3, 21, 5)
    part = X[2, 1, 20:60]
    taper = tukey(40, 0.25, sym=False)
    power = np.abs(np.fft.rfft((part - part.mean()) * taper)) ** 2
    power /= 50.0 * (taper**2).sum()
    power[1:-1] *= 2
    np.testing.assert_allclose(spectra.data[2, 1, :, 1], power, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(spectra.frequencies, np.fft.rfftfreq(40, 1 / 50.0))
    np.testing.assert_allclose(spectra.times[1], 40 / 50.0)
    band = spectrogram_tensor(X, 50.0, window_length=40, fmin=5, fmax=10)
    inside = (spectra.frequencies >= 5) & (spectra.frequencies <= 10)
    wanted = 10 * np.log10(spectra.data[:, :, inside])
    np.testing.assert_allclose(band.data, wanted)
    assert band.mode_names == ("channel", "frequency", "time")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("level", [0.0, 0.1, 1e6])
def test_silence_has_no_decibels_but_for_a_floor(level, dtype, X):
    silent = X.astype(dtype)
    silent[3] = level
    words = r"samples \[3\] are silent or constant.*pass floor=.*e.g. floor=\d+e-\d+"
    with pytest.raises(ValueError, match=words):
        spectrogram_tensor(silent, 50.0)
    with pytest.raises(
        ValueError, match=r"pass floor=, the least power that counts\.$"
    ):
        spectrogram_tensor(silent[3:4], 50.0)
    assert spectrogram_tensor(silent, 50.0, log=False).data[3].max() < 1e-5
    spectra = spectrogram_tensor(silent, 50.0, floor=1e-5).data
    np.testing.assert_allclose(spectra[3], -50.0)
    assert spectra.min() >= -50.001


def test_decibels_of_a_sample_do_not_depend_on_others(X):
    X[3, 1] = 0.0  # one silent channel is 120 dB below the others
    spectra = spectrogram_tensor(1e-6 * X, 50.0).data
    np.testing.assert_allclose(spectra[3, 1], spectra[3].max() - 120)
    for sample in (slice(0, 1), slice(3, 4)):
        alone = spectrogram_tensor(1e-6 * X[sample], 50.0).data
        np.testing.assert_array_equal(alone, spectra[sample])


def test_spectra_of_what_is_missing_are_an_error(X):
    X[2, 1, 7] = np.nan
    with pytest.raises(ValueError, match=r"NaN, first in sample 2 at entry \(1, 7\)"):
        spectrogram_tensor(X, 50.0)
    with pytest.raises(TypeError, match=r"window_length=8.0 must be an integer.*round"):
        spectrogram_tensor(X[:1], 50.0, window_length=8.0)


MARKS = [None, np.nan, pd.NA, pd.NaT]


@pytest.mark.parametrize("mark", MARKS, ids=str)
@pytest.mark.parametrize("kind", [int, str, float])
def test_windows_without_a_label_are_dropped(kind, mark, X):
    plain = np.repeat([0, 1, 2], [50, 30, 40]).astype(kind).astype(object)
    labels, alone = plain.copy(), [mark] * 120
    labels[50:80] = labels[90] = mark
    expected = window(X[0], 10, 5, labels=plain.tolist())
    gaps = (expected.starts > 80) & (expected.starts <= 90)
    kept = ~gaps & (expected.target != expected.target[9])
    cut = window(X[0], 10, 5, labels=labels)
    assert cut.starts.tolist() == expected.starts[kept].tolist()
    np.testing.assert_array_equal(cut.target, expected.target[kept])
    assert cut.target.dtype.kind == expected.target.dtype.kind
    assert len(window(X[0], 10, 5, labels=alone).data) == 0


def test_order_three_sees_what_order_two_cannot():
    """Bursts of random phase have no class mean, but their power has."""
    made = make_multichannel(150, phase="random", snr_db=-5.0, random_state=0)
    spectra = spectrogram_tensor(made.data, made.fs, window_length=32, fmax=30.0)
    model = make_pipeline(TensorCRP(rank=2), KNeighborsClassifier(1))
    flat = cross_val_score(model, made.data, made.target, cv=3).mean()
    deep = cross_val_score(model, spectra.data, made.target, cv=3).mean()
    assert flat < 0.5 and deep > 0.8


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda X: epochs_to_tensor(X[0]), r"\(3, 120\).*signals.window"),
        (lambda X: epochs_to_tensor([X[0], X[1][:, :9]]), "different shapes"),
        (lambda X: epochs_to_tensor(X, [1, 2]), r"y has shape \(2,\) for 8 epochs"),
        (lambda X: epochs_to_tensor(X, tmin=500), "times run from 0 to 119"),
        (lambda X: epochs_to_tensor(X, picks=[0]), r"picks=\[0\] is for MNE's objects"),
        (lambda X: epochs_to_tensor(X.astype(str)), "must be numbers"),
        (lambda X: window(X, 5), r"shape \(8, 3, 120\); pass \(channels, times\)"),
        (lambda X: window(X[0], 121), "length=121 must be 1 to 120"),
        (lambda X: window(X[0], 5, 0), "step=0 at least 1"),
        (lambda X: window(X[0], 5, block=4), "block=4 is shorter .* longer blocks"),
        (lambda X: window(X[0], 5, labels=[1]), r"labels have shape \(1,\)"),
        (lambda X: spectrogram_tensor(X, 50, window_length=500), "2 to 120"),
        (lambda X: spectrogram_tensor(X, 50, overlap=1), "overlap=1 .* less than 1"),
        (lambda X: spectrogram_tensor(X, 0), "fs=0 must be a finite number above 0"),
        (
            lambda X: spectrogram_tensor(X, 50, floor=-1.0),
            "floor=-1.0 must be",
        ),
        (lambda X: spectrogram_tensor(X, 50, fmin=40), "from 0 to 25 in steps"),
    ],
)
def test_errors_name_the_value(call, words, X):
    with pytest.raises(ValueError, match=words):
        call(X)


@pytest.mark.parametrize("name", ["length", "step", "block"])
def test_seconds_are_no_numbers_of_samples(name, X):
    whole = {"length": 10, "step": 5, "block": 60}
    assert len(window(X[0], **{key: np.int64(n) for key, n in whole.items()}).data)
    with pytest.raises(TypeError, match=rf"{name}=10.0 must be an integer.*round"):
        window(X[0], **whole | {name: 10.0})


def test_missing_values_are_named_by_channel_and_epoch(X):
    X[3, 1], X[6, 1, 5], X[6, 2] = np.nan, np.inf, np.nan
    words = r"\['channel 1', 'channel 2'\] of epochs \[3, 6\].*interpolate"
    with pytest.raises(ValueError, match=words):
        epochs_to_tensor(X)
    X = np.where(np.isfinite(X), X, np.nan)
    words = (
        r"NaN, first in sample 3 at entry \(1, 0\), all of them at index 1 of mode 0"
    )
    with pytest.raises(ValueError, match=words + ".*fill missing channels by "):
        TensorCRP().fit(X, [0, 1] * 4)
    filled = ChannelImputer().fit_transform(X)  # what the message says
    assert np.isfinite(TensorCRP().fit(filled, [0, 1] * 4).transform(filled)).all()


def test_a_removed_option_names_its_successor(X):
    with pytest.raises(TypeError, match=r"'channel' was removed.*ChannelScaler"):
        epochs_to_tensor(X, scale="channel")


SINGLE = {
    "TensorCRP": TensorCRP(2),
    "TensorCRPCV": TensorCRPCV(ranks=(1,), regs=(1.0,), cv=2),
    "ChannelScaler": ChannelScaler(),
    "ChannelImputer": ChannelImputer(),
    "Motion": Motion(),
    **{each.name: each.cls() for each in BASELINES},
}


@together("name", SINGLE)
def test_a_single_sample_gets_an_axis_of_samples(name):
    """Of every estimator and every method that takes samples."""
    y = np.arange(24) % 2
    X = np.random.default_rng(0).standard_normal((24, 4, 5)) + y[:, None, None]
    model = clone(SINGLE[name]).fit(X, y)
    calls = ("transform", "predict", "predict_proba", "decision_function")
    calls = [call for call in calls if hasattr(model, call)]
    assert calls
    for call in calls:
        with pytest.raises(ValueError, match=r"\(4, 5\), that of a single.*X\[None"):
            getattr(model, call)(X[0])
        assert len(getattr(model, call)(X[0][None])) == 1
    if hasattr(model, "score"):
        with pytest.raises(ValueError, match=r"that of a single sample.*X\[None"):
            model.score(X[0], y[:4])


# --- ChannelScaler ----------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 120), (4, 3, 30), (3, 5, 4, 6)])
@pytest.mark.parametrize("centre", ["channel", "sample", "none"])
def test_scaled_channels_count_alike(shape, centre):
    X = np.random.default_rng(1).standard_normal((9, *shape)) + 5.0
    for mode, size in enumerate(shape):
        units = np.logspace(-6, 3, size).reshape(-1, *[1] * (len(shape) - 1 - mode))
        raw = X * units
        before = raw.copy()
        scaler = ChannelScaler(mode, centre=centre).fit(raw)
        np.testing.assert_array_equal(raw, before)
        rows = np.moveaxis(raw, mode + 1, 1).reshape(9, size, -1)
        if centre == "channel":
            rows = rows - rows.mean(axis=(0, 2), keepdims=True)
        elif centre == "sample":
            rows = rows - rows.mean(axis=2, keepdims=True)
        rows = rows / np.sqrt((rows**2).mean(axis=(0, 2), keepdims=True))
        scaled = scaler.transform(raw)
        got = np.moveaxis(scaled, mode + 1, 1).reshape(9, size, -1)
        np.testing.assert_allclose(got, rows, atol=1e-9)
        if centre != "sample":
            np.testing.assert_allclose(scaler.inverse_transform(scaled), raw)


def test_at_order_one_the_scaler_is_scikit_learns():
    X = np.random.default_rng(0).standard_normal((40, 5)) * [1, 2, 3, 4, 0] + 1.0
    expected = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(ChannelScaler().fit_transform(X), expected, atol=1e-12)


@pytest.mark.parametrize("centre", ["channel", "none"])
def test_scikit_learn_contract(centre, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check_estimator(ChannelScaler(centre=centre))


@pytest.mark.parametrize("centre", ["channel", "sample", "none"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_window_alone_is_scaled_as_in_a_batch(centre, dtype):
    """Bitwise, for a view of a recording as for an array, in any layout."""
    recording = np.random.default_rng(0).standard_normal((4, 300)).astype(dtype)
    views = window(recording, 50, 3).data
    scaler = ChannelScaler(centre=centre).fit(views[:40])
    together = scaler.transform(views)
    for layout in (np.ascontiguousarray, np.asfortranarray):
        np.testing.assert_array_equal(scaler.transform(layout(views)), together)
    for i in range(len(views)):
        np.testing.assert_array_equal(scaler.transform(views[i][None])[0], together[i])


GRID = {"ranks": (1,), "regs": (1.0,), "smooth": (0.0,), "n_components": 3, "cv": 2}
CLASSIFIERS = {
    "LDA": LinearDiscriminantAnalysis(),
    "logistic": LogisticRegression(),
    "linear SVM": LinearSVC(),
    "scaled LDA": make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()),
    "neighbours": KNeighborsClassifier(3),
    "RBF SVM": SVC(C=10.0),
}
ENDS = {
    **SINGLE,
    "TensorCRP": TensorCRP(3, rank=2),
    "balanced": TensorCRPCV(**GRID, class_weight="balanced"),
    **{name: TensorCRPCV(each, **GRID) for name, each in CLASSIFIERS.items()},
}
ANSWERS = ("transform", "predict", "predict_proba", "decision_function")


SHORT = ("TensorCRP", "STDA", "CPLogistic", "LDA")  # in float32 as well
CASES = [(name, "f8") for name in ENDS] + [(name, "f4") for name in SHORT]


@together("name, dtype", CASES)
def test_a_saved_pipeline_gives_one_window_the_answer_of_a_batch(name, dtype, tmp_path):
    """To the last bit, through every step and every method of ours."""
    made = make_multichannel(60, n_channels=5, n_times=33, random_state=0)
    X = (made.data * np.logspace(-3, 0, 5)[:, None]).astype(dtype)
    X[7, 2] = X[45, 1] = np.nan
    first = ChannelImputer(), ChannelScaler(), Motion("none", mode=1)
    model = make_pipeline(*first, clone(ENDS[name])).fit(X[:40], made.target[:40])
    save(model, tmp_path / "model.crp")
    online = load(tmp_path / "model.crp")
    for call in (each for each in ANSWERS if hasattr(online, each)):
        answers = getattr(online, call)(X)
        np.testing.assert_array_equal(answers, getattr(model, call)(X))
        parts = [*([i] for i in range(38, 54)), slice(3, 10), slice(1, 60, 7)]
        for part in parts:
            alone = getattr(online, call)(X[part])
            np.testing.assert_array_equal(alone, answers[part], err_msg=call)


@together("name", ["LDA", "logistic", "linear SVM"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_each_are_scikit_learns(name, n_classes):
    X, y = make_samples_of_classes(n_classes)
    classifier = clone(CLASSIFIERS[name]).fit(X, y)
    alone = scoring_each(classifier)
    for call in (each for each in ANSWERS[1:] if hasattr(classifier, each)):
        expected = getattr(classifier, call)(X)
        np.testing.assert_allclose(getattr(alone, call)(X), expected, rtol=1e-12)
    assert type(classifier) is type(CLASSIFIERS[name])  # unchanged


def make_samples_of_classes(n_classes):
    y = np.arange(60) % n_classes
    return np.random.default_rng(0).standard_normal((60, 7)) + y[:, None], y


@pytest.mark.parametrize("centre", ["channel", "sample"])
def test_a_classifier_of_scikit_learn_may_be_the_last_step(centre, tmp_path):
    """Features are the same to the last bit, probabilities up to its own rounding."""
    made = make_multichannel(90, n_channels=8, n_times=64, random_state=0)
    X, y = made.data * np.logspace(-6, 0, 8)[:, None], made.target
    model = make_pipeline(
        ChannelScaler(centre=centre), TensorCRP(rank=2), LinearDiscriminantAnalysis()
    ).fit(X[:60], y[:60])
    other = skops.io.loads(skops.io.dumps(model), trusted=list(SKOPS_TYPES))
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    save(model, tmp_path / "model.crp")
    online = load(tmp_path / "model.crp")
    features, labels = online[:-1].transform(X), online.predict(X)
    for x, own, label in zip(X, features, labels, strict=True):
        np.testing.assert_array_equal(online[:-1].transform(x[None])[0], own)
        assert online.predict(x[None])[0] == label


# --- ChannelImputer ---------------------------------------------------------------


def filled_slowly(X, new, mode, reg):
    """Place by place, through the inverse of the whole covariance."""
    X, new = np.moveaxis(X, mode + 1, 1), np.moveaxis(new, mode + 1, 1)
    shape, size = new.shape, X.shape[1]
    X, new = X.reshape(len(X), size, -1), new.reshape(len(new), size, -1).copy()
    rows = []
    for i, t in np.ndindex(len(X), X.shape[2]):
        if np.isfinite(X[i, :, t]).all():
            rows.append(X[i, :, t] - np.nanmean(X[:, :, t], axis=0))
    S = np.mean([np.outer(row, row) for row in rows], axis=0)
    K = np.linalg.inv(S + reg * np.trace(S) / size * np.eye(size))
    for x, t in ((x, t) for x in new for t in range(new.shape[2])):
        gap, mean = np.isnan(x[:, t]), np.nanmean(X[:, :, t], axis=0)
        step = np.linalg.solve(
            K[np.ix_(gap, gap)], K[np.ix_(gap, ~gap)] @ (x[:, t] - mean)[~gap]
        )
        x[gap, t] = mean[gap] - step
    return np.moveaxis(new.reshape(shape), 1, mode + 1)


def with_gaps(mode=0, order=2, seed=0):
    """Samples of few sources, with single gaps, lost channels and a lost place."""
    rng, y = np.random.default_rng(seed), np.arange(40) % 2
    shape = [6, 5, 3][:order]
    shape[0], shape[mode] = shape[mode], 5
    mix = rng.standard_normal((5, 2))
    others = [n for m, n in enumerate(shape) if m != mode]
    sources = rng.standard_normal((40, 2, *others))
    X = np.einsum("cs,ns...->nc...", mix, sources) + y.reshape(-1, *[1] * order)
    X = np.moveaxis(X + 0.05 * rng.standard_normal(X.shape), 1, mode + 1)
    broken = X.copy()
    lines = np.moveaxis(broken, mode + 1, 1)
    lines[3, 2] = lines[8, 4] = lines[9, :2] = np.nan
    lines[5, :, 1] = np.nan  # all channels
    lines[11, 1, 0] = lines[11, 3, 2] = np.nan
    return X, broken, y


@pytest.mark.parametrize("mode, order", [(0, 2), (1, 2), (1, 3)])
def test_missing_channels_are_conditional_means(mode, order):
    _, broken, _ = with_gaps(mode, order)
    imputer = ChannelImputer(mode, reg=0.1).fit(broken[:30])
    expected = filled_slowly(broken[:30], broken, mode, 0.1)
    found = imputer.transform(broken)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    there = ~np.isnan(broken)
    np.testing.assert_array_equal(found[there], broken[there])
    for i in (3, 5, 9, 11):  # to the last bit, alone as among others
        np.testing.assert_array_equal(imputer.transform(broken[i][None])[0], found[i])


def test_other_channels_say_more_than_the_mean():
    X, broken, y = with_gaps()
    filled = ChannelImputer().fit(broken, y).transform(broken)
    gaps = np.isnan(broken) & ~np.isnan(broken).all(axis=1, keepdims=True)
    plain = np.broadcast_to(np.nanmean(broken, axis=0), X.shape)
    errors = [np.abs(each - X)[gaps].mean() for each in (filled, plain)]
    assert errors[0] < 0.3 * errors[1]


def test_a_pipeline_that_fills_gaps(tmp_path):
    _, broken, y = with_gaps()
    steps = ChannelImputer(), ChannelScaler(), TensorCRP(2)
    model = make_pipeline(*steps, LinearDiscriminantAnalysis()).fit(broken, y)
    save(model, tmp_path / "model.crp")
    again = load(tmp_path / "model.crp")
    np.testing.assert_array_equal(
        again.predict_proba(broken), model.predict_proba(broken)
    )
    for name, value in {
        **{"mean_": np.zeros((6, 4)), "covariance_": np.eye(2), "mode": 7},
        **{"input_shape_": (5,)},
    }.items():
        imputer = ChannelImputer().fit(broken, y)
        setattr(imputer, name, value)
        with pytest.raises(ModelFormatError, match="ChannelImputer"):
            save(make_pipeline(imputer, model[2]), tmp_path / "other")
            load(tmp_path / "other")


def test_imputer_checks_of_scikit_learn(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check_estimator(ChannelImputer())


def test_gaps_that_cannot_be_filled():
    _, broken, y = with_gaps()
    lost = broken.copy()
    lost[:, 2] = np.nan
    for X, words in ((lost, r"channels \[2\] are missing in every"),):
        with pytest.raises(ValueError, match=words):
            ChannelImputer().fit(X, y)
    lost = broken.copy()
    lost[::2, 0] = lost[1::2, 1] = np.nan
    with pytest.raises(ValueError, match="no training sample has all channels"):
        ChannelImputer().fit(lost, y)
    for params in ({"mode": 2}, {"reg": 0}):
        with pytest.raises(ValueError, match=r"mode=2 is none|reg=0"):
            ChannelImputer(**params).fit(broken, y)
    kept = epochs_to_tensor(broken, y, missing="keep")
    np.testing.assert_array_equal(kept.data, broken)
    with pytest.raises(ValueError, match=r"channel 2.*of epochs \[3, .*ChannelImputer"):
        epochs_to_tensor(broken, y)
    broken[0, 0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        epochs_to_tensor(broken, y, missing="keep")


def test_test_samples_do_not_move_the_scale(X):
    scaler = ChannelScaler().fit(X[:4])
    with_outlier = X.copy()
    with_outlier[5] *= 1e6
    np.testing.assert_array_equal(
        scaler.transform(with_outlier)[:4], scaler.transform(X)[:4]
    )
    assert with_outlier.std() > 1e3


@pytest.mark.parametrize(
    "params, words",
    [
        ({"mode": 2}, r"mode=2 is none of the 2 modes .*\(3, 120\)"),
        ({"mode": -1}, "mode"),
        ({"centre": "median"}, "centre .*'sample'.*median"),
    ],
)
def test_errors_of_the_scaler(params, words, X):
    with pytest.raises(ValueError, match=words):
        ChannelScaler(**params).fit(X)


@pytest.mark.parametrize("damage", ["input_shape_", "mean_", "mode", "scale_"])
def test_a_damaged_scaler_is_rejected(damage, X, tmp_path):
    scaler = ChannelScaler(1).fit(X)
    crp = TensorCRP(1).fit(X, [0, 1] * 4)
    values = {"input_shape_": (3,), "mean_": np.ones(3), "mode": 7, "scale_": "one"}
    setattr(scaler, damage, values[damage])
    with pytest.raises(ModelFormatError, match="ChannelScaler"):
        save(make_pipeline(scaler, crp), tmp_path / "model.crp")
        load(tmp_path / "model.crp")
