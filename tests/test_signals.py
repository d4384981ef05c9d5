"""Epochs, windows and spectrograms against direct computations."""

from itertools import combinations

import numpy as np
import pytest
import skops.io
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tensorcrp import TensorCRP
from tensorcrp.datasets import make_multichannel
from tensorcrp.persistence import SKOPS_TYPES, ModelFormatError, load, save
from tensorcrp.signals import (
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


def test_decibels_of_silence_are_finite(X):
    X[3] = 0.0
    assert np.isfinite(spectrogram_tensor(X, 50.0).data).all()
    alone = spectrogram_tensor(X[:1], 50.0).data
    np.testing.assert_array_equal(alone, spectrogram_tensor(X, 50.0).data[:1])


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
        (lambda X: epochs_to_tensor(X.astype(str)), "must be numbers"),
        (lambda X: window(X, 5), r"shape \(8, 3, 120\); pass \(channels, times\)"),
        (lambda X: window(X[0], 121), "length=121 must be 1 to 120"),
        (lambda X: window(X[0], 5, 0), "step=0 at least 1"),
        (lambda X: window(X[0], 5, block=4), "block=4 is shorter .* longer blocks"),
        (lambda X: window(X[0], 5, labels=[1]), r"labels have shape \(1,\)"),
        (lambda X: spectrogram_tensor(X, 50, window_length=500), "2 to 120"),
        (lambda X: spectrogram_tensor(X, 50, overlap=1), "overlap=1 .* less than 1"),
        (lambda X: spectrogram_tensor(X, 50, fmin=40), "from 0 to 25 in steps"),
    ],
)
def test_errors_name_the_value(call, words, X):
    with pytest.raises(ValueError, match=words):
        call(X)


def test_missing_values_are_named_by_channel_and_epoch(X):
    X[3, 1], X[6, 1, 5], X[6, 2] = np.nan, np.inf, np.nan
    words = r"\['channel 1', 'channel 2'\] of epochs \[3, 6\].*interpolate"
    with pytest.raises(ValueError, match=words):
        epochs_to_tensor(X)
    X = np.where(np.isfinite(X), X, np.nan)
    words = (
        r"NaN, first in sample 3 at entry \(1, 0\), all of them at index 1 of mode 0"
    )
    with pytest.raises(ValueError, match=words):
        TensorCRP().fit(X, [0, 1] * 4)


def test_a_single_window_gets_an_axis_of_samples(X):
    crp, scaler = TensorCRP().fit(X, [0, 1] * 4), ChannelScaler().fit(X)
    for model in (crp, scaler):
        with pytest.raises(ValueError, match=r"\(3, 120\), that of a single.*X\[None"):
            model.transform(X[0])
        np.testing.assert_allclose(model.transform(X[0][None]), model.transform(X)[:1])


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


@parametrize_with_checks([ChannelScaler(), ChannelScaler(centre="none")])
def test_scikit_learn_contract(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


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


@pytest.mark.parametrize("centre", ["channel", "sample"])
def test_a_saved_pipeline_decides_on_one_window_as_on_many(centre, tmp_path):
    """No step looks at the other windows; only the order of sums may differ."""
    made = make_multichannel(90, n_channels=8, n_times=64, random_state=0)
    X, y = made.data * np.logspace(-6, 0, 8)[:, None], made.target
    model = make_pipeline(
        ChannelScaler(centre=centre), TensorCRP(rank=2), LinearDiscriminantAnalysis()
    ).fit(X[:60], y[:60])
    trusted = list(SKOPS_TYPES)
    other = skops.io.loads(skops.io.dumps(model), trusted=trusted)
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    save(model, tmp_path / "model.crp")
    online = load(tmp_path / "model.crp")
    together, scaled = online.predict_proba(X), online[0].transform(X)
    for x, row, own in zip(X, together, scaled, strict=True):
        np.testing.assert_array_equal(online[0].transform(x[None])[0], own)
        alone = online.predict_proba(x[None])
        np.testing.assert_array_equal(alone, model.predict_proba(x[None]))  # bitwise
        np.testing.assert_allclose(alone[0], row, rtol=1e-9, atol=1e-12)
        assert alone[0].argmax() == row.argmax()


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
