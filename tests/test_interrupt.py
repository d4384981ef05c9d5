"""Ctrl-C in the middle of a fit leaves the estimator as it was: never half fitted.

A child process fits for minutes and prints a line per projection. The parent waits for
the first lines, sends a real SIGINT, and reads what the child finds afterwards; one
child does so for all of its stories.
"""

import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tensorcrp import TensorCRP

SECONDS = 300  # far more than needed: only a hanging child reaches it

PREPARE = """
import signal
import numpy as np
from sklearn.exceptions import NotFittedError
from tensorcrp import TensorCRP

# A shell that starts tests in the background lets children ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
y = np.arange(90) % 3
X = rng.standard_normal((90, 8, 8, 9)) + y[:, None, None, None]
LONG = dict(n_components=500, max_iter=100, tol=0, verbose=1)

def interrupted(method):
    try:
        method(X, y)
    except KeyboardInterrupt:
        return True
    print("the fit ended before the signal came")

def unfitted(model):
    try:
        model.transform(X)
    except NotFittedError:
        return not [name for name in vars(model) if name.endswith("_")]
"""

UNFITTED = """
model = TensorCRP(**LONG)
assert interrupted(model.{method})
assert unfitted(model)
model.set_params(n_components=1, max_iter=1, verbose=0)
assert model.fit(X, y).transform(X).shape == (90, 1)
print("as it was", flush=True)
"""

REFIT = """
model = TensorCRP(2, max_iter=1, tol=0).{method}(X[:60], y[:60])
features = model.transform(X)
state = dict(vars(model.set_params(**LONG)))
assert interrupted(model.{method})
assert np.array_equal(model.transform(X), features)
assert all(vars(model)[name] is state[name] for name in state | vars(model))
print("as it was", flush=True)
"""


STORIES = [(UNFITTED, "fit"), (REFIT, "fit"), (REFIT, "partial_fit")]


@pytest.mark.slow
def test_signal_in_a_long_fit():
    stories = "".join(story.format(method=method) for story, method in STORIES)
    child = subprocess.Popen(
        [sys.executable, "-c", PREPARE + stories],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    watch = threading.Timer(SECONDS, child.kill)  # a child that hangs
    watch.start()
    try:
        for _ in STORIES:
            interrupt(child)
        out, errors = child.communicate()
        assert (out, errors, child.returncode) == ("", "", 0)
    finally:
        watch.cancel()
        child.kill()
        child.wait()


def interrupt(child, after_lines=3):
    """Send the signal once the fit is under way; the child says what it found."""
    for _ in range(after_lines):
        line = child.stdout.readline()
        assert line.startswith("[TensorCRP]"), line + child.stderr.read()
    child.send_signal(signal.SIGINT)
    while (line := child.stdout.readline()).startswith("[TensorCRP]"):
        pass
    assert line == "as it was\n", line + child.stderr.read()


# --- the same at chosen places, in this process -----------------------------------


def samples(seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(30) % 3
    return rng.standard_normal((30, 4, 3)) + y[:, None, None], y


def interrupting_start(component):
    """A start that stands for Ctrl-C when the given component begins."""
    calls = []

    def start(shape, rank, rng):
        calls.append(shape)
        if len(calls) > component:
            raise KeyboardInterrupt
        return [rng.standard_normal((size, rank)) for size in shape]

    return start


CRP = TensorCRP(4, init="random", random_state=0, max_iter=2, tol=0)


@pytest.mark.parametrize("component", range(4))
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_interrupt_before_any_component(component, method):
    X, y = samples()
    model = clone(CRP).set_params(init=interrupting_start(component))
    before = dict(vars(model))
    with pytest.raises(KeyboardInterrupt):
        getattr(model, method)(X, y)
    assert vars(model) == before
    with pytest.raises(NotFittedError):
        model.transform(X)


@pytest.mark.parametrize(
    "name",
    [
        "solver.model.cp_normalize",
        "solver.model.feature_rows",
        "base.fitting.check_samples",
    ],
)
def test_interrupt_while_attributes_are_set(name, monkeypatch):
    X, y = samples()
    model = clone(CRP).fit(X, y)
    before = dict(vars(model))

    def ctrl_c(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"tensorcrp.{name}", ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*samples(seed=1))
    assert all(vars(model)[key] is before[key] for key in before | vars(model))


def test_interrupted_batch_can_be_given_again():
    X, y = samples()
    model, twin = (clone(CRP).partial_fit(X[:15], y[:15]) for _ in range(2))
    model.set_params(init=interrupting_start(2))
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[15:], y[15:])
    np.testing.assert_array_equal(model.transform(X), twin.transform(X))
    model.set_params(init="random")
    again = model.partial_fit(X[15:], y[15:]).transform(X)
    np.testing.assert_array_equal(again, twin.partial_fit(X[15:], y[15:]).transform(X))
