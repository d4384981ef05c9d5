"""TensorCRPCV: the plain grid search's answers, at a fraction of its fits."""

import re

import numpy as np
import pytest
import sklearn
from joblib import parallel_backend
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneOut,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from tensorcrp import TensorCRP, TensorCRPCV
from tensorcrp.model_selection import search as module
from tensorcrp.model_selection import selection
from tensorcrp.model_selection.grid import Grid
from tensorcrp.model_selection.splits import folds_of
from tensorcrp.solver import path

# One point of a grid without smoothness, as scikit-learn's own search would choose it.
PLAIN = {
    **{"smooth": (0.0,), "white": False, "average": 1, "distance": "euclidean"},
    **{"race": False, "max_iter": 20, "tol": 0.1},
}
GRID = {
    **{"ranks": (1, 2, "full"), "regs": (0.03, 1.0), "n_components": (2, 4)},
    **PLAIN,
}


def samples(shape=(5, 4), n=60, n_classes=3, noise=1.5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    means = rng.standard_normal((n_classes, *shape))
    return means[y] + noise * rng.standard_normal((n, *shape)), y


class SignSensitive(ClassifierMixin, BaseEstimator):
    """A classifier that tells features from their negatives."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(X > 0).sum(axis=1) % len(self.classes_)]


@pytest.mark.parametrize(
    "shape, scale, classifier, white",
    [
        ((5, 4), "relative", KNeighborsClassifier(1), True),
        ((5, 4), "relative", None, True),
        ((3, 4, 2), "relative", LogisticRegression(), False),
        # More entries than samples: at full rank other coordinates.
        ((9, 8), "relative", None, False),
        ((9, 8), "absolute", LogisticRegression(), True),
        ((5, 4, 6), "relative", SignSensitive(), False),
    ],
    ids=str,
)
def test_agrees_with_a_plain_grid_search(shape, scale, classifier, white):
    """All points with racing off: smoothness, whiteness and one sweep included."""
    X, y = samples(shape)
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    strengths = (1.0, *[0.0] * (len(shape) - 1))  # of the first mode
    values = {
        "smooth": [0.0, strengths],
        "rank": GRID["ranks"],
        "reg": GRID["regs"],
        "n_components": GRID["n_components"],
    }
    more = {"reg_scale": scale, "white": white, "max_iter": 1, "tol": 0.0}
    ours = TensorCRPCV(
        classifier,
        cv=folds,
        ordered=[each > 0 for each in strengths],
        **GRID | more | {"smooth": (0.0, 1.0), "average": 20, "distance": "both"},
    ).fit(X, y)
    steps = [
        ("crp", TensorCRP(**more)),
        ("last", classifier or KNeighborsClassifier(1)),
    ]
    plain = GridSearchCV(
        Pipeline(steps),
        {f"crp__{name}": each for name, each in values.items()},
        cv=folds,
    )
    with threadpool_limits(1):  # many tiny problems
        plain.fit(X, y)
    results = plain.cv_results_
    points = ([p[f"crp__{name}"] for name in values] for p in results["params"])
    expected = dict(zip(map(tuple, points), results["mean_test_score"], strict=True))
    ours_results = ours.cv_results_
    assert len(expected) == len(ours_results["params"]) == 24
    pairs = zip(ours_results["params"], ours_results["mean_test_score"], strict=True)
    for point, score in pairs:
        assert_allclose(score, expected[tuple(point.values())], atol=1e-12)
    assert_allclose(ours.best_score_, plain.best_score_, atol=1e-12)
    chosen = expected[tuple(ours.best_params_.values())]  # the same one, or a tie
    assert_allclose(chosen, plain.best_score_, atol=1e-12)


def test_if_all_points_are_alike_the_first_is_taken():
    X, y = samples(noise=0.01)  # everything is right everywhere: all points tie
    search = TensorCRPCV(cv=3, **GRID).fit(X, y)
    assert search.best_score_ == 1.0
    first = {"smooth": 0.0, "rank": 1, "reg": 0.03, "n_components": 2}
    assert search.best_params_ == first
    assert set(search.cv_results_["rank_test_score"]) == {1}


@pytest.mark.parametrize(
    "regs", [[0.1, 0.3, 1.0, 3.0, 10.0], [10.0, 0.3, 3.0, 0.1, 1.0]]
)
def test_of_tied_points_the_one_with_the_best_neighbours_is_taken(regs):
    # By rank, size and rising ridge; 0.9 stands alone, then among 0.8 and 0.7.
    rising = {
        (1, 2): [0.5, 0.9, 0.5, 0.6, 0.6],
        (1, 4): [0.0, 0.0, 0.0, 0.0, 0.0],
        (2, 2): [0.8, 0.8, 0.8, 0.8, 0.8],
        (2, 4): [0.1, 0.8, 0.9, 0.7, 0.1],
    }
    grid = Grid([0.0], [1, 2], regs, [2, 4])

    def chosen():
        scores = [
            rising[p["rank"], p["n_components"]][sorted(regs).index(p["reg"])]
            for p in grid.points()
        ]
        point = grid.points()[grid.order(np.array(scores))[0]]
        return point["rank"], point["reg"], point["n_components"]

    assert chosen() == (2, 1.0, 4)
    rising[2, 4][2] = 0.9 - 1e-15  # rounding does not untie them
    assert chosen() == (2, 1.0, 4)
    rising[1, 2][4] = 0.95  # at the edge one neighbour counts
    assert chosen() == (1, 10.0, 2)
    rising[2, 2][0] = 0.95  # 0.8 beside it, not 0.6
    assert chosen() == (2, 0.1, 2)


@pytest.mark.parametrize("rank", [1, "full"])
def test_a_training_sample_that_comes_several_times_counts_as_often(rank):
    X, y = samples()
    rng = np.random.default_rng(0)
    train = np.concatenate([np.repeat(np.arange(12), rng.integers(1, 40, 12)), [13]])
    test = np.arange(20, 60)
    one = {"ranks": (rank,), "regs": (1.0,), "n_components": 2}
    cv = TensorCRPCV(cv=[(train, test)], **PLAIN | one)
    crp = TensorCRP(2, rank=rank, reg=1.0).fit(X[train], y[train])
    last = KNeighborsClassifier(1).fit(crp.transform(X[train]), y[train])
    assert cv.fit(X, y).best_score_ == last.score(crp.transform(X[test]), y[test])


def test_folds_as_masks():
    X, y = samples()
    train = np.arange(60) < 40
    both = [[(train, ~train)], [(np.flatnonzero(train), np.flatnonzero(~train))]]
    scores = [
        TensorCRPCV(**GRID, cv=cv).fit(X, y).cv_results_["mean_test_score"]
        for cv in both
    ]
    assert_array_equal(*scores)


class Unsure(KNeighborsClassifier):
    """A classifier without a score for some numbers of features."""

    def __init__(self, unknown=()):
        super().__init__(1)
        self.unknown = unknown

    def score(self, X, y):
        return np.nan if X.shape[1] in self.unknown else super().score(X, y)


def test_scores_that_are_all_nan_are_an_error():
    X, y = samples()
    model = TensorCRPCV(Unsure((2, 4)), **GRID)
    with pytest.raises(ValueError, match=r"all 12 points.*NaN.*Unsure"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("unknown", [2, 4])
def test_points_without_a_score_are_not_chosen(unknown):
    X, y = samples()
    with pytest.warns(UserWarning, match=r"6 of 12 points.*NaN"):
        model = TensorCRPCV(Unsure((unknown,)), **GRID).fit(X, y)
    known = TensorCRPCV(Unsure(), **{**GRID, "n_components": 6 - unknown}).fit(X, y)
    assert model.best_params_ == known.best_params_
    assert model.best_score_ == known.best_score_
    ranks = model.cv_results_["rank_test_score"]
    nan = np.isnan(model.cv_results_["mean_test_score"])
    assert (ranks[nan] == 7).all() and (ranks[~nan] < 7).all()


def test_scores_that_are_nan_after_a_race_are_an_error():
    X, y = samples()
    cuts = np.split(np.arange(60), [12, 24, 31, 45])
    folds = [(np.setdiff1d(np.arange(60), test), test) for test in cuts]

    def score(model, X, y):
        return np.nan if len(y) == 7 else model.score(X, y)

    grid = GRID | {"race": True, "cv": folds, "scoring": score}
    with pytest.raises(ValueError, match=r"all .* points .*saw every fold are NaN"):
        TensorCRPCV(**grid | {"regs": (0.1, 0.3, 1.0)}).fit(X, y)


def searched(X, y, weight, **grid):
    """Scores of all folds and points, and the best point."""
    search = TensorCRPCV(**grid).fit(X, y, sample_weight=weight)
    names = [f"split{i}_test_score" for i in range(search.n_splits_)]
    return [search.cv_results_[name] for name in names], search


def test_folds_whose_test_samples_have_no_weight_are_left_out():
    X, y = samples(n=24)
    weight = np.where(np.arange(24) % 6 == 4, 0.0, 1.0 + np.arange(24) % 2)
    grid, some = GRID | {"cv": LeaveOneOut()}, weight > 0
    expected, search = searched(X[some], y[some], weight[some], **grid)
    scores, same = searched(X, y, weight, **grid)
    assert_array_equal(scores, expected)
    assert_allclose(same.transform(X), search.transform(X), atol=1e-9)
    with pytest.raises(ValueError, match="no test sample of any fold has weight"):
        searched(X, y, weight, **grid | {"cv": [(some, ~some)]})


def test_samples_without_weight_do_not_count_as_training_samples():
    """Of full rank: there are as many directions as samples that have weight."""
    X, y = samples((12, 11), n=110)
    weight = np.where(np.arange(110) < 30, 1.0, 0.0)
    tests = np.arange(30).reshape(3, 10)
    folds = [(np.setdiff1d(np.arange(110), test), test) for test in tests]
    fewer = [(train[train < 30], test) for train, test in folds]
    grid = GRID | {"ranks": ("full",), "n_components": (2, 22), "white": True}
    grid |= {"estimator": LogisticRegression(), "scoring": "neg_log_loss"}
    expected, _ = searched(X[:30], y[:30], None, cv=fewer, **grid)
    scores, _ = searched(X, y, weight, cv=folds, **grid)
    assert_allclose(scores, expected, atol=1e-6)


def test_equal_weights_count_beside_an_absolute_ridge():
    X, y = samples()
    grid = GRID | {"ranks": (2,), "regs": (5.0,), "n_components": 3}
    _, search = searched(X, y, np.full(60, 8.0), reg_scale="absolute", **grid)
    how = {"max_iter": 20, "tol": 0.1, "reg_scale": "absolute"}
    crp = TensorCRP(3, rank=2, reg=5.0, **how).fit(X, y, np.full(60, 8.0))
    assert_allclose(search.projections_, crp.projections_, atol=1e-12)


def test_a_generator_of_folds_that_has_been_used_up():
    X, y = samples()
    model = TensorCRPCV(**GRID, cv=StratifiedKFold(3).split(X, y)).fit(X, y)
    with pytest.raises(ValueError, match=r"no folds.*once"):
        model.fit(X, y)


def test_refit_is_a_fit_of_the_best_on_all_samples():
    X, y = samples()
    search = TensorCRPCV(KNeighborsClassifier(1), cv=3, **GRID).fit(X, y)
    best = search.best_params_
    crp = TensorCRP(best["n_components"], rank=best["rank"], reg=best["reg"]).fit(X, y)
    assert_array_equal(search.transform(X), crp.transform(X))
    last = KNeighborsClassifier(1).fit(crp.transform(X), y)
    new, labels = samples(seed=5)
    assert_array_equal(search.predict(new), last.predict(crp.transform(new)))
    assert search.score(new, labels) == last.score(crp.transform(new), labels)
    assert_allclose(search.inverse_transform(search.transform(X)).shape, X.shape)


@pytest.mark.parametrize(
    "n_jobs, small, bundles", [(1, True, 1), (2, True, 2), (1, False, 4)]
)
def test_one_run_of_the_solver_for_all_folds_and_another_at_full_rank(
    n_jobs, small, bundles, monkeypatch
):
    if not small:
        monkeypatch.setattr(selection, "SMALL_BYTES", 0)
    runs, solve = [], path.solve_lanes

    def counted(sources, lanes, spec):
        runs.append(sorted((lane.source, lane.rank, lane.reg) for lane in lanes))
        return solve(sources, lanes, spec)

    monkeypatch.setattr(path, "solve_lanes", counted)
    X, y = samples()
    with parallel_backend("threading"):
        search = TensorCRPCV(cv=4, n_jobs=n_jobs, **GRID).fit(X, y)
    best, folds = search.best_params_, range(4 // bundles)
    regs = sorted(GRID["regs"])
    finite = [(fold, k, reg) for fold in folds for k in (1, 2) for reg in regs]
    full = [(fold, 1, reg) for fold in folds for reg in regs]
    assert sorted(runs[:-1]) == sorted([finite, full] * bundles)
    rank = 1 if best["rank"] == "full" else best["rank"]
    assert runs[-1] == [(0, rank, best["reg"])]


@pytest.mark.parametrize(
    "parameters, n_entries",
    [
        ({}, 60),  # coordinates in the span of 60 samples
        ({"max_memory": 1e5}, 72),  # no room for a basis
        ({"n_components": 21}, 72),  # 40 training samples may have less to tell apart
        ({"ranks": (8,)}, 60),  # is full as well
        ({"ranks": (7,)}, 72),
    ],
    ids=str,
)
def test_vectors_longer_than_their_number_are_shortened(
    parameters, n_entries, monkeypatch
):
    sizes, solve = [], path.solve_lanes

    def watched(sources, *args):
        sizes.extend(np.prod(within.row_shape) for _, within in sources)
        return solve(sources, *args)

    monkeypatch.setattr(path, "solve_lanes", watched)
    X, y = samples((9, 8))
    parameters = PLAIN | {"ranks": ("full",), "n_components": 4} | parameters
    TensorCRPCV(cv=3, regs=(1.0,), **parameters).fit(X, y)
    assert sizes == [n_entries] * 3 + [72]


def test_groups_stay_on_one_side():
    X, y = samples(n=48)
    groups = np.arange(48) // 6
    seen = []

    class Watched(KNeighborsClassifier):
        def fit(self, X, y):
            seen.append(len(y))
            return super().fit(X, y)

    one = PLAIN | {"ranks": (1,), "regs": (1.0,), "n_components": 2}
    search = TensorCRPCV(Watched(1), cv=GroupKFold(4), **one)
    search.fit(X, y, groups=groups)
    assert search.n_splits_ == 4
    assert seen == [36] * 4 + [48]
    with pytest.raises(ValueError, match="groups"):
        TensorCRPCV(cv=GroupKFold(4)).fit(X, y)


@pytest.mark.parametrize("cv, n_folds", [(2, 2), (5, 4)])
def test_a_number_of_folds_keeps_groups_together(cv, n_folds):
    """No more folds than a class has groups: here four, with samples of every class."""
    X, y = samples(n=48)
    groups = [f"person {i // 12}" for i in range(48)]
    folds = folds_of(cv, X, y, groups)
    assert len(folds) == n_folds
    people = np.array(groups)
    for train, test in folds:
        assert not set(people[train]) & set(people[test])
        assert set(y[train]) == set(y)
    assert_array_equal(np.sort(np.concatenate([t for _, t in folds])), np.arange(48))
    search = TensorCRPCV(cv=cv, ranks=(1,), regs=(1.0,), **PLAIN)
    assert search.fit(X, y, groups=groups).n_splits_ == n_folds


@pytest.mark.parametrize("groups", [[0] * 48, [0, 1] * 12, [[0, 1]] * 48])
def test_groups_that_are_none_are_an_error(groups):
    X, y = samples(n=48)
    with pytest.raises(ValueError, match="one entry for each of the 48 samples"):
        TensorCRPCV().fit(X, y, groups=groups)


def test_workers_give_the_same_result():
    X, y = samples(n=30)
    grid = {"ranks": (1, 2), "regs": (0.1, 1.0), "cv": 3}
    alone = TensorCRPCV(**grid).fit(X, y)
    two = TensorCRPCV(**grid, n_jobs=2).fit(X, y)
    name = "mean_test_score"
    assert_array_equal(alone.cv_results_[name], two.cv_results_[name])


def test_folds_are_no_more_than_the_smallest_class_has_samples():
    X, y = samples(n=12)
    assert TensorCRPCV(regs=(1.0,), cv=10).fit(X, y).n_splits_ == 4


def test_chosen_by_the_training_samples_of_an_outer_fold():
    X, y = samples()
    search = TensorCRPCV(ranks=(1, 2), regs=(0.1, 1.0), cv=3)
    assert cross_val_score(search, X, y, cv=3).min() > 0.5
    assert clone(search).get_params() == search.get_params()


def test_default_sizes_fit_the_sample():
    X, y = samples((2, 2), n=60, n_classes=5)
    search = TensorCRPCV(ranks=("full",), regs=(1.0,), cv=2).fit(X, y)
    assert set(search.cv_results_["param_n_components"]) == {4}
    many, y = samples((40, 6), n=120, n_classes=30)
    search = TensorCRPCV(ranks=(1,), regs=(1.0,), smooth=(0.0,), cv=2).fit(many, y)
    assert set(search.cv_results_["param_n_components"]) == {29, 58}  # 116 > 100


def test_flattened_samples_with_a_shape():
    X, y = samples()
    grid = {"ranks": (1, 2), "regs": (0.1, 1.0), "cv": 3}
    whole = TensorCRPCV(**grid).fit(X, y)
    flat = TensorCRPCV(sample_shape=(5, 4), **grid).fit(X.reshape(60, -1), y)
    assert_array_equal(whole.transform(X), flat.transform(X.reshape(60, -1)))
    assert_array_equal(whole.predict(X), flat.predict(X.reshape(60, -1)))


def test_two_samples_per_class_are_too_few():
    X, y = samples(n=6)
    with pytest.raises(ValueError, match="classes of a training fold have"):
        TensorCRPCV().fit(X, y)
    with pytest.raises(ValueError, match="every class has one sample"):
        TensorCRPCV().fit(X[:3], y[:3])


def test_folds_need_two_classes_of_samples_with_weight():
    X, y = samples(n=24, n_classes=2)
    weight = (y == 0) | (np.arange(24) < 6)  # the others of class 1 are all in one fold
    folds = [(np.arange(6), np.arange(6, 24)), (np.arange(6, 24), np.arange(6))]
    with pytest.raises(ValueError, match=r"fold have \[9\] samples with weight: each"):
        TensorCRPCV(**GRID | {"cv": folds}).fit(X, y, sample_weight=weight)


def test_a_fold_without_test_samples_is_an_error():
    X, y = samples(n=24)
    folds = [(np.arange(12), np.arange(12, 24)), (np.arange(12), np.array([], int))]
    with pytest.raises(ValueError, match="a fold has no test samples"):
        TensorCRPCV(**GRID | {"cv": folds}).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"ranks": ()}, "ranks must be a list or tuple"),
        ({"ranks": "full"}, "ranks must be a list or tuple"),
        ({"ranks": 2}, "ranks must be a list or tuple"),
        ({"ranks": (0,)}, "each of ranks must be an integer of at least 1"),
        ({"regs": (-1.0,)}, "each of regs must be a finite number"),
        ({"regs": []}, "regs must be a list or tuple"),
        ({"ranks": {1, 2}}, "ranks must be a list or tuple"),
        ({"cv": 1}, "cv must be an integer of at least 2"),
        ({"n_components": []}, "n_components is empty"),
        ({"n_components": 0}, "n_components must be an integer of at least 1"),
        ({"n_components": 21}, "n_components=21 is more than the 20 entries"),
        ({"between": "all"}, "between must be one of"),
        ({"max_iter": 0}, "max_iter must be an integer"),
        ({"smooth": ()}, "smooth must be a list or tuple"),
        ({"smooth": 1.0}, "smooth must be a list or tuple"),
        ({"smooth": (-1.0,)}, "each of smooth must be a finite number"),
        ({"ordered": "ab"}, "ordered='ab' must be None or a sequence of True and"),
        ({"ordered": 2}, "ordered=2 must be None or a sequence of True and False"),
        ({"ordered": (0.5, 2)}, "ordered=(0.5, 2) must be None or a sequence of"),
        ({"estimator": Ridge()}, "estimator=Ridge() is not a classifier; give one"),
        ({"estimator": PCA()}, "estimator=PCA() is not a classifier; give one"),
        (
            {"estimator": SVC(), "scoring": "neg_log_loss"},
            "scoring='neg_log_loss' cannot score estimator=SVC(): SVC has none of",
        ),
        (
            {"estimator": [KNeighborsClassifier(), SVC()], "scoring": "roc_auc_ovr"},
            "scoring='roc_auc_ovr' cannot score estimator=SVC(): SVC has none of",
        ),
        ({"ordered": (True,)}, "has 1 entries, but samples have 2 modes"),
        ({"average": 0}, "average must be an integer of at least 1"),
        (
            {"n_jobs": "all"},
            "n_jobs must be a number of processes, -1 for one per core",
        ),
        ({"n_jobs": 0}, "n_jobs must be a number of processes"),
        ({"distance": "manhattan"}, "distance must be one of"),
        ({"distance": ()}, "distance must be a list or tuple of at least one"),
        ({"estimator": []}, "estimator must be a list or tuple of at least one"),
        ({"white": "yes"}, "white must be True or False"),
        ({"race": 2}, "race must be True or False"),
    ],
)
def test_bad_parameters_are_named_before_any_fold(parameters, words, monkeypatch):
    monkeypatch.setattr(module, "score_points", None)  # calling it would be an error
    X, y = samples()
    search = TensorCRPCV(**parameters)
    with pytest.raises(ValueError, match=re.escape(words)):
        search.fit(X, y)
    with pytest.raises(NotFittedError):
        search.predict(X)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr"])
def test_default_candidates_without_probabilities_are_left_out(scoring):
    X, y = samples()
    y = np.array(["a", "b", "c"])[y]
    search = TensorCRPCV(ranks=(1,), regs=(0.1, 1.0), cv=2, scoring=scoring)
    search.set_params(distance=["cosine", "both"]).fit(X, y)
    assert isinstance(search.estimator_, KNeighborsClassifier)
    assert {each["estimator"] for each in search.candidates_} == {
        str(KNeighborsClassifier(1))
    }
    accuracy = search.set_params(scoring="f1_macro").fit(X, y)
    assert len(accuracy.candidates_) == 4  # labels are all that it needs


def test_balanced_classes_in_a_search():
    """As weights of the samples; a classifier that takes weights is the default."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1], [45, 9])
    X = rng.standard_normal((54, 4, 3)) + 0.5 * y[:, None, None]
    grid = {"ranks": (1,), "regs": (0.1, 1.0), "smooth": (0.0,), "cv": 3}
    balanced = TensorCRPCV(class_weight="balanced", **grid).fit(X, y)
    weight = np.where(y == 0, 54 / (2 * 45), 54 / (2 * 9))
    plain = TensorCRPCV(LogisticRegression(max_iter=1000), **grid)
    plain.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(balanced.projections_, plain.projections_, atol=1e-9)
    assert type(balanced.estimator_) is LogisticRegression
    shares = balanced.predict_proba(X), plain.predict_proba(X)
    np.testing.assert_allclose(*shares, atol=1e-6)
    even = TensorCRPCV(LogisticRegression(max_iter=1000), **grid).fit(X, y)
    assert (balanced.predict(X) == 1).sum() > (even.predict(X) == 1).sum()


@pytest.mark.parametrize("distance", ["both", ("cosine", "both")])
def test_data_frames_as_output_change_no_search(distance):
    X, y = samples()
    search = TensorCRPCV(
        LogisticRegression(), ranks=(1,), regs=(0.1, 1.0), cv=2, distance=distance
    )
    expected = clone(search).fit(X, y)
    with sklearn.config_context(transform_output="pandas"):
        found = search.fit(X, y)
        inside = found.predict_proba(X)
    assert_array_equal(inside, expected.predict_proba(X))
    assert_array_equal(inside, found.predict_proba(X))
    assert not hasattr(found.estimator_, "feature_names_in_")
