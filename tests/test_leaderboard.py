"""The leaderboard in a browser, and methods beside an earlier comparison."""

import re
import subprocess

import numpy as np
import pytest
from browse_site import find_chromium

from tensorcrp import cli
from tensorcrp.datasets import make_moving_shapes
from tensorcrp.experiments import compare_methods
from tensorcrp.experiments.data import BadRequest, load_data
from tensorcrp.experiments.earlier_rows import compact
from tensorcrp.experiments.evidence import HEADLINE, Evidence
from tensorcrp.experiments.evidence_page import ablation_table
from tensorcrp.experiments.leaderboard import board_data, leaderboard
from tensorcrp.experiments.random_splits import split
from tensorcrp.experiments.store import TIMES
from tensorcrp.experiments.summaries import ResultRows
from tensorcrp.plotting._ranks import rank_methods


def row(data, split, method, right, train=5, **more):
    classifiers = {"1-NN": {"right": [right]}, "SVM": {"right": [right]}}
    return {
        **{"key": f"{data}{split}{method}{train}", "version": "0", "data": data},
        **{"train": train, "split": split, "method": method, "n_test": 100},
        **{"n_classes": 4, "majority": 30, "classifiers": classifiers},
        **{"fit_seconds": 1.0, "transform_seconds": 0.1, **more},
    }


ACCURACIES = {
    "TensorCRPCV": {"a": (80, 90), "b": (50, 60)},
    "raw": {"a": (70, 84), "b": (55, 66)},
    "MPCA": {"a": (60, 60)},
}


@pytest.fixture
def few():
    """Two sets, two splits, three methods, one of which has a hole."""
    return [
        row(data, i, name, right)
        for name, sets in ACCURACIES.items()
        for data, values in sets.items()
        for i, right in enumerate(values)
    ]


@pytest.fixture
def many():
    """Forty methods on sixteen sets at three sizes, some smoothed, some in parts."""
    rng = np.random.default_rng(0)
    names = ["TensorCRPCV", *(f"TensorCRPCV, part {i}" for i in range(6))]
    for i in range(16):
        names += [f"method {i}", f"method {i}, smooth"]
    level = dict(zip(names, rng.integers(30, 90, len(names)), strict=True))
    return [
        row(f"set {d}", 0, name, int(level[name] + rng.integers(-9, 10)), train)
        | {"fit_seconds": float(rng.uniform(0.01, 30))}
        for d in range(16)
        for train in (5, 10, 20)
        for name in names
    ]


def test_the_page_holds_what_the_rows_say(few):
    held = board_data(ResultRows(few))
    assert held["sets"] == ["a", "b"] and held["words"] == {"5": "5 per class"}
    cells = held["cells"]["5"][HEADLINE]
    assert cells["TensorCRPCV"]["a"][0] == 85.0 and "b" not in cells["MPCA"]
    assert held["about"]["5"]["b"] == [25.0, 30.0, 100]
    timed = [each | {"seconds": 600.0} for each in few]  # 10 runs
    assert "10 runs of 3 methods on 2 sets, 1.7 hours" in leaderboard(timed)
    text = leaderboard([row("</script>", i, "<b>", 50) for i in range(2)])
    assert '</script>"' not in text and text.count("</script>") == 2
    assert not re.search(r'(src|href)="(?!data:)', text)  # nothing beside the file


def test_a_part_that_lacks_sets_says_so(few):
    rows = [*few, *(row("a", i, "TensorCRPCV, part", 70) for i in range(2))]
    line = ablation_table(ResultRows(rows)).body[1]
    assert line[0] == "part" and line[2] == "-15.0 (1 sets)"


# --- in Chromium --------------------------------------------------------------------


def opened(path, view):
    """The page after its script has run."""
    command = [find_chromium(), "--headless", "--no-sandbox", "--disable-gpu"]
    address = f"file://{path}#{view}"
    done = subprocess.run(
        [*command, "--virtual-time-budget=5000", "--dump-dom", address],
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.stdout


def lines_of(text, part="body"):
    """Rows of a part of the table, as lists of texts."""
    found = re.search(rf'id="{part}">(.*?)</t(?:body|foot)>', text, re.DOTALL)
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", found.group(1), re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>([^<]*)<", line) for line in rows]


@pytest.mark.browser
def test_it_sorts_and_filters(few, tmp_path):
    path = tmp_path / "board.html"
    path.write_text(leaderboard(few))
    text = opened(path, "sort=mean")
    lines = lines_of(text)
    assert [line[0] for line in lines] == ["TensorCRPCV", "raw", "MPCA (1 of 2)"]
    assert lines[0][1:] == ["70.0", "1.50", "1.0", "85.0", "55.0"]
    assert lines_of(text, "foot")[1] == [
        "largest class",
        "30.0",
        "",
        "",
        "30.0",
        "30.0",
    ]
    assert text.count('class="dot"') == 1 and text.count('class="other"') == 1
    assert "needs at least three methods" in text  # with results on all sets
    lines = lines_of(opened(path, "sort=b&text=raw%20%7C%20crp"))
    assert [line[0] for line in lines] == ["raw", "TensorCRPCV"]
    lines = lines_of(opened(path, "sets=a&sort=rank&up=1"))
    assert [line[0] for line in lines] == ["TensorCRPCV", "raw", "MPCA"]
    assert [line[2] for line in lines] == ["1.00", "2.00", "3.00"]


@pytest.mark.browser
def test_a_fit_that_is_faster_than_the_axis_is_marked(few, tmp_path):
    """It is drawn at the axis, whose label says so."""
    path = tmp_path / "board.html"
    for seconds in (0.0, 4e-4, 0.02):
        fast = [r | {"fit_seconds": seconds} for r in few if r["method"] == "raw"]
        path.write_text(leaderboard([r for r in few if r["method"] != "raw"] + fast))
        text = opened(path, "")
        assert text.count('class="other"') == 1 and "NaN" not in text
        assert (">\u2264 0.001<" in text) == (seconds < 1e-3)
    assert "3 methods, 2 sets" in text
    assert "3 methods, 1 set<" in opened(path, "sets=a")


@pytest.mark.browser
def test_ranks_and_their_critical_difference_are_those_of_demsar(many, tmp_path):
    path = tmp_path / "board.html"
    path.write_text(leaderboard(many))
    text = opened(path, "size=10&parts=0&sort=rank&up=1")
    evidence = Evidence(ResultRows(many), 10)
    methods = [m for m in evidence.methods if not m.startswith("TensorCRPCV, ")]
    scores = [[evidence.score(d, m).mean for m in methods] for d in evidence.sets]
    wanted = rank_methods(np.array(scores))
    found = {line[0]: line[2] for line in lines_of(text)}
    ranks = dict(zip(methods, wanted.average, strict=True))
    found = {name: float(rank) for name, rank in found.items()}
    assert found == pytest.approx(ranks, abs=0.006)
    assert f"critical difference {wanted.critical_difference:.2f}" in text
    assert text.count('class="group"') == len(wanted.groups)


@pytest.mark.browser
def test_all_sizes_are_columns_of_means(many, tmp_path):
    path = tmp_path / "board.html"
    path.write_text(leaderboard(many))
    text = opened(path, "size=all&smooth=0")
    lines = lines_of(text)
    # 23 methods on 16 sets: three sizes of a set are not three sets.
    difference = rank_methods(np.random.default_rng(0).random((16, 23)))
    assert f"critical difference {difference.critical_difference:.2f}" in text
    assert len(lines) == 7 + 16
    best = next(line for line in lines if line[0] == "TensorCRPCV")
    means = [
        Evidence(ResultRows(many), size).mean("TensorCRPCV") for size in (5, 10, 20)
    ]
    assert best[4:] == [f"{mean:.1f}" for mean in means]
    assert best[1] == f"{np.mean(means):.1f}"


# --- beside an earlier comparison ---------------------------------------------------

OWN = """
from sklearn.base import BaseEstimator, TransformerMixin
class Means(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self
    def transform(self, X):
        return X.mean(axis=-1).reshape(len(X), -1)
"""


@pytest.fixture
def data_file(tmp_path, make_samples):
    X, y = make_samples((4, 3), n=60, n_classes=3, seed=1)
    np.savez(tmp_path / "mine.npz", X=X, y=y)
    return str(tmp_path / "mine.npz")


@pytest.mark.parametrize("form", ["rows.jsonl", "compact"])
def test_one_command_adds_a_method(data_file, tmp_path, monkeypatch, capsys, form):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"means_{form[0]}.py").write_text(OWN)
    how = {"per_class": (3, 4), "repeats": 2, "max_test": 20}
    rows = compare_methods(data_file, methods=["raw"], out="first", **how)
    path = "first/rows.jsonl"
    if form == "compact":
        path = "published.jsonl"
        (tmp_path / path).write_text(compact(rows, times=TIMES))
    command = ["compare", "--beside", path, "--methods", f"means_{form[0]}:Means"]
    assert cli.main([*command, "--jobs", "1", "--out", "second"]) == 0
    assert "Means" in capsys.readouterr().out
    added = (tmp_path / "second" / "rows.jsonl").read_text().splitlines()
    assert len(added) == 4  # two sizes, two splits: nothing of the earlier method
    page = (tmp_path / "second" / "leaderboard.html").read_text()
    assert '"Means"' in page and '"raw"' in page
    again = compare_methods(data_file, methods=["raw"], beside=path, per_class=3)
    assert {row["train"] for row in again} == {3} and len(again) == 2
    assert [r["classifiers"]["1-NN"]["right"] for r in again] == [
        r["classifiers"]["1-NN"]["right"] for r in rows if r["train"] == 3
    ]


def test_files_are_read_in_the_same_way_beside(data_file, tmp_path):
    how = {"methods": ["raw"], "per_class": 3, "repeats": 1}
    compare_methods(data_file, out=tmp_path / "out", **how)
    how = {"methods": ["raw"], "beside": tmp_path / "out" / "rows.jsonl"}
    assert len(compare_methods(**how)) == 1
    with pytest.raises(BadRequest, match="the same options, such as --motion"):
        compare_methods(options={"motion": "centred"}, **how)


def test_other_samples_are_not_set_beside(data_file, tmp_path, make_samples):
    rows = compare_methods(data_file, methods=["raw"], per_class=3, repeats=2)
    path = tmp_path / "rows.jsonl"
    path.write_text(compact(rows))
    X, y = make_samples((4, 3), n=50, n_classes=3, seed=2)
    np.savez(data_file, X=X, y=y)
    load_data.cache_clear()
    with pytest.raises(BadRequest, match="different data"):
        compare_methods(methods=["raw"], beside=path)
    with pytest.raises(BadRequest, match="needs --methods"):
        compare_methods(beside=path)
    with pytest.raises(BadRequest, match="no rows of these data sets"):
        compare_methods("digits", methods=["raw"], beside=path)
    path.write_text("no rows")
    with pytest.raises(BadRequest, match="no rows of a comparison"):
        compare_methods(methods=["raw"], beside=path)


def test_groups_of_a_folder_are_a_rule_for_its_files(tmp_path):
    make_moving_shapes(8, 2, folder=tmp_path / "clips", random_state=0)
    folder = str(tmp_path / "clips")
    how = {"methods": ["raw"], "per_class": 3, "repeats": 2}
    how["options"] = {"frames": 4, "size": (8, 8)}
    rows = compare_methods(folder, groups=r"clip_00([0-9])", **how)
    assert [r["n_test"] for r in rows] == [8, 8]  # four of eight numbers, two classes
    with pytest.raises(BadRequest, match="does not occur in"):
        compare_methods(folder, groups="nobody", **how)


def test_a_class_that_is_too_small_is_named_before_any_run(tmp_path, capsys):
    y = np.repeat(["apple", "plum"], [12, 4])
    X = np.random.default_rng(0).standard_normal((16, 3, 4))
    np.savez(tmp_path / "fruit.npz", X=X, y=y)
    with pytest.raises(SystemExit) as ended:
        cli.main(["compare", str(tmp_path / "fruit.npz"), "--per-class", "5"])
    assert ended.value.code == 2
    words = capsys.readouterr().err
    assert "class plum has 4 samples" in words and "a smaller --per-class" in words
    assert split(load_data(str(tmp_path / "fruit.npz")), 3, 0, 0)
