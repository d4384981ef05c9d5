"""The command: it runs, says the truth, and refuses what makes no sense."""

import os
import re
import sys

import numpy as np
import pytest

from tensorcrp import cli
from tensorcrp._results import parse_rows
from tensorcrp.datasets import load_digits
from tensorcrp.experiments import _data, _options, _output, _plans, compare, reproduce
from tensorcrp.experiments._engine import run_all
from tensorcrp.experiments._methods import library_methods
from tensorcrp.experiments._summaries import Rows


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
    for module in (compare, _plans, _output):
        monkeypatch.setattr(module, "library_methods", lambda: some)
    return some


def small(path, *more):
    return ["compare", path, "--repeats", "2", "--jobs", "1", "--per-class", "3", *more]


def test_compare_prints_every_method(data_file, capsys):
    assert cli.main(small(data_file)) == 0
    out = capsys.readouterr().out
    assert "3 per class to train, 2 random splits" in out
    for name in library_methods():
        assert re.search(rf"^{name} +\d+\.\d \+- \d+\.\d", out, re.MULTILINE), name


def test_compare_writes_rows_tables_figures_and_a_report(
    data_file, tmp_path, capsys, few
):
    out = tmp_path / "results"
    assert cli.main(small(data_file, "5", "--out", str(out))) == 0
    rows, damaged = parse_rows((out / "rows.jsonl").read_text())
    assert len(rows) == 2 * 2 * len(few) and not damaged
    for name in ("tables.md", "tables.tex"):
        assert "RidgeLDA" in (out / name).read_text()
    assert len(list((out / "tables").glob("*.csv"))) == 2
    names = {path.stem for path in (out / "figures").iterdir()}
    for name in names:
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (out / "figures" / f"{name}.svg").read_bytes()
    assert len(names) == 4
    report = (out / "report.html").read_text()
    assert report.count("data:image/png;base64,") == 4
    assert not re.search(r'(src|href)="(?!data:)', report)  # nothing beside the file
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert cli.main(small(data_file, "5", "--out", str(out))) == 0
    assert {path: path.read_bytes() for path in before} == before


def test_compare_skips_a_class_too_small(data_file, capsys, few):
    assert cli.main(small(data_file, "30")) == 0
    out = capsys.readouterr().out
    assert "skipped:" in out and "too few for 30 training samples" in out
    assert "3 per class to train" in out


def test_compare_takes_shares():
    assert [_options.training_size(t) for t in ("3", "0.8", "80%")] == [3, 0.8, 0.8]


def test_without_arguments_it_is_digits_and_a_made_video_set():
    images, clips = (_data.load(name) for name in compare.DEFAULT_DATA)
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
    monkeypatch.setattr(_plans, "SPLITS", 2)
    _data.load.cache_clear()
    return folder


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


def test_reproduce_goes_on_where_it_was(own_sets, tmp_path, monkeypatch, capsys):
    out = tmp_path / "out"
    base = ["reproduce", "rank", "--out", str(out), "--jobs", "1", "--only"]
    assert cli.main([*base, "uuim"]) == 0
    first = parse_rows((out / "rows.jsonl").read_text())[0]
    seen = []

    def watched(plan, store, jobs):
        seen.extend(run.key for run in plan if run.key not in store)
        return run_all(plan, store, jobs, shown=False)

    monkeypatch.setattr(reproduce, "run_all", watched)
    assert cli.main([*base, "uuim", "cvl"]) == 0
    assert len(seen) == len(first)
    assert not {row["key"] for row in first} & set(seen)


def test_tables_are_functions_of_rows(data_file, capsys, tmp_path, few):
    out = tmp_path / "results"
    cli.main(small(data_file, "--out", str(out)))
    printed = capsys.readouterr().out
    rows = Rows(parse_rows((out / "rows.jsonl").read_text())[0])
    for table in compare.tables_of(rows):
        assert table.text() in printed
        assert table.markdown() in (out / "tables.md").read_text()
