"""The command: it runs, says the truth, and refuses what makes no sense."""

import numpy as np
import pytest

from tensorcrp import cli


def test_compare_prints_every_method(capsys):
    assert cli.main(["compare", "--repeats", "2", "--per-class", "3"]) == 0
    out = capsys.readouterr().out
    assert "3 training samples per class, 2 random splits" in out
    for name in cli.methods():
        assert name in out


def test_compare_scores_are_what_the_methods_score():
    scores = cli.compare(per_class=4, repeats=2, seed=3)
    digits = cli.load_digits()
    X, y = digits.images, digits.target
    train, test = cli.split(y, 4, np.random.default_rng([3, 1]))
    model = cli.methods()["TensorCRP, rank 2"].fit(X[train], y[train])
    assert scores["TensorCRP, rank 2"][1] == np.mean(model.predict(X[test]) == y[test])


def test_compare_beats_chance_by_far():
    for name, accuracy in cli.compare(per_class=5, repeats=2, seed=0).items():
        assert accuracy.min() > 0.4, name


def test_split_is_disjoint_whole_and_balanced():
    y = np.repeat([3, 1, 2], [10, 7, 5])
    train, test = cli.split(y, 4, np.random.default_rng(0))
    assert sorted([*train, *test]) == list(range(22))
    assert np.unique(y[train], return_counts=True)[1].tolist() == [4, 4, 4]


def test_table_puts_the_best_first():
    scores = {"worse": np.array([0.2, 0.4]), "better": np.array([0.5, 0.7])}
    lines = cli.table(scores, per_class=5).splitlines()
    assert lines[-2].split()[0] == "better"
    assert lines[-2].split()[1:] == ["60.0", "+-", "14.1"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "command"),
        (["compar"], "compare"),
        (["compare", "--per-class", "2"], "at least 3"),
        (["compare", "--per-class", "x"], "got 'x'"),
        (["compare", "--per-class", "500"], "at most 100"),
    ],
)
def test_bad_arguments_are_named(arguments, words, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert words in capsys.readouterr().err
