"""How much memory a fit takes beyond the samples: one working copy, not two."""

import tracemalloc

import numpy as np
import pytest

from tensorcrp import TensorCRP


def peak_of(function):
    """Bytes that NumPy and Python held at most while the function ran."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("rank", [2, "full"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_samples_are_copied_once(dtype, rank):
    X = np.random.default_rng(0).integers(0, 200, (400, 8, 32, 32)).astype(dtype)
    y = np.arange(400) % 5
    copy = X.size * (4 if dtype == np.float32 else 8)
    TensorCRP(1).fit(X[:20], y[:20])  # whatever the first fit has to load
    assert peak_of(lambda: TensorCRP(4, rank=rank).fit(X, y)) < 1.6 * copy


def test_many_samples_take_no_copy_at_all():
    """With more samples than entries the statistics are all that is kept."""
    X = np.random.default_rng(0).standard_normal((40_000, 6, 6))
    y = np.arange(40_000) % 5
    TensorCRP(1).fit(X[:100], y[:100])
    assert peak_of(lambda: TensorCRP(4).fit(X, y)) < 0.5 * X.nbytes
