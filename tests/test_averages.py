"""Averages of models, races, distances and proposals, against direct computations."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.metrics.pairwise import cosine_distances
from sklearn.model_selection import LeaveOneOut, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from tensorcrp import ClassScatter, TensorCRP, TensorCRPCV
from tensorcrp.model_selection import DistanceFeatures, GridEndWarning, selection
from tensorcrp.model_selection import folds as folds_module
from tensorcrp.model_selection.grid import Grid
from tensorcrp.model_selection.ordering import propose_ordered
from tensorcrp.model_selection.scores import warn_of_ends

SMALL = {"ranks": (1, 2), "regs": (0.1, 1.0, 10.0), "n_components": (2, 5), "cv": 4}


def samples(shape=(6, 5), n=60, n_classes=3, noise=1.5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    means = rng.standard_normal((n_classes, *shape))
    return means[y] + noise * rng.standard_normal((n, *shape)), y


# Averages -----------------------------------------------------------------------------


@pytest.mark.parametrize("white", [False, True])
@pytest.mark.parametrize("shape, ordered", [((6, 5), (True, False)), ((4, 3, 5), None)])
def test_squared_distances_are_weighted_sums_of_those_of_the_members(
    shape, ordered, white
):
    X, y = samples(shape)
    search = TensorCRPCV(
        **SMALL, smooth=(0.0, 2.0), ordered=ordered, white=white, average=4
    ).fit(X, y)
    assert len(search.members_) == 4
    expected = 0.0
    folds = [train for train, _ in StratifiedKFold(4).split(X, y)]
    for train in [*folds, np.arange(len(y))]:
        for point, weight in zip(search.members_, search.weights_, strict=True):
            crp = TensorCRP(**point, max_iter=1, tol=0).fit(X[train], y[train])
            features = _white(crp.transform(X), y) if white else crp.transform(X)
            pairs = cdist(features, features, "sqeuclidean")
            expected = expected + weight * pairs / pairs.mean()
    stack = search.transform(X)
    assert stack.shape[1] <= X[0].size
    assert_allclose(cdist(stack, stack, "sqeuclidean"), expected, atol=1e-8)


def _white(features, y):
    """Features times the inverse root of their shrunk covariance within classes."""
    rest = np.vstack([features[y == c] - features[y == c].mean(0) for c in set(y)])
    S = rest.T @ rest / (len(y) - len(set(y)))
    shrunk = (S + np.trace(S) / len(S) * np.eye(len(S))) / 2
    values, vectors = np.linalg.eigh(shrunk)
    return features @ (vectors / np.sqrt(values)) @ vectors.T


def test_members_are_the_best_points_and_weights_fall_with_their_scores():
    X, y = samples()
    search = TensorCRPCV(**SMALL, average=6, race=False).fit(X, y)
    results = search.cv_results_
    scores, points = results["mean_test_score"], results["params"]
    which = [points.index(point) for point in search.members_]
    assert_allclose(np.sort(scores[which])[::-1], np.sort(scores)[::-1][:6])
    assert search.members_[0] == search.best_params_
    # Half of the weight is lost for every log(2) standard errors behind the best.
    folds = search.n_splits_
    squares = [
        np.var([results[f"split{i}_test_score"][p] for i in range(folds)])
        for p in which
    ]
    error = np.sqrt(np.mean(squares) / (folds - 1))
    halves = (scores[which[0]] - scores[which]) / (error * np.log(2))
    assert_allclose(search.weights_ / search.weights_.max(), 0.5**halves)


def test_points_share_an_average_as_far_as_folds_cannot_tell_them_apart():
    grid = Grid([0.0], [1], [0.1, 1.0, 10.0], [4])
    agree = np.array([[0.9, 0.8, 0.7], [0.9, 0.8, 0.7]])
    best, weights = grid.members(agree, 3)
    assert best[0] == 0 and weights[0] == 1.0  # no fold doubts it
    noisy = agree + np.array([[0.1], [-0.1]])
    best, weights = grid.members(noisy, 3)  # errors of 0.1
    assert_allclose(weights[1:] / weights[:-1], np.exp(-1), rtol=1e-12)
    _, weights = grid.members(agree[:1], 3)  # one fold: scores 0.02 apart count
    assert_allclose(weights[1:] / weights[:-1], np.exp(-5), rtol=1e-12)


@pytest.mark.parametrize("race", [False, True])
def test_models_of_the_folds_are_fitted_once(monkeypatch, race):
    """One fit per fold, and one for all samples."""
    X, y = samples((9, 8), n=40)  # fewer samples than entries
    runs, solve = [], folds_module.fit_paths

    def counted(asked, spec):
        runs.extend(asked)
        return solve(asked, spec)

    monkeypatch.setattr(folds_module, "fit_paths", counted)
    search = TensorCRPCV(**SMALL, race=race, distance=("both", "cosine")).fit(X, y)
    assert len(search.members_) == 5 and len(runs) == search.n_splits_ + 1 == 5
    assert len(search.candidates_) == 2 * 2  # distances, classifiers


def test_an_average_of_one_is_the_best_point():
    X, y = samples()
    search = TensorCRPCV(**SMALL, average=1, distance="euclidean").fit(X, y)
    crp = TensorCRP(**search.best_params_, white=True, max_iter=1, tol=0).fit(X, y)
    assert_array_equal(search.transform(X), crp.transform(X))
    assert_allclose(
        search.inverse_transform(search.transform(X)),
        crp.inverse_transform(crp.transform(X)),
    )


def test_inverse_of_an_average_has_the_same_features():
    X, y = samples()
    search = TensorCRPCV(**SMALL).fit(X, y)
    features = search.transform(X)
    back = search.inverse_transform(features)
    assert back.shape == X.shape
    assert_allclose(search.transform(back), features, atol=1e-8)


def test_flags_switch_every_part_off():
    """With all parts off, what is left is the best point of the plain grid."""
    X, y = samples()
    off = {"smooth": (0.0,), "average": 1, "distance": "euclidean", "white": False}
    search = TensorCRPCV(**SMALL, **off, race=False).fit(X, y)
    crp = TensorCRP(**search.best_params_, max_iter=1, tol=0).fit(X, y)
    assert_array_equal(search.projections_, crp.projections_)
    assert set(search.cv_results_["n_splits"]) == {4}


# Races --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sizes, noise, goes_on",
    [((2, 3, 5), 6.0, True), ((2, 3, 9), 3.0, True), ((2, 8, 9), 6.0, False)],
)
def test_a_race_scores_survivors_as_without_it(sizes, noise, goes_on):
    """Two folds of all lanes, without the longest models; then the best six lanes.

    They see the other folds, up to the best size. If that is the longest so far, they
    see all folds with the longest, too.
    """
    X, y = samples(noise=noise)
    grid = SMALL | {"regs": tuple(np.logspace(-2, 1, 12)), "n_components": sizes}
    grid |= {"scoring": "neg_log_loss"}  # hardly any ties, which rounding would decide
    grid |= {"estimator": LogisticRegression()}
    whole = TensorCRPCV(**grid, race=False).fit(X, y).cv_results_
    search = TensorCRPCV(**grid).fit(X, y)
    results = search.cv_results_
    folds = [f"split{i}_test_score" for i in range(4)]
    scores = np.array([whole[name] for name in folds])
    few = len(sizes) - 1
    first = scores[:2].mean(axis=0).reshape(-1, 3)[:, :few]
    alive = np.argsort(-first.max(axis=1))[:6]
    best = 1 + first[alive].argmax(axis=1).max()
    assert (best == few < 3) == goes_on  # both cases are here
    expected = np.zeros((len(first), 3), int)
    expected[:, :few] = 2
    expected[alive, : 3 if goes_on else best] = 4
    expected = expected.ravel()
    scores[np.arange(4)[:, None] >= expected] = np.nan
    assert_allclose([results[name] for name in folds], scores, atol=1e-9)
    seen = results["n_splits"]
    assert_array_equal(seen, expected)
    assert_array_equal(np.isnan(results["mean_test_score"]), expected == 0)
    assert all(seen[results["params"].index(point)] == 4 for point in search.members_)
    ranks = results["rank_test_score"]
    assert ranks[seen == 4].max() < ranks[seen < 4].min()


def test_large_samples_are_fitted_as_a_whole_after_the_race(monkeypatch):
    """Where folds are not solved together, the fit to all samples waits."""
    X, y = samples(noise=3.0)
    grid = SMALL | {"regs": tuple(np.logspace(-2, 1, 12))}
    together = TensorCRPCV(**grid).fit(X, y)
    monkeypatch.setattr(selection, "SMALL_BYTES", 0)
    apart = TensorCRPCV(**grid).fit(X, y)
    assert together.members_ == apart.members_
    assert_allclose(together.projections_, apart.projections_, rtol=1e-9, atol=1e-12)


def test_ties_in_a_race_are_broken_by_the_other_numbers_of_components():
    grid = Grid([0.0], [1], [0.1, 1.0, 10.0], [2, 5])
    scores = np.array([[0.8, 0.9], [0.9, 0.9 - 1e-15], [0.9, 0.7]])
    assert_array_equal(grid.survivors(scores, 1), [1])
    assert_array_equal(grid.survivors(scores, 2), [0, 1])
    scores[1, 0] = np.nan  # a score that is none is worse than any
    assert_array_equal(grid.survivors(scores, 2), [0, 2])


def test_a_race_leaves_as_many_lanes_as_are_averaged():
    X, y = samples(noise=3.0)
    grid = SMALL | {"regs": tuple(np.logspace(-2, 1, 12)), "average": 9}
    results = TensorCRPCV(**grid).fit(X, y).cv_results_
    sizes = len(set(results["param_n_components"]))
    assert (results["n_splits"].reshape(-1, sizes) == 4).any(axis=1).sum() == 9


def test_a_race_of_small_folds_begins_with_a_fifth_of_the_samples():
    X, y = samples(noise=3.0)
    grid = SMALL | {"regs": tuple(np.logspace(-2, 1, 5)), "cv": LeaveOneOut()}
    grid |= {"n_components": (2, 4)}
    seen = TensorCRPCV(**grid).fit(X, y).cv_results_["n_splits"]
    assert set(seen) == {0, 12, 60}  # the longest of lanes that do not go on: none
    few = [(np.arange(30), np.array([i])) for i in (40, 41, 42)]
    seen = TensorCRPCV(**grid | {"cv": few}).fit(X, y).cv_results_["n_splits"]
    assert set(seen) == {3}  # no race


@pytest.mark.parametrize("by_group", [False, True])
def test_a_number_of_folds_is_of_samples_with_weight(by_group):
    """A class of one sample does not lower it, nor does scikit-learn warn of it."""
    X, y = samples(n=60)
    groups = np.arange(60) // 6 if by_group else None
    grid = {"ranks": (1,), "regs": (0.1, 1.0), "cv": 5, "average": 2}
    same = TensorCRPCV(**grid).fit(X, y, groups)
    X, y = np.insert(X, 7, 9.0, axis=0), np.insert(y, 7, 8)
    groups = np.insert(groups, 7, 99) if by_group else None
    weight = (y != 8).astype(float)
    search = TensorCRPCV(**grid).fit(X, y, groups, sample_weight=weight)
    assert search.n_splits_ == 5
    for name in ("n_splits", "mean_test_score"):
        assert_allclose(search.cv_results_[name], same.cv_results_[name])
    assert_allclose(search.transform(X), same.transform(X), atol=1e-9)


@pytest.mark.parametrize("cv", [5, "thirty"])
def test_a_class_without_weight_is_as_if_it_were_not_there(cv):
    """In the sizes of the grid, in a race, and in white features of an average."""
    X, y = samples(n=60, n_classes=4)
    weight = (y != 1).astype(float)
    some = np.flatnonzero(weight)
    if cv == 5:
        folds = list(StratifiedKFold(5).split(X, y))
    else:  # of two samples each, the second without weight: more folds begin the race
        pairs = np.c_[:15, 1:60:4]
        folds = [(np.setdiff1d(np.arange(60), pair), pair) for pair in pairs]
    place = np.cumsum(weight > 0) - 1
    left = [tuple(place[part[weight[part] > 0]] for part in fold) for fold in folds]
    left = [fold for fold in left if len(fold[1])]
    grid = {"ranks": (1, 2), "regs": (0.1, 1.0, 10.0), "average": 3}
    search = TensorCRPCV(**grid, cv=folds).fit(X, y, sample_weight=weight)
    same = TensorCRPCV(**grid, cv=left).fit(X[some], y[some])
    assert search.members_ == same.members_
    for name in ("n_splits", "mean_test_score"):
        assert_allclose(search.cv_results_[name], same.cv_results_[name])
    assert_allclose(search.transform(X), same.transform(X), atol=1e-9)


def test_a_race_tries_longer_models_if_the_shorter_have_no_score():
    X, y = samples()
    grid = SMALL | {"regs": tuple(np.logspace(-2, 1, 12)), "n_components": (2, 5, 12)}

    def score(model, X, y):
        return model.score(X, y) if X.shape[1] > 10 else np.nan

    with pytest.warns(UserWarning, match="of the grid are NaN"):
        search = TensorCRPCV(**grid, scoring=score, distance="both").fit(X, y)
    assert search.best_params_["n_components"] == 12


@pytest.mark.parametrize("none", [np.inf, -np.inf, np.nan])
def test_points_whose_score_is_no_finite_number_are_not_chosen(none):
    """Without warnings of NumPy; whole lanes have none in the second search."""
    X, y = samples()
    grid = SMALL | {"regs": tuple(np.logspace(-2, 1, 12)), "race": True}

    def score(model, X, y):
        return none if X.shape[1] == 5 else model.score(X, y)

    with pytest.warns(UserWarning, match="NaN or infinite; these points"):
        search = TensorCRPCV(**grid, scoring=score, distance="euclidean").fit(X, y)
    short = TensorCRPCV(**grid | {"n_components": 2}, scoring=score)
    assert search.best_score_ == short.fit(X, y).best_score_
    long = TensorCRPCV(**grid | {"n_components": 5}, scoring=score)
    with pytest.raises(ValueError, match="NaN or infinite"):
        long.fit(X, y)


@pytest.mark.parametrize("none", [np.inf, -np.inf, np.nan])
def test_candidates_whose_score_is_no_finite_number_are_not_chosen(none):
    X, y = samples()

    def score(model, X, y):
        return none if isinstance(model, GaussianNB) else model.score(X, y)

    both = [KNeighborsClassifier(1), GaussianNB()]
    search = TensorCRPCV(both, **SMALL | {"average": 2}, scoring=score).fit(X, y)
    assert isinstance(search.estimator_, KNeighborsClassifier)
    assert [np.isnan(row["score"]) for row in search.candidates_] == [False, True]


def test_two_folds_are_no_race():
    X, y = samples()
    search = TensorCRPCV(**SMALL | {"cv": 2}).fit(X, y)
    assert set(search.cv_results_["n_splits"]) == {2}


# Distances ----------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["both", "cosine"])
def test_scikit_learn_contract_of_distance_features(distance, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # or a check is skipped
    check_estimator(DistanceFeatures(distance))


def test_distance_features_have_the_wanted_distances():
    rng = np.random.default_rng(0)
    X, new = rng.normal(2.0, 1.0, (30, 4)), rng.normal(2.0, 1.0, (7, 4))
    centred = [each - X.mean(axis=0) for each in (new, X)]
    euclidean, cosine = cdist(*centred, "sqeuclidean"), cosine_distances(*centred)
    got = {}
    for distance in ("euclidean", "cosine", "both"):
        model = DistanceFeatures(distance).fit(X)
        pair = model.transform(new), model.transform(X)
        got[distance] = cdist(*pair, "sqeuclidean")
    assert_allclose(got["euclidean"], euclidean)
    assert_allclose(got["cosine"], 2 * cosine)
    spread = np.square(centred[1]).sum(axis=1).mean()
    assert_allclose(got["both"], euclidean / spread + 2 * cosine)


def test_features_without_spread():
    X = np.ones((5, 3))
    assert_array_equal(DistanceFeatures().fit_transform(X), np.zeros((5, 6)))


# Classifiers --------------------------------------------------------------------------


def test_the_folds_choose_distance_and_classifier():
    X, y = samples(noise=2.0)
    classifiers = [KNeighborsClassifier(1), LogisticRegression()]
    how = {"distance": ("euclidean", "both"), "scoring": "f1_macro", "average": 3}
    search = TensorCRPCV(classifiers, **SMALL, **how).fit(X, y)
    assert len(search.members_) == 3
    scores = [each["score"] for each in search.candidates_]
    assert len(scores) == 4
    best = search.candidates_[int(np.argmax(scores))]
    assert search.distances_.distance == best["distance"]
    assert str(clone(search.estimator_)) == best["estimator"]
    expected = _candidate_score(search, X, y, best["distance"], search.estimator_)
    assert_allclose(best["score"], expected)


def _candidate_score(search, X, y, distance, classifier):
    """The same by fits of the members to the training samples of every fold."""
    scores = []
    for train, test in StratifiedKFold(4).split(X, y):
        parts = []
        for point, weight in zip(search.members_, search.weights_, strict=True):
            crp = TensorCRP(**point, white=True, max_iter=1, tol=0)
            crp.fit(X[train], y[train])
            features = crp.transform(X)
            scale = 2 * features[train].var(axis=0).sum()
            parts.append(features * np.sqrt(weight / scale))
        stack = np.hstack(parts)
        seen = DistanceFeatures(distance).fit(stack[train])
        model = clone(classifier).fit(seen.transform(stack[train]), y[train])
        score = get_scorer("f1_macro")
        scores.append(score(model, seen.transform(stack[test]), y[test]))
    return np.mean(scores)


@pytest.fixture(scope="module")
def logistic():
    X, y = samples()
    return TensorCRPCV(LogisticRegression(), **SMALL).fit(X, y)


def test_probabilities_and_decisions_are_those_of_the_classifier(logistic):
    X, search = samples()[0], logistic
    seen = search.distances_.transform(search.transform(X))
    # To rounding: scikit-learn sums over all samples at once, we over each alone.
    rounding = {"rtol": 1e-12, "atol": 1e-12}
    classifier = search.estimator_
    probabilities = classifier.predict_proba(seen)
    assert_allclose(search.predict_proba(X), probabilities, **rounding)
    decisions = classifier.decision_function(seen)
    assert_allclose(search.decision_function(X), decisions, **rounding)
    assert_array_equal(search.predict(X), classifier.predict(seen))
    assert not hasattr(TensorCRPCV(), "decision_function")
    assert not hasattr(TensorCRPCV(LinearSVC()), "predict_proba")
    assert hasattr(TensorCRPCV(SVC()), "decision_function")


def test_memory_maps_are_classified_in_blocks(tmp_path, logistic):
    X, search = samples()[0], logistic
    np.save(tmp_path / "X.npy", X)
    stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_allclose(search.predict_proba(stored), search.predict_proba(X))
    assert_array_equal(search.predict(stored), search.predict(X))


def test_scoring_is_that_of_the_folds():
    X, y = samples(noise=2.5, n_classes=2)
    search = TensorCRPCV(
        LogisticRegression(), **SMALL, scoring="roc_auc", race=False, average=1
    ).fit(X, y)
    point = search.best_params_
    scores = []
    for train, test in StratifiedKFold(4).split(X, y):
        crp = TensorCRP(**point, white=True, max_iter=1, tol=0).fit(X[train], y[train])
        model = LogisticRegression().fit(crp.transform(X[train]), y[train])
        scores.append(get_scorer("roc_auc")(model, crp.transform(X[test]), y[test]))
    assert_allclose(search.best_score_, np.mean(scores))


class WeightSpy(BaseEstimator):
    """Remembers the weights that it was fitted with."""

    seen = None

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        type(self).seen = sample_weight
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y, sample_weight=None):
        return float(np.average(y == self.classes_[0], weights=sample_weight))


def test_weights_reach_the_classifier():
    X, y = samples()
    weight = np.random.default_rng(0).uniform(1.0, 2.0, len(y))
    TensorCRPCV(WeightSpy(), **SMALL).fit(X, y, sample_weight=weight)
    assert_array_equal(WeightSpy.seen, weight)


# Grids --------------------------------------------------------------------------------


def test_a_value_at_the_end_of_its_grid_is_named():
    grid = Grid([0.0, 1.0, 10.0], [1], [0.1, 1.0, 10.0], [2])
    point = {"smooth": 10.0, "rank": 1, "reg": 10.0, "n_components": 2}
    assert grid.at_an_end(point, ["reg", "smooth"]) == ["reg", "smooth"]
    point |= {"smooth": 0.0, "reg": 1.0}  # no smoothness is no end
    assert grid.at_an_end(point, ["reg", "smooth"]) == []
    X, y = samples()
    search = TensorCRPCV(ranks=(1,), regs=(1e3, 1e4, 1e5), n_components=2, cv=2)
    with pytest.warns(GridEndWarning, match=r"reg=1\d*0\.0 is at an end"):
        search.fit(X, y)


def test_smooth_noise_proposes_ordered_modes():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    noise = np.cumsum(rng.standard_normal((40, 7, 30)), axis=2)
    shuffled = noise[:, :, rng.permutation(30)]
    for X, expected in ((noise, [False, True]), (shuffled, [False, False])):
        assert propose_ordered(ClassScatter.from_samples(X, y)) == expected
        search = TensorCRPCV(ranks=(1,), regs=(1.0,), n_components=2, cv=2).fit(X, y)
        assert search.ordered_ == expected
        strengths = set(search.cv_results_["param_smooth"])
        assert strengths == ({0.0, (0.0, 1.0), (0.0, 10.0)} if any(expected) else {0.0})


def test_short_and_constant_modes_are_not_ordered():
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.standard_normal((20, 3, 8)), axis=1)
    X[:, :, :] = X[:, :, :1]  # all slices of the last mode are equal
    assert propose_ordered(ClassScatter.from_samples(X, np.arange(20) % 2)) == [
        False,
        False,
    ]


def test_a_clone_has_the_default_grids():
    """Their ends are no news, though the grids are copies."""
    search = clone(TensorCRPCV())
    assert search.smooth is not TensorCRPCV().smooth
    point = {"smooth": 10.0, "rank": 1, "reg": 0.3, "n_components": 3}
    search.members_, search.weights_ = [point], np.ones(1)
    search.best_params_ = point
    grid = Grid(list(search.smooth), [1], list(search.regs), [3])
    with warnings.catch_warnings():
        warnings.simplefilter("error", GridEndWarning)
        warn_of_ends(grid, search)
    search.smooth = (0.0, 2.0, 10.0)
    with pytest.warns(GridEndWarning, match="smooth"):
        warn_of_ends(grid, search)
