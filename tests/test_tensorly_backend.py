"""tensorly's backend belongs to the user: fits neither need one nor change it."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest
import tensorly as tl
from numpy.testing import assert_array_equal

from tensorcrp import TensorCRP
from tensorcrp.baselines import MPCA
from tensorcrp.solver import cp

SECONDS = 3000  # far more than needed: only a hanging child reaches it


@pytest.fixture
def pytorch():
    """PyTorch for all threads; afterwards what was there before."""
    pytest.importorskip("torch")
    before = tl.get_backend()
    tl.set_backend("pytorch")
    yield
    tl.set_backend(before)


def fitted(make_samples):
    X, y = make_samples((4, 3, 5), n=30)
    crp = TensorCRP(3, smooth=1.0, max_iter=2, tol=0).fit(X, y)
    return crp.transform(X), MPCA((2, 2, 2)).fit_transform(X, y)


def in_a_thread(function):
    """What a function returns in a thread that has never chosen a backend."""
    results = []
    thread = Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_fits_are_the_same_under_another_backend(make_samples, request):
    expected = fitted(make_samples)
    request.getfixturevalue("pytorch")
    for run in (fitted(make_samples), in_a_thread(lambda: fitted(make_samples))):
        for features, known in zip(run, expected, strict=True):
            assert_array_equal(features, known)
    assert tl.get_backend() == "pytorch"


def test_a_thread_that_has_chosen_no_backend_still_has_not(pytorch):
    """It follows the one of all threads, also if that changes after a call."""

    called, changed, seen = Event(), Event(), []

    def call():
        cp.khatri_rao_of([np.eye(2), np.eye(2)], [np.eye(2)])
        seen.append(tl.get_backend())
        called.set()
        assert changed.wait(timeout=60)
        seen.append(tl.get_backend())

    thread = Thread(target=call)
    thread.start()
    assert called.wait(timeout=60)
    tl.set_backend("numpy")
    changed.set()
    thread.join()
    assert seen == ["pytorch", "numpy"]


def test_an_error_gives_the_backend_back(pytorch):
    with pytest.raises(ValueError, match="columns"):
        cp.khatri_rao_of([np.eye(2), np.eye(3)], [np.eye(2)])
    assert tl.get_backend() == "pytorch"


def test_cp_tensors_are_those_of_the_backend(make_samples, pytorch):
    import torch

    X, y = make_samples((4, 3, 5), n=30)
    crp = TensorCRP(2, max_iter=2, tol=0).fit(X, y)
    tensor = crp.cp_tensor(1)
    assert all(isinstance(each, torch.Tensor) for each in tensor.factors)
    dense = tl.cp_to_tensor(tensor)
    assert isinstance(dense, torch.Tensor)
    np.testing.assert_allclose(dense.numpy(), crp.components_[1], rtol=0, atol=1e-13)
    # They are starts too, without a word of PyTorch's about conversions.
    init = [crp.cp_tensor(p) for p in range(2)]
    again = TensorCRP(2, max_iter=2, tol=0, init=init).fit(X, y)
    assert again.objective_[0] >= crp.objective_[0]


# Runs pytest, and says which backend all threads have afterwards.
RUN = """
import sys, pytest, tensorly
status = pytest.main(sys.argv[1:])
print("the backend is", tensorly.get_backend())
sys.exit(status)
"""


@pytest.mark.slow
@pytest.mark.parametrize("suite", ["contract", "common"])
def test_contract_of_every_estimator_under_the_backend_of_torch(suite):
    pytest.importorskip("torch")
    here = Path(__file__)
    tests = [here.with_name(f"test_{each}{suite}.py") for each in ("", "baselines_")]
    command = [sys.executable, "-c", RUN, "-q", "-n0", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *map(str, tests)],
        env={**os.environ, "TENSORLY_BACKEND": "pytorch"},
        cwd=here.parent.parent,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout
    assert "the backend is pytorch" in done.stdout
