"""Fair comparisons: the C of the SVM, smoothing, SVMs on vectors, and many sets."""

import json
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tensorcrp import TensorCRP, cli
from tensorcrp.baselines import RidgeLDA
from tensorcrp.datasets import make_moving_shapes
from tensorcrp.experiments import (
    compare,
    compare_methods,
    presets,
    protocol_page,
    protocols,
)
from tensorcrp.experiments.classifiers import (
    COSTS,
    OWN,
    middle_of_best,
    svm,
    svm_right,
)
from tensorcrp.experiments.comparison_tables import tables_of
from tensorcrp.experiments.counts import Split, counted, cv_folds
from tensorcrp.experiments.data import BadRequest, load_data
from tensorcrp.experiments.earlier_rows import compact, expand
from tensorcrp.experiments.evidence import Evidence
from tensorcrp.experiments.evidence_page import (
    ablation_table,
    headline_table,
    numbers_of_splits,
    section,
    slim,
    summary_section,
    with_section,
)
from tensorcrp.experiments.evidence_tables import gaps_table, sets_table, summary_table
from tensorcrp.experiments.evidence_words import verdicts
from tensorcrp.experiments.folder_cache import reading
from tensorcrp.experiments.methods import evidence_methods, method
from tensorcrp.experiments.paper import plans
from tensorcrp.experiments.paper.run import protocols_from
from tensorcrp.experiments.random_splits import split
from tensorcrp.experiments.registry import Method
from tensorcrp.experiments.runs import execute, run_all
from tensorcrp.experiments.smoothing import ordered_modes, smooth, smoothed
from tensorcrp.experiments.spatial_lda import fit_spatial_lda
from tensorcrp.experiments.store import TIMES
from tensorcrp.experiments.summaries import ResultRows
from tensorcrp.experiments.tables import Score, Table

ROOT = Path(__file__).parent.parent


def some_settings(name, count):
    """A method with the first of its settings only."""
    how = method(name)
    return replace(how, settings=how.settings[:count])


def halves(X, y, n_features=0, groups=None):
    """A `Split` of every other sample."""
    mine = np.arange(len(y)) % 2 == 0
    groups = None if groups is None else groups[mine]
    return Split(X[mine], y[mine], X[~mine], y[~mine], groups, n_features)


# --- the C of the SVM -------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "index"),
    [([5, 5, 5, 5], 1), ([3, 5, 5, 5], 2), ([1, 2, 3, 3], 2), ([9, 1, 1, 9], 0)],
)
def test_ties_go_to_the_middle(counts, index):
    assert middle_of_best(counts) == index


def test_right_answers_from_gram_matrices_are_those_of_the_svm(make_samples):
    X, y = make_samples((6,), n=90, n_classes=3, seed=2)
    found = svm_right(X[:50], y[:50], X[50:], y[50:])
    wanted = [(svm(X[:50], y[:50], X[50:], C) == y[50:]).sum() for C in COSTS]
    assert found.tolist() == wanted


def test_the_origin_and_the_unit_of_features_do_not_matter_to_the_svm(make_samples):
    X, y = make_samples((6,), n=90, n_classes=3, seed=2)
    moved, how = 1e-3 * X + 50 * np.arange(6), method("raw")
    first, second = (counted(how, halves(A, y))[0] for A in (X, moved))
    assert first["classifiers"] == second["classifiers"]
    as_they_are = replace(halves(moved, y), centred=False)
    assert (as_they_are.moved(moved, X)[0] == moved).all()


def test_the_cost_is_chosen_on_samples_that_the_method_has_not_seen(make_samples):
    """In every fold: fit, SVM on features of that part, count on the others."""
    X, y = make_samples((5, 4), n=80, n_classes=3, seed=5)
    part, how = halves(X, y), some_settings("RidgeLDA", 3)
    row, *_ = counted(how, part)
    right = np.zeros((len(how.settings), len(COSTS)), int)
    for train, test in cv_folds(part.y):
        for i, reg in enumerate(how.settings):
            lda = RidgeLDA(reg=reg).fit(part.X[train], part.y[train])
            mine, others = (lda.transform(part.X[ids]) for ids in (train, test))
            mean = mine.mean(axis=0)
            unit = np.sqrt(((mine - mean) ** 2).sum(axis=1).mean())
            mine, others = (mine - mean) / unit, (others - mean) / unit
            for j, C in enumerate(COSTS):
                svc = SVC(kernel="linear", C=C).fit(mine, part.y[train])
                right[i, j] += (svc.predict(others) == part.y[test]).sum()
    found = row["classifiers"]["SVM"]
    costs = [middle_of_best(line) for line in right]
    assert found["C"] == [COSTS[j] for j in costs]
    assert found["cv_right"] == right.max(axis=1).tolist()
    lda = RidgeLDA(reg=how.settings[0]).fit(part.X, part.y)
    mine, others = part.moved(lda.transform(part.X), lda.transform(part.X_test))
    guess = svm(mine, part.y, others, found["C"][0])
    assert found["right"][0] == (guess == part.y_test).sum()


def test_the_papers_tuning_stands_beside_it(make_samples):
    X, y = make_samples((5, 4), n=60, n_classes=3, seed=5)
    how = some_settings("RidgeLDA", 2)
    entries = counted(how, halves(X, y), paper=True)[0]["classifiers"]
    assert len(entries["SVM"]["paper_right"]) == len(entries["SVM"]["right"])
    assert "paper_right" not in entries["1-NN"]


def test_a_search_is_not_repeated_for_the_cost(make_samples, monkeypatch):
    """TensorCRPCV is fitted once; the folds fit TensorCRP with what it chose."""
    from tensorcrp import TensorCRPCV

    X, y = make_samples((5, 4), n=60, n_classes=3, seed=5)
    fits, fit = [], TensorCRPCV.fit
    monkeypatch.setattr(TensorCRPCV, "fit", lambda *a: fits.append(1) or fit(*a))
    row, (model,), _ = counted(method("TensorCRPCV"), halves(X, y))
    assert len(fits) == 1
    known = TensorCRP().get_params()
    assert {"rank", "reg", "n_components"} <= set(model.best_params_) & set(known)
    assert set(row["classifiers"]) == {"1-NN", "SVM", OWN}
    assert row["classifiers"]["SVM"]["C"][0] in COSTS


# --- smoothing, and SVMs on vectors -----------------------------------------------


def test_ordered_modes_are_found():
    rng = np.random.default_rng(0)
    X = gaussian_filter1d(rng.standard_normal((40, 12, 9, 3)), 1.5, axis=2)
    y = np.arange(40) % 4
    assert ordered_modes(X, y) == [1]
    shuffled = X[:, :, rng.permutation(9)]
    assert ordered_modes(shuffled, y) == []
    assert ordered_modes(gaussian_filter1d(X, 2.0, axis=3), y) == [1]  # three slices


def test_the_filter_follows_ordered_modes_alone():
    X = np.random.default_rng(1).standard_normal((5, 6, 7))
    assert smooth(X, [0, 1], 0.0) is X
    once = smooth(X, [1], 0.7)
    np.testing.assert_allclose(once, gaussian_filter1d(X, 0.7, axis=2, mode="nearest"))
    np.testing.assert_allclose(smooth(np.ones((2, 6, 7)), [0, 1], 1.4), 1.0)


def test_without_width_a_smoothed_method_is_the_method(make_samples):
    X, y = make_samples((6, 7), n=60, n_classes=3, seed=1)
    part, how = halves(X, y), some_settings("SelectiveLDA", 2)
    plain = counted(how, part)[0]["classifiers"]["1-NN"]
    both = counted(smoothed(how), part)[0]["classifiers"]["1-NN"]
    n = len(how.settings)
    assert len(both["right"]) == 3 * n
    assert both["right"][:n] == plain["right"]
    assert both["cv_right"][:n] == plain["cv_right"]


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "RBF"])
def test_svms_on_vectors_are_those_of_scikit_learn(make_samples, kernel, scaled):
    X, y = make_samples((4, 3), n=90, n_classes=3, seed=3)
    X[:, 0, 0] = 7.0  # an entry without variation
    part = halves(X, y)
    name = f"{kernel} SVM, scaled" if scaled else f"{kernel} SVM"
    how = method(name)
    models = how.fit(part.X, part.y, how.settings, 0, None)
    flat, others = (each.reshape(len(each), -1) for each in (part.X, part.X_test))
    centre = StandardScaler(with_std=scaled).fit(flat)
    rows = centre.transform(flat)
    unit = np.sqrt((rows**2).sum(axis=1).mean())
    for model, (C, gamma) in zip(models, how.settings, strict=True):
        if gamma is None:
            svc = SVC(C=C / unit**2, kernel="linear")
        else:
            svc = SVC(C=C, gamma=gamma / 2 / unit**2)
        wanted = make_pipeline(centre, svc).fit(flat, part.y).predict(others)
        assert (model.predict(part.X_test) == wanted).mean() > 0.95


# --- many sets --------------------------------------------------------------------


def row(data, split, method, right, train=5, **more):
    classifiers = {"1-NN": {"right": [right]}, "SVM": {"right": [right]}}
    return {
        **{"key": f"{data}{split}{method}{train}", "version": "0", "data": data},
        **{"train": train, "split": split, "method": method, "n_test": 100},
        **{"n_classes": 4, "majority": 30, "classifiers": classifiers},
        **{"fit_seconds": 1.0, "transform_seconds": 0.1, **more},
    }


@pytest.fixture
def evidence():
    """Two sets, two splits, three methods, one of which has a hole."""
    accuracies = {
        "TensorCRPCV": {"a": (80, 90), "b": (50, 60)},
        "raw": {"a": (70, 84), "b": (55, 66)},
        "MPCA": {"a": (60, 60)},
        "TensorCRPCV, 1-NN": {"a": (79, 89), "b": (49, 59)},
    }
    return ResultRows(
        row(data, i, name, right)
        for name, sets in accuracies.items()
        for data, values in sets.items()
        for i, right in enumerate(values)
    )


def test_differences_are_paired_and_ranks_are_means(evidence):
    found = Evidence(evidence, 5)
    assert found.sets == ["a", "b"]
    methods = ["TensorCRPCV", "TensorCRPCV, 1-NN", "raw"]  # 70, 69 and 68.75
    assert found.complete() == methods
    gap = found.difference("a", "TensorCRPCV", "raw")
    assert (gap.mean, gap.error) == (8.0, pytest.approx(2.0))
    assert found.losses("TensorCRPCV", "raw") == ["b"]
    mean = found.mean_difference("TensorCRPCV", "raw")
    assert (mean.mean, mean.error) == (1.25, pytest.approx(6.75))
    assert found.ranks() == {"TensorCRPCV": 1.5, "raw": 1.5}  # a part is no method
    assert found.holes("MPCA") == 1


def test_a_mean_of_fewer_splits_is_no_mean_of_the_others(evidence):
    """A method that ran on the easier split has no rank, and says what is missing."""
    rows = ResultRows([*evidence.all, row("a", 1, "late", 99), row("b", 1, "late", 99)])
    found = Evidence(rows, 5)
    assert found.holes("late") == 2 and "late" not in found.complete()
    assert found.ranks() == Evidence(evidence, 5).ranks()
    assert found.methods[-2:] == ["late", "MPCA"]


def test_features_are_compared_by_the_same_classifier(evidence):
    """A classifier itself has none, however good it is."""
    better = [row(d, i, "RBF SVM", 95) for d in "ab" for i in range(2)]
    rows = [each | {"features": 9} for each in evidence.all]
    (said,) = verdicts(ResultRows([*rows, *better]))
    same = "against the next best: +1.2 ± 6.8 by 1-NN (raw), +1.2 ± 6.8 by SVM (raw)."
    assert same in said and "best other method is RBF SVM with 95.0" in said
    (said,) = verdicts(evidence)
    assert "Its features" not in said


def test_one_split_can_be_a_loss():
    rows = ResultRows([row("a", 0, "TensorCRPCV", 40), row("a", 0, "raw", 70)])
    assert Evidence(rows, 5).losses("TensorCRPCV", "raw") == ["a"]
    assert Evidence(rows, 5).losses("raw", "TensorCRPCV") == []


def test_own_predictions_are_the_headline():
    counts = {"1-NN": {"right": [10]}, OWN: {"right": [20]}}
    rows = ResultRows([row("a", i, "m", 0, classifiers=counts) for i in range(2)])
    assert Evidence(rows, 5).mean("m") == 20.0
    assert Evidence(rows, 5, "1-NN").mean("m") == 10.0
    assert Evidence(rows, 5, "SVM").methods == []


def test_tables_say_chance_and_losses(evidence):
    text = summary_table(evidence, 5).text()
    assert max(map(len, text.splitlines())) <= 80
    text = " ".join(text.split())
    assert "chance 25.0" in text and "largest class 30.0" in text
    assert "MPCA (1 missing)" in text
    sets = sets_table(evidence, 5).markdown()
    assert "| test samples |  | 100 | 100 |" in sets
    assert "+8.0 ± 2.0" in gaps_table(evidence, 5).markdown()


def test_without_the_reference_there_is_no_gap(evidence):
    whole = summary_table(evidence, 5).text()
    assert "gap" in whole and "losses" in whole
    few = ResultRows([row for row in evidence.all if row["method"] != "TensorCRPCV"])
    text = summary_table(few, 5).text()
    assert "gap" not in text and "losses" not in text
    assert "raw" in text and "rank" in text


@pytest.mark.parametrize("name", ["RBF SVM", "linear SVM, smooth", "CPLogistic"])
def test_one_figure_for_both_columns_is_explained(name):
    for names, said in ((("raw",), False), ((name, "raw"), True)):
        some = [
            row("a", i, m, 50, shape=[2], features=2) for i in (0, 1) for m in names
        ]
        (table,) = tables_of(ResultRows(some))
        assert ("classifiers themselves" in " ".join(table.text().split())) == said


def test_a_wide_table_leaves_out_what_it_may_and_says_so():
    header = ["method", "score", "x" * 40, "y" * 40]
    table = Table("t", header, [["a", "1", "2", "3"]], optional=("y" * 40,))
    text = table.text()
    assert "Not shown: " + "y" * 40 in text and "x" * 40 in text
    assert "3" in table.csv()


@pytest.fixture
def folder(tmp_path, make_samples, monkeypatch):
    """A data folder with two sets, the second too small for ten per class."""
    sizes = {"orl": 40, "umist": 90}
    for name, n in sizes.items():
        X, y = make_samples((4, 3), n=n, n_classes=3, seed=1)
        np.savez(tmp_path / f"{name}.npz", X=X, y=y)
    monkeypatch.setenv("TENSORCRP_DATA", str(tmp_path))
    load_data.cache_clear()
    yield tmp_path
    load_data.cache_clear()


def test_the_preset_takes_what_is_there(folder, capsys, monkeypatch):
    names = ["TwoDPCA", "raw", "raw, smooth"]
    command = ["compare", "--preset", "real", "--repeats", "2", "--jobs", "1"]
    command += ["--methods", *names, "--max-test", "20"]
    rows = []
    monkeypatch.setattr(compare, "run_all", lambda *a: rows.extend(run_all(*a)) or rows)
    assert cli.main(command) == 0
    printed = capsys.readouterr().out
    assert "5 per class, 2 sets" in printed and "skipped: orl, 10 per class" in printed
    assert max(map(len, printed.split("skipped:")[0].splitlines())) <= 80
    ran = {(r["data"], r["train"]) for r in rows if "classifiers" in r}
    assert ran == {("orl", 5), ("umist", 5), ("umist", 10)}
    assert all(r["n_test"] <= 20 for r in rows if "classifiers" in r)
    assert {r["method"] for r in rows if "classifiers" in r} == set(names)


def test_the_preset_keeps_groups_apart(folder, own_file):
    how = {"preset": "real", "methods": ["raw"], "per_class": 4, "repeats": 2}
    rows = compare_methods(own_file, groups="who", **how, **GIVEN)
    plain = compare_methods(own_file, groups="who", **how | {"preset": None}, **GIVEN)
    assert [(r["groups"], r["n_test"]) for r in rows] == [
        (r["groups"], r["n_test"]) for r in plain
    ]
    with pytest.raises(BadRequest, match="splits of its own: leave --groups nobody"):
        compare_methods("basic_motions_uea", groups="nobody")


def test_given_splits_are_one_size_in_a_preset(folder, tmp_path):
    for half, n in {"train": 6, "test": 3}.items():
        where = {"folder": tmp_path / "c" / half, "random_state": n}
        make_moving_shapes(n, 2, frames=4, size=(8, 8), **where)
    how = {"preset": "real", "methods": ["raw"], "per_class": [3, 5], "repeats": 2}
    more = {"options": {"frames": 4, "size": (8, 8)}}
    rows = compare_methods(tmp_path / "c", **how, **more)
    assert [(r["train"], r["split"], r["n_train"]) for r in rows] == [(0, 0, 12)]


def test_the_preset_needs_data(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TENSORCRP_DATA", str(tmp_path))
    with pytest.raises(SystemExit):
        cli.main(["compare", "--preset", "real"])
    assert "no data set is in" in capsys.readouterr().err
    monkeypatch.delenv("TENSORCRP_DATA")
    monkeypatch.setattr(presets, "BESIDE", tmp_path / "nowhere")
    with pytest.raises(BadRequest, match="TENSORCRP_DATA"):
        compare_methods(preset="real")


def test_the_preset_runs_every_kind_of_method():
    names = evidence_methods()
    wanted = {"TensorCRP", "TensorCRPCV", "raw", "RidgeLDA, smooth", "linear SVM"}
    wanted |= {"RBF SVM, scaled", "RBF SVM, scaled, smooth", "MPCA, smooth"}
    assert wanted <= set(names)
    assert any(name.startswith("TensorCRPCV, ") for name in names)


# --- pages ------------------------------------------------------------------------


def test_a_slim_row_says_the_same():
    settings = {"right": [3, 9, 4], "cv_right": [1, 1, 5]}
    found = row("a", 0, "m", 0, classifiers={"1-NN": settings})
    assert Evidence(ResultRows([found]), 5).mean("m") == 4.0
    assert Evidence(ResultRows([slim(found)]), 5).mean("m") == 4.0
    middle = {"right": [3, 9, 4], "cv_right": [5, 5, 5]}
    tied = row("a", 0, "m", 0, classifiers={"1-NN": middle}, ties="middle")
    assert slim(tied)["classifiers"]["1-NN"]["right"] == [9]
    assert slim({"skipped": "why"}) == {"skipped": "why"}


def test_compact_rows_keep_times_where_asked():
    rows = [row("a", i, "m", 50 + i) for i in range(2)]
    again = expand(compact([slim(each) for each in rows], times=TIMES))
    assert again == rows


def test_sections_are_functions_of_rows(evidence):
    text = section(evidence.all)
    assert "TensorCRPCV 70.0" in text and "raw with 68.8" in text
    assert "Behind by more than one standard error on b (raw)." in text
    assert summary_section(evidence.all).count("\n| ") >= 3
    first = headline_table(evidence.all, "[{}](page)")
    assert "| TensorCRPCV | **70.0** |\n| raw | 68.8 |\n" in first
    assert "MPCA" not in first and first.endswith("](page).\n")
    page = with_section("# Title\n\nWords.\n", "x", "first")
    assert page.startswith("# Title\n\nWords.\n") and "first" in page
    again = with_section(page + "After.\n", "x", "second")
    assert "first" not in again and again.endswith("After.\n")
    with pytest.raises(ValueError, match="no line"):
        with_section(page.replace("<!-- end", "<!-- no end"), "x", "third")


def test_numbers_of_splits_are_said():
    runs = {("a", "raw"): 3, ("b", "raw"): 3, ("a", "MPCA"): 2, ("b", "MPCA"): 3}
    runs |= {("a", "HODA, smooth"): 1}
    rows = [
        row(data, i, name, 50) for (data, name), n in runs.items() for i in range(n)
    ]
    words = numbers_of_splits(ResultRows(rows))
    assert "means of 3 splits; other numbers" in words
    assert words.endswith(": MPCA (2 on a with 5 per class); HODA, smooth (1).")
    assert numbers_of_splits(ResultRows(rows[:6])).endswith(" means of 3 splits.")


def test_parts_stand_beside_the_whole():
    rows = [
        row("a", i, name, right)
        for name, right in {"TensorCRPCV": 80, "TensorCRPCV, part": 70}.items()
        for i in range(2)
    ]
    (whole, part) = ablation_table(ResultRows(rows)).body
    assert whole[:2] == ["the whole", Score(80.0)]
    assert part[0] == "part" and part[2].startswith("-10.0")


def test_the_pages_are_what_the_rows_say():
    script = runpy.run_path(str(ROOT / "docs" / "evidence.py"))
    if script["ROWS"].exists():
        for path in script["PAGES"]:
            assert path.read_text() == script["page"](path, script["rows_there"]())


def test_failed_fits_are_counted_and_said(make_samples, evidence):
    """Features that are the same for all samples say nothing about a method."""

    class Nothing:
        def transform(self, X):
            return np.zeros((len(X), 2))

    X, y = make_samples((4, 3), n=60, n_classes=3, seed=1)
    how = Method(lambda X, y, settings, *_: [Nothing() for _ in settings])
    assert counted(how, halves(X, y))[0]["constant"] == 1
    assert "constant" not in counted(method("raw"), halves(X, y))[0]
    bad = [{**each, "constant": 1} for each in evidence.all if each["method"] == "MPCA"]
    rows = [each for each in evidence.all if each["method"] != "MPCA"] + bad
    assert ResultRows(rows).constant_lines() == ["a, 5 per class, MPCA: 2 of 2 splits"]
    assert "Failed fits" not in section(evidence.all)
    assert "### Failed fits" in section(rows) and "figures of MPCA" in summary_section(
        rows
    )


# --- published protocols ----------------------------------------------------------


@pytest.fixture
def people(tmp_path, make_samples, monkeypatch):
    """Small sets under the names of the real ones, with the arrays of protocols."""
    X, y = make_samples((4, 6), n=96, n_classes=3, seed=6)
    who = np.arange(96) % 4
    places = np.stack([np.arange(96) // 2 * 3 % 145, np.arange(96) * 7 % 145], axis=1)
    more = {"subject": who, "train": who < 2, "rowcol": places}
    for name in ("yaleb", "basic_motions", "eeg_finger", "weizmann", "cmu_faces"):
        np.savez(tmp_path / f"{name}.npz", X=X, y=y, **more)
    np.savez(tmp_path / "indian_pines.npz", X=X, y=y, **more)
    monkeypatch.setenv("TENSORCRP_DATA", str(tmp_path))
    load_data.cache_clear()
    yield {"y": y, **more}
    load_data.cache_clear()


def test_given_splits_are_those_of_the_protocol(people):
    who, places = people["subject"], people["rowcol"]
    for name in ("basic_motions_uea", "eeg_finger_uea"):
        ((train, test),) = load_data(name).splits
        assert set(who[train]) == {0, 1} and set(who[test]) == {2, 3}
    for name in ("weizmann_people", "cmu_faces_people"):
        data = load_data(name)
        for person, (train, test) in enumerate(data.splits):
            assert set(who[test]) == {person} and person not in who[train]
            assert len(train) + len(test) == len(who)
        assert (data.groups == who).all()
    for train, test in load_data("indian_pines_apart").splits:
        gaps = np.abs(places[train][:, None] - places[test][None]).max(axis=2)
        assert gaps.min() >= 5  # patches of five by five share no pixel
        assert set(people["y"][train]) == set(people["y"][test]) == {0, 1, 2}


def test_cai_images_have_unit_norm(people):
    data = load_data("yaleb_cai")
    np.testing.assert_allclose(np.linalg.norm(data.X.reshape(96, -1), axis=1), 1.0)
    assert not data.splits and data.classifiers == ("1-NN", "centroid")


def test_protocols_are_reproduced_beside_published_figures(
    people, tmp_path, capsys, monkeypatch
):
    """In parts: later calls show what earlier ones have run, and the page has all."""
    monkeypatch.setattr(protocols, "QUICK", ("linear SVM",))
    monkeypatch.setattr(protocols, "SLOW", "raw")
    command = ["reproduce", "uea", "people", "indian_pines", "--jobs", "1", "--only"]
    command += ["eeg_finger_uea", "weizmann_people", "indian_pines_apart"]
    command += ["--out", str(tmp_path / "out")]
    assert cli.main([*command, "--methods", "raw", "--splits", "2"]) == 0
    assert "5 runs; this took" in capsys.readouterr().out  # 1 + 2 + 2
    with pytest.raises(SystemExit):
        cli.main([*command, "--per-class", "7"])
    assert "--per-class 7: these experiments have no such" in capsys.readouterr().err
    page = tmp_path / "docs" / "protocols.md"
    assert cli.main([*command, "--methods", "linear SVM", "--page", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "10 runs; this took" in printed  # 1 + 4 + 5
    assert "eeg_finger_uea, given splits" in printed and "59.5" in printed
    assert "indian_pines_apart" in printed and "share no pixel" in printed
    wide = [line for line in printed.splitlines() if len(line) > 80]
    assert all(str(tmp_path) in line for line in wide)
    lines = (tmp_path / "out" / "rows.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert {r["split"] for r in rows if r["data"] == "weizmann_people"} == {0, 1, 2, 3}
    text = page.read_text()
    assert text == protocols_from(page.parent / "results") and "15 runs took" in text
    assert "- yaleb_cai, 5 per class: all methods" in text
    assert "- weizmann_people" not in text
    assert "| raw |" in text and "| linear SVM |" in text and "ICML 2025" in text
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        cli.main([*command[:2], "rank", "--page", str(page)])
    assert not Path("reproduction").exists()  # nothing is left of what is refused
    assert "one page at a time" in capsys.readouterr().err


def test_cai_runs_both_classifiers(people, monkeypatch):
    monkeypatch.setattr(protocols, "QUICK", ("raw",))
    monkeypatch.setattr(protocols, "CAI_SPLITS", 2)
    runs = plans.plan(["yaleb"], None, 0)
    some = plans.part_of(runs, sizes=[5, 20], splits=1)
    assert some and {(run.train, run.split) for run in some} == {(5, 0), (20, 0)}
    assert {"raw", "S-LDA"} <= {run.method for run in runs}
    found = execute(runs[0])
    assert set(found["classifiers"]) == {"1-NN", "centroid"}
    (table,) = protocol_page.protocol_tables("yaleb", ResultRows([found]))
    assert "36.4 +- 1.6" in table.text() and "63.6 +- 1.6" in table.note


def test_spatial_lda_has_the_ridge_of_smooth_weights(make_samples):
    """Weights are eigenvectors of S_b w = J (S_w + lambda R) w."""
    X, y = make_samples((4, 3), n=40, n_classes=2, seed=2)
    mu, reg = 3.0, 0.5
    (model,) = fit_spatial_lda(X, y, [(mu, reg)])
    flat = X.reshape(40, -1)
    units, zero = np.eye(12).reshape(12, 4, 3), np.zeros((1, 4, 3))
    weights = (model.transform(units) - model.transform(zero))[:, 0]
    means = np.stack([flat[y == c].mean(axis=0) for c in (0, 1)])
    rest = flat - means[y]
    D = [np.diff(np.eye(size), axis=0) for size in (4, 3)]
    R = np.kron(*(np.eye(len(d.T)) + mu * d.T @ d for d in D))
    ridge = reg * np.trace(np.linalg.solve(R, rest.T @ rest)) / 12
    exact = np.linalg.solve(rest.T @ rest + ridge * R, means[1] - means[0])
    cosine = weights @ exact / np.linalg.norm(weights) / np.linalg.norm(exact)
    assert abs(cosine) == pytest.approx(1.0, abs=1e-10)


# --- data of the user -------------------------------------------------------------


@pytest.fixture
def own_file(tmp_path, make_samples):
    """Arrays under other names, samples last, with people."""
    X, y = make_samples((4, 3), n=120, n_classes=2, seed=4)
    who = np.arange(120) % 6
    path = tmp_path / "mine.npz"
    np.savez(path, clips=np.moveaxis(X, 0, -1), kind=y, who=who)
    return str(path)


READ = {"data": "clips", "target": "kind", "samples": "last"}
GIVEN = {"options": READ}


def test_files_with_other_names_are_compared(own_file):
    how = {"methods": ["raw"], "per_class": 4, "repeats": 2, **GIVEN}
    rows = compare_methods(own_file, groups="who", **how)
    assert rows[0]["shape"] == [4, 3] and "skipped" not in rows[0]
    with reading(READ):
        data = load_data(own_file, "who")
    train, test = split(data, 4, 0, 0)
    assert not set(data.groups[train]) & set(data.groups[test])
    assert rows[0]["n_test"] == len(test)


def test_the_command_reads_them_too(own_file, capsys):
    command = ["compare", own_file, "--methods", "raw", "--per-class", "4"]
    options = ["--data", "clips", "--target", "kind", "--samples", "last"]
    run = [*command, *options, "--repeats", "2", "--jobs", "1"]
    assert cli.main([*run, "--groups", "who"]) == 0
    assert "4 per class to train" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main([*run, "--groups", "whom"])
    assert "there are: who" in capsys.readouterr().err
    for more, words in (
        ([], "--data X --target y"),
        (["--methods", "X"], "; RBF SVM;"),
    ):
        with pytest.raises(SystemExit):
            cli.main([*(command[:2] if not more else ["compare", "digits"]), *more])
        assert words in capsys.readouterr().err


def test_rows_as_a_data_frame(own_file):
    pytest.importorskip("pandas")
    how = {"methods": ["raw", "RidgeLDA"], "per_class": 4, "repeats": 2, **GIVEN}
    frame = compare_methods(own_file, as_frame=True, **how)
    assert len(frame) == 2 * 2 * 2
    assert frame.accuracy.between(0, 100).all()
    rows = ResultRows(compare_methods(own_file, **how))
    mean = frame[(frame.method == "RidgeLDA") & (frame.classifier == "SVM")].accuracy
    assert mean.mean() == pytest.approx(
        rows.score(own_file, 4, "RidgeLDA", "SVM", "honest").mean
    )


def test_arrays_are_no_data_sets():
    for data in ((np.ones((4, 2)), np.arange(4)), [3], np.ones((4, 2))):
        with pytest.raises(BadRequest, match=r"by names or paths, got .*savez"):
            compare_methods(data, methods=["raw"])


def test_test_samples_are_drawn_once_per_split(own_file):
    with reading(READ):
        data = load_data(own_file)
    train, test = split(data, 4, 0, 0)
    same, some = split(data, 4, 0, 0, 30)
    assert (train == same).all() and len(some) == 30 and set(some) <= set(test)
    assert (some == split(data, 4, 0, 0, 30)[1]).all()
    assert compare.DEFAULT_DATA == ("digits", "moving_shapes")
