"""From files to names: fit, predict, transform and inspect on real video files.

Clips are written by PyAV itself: H.264 in mp4 and Motion JPEG in avi, of different
sizes, lengths and rates. A light moves right or left over a static scene.
"""

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import chdir, redirect_stdout
from fractions import Fraction
from io import StringIO

import joblib
import numpy as np
import pandas
import pytest
from scipy.io import savemat
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from tensorcrp import TensorCRP, TensorCRPCV, cli
from tensorcrp.commands.printed import (
    accuracy_lines,
    confusion_text,
    print_fit,
    print_predictions,
    print_surprises,
    shortened,
)
from tensorcrp.experiments import compare_methods
from tensorcrp.experiments.tables import Table
from tensorcrp.files import FileClassifier, Predictions, file_groups
from tensorcrp.files.choosing import BY_NAME, splitter
from tensorcrp.files.grouping import check_groups
from tensorcrp.files.predictions import scores_of
from tensorcrp.files.samples import why_skipped
from tensorcrp.files.scoring import (
    best_share,
    fewest_in_a_class,
    is_near_chance,
    spread_of,
    surprising,
    temperatures,
    tempered,
)
from tensorcrp.persistence import describe, export_onnx, load, save
from tensorcrp.preprocessing import Motion
from tensorcrp.video import read_clips, train_test_folders

av = pytest.importorskip("av", reason="PyAV has no wheel for this Python")

KINDS = [("mp4", "libx264", "yuv420p"), ("avi", "mjpeg", "yuvj420p")]
SMALL = ["--frames", "5", "--size", "8", "8", "--folds", "2", "--jobs", "1"]
GRID = TensorCRPCV(ranks=(1,), regs=(0.1, 1.0))
QUICK = {"frames": 5, "size": (8, 8), "cv": 2, "search": GRID}


def write(path, frames, rate=25, kind=0):
    """Write frames (n, height, width) of bytes by PyAV."""
    _, codec, pixels = KINDS[kind]
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=Fraction(rate))
        stream.height, stream.width = frames.shape[1:]
        stream.pix_fmt = pixels
        for each in frames:
            frame = av.VideoFrame.from_ndarray(np.repeat(each[..., None], 3, 2))
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def moving(rng, right, n, size):
    """A light that crosses a scene of its own."""
    scene = rng.uniform(40, 160, size)
    frames = np.repeat(scene[None], n, axis=0)
    width = size[1]
    for t in range(n):
        x = int((width - 8) * t / (n - 1))
        x = x if right else width - 8 - x
        frames[t, :, x : x + 8] += 90
    return frames.clip(0, 255).astype(np.uint8)


def clips(folder, per_class, seed, labelled=True):
    rng = np.random.default_rng(seed)
    files = {}
    for label in ("left", "right"):
        place = folder / label if labelled else folder
        place.mkdir(parents=True, exist_ok=True)
        for i in range(per_class):
            kind = i % 2
            path = place / f"{label[0]}_p{i % 3}_{i}.{KINDS[kind][0]}"
            size = [(32, 48), (48, 32), (40, 40)][i % 3]
            n, rate = int(rng.integers(8, 14)), [25, 30, 12][i % 3]
            write(path, moving(rng, label == "right", n, size), rate, kind)
            files[str(path)] = label
    return files


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Training clips, new unlabelled ones, a fitted model and what `fit` printed."""
    root = tmp_path_factory.mktemp("clips")
    clips(root / "train", 6, seed=0)
    new = clips(root / "new", 3, seed=1, labelled=False)
    model = root / "model.safetensors"
    command = ["fit", "train", "-o", model.name, *SMALL, "--report", "report"]
    with chdir(root), redirect_stdout(StringIO()) as printed:
        assert cli.main(command) == 0
    return root, new, model, printed.getvalue()


def tensorcrp(*arguments, cwd=None):
    """The command in a process of its own."""
    command = [sys.executable, "-m", "tensorcrp", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def failed(arguments, capsys):
    """The message of a command that is rejected with exit code 2."""
    with pytest.raises(SystemExit) as stop:
        cli.main([str(each) for each in arguments])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


# --- the whole way ----------------------------------------------------------------


def test_fit_says_what_to_expect(places):
    _, _, _, said = places
    for words in ("expected accuracy: 100.0 %", "chance 50.0 %", "most frequent class"):
        assert words in said
    assert "true class by predicted class" in said and "motion:" in said
    assert max(map(len, said.splitlines())) <= 80


def test_the_number_of_features_is_that_of_transform(places, capsys):
    """The best of several averaged settings has fewer: it is not the model."""
    root, new, path, said = places
    model = load(path)
    found = model.transform(list(new)).shape[1]
    averaged = len(model.model_[-1].members_)
    assert averaged > 1 and found > model.model_[-1].best_params_["n_components"]
    words = f"the best of {averaged} averaged settings; {found} features"
    assert cli.main(["inspect", str(path)]) == 0
    assert words in said and words in capsys.readouterr().out
    report = (root / "report" / "report.html").read_text()
    assert f"<td>features</td><td>{found}</td>" in report


def test_score_knows_the_classes_of_folders(places, tmp_path):
    """Or takes them; files in no class folder have none."""
    root, new, path, _ = places
    model = load(path)
    y = np.array(list(new.values()))
    y[0] = "right"  # a wrong label: shares of all and of none say little
    right = model.predict(list(new)) == y
    assert model.score(list(new), y) == right.mean()
    weights = np.arange(1.0, 1 + len(y))
    assert model.score(list(new), y, weights) == pytest.approx(
        np.average(right, weights=weights)
    )
    assert 0 < right.mean() < 1
    assert model.score(root / "train") == model.predict_files(root / "train").accuracy
    with pytest.raises(ValueError, match=r"folder named left or right\. Pass y"):
        model.score(root / "new")


def test_a_file_that_is_listed_twice(places, capsys):
    """It had one label, so that labels and list had different lengths."""
    _, new, path, _ = places
    model, (first, second, *_) = load(path), new
    for files in ([first, second, first], [os.path.dirname(first), first]):
        with pytest.raises(ValueError, match=r"_\d\.\w+ is listed twice; list"):
            model.predict(files)
    with pytest.raises(ValueError, match="listed twice"):
        FileClassifier().fit([first, first], ["a", "b"])
    assert cli.main(["predict", str(path), first, second, first]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 2


def test_samples_in_memory_are_no_files():
    X, y = np.ones((12, 4, 3)), np.arange(12) % 2
    with pytest.raises(TypeError, match=r"got ndarray of shape \(12, 4, 3\).*CRPCV"):
        FileClassifier().fit(X, y)
    with pytest.raises(TypeError, match="list of paths is needed, got NoneType"):
        FileClassifier().fit(None)


@pytest.mark.slow
def test_predict_on_unlabelled_clips_in_another_process(places):
    root, new, model, _ = places
    done = tensorcrp("predict", str(model), "new", "--csv", "rows.csv", cwd=root)
    assert done.returncode == 0, done.stderr
    with open(root / "rows.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["file", "label", "probability", "second"]
    found = {str(root / row["file"]): row["label"] for row in rows}
    assert found == new
    assert all(0.5 <= float(row["probability"]) <= 1 for row in rows)
    assert all({row["label"], row["second"]} == {"left", "right"} for row in rows)
    python = load(model).predict(str(root / "new"))
    assert [row["label"] for row in rows] == python.tolist()


def test_one_file_at_a_time_and_names_from_a_pipe(places, capsys, monkeypatch):
    _, new, path, _ = places
    model = load(path)
    together = model.predict_proba(list(new))
    for file, scores in zip(new, together, strict=True):
        np.testing.assert_array_equal(model.predict_proba(file)[0], scores)  # bitwise
        assert model.predict([file])[0] == new[file]
    monkeypatch.setattr("sys.stdin", StringIO("\n".join(new) + "\n"))
    assert cli.main(["predict", str(path), "-"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert {line[-1]: line[0] for line in lines} == new


def test_rows_on_standard_output_and_nothing_else(places, capfdbinary, tmp_path):
    root, new, path, _ = places
    (tmp_path / "link").symlink_to("/dev/null")
    with chdir(tmp_path):
        assert cli.main(["predict", str(path), str(root / "new"), "--csv", "-"]) == 0
        out = capfdbinary.readouterr().out.decode()
        assert cli.main(["predict", str(path), str(root / "new"), "--csv", "link"]) == 0
    rows = list(csv.DictReader(out.splitlines()))
    assert {row["file"]: row["label"] for row in rows} == new
    assert [each.name for each in tmp_path.iterdir()] == ["link"]
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("classifier", sorted(BY_NAME))
def test_scores_of_a_sample_alone_and_among_others(classifier):
    """To the last bit, in float32, for every classifier of the command line."""
    rng, y = np.random.default_rng(0), np.arange(36) % 3
    X = rng.standard_normal((76, 6, 5, 5)).astype(np.float32)
    X[:36] += 0.4 * y[:, None, None, None]
    one = {"ranks": (1,), "regs": (1.0,), "smooth": (0.0,), "n_components": 9}
    search = TensorCRPCV(BY_NAME[classifier](), **one, distance="euclidean", cv=2)
    model = make_pipeline(Motion("centred"), search).fit(X[:36], y)
    together, _ = scores_of(model, X[36:])
    for i in (0, 1, 6, 13, 39):
        alone, _ = scores_of(model, X[36 + i][None])
        np.testing.assert_array_equal(alone[0], together[i])
    guess = model.classes_[together.argmax(axis=1)]
    assert (guess == model.predict(X[36:])).all()


def test_labelled_folders_give_an_accuracy(places, capsys):
    root, _, model, _ = places
    assert cli.main(["predict", str(model), str(root / "train")]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 13
    assert "accuracy: 100.0 % of 12 labelled files" in err


def test_onnx_of_clips(places, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    _, new, path, _ = places
    model = load(path)
    X = read_clips(list(new), 5, (8, 8), progress=False).data
    export_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    label, shares = session.run(["label", "probabilities"], {"X": X})
    assert label.tolist() == list(new.values()) == model.predict(X).tolist()
    np.testing.assert_allclose(shares, model.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet"])
def test_transform_writes_features_with_names(suffix, places, tmp_path, capsys):
    root, new, path, _ = places
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    out = tmp_path / f"features{suffix}"
    assert cli.main(["transform", str(path), str(root / "new"), "-o", str(out)]) == 0
    exact = load(path).transform(root / "new")
    if suffix == ".npz":
        found = np.load(out)
        np.testing.assert_array_equal(found["X"], exact)
        assert found["files"].tolist() == sorted(new)
        assert found["feature_names"][0] == "crp0"
    elif suffix == ".parquet":
        frame = pandas.read_parquet(out)
        assert frame["file"].tolist() == sorted(new)
        assert list(frame)[1:] == [f"crp{i}" for i in range(exact.shape[1])]
        np.testing.assert_array_equal(frame.iloc[:, 1:], exact)
    else:
        rows = list(csv.reader(out.read_text().splitlines()))
        assert rows[0] == ["file", *(f"crp{i}" for i in range(exact.shape[1]))]
        numbers = np.array([row[1:] for row in rows[1:]], float)
        np.testing.assert_allclose(numbers, exact, rtol=1e-6)


def test_inspect_says_what_is_inside(places, capsys, tmp_path):
    _, _, path, _ = places
    assert cli.main(["inspect", str(path)]) == 0
    said = capsys.readouterr().out
    for words in (
        "left, right",
        "5 (time) x 8 (row) x 8 (column)",
        "frames 5",
        "0 to 1",
    ):
        assert words in said
    assert describe(path)["checksum"][:32] in said and "scikit-learn" in said
    assert "expected accuracy" in said and "rank" in said
    X = np.random.default_rng(0).standard_normal((12, 4, 3))
    save(TensorCRP(2).fit(X, np.arange(12) % 3), tmp_path / "crp")
    assert cli.main(["inspect", str(tmp_path / "crp")]) == 0
    assert "TensorCRP" in capsys.readouterr().out


def test_the_next_command_can_be_typed(tmp_path, capsys):
    arrays(tmp_path / "a.npz", n=12)
    path = tmp_path / "my model.safetensors"
    assert cli.main(["fit", str(tmp_path / "a.npz"), "-o", str(path), *SMALL[5:]]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert shlex.split(last) == ["tensorcrp", "predict", str(path), "FILES"]


def test_the_report_needs_nothing_beside_it(places):
    root, _, _, _ = places
    text = (root / "report" / "report.html").read_text()
    assert text.count('src="data:image/png;base64,') >= 3
    assert "http" not in text.replace("http-equiv", "")
    for words in ("Accuracy", "chance", "Confusion", "Projections", "tensorcrp fit"):
        assert words in text


def test_every_search_moves_the_bar(places, monkeypatch):
    """One bar over all of the work: between two of its steps lies one search."""
    fits, steps = [], []
    fit = TensorCRPCV.fit

    def counted(self, *args):
        fits.append(self.regs)
        return fit(self, *args)

    def watched(items, label, shown, total, unit):
        for item in items:
            steps.append((len(fits), total))
            yield item

    monkeypatch.setattr(TensorCRPCV, "fit", counted)
    monkeypatch.setattr("tensorcrp.files.choosing.progress", watched)
    FileClassifier(**QUICK).fit(places[0] / "train")
    parts, motions = 2 + 1, 4  # folds and all files
    total = parts * (motions + 1)
    assert steps == [(i + 1, total) for i in range(total)] and len(fits) == total
    model = FileClassifier(**QUICK, motion="none").fit(places[0] / "train")
    scores = model.held_out_.scores
    with joblib.parallel_backend("threading"):  # processes take seconds to start
        model.set_params(n_jobs=2).fit(places[0] / "train")
    np.testing.assert_array_equal(model.held_out_.scores, scores)


# --- what a model remembers -------------------------------------------------------


def test_samples_of_another_type_range_or_shape(places):
    root, new, path, _ = places
    model, files = load(path), list(new)
    X = read_clips(files, 5, (8, 8), progress=False).data
    with pytest.raises(ValueError, match=r"uint8; the model was fitted on float32"):
        model.predict((255 * X).astype(np.uint8))
    with pytest.raises(ValueError, match=r"largest value.*from 0 to 1"):
        model.predict(255 * X)
    with pytest.raises(ValueError, match=r"\(4, 8, 8\).*fitted on.*\(5, 8, 8\)"):
        model.predict(X[:, :4])
    with pytest.raises(ValueError, match=r"single sample.*X\[None\]"):
        model.predict(X[0])
    with pytest.raises(ValueError, match=r"these files are arrays.*fitted on clips"):
        np.savez(root / "arrays.npz", X=X)
        model.predict(root / "arrays.npz")


def test_windows_of_a_file_are_one_row(places):
    root, new, _, _ = places
    model = FileClassifier(**QUICK, sampling="windows", stride=2, motion="difference")
    model.fit(root / "train")
    predictions = model.predict_files(root / "new")
    assert predictions.files == sorted(new)
    assert len(model.transform(root / "new")) > len(new)
    assert model.scores_["files"] == 12


def test_the_cache_is_used_again(places, tmp_path, monkeypatch):
    root, _, _, _ = places
    model = FileClassifier(**QUICK, motion="none", cache=tmp_path)
    scores = model.fit(root / "train").held_out_.scores
    monkeypatch.setattr("tensorcrp.files.cache.read_clips", None)
    again = model.fit(root / "train").held_out_.scores
    np.testing.assert_array_equal(again, scores)


def test_the_cache_knows_files_that_could_not_be_read(places, tmp_path):
    root = tmp_path / "clips"
    shutil.copytree(places[0] / "train", root)
    first = next((root / "right").iterdir())
    first.write_bytes(first.read_bytes()[:50])
    how = {**QUICK, "motion": "none", "cache": tmp_path / "cache"}
    assert len(FileClassifier(**how, on_error="skip").fit(root).skipped_) == 1
    with pytest.raises(ValueError, match=first.name):
        FileClassifier(**how).fit(root)


def test_without_a_cache_clips_are_a_temporary_map(places, tmp_path, monkeypatch):
    """Which every process maps, and of which nothing is left, also after Ctrl-C."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen = []

    def watched(choice, X, *args):
        seen.append((type(X), len(list(tmp_path.rglob("clips-*.npy")))))
        raise KeyboardInterrupt if len(seen) > 1 else ValueError("stop")

    monkeypatch.setattr("tensorcrp.files.training.chosen_and_held_out", watched)
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            FileClassifier(**QUICK).fit(places[0] / "train")
        assert not list(tmp_path.iterdir())
    assert seen == [(np.memmap, 1)] * 2


# --- arrays, groups, splits -------------------------------------------------------


def arrays(path, n=24, shape=(4, 5), **more):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, *shape)) + y.reshape(-1, *[1] * len(shape))
    np.savez(path, X=X, y=np.array(["no", "yes"])[y], **more)
    return X, y


def test_a_file_of_arrays(tmp_path):
    more = {name: np.arange(24) // 4 for name in ("subject", "times", "channel_names")}
    X, _ = arrays(tmp_path / "a.npz", **more)  # of samples, whatever they are called
    model = FileClassifier(search=GRID, cv=2)
    model.fit(tmp_path / "a.npz", groups="times")
    model.fit(tmp_path / "a.npz", groups="subject")
    assert model.scores_["groups"] == 6 and model.classes_.tolist() == ["no", "yes"]
    np.savez(tmp_path / "new.npz", X=X[:3], y=["no"] * 3, times=more["times"][:3])
    predictions = model.predict_files(tmp_path / "new.npz")
    assert predictions.files == [f"{tmp_path}/new.npz[{i}]" for i in range(3)]
    np.testing.assert_array_equal(predictions.labels, model.predict(X[:3]))
    with pytest.raises(ValueError, match="same unit"):
        model.predict(1e6 * X)


def test_groups_of_a_matlab_file(tmp_path):
    """As for a .npz file of the same arrays."""
    subject = np.arange(24) // 4
    X, y = arrays(tmp_path / "a.npz", subject=subject)
    savemat(tmp_path / "a.mat", {"X": X, "y": y, "subject": subject})
    one, other = (
        FileClassifier(search=GRID, cv=2).fit(tmp_path / name, groups="subject")
        for name in ("a.npz", "a.mat")
    )
    assert one.scores_["groups"] == other.scores_["groups"] == 6
    np.testing.assert_array_equal(one.held_out_.scores, other.held_out_.scores)


def test_new_arrays_may_have_other_names(tmp_path, capsys):
    X, y = arrays(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", signal=np.moveaxis(X, 0, -1), label=y, other=y)
    model = tmp_path / "m"
    save(FileClassifier(search=GRID, cv=2).fit(tmp_path / "a.npz"), model)
    said = failed(["predict", model, tmp_path / "b.npz"], capsys)
    assert "--data X --target y" in said and "['label', 'other', 'signal']" in said
    names = ["--data", "signal", "--target", "label", "--samples", "last"]
    new = [str(model), str(tmp_path / "b.npz")]
    assert cli.main(["predict", *new, *names]) == 0
    out = capsys.readouterr().out
    labels = [line.split()[0] for line in out.splitlines()[1:]]
    assert labels == load(model).predict(X).tolist()
    features = str(tmp_path / "f.npz")
    assert cli.main(["transform", *new, *names, "-o", features]) == 0
    np.testing.assert_array_equal(np.load(features)["X"], load(model).transform(X))
    said = failed(["predict", *new, *names, "--target", "lable"], capsys)
    assert "no variable 'lable'" in said


def test_folders_of_arrays(tmp_path, capsys):
    """One folder per class gives the model of one file with labels."""
    X, y = arrays(tmp_path / "a.npz")
    order = np.argsort(y, kind="stable")
    np.savez(tmp_path / "sorted.npz", X=X[order], y=np.array(["no", "yes"])[y[order]])
    for code, name in enumerate(("no", "yes")):
        (tmp_path / "deep" / name).mkdir(parents=True)
        np.savez(tmp_path / "deep" / name / "1.npz", X=X[y == code][:5])
        np.savez(tmp_path / "deep" / name / "2.npz", X=X[y == code][5:])
    one = FileClassifier(search=GRID, cv=2).fit(tmp_path / "sorted.npz")
    many = FileClassifier(search=GRID, cv=2).fit(tmp_path / "deep")
    np.testing.assert_array_equal(one.held_out_.scores, many.held_out_.scores)
    said = failed(["compare", tmp_path / "deep", "--per-class", "3"], capsys)
    assert "not of images or clips" in said and "tensorcrp fit" in said


@pytest.mark.parametrize("n_files", [3, 4])
def test_samples_of_a_file_stay_together_where_files_have_classes(
    n_files, tmp_path, capsys
):
    """As with a rule that says so; with few files of a class, not every one can."""
    rng, files = np.random.default_rng(0), 2 * n_files
    X = rng.standard_normal((files, 1, 4, 5)) + 0.2 * rng.standard_normal((6, 4, 5))
    for i, samples in enumerate(X):  # the files say nothing of their class
        (tmp_path / "deep" / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / "deep" / "ab"[i % 2] / f"file{i}.npy", samples)
    how = {"search": GRID, "cv": 4, "random_state": 0}
    model = FileClassifier(**how).fit(tmp_path / "deep")
    assert model.scores_["groups"] == (files if n_files == 4 else None)
    if n_files == 4:
        asked = FileClassifier(**how).fit(tmp_path / "deep", groups=r"[ab]/file\d")
        np.testing.assert_array_equal(model.held_out_.scores, asked.held_out_.scores)
        assert model.scores_["accuracy"] < 0.9
    else:
        assert model.scores_["accuracy"] > 0.9  # by other samples of the file
    print_fit(model)
    said = capsys.readouterr().out
    assert f"{6 * files} samples in {files} files of 2 classes, samples of 4" in said


def test_options_of_another_kind_of_files_are_rejected(places, tmp_path, capsys):
    arrays(tmp_path / "a.npz")
    train, out = places[0] / "train", ["-o", tmp_path / "m"]
    said = failed(["fit", train, *out, "--data", "X"], capsys)
    assert "--data X is for arrays, and these files are clips: leave it out" in said
    said = failed(["fit", tmp_path / "a.npz", *out, "--size", "8", "8"], capsys)
    assert "--size 8 8 is for clips and images, and these files are arrays" in said
    said = failed(["predict", places[2], train, "--samples", "last"], capsys)
    assert "--samples last is for arrays" in said


def test_a_model_reads_as_it_was_fitted(places, tmp_path, capsys):
    """Options of the reader may be given again; others than those at fit are errors."""
    root, new, path, _ = places
    kind, files = load(path).model_[0].kind, [str(path), str(root / "new")]
    same = ["--frames", "5", "--size", "8", "8", "--color", "gray", "--motion", kind]
    same += ["--sampling", "uniform", "--groups", r"_(p\d)_"]
    table = tmp_path / "rows.csv"
    assert cli.main(["predict", *files, *same, "--csv", str(table)]) == 0
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert {row["file"]: row["label"] for row in rows} == new
    assert all(f"_{row['group']}_" in row["file"] for row in rows)
    out = tmp_path / "features.csv"
    assert cli.main(["transform", *files, *same, "-o", str(out)]) == 0
    frame = pandas.read_csv(out)
    assert list(frame)[:3] == ["file", "group", "crp0"]
    assert frame["group"].tolist() == [row["group"] for row in rows]
    for option, fitted in {
        "--frames 6": "--frames 5",
        "--size 8 9": "--size 8 8",
        "--color rgb": "--color gray",
        "--stride 3": "no --stride",
        "--sampling windows": "--sampling uniform",
    }.items():
        said = failed(["predict", *files, *option.split()], capsys)
        assert f"{option}, but the model was fitted with {fitted}," in said
    other = "centred" if kind == "none" else "none"
    said = failed(["transform", *files, "-o", out, "--motion", other], capsys)
    assert f"fitted with --motion {kind}," in said


def test_groups_never_lie_on_both_sides():
    y, groups = np.arange(60) % 3, np.arange(60) // 6
    for train, test in splitter(y, groups, 5, 0).split(y, y, groups):
        assert not set(groups[train]) & set(groups[test])


def test_rules_of_groups(tmp_path):
    files = ["a/walk/anna/1.mp4", "a/walk/bo/2.mp4", "a/run/anna/3.mp4"]
    assert file_groups("parent", files).tolist() == ["anna", "bo", "anna"]
    assert file_groups(r"(\d)\.mp4", files).tolist() == ["1", "2", "3"]
    table = tmp_path / "people.csv"
    table.write_text("file,who\n1.mp4,x\nbo/2.mp4,y\na/run/anna/3.mp4,x\n")
    assert file_groups(f"{table}:who", files).tolist() == ["x", "y", "x"]
    assert file_groups(r"(\d)\.mp3|(\d)\.mp4", files).tolist() == ["1", "2", "3"]
    table.write_text("file,group\n1.mp4,x\n1.mp4,x\n2.mp4,y\n3.mp4,x\n2.mp4,z\n")
    for rule, words in {
        "(": "not a regular expression",
        "eva": "does not occur in a/walk/anna/1.mp4",
        f"{table}:who": "no column 'who'",
        str(table): "has 2.mp4 twice, in 'y' and in 'z'; give paths, such as CLASS/2",
        r"mp4|(\d)\.mp3": "no group in parentheses of .* takes part in a/walk/anna/1",
    }.items():
        with pytest.raises(ValueError, match=words):
            file_groups(rule, files)


def test_groups_that_are_classes_are_rejected(places):
    root, _, _, _ = places
    with pytest.raises(ValueError, match="each class into a single group"):
        FileClassifier(**QUICK).fit(root / "train", groups="parent")


def test_train_and_test_folders_are_a_split(tmp_path, capsys):
    clips(tmp_path / "data" / "train", 4, seed=0)
    clips(tmp_path / "data" / "test", 2, seed=2)
    assert train_test_folders(tmp_path / "data") is not None
    model = FileClassifier(**QUICK, motion="difference").fit(tmp_path / "data")
    assert model.classes_.tolist() == ["left", "right"]
    assert model.scores_["test_accuracy"] == 1.0 and model.scores_["test_files"] == 4
    with pytest.raises(ValueError, match="holds a split, not two classes"):
        read_clips(tmp_path / "data")


def test_groups_are_not_on_both_sides_of_given_folders(tmp_path):
    data = tmp_path / "data"
    for half, people in {"train": "abcd", "test": "de"}.items():
        names = [f"{p}_{kind}.mp4" for p in people for kind in ("left", "right")]
        for name in names:
            folder = data / half / name[2:-4]
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
    model = FileClassifier(**QUICK)
    with pytest.raises(ValueError, match="1 of them, such as 'd', have training and"):
        model.fit(data, groups="([a-e])_[lr]")
    table = tmp_path / "people.csv"  # of the training files alone
    rows = [f"{p}_{kind}.mp4,{p}" for p in "abcd" for kind in ("left", "right")]
    table.write_text("\n".join(["file,group", *rows]))
    with pytest.raises(ValueError, match="is empty: copy it again"):
        model.fit(data, groups=f"{table}:group")


@pytest.mark.parametrize("gap", [np.nan, None, ""])
def test_a_missing_group_is_an_error_everywhere(gap, tmp_path):
    """It could be that of a person on the other side of a split."""
    y, who = np.arange(24) % 2, [f"p{i // 2 % 4}" for i in range(24)]
    who[5] = gap
    X = np.random.default_rng(0).standard_normal((24, 4, 5))
    if gap != gap:
        np.savez(tmp_path / "a.npz", X=X, y=y, who=[0.0] * 5 + [np.nan] + [1.0] * 18)
        for run in (
            lambda: FileClassifier(search=GRID).fit(tmp_path / "a.npz", groups="who"),
            lambda: compare_methods(tmp_path / "a.npz", groups="who", per_class=3),
        ):
            with pytest.raises(ValueError, match="has no value for 1 of 24 samples"):
                run()
    with pytest.raises(ValueError, match=r"no value for 1 of 24 .* number 5, counted"):
        check_groups("rule", who, y)
    if gap != "":
        with pytest.raises(ValueError, match="groups has no value for 1 of 24"):
            TensorCRPCV(cv=2).fit(X, y, groups=np.array(who, object))


def test_one_group_of_all_samples_is_rejected():
    with pytest.raises(ValueError, match="all samples into one group, 'a'"):
        check_groups("parent", ["a"] * 6, [0, 1] * 3)


@pytest.mark.parametrize("command", ["fit", "predict", "transform"])
def test_nothing_that_is_read_is_written_over(command, tmp_path, capsys):
    data, model = tmp_path / "a.npz", tmp_path / "m.safetensors"
    arrays(data)
    assert cli.main(["fit", str(data), "-o", str(model), "--folds", "2"]) == 0
    before = data.read_bytes(), model.read_bytes()
    option = "--csv" if command == "predict" else "-o"
    for target in (data, *([] if command == "fit" else [model])):
        if command == "transform" and target == model:
            continue  # its ending is rejected
        given = [data] if command == "fit" else [model, data]
        said = failed([command, *given, option, target], capsys)
        assert f"{option} {target} is one of the files that are read" in said
    assert (data.read_bytes(), model.read_bytes()) == before


def test_labels_of_another_type_are_the_same_labels(tmp_path):
    X, _ = arrays(tmp_path / "a.npz")
    y = np.arange(24) % 2
    np.savez(tmp_path / "a.npz", X=X, y=y)
    model = FileClassifier(search=GRID, cv=2).fit(tmp_path / "a.npz")
    score = model.score(tmp_path / "a.npz", y)
    assert model.score(tmp_path / "a.npz", y.astype(float)) == score > 0.5
    with pytest.raises(ValueError, match="y has no label of the model, but 'False'"):
        model.score(tmp_path / "a.npz", y.astype(bool))
    other = FileClassifier(search=GRID, cv=2).fit(tmp_path / "a.npz", y.astype(float))
    assert other.classes_.tolist() == model.classes_.tolist()


def test_files_of_a_test_folder_are_counted(tmp_path):
    data = tmp_path / "data"
    clips(data / "train", 4, seed=0)
    clips(data / "test", 3, seed=2)
    cut = next((data / "test" / "left").iterdir())
    cut.write_bytes(cut.read_bytes()[:40])
    model = FileClassifier(**QUICK, motion="difference", on_error="skip").fit(data)
    assert model.scores_["test_files"] == 5
    assert [file for file, _ in model.skipped_] == [str(cut)]


def test_a_file_without_samples_is_named(tmp_path, capsys):
    np.savez(tmp_path / "a.npz", X=np.zeros((0, 4, 5)), y=np.zeros(0, int))
    for command in (["fit", "-o", tmp_path / "m"], ["compare"]):
        said = failed([command[0], tmp_path / "a.npz", *command[1:]], capsys)
        assert "a.npz have shape (0, 4, 5)" in said and "n > 0" in said


def test_a_class_that_only_the_test_has_is_rejected_before_work(tmp_path):
    folders(tmp_path / "data", "train/a", "train/b", "test/a", "test/b", "test/zebra")
    with pytest.raises(ValueError, match=r"test has the class zebra, which .*train"):
        FileClassifier(**QUICK).fit(tmp_path / "data")


def folders(root, *names):
    for name in names:
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "a.mp4").touch()
    return root


def test_a_validation_folder_is_left_out_and_said_so(tmp_path):
    data = tmp_path / "data"
    clips(data / "train", 4, seed=0)
    clips(data / "test", 2, seed=2)
    plain = FileClassifier(**QUICK, motion="difference").fit(data)
    folders(data, "val/left", "val/right")
    model = FileClassifier(**QUICK, motion="difference").fit(data)
    assert model.classes_.tolist() == ["left", "right"]
    np.testing.assert_array_equal(model.held_out_.scores, plain.held_out_.scores)
    save(model, tmp_path / "m")
    lines = list(accuracy_lines(load(tmp_path / "m").scores_))
    assert any(line.startswith("val/ folder: left out") for line in lines)
    for name in ("valid", "Validation"):
        (data / "val").rename(data / name)
        assert train_test_folders(data) == (str(data / "train"), str(data / "test"))
        (data / name).rename(data / "val")


def test_a_split_beside_classes_is_one_clear_error(tmp_path, capsys):
    split = ("train/a", "train/b", "test/a", "test/b")
    for i, (names, words) in enumerate(
        [
            ((*split, "walk"), r"train/ and test/, as a split has, beside walk/"),
            (("train/a", "train/b", "walk", "run"), "train/, .* beside run/, walk/"),
            (("train/a", "train/b", "val/a", "val/b"), "without the other"),
            (("train/a", "train/b"), "without the other"),
        ]
    ):
        data = folders(tmp_path / str(i), *names)
        with pytest.raises(ValueError, match=words):
            train_test_folders(data)
        assert str(data) in failed(["fit", data, "-o", tmp_path / "m"], capsys)


def test_a_class_may_be_called_train(tmp_path):
    vehicles = folders(tmp_path / "vehicles", "bus", "car", "train")
    assert train_test_folders(vehicles) is None
    people = folders(tmp_path / "people", "bus/anna", "bus/bo", "train/anna")
    assert train_test_folders(people) is None


def test_a_folder_with_the_name_of_a_built_in_set(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits").mkdir()
    said = failed(["compare", "digits"], capsys)
    assert "built-in data set" in said and f".{os.sep}digits" in said


# --- bad input --------------------------------------------------------------------


def audio_only(path):
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=44100)
        frame = av.AudioFrame.from_ndarray(
            np.zeros((1, 1024), np.float32), format="fltp", layout="mono"
        )
        frame.rate = 44100
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def bad_files(folder, good):
    """Name -> a file that gives no clip."""
    whole = good.read_bytes()
    (folder / "broken.mp4").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.mp4").write_bytes(b"")
    (folder / "notes.txt").write_text("not a video")
    audio_only(folder / "audio.mp4")
    write(folder / "short.mp4", np.zeros((1, 32, 32), np.uint8))
    return ["broken.mp4", "empty.mp4", "notes.txt", "audio.mp4", "short.mp4"]


@pytest.mark.parametrize(
    ("words", "short"),
    [
        ("a (1).npz has fewer than frames=5: pass", "has fewer than 5 frames"),
        ("a (1).npz is bad (E: no (or x): y): copy", "is bad (E: no (or x): y)"),
        ('a (1).npz: y has 5 labels. Pass samples="last".', "y has 5 labels"),
    ],
)
def test_why_a_file_was_skipped_is_short(words, short):
    assert why_skipped("a (1).npz", words) == short


def test_unreadable_files_are_listed_all_at_once(places, tmp_path, capsys):
    root, _, model, _ = places
    names = bad_files(tmp_path, next((root / "train" / "left").glob("*.mp4")))
    good = tmp_path / "good.avi"
    good.write_bytes((root / "new" / "l_p1_1.avi").read_bytes())
    assert cli.main(["predict", str(model), str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].split()[0] == "left" and len(out.splitlines()) == 2
    assert "5 files could not be read" in err
    for name in names:
        assert err.count(str(tmp_path / name)) == 1
    # predict has no --frames: the model says how many there are
    assert "on_error" not in err and "--frames" not in err
    assert f"{tmp_path / 'short.mp4'}: has 1 frame, fewer than 5 frames\n" in err
    assert f"{tmp_path / 'broken.mp4'}: cannot be decoded (" in err
    assert "encode" not in err  # the repair is for errors
    good.unlink()
    said = failed(["predict", model, tmp_path], capsys)
    # files are skipped already: the option would not help
    reason = said.split("no file could be read")[1]
    assert "on-error" not in reason and "--frames" not in reason
    said = failed(["predict", model, tmp_path, "--on-error", "raise"], capsys)
    assert "--on-error skip" in said and str(tmp_path) in said


def test_a_class_that_cannot_be_read_is_not_left_out(tmp_path, capsys):
    """Of images, and of arrays: the model would never answer with that class."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    X, y = arrays(tmp_path / "all.npz")
    kinds = {
        "images": (".png", lambda path: image.new("L", (4, 4)).save(path)),
        "arrays": (".npz", lambda path: np.savez(path, X=X[y == 0])),
    }
    for kind, (suffix, write_one) in kinds.items():
        for place in [f"{c}/{i}{suffix}" for c in "abc" for i in range(4)]:
            path = tmp_path / kind / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"junk") if place[0] == "b" else write_one(path)
        said = failed(["fit", tmp_path / kind, "-o", tmp_path / "m"], capsys)
        first = tmp_path / kind / "b" / f"0{suffix}"
        assert f"no file of the class b can be read, first {first}: cannot" in said
    said = failed(["compare", tmp_path / "images", "--per-class", "3"], capsys)
    assert "images: no file of the class b can be read; replace its files" in said


def test_missing_files_are_listed_among_the_unreadable(
    places, tmp_path, capsys, monkeypatch
):
    _, new, model, _ = places
    good, gone = next(iter(new)), [str(tmp_path / name) for name in ("a.mp4", "b.mp4")]
    assert cli.main(["predict", str(model), gone[0], good, gone[1]]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2 and "2 files could not be read" in err
    monkeypatch.setattr("sys.stdin", StringIO("\n".join([*gone, good])))
    assert cli.main(["predict", str(model), "-"]) == 0
    assert all(err.count(path) == 1 for path in gone)
    err = capsys.readouterr().err
    assert all(err.count(path) == 1 for path in gone)
    (tmp_path / "empty.mp4").touch()
    for paths in (gone, [*gone, str(tmp_path / "empty.mp4")]):
        said = failed(["predict", model, *paths], capsys)
        assert all(said.count(path) == 1 for path in paths)
    said = failed(["predict", model, good, *gone, "--on-error", "raise"], capsys)
    assert gone[0] in said and gone[1] not in said


@pytest.mark.parametrize("suffix", ["png", "npz"])
def test_missing_images_and_arrays(suffix, tmp_path):
    if suffix == "png":
        image = pytest.importorskip("PIL.Image", reason="needs Pillow")
        for i in range(8):
            place = tmp_path / "data" / "ab"[i % 2]
            place.mkdir(parents=True, exist_ok=True)
            image.new("L", (8, 8), 30 * i).save(place / f"{i}.png")
        data, good = tmp_path / "data", tmp_path / "data" / "a" / "0.png"
    else:
        data = good = tmp_path / "a.npz"
        arrays(data)
    model = FileClassifier(search=GRID, cv=2, on_error="skip").fit(data)
    gone = tmp_path / f"gone.{suffix}"
    predictions = model.predict_files([gone, good])
    assert [path for path, _ in predictions.skipped] == [str(gone)]
    np.testing.assert_array_equal(predictions.labels, model.predict(good))


def test_files_that_may_not_be_read(places, tmp_path, capsys):
    if os.geteuid() == 0:
        (tmp_path / "folder.mp4").mkdir()  # root may read everything
        path = tmp_path / "folder.mp4"
    else:
        path = tmp_path / "closed.mp4"
        path.write_bytes(b"x")
        path.chmod(0)
    assert str(path) in failed(["predict", places[2], path], capsys)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data[:-100], "cut|bytes|fit into"),
        (lambda data: data[:3], "shorter|header"),
        (lambda data: data.replace(b'"format":"1.', b'"format":"9.'), "checksum"),
        (lambda data: b"not a model at all", "header"),
    ],
)
def test_damaged_model_files(change, words, places, tmp_path, capsys):
    import re

    path = tmp_path / "model"
    path.write_bytes(change(places[2].read_bytes()))
    for command in (["inspect", path], ["predict", path, tmp_path]):
        said = failed(command, capsys)
        assert str(path) in said and re.search(words, said)


def test_models_of_another_kind_or_a_newer_version(places, tmp_path, capsys):
    from model_files import resigned, split_file

    header, data = split_file(places[2].read_bytes())
    fields = json.loads(header)
    fields["__metadata__"]["format"] = "2.0"
    newer = tmp_path / "newer"
    newer.write_bytes(
        resigned(json.dumps(fields, separators=(",", ":")).encode(), data)
    )
    assert "upgrade tensorcrp" in failed(["predict", newer, tmp_path], capsys)
    X = np.random.default_rng(0).standard_normal((12, 4, 3))
    save(TensorCRP(2).fit(X, np.arange(12) % 3), tmp_path / "crp")
    said = failed(["predict", tmp_path / "crp", tmp_path], capsys)
    assert "holds a TensorCRP" in said and "tensorcrp fit" in said


def test_files_in_an_unknown_class_folder(places, tmp_path, capsys):
    root, _, model, _ = places
    for place in ("left", "jump"):
        (tmp_path / place).mkdir()
        source = root / "new" / "l_p1_1.avi"
        (tmp_path / place / "a.avi").write_bytes(source.read_bytes())
    assert cli.main(["predict", str(model), str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "accuracy: 100.0 % of 1 labelled file\n" in said
    assert "1 file not in a folder" in said
    assert str(tmp_path / "jump") in said and "left, right" in said


@pytest.mark.parametrize("option", ["-o", "--report", "--csv"])
def test_outputs_are_checked_before_work_starts(
    option, places, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(FileClassifier, "fit", None)
    monkeypatch.setattr(FileClassifier, "predict_files", None)
    (tmp_path / "file").write_text("")
    there = tmp_path / "file" / "out"
    train, model = places[0] / "train", places[2]
    command = {
        "-o": ["fit", train, "-o", there],
        "--report": ["fit", train, "-o", tmp_path / "m", "--report", there],
        "--csv": ["predict", model, train, "--csv", there],
    }[option]
    assert str(tmp_path / "file") in failed(command, capsys)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_ctrl_c_leaves_no_file(places, tmp_path, capsys, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("tensorcrp.files.training.chosen_and_held_out", interrupted)
    out = ["-o", str(tmp_path / "model"), "--report", str(tmp_path / "report")]
    code = cli.main(["fit", str(places[0] / "train"), *out, *SMALL])
    assert code == 130 and not list(tmp_path.iterdir())
    assert "interrupted; nothing was written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "missing", "-o", "m"], "missing does not exist"),
        (
            ["fit", "flat", "-o", "-"],
            "-o - is standard output, where the results go; name a file",
        ),
        (["fit", "flat", "-o", "m"], "no subfolder"),
        (["fit", "single", "-o", "m"], "the class a has 1 readable file; at least 4"),
        (["predict", "missing", "flat"], "missing does not exist; check the path"),
        (["fit", "one", "-o", "m"], "folder of its own: folder/class/file."),
        (["fit", "single", "-o", "gone/m"], "gone does not exist; make that folder"),
        (
            ["compare", "full", "--groups", "who.csv:person", "--frames", "5"],
            "--groups 'who.csv' has no row for full/a/2.mp4; add one, or leave the "
            "file out.\n",
        ),
        (
            ["fit", "full", "-o", "m", "--groups", "gone.csv:a"],  # before files
            "--groups 'gone.csv': there is no such table; check the path",
        ),
        (
            ["fit", "full", "-o", "m", "--groups", "who.csv"],
            "--groups 'who.csv' has no column 'group'; it has file, person. A table",
        ),
        (["transform", "m", "flat", "-o", "features.txt"], ".npz, .csv, .parquet"),
    ],
)
def test_requests_that_cannot_be_met(arguments, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flat").mkdir()
    write(tmp_path / "flat" / "a.mp4", np.zeros((9, 32, 32), np.uint8))
    for i, place in enumerate(["single/a", "single/b", "single/b"]):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        source = (tmp_path / "flat" / "a.mp4").read_bytes()
        (tmp_path / place / f"{i}.mp4").write_bytes(source)
    (tmp_path / "one" / "only").mkdir(parents=True)
    (tmp_path / "one" / "only" / "a.mp4").write_bytes(source)
    (tmp_path / "who.csv").write_text("file,person\n0.mp4,anna\n")
    for i in range(8):
        (tmp_path / "full" / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        (tmp_path / "full" / "ab"[i % 2] / f"{i}.mp4").write_bytes(source)
    small = SMALL if arguments[0] == "fit" else []
    assert words in failed([*arguments, *small], capsys)


def test_measured_values_are_no_classes(tmp_path, capsys):
    path = tmp_path / "sizes.npz"
    np.savez(path, X=np.ones((9, 4, 3)), y=np.arange(9) / 7)
    said = failed(["fit", path, "-o", tmp_path / "m"], capsys)
    assert (
        "every sample has a label of its own, such as 0.0: labels must be classes"
        in said
    )


def test_motion_of_one_time_names_the_option(tmp_path, capsys):
    arrays(tmp_path / "a.npz", shape=(1, 5))
    command = ["fit", tmp_path / "a.npz", "-o", tmp_path / "m", *SMALL[5:]]
    said = failed([*command, "--motion", "difference"], capsys)
    assert "--motion difference needs two times or more, but mode 0" in said
    assert said.endswith("; take --motion none.\n") and "kind=" not in said


def test_usage_is_for_errors_of_usage_alone(places, tmp_path, capsys):
    said = failed(["predict", places[2], tmp_path / "missing"], capsys)
    assert said.startswith("tensorcrp predict: error:") and "usage:" not in said
    assert "usage:" in failed(["predict", places[2], tmp_path, "--nonsense"], capsys)


def test_a_file_in_the_way_of_a_folder_names_the_option(places, tmp_path, capsys):
    root, _, model, _ = places
    taken, out = tmp_path / "m.crp", tmp_path / "out.crp"
    taken.write_text("")
    for option in ("--report", "--cache"):
        said = failed(["fit", root / "train", "-o", out, option, taken], capsys)
        assert f"{option} {taken} is a file; give the path of a folder" in said
    said = failed(["predict", model, root / "new", "--cache", taken], capsys)
    assert f"--cache {taken} is a file" in said
    said = failed(["fit", root / "train", "-o", out, "--report", out], capsys)
    assert f"--report {out}" in said and "give two paths" in said
    assert [each.name for each in tmp_path.iterdir()] == ["m.crp"]


def test_arrays_are_samples_and_not_files(tmp_path, capsys):
    X, y = arrays(tmp_path / "a.npz")
    model, report = tmp_path / "m", tmp_path / "report"
    command = ["fit", tmp_path / "a.npz", "-o", model, "--report", report]
    assert cli.main([*map(str, command), "--folds", "2", "--jobs", "1"]) == 0
    assert cli.main(["predict", str(model), str(tmp_path / "a.npz")]) == 0
    assert cli.main(["inspect", str(model)]) == 0
    out, err = capsys.readouterr()
    assert "24 samples of 2 classes" in out and "of 24 labelled samples" in err
    for text in (out, err, (report / "report.html").read_text()):
        assert "files" not in text.replace("fitted on files", "")
    X[5, 1] = np.nan
    np.savez(tmp_path / "nan.npz", X=X, y=y)
    for command in (["fit", "-o", model], ["predict", model]):
        said = failed([*command, tmp_path / "nan.npz"], capsys)
        assert f"{tmp_path / 'nan.npz'}: sample 5 has NaN" in said


@pytest.mark.parametrize("missing", [np.nan, "", b" "])
def test_missing_labels_in_a_file_are_no_class(missing, tmp_path, capsys):
    X, y = arrays(tmp_path / "a.npz")
    model, some = tmp_path / "m", tmp_path / "some.npz"
    kind = {float: float, str: "U3", bytes: "S3"}[type(missing)]
    np.savez(tmp_path / "a.npz", X=X, y=y.astype(kind))
    labels = y.astype(kind)
    labels[5:9] = missing
    np.savez(some, X=X, y=labels)
    said = failed(["fit", some, "-o", model], capsys)
    assert f"4 of 24 samples have no label, first {some}[5]: leave" in said
    said = failed(["compare", some, "--per-class", "3"], capsys)
    assert "4 of 24 samples have no label, first sample 5; leave" in said
    fitted = FileClassifier(search=GRID, cv=2).fit(tmp_path / "a.npz")
    assert fitted.classes_.tolist() == ["0", "1"]
    truth = [None if 5 <= i < 9 else str(c) for i, c in enumerate(y)]
    assert fitted.predict_files(some).truth == truth


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"size": 16}, r"size must be \(height, width\).* got 16"),
        ({"size": (8, 0)}, r"size\[1\] must be an integer of at least 1"),
        ({"search": TensorCRP()}, "search must be an instance of TensorCRPCV"),
    ],
)
def test_bad_parameters_are_named_before_any_file(parameters, words):
    with pytest.raises((ValueError, TypeError), match=words):
        FileClassifier(**parameters).fit("nowhere")


@pytest.mark.parametrize("missing", [None, np.nan, pandas.NA])
def test_missing_labels_of_files_are_no_class(missing, tmp_path):
    arrays(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"y has no label for .*a\.npz\[3\]"):
        y = ["a", "b", "a", missing] * 6
        FileClassifier(search=GRID, cv=2).fit(tmp_path / "a.npz", y)


def held_out(scores, truth, are_probabilities=True):
    classes = np.array(["a", "b"])
    files = [f"{i}.mp4" for i in range(len(scores))]
    return Predictions(files, np.array(scores), classes, are_probabilities, truth)


def test_surprising_files_are_the_least_likely_of_their_own_class(capsys):
    """All right, or one wrong: five files all the same, the wrong one called so."""
    shares = np.linspace(0.55, 0.95, 8)
    scores = np.column_stack([shares, 1 - shares])
    right = held_out(scores, ["a"] * 8)
    assert surprising(right) == [0, 1, 2, 3, 4]
    wrong = held_out(scores, ["a"] * 7 + ["b"])
    assert surprising(wrong) == [7, 0, 1, 2, 3]
    lines = []
    for each in (right, wrong):
        print_surprises(each, "file")
        lines.append(capsys.readouterr().out.splitlines())
    assert "0 of 8 held-out files were labelled wrongly." in lines[0]
    assert lines[0][-5].split() == ["55.0", "%", "a", "0.mp4"]
    assert not any("->" in line for line in lines[0][-5:])
    assert lines[1][-5].split() == ["5.0", "%", "b", "->", "a", "7.mp4"]
    distances = held_out(scores - 5, ["a"] * 7 + ["b"], are_probabilities=False)
    assert surprising(distances) == [7, 0, 1, 2, 3]


def test_letters_of_two_columns_and_accents_of_none(capsys):
    """Where names of folders are Chinese, or accents are letters, as macOS has them."""
    names = np.array(["abc", "e\u0301te\u0301", "雪山"])
    assert confusion_text(names, np.diag([7, 8, 1000])).splitlines() == [
        "      abc  e\u0301te\u0301  雪山",
        "abc     7    .     .",
        "e\u0301te\u0301     .    8     .",
        "雪山    .    .  1000",
    ]
    print_predictions(Predictions(["a", "b"], np.eye(3)[:2], names[[2, 0, 1]], True))
    assert capsys.readouterr().out.splitlines() == [
        "label  prob    second  file",
        "雪山   1.0000  abc     a",
        "abc    1.0000  雪山    b",
    ]
    assert shortened("雪" * 12, 15) == "..." + "雪" * 6
    text = Table("t", ["雪山", "b"], [["a", "c"]]).text()
    assert text.splitlines()[2:] == ["雪山  b", "-------", "a     c"]


@pytest.mark.parametrize("name", ["{}", "class {}", "a name of many letters, {}"])
@pytest.mark.parametrize("c", [2, 9, 12, 22, 40, 150])
def test_any_number_of_classes_fits_80_columns(c, name):
    """Few are a table; of many there are the right ones and the commonest mistakes."""
    confusion = np.random.default_rng(0).integers(0, 3, (c, c)) + 90 * np.eye(
        c, dtype=int
    )
    lines = confusion_text([name.format(i) for i in range(c)], confusion).splitlines()
    assert len(lines) == c + 1 and max(map(len, lines)) <= 80
    if "taken for" not in lines[0]:
        cells = [re.split(r" {2,}", line)[1:] for line in lines[1:]]
        assert [[int(n.replace(".", "0")) for n in row] for row in cells] == (
            confusion.tolist()
        )
        return
    for row, line in zip(confusion, lines[1:], strict=True):
        found = re.search(r"  +(\d+)  +(\d+)  (.*)", line)
        assert [int(found[1]), int(found[2])] == [row.max(), row.sum()]
        first = int(re.search(r" (\d+)(,|$)", found[3])[1])
        assert first == np.sort(row)[-2]


def test_fewer_folds_than_asked_for_are_explained():
    """No more than the smallest class has samples, or groups of samples."""
    scores = {"accuracy": 0.9, "files": 20, "chance": 0.5, "majority": 0.6}
    scores |= {"folds": 8, "groups": None, "test_accuracy": None}
    scores["fewest"] = 8
    said = "\n".join(accuracy_lines(scores, "clip"))
    assert "8 folds\n  as many folds as the smallest class has clips\n" in said
    said = "\n".join(accuracy_lines(scores | {"groups": 20}, "clip"))
    assert "together\n  as many folds as the smallest class has groups\n" in said
    assert "smallest" not in "\n".join(accuracy_lines(scores | {"folds": 5}, "clip"))
    codes, groups = np.array([0, 0, 0, 1, 1, 1, 1]), np.array([0, 0, 1, 2, 3, 4, 4])
    assert fewest_in_a_class(codes, None) == 3
    assert fewest_in_a_class(codes, groups) == 2


def test_near_chance_is_said(tmp_path, capsys):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "a.npz", X=rng.standard_normal((30, 3, 4)), y=np.arange(30) % 2)
    model = ["-o", str(tmp_path / "m"), "--folds", "2", "--jobs", "1"]
    assert cli.main(["fit", str(tmp_path / "a.npz"), *model]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "near chance" in said and "--motion" in said and "->" in said
    few = {"files": 6, "majority": 0.5}
    assert is_near_chance(few | {"accuracy": 5 / 6})
    assert not is_near_chance(few | {"accuracy": 1.0})
    # As the interval that is printed: 60 to 98 %.
    assert not is_near_chance({"files": 10, "majority": 0.5, "accuracy": 0.9})


def test_a_classifier_without_probabilities(tmp_path):
    X, _ = arrays(tmp_path / "a.npz")
    for name in ("linear-svm", "1-nn"):
        model = FileClassifier(name, search=GRID, cv=2).fit(tmp_path / "a.npz")
        row = model.predict_files(X[:2]).rows()[0]
        assert row["probability"] == "" and bool(row["second"]) == (name != "1-nn")
        with pytest.raises(AttributeError, match="no probabilities"):
            model.predict_proba(X)


def test_probabilities_are_as_sure_as_held_out_files_allow(tmp_path):
    """Of labels without any pattern, no file is nearly certain."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, 6, 5)), np.arange(40) % 2
    np.savez(tmp_path / "a.npz", X=X, y=y)
    model = FileClassifier(search=GRID, cv=2).fit(tmp_path / "a.npz")
    held_out = model.held_out_.scores
    assert np.median(held_out.max(axis=1)) < 0.8
    np.testing.assert_allclose(held_out.sum(axis=1), 1)
    shares = model.predict_proba(X[:5])
    labels = model.classes_[shares.argmax(axis=1)]
    assert labels.tolist() == [str(code) for code in model.model_.predict(X[:5])]


def test_how_sure_does_not_depend_on_the_units_of_a_model():
    rng, codes = np.random.default_rng(0), np.arange(60) % 3
    own, owner, units = np.eye(3)[codes], np.arange(60), np.logspace(3, 7, 60)
    spreads = np.full(60, 9.0)
    logs = 900 * (own + 0.4 * rng.standard_normal((60, 3)))
    share = best_share(logs, 100 * spreads, owner, codes)
    found = tempered(logs, temperatures(share, 100 * spreads))
    scaled = logs * units[:, None], 100 * spreads * units
    assert best_share(*scaled, owner, codes) == share
    np.testing.assert_allclose(
        tempered(scaled[0], temperatures(share, scaled[1])), found, atol=1e-12
    )
    assert 0.6 < found.max(axis=1).mean() < 0.95  # as sure as they are right
    # Sixty right answers are no proof: as if two more had come, and one were wrong.
    logs, spread = 900 * own, np.full(60, spread_of(900 * own))
    share = best_share(logs, spread, owner, codes)
    certain = tempered(logs, temperatures(share, spread)).max(axis=1)
    np.testing.assert_allclose(certain, 1 - 1 / 62, atol=0.02)
    # Never surer than the classifier itself.
    assert temperatures(share, 1e-3) == 1.0 and spread_of(np.ones((2, 3))) == 1.0


def test_a_class_that_no_fold_knows_makes_no_file_less_sure(tmp_path):
    """All of it is in one group: no model can know it and be asked for it."""
    y, people = np.arange(36) % 3, np.arange(36) // 3 % 4
    X = np.random.default_rng(0).standard_normal((36, 4, 5)) + 2 * np.eye(4, 5)[y, None]
    people[y == 0] = 9
    np.savez(tmp_path / "a.npz", X=X, y=y, person=people)
    for classifier, least in (("lda", 0.8), ("linear-svm", 0)):
        model = FileClassifier(classifier, search=GRID, cv=2)
        held_out = model.fit(tmp_path / "a.npz", groups="person").held_out_
        assert held_out.scores[y == 0].argmax(axis=1).min() > 0  # nobody knew it
        assert np.isfinite(held_out.scores).all()
        scores = model.predict_files(X).scores
        assert (scores.argmax(axis=1) == y).mean() > 0.9
        assert np.median(scores.max(axis=1)) > least


def test_nearest_means_of_every_kind_predict_as_they_are(tmp_path):
    y = np.arange(36) % 3
    X = np.random.default_rng(0).standard_normal((36, 4, 5)) + 2 * np.eye(4, 5)[y, None]
    np.savez(tmp_path / "a.npz", X=X, y=y)
    for classifier in (
        NearestCentroid(),
        NearestCentroid(priors="empirical"),
        NearestCentroid(metric="manhattan"),
    ):
        model = FileClassifier(classifier, search=GRID, cv=2).fit(tmp_path / "a.npz")
        labels = model.classes_[model.model_.predict(X)]
        found = np.asarray(model.predict_files(X).labels)
        assert (found == labels).mean() > 0.9, classifier


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_scores_of_pairs_of_classes_are_not_scores_of_classes(n_classes, tmp_path):
    y = np.arange(12 * n_classes) % n_classes
    X = np.random.default_rng(0).standard_normal((len(y), 4, 5))
    X += 2 * np.eye(4, 5)[y, None]
    np.savez(tmp_path / "a.npz", X=X, y=y)
    svm = SVC(decision_function_shape="ovo")
    model = FileClassifier(svm, search=GRID, cv=2).fit(tmp_path / "a.npz")
    assert model.held_out_.scores.shape == (len(y), n_classes)
    labels = model.classes_[model.model_.predict(X)]
    assert (np.asarray(model.predict_files(X).labels) == labels).all()
    assert model.scores_["accuracy"] > 0.8


def test_a_model_file_that_is_cut_off_says_what_to_do(places, tmp_path, capsys):
    root, _, model, _ = places
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(model.read_bytes()[:-100])
    said = failed(["predict", cut, root / "new"], capsys)
    assert f"{cut}: the file is cut off" in said and "Copy it again" in said
    cut.write_bytes(model.read_bytes()[:3000])
    other = next((root / "train" / "left").glob("*.mp4"))
    for path in (cut, other):
        said = failed(["predict", path, root / "new"], capsys)
        assert str(path) in said and "not a model of tensorcrp, or only the" in said
        assert "Copy it again" in said


def test_arrays_without_labels_name_the_option(tmp_path, capsys):
    np.savez(tmp_path / "a.npz", X=np.random.default_rng(0).normal(size=(12, 4, 3)))
    said = failed(["fit", tmp_path / "a.npz", "-o", tmp_path / "m"], capsys)
    assert "pass --target for a file of arrays" in said


def test_help_fits_80_columns(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    for command in ("fit", "predict", "transform", "inspect", "compare"):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 80, command
