"""
Multichannel signals at order 2 and order 3
===========================================

An EEG-like recording is a matrix, channel x time. If every trial has the same phase, a
projection of matrices finds where and when the classes differ. If the phase is random,
class means vanish and no linear feature of the signal can help; its spectrogram, a
tensor channel x frequency x time, still separates the classes.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from tensorcrp import TensorCRP
from tensorcrp.datasets import fetch_dataset, make_multichannel
from tensorcrp.plotting import ProjectionDisplay
from tensorcrp.signals import spectrogram_tensor

model = make_pipeline(TensorCRP(rank=1, max_iter=20), KNeighborsClassifier(5))


def accuracy(X, y):
    return f"{100 * cross_val_score(model, X, y, cv=5).mean():5.1f} %"


# %%
# Three classes, each a 10 Hz burst at another location, 14 dB below the noise.

how = {"n_samples": 180, "n_channels": 32, "random_state": 0}
locked = make_multichannel(**how, phase="locked", snr_db=-14)
free = make_multichannel(**how, phase="random", snr_db=-14)
spectra = spectrogram_tensor(free.data, free.fs, window_length=32, fmin=4, fmax=40)
print("accuracy of 5-NN on the features, 3 classes, cross-validated")
print("  locked phase, order 2:          ", accuracy(locked.data, locked.target))
print("  random phase, order 2:          ", accuracy(free.data, free.target))
print("  random phase, order 3 (spectra):", accuracy(spectra.data, free.target))

# %%
# Order 2: the factor of channels is a map of the head, the factor of time a wave.


def head_map(ax, positions, values, title):
    """Values at the sensors, seen from above, diverging about zero."""
    limit = np.abs(values).max()
    levels = np.linspace(-limit, limit, 21)
    ax.tricontourf(*positions.T, values, levels=levels, cmap="RdBu_r")
    ax.scatter(*positions.T, s=4, color="black")
    ax.add_patch(plt.Circle((0, 0), 1.05, fill=False))
    ax.plot([-0.12, 0, 0.12], [1.05, 1.2, 1.05], color="black", lw=1)  # the nose
    ax.set(title=title, aspect="equal")
    ax.axis("off")


crp = TensorCRP(2, rank=1).fit(locked.data, locked.target)
fig, axes = plt.subplots(
    2, 4, figsize=(9, 4.4), layout="constrained", width_ratios=[1, 1, 1, 1.8]
)
for c in range(3):
    head_map(axes[0, c], locked.positions, locked.patterns[c], f"planted {c + 1}")
axes[0, 3].axis("off")
for p in range(2):
    head_map(
        axes[1, p], locked.positions, crp.factors_[0][p, :, 0], f"found, W {p + 1}"
    )
axes[1, 2].axis("off")
curves = ProjectionDisplay(crp.factors_[1][:, :, 0], mode_names=["sample of time"])
curves.plot(ax=axes[1, 3])

# %%
# Both factors at once, as a map of channel x time.

how = {"mode_names": ["channel", "time (s)"], "mode_values": [None, locked.times]}
display = ProjectionDisplay.from_estimator(crp, kind="map", **how)

# %%
# Order 3: the factors now show where, at which frequency, and when.

crp = TensorCRP(1, rank=1).fit(spectra.data, free.target)
fig, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained")
head_map(axes[0], free.positions, crp.factors_[0][0, :, 0], "where")
how = {"mode_names": ["channel", "frequency (Hz)", "time (s)"]}
how["mode_values"] = [None, spectra.frequencies, spectra.times]
display = ProjectionDisplay.from_estimator(crp, kind="factors", ax=axes[1:], **how)
axes[2].axvline(10, color="gray", ls=":")  # planted

# %%
# With ``TENSORCRP_DATA``: a smart watch and a hard EEG, by their published splits.

if os.environ.get("TENSORCRP_DATA"):
    for name in ("basic_motions", "eeg_finger"):
        real = fetch_dataset(name)
        model.fit(real.data[real.train], real.target[real.train])
        score = model.score(real.data[~real.train], real.target[~real.train])
        print(f"{name}: {100 * score:.1f} % of {len(real.target_names)} classes")
plt.show()
