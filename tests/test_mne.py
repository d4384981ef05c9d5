"""MNE's objects as tensors: values and names of every mode, nothing that leaks."""

import mne
import numpy as np
import pandas
import pytest

from tensorcrp import TensorCRP, TensorCRPCV, cli
from tensorcrp.baselines import MPCA, CPLogistic
from tensorcrp.experiments import compare_methods
from tensorcrp.experiments.data import load_data
from tensorcrp.experiments.folder_cache import reading
from tensorcrp.files import FileClassifier
from tensorcrp.preprocessing import Motion
from tensorcrp.signals import (
    ChannelImputer,
    ChannelScaler,
    epochs_to_tensor,
    spectrogram_tensor,
    window,
)

# MNE reads metadata by a keyword of pandas that pandas 3.1 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")
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
        (None, ["Cz"], ["Fz", "Pz", "Oz"]),
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


NAMED = r"of MNE's type EpochsArray, whose channels may .* hold the labels.*_to_tensor"
MODELS = [TensorCRP(), TensorCRPCV(), ChannelScaler(), ChannelImputer(), Motion()]


@pytest.mark.parametrize("model", [*MODELS, MPCA(), CPLogistic()], ids=str)
def test_estimators_take_no_epochs(model, epochs):
    """NumPy reads them as arrays, with the answer in the stimulus channel."""
    for given in (epochs, [epochs, epochs]):
        with pytest.raises(TypeError, match=NAMED):
            model.fit(given, CODES)


def test_functions_take_no_recordings(epochs, X):
    for call in (epochs_to_tensor, lambda each: spectrogram_tensor(each, FS)):
        with pytest.raises(TypeError, match=NAMED + ".*concatenate_epochs"):
            call([epochs, epochs])
    with pytest.raises(TypeError, match=NAMED):
        spectrogram_tensor(epochs, FS)
    raw = mne.io.RawArray(X[0], epochs.info, verbose=False)
    raw.info["bads"] = ["Pz"]
    with pytest.raises(
        TypeError, match=r'RawArray; pass recording\.copy\(\)\.pick\("d'
    ):
        window(raw, 10)
    clean = raw.copy().pick("data", exclude="bads").get_data()  # what the words say
    np.testing.assert_array_equal(window(clean, 120).data[0], X[0, [0, 1, 3]])


@pytest.mark.parametrize(
    "options, words",
    [
        ({"picks": "mag"}, r"picks='mag' leaves no channel of \['Fz', .* and 1 more"),
        (
            {"picks": "data"},
            r"leaves no channel .*; bad ones: \['Fz', 'Cz', 'Pz', 'Oz'",
        ),
        ({"fs": 50.0}, "fs=50.0 is for arrays"),
    ],
)
def test_options_that_do_not_suit_epochs(options, words, epochs):
    epochs.info["bads"] = NAMES[:4]
    with pytest.raises(ValueError, match=words):
        epochs_to_tensor(epochs, **options)


def test_epochs_with_missing_values(epochs):
    data = epochs.get_data(copy=True)
    data[4, 1] = np.nan
    broken = mne.EpochsArray(data, epochs.info, epochs.events, verbose=False)
    with pytest.raises(ValueError, match=r"channels \['Cz'\] of epochs \[4\]"):
        epochs_to_tensor(broken)
    broken.info["bads"] = ["Cz"]
    assert np.isfinite(epochs_to_tensor(broken).data).all()


GRID = {"ranks": (1,), "regs": (1.0,), "smooth": (0.0,), "n_components": 1}
SEARCH = TensorCRPCV(**GRID, average=1, distance="euclidean")


@pytest.fixture
def told_apart(epochs):
    """Epochs whose classes differ, from five people."""
    epochs._data[CODES == 7, 1] += 5e-6 * np.sin(np.arange(120) / 5)
    epochs._data[:, 5] = np.random.default_rng(1).permuted(CODES)[:, None]
    epochs.metadata = pandas.DataFrame({"person": np.arange(20) // 4, "age": 9.0})
    return epochs


def test_a_file_of_epochs_becomes_a_model_with_names(told_apart, tmp_path):
    """From .fif to labels: data channels only, names of events as classes."""
    told_apart.save(tmp_path / "some-epo.fif", verbose=False)
    model = FileClassifier(search=SEARCH, random_state=0)
    model.fit(tmp_path / "some-epo.fif")
    assert sorted(model.classes_) == ["left", "right"]
    assert model.model_[-1].sample_shape_ == (4, 120)
    expected = np.where(CODES == 7, "left", "right")
    np.testing.assert_array_equal(model.predict(tmp_path / "some-epo.fif"), expected)


@pytest.mark.parametrize("name", ["person", "times"])
def test_groups_are_columns_of_metadata(name, told_apart, tmp_path):
    """Whatever they are called: epochs have times of their own."""
    told_apart.metadata = told_apart.metadata.rename(columns={"person": name})
    told_apart[:8].save(tmp_path / "a-epo.fif", verbose=False)
    told_apart[8:].save(tmp_path / "b-epo.fif", verbose=False)
    model = FileClassifier(search=SEARCH).fit(tmp_path, groups=name)
    assert model.scores_["groups"] == 5 and model.scores_["files"] == 20
    with pytest.raises(ValueError, match=rf"'people' does not occur.*age, {name}"):
        model.fit(tmp_path, groups="people")


def test_folders_of_epochs(told_apart, tmp_path):
    """Flat, or one folder per class: the same samples, hence the same model."""
    (tmp_path / "flat").mkdir()
    for name in ("left", "right"):
        (tmp_path / "deep" / name).mkdir(parents=True)
        told_apart[name].save(tmp_path / "deep" / name / "a-epo.fif", verbose=False)
        told_apart[name].save(tmp_path / "flat" / f"{name}-epo.fif", verbose=False)
    flat = FileClassifier(search=SEARCH).fit(tmp_path / "flat")
    deep = FileClassifier(search=SEARCH).fit(tmp_path / "deep")
    np.testing.assert_array_equal(flat.held_out_.scores, deep.held_out_.scores)
    assert flat.predict_files(tmp_path / "deep").accuracy == 1.0
    told_apart.save(tmp_path / "deep" / "left" / "b-epo.fif", verbose=False)
    with pytest.raises(ValueError, match=r"b-epo.fif\[0\] is in the folder left/ and"):
        deep.fit(tmp_path / "deep")
    (tmp_path / "flat" / "notes-epo.fif").write_text("no epochs")
    with pytest.raises(ValueError, match=r"notes-epo.fif cannot be read as epochs"):
        flat.predict(tmp_path / "flat")
    skipping = flat.set_params(on_error="skip").predict_files(tmp_path / "flat")
    assert len(skipping.files) == 20 and len(skipping.skipped) == 1


def test_compare_keeps_recordings_of_a_class_together(told_apart, tmp_path):
    """As fit does: epochs of one file share more than the class."""
    for name in ("left", "right"):
        (tmp_path / "deep" / name).mkdir(parents=True)
        for i in range(5):
            path = tmp_path / "deep" / name / f"{i}-epo.fif"
            told_apart[name][2 * i : 2 * i + 2].save(path, verbose=False)
    with reading({}):
        data = load_data(str(tmp_path / "deep"))
    assert np.bincount(data.groups).tolist() == [2] * 10
    told_apart.save(tmp_path / "all-epo.fif", verbose=False)
    with reading({}):
        assert load_data(str(tmp_path / "all-epo.fif")).groups is None


def test_a_recording_without_epochs_says_how_to_make_them(epochs, tmp_path, capsys):
    raw = mne.io.RawArray(np.zeros((6, 500)), epochs.info, verbose=False)
    path = tmp_path / "some_raw.fif"
    raw.save(path, verbose=False)
    with pytest.raises(SystemExit):
        cli.main(["fit", str(path), "-o", str(tmp_path / "m")])
    assert f"{path} has no epochs: make them with mne.Epochs" in capsys.readouterr().err


def test_new_epochs_are_picked_by_the_channels_of_the_model(told_apart, tmp_path):
    path = tmp_path / "some-epo.fif"
    told_apart.save(path, verbose=False)
    model = FileClassifier(search=SEARCH).fit(path)
    expected = model.predict_proba(path)
    told_apart.info["bads"] = ["Oz"]
    other = told_apart.copy().reorder_channels(NAMES[::-1])
    other.save(path, overwrite=True, verbose=False)
    np.testing.assert_array_equal(model.predict_proba(path), expected)
    told_apart.copy().drop_channels(["Oz", "Fz"]).save(
        path, overwrite=True, verbose=False
    )
    with pytest.raises(ValueError, match=r"some-epo.fif lacks channels.*: Fz, Oz"):
        model.predict(path)


def test_files_whose_channels_differ_are_not_mixed(told_apart, tmp_path):
    for name, bad in {"a": "Fz", "b": "Oz"}.items():
        told_apart.info["bads"] = [bad]
        told_apart.save(tmp_path / f"{name}-epo.fif", verbose=False)
    with pytest.raises(ValueError, match=r"b-epo.fif.*other channels.*Fz, Oz"):
        FileClassifier(search=SEARCH).fit(tmp_path)


def test_files_whose_times_differ_are_not_mixed(told_apart, tmp_path):
    """As long, but later: the same entry would be another time after the event."""
    told_apart.save(tmp_path / "a-epo.fif", verbose=False)
    model = FileClassifier(search=SEARCH).fit(tmp_path)
    told_apart.shift_time(0.1).save(tmp_path / "b-epo.fif", verbose=False)
    for use in (model.predict, model.fit):
        words = r"b-epo.fif\[0\] has times from -0.1 to 1.09 s, .*a-epo.fif.* -0.2 to"
        with pytest.raises(ValueError, match=words):
            use(tmp_path)
    with pytest.raises(ValueError, match=r"times run from -0.1 .* fitted on -0.2 to"):
        model.predict(tmp_path / "b-epo.fif")


def test_methods_are_compared_on_epochs(told_apart, tmp_path):
    """One file or a folder: the same samples, and groups by metadata or file."""
    (tmp_path / "all").mkdir()
    told_apart.save(tmp_path / "some-epo.fif", verbose=False)
    for i in range(5):
        part = told_apart[4 * i : 4 * i + 4]
        part.save(tmp_path / "all" / f"{i}-epo.fif", verbose=False)
    how = {"methods": ["raw", "RidgeLDA"], "per_class": 4, "repeats": 2}
    one = compare_methods(str(tmp_path / "some-epo.fif"), groups="person", **how)
    out = tmp_path / "out"
    other = compare_methods(str(tmp_path / "all"), groups="file", out=out, **how)
    assert "left" in (out / "report.html").read_text()
    assert len(one) == 4 and one[0]["shape"] == [4, 120] and one[0]["n_classes"] == 2
    for mine, same in zip(one, other, strict=True):
        assert mine["classifiers"] == same["classifiers"]
