"""Shared fixtures and the two hypothesis profiles.

``pytest`` runs the properties on a fixed set of examples;
``pytest tests/test_properties.py --hypothesis-profile=long`` searches for new ones.
"""

import os
import stat
from contextlib import redirect_stdout
from io import StringIO
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from site_links import SITE

from tensorcrp import cli
from tensorcrp.solver import Rows

# The built site is looked at where there is one (CONTRIBUTING.md has the command).
collect_ignore = [] if (SITE / "index.html").exists() else ["test_site.py"]

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fixed", max_examples=80, derandomize=True, **_COMMON)
settings.register_profile("long", max_examples=3000, print_blob=True, **_COMMON)
settings.load_profile("fixed")


@pytest.fixture
def own_methods(monkeypatch):
    """What a test registers for comparisons is gone after it."""
    from tensorcrp.experiments import methods, registry

    known = methods.all_methods()  # with those of the package, loaded by now
    monkeypatch.setattr(registry, "_METHODS", known)


@pytest.fixture
def make_samples():
    """Labelled random tensors: ``make_samples(shape, n, n_classes, seed)``.

    Class means differ, classes are not equally large, and every class has at least
    two samples.
    """

    def make(shape, n=30, n_classes=3, seed=0, dtype=float):
        rng = np.random.default_rng(seed)
        weights = np.arange(1.0, n_classes + 1)
        extra = rng.choice(n_classes, n - 2 * n_classes, p=weights / weights.sum())
        y = np.concatenate([np.repeat(np.arange(n_classes), 2), extra])
        means = rng.standard_normal((n_classes, *shape))
        X = means[y] + rng.standard_normal((n, *shape))
        order = rng.permutation(n)
        return X[order].astype(dtype), y[order]

    return make


@pytest.fixture
def samples(make_samples):
    """Samples whose modes differ in scale, so that no two eigenvalues are alike."""

    def make(shape, n=40, n_classes=4, seed=1):
        X, y = make_samples(shape, n, n_classes, seed)
        for m, size in enumerate(shape):
            scale = np.linspace(0.5, 1.5, size).reshape(-1, *[1] * (len(shape) - m - 1))
            X = X * scale
        return X, y

    return make


@pytest.fixture(scope="session")
def compared(tmp_path_factory):
    """One run of ``tensorcrp compare --out``: four methods, two training sizes.

    Its `command`, its folder `out`, the names of the `methods` and what it `printed`.
    """
    root = tmp_path_factory.mktemp("compare")
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.standard_normal((3, 4, 3))[y] + rng.standard_normal((60, 4, 3))
    np.savez(root / "own.npz", X=X, y=y)
    methods, out = ("TensorCRP", "RidgeLDA", "MPCA", "raw"), root / "results"
    command = ["compare", str(root / "own.npz"), "--repeats", "2", "--jobs", "1"]
    command += ["--per-class", "3", "5", "--methods", *methods, "--out", str(out)]
    with redirect_stdout(StringIO()) as printed:
        assert cli.main(command) == 0
    return SimpleNamespace(
        command=command, out=out, methods=methods, printed=printed.getvalue()
    )


@pytest.fixture
def no_trace(monkeypatch):
    """Nothing is shown, the settings of matplotlib are as before."""
    import matplotlib
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: pytest.fail("nobody asked to show it"))
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
    plt.close("all")


@pytest.fixture
def disk_calls(monkeypatch):
    """A list of what is done from now on: "file" and "folder" flushed, "rename"."""
    calls, fsync, replace = [], os.fsync, os.replace

    def noted_fsync(handle):
        calls.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def noted_replace(*args):
        calls.append("rename")
        replace(*args)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    return calls


@pytest.fixture
def no_memory(monkeypatch):
    """A function of an estimator: no memory is free from then on.

    Once there are statistics, rows outside memory stay there.
    """
    whole = Rows.__array__

    def load(rows, *args, **kwargs):
        assert rows.in_memory, "all rows were loaded at once"
        return whole(rows, *args, **kwargs)

    def begin(model):
        solve = type(model)._solve_scatter

        def watched(self, scatter):
            with monkeypatch.context() as inside:
                inside.setattr(Rows, "__array__", load)
                return solve(self, scatter)

        monkeypatch.setattr("tensorcrp.base.resources.UNLIMITED", 0)
        monkeypatch.setattr("tensorcrp.base.resources.available_memory", lambda: 0)
        monkeypatch.setattr(type(model), "_solve_scatter", watched)

    return begin
