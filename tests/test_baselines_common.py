"""scikit-learn's whole common test suite over every baseline, no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tensorcrp import baselines

ESTIMATORS = [
    *(each.cls() for each in baselines.BASELINES),
    baselines.TensorLPP(graph="neighbors", weights="heat", n_neighbors=3),
    baselines.BilinearSVC(rank="full", loss="hinge"),
    baselines.MPCA(sizes=2),
    baselines.RidgeLDA(reg_scale="absolute", between="classes"),
]


@pytest.fixture
def array_api(monkeypatch):
    """Without this variable scikit-learn skips its array API check."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(array_api, estimator, check):
    check(estimator)
