"""
Samples in the chunks of dask
=============================

``fit`` takes a dask array in chunks of samples, on threads, on processes or on a
cluster. Chunks stay where they are: in a pass over the data each of them sends only
small sums. We fit clips in chunks, compare the features with those of a fit in memory,
and measure what the chunks send as the number of samples grows.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.callbacks import Callback

from tensorcrp import TensorCRP
from tensorcrp.datasets import make_tensor_classification

made = make_tensor_classification(
    (6, 12, 12), n_classes=4, rank=2, n_samples=800, random_state=0
)
X, y = made.data, made.target

# %%
# Eight chunks along the samples, none along the modes. ``max_memory=0`` leaves all
# samples with the chunks; by default that happens if they do not fit into memory.

lazy = da.from_array(X, chunks=(100, -1, -1, -1))
here = TensorCRP(3, max_iter=3, tol=0)
there = TensorCRP(3, max_iter=3, tol=0, max_memory=0)
features = there.fit(lazy, y).transform(lazy)  # a dask array, not computed yet
print(features)

expected = here.fit_transform(X, y)
off = np.abs(features.compute() - expected).max() / np.abs(expected).max()
print(f"largest difference, relative to the largest feature: below 1e-6: {off < 1e-6}")

# %%
# Traffic. A block update is one pass: every chunk sends one matrix of size
# ``d = l_m k``, and these are added up in pairs. A callback of dask's local schedulers
# sees every result.


class Sums(Callback):
    """Counts the results of one kind of task, and their bytes."""

    def __init__(self):
        self.count, self.bytes = 0, 0

    def _posttask(self, key, result, dsk, state, worker_id):
        if str(key).startswith("_gram-"):
            self.count, self.bytes = self.count + 1, self.bytes + result.nbytes


sizes, per_pass = [200, 400, 800], []
for n in sizes:
    with Sums() as sums:
        there.fit(da.from_array(X[:n], chunks=(n // 8, -1, -1, -1)), y[:n])
    per_pass.append(8 * sums.bytes / sums.count)
    print(f"{n:>5} samples in 8 chunks: {per_pass[-1]:,.0f} bytes per pass")
assert len(set(per_pass)) == 1

# %%
# The traffic does not grow with the number of samples.

figure, ax = plt.subplots(layout="constrained")
ax.plot(sizes, [X[:n].nbytes for n in sizes], "o-", label="the samples")
ax.plot(sizes, per_pass, "s--", label="sent by 8 chunks in a pass")
ax.set(xlabel="samples", ylabel="bytes", yscale="log", xscale="log")
ax.set_xticks(sizes, map(str, sizes))
ax.minorticks_off()
ax.legend()
plt.show()
