"""
Using the factors with tensorly
===============================

Every projection is a CP tensor, and tensorly has the tools for those: ``cp_tensor(p)``
hands one over as a ``CPTensor``. We rebuild it, take a feature without ever forming
the dense tensor, and compare the projections with the truth that was planted.
"""

import matplotlib.pyplot as plt
import numpy as np
import tensorly as tl
from tensorly.cp_tensor import cp_norm, cp_to_tensor
from tensorly.tenalg import multi_mode_dot

from tensorcrp import TensorCRP
from tensorcrp.datasets import make_tensor_classification
from tensorcrp.plotting import ProjectionDisplay

# %%
# Three classes of 12 x 10 x 8 tensors that differ along two planted tensors of rank
# two; the planted factors come with the data.

made = make_tensor_classification(
    (12, 10, 8), n_classes=3, rank=2, n_samples=300, separation=6.0, random_state=0
)
crp = TensorCRP(2, rank=2, max_iter=50).fit(made.data, made.target)

# %%
# One projection as a ``CPTensor``: weights and one factor per mode, of norm one.

W = crp.cp_tensor(0)
print("factors:", [factor.shape for factor in W.factors], "norm:", round(cp_norm(W), 6))
print("same as components_:", np.allclose(cp_to_tensor(W), crp.components_[0]))

# %%
# The feature of a sample is its inner product with the projection. In factors: contract
# every mode with a column, add up over the columns; nothing larger than a sample.

sample = made.data[0]
columns = range(crp.rank)
feature = sum(multi_mode_dot(sample, [f[:, r] for f in W.factors]) for r in columns)
print("by factors:", round(float(feature), 6))
print("by transform:", round(float(crp.transform(sample[None])[0, 0]), 6))

# %%
# How much of the planted subspace was found? Cosines of the angles between the two
# spans: ones would be all of it. Averaging over 300 noisy samples cannot give more
# than nearly all.

found = np.linalg.qr(tl.unfold(crp.components_, 0).T)[0]
planted = np.linalg.qr(tl.unfold(made.components, 0).T)[0]
cosines = np.linalg.svd(found.T @ planted, compute_uv=False)
print("cosines of principal angles:", np.round(cosines, 3))

# %%
# Planted and found, slice by slice along the last mode. The found one is turned within
# the span so that it is nearest to the first planted tensor.

flat = crp.components_.reshape(2, -1)
turn = np.linalg.lstsq(flat.T, made.components[0].ravel(), rcond=None)[0]
nearest = (turn @ flat).reshape(made.components[0].shape)
display = ProjectionDisplay(
    [made.components[0], nearest],
    labels=["planted", "found"],
    mode_names=["row", "column", "slice"],
).plot(frame_mode=2)
plt.show()
