"""skops.io saves and loads every estimator; the types to trust are those we list."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from tensorcrp import ClassScatter, TensorCRP, TensorCRPCV, baselines, persistence
from tensorcrp.persistence import SKOPS_TYPES

skops_io = pytest.importorskip("skops.io", reason="skops is in the extra test")

MODELS = [
    TensorCRP(),
    TensorCRPCV(ranks=(1,), regs=(0.1, 1.0), cv=2),
    TensorCRPCV(GaussianNB(), ranks=(1,), regs=(0.1,), cv=2),
    *(each.cls() for each in baselines.BASELINES),
]
every = pytest.mark.parametrize("model", MODELS, ids=str)


def samples():
    y = np.arange(30) % 3
    X = np.random.default_rng(0).standard_normal((30, 4, 3))
    return X + 2 * y[:, None, None], y


def output(model, X):
    return (getattr(model, "transform", None) or model.decision_function)(X)


@every
def test_there_and_back(model):
    X, y = samples()
    model = clone(model).fit(X, y)
    content = skops_io.dumps(model)
    unknown = skops_io.get_untrusted_types(data=content)
    documented = set(re.findall(r"sklearn(?:\.\w+)+", persistence.__doc__))
    assert set(unknown) - documented <= set(SKOPS_TYPES)
    if unknown != [name for name in unknown if name in SKOPS_TYPES]:
        assert "KNeighborsClassifier" in str(vars(model)["estimator_"])
        assert set(unknown) >= documented
    again = skops_io.loads(content, trusted=unknown)
    np.testing.assert_array_equal(output(again, X), output(model, X))
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "model", [m for m in MODELS if hasattr(m, "partial_fit")], ids=str
)
def test_a_stream_goes_on(model):
    X, y = samples()
    model = clone(model).partial_fit(X[:15], y[:15])
    again = skops_io.loads(skops_io.dumps(model), trusted=list(SKOPS_TYPES))
    assert isinstance(again._scatter, ClassScatter)
    expected = output(model.partial_fit(X[15:], y[15:]), X)
    again = output(again.partial_fit(X[15:], y[15:]), X)
    np.testing.assert_allclose(again, expected, rtol=1e-9, atol=1e-12)


def test_every_listed_type_is_one_of_ours():
    assert len(set(SKOPS_TYPES)) == len(SKOPS_TYPES)
    assert all(name.startswith("tensorcrp.") for name in SKOPS_TYPES)
    # TensorCRP, TensorCRPCV, ClassScatter, ChannelImputer, ChannelScaler and
    # DistanceFeatures besides the baselines.
    assert len(SKOPS_TYPES) == len(baselines.BASELINES) + 6


def test_without_trust_nothing_is_loaded():
    content = skops_io.dumps(TensorCRP().fit(*samples()))
    with pytest.raises(Exception, match=r"Untrusted types.*tensorcrp\.crp\.TensorCRP"):
        skops_io.loads(content)
