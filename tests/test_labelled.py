"""Factors as a data frame and as an xarray data set: the same numbers, with names."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensorcrp import TensorCRP

CHANNELS, TIMES = ["C3", "Cz", "C4", "Pz", "Oz"], np.arange(4) / 128
NAMES, VALUES = ("channel", "time"), (CHANNELS, TIMES)


@pytest.fixture
def crp(make_samples):
    return TensorCRP(3, rank=2).fit(*make_samples((5, 4), 40))


def test_a_data_frame_has_every_factor(crp):
    frame = crp.to_pandas(NAMES, VALUES)
    assert frame.shape == (5 + 4, 3 * 2)
    assert frame.index.names == ["mode", "value"]
    assert frame.columns.names == ["component", "column"]
    for mode, (name, values) in enumerate(zip(NAMES, VALUES, strict=True)):
        for i, value in enumerate(values):
            row = frame.loc[(name, value)]
            for p in range(3):
                assert_array_equal(row[p], crp.factors_[mode][p, i])


def test_a_data_set_has_every_array(crp):
    pytest.importorskip("xarray")
    data = crp.to_xarray(NAMES, VALUES)
    assert_array_equal(data["components"].sel(component=1), crp.components_[1])
    assert data["components"].dims == ("component", "channel", "time")
    one = data["factor of channel"].sel(channel="Cz", component=2)
    assert_array_equal(one, crp.factors_[0][2, 1])
    assert_array_equal(data["time"], TIMES)
    for name in ("objective", "n_iter", "converged"):
        assert data[name].dims == ("component",)
    assert_array_equal(data["objective"], crp.objective_)
    # The product of the factors, with axes by name, is the projection.
    pair = [data[f"factor of {name}"] for name in NAMES]
    assert_allclose((pair[0] * pair[1]).sum("column"), crp.components_, atol=1e-12)
    data["components"][:] = 0.0  # a copy
    assert crp.components_.any()


def test_names_and_values_by_default(crp):
    frame = crp.to_pandas()
    assert frame.index[0] == ("mode 0", 0) and frame.index[-1] == ("mode 1", 3)


@pytest.mark.parametrize(
    ("names", "values", "words"),
    [
        ("ab", None, "mode_names='ab' must name the 2 modes"),
        (("a", "b", "c"), None, "give 2 names"),
        (("a", "a"), None, "must differ from each other"),
        (("a", "column"), None, "must differ from .*column"),
        (None, (None,), "mode_values has 1 entries for 2 modes"),
        (None, (None, TIMES[:3]), r"mode_values\[1\] has shape \(3,\)"),
    ],
)
def test_bad_names_and_values(crp, names, values, words):
    with pytest.raises(ValueError, match=words):
        crp.to_pandas(names, values)


@pytest.mark.parametrize("package", ["xarray", "pandas"])
def test_a_missing_package_is_named(crp, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"needs {package}: pip install {package}"):
        getattr(crp, f"to_{package}")()
