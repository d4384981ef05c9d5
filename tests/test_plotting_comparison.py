"""Comparisons hold and draw what the rows say; ranks and tests are Demsar's."""

import json

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tensorcrp.experiments import figures
from tensorcrp.experiments.summaries import ResultRows
from tensorcrp.plotting import ComparisonDisplay
from tensorcrp.plotting._ranks import rank_methods

METHODS = ("TensorCRP", "RidgeLDA", "MPCA", "raw")
# Critical values of the two-tailed Nemenyi test for two to ten methods, table 5(a) of
# Demsar (2006).
NEMENYI = {
    0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
    0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
}


pytestmark = pytest.mark.usefixtures("no_trace")


def plain_rows(seed=0, data=("a", "b"), methods=("TensorCRP", "LDA", "raw"), n=4):
    rng = np.random.default_rng(seed)
    return [
        {"data": name, "method": method, "accuracy": 60 + 30 * rng.random()}
        for name in data
        for method in methods
        for _ in range(n)
    ]


def widths(bars):
    return [bar.get_width() for bar in bars]


# --- bars -------------------------------------------------------------------------


@pytest.mark.parametrize("form", [list, pd.DataFrame])
def test_bars_are_means_and_deviations_of_the_rows(form):
    rows = plain_rows()
    display = ComparisonDisplay.from_rows(form(rows))
    frame = pd.DataFrame(rows).groupby(["data", "method"])["accuracy"]
    names = [text.get_text() for text in display.axes_[0, 0].get_yticklabels()]
    overall = frame.mean().groupby("method").mean().sort_values()
    assert names == list(overall.index)  # the best is drawn last: on top
    for bars, data in zip(display.bars_, "ab", strict=True):
        expected = [frame.mean()[data, name] for name in names]
        np.testing.assert_allclose(widths(bars), expected)
        segments = bars.errorbar.lines[2][0].get_segments()
        half = [(end[0] - start[0]) / 2 for start, end in segments]
        np.testing.assert_allclose(half, [frame.std()[data, name] for name in names])


def test_ours_are_set_off_by_hatches_too():
    display = ComparisonDisplay.from_rows(plain_rows(data="a"))
    names = [text.get_text() for text in display.axes_[0, 0].get_yticklabels()]
    hatched = {
        name
        for name, bar in zip(names, display.bars_[0], strict=True)
        if bar.get_hatch()
    }
    assert hatched == {"TensorCRP"}


def test_methods_that_were_not_run_are_said_to_be_so():
    rows = [row for row in plain_rows() if (row["data"], row["method"]) != ("b", "raw")]
    display = ComparisonDisplay.from_rows(rows)
    assert np.isnan(display.means[1, 2])
    words = [text.get_text() for text in display.axes_[0, 1].texts]
    assert words.count("not run") == 1


def test_some_methods_in_given_axes():
    figure, axes = plt.subplots(1, 2)
    how = {"methods": ["raw", "LDA"], "ax": axes, "bar_kw": {"height": 0.3}}
    display = ComparisonDisplay.from_rows(plain_rows(), **how)
    assert display.figure_ is figure and display.methods == ["raw", "LDA"]
    assert display.bars_[0][0].get_height() == pytest.approx(0.3)


# --- rows of tensorcrp compare ----------------------------------------------------


@pytest.fixture
def folder(compared):
    """What `tensorcrp compare --out` leaves of some methods, at two training sizes."""
    return compared.out


def rows_of(folder):
    lines = (folder / "rows.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("classifier", ["1-NN", "SVM"])
@pytest.mark.parametrize("train", [None, 3])
def test_rows_of_compare_give_its_table(folder, classifier, train):
    rows = rows_of(folder)
    table = ResultRows(rows)
    (data,) = table.data()
    for given in (folder, folder / "rows.jsonl", rows, pd.DataFrame(rows)):
        display = ComparisonDisplay.from_rows(given, classifier=classifier, train=train)
        assert display.data_sets == [data] and set(display.methods) == set(METHODS)
        for j, method in enumerate(display.methods):
            expected = table.score(data, train or 5, method, classifier, "honest")
            assert display.means[0, j] == pytest.approx(expected.mean)
            assert display.deviations[0, j] == pytest.approx(expected.std)


def test_the_old_name_of_the_classifier_still_works(folder):
    with pytest.warns(FutureWarning, match="judge is called classifier"):
        old = ComparisonDisplay.from_rows(folder, judge="SVM")
    new = ComparisonDisplay.from_rows(folder, classifier="SVM")
    assert old.label == new.label
    np.testing.assert_array_equal(old.means, new.means)


def test_figures_of_compare_are_the_display(folder):
    table = ResultRows(rows_of(folder))
    (data,) = table.data()
    figure = figures.bars(table, data, 5, "SVM", METHODS)
    scores = [table.score(data, 5, name, "SVM", "honest").mean for name in METHODS]
    drawn = figure.axes[0].containers[-1]
    np.testing.assert_allclose(widths(drawn), sorted(scores))
    assert plt.get_fignums() == []  # made without pyplot


def test_rows_of_two_versions_are_not_mixed(folder):
    rows = rows_of(folder)
    older = {**rows[0], "version": "0.0.1"}
    with pytest.raises(ValueError, match=r"of versions .* and 0\.0\.1; pass"):
        ComparisonDisplay.from_rows([*rows, older])
    for how, words in [
        (
            {"classifier": "tree"},
            "classifier='tree' is in no row; there are '1-NN', 'SVM'",
        ),
        ({"train": 4}, r"train=4 is in no row; there are \[3, 5\]"),
        ({"selection": "lucky"}, "'lucky'"),
    ]:
        with pytest.raises(ValueError, match=words):
            ComparisonDisplay.from_rows(rows, **how)
    assert plt.get_fignums() == []


# --- ranks ------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", NEMENYI)
def test_critical_differences_are_those_of_the_tables(alpha):
    rng = np.random.default_rng(0)
    for k, q in enumerate(NEMENYI[alpha], start=2):
        if k > 2:  # Friedman's test is for three or more
            found = rank_methods(rng.random((14, k)), alpha).critical_difference
            assert found == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 14)), abs=6e-4)


def test_ranks_are_averages_with_ties():
    scores = np.array(
        [[9.0, 9.0, 7.0, 5.0], [8.0, 9.0, 9.0, 9.0], [4.0, 3.0, 2.0, 1.0]]
    )
    display = ComparisonDisplay(scores, methods="abcd", data_sets="xyz")
    ranking = display.plot(kind="ranks").ranking_
    by_hand = np.mean([[1.5, 1.5, 3, 4], [4, 2, 2, 2], [1, 2, 3, 4]], axis=0)
    np.testing.assert_allclose(ranking.average, by_hand)
    each = [stats.rankdata([-s for s in row], method="average") for row in scores]
    np.testing.assert_allclose(ranking.average, np.mean(each, axis=0))
    test = stats.friedmanchisquare(*scores.T)
    assert (ranking.statistic, ranking.p_value) == pytest.approx(tuple(test))
    words = [text.get_text() for text in display.axes_[0, 0].texts]
    for name, rank in zip("abcd", by_hand, strict=True):
        assert any(name in w.split() and f"{rank:.2f}" in w.split() for w in words)


def test_groups_are_the_largest_that_do_not_differ():
    rng = np.random.default_rng(3)
    for _ in range(20):
        scores = rng.normal(np.arange(6) * rng.random(), 1.0, (15, 6))
        ranking = rank_methods(scores)
        near = (
            np.abs(ranking.average[:, None] - ranking.average)
            < ranking.critical_difference
        )
        # By trying every set of methods: those without a difference, and of them those
        # that are in no larger one.
        sets = [{j for j in range(6) if code >> j & 1} for code in range(1, 2**6)]
        alike = [s for s in sets if len(s) > 1 and near[np.ix_([*s], [*s])].all()]
        largest = [s for s in alike if not any(s < other for other in alike)]
        assert sorted(map(sorted, ranking.groups)) == sorted(map(sorted, largest))


def test_equal_methods_do_not_differ():
    ranking = rank_methods(np.ones((5, 3)))
    assert (ranking.statistic, ranking.p_value) == (0.0, 1.0)
    assert [sorted(group) for group in ranking.groups] == [[0, 1, 2]]


# --- bad input --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "how", "words"),
    [
        ([], {}, "there are no rows"),
        (pd.DataFrame(), {}, "there are no rows"),
        ([1, 2], {}, r"rows\[0\] is 1"),
        ([{"data": "a", "method": "b"}], {}, r"rows\[0\] has no 'accuracy'"),
        ([{"classifiers": None, "skipped": "why"}], {}, "no row holds a score"),
        (plain_rows(), {"methods": ["SVM"]}, "'SVM' is in no row; there are"),
        (plain_rows(), {"methods": []}, "nothing to compare"),
        (plain_rows(), {"kind": "pie"}, "'pie'"),
        (plain_rows(data="a"), {"kind": "ranks"}, "two data sets and three methods"),
        (plain_rows(), {"kind": "ranks", "methods": ["LDA", "raw"]}, "got 2 and 2"),
        (plain_rows(), {"kind": "ranks", "alpha": 5}, "alpha must be between 0 and 1"),
        (plain_rows()[:-4], {"kind": "ranks"}, "raw was not run on b; .*methods="),
    ],
)
def test_bad_rows_are_named_before_a_figure_is_opened(rows, how, words):
    with pytest.raises(ValueError, match=words):
        ComparisonDisplay.from_rows(rows, **how)
    assert plt.get_fignums() == []


def test_bad_files_and_tables(tmp_path):
    with pytest.raises(FileNotFoundError, match="compare --out"):
        ComparisonDisplay.from_rows(tmp_path)
    (tmp_path / "rows.jsonl").write_text("{\n{}\n")
    with pytest.raises(ValueError, match="damaged in line 1 of 2"):
        ComparisonDisplay.from_rows(tmp_path)
    with pytest.raises(ValueError, match="2 data sets and 1 methods"):
        ComparisonDisplay([[1.0, 2.0]], methods=["a"], data_sets=["x", "y"])
    nothing = ComparisonDisplay([[np.nan]], methods=["a"], data_sets=["x"])
    with pytest.raises(ValueError, match="no number"):
        nothing.plot()
    assert plt.get_fignums() == []
