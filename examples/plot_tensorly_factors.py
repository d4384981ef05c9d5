"""
Using the factors with tensorly
===============================

Every projection is a CP tensor, and tensorly has the tools for those: ``cp_tensor(p)``
returns one as a ``CPTensor``. We reconstruct it, compute a feature without forming the
dense tensor, and compare the projections with the planted ones.
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
# The feature of a sample is its inner product with the projection. With the factors:
# contract every mode with a column and sum over the columns. No array is larger than a
# sample.

sample = made.data[0]
columns = range(crp.rank)
feature = sum(multi_mode_dot(sample, [f[:, r] for f in W.factors]) for r in columns)
print("by factors:", round(float(feature), 6))
print("by transform:", round(float(crp.transform(sample[None])[0, 0]), 6))

# %%
# How much of the planted subspace was found? Cosines of the angles between the two
# spans would be one if all of it was found; with 300 noisy samples they are slightly
# smaller.

found = np.linalg.qr(tl.unfold(crp.components_, 0).T)[0]
planted = np.linalg.qr(tl.unfold(made.components, 0).T)[0]
cosines = np.linalg.svd(found.T @ planted, compute_uv=False)
print("cosines of principal angles:", np.round(cosines, 3))

# %%
# The planted and the found tensor: four slices of the last mode. The found one is the
# tensor of the span that is nearest to the first planted one.

flat = crp.components_.reshape(2, -1)
turn = np.linalg.lstsq(flat.T, made.components[0].ravel(), rcond=None)[0]
nearest = (turn @ flat).reshape(made.components[0].shape)
slices = np.arange(3, 7)
display = ProjectionDisplay(
    [made.components[0][..., slices], nearest[..., slices]],
    labels=["planted", "found"],
    mode_names=["row", "column", "slice"],
    mode_values=[None, None, slices],
).plot(frame_mode=2)
plt.show()
