"""What was renamed in version 0.3 still works under its old name, and warns."""

import numpy as np
import pytest

import tensorcrp.persistence
from tensorcrp import ClassScatter, TensorCRP
from tensorcrp.solver import solve


@pytest.fixture
def samples(make_samples):
    return make_samples((4, 3))


def curves(kind, X, y):
    """Objective and history of a fit, from an estimator or from the solver."""
    if kind is not solve:
        model = kind.fit(X, y)
        return model.objective_, model.history_
    scatter = ClassScatter.from_samples(X, y)
    result = solve(scatter.between("classes"), scatter.root, [1.0], n_components=2)
    return result[0].objective, result[0].history


@pytest.mark.parametrize("kind", [TensorCRP(2), solve])
def test_an_indexed_objective_is_a_curve(kind, samples):
    objective, history = curves(kind, *samples)
    for value, curve in zip(objective, history, strict=True):
        assert value == curve[-1]
        with pytest.warns(FutureWarning, match="its curves are in history_"):
            np.testing.assert_array_equal(value[:], curve)


def test_judges_are_classifiers():
    with pytest.warns(FutureWarning, match="is called CLASSIFIERS"):
        assert tensorcrp.persistence.JUDGES is tensorcrp.persistence.CLASSIFIERS
