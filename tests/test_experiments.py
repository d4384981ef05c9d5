"""Experiments: published numbers, rows, splits, selections and tables."""

import errno
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from tensorcrp import TensorCRP, baselines
from tensorcrp.base.results import chosen, parse_rows
from tensorcrp.datasets import list_datasets
from tensorcrp.experiments import classifiers, methods
from tensorcrp.experiments.classifiers import (
    COMPARED,
    COSTS,
    Tuning,
    is_free,
    svm,
    svm_right,
    svms,
    tune_svm,
)
from tensorcrp.experiments.counts import cv_folds
from tensorcrp.experiments.data import Data, Skip, check_data, known_names, load_data
from tensorcrp.experiments.earlier_rows import by_cell, compact, expand
from tensorcrp.experiments.errors import BadRequest
from tensorcrp.experiments.paper import paper_methods, plans
from tensorcrp.experiments.paper.classification_tables import paper_verdicts, verdict
from tensorcrp.experiments.paper.paper_methods import CLIMBS
from tensorcrp.experiments.paper.paper_tables import TABLES
from tensorcrp.experiments.paper.published import METHODS, SIZES, Cell, published
from tensorcrp.experiments.paper.run import page_from, protocols_from
from tensorcrp.experiments.random_splits import split
from tensorcrp.experiments.runs import Run, execute, run_all, run_defect
from tensorcrp.experiments.store import (
    Store,
    as_line,
    without_times,
    write_whole,
)
from tensorcrp.experiments.summaries import ResultRows, score
from tensorcrp.experiments.tables import Score, Table, best_in_lines

ROOT = Path(__file__).parent.parent


def shared(part):
    """A folder beside the repository, or beside TENSORCRP_DATA."""
    beside = [ROOT.parent / "shared"]
    if os.environ.get("TENSORCRP_DATA"):
        beside.append(Path(os.environ["TENSORCRP_DATA"]).parent)
    return next((place / part for place in beside if (place / part).is_dir()), None)


@pytest.fixture
def data_file(tmp_path, make_samples):
    X, y = make_samples((4, 3), n=36, n_classes=3, seed=1)
    path = tmp_path / "small.npz"
    np.savez(path, X=X, y=y)
    return str(path)


def run_of(path, method, train=4, n_features=0, split=0):
    return Run(path, load_data(path).checksum, train, split, 0, method, n_features)


# --- the published numbers --------------------------------------------------------


def test_there_are_528_published_figures():
    figures = published()
    count = {
        table: sum(c.table == table for c in figures)
        for table in ("classification", "initialization", "two-class")
    }
    assert count == {"classification": 480, "initialization": 24, "two-class": 24}
    assert all(0 < f.mean < 100 and 0 < f.std < 3 for f in figures.values())


def test_published_crp_wins_but_for_one_cell():
    """The bold figures of the paper: CRP, but for S2DLDA on UUIm once."""
    lost = []
    for cell, figure in published().items():
        if cell.table == "classification" and cell.method == "CRP":
            rivals = [published()[cell._replace(method=m)] for m in METHODS[:-1]]
            lost += [cell] if max(r.mean for r in rivals) > figure.mean else []
    assert lost == [Cell("classification", "1-NN", 5, "uuim", "CRP")]


def paper_tables(tex):
    """Label -> rows of (name, [(mean, deviation), ...]), by a parser of its own."""
    tables = {}
    for block in tex.split(r"\begin{table")[1:]:
        block = block.split(r"\end{table")[0]
        label = re.findall(r"\\label\{([^}]*)\}", block)[-1]
        rows = [line for line in block.splitlines() if r"\pm" in line and "&" in line]
        tables[label] = [
            (
                re.sub(r"[^a-z0-9]", "", row.split("&")[0].lower()),
                re.findall(r"(\d+\.\d+)\s*\\pm\s*(\d+\.\d+)", row),
            )
            for row in rows
        ]
    return tables


def test_published_figures_are_those_of_the_paper():
    folder = shared("paper")
    if folder is None:
        pytest.skip("the paper is not beside the repository")
    (file,) = folder.glob("*.tex")
    tables, seen = paper_tables(file.read_text()), 0
    for (table, classifier, train, data, method), figure in published().items():
        name = {"1-NN": "NN", "SVM": "SVM", None: ""}[classifier]
        size = {0.8: "80perc", None: ""}.get(train, train)
        label = {
            "classification": f"table_result_{size}acc{name}",
            "initialization": "differentIni",
            "two-class": "table_result_linear",
        }[table]
        order = METHODS if table != "initialization" else ("0.5", "1", "2", "random")
        rows = dict(tables[label])
        mean, std = rows[data.replace("_", "")][order.index(method)]
        assert figure == (float(mean), float(std)), (label, data, method)
        seen += 1
    figures = sum(len(row) for rows in tables.values() for _, row in rows)
    assert seen == figures == 528


# --- rows -------------------------------------------------------------------------


def row(key, version=None, **more):
    from tensorcrp import __version__

    return {"key": key, "version": version or __version__, **more}


def test_store_keeps_rows_once_and_finds_them_again(tmp_path):
    path = tmp_path / "rows.jsonl"
    with Store(path) as store:
        store.add(row("a", n=1))
        store.add(row("a", n=2))
        store.add(row("b", n=3))
    with Store(path) as again:
        assert {key: each["n"] for key, each in again.rows.items()} == {"a": 1, "b": 3}
    assert len(path.read_text().splitlines()) == 2


def test_store_sees_what_was_written_after_it_was_made(tmp_path):
    path = tmp_path / "rows.jsonl"
    early = Store(path)
    with Store(path) as store:
        store.add(row("a", n=1))
    with early:
        early.add(row("a", n=2))
    assert path.read_text() == as_line(row("a", n=1))


@pytest.mark.parametrize("cut", [1, 2, 7])
def test_damaged_last_line_is_reported_and_dropped(tmp_path, cut):
    path, said = tmp_path / "rows.jsonl", []
    whole = as_line(row("a")) + as_line(row("b"))
    path.write_text(whole[:-cut])
    with Store(path, report=said.append) as store:
        assert list(store.rows) == ["a"]
        assert "last line" in said[0]
        store.add(row("b"))
    assert path.read_text() == whole


def test_a_cut_line_of_any_bytes_is_dropped_exactly(tmp_path):
    path, whole = tmp_path / "rows.jsonl", as_line(row("a")).encode()
    path.write_bytes(whole + b'{"key": "\xff\xc3')
    with Store(path, report=lambda text: None):
        pass
    assert path.read_bytes() == whole


@pytest.mark.parametrize("place", [1, 2, 3])
@pytest.mark.parametrize(
    "line",
    [
        "{broken",
        "[" * 100_000,
        "[1]",
        as_line({"key": "a"}),
        as_line(row([1])),
        as_line({"key": "a", "version": 1}),
        as_line(row("a", classifiers={})),
    ],
)
def test_damage_is_refused_and_nothing_is_cut(tmp_path, line, place):
    path = tmp_path / "rows.jsonl"
    lines = [as_line(row("a")), as_line(row("b"))]
    lines.insert(place - 1, line.strip() + "\n")
    path.write_text("".join(lines))
    with pytest.raises(BadRequest, match=f"line {place} of 3"), Store(path):
        pass
    assert path.read_text() == "".join(lines)


EDITS = {
    "other data": {"data": "digits"},
    "other method": {"method": "LDA"},
    "other parameters": {"parameters": {}},
    "train": {"train": "3"},
    "split": {"split": None},
    "no classifiers": {"classifiers": {}},
    "no counts": {"classifiers": {"1-NN": {"right": []}}},
    "counts of another length": {
        "classifiers": {"1-NN": {"right": [1], "cv_right": [1, 2]}}
    },
    "counts are words": {"classifiers": {"1-NN": {"right": ["many"]}}},
    "n_test": {"n_test": "40"},
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_edited_rows_are_found_before_any_run(data_file, tmp_path, edit):
    path = tmp_path / "rows.jsonl"
    found = execute(run_of(data_file, "raw"))
    path.write_text(as_line(found))
    with Store(path, check=run_defect) as store:
        assert list(store.rows.values()) == [found]
    path.write_text(as_line(found | edit))
    with pytest.raises(BadRequest, match="line 1 of 1"):
        with Store(path, check=run_defect):
            pass


def test_a_row_without_outcome_is_no_row(data_file, tmp_path):
    path = tmp_path / "rows.jsonl"
    found = execute(run_of(data_file, "raw"))
    del found["classifiers"]
    path.write_text(as_line(found))
    with pytest.raises(BadRequest, match="no outcome"):
        with Store(path, check=run_defect):
            pass


def test_rows_are_kept_in_regular_files_only(tmp_path):
    path = tmp_path / "rows.jsonl"
    os.mkfifo(path)
    with pytest.raises(BadRequest, match="not a regular file"), Store(path):
        pass


def test_a_full_disk_names_the_file_of_rows(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    with Store(path) as store:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"No space left.*rows\.jsonl"):
            store.add(row("a"))
    assert "a" not in store


def test_rows_of_another_version_are_kept_and_not_reused(tmp_path):
    path, said = tmp_path / "rows.jsonl", []
    path.write_text(as_line(row("a", version="0.0.1")))
    with Store(path, report=said.append) as store:
        assert "a" not in store and "0.0.1" in said[0] and "kept" in said[0]
        store.add(row("a"))
    rows, _ = parse_rows(path.read_text())
    assert [each["version"] for each in rows] == ["0.0.1", row("")["version"]]


def test_one_process_writes_at_a_time(tmp_path):
    pytest.importorskip("fcntl")
    path = tmp_path / "rows.jsonl"
    with Store(path) as store, pytest.raises(BadRequest, match="another process"):
        store.add(row("a"))
        with path.open("a") as file:
            file.write('{"key"')  # as if the other process were in the middle of it
        with Store(path):
            pass
    assert path.read_text() == as_line(row("a")) + '{"key"'


def test_files_are_replaced_whole(tmp_path, monkeypatch):
    path = tmp_path / "page.md"
    write_whole(path, "old")

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["page.md"]


def test_key_says_what_is_computed(data_file):
    base = run_of(data_file, "CRP", n_features=4)
    others = [
        run_of(data_file, "CRP", n_features=5),
        run_of(data_file, "CRP k=1", n_features=4),
        run_of(data_file, "CRP", n_features=4, train=3),
        run_of(data_file, "CRP", n_features=4, split=1),
    ]
    keys = {run.key for run in [base, *others]}
    assert len(keys) == 5
    assert run_of(data_file, "CRP", n_features=4).key == base.key


def test_other_data_under_the_same_name_is_another_run(data_file):
    before = run_of(data_file, "CRP").key
    with np.load(data_file) as arrays:
        X, y = arrays["X"], arrays["y"]
    X[0, 0, 0] += 1
    np.savez(data_file, X=X, y=y)
    load_data.cache_clear()
    assert run_of(data_file, "CRP").key != before


def test_compact_rows_say_the_same():
    rows = [
        row("a", data="d", train=3, method="m", split=0, classifiers={"1-NN": [1, 2]}),
        row("b", data="d", train=3, method="m", split=1, classifiers={"1-NN": [3, 4]}),
        row("c", data="d", train=0.8, method="m", split=0, skipped="why"),
    ]
    slow = [{**each, "seconds": 3.0, "checksum": "x" * 64} for each in rows]
    text = compact(slow)
    assert len(text.splitlines()) == 2
    found = sorted(expand(text), key=lambda r: r["key"])
    assert found == rows


def test_rows_of_earlier_versions_are_read_under_the_names_of_today():
    counts = {"1-NN": {"right": [1]}}
    old = row("a", data="d", train=3, method="m", split=0, n_test=2, judges=counts)
    new = {name: value for name, value in old.items() if name != "judges"}
    new["classifiers"] = counts
    assert parse_rows(as_line(old))[0] == parse_rows(as_line(new))[0] == [new]
    assert expand(compact([old])) == [new]


# --- data and splits --------------------------------------------------------------


def test_known_names_hold_every_registered_set():
    assert set(list_datasets()) <= set(known_names())
    assert {"digits", "moving_shapes", "cmu_sunglasses", "uuim"} <= set(known_names())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("usp", "Did you mean usps"),
        ("coil", "coil20"),
        ("xyzzy", "Known are"),
        ("no/such/file.npz", "does not exist"),
    ],
)
def test_unknown_data_is_named(name, words):
    with pytest.raises(BadRequest, match=words):
        check_data([name])


def test_missing_data_folder_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("TENSORCRP_DATA", str(tmp_path / "nowhere"))
    # `--data` of `tensorcrp compare` is another thing: an array of a file.
    with pytest.raises(BadRequest, match=r"nowhere \(TENSORCRP_DATA, or --data of ten"):
        check_data([])


def test_sets_of_the_user_are_skipped_with_a_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("TENSORCRP_DATA", str(tmp_path))
    load_data.cache_clear()
    runs = plans.plan(["classification"], ["uuim"], 0)
    assert len(runs) == 1
    assert "uuim.npz" in execute(runs[0])["skipped"]


def test_sets_of_the_user_run_when_they_are_there(monkeypatch, tmp_path, make_samples):
    X, y = make_samples((4, 3), n=40, n_classes=3)
    np.savez(tmp_path / "uuim.npz", X=X, y=y)
    monkeypatch.setenv("TENSORCRP_DATA", str(tmp_path))
    load_data.cache_clear()
    runs = plans.plan(["classification"], ["uuim"], 0)
    assert {run.train for run in runs} == set(SIZES)
    assert {run.n_features for run in runs if run.method == "CRP"} == {4}


def test_arrays_of_a_file_are_no_files_and_no_split(tmp_path):
    """Whatever they are called, as in a folder they would have a meaning."""
    y, path = np.arange(12) % 2, str(tmp_path / "a.npz")
    more = {"files": np.ones((12, 2)), "is_training": y == 0}
    X = np.eye(12)[:, :, None]
    np.savez(path, X=X, y=y, **more)
    assert load_data(path).groups is None and load_data(path).splits == ()
    np.savez(tmp_path / "b.npz", X=X, y=y, files=np.arange(12) // 3)
    data = load_data(str(tmp_path / "b.npz"), "files")
    assert data.groups.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def labelled(y, groups=None):
    y = np.asarray(y)
    groups = None if groups is None else np.asarray(groups)
    return Data("made", np.zeros((len(y), 2)), y, groups, "")


def test_split_is_disjoint_whole_and_balanced():
    data = labelled(np.repeat([0, 1, 2], [10, 7, 5]))
    train, test = split(data, 4, 0, 0)
    assert sorted([*train, *test]) == list(range(22))
    assert np.bincount(data.y[train]).tolist() == [4, 4, 4]
    train, test = split(data, 0.8, 0, 0)
    assert np.bincount(data.y[train]).tolist() == [8, 6, 4]
    assert sorted([*train, *test]) == list(range(22))


def test_split_depends_on_seed_and_repeat_alone():
    data = labelled(np.repeat([0, 1], 20))
    same = [split(data, 5, 1, 2)[0].tolist() for _ in range(2)]
    assert same[0] == same[1]
    assert split(data, 5, 1, 3)[0].tolist() != same[0]
    assert split(data, 5, 2, 2)[0].tolist() != same[0]


@pytest.mark.parametrize("train", [2, 0.5])
def test_groups_are_never_on_both_sides(train):
    groups = np.tile(np.arange(6), 10)
    data = labelled(np.repeat([0, 1], 30), groups)
    for repeat in range(5):
        ids, test = split(data, train, 0, repeat)
        assert not set(groups[ids]) & set(groups[test])
        assert np.bincount(data.y[ids]).min() >= 2
        if train == 0.5:
            assert len(set(groups[ids])) == 3 and len(ids) + len(test) == 60


def test_class_too_small_is_a_skip_with_the_numbers():
    data = labelled(np.repeat([0, 1], [10, 4]))
    with pytest.raises(Skip, match="class 1 has 4 samples"):
        split(data, 5, 0, 0)
    with pytest.raises(Skip, match="0 left"):
        split(data, 4, 0, 0)


def test_skipped_cells_are_rows(data_file):
    found = execute(run_of(data_file, "LDA", train=30))
    assert "too few for 30" in found["skipped"]
    assert "classifiers" not in found
    (line,) = ResultRows([found]).skipped()
    assert line[1:3] == (30, "all methods")


def test_whole_numbers_are_scaled_and_the_file_is_unchanged(tmp_path):
    X = np.arange(48, dtype=np.uint8).reshape(12, 2, 2)
    path = tmp_path / "grey.npz"
    np.savez(path, X=X, y=np.arange(12) % 2)
    assert load_data(str(path)).X.max() == 1.0
    np.testing.assert_allclose(load_data(str(path)).X * 47, X)


# --- runs against slow computations -----------------------------------------------


def nearest_by_hand(mine, y, others):
    distances = ((others[:, None] - mine[None]) ** 2).sum(axis=2)
    return y[distances.argmin(axis=1)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_run_counts_what_single_fits_give(data_file):
    run = run_of(data_file, "CRP", n_features=4)
    found = execute(run)
    data = load_data(data_file)
    train, test = split(data, 4, 0, 0)
    X, y = data.X[train], data.y[train]
    for i, lam in enumerate(paper_methods.LAMBDAS):
        crp = TensorCRP(4, reg=lam, reg_scale="absolute").fit(X, y)
        guess = nearest_by_hand(crp.transform(X), y, crp.transform(data.X[test]))
        assert found["classifiers"]["1-NN"]["right"][i] == (guess == data.y[test]).sum()
    assert (found["features"], found["n_train"]) == (4, 12)
    assert found["n_test"] == len(test)
    assert found["worst_step"] > -1e-9


def test_cross_validation_sees_training_samples_alone(data_file):
    found = execute(run_of(data_file, "LDA", n_features=4))
    data = load_data(data_file)
    train, _ = split(data, 4, 0, 0)
    X, y = data.X[train], data.y[train]
    right = np.zeros(len(paper_methods.LAMBDAS), int)
    for a, b in cv_folds(y):
        for i, lam in enumerate(paper_methods.LAMBDAS):
            lda = baselines.RidgeLDA(reg=lam, reg_scale="absolute").fit(X[a], y[a])
            guess = nearest_by_hand(lda.transform(X[a]), y[a], lda.transform(X[b]))
            right[i] += (guess == y[b]).sum()
    assert found["classifiers"]["1-NN"]["cv_right"] == right.tolist()
    assert found["n_cv"] == 12


def test_folds_test_every_sample_until_enough():
    y = np.repeat(np.arange(3), 20)
    judged = np.concatenate([test for _, test in cv_folds(y)])
    assert sorted(judged) == list(range(60))
    many = np.repeat(np.arange(3), 400)
    assert len(cv_folds(many)) == 1
    groups = np.tile(np.arange(4), 15)
    for train, test in cv_folds(y, groups):
        assert not set(groups[train]) & set(groups[test])


def test_svm_is_the_one_that_a_grid_search_finds(make_samples):
    X, y = make_samples((5,), n=60, n_classes=3, seed=3)
    X, X_new, y = X[:40], X[40:], y[:40]
    unit = np.sqrt((X**2).sum(axis=1).mean())
    folds = min(10, np.bincount(y).min())
    search = GridSearchCV(
        SVC(kernel="linear"),
        {"C": COSTS},
        cv=StratifiedKFold(folds, shuffle=True, random_state=0),
        scoring=lambda model, A, b: (model.predict(A) == b).sum(),
    ).fit(X / unit, y)
    tuning = tune_svm(X, y)
    assert tuning == (Tuning(search.best_params_["C"], folds, 40))
    guess = svm(X, y, X_new, tuning.C)
    assert (guess == search.predict(X_new / unit)).all()


def test_svm_is_tuned_on_a_balanced_part_of_many_samples():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), [900, 300, 300, 12])
    tuning = tune_svm(rng.standard_normal((len(y), 3)) + 20 * y[:, None], y)
    assert tuning.folds == 10
    assert 500 <= tuning.samples <= 515


def test_svms_of_larger_costs_are_the_same_where_no_sample_is_at_the_bound():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 20)
    X = rng.standard_normal((60, 40)) + 0.3 * y[:, None]
    costs, unit = [*COSTS, 1e-3], np.sqrt((X**2).sum(axis=1).mean())
    found = svms(X[::2], y[::2], X[1::2], costs)
    free = []
    for C in costs:
        svc = SVC(kernel="linear", C=C).fit(X[::2] / unit, y[::2])
        free.append(is_free(svc))
        assert (found[C] == svc.predict(X[1::2] / unit)).all()
    assert free[COSTS.index(1000.0)] and not free[-1]


def test_svms_in_folds_see_a_part_of_many_samples(monkeypatch):
    monkeypatch.setattr(classifiers, "MOST_IN_FOLDS", 40)
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(4), 50)
    X = rng.standard_normal((200, 3)) + 20 * y[:, None]
    seen, fit = [], SVC.fit
    monkeypatch.setattr(SVC, "fit", lambda s, X, y: seen.append(len(y)) or fit(s, X, y))
    right = svm_right(X[::2], y[::2], X[1::2], y[1::2])
    assert set(seen) == {40} and (right == 100).all()


def test_every_baseline_has_a_place():
    names = set(methods.library_methods())
    assert {each.name for each in baselines.BASELINES} <= names
    assert {"TensorCRP", "TensorCRPCV", "raw"} <= names
    assert tuple(paper_methods.paper_methods()) == METHODS


def each_method():
    """Names; marked as slow: the same smoothing of others, TensorCRPCV in parts."""
    kept = ("raw, smooth", "MPCA, smooth", "TensorCRPCV, best point")
    for name in sorted(set(methods.all_methods()) - set(CLIMBS)):
        derived = name.endswith(", smooth") or name.startswith("TensorCRPCV, ")
        slow = derived and name not in kept
        yield pytest.param(name, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("name", list(each_method()))
def test_every_method_runs_and_says_what_it_gives(data_file, name):
    found = execute(run_of(data_file, name, train=3, n_features=4))
    assert "skipped" not in found, found
    method = methods.method(name)
    for classifier in method.classifiers:
        judged = found["classifiers"][classifier]
        assert len(judged["right"]) == len(method.settings)
        features = "features" in found and "SVM" in method.classifiers
        tuned = method.tuned and (len(method.settings) > 1 or features)
        assert ("cv_right" in judged) == tuned
    assert json.loads(as_line(found)) == found
    given = found.get("features")
    wanted = {"LDA": 2, "2DPCA": 4, "B-SVM": None, "CRP": 4, "2DLDA": 4}
    assert name not in wanted or given == wanted[name]


def test_initial_scale_changes_nothing(data_file):
    """The paper's table has three figures for one and the same solution."""
    rights = [
        execute(run_of(data_file, f"CRP start {d}", n_features=4))["classifiers"]
        for d in ("0.5", "1", "2")
    ]
    assert rights[0] == rights[1] == rights[2]


@pytest.mark.parametrize("method", CLIMBS)
def test_objective_is_followed_sweep_by_sweep(data_file, method):
    found = execute(run_of(data_file, method))
    assert found["worst_step"] > -1e-10
    assert len(found["to_99"]) == len(found["to_999"]) == found["features"] == 12
    curve = np.array(found["curve"])
    assert len(curve) == 50
    assert found["to_99"][0] == next(
        i for i, value in enumerate(curve, 1) if value >= 0.99 * curve[-1]
    )
    assert all(a <= b for a, b in zip(found["to_99"], found["to_999"], strict=True))


# --- selections and tables --------------------------------------------------------


def judged(split, right, cv, method="CRP", data="usps", train=3):
    classifiers = {j: {"right": right, "cv_right": cv} for j in COMPARED}
    return row(
        f"{data}{train}{method}{split}",
        data=data,
        train=train,
        method=method,
        split=split,
        n_test=100,
        classifiers=classifiers,
    )


def test_paper_selection_takes_one_setting_on_test_samples():
    rows = [judged(0, [50, 70, 60], [9, 1, 1]), judged(1, [80, 50, 64], [1, 9, 1])]
    assert chosen(rows, "1-NN", "paper").tolist() == [0, 0]
    assert score(rows, "1-NN", "paper") == Score(65.0, pytest.approx(np.sqrt(450)))


def test_honest_selection_never_looks_at_test_samples():
    rows = [judged(0, [50, 70, 60], [9, 1, 1]), judged(1, [80, 50, 64], [1, 9, 9])]
    assert chosen(rows, "SVM", "honest").tolist() == [0, 2]
    swapped = [judged(0, [1, 2, 99], [9, 1, 1]), judged(1, [99, 2, 1], [1, 9, 9])]
    assert chosen(swapped, "SVM", "honest").tolist() == [0, 2]
    assert score(rows, "SVM", "honest").mean == 57.0


def test_weakest_ridge_selects_nothing():
    rows = [judged(0, [50, 70], [1, 9]), judged(1, [30, 90], [1, 9])]
    assert score(rows, "1-NN", "weakest").mean == 40.0


def test_what_was_not_tuned_has_no_honest_score():
    rows = [judged(0, [50, 60], [1, 2])]
    del rows[0]["classifiers"]["SVM"]["cv_right"]
    assert score(rows, "SVM", "honest") is None
    assert score(rows, "SVM", "paper").mean == 60.0


@pytest.mark.parametrize(
    ("mean", "word"),
    [
        (80.0, "at or above"),
        (79.96, "at or above"),
        (78.6, "within one deviation"),
        (78.4, "below"),
    ],
)
def test_verdicts(mean, word):
    assert verdict(Score(mean, 1.0), Score(80.0, 1.5)) == word


def test_verdict_table_stands_beside_the_paper():
    rows = ResultRows([judged(0, [70, 75], [1, 2]), judged(1, [70, 77], [2, 1])])
    lines = paper_verdicts(rows).body
    theirs = published()[Cell("classification", "SVM", 3, "usps", "CRP")]
    (line,) = [line for line in lines if line[1] == "SVM"]
    assert line[3] == theirs
    assert line[4].mean == 76.0
    assert line[5] == f"{76.0 - theirs.mean:+.1f}"
    assert line[6] == "at or above"
    assert line[8].mean == 72.5


TABLE = Table(
    "A 50 % title_1",
    ["method", "1-NN"],
    [["a&b", Score(50.04, 1.26)], ["c", Score(61.0)], ["d", "-"]],
    "A note.",
    {(1, 1)},
)


def test_one_table_in_five_forms():
    assert "| **61.0** |" in TABLE.markdown() and "50.0 ± 1.3" in TABLE.markdown()
    assert "61.0*" in TABLE.text() and "50.0 +- 1.3" in TABLE.text()
    assert TABLE.csv().splitlines()[0] == "method,1-NN,1-NN std"
    assert TABLE.csv().splitlines()[1] == "a&b,50.0400,1.2600"
    assert r"\textbf{61.0}" in TABLE.latex() and r"a\&b" in TABLE.latex()
    assert r"50 \% title\_1" in TABLE.latex()
    assert "<b>61.0</b>" in TABLE.html() and "a&amp;b" in TABLE.html()


@pytest.mark.parametrize(
    "odd", ["a$b_{$x^~", "b\udcff", "two\nlines", "back\\slash", "|<&>"]
)
def test_odd_names_break_no_form_of_a_table(odd):
    table = Table(odd, [odd, "1-NN"], [[odd, Score(50.0)]])
    forms = (table.text, table.markdown, table.csv, table.latex, table.html)
    for form in forms:
        assert form().encode()
    plain = Table("t", ["h", "1-NN"], [["c", Score(50.0)]])
    assert table.text().count("\n") == plain.text().count("\n")
    assert len(re.findall(r"(?<!\\)\|", table.markdown().splitlines()[2])) == 3
    assert "<&>" not in table.html()
    bare = re.sub(
        r"\\([_%&#${}]|text[a-z]+\{\})", "", table.latex().split("caption")[1]
    )
    assert not set("$^~_") & set(bare.split("}")[0])


def test_equal_figures_are_all_best():
    lines = [["x", Score(50.04), Score(49.96), Score(3.0)], ["y", "-", "-", Score(1)]]
    assert best_in_lines(lines) == {(0, 1), (0, 2), (1, 3)}


def test_experiments_are_planned_to_the_letter(monkeypatch):
    many = labelled(np.repeat(np.arange(10), 40))
    monkeypatch.setattr(plans, "load_data", lambda name: many)
    runs = plans.plan(["classification"], ["usps"], 0)
    crp = [run for run in runs if run.method == "CRP"]
    assert {run.n_features for run in crp} == {81}
    assert {(run.train, run.split) for run in crp} == {
        (size, i) for size in (3, 5, 10, 20, 0.8) for i in range(5)
    }
    assert paper_methods.LAMBDAS == tuple(10.0**e for e in (-6, -4, -2, 0, 2, 4, 6))
    assert set(METHODS) <= {run.method for run in runs}
    assert plans.n_features("coil20", 20) == 361
    assert plans.n_features("orl", 40) == 100
    assert plans.n_features("cmu_sunglasses", 2) == 25
    assert set(TABLES) == set(plans.EXPERIMENTS)


def test_a_run_of_two_experiments_is_planned_once(monkeypatch):
    monkeypatch.setattr(plans, "load_data", lambda name: labelled([0, 1, 2]))
    both = plans.plan(["classification", "rank"], ["usps"], 0)
    assert len(both) == len(set(both))
    assert len({run.key for run in both}) == len(both)


def test_cells_of_an_earlier_page_are_replaced_whole():
    def cell(method, splits, version):
        return [
            {"data": "d", "train": 3, "method": method, "split": i, "version": version}
            for i in range(splits)
        ]

    wanted = {("d", 3, name): 3 for name in "abcde"}
    earlier = [r for name in "abcdf" for r in cell(name, 5, 2)] + cell("e", 1, 2)
    new = cell("a", 3, 3) + cell("b", 2, 3) + cell("e", 2, 3)
    found = by_cell(earlier, new, wanted)
    assert found == [
        *(cell("a", 3, 3) + cell("b", 5, 2) + cell("c", 5, 2) + cell("d", 5, 2)),
        *cell("e", 2, 3),
    ]


def test_finished_rows_are_never_computed_again(data_file, tmp_path, monkeypatch):
    plan = [run_of(data_file, name) for name in ("raw", "RidgeLDA")]
    first = run_all(plan, Store(tmp_path / "rows.jsonl"), shown=False)

    def reject(run):
        raise AssertionError("computed again")

    monkeypatch.setattr("tensorcrp.experiments.runs.execute", reject)
    assert run_all(plan, Store(tmp_path / "rows.jsonl"), shown=False) == first


@pytest.mark.slow
def test_the_same_seed_gives_the_same_rows(data_file):
    names = ("TensorCRP", "TensorCRPCV", "SelectiveLDA", "CRP start random")
    plan = [run_of(data_file, name, train=3, n_features=4) for name in names]
    both = [run_all(plan, Store(), shown=False) for _ in range(2)]
    assert [without_times(r) for r in both[0]] == [without_times(r) for r in both[1]]


def test_the_page_is_what_the_rows_say():
    results = ROOT / "docs" / "results"
    assert (ROOT / "docs" / "reproduction.md").read_text() == page_from(results)
    assert (ROOT / "docs" / "protocols.md").read_text() == protocols_from(results)
