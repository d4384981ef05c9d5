"""scikit-learn's whole common test suite, with no expected failures.

A two-dimensional X is a set of order-1 tensors, so every check applies as it stands.
"""

import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import check_estimator

from tensorcrp import TensorCRP, TensorCRPCV

ESTIMATORS = [
    TensorCRP(),
    TensorCRP(rank="full", between="samples"),
    TensorCRP(init="random", n_init=2, random_state=0),
    TensorCRP(n_components=1, reg=1.0, reg_scale="absolute", init="identity"),
    TensorCRP(white=True, smooth=1.0, reg="auto"),
    # Some checks have so few samples that folds in their order have equal ones only.
    TensorCRPCV(
        ranks=(2,),  # of vectors there is one
        regs=(0.1, 1.0),
        smooth=(0.0, 1.0),
        cv=StratifiedKFold(2, shuffle=True, random_state=1),
    ),
]


@pytest.fixture
def array_api(monkeypatch):
    """Without this variable scikit-learn skips its array API check.

    The check feeds NumPy arrays, for which SciPy (that reads the variable at import)
    does the same either way.
    """
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_scikit_learn_contract(array_api, estimator):
    check_estimator(estimator)  # a check that is skipped is a warning, thus an error
