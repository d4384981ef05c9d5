"""Seconds from a window to a decision, one window at a time, one thread.

``python tests/measure_online.py`` prints a table: the time of one call of ``predict``
of a pipeline (`ChannelScaler`, `TensorCRP`, scikit-learn's LDA), of TensorCRP alone,
and of the arithmetic without any check. The answers are compared with those of all
windows at once. `docs/online.rst` has the table.
"""

from time import perf_counter, process_time

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from tensorcrp import TensorCRP
from tensorcrp.datasets import make_multichannel
from tensorcrp.signals import ChannelScaler

SHAPES = [(16, 50), (32, 100), (64, 200), (128, 500)]  # channels, times
COUNT = 500


def milliseconds(call, windows):
    """Median and 99th percentile of the time of a call, after a warm-up."""
    for x in windows[:20]:
        call(x)
    seconds = []
    for x in windows:
        start = perf_counter()
        call(x)
        seconds.append(perf_counter() - start)
    return 1e3 * np.median(seconds), 1e3 * np.percentile(seconds, 99)


def measured(n_channels, n_times):
    """Times of the three calls, and whether the decisions are those of a batch."""
    X, y = make_multichannel(200, n_channels, n_times, random_state=0, return_X_y=True)
    scaler, crp = ChannelScaler(), TensorCRP(rank=2)
    model = make_pipeline(scaler, crp, LinearDiscriminantAnalysis()).fit(X, y)
    windows = [X[i % 200][None] for i in range(COUNT)]
    projections = crp.projections_
    same = np.concatenate([model.predict(x) for x in windows[:200]])
    assert (same == model.predict(X)).all()
    return [
        milliseconds(model.predict, windows),
        milliseconds(crp.transform, windows),
        milliseconds(lambda x: x.reshape(1, -1) @ projections.T, windows),
    ]


if __name__ == "__main__":
    print(f"{'window':>10} {'pipeline':>16} {'TensorCRP':>16} {'product':>16}  (ms)")
    with threadpool_limits(1):
        for shape in SHAPES:
            cells = [f"{a:.3f} ({b:.3f})" for a, b in measured(*shape)]
            print(f"{shape[0]:>4} x {shape[1]:<4}" + "".join(f"{c:>17}" for c in cells))
    print("median (99th percentile); decisions equal those of all windows at once")
    print(f"{process_time():.0f} s of processor time")
