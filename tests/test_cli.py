"""The command: it runs, says the truth, and refuses what makes no sense."""

import html
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

from tensorcrp import cli
from tensorcrp.base.results import parse_rows
from tensorcrp.datasets import load_digits, make_moving_shapes
from tensorcrp.experiments import (
    bench,
    compare,
    data,
    figures,
    folder_cache,
    options,
    output,
)
from tensorcrp.experiments.compare import compare_methods
from tensorcrp.experiments.comparison_tables import tables_of
from tensorcrp.experiments.data import load_data
from tensorcrp.experiments.methods import library_methods
from tensorcrp.experiments.paper import plans
from tensorcrp.experiments.paper import run as reproduce
from tensorcrp.experiments.random_splits import split
from tensorcrp.experiments.runs import run_all
from tensorcrp.experiments.summaries import ResultRows
from tensorcrp.preprocessing import Motion
from tensorcrp.video import read_clips


@pytest.fixture
def data_file(tmp_path, make_samples):
    X, y = make_samples((4, 3), n=40, n_classes=3, seed=1)
    path = tmp_path / "small.npz"
    np.savez(path, X=X, y=y)
    return str(path)


@pytest.fixture
def few(monkeypatch):
    """Four methods stand for all."""
    names = ("TensorCRP", "RidgeLDA", "MPCA", "raw")
    some = {name: library_methods()[name] for name in names}
    monkeypatch.setattr(compare, "chosen_methods", lambda names, default: list(some))
    return some


def small(path, *more):
    return ["compare", path, "--repeats", "2", "--jobs", "1", "--per-class", "3", *more]


@pytest.mark.slow
def test_compare_prints_every_method(data_file, capsys):
    assert cli.main(small(data_file)) == 0
    out = capsys.readouterr().out
    words = " ".join(out.split())
    assert "3 per class to train" in words and "2 random splits" in words
    for name in library_methods():
        assert re.search(rf"^{name} +\d+\.\d \+- \d+\.\d", out, re.MULTILINE), name


def test_compare_writes_rows_tables_figures_and_a_report(compared):
    out = compared.out
    rows, damaged = parse_rows((out / "rows.jsonl").read_text())
    assert len(rows) == 2 * 2 * len(compared.methods) and not damaged
    for name in ("tables.md", "tables.tex"):
        assert "RidgeLDA" in (out / name).read_text()
    assert len(list((out / "tables").glob("*.csv"))) == 2
    names = {path.stem for path in (out / "figures").iterdir()}
    for name in names:
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (out / "figures" / f"{name}.svg").read_bytes()
    assert len(names) == 4
    report = (out / "report.html").read_text()
    assert report.count("<svg") == 4
    assert not re.search(r'(src|href)="(?!data:)', report)  # nothing beside the file
    before = undated(out)
    assert cli.main(compared.command) == 0
    assert undated(out) == before


def undated(folder):
    """Contents of all files of a folder, without the time on their pages."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    time = rb"\d{4}-\d\d-\d\d \d\d:\d\d [^<]*"
    return {path: re.sub(time, b"", path.read_bytes()) for path in paths}


def test_a_class_too_small_is_named_before_any_run(
    tmp_path, make_samples, capsys, monkeypatch
):
    X, _ = make_samples((4, 3), n=30)
    path = tmp_path / "birds.npz"
    np.savez(path, X=X, y=np.repeat(["owl", "rook", "wren"], [14, 12, 4]))
    monkeypatch.setattr(compare, "run_all", _refuse)
    for size in ("4", "5", "20%"):
        with pytest.raises(SystemExit) as stop:
            cli.main(["compare", str(path), "--per-class", "3", size])
        err = " ".join(capsys.readouterr().err.split())
        assert stop.value.code == 2
        assert "class wren has 4 samples" in err and "--per-class" in err


def test_a_file_that_was_written_again_is_read_again(tmp_path):
    """In one session, as of a notebook: accuracies are those of the new samples."""
    y = np.arange(24) % 2
    noise = np.random.default_rng(0).standard_normal((24, 3, 4))
    how = {"methods": ["RidgeLDA"], "per_class": 5, "repeats": 2}
    rows = []
    for X in (noise, noise + 100 * y[:, None, None]):
        np.savez(tmp_path / "a.npz", X=X, y=y)
        rows += compare_methods(str(tmp_path / "a.npz"), **how)
    wrong = [row["n_test"] - max(row["classifiers"]["1-NN"]["right"]) for row in rows]
    assert min(wrong[:2]) > 0 and wrong[2:] == [0, 0]


def test_the_usual_sizes_are_those_that_classes_allow(tmp_path, capsys):
    """Ten clips of each class cannot give ten for training, and some for test."""
    X, y = np.random.default_rng(0).random((20, 3, 4)), np.arange(20) % 2
    path = tmp_path / "a.npz"
    for n, sizes in ((20, [5]), (24, [5, 10])):
        some = np.arange(n) % 20
        np.savez(path, X=X[some], y=y[some])
        rows = compare_methods(str(path), methods=["raw"], repeats=2)
        assert sorted({row["train"] for row in rows}) == sizes
        said = capsys.readouterr().err
        assert ("10 per class are left out" in said) == (sizes == [5])
    np.savez(path, X=X[:8], y=y[:8])
    with pytest.raises(ValueError, match="too few for 5 training samples"):
        compare_methods(str(path), methods=["raw"])
    with pytest.raises(ValueError, match="too few for 10 training samples"):
        compare_methods(str(path), methods=["raw"], per_class=(3, 10))


@pytest.mark.parametrize("size", [1, 0.005, 0.001])
def test_one_training_sample_of_a_class_is_too_few(size):
    words = (
        r"class 0 has 178 samples.*but [01] would be.*at least 2.*larger --per-class"
    )
    with pytest.raises(ValueError, match=words):
        compare_methods("digits", methods=["raw"], per_class=size)


def test_data_that_no_method_takes_is_named_before_any_run(
    tmp_path, capsys, monkeypatch
):
    path = tmp_path / "nan.npz"
    np.savez(path, X=np.full((20, 4, 3), np.nan), y=np.arange(20) % 2)
    monkeypatch.setattr(compare, "run_all", _refuse)
    with pytest.raises(SystemExit):
        cli.main(small(str(path)))
    assert "NaN" in capsys.readouterr().err


def test_compare_fails_if_every_run_was_skipped(data_file, capsys, few, monkeypatch):
    def skipping(plan, store, jobs):
        return [{**run.spec(), "skipped": "no reason"} for run in plan]

    monkeypatch.setattr(compare, "run_all", skipping)
    assert cli.main(small(data_file)) == 1
    said = capsys.readouterr()
    assert "all methods: no reason" in said.out and "every run was skipped" in said.err


def test_figures_have_names_of_their_own():
    long = "a/folder/with/a/long/name/as/projects/have/them/and/so/on/2026/"
    names = [long + "first", long + "second", "a/b", "a_b", "a.b", "b\udcff", "", "/"]
    files = [output.file_name(name) for name in names]
    assert len(set(files)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9._]{1,60}", name) for name in files)
    assert output.file_name("digits") == "digits"


def test_the_report_names_the_command_as_it_is_typed(data_file, tmp_path):
    """Results of Python have none: not that of the process, e.g. of a notebook."""
    path, out = tmp_path / "my data.npz", tmp_path / "out"
    os.link(data_file, path)
    command = ["compare", str(path), "--methods", "raw", "--jobs", "1"]
    assert cli.main([*command, "--per-class", "3", "--out", str(out)]) == 0
    shown = re.search("<code>(.*?)</code>", (out / "report.html").read_text())[1]
    assert shlex.split(html.unescape(shown))[: len(command) + 1] == [
        "tensorcrp",
        *command,
    ]
    compare_methods(str(path), methods=["raw"], per_class=3, repeats=2, out=out)
    assert "<code>" not in (out / "report.html").read_text()


def test_figures_of_a_classifier_that_no_method_has_are_left_out(data_file, tmp_path):
    methods = ["--methods", "TensorCRPCV, short"]
    assert cli.main(small(data_file, *methods, "--out", str(tmp_path / "out"))) == 0
    names = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    assert names and not any("SVM" in name for name in names)


ODD = ("a$b_{$x^\n\udcff.npz", "c" * 90 + "1.npz", "c" * 90 + "2.npz")


@pytest.mark.skipif(sys.platform == "win32", reason="names that POSIX alone allows")
def test_odd_paths_get_tables_figures_and_a_report(
    data_file, tmp_path, capsys, monkeypatch
):
    paths = [str(tmp_path / name) for name in ODD]
    try:
        for path in paths:
            os.link(data_file, path)
    except OSError:
        pytest.skip("the file system has no such names")
    out = tmp_path / "results"
    command = ["compare", *paths, "--repeats", "2", "--jobs", "1", "--per-class", "3"]
    command += ["--methods", "raw", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["tensorcrp", *command])  # is on the page
    assert cli.main() == 0
    assert len(list((out / "figures").glob("*.png"))) == 2 * len(paths)
    assert (out / "report.html").read_text().count("<svg") == 2 * len(paths)
    printed = capsys.readouterr().out
    assert r"a$b_{$x^\n\udcff.npz" in printed


def test_labels_of_figures_are_no_formulas():
    figure, axes = figures.new_figure()
    text = axes.set_title(figures.label("a$b_{$x^"))
    figures.image(figure, "png")
    assert text._preprocess_math(text.get_text()) == ("a$b_{$x^", False)
    assert len(figures.label("a" * 100)) == figures.LONGEST_LABEL


def test_compare_takes_shares():
    assert [options.training_size(t) for t in ("3", "0.8", "80%")] == [3, 0.8, 0.8]


def test_without_arguments_it_is_digits_and_a_made_video_set():
    images, clips = (data.load_data(name) for name in compare.DEFAULT_DATA)
    assert images.X.shape == load_digits().data.shape
    assert clips.X.ndim == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "command"),
        (["compar"], "compare"),
        (["compare", "--per-class", "2"], "at least 3"),
        (["compare", "--per-class", "x"], "got 'x'"),
        (["compare", "--per-class", "1.5"], "between 0 and 1"),
        (["compare", "--repeats", "1"], "at least 2"),
        (["compare", "--jobs", "0"], "at least 1"),
        (["compare", "digitz"], "Did you mean digits"),
        (["compare", "nowhere/x.npz"], "does not exist"),
        (["compare", "uuim"], "not a public download"),
        (["reproduce", "convergense"], "Did you mean convergence"),
        (["reproduce", "rank", "--only", "usp"], "Did you mean usps"),
        (["reproduce", "tensors", "--only", "usps"], "gait_usf"),
        (["reproduce", "--data", "nowhere"], "nowhere"),
    ],
)
def test_bad_arguments_are_named(arguments, words, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TENSORCRP_DATA", raising=False)
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert "TENSORCRP_DATA" not in os.environ


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("fit clips -o m --framez 3", "--framez 3; did you mean --frames?"),
        ("compare --methodz=raw digits", "--methodz=raw; did you mean --methods?"),
        ("inspect a b", "unrecognized arguments: b\n"),
    ],
)
def test_an_unknown_option_is_an_error_of_its_command(arguments, words, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments.split())
    said = capsys.readouterr().err
    command = arguments.split()[0]
    assert ended.value.code == 2 and said.startswith(f"usage: tensorcrp {command}")
    assert f"tensorcrp {command}: error: unrecognized" in said and words in said


@pytest.mark.parametrize("command", [["compare"], ["reproduce", "rank"]])
def test_folder_that_cannot_be_written_is_refused_first(
    command, tmp_path, capsys, monkeypatch
):
    monkeypatch.delenv("TENSORCRP_DATA", raising=False)
    file = tmp_path / "file"
    file.write_text("")
    for module in (compare, reproduce):
        monkeypatch.setattr(module, "run_all", _refuse)
    with pytest.raises(SystemExit) as stop:
        cli.main([*command, "--out", str(file / "results")])
    assert stop.value.code == 2
    assert "cannot write to the folder" in capsys.readouterr().err


def _refuse(*args):
    raise AssertionError("work has started")


def test_missing_matplotlib_is_said_first(data_file, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(compare, "run_all", _refuse)
    with pytest.raises(SystemExit):
        cli.main(small(data_file, "--out", str(tmp_path / "results")))
    assert "tensorcrp[plot]" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["tables", "figures", "report.html", "rows.jsonl"])
def test_what_is_in_the_way_of_results_is_said_first(
    name, data_file, tmp_path, capsys, monkeypatch
):
    out = tmp_path / "results"
    out.mkdir()
    if "." in name:
        (out / name).mkdir()
    else:
        (out / name).write_text("")
    monkeypatch.setattr(compare, "run_all", _refuse)
    with pytest.raises(SystemExit) as stop:
        cli.main(small(data_file, "--out", str(out)))
    assert stop.value.code == 2
    assert name in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [["reproduce", "rank", "--page"], ["bench", "limits", "--out"]]
)
def test_a_folder_is_no_file_to_write(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "run_all", _refuse)
    monkeypatch.setitem(bench.CASES, "limits", _refuse)
    (tmp_path / "taken.md").mkdir()
    with pytest.raises(SystemExit) as stop:
        cli.main([*command, "taken.md"])
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert "taken.md is not a regular file" in err and command[-1] in err


def test_a_page_is_not_written_over_data(data_file, capsys):
    with pytest.raises(SystemExit):
        cli.main(["reproduce", "rank", "--page", data_file])
    assert "is a page in Markdown: name a file in .md." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (BrokenProcessPool(), 1, "a process was killed"),
        (MemoryError(), 1, "memory ran out"),
        (OSError(28, "No space left on device", "x.svg"), 1, "left on device: x.svg"),
        (BrokenPipeError(32, "Broken pipe"), 141, ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_endings_are_sentences_for_every_command(
    error, code, words, data_file, tmp_path, monkeypatch, capsys
):
    def fail(*args):
        raise error

    for module in (compare, reproduce):
        monkeypatch.setattr(module, "run_all", fail)
    monkeypatch.setitem(bench.CASES, "limits", fail)
    monkeypatch.chdir(tmp_path)
    left = {
        ("compare", data_file, "--per-class", "3"): "nothing was kept",
        ("compare", data_file, "--per-class", "3", "--out", "o"): "rows.jsonl",
        ("reproduce", "rank", "--only", "uuim"): "rows.jsonl",
        ("bench", "limits"): "nothing was kept",
        ("bench", "limits", "--out", "b.json"): "finished cases are in b.json",
    }
    for command, kept in left.items():
        assert cli.main(list(command)) == code
        err = capsys.readouterr().err
        assert (words in err and kept in err) if words else err == ""


def streams():
    """Standard outputs whose reader has gone, and on a full disk."""
    read, write = os.pipe()
    os.close(read)
    yield open(write, "w"), 141, ""
    if os.path.exists("/dev/full"):
        yield open("/dev/full", "w"), 1, "No space left on device"


def test_output_that_nobody_can_read_is_no_traceback(data_file, monkeypatch, capsys):
    def skipping(plan, store, jobs):
        return [{**run.spec(), "skipped": "no reason"} for run in plan]

    monkeypatch.setattr(compare, "run_all", skipping)
    for stream, code, words in streams():
        with stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", stream)
            assert cli.main(small(data_file)) == code
            stream.flush()  # as the interpreter does at its end
        err = capsys.readouterr().err.replace("every run was skipped; ", "")
        assert words in err and "Traceback" not in err


def test_interrupt_says_where_to_resume(data_file, tmp_path, monkeypatch, capsys):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(compare, "run_all", interrupted)
    assert cli.main(small(data_file, "--out", str(tmp_path / "results"))) == 130
    err = capsys.readouterr().err
    assert "rows.jsonl" in err and "resumes" in err
    assert cli.main(small(data_file)) == 130
    assert "nothing was kept" in capsys.readouterr().err


@pytest.fixture
def own_sets(tmp_path, make_samples, monkeypatch):
    """A folder with small sets under the names of two of the paper's."""
    folder = tmp_path / "data"
    folder.mkdir()
    X, y = make_samples((4, 3), n=60, n_classes=3, seed=2)
    for name in ("uuim", "cvl"):
        np.savez(folder / f"{name}.npz", X=X, y=y)
    monkeypatch.setenv("TENSORCRP_DATA", str(folder))
    monkeypatch.setattr(plans, "SPLITS", 2)
    data.load_data.cache_clear()
    return folder


@pytest.mark.slow
def test_reproduce_makes_tables_figures_and_the_page(own_sets, tmp_path, capsys):
    out, page = tmp_path / "out", tmp_path / "docs" / "page.md"
    command = ["reproduce", "rank", "initialization", "convergence", "--only", "uuim"]
    command += ["--out", str(out), "--page", str(page), "--jobs", "1"]
    assert cli.main(command) == 0
    said = capsys.readouterr().out
    assert "worst relative step" in said and "this took" in said
    assert "Starts, accuracy" in said and "published" in said
    names = {path.stem for path in (out / "figures").iterdir()}
    assert names == {
        "convergence_identity",
        "convergence_lda",
        "rank_1-NN",
        "rank_SVM",
    }
    assert page.read_text() == reproduce.page_from(page.parent / "results")
    assert "32.3 ± 1.4" in page.read_text()  # published, UUIm from 0.5


@pytest.mark.slow
def test_reproduce_goes_on_where_it_was(own_sets, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    base = ["reproduce", "rank", "--out", str(out), "--jobs", "1", "--only"]
    assert cli.main([*base, "uuim"]) == 0
    first = parse_rows((out / "rows.jsonl").read_text())[0]
    seen = []

    def watched(plan, store, jobs):
        with store:
            seen.extend(run.key for run in plan if run.key not in store)
        return run_all(plan, store, jobs, shown=False)

    monkeypatch.setattr(reproduce, "run_all", watched)
    assert cli.main([*base, "uuim", "cvl"]) == 0
    assert len(seen) == len(first)
    assert not {row["key"] for row in first} & set(seen)


@pytest.mark.parametrize("part", [["--methods", "CRP start 1"], ["--per-class", "9"]])
def test_a_part_of_sets_that_are_not_there_says_so(part, own_sets, tmp_path, capsys):
    (own_sets / "uuim.npz").unlink()
    command = ["reproduce", "initialization", "--only", "uuim"]
    command += ["--out", str(tmp_path / "out")]
    assert cli.main([*command, "--jobs", "1", *part]) == 0
    assert "skipped: uuim" in " ".join(capsys.readouterr().out.split())


def test_tables_are_functions_of_rows(compared):
    rows = ResultRows(parse_rows((compared.out / "rows.jsonl").read_text())[0])
    for table in tables_of(rows):
        assert table.text(noted=False) in compared.printed  # notes are below the last
        assert table.markdown() in (compared.out / "tables.md").read_text()


def test_notes_are_printed_once_below_the_last_table(compared):
    tables = tables_of(
        ResultRows(parse_rows((compared.out / "rows.jsonl").read_text())[0])
    )
    words = " ".join(compared.printed.split())
    assert len(tables) > 1
    for sentence in tables[0].sentences():
        assert words.count(sentence) == 1
        assert words.index(sentence) > words.index(tables[-1].title)


def test_compare_says_that_everything_is_near_chance(tmp_path, few, capsys):
    rng = np.random.default_rng(0)
    path = tmp_path / "noise.npz"
    y = np.arange(60) % 2
    for strength in (0, 3):
        X = rng.standard_normal((60, 4, 3)) + strength * y[:, None, None]
        np.savez(path, X=X, y=y)
        data.load_data.cache_clear()
        assert cli.main(small(str(path))) == 0
        words = " ".join(capsys.readouterr().out.split())
        assert ("every method is near chance. Try --motion" in words) == (strength == 0)


def test_skipped_files_of_a_folder_fit_80_columns(tmp_path, capsys):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for i in range(3):
            image.new("L", (8, 8), 30 * i).save(tmp_path / name / f"{i}.png")
    (tmp_path / "a" / "9.png").write_bytes(b"not an image")
    with folder_cache.reading({"on_error": "skip"}):
        folder_cache.read_path(tmp_path)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("skipped:") and "9.png" in " ".join(lines)
    # Nothing but a long path makes a line longer.
    assert all(len(line) <= 80 or max(map(len, line.split())) > 60 for line in lines)


def clips_in(folder, n, classes=2, seed=0):
    made = make_moving_shapes(
        n, classes, frames=8, size=(8, 8), folder=folder, random_state=seed
    )
    return len(made.target)


def test_windows_of_a_file_are_never_on_both_sides(tmp_path):
    pytest.importorskip("av", reason="PyAV has no wheel for this Python")
    clips_in(tmp_path, 6)
    windows = {"frames": 2, "size": (4, 4), "sampling": "windows"}
    with folder_cache.reading(windows):
        data = load_data(str(tmp_path))
        assert len(data.y) == 48 and len(np.unique(data.groups)) == 12
        for size in (3, 0.5):
            train, test = split(data, size, 0, 0)
            assert not set(data.groups[train]) & set(data.groups[test])
    with folder_cache.reading({"frames": 2, "size": (4, 4)}):
        assert load_data(str(tmp_path)).groups is None


def test_train_and_test_folders_are_the_split(tmp_path, capsys):
    pytest.importorskip("av", reason="PyAV has no wheel for this Python")
    clips = tmp_path / "clips"
    n_train = clips_in(clips / "train", 4)
    n_test = clips_in(clips / "test", 3, seed=1)
    options = ["--frames", "4", "--size", "4", "4", "--jobs", "1"]
    command = ["compare", str(clips), "--methods", "raw", *options]
    out = tmp_path / "out"
    assert cli.main([*command, "--motion", "centred", "--out", str(out)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"{n_train} to train, {n_test} to test, 1 given split," in said
    assert "1 run in" in said
    (row,) = map(json.loads, (out / "rows.jsonl").read_text().splitlines())
    halves = [read_clips(clips / half, 4, (4, 4)) for half in ("train", "test")]
    features = [Motion("centred").fit_transform(each.data) for each in halves]
    mine, others = (each.reshape(len(each), -1) for each in features)
    nearest = np.square(others[:, None] - mine).sum(axis=2).argmin(axis=1)
    right = (halves[0].target[nearest] == halves[1].target).sum()
    assert row["classifiers"]["1-NN"]["right"] == [right]
    assert "train/right/clip_000.mp4" in (out / "report.html").read_text()
    with pytest.raises(SystemExit):  # names of clips are in both halves
        cli.main([*command, "--groups", r"clip_(\d+)"])
    assert "test folders share 3 groups" in capsys.readouterr().err
    clips_in(clips / "test", 3, classes=3)
    with pytest.raises(SystemExit):
        cli.main([*command, "--frames", "3"])
    assert "has the class right-left" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--frames", "8"], "--frames 8 is for clips, and"),
        (["--size", "8", "8"], "--size 8 8 is for clips and images, and"),
        (["--sampling", "center"], "--sampling center is for clips, and"),
    ],
)
def test_options_that_no_data_set_uses_are_rejected(options, words, data_file, capsys):
    for names in (["digits"], [data_file], ["digits", data_file]):
        with pytest.raises(SystemExit):
            cli.main(["compare", *names, "--methods", "raw", *options])
        assert words in " ".join(capsys.readouterr().err.split())


def test_groups_that_are_the_classes_are_rejected(tmp_path, make_samples, capsys):
    X, _ = make_samples((4, 3), n=30)
    y = np.repeat(["owl", "rook", "wren"], 10)
    np.savez(tmp_path / "birds.npz", X=X, y=y, species=y)
    with pytest.raises(SystemExit):
        cli.main([*small(str(tmp_path / "birds.npz")), "--groups", "species"])
    assert "--groups 'species' puts each class into a" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_a_short_answer_loads_no_command(arguments):
    """Neither scikit-learn nor NumPy are needed to say what there is."""
    code = (
        "import sys; from tensorcrp.cli import main\n"
        f"try: main({arguments})\n"
        "except SystemExit: pass\n"
        "print(*({'numpy', 'sklearn', 'scipy'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout and not done.stderr.split()
