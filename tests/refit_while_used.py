"""Transform and predict in eight threads during refits of one model.

Run ``python tests/refit_while_used.py``.

Every estimator is refitted again and again, to two sets of samples in turn and, between
them, to samples with NaN, which it rejects. Meanwhile threads ask it for the features
or the classes of the same samples. No call may raise, and every answer has to be that
of the first or of the second model, to the last bit. Prints a line per estimator.
"""

import argparse
import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

from tensorcrp import TensorCRP, TensorCRPCV, baselines

THREADS, REFITS = 8, 1000
ESTIMATORS = [
    TensorCRP(2),
    TensorCRPCV(ranks=(2,), regs=(0.3, 1.0), n_components=2, cv=2),
    *(each.cls() for each in baselines.BASELINES),
]


def samples(seed, shape=(4, 3), n=24):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.standard_normal((n, *shape)) + y[:, None, None], y


def methods(model):
    names = ["predict"] if is_classifier(model) else []
    return names + [name for name in ("transform",) if hasattr(model, name)]


def use(model, X, known, stop):
    """Number of calls until the event, one at least; every answer must be known."""
    calls, done = 0, False
    while not done:
        for name, answers in known.items():
            got = getattr(model, name)(X)
            assert any(np.array_equal(got, each) for each in answers), name
            calls += 1
        done = stop.wait(0.001)  # the fits have to get on too
    return calls


def run(model, refits=REFITS, threads=THREADS):
    """Number of calls of all threads during so many refits, a third of them bad."""
    data = [samples(0), samples(1), (np.full((24, 4, 3), np.nan), samples(0)[1])]
    X, model = samples(2)[0], clone(model)
    fitted = [clone(model).fit(*each) for each in data[:2]]
    known = {name: [getattr(m, name)(X) for m in fitted] for name in methods(model)}
    model.fit(*data[0])
    stop = Event()
    with ThreadPoolExecutor(threads) as pool:
        jobs = [pool.submit(use, model, X, known, stop) for _ in range(threads)]
        try:
            for i in range(refits):
                refit(model, *data[i % 3])
        finally:
            stop.set()
    return sum(job.result() for job in jobs)


def refit(model, X, y):
    try:
        model.fit(X, y)
    except ValueError:
        assert np.isnan(X).all()
    else:
        assert not np.isnan(X).any()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="ESTIMATOR", help="default: all")
    parser.add_argument("--refits", type=int, default=REFITS, help="of each of them")
    args = parser.parse_args()
    chosen = [m for m in ESTIMATORS if not args.names or type(m).__name__ in args.names]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for model in chosen:
            calls, name = run(model, args.refits), type(model).__name__
            done = f"{args.refits} refits, {calls} calls, none wrong"
            print(f"{name:16} {done}", flush=True)


if __name__ == "__main__":
    main()
