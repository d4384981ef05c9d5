"""scikit-learn's whole common test suite over every baseline, no expected failures."""

import pytest
from sklearn.utils.estimator_checks import check_estimator

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


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_scikit_learn_contract(array_api, estimator):
    check_estimator(estimator)  # a check that is skipped is a warning, thus an error
