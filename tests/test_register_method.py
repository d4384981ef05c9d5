"""A method from outside the package: registered, compared, and found by the command."""

import sys

import numpy as np
import pytest

from tensorcrp import cli
from tensorcrp.experiments import compare_methods, register_method, registry
from tensorcrp.experiments.data import load_data
from tensorcrp.experiments.methods import library_methods
from tensorcrp.experiments.random_splits import split

MODULE = '''
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin


class ModePCA(TransformerMixin, BaseEstimator):
    """A factor per mode: leading directions of the centred samples."""

    def __init__(self, size=2):
        self.size = size

    def fit(self, X, y=None):
        C = X - X.mean(axis=0)
        rows = [np.moveaxis(C, m, 0).reshape(C.shape[m], -1) for m in (1, 2)]
        self.factors_ = [np.linalg.svd(A)[0][:, : self.size] for A in rows]
        return self

    def transform(self, X):
        U, V = self.factors_
        return (U.T @ X @ V).reshape(len(X), -1)


class Broken(ModePCA):
    def fit(self, X, y=None):
        raise KeyError("no such thing")


class Deadly(ModePCA):
    def fit(self, X, y=None):
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)


class Needy(ModePCA):
    def __init__(self, size):
        self.size = size


class NoEstimator:
    pass
'''


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """A test begins with the methods of the package, and what it adds is gone after."""
    own = {name: each for name, each in registry._METHODS.items() if each.home}
    monkeypatch.setattr(registry, "_METHODS", own)


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A module of the user in the current folder."""
    (tmp_path / "outside_methods.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    import outside_methods

    yield outside_methods
    del sys.modules["outside_methods"]


@pytest.fixture
def data_file(tmp_path, make_samples):
    X, y = make_samples((4, 3), n=40, n_classes=3, seed=1)
    np.savez(tmp_path / "small.npz", X=X, y=y)
    return str(tmp_path / "small.npz")


def small(path, *more):
    return ["compare", path, "--repeats", "2", "--per-class", "3", *more]


def right_by_hand(data, train, test):
    """Right answers of 1-NN on the features, written out."""
    X, Z = data.X[train], data.X[test]
    C = X - X.mean(axis=0)
    U = np.linalg.eigh(np.einsum("nij,nkj->ik", C, C))[1][:, -2:]
    V = np.linalg.eigh(np.einsum("nij,nik->jk", C, C))[1][:, -2:]
    mine, others = (np.einsum("ia,nij,jb->nab", U, A, V) for A in (X, Z))
    distances = ((others[:, None] - mine[None]) ** 2).sum(axis=(2, 3))
    guess = data.y[train][distances.argmin(axis=1)]
    return int((guess == data.y[test]).sum())


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_registered_method_is_compared(outside, data_file, jobs):
    register_method("mine", outside.ModePCA)
    how = {"per_class": 4, "repeats": 2, "methods": ["mine", "raw"]}
    rows = compare_methods(data_file, jobs=jobs, **how)
    assert [row["method"] for row in rows] == ["mine", "raw"] * 2
    data = load_data(data_file)
    for row in rows[::2]:
        ids = split(data, 4, 0, row["split"])
        assert row["classifiers"]["1-NN"]["right"] == [right_by_hand(data, *ids)]
        assert row["features"] == 4


def test_all_methods_are_compared_beside_it(outside):
    register_method("mine", outside.ModePCA)
    assert registry.chosen_methods() == [*library_methods(), "mine"]
    assert registry.chosen_methods(["raw", "mine"]) == ["raw", "mine"]
    added = registry.chosen_methods(["outside_methods:Broken"])
    assert added == [*library_methods(), "mine", "Broken"]


def test_its_parameter_is_chosen_on_training_samples(outside, data_file):
    how = register_method("mine", outside.ModePCA, parameter="size", values=(3, 2, 1))
    assert how.choice == "size by CV"
    (row, _) = compare_methods(data_file, methods="mine", per_class=4, repeats=2)
    for name in ("1-NN", "SVM"):
        assert len(row["classifiers"][name]["right"]) == 3
        assert len(row["classifiers"][name]["cv_right"]) == 3


def test_the_command_takes_a_class(outside, data_file, capsys, tmp_path):
    command = small(data_file, "--jobs", "1", "--out", str(tmp_path / "out"))
    assert cli.main([*command, "--methods", "outside_methods:ModePCA", "raw"]) == 0
    out = capsys.readouterr().out
    assert "\nModePCA " in out and "\nraw " in out and "\nMPCA " not in out
    assert "ModePCA" in (tmp_path / "out" / "tables.md").read_text()


def test_other_source_is_another_run(outside):
    first = register_method("mine", outside.ModePCA).describe()
    with open("outside_methods.py", "a") as file:
        file.write("\n# changed\n")
    assert register_method("mine", outside.ModePCA).describe() != first


def test_errors_of_the_method_are_rows(outside, data_file, capsys):
    command = small(data_file, "--jobs", "1", "--methods", "outside_methods:Broken")
    assert cli.main([*command, "raw"]) == 0
    assert "Broken: KeyError: 'no such thing'" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_method_that_ends_its_process_is_a_sentence(outside, data_file, capsys):
    register_method("Deadly", outside.Deadly)
    assert cli.main(small(data_file, "--jobs", "2", "--methods", "Deadly")) == 1
    assert "a process was killed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("no_such_module:X", "No module named 'no_such_module'"),
        ("outside_methods:Missing", "Missing"),
        ("outside_methods:Needy", "without arguments"),
        ("outside_methods:NoEstimator", "no scikit-learn estimator"),
        ("tensorcrp.baselines:MPCA", "give another name"),
        ("ModePCE", "unknown method 'ModePCE'"),
    ],
)
def test_bad_methods_are_named(outside, data_file, spec, words, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(small(data_file, "--methods", spec))
    assert stop.value.code == 2
    err = " ".join(capsys.readouterr().err.split())
    assert words in err and spec in err


@pytest.mark.parametrize(
    ("name", "how", "words"),
    [
        ("", {}, "name"),
        ("TensorCRP", {}, "method of tensorcrp"),
        ("mine", {"parameter": "size"}, "give both"),
        ("mine", {"parameter": "sise", "values": [1]}, "there are: size"),
        ("mine", {"parameter": "size", "values": []}, "values must not be empty"),
    ],
)
def test_bad_registrations_are_refused(outside, name, how, words):
    with pytest.raises(ValueError, match=words):
        register_method(name, outside.ModePCA, **how)
    assert "mine" not in registry.all_methods()


def test_what_cannot_be_sent_is_said_before_any_run(outside, data_file):
    register_method("local", lambda: outside.ModePCA())
    with pytest.raises(ValueError, match="local cannot be sent to other processes"):
        compare_methods(data_file, methods="local", per_class=3, jobs=2)
    assert compare_methods(data_file, methods="local", per_class=3, repeats=2)
