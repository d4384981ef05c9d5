"""Which average of models is best: the choice of the defaults of TensorCRPCV.

    TENSORCRP_DATA=... python tests/measure_averages.py [NAME ...] [--per-class 5]
        [--splits 3] [--folds 3] [--rows FILE]

Defaults are chosen on `CHOSEN_ON`, every second set in the order of their names, and on
synthetic clips; the other sets are left alone, so that what the pages report of them
is not selected. Per set and split the points of a large grid are fitted to folds of the
training samples and scored there, and fitted to all of them. Then each rule of `RULES`
chooses points by these scores and averages their models, and the table has the accuracy
of nearest neighbours, or of an SVM, on the test samples. Rows are kept in FILE, and a
set, split and stopping rule that is there is not run again. Not a test.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from sklearn.svm import SVC
from splits import load, split
from threadpoolctl import threadpool_limits

from tensorcrp.base.fitting import statistics
from tensorcrp.base.projections import metric_of
from tensorcrp.datasets import make_moving_shapes
from tensorcrp.experiments.evidence import CHOSEN_ON
from tensorcrp.model_selection.average import lane_mixing
from tensorcrp.model_selection.distances import DistanceFeatures, nearest
from tensorcrp.model_selection.fold_scores import Parts, nearest_neighbour
from tensorcrp.model_selection.grid import Grid, sizes_of
from tensorcrp.model_selection.ordering import propose_ordered, strengths_of
from tensorcrp.model_selection.splits import folds_of
from tensorcrp.solver import Spec, fit_path

REGS = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
RANKS = (1, 2, "full")
SMOOTH = (0.0, 1.0, 10.0)
STOPS = {"one sweep": (0.0, 1), "two sweeps": (0.0, 2), "tol 0.1": (0.1, 20)}
BASE = {
    "ranks": RANKS,
    "regs": (0.001, 0.01, 0.1, 1.0, 10.0),
    "smooth": SMOOTH,
    "models": "both",  # or "half", "folds", or "all": of all training samples
    "classifier": "1-NN",  # or "RBF SVM"
    "count": 5,
    "scale": "folds",
    "distance": "both",
    "white": True,
    "longest": 9,
    # Lanes that go on after two folds, first by their scores with c - 1 components
    # alone, then by all: empty for none. Of three folds that is hardly a race.
    "race": (),
}
REFITTED = {"models": "all", "count": 20}
RULES = {
    "as it is, 1-NN": {},
    "as it is, RBF SVM": {"classifier": "RBF SVM"},
    "all samples as all folds": {"models": "half"},
    "all samples as all folds, RBF SVM": {"models": "half", "classifier": "RBF SVM"},
    "folds alone": {"models": "folds"},
    "folds alone, RBF SVM": {"models": "folds", "classifier": "RBF SVM"},
    "3 points": {"count": 3},
    "10 points": {"count": 10},
    "20 points": {"count": 20},
    "20 points, refitted": REFITTED,
    "20 points, refitted, scale 0.02": {**REFITTED, "scale": 0.02},
    "all points, refitted": {**REFITTED, "count": 10**6},
    "best point, refitted": {**REFITTED, "count": 1},
    "scale 0.02": {"scale": 0.02},
    "scale 0.05": {"scale": 0.05},
    "scale by hits": {"scale": "hits"},
    "rank 1": {"ranks": (1,)},
    "rank 2": {"ranks": (2,)},
    "rank full": {"ranks": ("full",)},
    "ranks 1, 2": {"ranks": (1, 2)},
    "no smoothness": {"smooth": (0.0,)},
    "seven regs": {"regs": REGS[1:]},
    "eight regs": {"regs": REGS},
    "every second reg": {"regs": REGS[1::2]},
    "ranks 1, 2, every second reg": {"ranks": (1, 2), "regs": REGS[1::2]},
    "the same, RBF SVM": {
        "ranks": (1, 2),
        "regs": REGS[1::2],
        "classifier": "RBF SVM",
    },
    "Euclidean": {"distance": "euclidean"},
    "cosine": {"distance": "cosine"},
    "not white": {"white": False},
    "up to 2 (c - 1)": {"longest": 2},
    "up to 4 (c - 1)": {"longest": 4},
    "race, 6 lanes": {"race": (None, 6)},
    "race, 15 lanes": {"race": (None, 15)},
    "race, 15 lanes by c - 1, then 6": {"race": (15, 6)},
}


def samples(name):
    """Samples, labels and groups of a set, or synthetic clips."""
    if name != "clips":
        return load(name)
    clips = make_moving_shapes(30, frames=8, size=(16, 16), random_state=0)
    return clips.data, clips.target, None


def scored_points(name, per_class, seed, stop, n_folds=3):
    """Grid, scores (folds, lanes, sizes), features of all lanes, labels.

    Features are those of training and test samples, by the models of every fold and,
    last, by models of all training samples.
    """
    X, y, groups = samples(name)
    train, test = split(y, groups, per_class, seed)
    X, tested, y, truth = X[train].astype(float), X[test][:1000], y[train], y[test]
    ordered = propose_ordered(statistics(X, y, None, None))
    sizes = sizes_of(None, len(np.unique(y)), X.shape[1:])
    grid = Grid(strengths_of(SMOOTH, ordered), list(RANKS), list(REGS), sizes)
    metrics = [metric_of(each, None, X.shape[1:]) for each in grid.smooths]
    lanes = [(metrics[m], rank, reg) for m, rank, reg in grid.lanes()]
    spec = Spec(max(sizes), tol=stop[0], max_iter=stop[1], lanes=lanes)
    folds = folds_of(n_folds, X, y, None)
    both = [each.reshape(len(each), -1) for each in (X, tested)]
    scores, features = {True: [], False: []}, []
    for part, held_out in [*folds, (np.arange(len(y)), None)]:
        rows = [model.projections.T for model in fit_path(_part(X, y, part), spec)]
        features.append([(both[0] @ each, both[1] @ each) for each in rows])
        for white in (True, False) if held_out is not None else ():
            fold = part, held_out
            scores[white].append(_scores(features[-1], y, fold, sizes, white))
    return grid, scores, features, y, truth[:1000]


def _part(X, y, part):
    """Statistics of some samples."""
    return statistics(X, y, np.bincount(part, minlength=len(y)).astype(float), None)


def _scores(features, y, fold, sizes, white):
    """Accuracy (lanes, sizes) on the samples that a fold holds out."""
    parts = [Parts(each, y, np.ones(len(y)), *fold) for each, _ in features]
    return [[nearest_neighbour(each, h, white) for h in sizes] for each in parts]


def members(grid, scores, rule):
    """{lane: [(number of components, weight), ...]} of the points of an average."""
    n = len(np.unique(rule["y"])) - 1
    allowed = [
        SMOOTH[m] in rule["smooth"] and rank in rule["ranks"] and reg in rule["regs"]
        for m, rank, reg in grid.lanes()
    ]
    sizes = np.array(grid.sizes) <= max(rule["longest"] * n, grid.sizes[0])
    by_fold = np.where(np.outer(allowed, sizes), scores, np.nan)
    if rule["race"]:
        by_fold = raced(grid, by_fold, *rule["race"])
    by_fold = by_fold.reshape(len(scores), -1)
    known = by_fold.mean(axis=0)
    order = grid.order(known)[: rule["count"]]
    scale = _scale(rule, by_fold[:, order])
    weights = np.exp((known[order] - known[order].max()) / scale)
    chosen = {}
    for point, weight in zip(order, weights / weights.sum(), strict=True):
        lane, which = divmod(int(point), len(grid.sizes))
        chosen.setdefault(lane, []).append((grid.sizes[which], float(weight)))
    return chosen


def raced(grid, scores, short, count):
    """NaN for lanes that a race leaves out: scores (folds, lanes, sizes)."""
    means = scores[:2].mean(axis=0)
    alive = grid.survivors(means[:, :1], short or len(means))
    alive = alive[grid.survivors(means[alive], count)]
    left = np.full(scores.shape, np.nan)
    left[:, alive] = scores[:, alive]
    return left


def _scale(rule, scores):
    """How far behind the best score a point has 1 / e of its weight.

    A number, or the standard error of a score: that of the best number of hits, or from
    the variance over folds (folds, points).
    """
    if not isinstance(rule["scale"], str):
        return rule["scale"]
    if rule["scale"] == "folds":
        return max(np.sqrt(scores.var(axis=0, ddof=1).mean() / len(scores)), 1e-9)
    n, best = len(rule["y"]), scores.mean(axis=0).max()
    hits = (best * n + 1) / (n + 2)  # between 0 and 1, whatever the score
    return np.sqrt(hits * (1 - hits) / n)


def accuracy(grid, scores, features, y, truth, rule):
    """Accuracy of a classifier of averaged features."""
    weight, parts = np.ones(len(y)), []
    chosen = members(grid, np.array(scores[rule["white"]]), {**rule, "y": y})
    *folds, last = features
    models = {"folds": [(each, 1) for each in folds], "all": [(last, 1)]}
    models["both"] = [*models["folds"], (last, 1)]
    models["half"] = [*models["folds"], (last, len(folds))]
    for by_lane, share in models[rule["models"]]:
        for lane, some in chosen.items():
            train, test = by_lane[lane]
            mix = lane_mixing(train, y, weight, some, rule["white"]) * np.sqrt(share)
            parts.append((train[:, : len(mix)] @ mix, test[:, : len(mix)] @ mix))
    train, test = (np.hstack(each) for each in zip(*parts, strict=True))
    seen = DistanceFeatures(rule["distance"]).fit(train)
    train, test = seen.transform(train), seen.transform(test)
    if rule["classifier"] == "1-NN":
        labels = y[nearest(train, test)]
    else:
        labels = SVC(C=10).fit(train, y).predict(test)
    return float(100 * np.mean(labels == truth))


def study(name, per_class, seed, stop, n_folds):
    """A row: accuracies of all rules."""
    start = time.process_time()
    found = scored_points(name, per_class, seed, STOPS[stop], n_folds)
    rules = {key: accuracy(*found, {**BASE, **more}) for key, more in RULES.items()}
    return {
        "data": name,
        "train": per_class,
        "split": seed,
        "stop": stop,
        "seconds": time.process_time() - start,
        "accuracy": rules,
    }


def table(rows):
    """Mean accuracy per rule and stopping rule, set by set, and over the sets."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    for stop in dict.fromkeys(row["stop"] for row in rows):
        some = [row for row in rows if row["stop"] == stop]
        print(f"\n{stop:34s} " + " ".join(f"{name[:8]:>8s}" for name in names), " mean")
        for rule in RULES:
            each = [
                np.mean([r["accuracy"][rule] for r in some if r["data"] == name])
                if any(r["data"] == name for r in some)
                else np.nan
                for name in names
            ]
            words = " ".join(f"{value:8.1f}" for value in each)
            print(f"{rule:34s} {words} {np.nanmean(each):6.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=(*CHOSEN_ON, "clips"))
    parser.add_argument("--per-class", type=int, default=5)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--stops", nargs="*", default=["one sweep"])
    parser.add_argument("--rows", type=Path, default=Path("averages.jsonl"))
    args = parser.parse_args()
    lines = args.rows.read_text().splitlines() if args.rows.exists() else []
    rows = [json.loads(line) for line in lines]
    done = {(r["data"], r["train"], r["split"], r["stop"]) for r in rows}
    with threadpool_limits(1):
        for seed in range(args.splits):
            for name in args.names:
                for stop in args.stops:
                    if (name, args.per_class, seed, stop) in done:
                        continue
                    rows.append(study(name, args.per_class, seed, stop, args.folds))
                    with args.rows.open("a") as file:
                        file.write(json.dumps(rows[-1]) + "\n")
    some = [r for r in rows if r["train"] == args.per_class and r["data"] in args.names]
    table(some)
    print(f"\n{sum(r['seconds'] for r in some) / 60:.0f} minutes of processor time")
