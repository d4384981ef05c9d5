"""Epochs, windows and spectrograms against direct computations."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from tensorcrp import TensorCRP
from tensorcrp.datasets import make_multichannel
from tensorcrp.signals import epochs_to_tensor, spectrogram_tensor, window


class FakeEpochs:
    """The public parts of ``mne.Epochs`` that are used."""

    def __init__(self, X, codes, event_id, fs, tmin):
        self._X, self.event_id = X, event_id
        self.events = np.column_stack([np.arange(len(X)), np.zeros(len(X), int), codes])
        self.ch_names = [f"C{i}" for i in range(X.shape[1])]
        self.times = tmin + np.arange(X.shape[2]) / fs

    def get_data(self):
        return self._X


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((8, 3, 120))


def test_mne_epochs_bring_labels_names_and_times(X):
    codes = np.array([7, 2] * 4)
    epochs = FakeEpochs(X, codes, {"left": 7, "right": 2}, fs=100.0, tmin=-0.2)
    tensor = epochs_to_tensor(epochs, tmin=0.0, tmax=0.5)
    np.testing.assert_array_equal(tensor.data, X[:, :, 20:71])
    assert tensor.target.tolist() == codes.tolist()
    assert tensor.target_names == ["right", "left"]  # in the order of their codes
    assert tensor.channel_names == ["C0", "C1", "C2"]
    assert tensor.times[0] == pytest.approx(0) and tensor.times[-1] == pytest.approx(
        0.5
    )
    assert tensor.mode_names == ("channel", "time")


@pytest.mark.parametrize("form", [np.asarray, list, np.ndarray.tolist])
def test_arrays_and_lists(form, X):
    y = ["a", "b"] * 4
    tensor = epochs_to_tensor(form(X), y)
    np.testing.assert_array_equal(tensor.data, X)
    assert tensor.target_names == ["a", "b"] and len(tensor.channel_names) == 3
    assert epochs_to_tensor(X).target is None


def test_scaled_channels_count_alike(X):
    X = X * np.array([1e-6, 1.0, 1e3])[:, None] + 5.0
    before = X.copy()
    scaled = epochs_to_tensor(X, scale="channel").data
    np.testing.assert_allclose(scaled.mean(axis=2), 0, atol=1e-8)
    np.testing.assert_allclose(scaled.std(axis=(0, 2)), 1)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("length, step", [(10, None), (10, 3), (120, 1), (7, 20)])
def test_windows_are_slices(X, length, step):
    cut = window(X[0], length, step)
    starts = range(0, 120 - length + 1, step or length)
    direct = np.stack([X[0][:, s : s + length] for s in starts])
    np.testing.assert_array_equal(cut, direct)
    assert np.shares_memory(cut, X)


def test_windows_over_a_change_of_label_are_left_out(X):
    labels = np.repeat(["rest", "move", "rest"], [50, 33, 37])
    cut, y = window(X[0], 10, 5, labels=labels)
    starts = [s for s in range(0, 111, 5) if len(set(labels[s : s + 10].tolist())) == 1]
    np.testing.assert_array_equal(cut, [X[0][:, s : s + 10] for s in starts])
    assert y.tolist() == [labels[s] for s in starts]


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
        (lambda X: epochs_to_tensor(X, scale="z"), "scale.*got 'z'"),
        (lambda X: epochs_to_tensor(X.astype(str)), "must be numbers"),
        (lambda X: window(X, 5), r"shape \(8, 3, 120\); pass \(channels, times\)"),
        (lambda X: window(X[0], 121), "length=121 must be 1 to 120"),
        (lambda X: window(X[0], 5, 0), "step=0 at least 1"),
        (lambda X: window(X[0], 5, labels=[1]), r"labels have shape \(1,\)"),
        (lambda X: spectrogram_tensor(X, 50, window_length=500), "2 to 120"),
        (lambda X: spectrogram_tensor(X, 50, overlap=1), "overlap=1 .* less than 1"),
        (lambda X: spectrogram_tensor(X, 50, fmin=40), "from 0 to 25 in steps"),
    ],
)
def test_errors_name_the_value(call, words, X):
    with pytest.raises(ValueError, match=words):
        call(X)
