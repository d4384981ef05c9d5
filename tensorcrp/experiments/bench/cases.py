"""The cases of ``tensorcrp bench``: each makes data, measures, and returns rows."""

import os
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from tensorcrp import TensorCRP, TensorCRPCV
from tensorcrp.experiments.bench.bench_rows import Row
from tensorcrp.experiments.bench.beside import gait, paper
from tensorcrp.experiments.bench.larger_cases import (
    BENCH_REGS,
    components,
    device,
    exponents,
)
from tensorcrp.experiments.bench.measure import (
    busy_cores,
    peak_bytes,
    seconds,
    synthetic,
    with_threads,
)
from tensorcrp.scatter import ClassScatter
from tensorcrp.solver import Spec, fit_path
from tensorcrp.solver.array_rows import ArrayRows

PATH = "path: 7 ridges in one run"


@with_threads
def limits(args):
    """What the machine can do: reading by matrix-vector products, matrix products."""
    X = np.ones((2000 if args.small else 20_000, 1250))
    v, w, A = np.ones(1250), np.ones(len(X)), np.ones((1500, 1500))
    B = A.astype(np.float32)
    times = seconds(
        {
            "X @ v": lambda: X @ v,
            "w @ X": lambda: w @ X,
            "float64 product": lambda: A @ A,
            "float32 product": lambda: B @ B,
        },
        repeats=7,
    )
    work = [X.nbytes, X.nbytes, 2 * 1500**3, 2 * 1500**3]
    units = ["GB/s", "GB/s", "Gflop/s", "Gflop/s"]
    return [
        Row("limits", name, time, note=f"{amount / time / 1e9:.1f} {unit}")
        for (name, time), amount, unit in zip(times.items(), work, units, strict=True)
    ]


@with_threads
def video(args):
    """One sweep over 2,000 clips of 8x32x32x3 float32 beside reading them twice."""
    X, y = synthetic(args, 2000, (8, 32, 32, 3), 10, np.float32)
    scatter = ClassScatter.from_samples(X, y)
    flat = scatter.root.reshape(len(scatter.root), -1)
    v, w = np.ones(flat.shape[1], np.float32), np.ones(len(flat), np.float32)
    work = {"read": lambda: (flat @ v, w @ flat)}
    for k in (2, 1):
        work[f"passes, k={k}"] = partial(_passes, scatter.root, k)
        for n in (11, 1):
            crp = TensorCRP(1, rank=k, init="identity", tol=0, max_iter=n)
            work[f"{n} sweeps, k={k}"] = partial(crp.fit_scatter, scatter)
    times = seconds(work, repeats=5)
    case = f"video: {len(X):,} of 8x32x32x3 float32"
    rows = [Row(case, "reading twice by matrix-vector products", times["read"], 1.0)]
    for k in (2, 1):
        alone = times[f"passes, k={k}"]
        sweep = (times[f"11 sweeps, k={k}"] - times[f"1 sweeps, k={k}"]) / 10
        both = (alone, alone / times["read"]), (sweep, sweep / times["read"])
        note = "11 sweeps less 1 sweep, over 10"
        rows += [
            Row(case, f"the two passes of a sweep alone, k={k}", *both[0]),
            Row(case, f"one sweep, k={k}", *both[1], note=note).at_most(1.5),
        ]
    return rows


def _passes(rows, n_columns):
    """Both passes of a sweep over rows (n, l_1, ..., l_N), for a number of columns."""
    rows, rng = ArrayRows.of(rows), np.random.default_rng(0)
    factors = [rng.standard_normal((size, n_columns)) for size in rows.row_shape]
    return [rows.side_product(factors, left) for left in (True, False)]


@with_threads
def path(args):
    """Seven ridges in one run of the solver beside one fit."""
    gait = synthetic(args, 731, (32, 22, 10), 71)
    return [
        *_path_rows("paper's largest set", *synthetic(args, 17_424, (32, 32), 10), 18),
        *_path_rows("gait-like", *gait, 40),
        *_pass_rows("gait-like", *gait),
    ]


def _pass_rows(name, X, y):
    """What passes alone cost with the columns of one lane and of seven."""
    root = ClassScatter.from_samples(X, y).root
    times = seconds({K: partial(_passes, root, K) for K in (2, 14)}, repeats=15)
    return [
        Row(PATH, f"two passes, {K} columns, {name}", time, time / times[2])
        for K, time in times.items()
    ]


def _path_rows(name, X, y, h):
    statistics = partial(ClassScatter.from_samples, X, y, least_ridge=min(BENCH_REGS))
    times = seconds(
        {
            "fit": lambda: TensorCRP(h).fit(X, y),
            "path": lambda: fit_path(statistics(), Spec(h, regs=BENCH_REGS)),
        },
        repeats=2,
    )
    ratio = times["path"] / times["fit"]
    return [
        Row(PATH, f"one fit, {name}, h={h}", times["fit"], 1.0),
        Row(PATH, f"7 ridges, {name}, h={h}", times["path"], ratio).at_most(2),
    ]


@with_threads
def cv(args):
    """TensorCRPCV, 5 folds x 7 ridges x ranks (1, 2, full), beside GridSearchCV."""
    X, y = synthetic(args, 731, (32, 22, 10), 71)
    h, folds = 40, 3 if args.small else 5  # few samples have three of every class
    grid = GridSearchCV(
        make_pipeline(TensorCRP(h), KNeighborsClassifier(1)),
        {"tensorcrp__rank": [1, 2, "full"], "tensorcrp__reg": list(BENCH_REGS)},
        cv=folds,
    )
    # What GridSearchCV does: every point on every fold, then the best alone.
    plain = {"smooth": (0.0,), "average": 1, "distance": "euclidean", "white": False}
    plain |= {"race": False, "max_iter": 20, "tol": 0.1}
    ours = partial(TensorCRPCV, n_components=h, regs=BENCH_REGS, cv=folds, **plain)
    turns = {"one fit": TensorCRP(h), "TensorCRPCV": ours()}
    once = {"TensorCRPCV(n_jobs=-1)": ours(n_jobs=-1), "GridSearchCV": grid}
    times = {}
    for models, repeats in ((turns, 3), (once, 1)):
        fits = {name: partial(model.fit, X, y) for name, model in models.items()}
        times |= seconds(fits, repeats)
    case = f"cv: {len(X)} of 32x22x10, h={h}, {folds} folds x 7 ridges x 3 ranks"
    one, search, spread, plain = (
        Row(case, name, time, time / times["one fit"]) for name, time in times.items()
    )
    spread = replace(spread, note=f"folds on {os.cpu_count()} cores; one fit has one")
    return [one, search.at_most(20), spread.at_most(20), plain]


# Samples, shape, classes; what TensorCRPCV is compared with, and the largest ratio.
SEARCHES = {
    "USPS-like": (50, (16, 16), 10, "one fit", 20),
    "ORL-like": (200, (32, 32), 40, "tuned RBF SVM", 10),
    "gait-like": (355, (32, 22, 10), 71, "tuned RBF SVM", 5),
}


@with_threads
def search(args):
    """TensorCRPCV with its whole grid beside a tuned RBF SVM on vectors."""
    rows, most = [], 1 if args.small else None
    for name, (n, shape, c, unit, bar) in list(SEARCHES.items())[:most]:
        X, y = synthetic(args, n, shape, c)
        flat = X.reshape(len(X), -1)
        unit_gamma = 1 / (flat.var() * flat.shape[1])
        points = {"C": [1.0, 10.0, 100.0], "gamma": [0.3 * unit_gamma, unit_gamma]}
        folds = 2 if args.small else 5
        svm = GridSearchCV(SVC(), points, cv=folds)
        # Synthetic samples have no order: without this, smoothness would be left out.
        ours = TensorCRPCV(cv=folds, ordered=[True] * len(shape))
        models = {
            "one fit": partial(TensorCRP().fit, X, y),
            "tuned RBF SVM": partial(svm.fit, flat, y),
            "TensorCRPCV": partial(ours.fit, X, y),
        }
        times = seconds(models, repeats=1 if args.small else 2)
        case = f"search: {name}, {len(X)} of {'x'.join(map(str, shape))}, {c} classes"
        part = [Row(case, m, time, time / times[unit]) for m, time in times.items()]
        rows += [*part[:-1], part[-1].at_most(bar)]
    return rows


@with_threads
def growth(args):
    """Four times the samples, n > P: the sweeps cost the same."""
    X, y = synthetic(args, 20_000, (16, 16), 10)
    parts = {"n": len(X) // 4, "4 n": len(X)}
    statistics = {
        name: partial(ClassScatter.from_samples, X[:n], y[:n])
        for name, n in parts.items()
    }
    # A fixed number of sweeps: data of another size may need another number.
    model = TensorCRP(tol=0, max_iter=3)
    sweeps = {
        name: partial(model.fit_scatter, make()) for name, make in statistics.items()
    }
    case = f"growth: from {parts['n']:,} to {len(X):,} of 16x16"
    few, many = _growing(case, "sweeps", sweeps)
    return [few, many.at_most(1.2), *_growing(case, "statistics", statistics)]


def _growing(case, what, functions):
    times = seconds(functions, repeats=5)
    return [
        Row(case, f"{what}, {name}", time, time / times["n"])
        for name, time in times.items()
    ]


@with_threads
def memory(args):
    """Peak memory beyond X, P > n: one working copy in the working type, plus 10 %."""
    rows = []
    for dtype in (np.float32, np.float64):
        X, y = synthetic(args, 2000, (8, 32, 32, 3), 10, dtype)
        small = np.ascontiguousarray(X[:, :, :8, :8])  # as many, for BLAS's buffers
        first, fit = (partial(TensorCRP().fit, each, y) for each in (small, X))
        peak = peak_bytes(fit, first)
        name = np.dtype(dtype).name
        case = f"memory: {len(X):,} of 8x32x32x3, beyond the samples"
        if peak is None:
            rows.append(Row(case, name, note="processes cannot be forked here"))
            continue
        note = "ratio: working copies of the samples"
        row = Row(case, name, None, peak / X.nbytes, peak / 1e6, note=note)
        rows.append(row.at_most(1.1))
    return rows


def busy(args):
    """A fit while other processes keep all cores busy, BLAS threads as they come."""
    X, y = synthetic(args, 5000, (32, 32), 10)
    Z, z = synthetic(args, 731, (32, 22, 10), 71)
    clips, labels = synthetic(args, 4000, (8, 32, 32, 3), 10, np.float32)  # 393 MB
    fits = {
        "5,000 of 32x32": partial(TensorCRP().fit, X, y),
        "731 of 32x22x10, h=40": partial(TensorCRP(40).fit, Z, z),
        "4,000 of 8x32x32x3 float32, h=9": partial(TensorCRP(9).fit, clips, labels),
    }
    idle = seconds(fits)
    with busy_cores():
        loaded = seconds(fits)
    case = f"busy: {os.cpu_count()} other processes on {os.cpu_count()} cores"
    ratios = {name: loaded[name] / idle[name] for name in fits}
    notes = {name: f"idle {idle[name]:.3g} s" for name in fits}
    return [
        Row(case, name, loaded[name], ratios[name], note=notes[name]).at_most(2.5)
        for name in fits
    ]


CASES = {
    "limits": limits,
    "memory": memory,  # while the process is young: its heap becomes part of the answer
    "paper": paper,
    "gait": gait,
    "video": video,
    "path": path,
    "cv": cv,
    "search": search,
    "components": components,
    "growth": growth,
    "exponents": exponents,
    "busy": busy,
    "device": device,
}
