"""From files to names: fit, predict, transform and inspect on real video files.

Clips are written by PyAV itself: H.264 in mp4 and Motion JPEG in avi, of different
sizes, lengths and rates. A light moves right or left over a static scene.
"""

import csv
import json
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from tensorcrp import TensorCRP, TensorCRPCV, cli
from tensorcrp.files import FileClassifier, file_groups
from tensorcrp.files.choosing import splitter
from tensorcrp.persistence import describe, export_onnx, load, save
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
    """Training clips, new unlabelled ones, and a model fitted in another process."""
    root = tmp_path_factory.mktemp("clips")
    clips(root / "train", 6, seed=0)
    new = clips(root / "new", 3, seed=1, labelled=False)
    model = root / "model.safetensors"
    command = ["fit", "train", "-o", model.name, *SMALL, "--report", "report"]
    done = tensorcrp(*command, cwd=root)
    assert done.returncode == 0, done.stderr
    return root, new, model, done.stdout


def tensorcrp(*arguments, cwd=None, text=None):
    """The command in a process of its own."""
    command = [sys.executable, "-m", "tensorcrp.cli", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, input=text)


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


def test_one_file_at_a_time_and_names_from_a_pipe(places, capsys):
    _, new, path, _ = places
    model = load(path)
    together = model.predict_proba(list(new))
    for file, scores in zip(new, together, strict=True):
        np.testing.assert_allclose(model.predict_proba(file)[0], scores, rtol=1e-4)
        assert model.predict([file])[0] == new[file]
    text = "\n".join(new) + "\n"
    done = tensorcrp("predict", str(path), "-", text=text)
    lines = [line.split() for line in done.stdout.splitlines()[1:]]
    assert {line[-1]: line[0] for line in lines} == new


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


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_transform_writes_features_with_names(suffix, places, tmp_path, capsys):
    root, new, path, _ = places
    out = tmp_path / f"features{suffix}"
    assert cli.main(["transform", str(path), str(root / "new"), "-o", str(out)]) == 0
    exact = load(path).transform(root / "new")
    if suffix == ".npz":
        found = np.load(out)
        np.testing.assert_array_equal(found["X"], exact)
        assert found["files"].tolist() == sorted(new)
        assert found["feature_names"][0] == "crp0"
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


def test_the_report_needs_nothing_beside_it(places):
    root, _, _, _ = places
    text = (root / "report" / "report.html").read_text()
    assert text.count('src="data:image/png;base64,') >= 3
    assert "http" not in text.replace("http-equiv", "")
    for words in ("Accuracy", "chance", "Confusion", "Projections", "tensorcrp fit"):
        assert words in text


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
    plain = FileClassifier(**QUICK, motion="none").fit(root / "train")
    np.testing.assert_array_equal(plain.held_out_.scores, scores)


# --- arrays, groups, splits -------------------------------------------------------


def arrays(path, n=24, shape=(4, 5), **more):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, *shape)) + y.reshape(-1, *[1] * len(shape))
    np.savez(path, X=X, y=np.array(["no", "yes"])[y], **more)
    return X, y


def test_a_file_of_arrays(tmp_path):
    X, _ = arrays(tmp_path / "a.npz", subject=np.arange(24) // 4)
    model = FileClassifier(search=GRID, cv=2)
    model.fit(tmp_path / "a.npz", groups="subject")
    assert model.scores_["groups"] == 6 and model.classes_.tolist() == ["no", "yes"]
    np.savez(tmp_path / "new.npz", X=X[:3])
    predictions = model.predict_files(tmp_path / "new.npz")
    assert predictions.files == [f"{tmp_path}/new.npz[{i}]" for i in range(3)]
    np.testing.assert_array_equal(predictions.labels, model.predict(X[:3]))
    with pytest.raises(ValueError, match="same unit"):
        model.predict(1e6 * X)


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
    for rule, words in {
        "(": "not a regular expression",
        "eva": "does not occur in a/walk/anna/1.mp4",
        str(table): "no column 'group'",
    }.items():
        with pytest.raises(ValueError, match=words):
            file_groups(rule, files)


def test_groups_that_are_classes_are_rejected(places):
    root, _, _, _ = places
    with pytest.raises(ValueError, match="every class one group"):
        FileClassifier(**QUICK).fit(root / "train", groups="parent")


def test_train_and_test_folders_are_a_split(tmp_path, capsys):
    clips(tmp_path / "data" / "train", 4, seed=0)
    clips(tmp_path / "data" / "test", 2, seed=2)
    assert train_test_folders(tmp_path / "data") is not None
    model = FileClassifier(**QUICK).fit(tmp_path / "data")
    assert model.classes_.tolist() == ["left", "right"]
    assert model.scores_["test_accuracy"] == 1.0 and model.scores_["test_files"] == 4
    with pytest.raises(ValueError, match="holds a split, not two classes"):
        read_clips(tmp_path / "data")


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
    assert "on_error" not in err and "--frames 1" in err
    good.unlink()
    assert "no file could be read" in failed(["predict", model, tmp_path], capsys)
    said = failed(["predict", model, tmp_path, "--on-error", "raise"], capsys)
    assert "--on-error skip" in said and str(tmp_path) in said


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
    assert "accuracy: 100.0 % of 1 labelled files" in said
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

    monkeypatch.setattr("tensorcrp.files.training.held_out_scores", interrupted)
    model = tmp_path / "model"
    code = cli.main(["fit", str(places[0] / "train"), "-o", str(model), *SMALL])
    assert code == 130 and not list(tmp_path.iterdir())
    assert "interrupted; nothing was written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "missing", "-o", "m"], "missing does not exist"),
        (["fit", "flat", "-o", "m"], "no subfolder"),
        (["fit", "single", "-o", "m"], "has 1 readable files; at least 4"),
        (["predict", "missing", "flat"], "missing"),
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
    small = SMALL if arguments[0] == "fit" else []
    assert words in failed([*arguments, *small], capsys)


def test_near_chance_is_said(tmp_path, capsys):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "a.npz", X=rng.standard_normal((30, 3, 4)), y=np.arange(30) % 2)
    model = ["-o", str(tmp_path / "m"), "--folds", "2", "--jobs", "1"]
    assert cli.main(["fit", str(tmp_path / "a.npz"), *model]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "near chance" in said and "--motion" in said and "->" in said


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
