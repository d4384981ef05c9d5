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

from tensorcrp import Patterns, TensorCRP
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
# Order 2. A projection is a *filter*: its weights also cancel noise that channels
# share, so a large weight need not mean a strong signal. Its *pattern* shows the
# signal, how the recording changes with the feature: a map of the head and a wave.

crp = TensorCRP(2, rank=1).fit(locked.data, locked.target)
found = Patterns.from_estimator(crp, locked.data)
basis = np.linalg.qr((locked.patterns[1:] - locked.patterns[0]).T)[0]


def share(maps):
    """Share of each map in the span of the differences of the planted maps."""
    return np.linalg.norm(maps @ basis, axis=1) / np.linalg.norm(maps, axis=1)


print("share in the planted span: filters", share(found.filters_).round(2))
print("                          patterns", share(found.patterns_).round(2))
how = {"mode_names": ["channel", "time (s)"], "mode_values": [None, locked.times]}
how["positions"] = locked.positions
how |= {"kind": "patterns", "X": locked.data, "components": [0, 1]}
display = ProjectionDisplay.from_estimator(crp, **how)

# %%
# The three planted maps. Two projections separate three classes: each pattern is a
# combination of their differences.

planted = ProjectionDisplay(
    locked.patterns,
    patterns=[locked.patterns[:, :, None]],
    labels=["planted 1", "planted 2", "planted 3"],
    positions=locked.positions,
)
fig, axes = plt.subplots(1, 3, figsize=(6, 2.2), layout="constrained")
planted.plot(kind="patterns", ax=axes)

# %%
# Order 3: the patterns show where, at which frequency, and when the first feature is
# large: more power over the right of the head, and less over the left front. The bursts
# have 10 Hz (dotted), between two frequencies of the spectrogram, and are strongest in
# the middle.

crp = TensorCRP(1, rank=1).fit(spectra.data, free.target)
how = {"mode_names": ["channel", "frequency (Hz)", "time (s)"]}
how["mode_values"] = [None, spectra.frequencies, spectra.times]
how |= {"kind": "patterns", "X": spectra.data, "positions": free.positions}
display = ProjectionDisplay.from_estimator(crp, **how)
display.axes_[0, 1].axvline(10, color="gray", ls=":")

# %%
# With ``TENSORCRP_DATA``: a smart watch and a hard EEG, by their published splits.

if os.environ.get("TENSORCRP_DATA"):
    for name in ("basic_motions", "eeg_finger"):
        real = fetch_dataset(name)
        model.fit(real.data[real.train], real.target[real.train])
        score = model.score(real.data[~real.train], real.target[~real.train])
        print(f"{name}: {100 * score:.1f} % of {len(real.target_names)} classes")
plt.show()
