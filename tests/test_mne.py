"""MNE's objects as tensors: values and names of every mode, nothing that leaks."""

import mne
import numpy as np
import pytest

from tensorcrp import TensorCRPCV
from tensorcrp.files import FileClassifier
from tensorcrp.signals import epochs_to_tensor

NAMES = ["Fz", "Cz", "Pz", "Oz", "EOG1", "STI"]
TYPES = ["eeg"] * 4 + ["eog", "stim"]
FS, TMIN = 100.0, -0.2
CODES = np.array([7, 2] * 10)


@pytest.fixture(scope="module")
def X():
    X = 1e-6 * np.random.default_rng(0).standard_normal((20, 6, 120))
    X[:, 5] = CODES[:, None]  # a stimulus channel that holds the answer
    return X


@pytest.fixture
def epochs(X):
    info = mne.create_info(NAMES, FS, TYPES)
    events = np.column_stack([500 * np.arange(1, 21), np.zeros(20, int), CODES])
    event_id = {"left": 7, "right": 2}
    return mne.EpochsArray(X.copy(), info, events, TMIN, event_id, verbose=False)


def test_epochs_bring_labels_names_and_times(epochs, X):
    tensor = epochs_to_tensor(epochs, tmin=0.0, tmax=0.5)
    np.testing.assert_array_equal(tensor.data, X[:, :4, 20:71])
    assert tensor.target.tolist() == CODES.tolist()
    assert tensor.target_names == ["right", "left"]  # in the order of their codes
    assert tensor.channel_names == NAMES[:4] == tensor.info.ch_names
    np.testing.assert_allclose(tensor.times, np.arange(51) / FS, atol=1e-12)
    assert tensor.mode_names == ("channel", "time") and tensor.frequencies is None
    assert tensor.mode_values[0] == NAMES[:4] and tensor.mode_values[1] is tensor.times


@pytest.mark.parametrize(
    "picks, bads, expected",
    [
        ("data", [], NAMES[:4]),
        ("data", ["Cz"], ["Fz", "Pz", "Oz"]),
        ("eog", [], ["EOG1"]),
        ("all", ["Fz", "STI"], ["Cz", "Pz", "Oz", "EOG1"]),
        (["Pz", "Cz"], ["Cz"], ["Pz", "Cz"]),  # named, though bad
        ([0, 5], [], ["Fz", "STI"]),
    ],
)
@pytest.mark.parametrize("kind", ["time", "tfr"])
def test_picks_and_bads_are_those_of_mne(picks, bads, expected, kind, epochs, X):
    if kind == "tfr":
        data = np.repeat(X[:, :, None], 3, axis=2)
        epochs = mne.time_frequency.EpochsTFRArray(
            epochs.info, data, epochs.times, [5.0, 10.0, 20.0], events=epochs.events
        )
    epochs.info["bads"] = bads
    tensor = epochs_to_tensor(epochs, picks=picks)
    assert sorted(tensor.channel_names) == sorted(expected)
    where = [NAMES.index(name) for name in tensor.channel_names]
    wanted = X[:, where]
    wanted = np.repeat(wanted[:, :, None], 3, axis=2) if kind == "tfr" else wanted
    np.testing.assert_array_equal(tensor.data, wanted)
    assert epochs.info["bads"] == bads and len(epochs.ch_names) == 6  # unchanged


def test_the_answer_in_a_stimulus_channel_is_no_feature(epochs):
    tensor = epochs_to_tensor(epochs)
    assert "STI" not in tensor.channel_names
    assert np.abs(tensor.data).max() < 1e-4


@pytest.mark.parametrize("preload", [True, False])
def test_epochs_of_a_file(preload, epochs, X, tmp_path):
    """Baseline, crop and decimation are MNE's, before and after saving."""
    path = tmp_path / "blocks-epo.fif"
    epochs.info["bads"] = ["Pz"]
    epochs.save(path, fmt="double", verbose=False)
    read = mne.read_epochs(path, preload=preload, verbose=False)
    read = read.apply_baseline((None, 0)) if preload else read
    tensor = epochs_to_tensor(read, tmin=0.1)
    raw = X[:, [0, 1, 3]]
    raw = raw - raw[:, :, :21].mean(axis=2, keepdims=True) if preload else raw
    np.testing.assert_allclose(tensor.data, raw[:, :, 30:], atol=1e-18)
    assert tensor.channel_names == ["Fz", "Cz", "Oz"]
    assert tensor.target_names == ["right", "left"]
    if preload:
        with pytest.warns(RuntimeWarning, match="aliasing"):  # noise, up to 50 Hz
            read = read.crop(0.0, 0.8).decimate(4, verbose=False)
        tensor = epochs_to_tensor(read)
        np.testing.assert_allclose(tensor.data, raw[:, :, 20:101:4], atol=1e-18)
        np.testing.assert_allclose(tensor.times, np.arange(21) * 4 / FS, atol=1e-12)


def test_dropped_epochs_drop_their_labels(epochs, X):
    epochs.drop([0, 3], verbose=False)
    tensor = epochs_to_tensor(epochs)
    keep = [i for i in range(20) if i not in (0, 3)]
    np.testing.assert_array_equal(tensor.data, X[keep][:, :4])
    assert tensor.target.tolist() == CODES[keep].tolist()
    right = epochs_to_tensor(epochs["right"])
    assert set(right.target) == {2} and right.target_names == ["right"]


@pytest.mark.parametrize("tmin, tmax", [(None, None), (0.0, 0.5), (-0.1, None)])
def test_time_and_frequency_are_two_modes(tmin, tmax, epochs):
    freqs = np.array([8.0, 12.0, 20.0])
    tfr = epochs.compute_tfr("morlet", freqs, n_cycles=1, picks="eeg", verbose=False)
    tensor = epochs_to_tensor(tfr, tmin=tmin, tmax=tmax)
    assert tensor.mode_names == ("channel", "frequency", "time")
    np.testing.assert_array_equal(tensor.frequencies, freqs)
    cropped = tfr.copy().crop(tmin, tmax)
    np.testing.assert_array_equal(tensor.data, cropped.data)
    np.testing.assert_array_equal(tensor.times, cropped.times)
    assert [len(values) for values in tensor.mode_values] == list(tensor.data.shape[1:])
    assert tensor.target.tolist() == CODES.tolist()


def test_spectra_have_a_mode_of_frequencies(epochs):
    spectra = epochs.compute_psd(picks="eeg", verbose=False)
    tensor = epochs_to_tensor(spectra)
    np.testing.assert_array_equal(tensor.data, spectra.get_data())
    np.testing.assert_array_equal(tensor.frequencies, spectra.freqs)
    assert tensor.mode_names == ("channel", "frequency") and tensor.times is None
    with pytest.raises(ValueError, match=r"tmin and tmax .* mode of time"):
        epochs_to_tensor(spectra, tmin=0.0)


def test_objects_without_epochs_name_the_conversion(epochs, X):
    raw = mne.io.RawArray(X[0], epochs.info, verbose=False)
    tfr = epochs.compute_tfr("morlet", [10.0], n_cycles=1, verbose=False)
    for wrong in (raw, epochs.average(), tfr.average()):
        words = f"{type(wrong).__name__} has no epochs.*make_fixed_length_epochs"
        with pytest.raises(TypeError, match=words):
            epochs_to_tensor(wrong)
    with pytest.raises(ValueError, match=r"complex128.*compute power"):
        epochs_to_tensor(
            epochs.compute_tfr(
                "morlet", [10.0], n_cycles=1, output="complex", verbose=False
            )
        )


def test_epochs_with_missing_values(epochs):
    data = epochs.get_data(copy=True)
    data[4, 1] = np.nan
    broken = mne.EpochsArray(data, epochs.info, epochs.events, verbose=False)
    with pytest.raises(ValueError, match=r"channels \['Cz'\] of epochs \[4\]"):
        epochs_to_tensor(broken)
    broken.info["bads"] = ["Cz"]
    assert np.isfinite(epochs_to_tensor(broken).data).all()


def test_a_file_of_epochs_becomes_a_model_with_names(epochs, tmp_path):
    """From .fif to labels: data channels only, names of events as classes."""
    rng = np.random.default_rng(1)
    epochs._data[CODES == 7, 1] += 5e-6 * np.sin(np.arange(120) / 5)
    epochs._data[:, 5] = rng.permuted(CODES)[:, None]
    epochs.save(tmp_path / "some-epo.fif", verbose=False)
    grid = {"ranks": (1,), "regs": (1.0,), "smooth": (0.0,), "n_components": 1}
    search = TensorCRPCV(**grid, average=1, distance="euclidean")
    model = FileClassifier(search=search, random_state=0).fit(tmp_path / "some-epo.fif")
    assert sorted(model.classes_) == ["left", "right"]
    assert model.model_[-1].sample_shape_ == (4, 120)
    expected = np.where(CODES == 7, "left", "right")
    np.testing.assert_array_equal(model.predict(tmp_path / "some-epo.fif"), expected)
