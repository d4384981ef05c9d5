"""One model in many threads, many processes on one path, fits side by side.

That the thread limits of BLAS are set back by single and overlapping fits is tested in
``test_contract.py``; here are errors in every estimator, and many fits at once.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import numpy as np
import pytest
import refit_while_used
import threadpoolctl
from sklearn.base import clone, is_classifier
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp import TensorCRP, TensorCRPCV, baselines
from tensorcrp.base.resources import bounded_threads
from tensorcrp.persistence import load, save

THREADS = 4
SECONDS = 300  # far more than needed: only what hangs reaches it
ESTIMATORS = [
    TensorCRP(3, init="random", n_init=2),
    TensorCRPCV(
        ranks=(2,), regs=(0.1, 1.0), n_components=3, cv=2, init="random", average=2
    ),
    baselines.BilinearSVC(loss="hinge"),
    *(each.cls() for each in baselines.BASELINES),
]
every = pytest.mark.parametrize("model", ESTIMATORS, ids=str)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def samples(n=32, shape=(4, 3, 2), seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4
    return rng.standard_normal((n, *shape)) + y.reshape(-1, *[1] * len(shape)), y


X, Y = samples()


def together(function, arguments):
    """Results of one call per argument, all of them starting at once."""
    gate = Barrier(len(arguments))

    def call(argument):
        gate.wait()
        return function(argument)

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(call, arguments))


def outputs(model, samples):
    names = ["predict"] if is_classifier(model) else []
    names += ["transform"] if hasattr(model, "transform") else ["decision_function"]
    return [getattr(model, name)(samples) for name in names]


def blas_threads():
    """Threads of every library, those of OpenMP being those of the calling thread."""
    return {d["filepath"]: d["num_threads"] for d in threadpoolctl.threadpool_info()}


# --- one model, many threads ------------------------------------------------------


@every
def test_one_fitted_model_in_many_threads(model):
    model = clone(model).fit(X, Y)
    batches = [samples(seed=seed)[0] for seed in range(THREADS)]
    serial = [outputs(model, batch) for batch in batches]
    before = dict(vars(model))
    parallel = together(lambda b: [outputs(model, b) for _ in range(5)], batches)
    for expected, repeated in zip(serial, parallel, strict=True):
        for got in repeated:
            for one, other in zip(got, expected, strict=True):
                np.testing.assert_array_equal(one, other)
    assert all(vars(model)[name] is before[name] for name in before)


def test_one_model_saved_and_used_in_many_threads(tmp_path):
    model = TensorCRP(3).fit(X, Y)
    path = tmp_path / "model"

    def use(_):
        save(model, path)
        return load(path).transform(X)

    for features in together(use, range(THREADS)):
        np.testing.assert_array_equal(features, model.transform(X))
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("model", refit_while_used.ESTIMATORS, ids=str)
def test_a_model_is_whole_while_it_is_refitted(model):
    """The short version of ``python tests/refit_while_used.py``."""
    assert refit_while_used.run(model, refits=3, threads=2) > 0


@every
def test_attributes_change_all_at_once(model):
    """A fit that another thread looks at from its first step to its last."""
    model = clone(model).fit(X, Y)
    before, seen = dict(vars(model)), []

    def look(frame, event, argument):
        if "tensorcrp" in frame.f_code.co_filename:
            seen.append(all(v is before.get(k) for k, v in vars(model).items()))

    sys.setprofile(look)
    try:
        model.fit(*samples(seed=1))
    finally:
        sys.setprofile(None)
    assert seen.count(False) <= 2  # the returns of the last step and of `fit`


# --- fits side by side ------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [each for each in ESTIMATORS if "random_state" in each.get_params()],
    ids=str,
)
def test_fits_in_threads_give_the_serial_results(model):
    seeds = range(2)

    def fit(seed):
        return outputs(clone(model).set_params(random_state=seed).fit(X, Y), X)

    serial = [fit(seed) for seed in seeds]
    before = blas_threads()
    parallel = together(fit, seeds)
    assert blas_threads() == before
    for one, other in zip(serial, parallel, strict=True):
        for got, expected in zip(one, other, strict=True):
            np.testing.assert_array_equal(got, expected)


def test_streams_in_threads_give_the_serial_results():
    def stream(seed):
        Z, y = samples(seed=seed)
        model = TensorCRP(3)
        for start in range(0, 32, 8):
            model.partial_fit(Z[start : start + 8], y[start : start + 8])
        return model.transform(Z)

    serial = [stream(seed) for seed in range(4)]
    for got, expected in zip(together(stream, range(4)), serial, strict=True):
        np.testing.assert_array_equal(got, expected)


class Limiting(KNeighborsClassifier):
    """Limits BLAS by itself, as neighbours do in scikit-learn, and waits inside."""

    def predict(self, X):
        with threadpoolctl.threadpool_limits(1, user_api="blas"):
            self.steps[0].set()
            assert self.steps[1].wait(SECONDS)
        return super().predict(X)


def test_a_limit_of_the_classifier_does_not_cross_ours():
    """It gives back the number it found, which is one while another thread fits."""
    steps = Event(), Event()
    model = TensorCRPCV(Limiting(1), ranks=(1,), regs=(1.0,), n_components=2, cv=2)
    for step in steps:
        step.set()
    Limiting.steps = steps  # of the class: folds clone the classifier
    with threadpoolctl.threadpool_limits(2):
        model.fit(X, Y)
        before = blas_threads()
        for step in steps:
            step.clear()
        with ThreadPoolExecutor(1) as pool:
            with bounded_threads(0):
                labels = pool.submit(model.predict, X)
                assert steps[0].wait(SECONDS)
            steps[1].set()
            labels.result(SECONDS)
        assert blas_threads() == before


# --- thread limits after errors ---------------------------------------------------


class Broken(Exception):
    """Stands for any error in the middle of the work."""


WORK = {
    "TensorCRP": "tensorcrp.solver.model.cp_normalize",
    "TensorCRPCV": "tensorcrp.solver.model.cp_normalize",
    "RidgeLDA": "tensorcrp.baselines.ridge_lda.ridge_discriminants",
    "ToeplitzLDA": "tensorcrp.baselines.toeplitz_lda.autocovariances",
    "STDA": "tensorcrp.baselines.stda.cores_of",
    "UMLDA": "tensorcrp.baselines.umlda._Uncorrelated.add",
    "ManPDA": "tensorcrp.baselines.manpda.ascend",
    "CPTDA": "tensorcrp.baselines.cptda.nearest_cp",
    "CATCH": "tensorcrp.baselines.catch.group_lasso",
    "BilinearSVC": "tensorcrp.baselines.alternating_svm.SvmProblem.solve",
    "CPLogistic": "tensorcrp.baselines.alternating_logistic.LogisticProblem.solve",
}


@every
def test_blas_threads_are_given_back_after_an_error(model, monkeypatch):
    """The error comes while the limit is on; many threads fail at the same time."""
    inside = []

    def fail(*args, **kwargs):
        inside.append(set(blas_threads().values()))
        raise Broken

    place = WORK.get(type(model).__name__)
    if place is None:  # one factor per mode: every method asks for mode scatters
        place = "tensorcrp.baselines.forms.Form.scatter"
    monkeypatch.setattr(place, fail)
    before = blas_threads()

    def fit(_):
        with pytest.raises(Broken):
            clone(model).fit(X, Y)

    together(fit, range(4))
    assert inside and all(numbers == {1} for numbers in inside)
    assert blas_threads() == before


# --- several processes, one path --------------------------------------------------

SAVER = """
import sys
import numpy as np
from tensorcrp import TensorCRP
from tensorcrp.base.resources import bounded_threads
from tensorcrp.persistence import load, save
path, number = sys.argv[1], int(sys.argv[2])
model = TensorCRP(verbose=np.full(20_000, number))
sys.stdin.read(1)
for _ in range(12):
    save(model, path)
    values = load(path).verbose
    assert (values == values[0]).all()
"""


@pytest.mark.slow
def test_processes_saving_to_one_path(tmp_path):
    path = tmp_path / "model"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SAVER, str(path), str(number)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    for process in processes:  # all of them at once
        process.stdin.write("x")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert set(load(path).verbose) <= {0, 1}
    assert [each.name for each in tmp_path.iterdir()] == ["model"]
