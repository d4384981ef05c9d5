"""Fits give the numbers that they gave before the package was rebuilt inside.

``make_pinned.py`` says what is stored. In the environment in which it was stored a
rebuild agreed to 1e-12; other releases of BLAS add and multiply in another order.
"""

import make_pinned
import numpy as np
import pytest
from numpy.testing import assert_allclose

STORED = np.load(make_pinned.STORED)


@pytest.fixture(scope="module")
def computed():
    return make_pinned.everything()


def test_the_same_arrays_are_there(computed):
    assert sorted(computed) == sorted(STORED.files)


@pytest.mark.parametrize("name", sorted({n.split("/")[0] for n in STORED.files}))
def test_numbers_are_those_of_the_stored_fit(name, computed):
    tolerance = 1e-5 if name == "float32" else 1e-10
    for key in (key for key in STORED.files if key.split("/")[0] == name):
        scale = np.abs(STORED[key]).max()
        assert_allclose(computed[key], STORED[key], rtol=0, atol=tolerance * scale)
