"""
From MNE epochs to a stream of windows
======================================

Simulated event-related potentials, as an ``mne.Epochs`` with a bad channel and a
stimulus channel, become samples channel x time. Rank and ridge are chosen by folds of
whole blocks; the pipeline is tested on others, drawn, saved, and used window by window.
"""

import tempfile
from pathlib import Path

import mne
import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from tensorcrp import Patterns, TensorCRPCV
from tensorcrp.persistence import load, save
from tensorcrp.plotting import ProjectionDisplay
from tensorcrp.signals import ChannelScaler, epochs_to_tensor

# %%
# Six blocks of 40 epochs. After a target, a wave peaks at 0.3 s over the back of the
# head. Channels share noise, twice as strong in the front, and one is broken.

rng = np.random.default_rng(0)
montage = mne.channels.make_standard_montage("biosemi32")
info = mne.create_info([*montage.ch_names, "STI"], 100.0, ["eeg"] * 32 + ["stim"])
info.set_montage(montage)
places = np.array([channel["loc"][:3] for channel in info["chs"][:32]])
away = places - places[montage.ch_names.index("Pz")]
topography = np.exp(-np.sum(away**2, axis=1) / 0.05**2)
times = np.arange(-0.1, 0.6, 0.01)
wave = np.exp(-((times - 0.3) ** 2) / (2 * 0.05**2))
target = rng.permutation(np.arange(240) % 2)
blocks = np.repeat(np.arange(6), 40)
apart = np.linalg.norm(places[:, None] - places, axis=2)
noise = np.exp(-apart / 0.08) @ rng.standard_normal((240, 32, len(times)))
noise = np.apply_along_axis(np.convolve, 2, noise, np.ones(5) / 5, "same")
data = np.where(places[:, 1] > 0.05, 4e-6, 2e-6)[:, None] * noise
data += 1.5e-6 * target[:, None, None] * np.multiply.outer(topography, wave)
data[:, 4] += 1e-3 * rng.standard_normal((240, len(times)))
stimulus = np.broadcast_to(1.0 + target[:, None, None], (240, 1, len(times)))
events = np.column_stack([np.arange(240) * 100, np.zeros(240, int), target + 1])
how = {"tmin": -0.1, "event_id": {"standard": 1, "target": 2}, "verbose": False}
data = np.concatenate([data, stimulus], axis=1)
epochs = mne.EpochsArray(data, info, events, **how)
epochs.info["bads"] = [montage.ch_names[4]]

# %%
# The stimulus channel, which holds the answer, and the bad channel are left out.

tensor = epochs_to_tensor(epochs, tmin=0.0)
print(tensor.DESCR, tensor.mode_names, tensor.target_names)

# %%
# Nested cross-validation: outer folds test on blocks that no scaler, fit or search has
# seen. Metadata routing hands the blocks to both. The search averages models, and
# LDA of their many features needs shrinkage.

grid = {"ranks": (1, 2), "regs": (0.001, 0.01, 0.1, 1.0, 10.0)}
lda = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
search = TensorCRPCV(lda, **grid, cv=GroupKFold(3))
pipeline = make_pipeline(ChannelScaler(), search)
with sklearn.config_context(enable_metadata_routing=True):
    nested = clone(pipeline)
    nested[-1].set_fit_request(groups=True)
    how = {"cv": GroupKFold(3), "params": {"groups": blocks}}
    scores = cross_val_score(nested, tensor.data, tensor.target, **how)
print(f"accuracy on unseen blocks: {scores.mean():.2f}, chance 0.50")

# %%
# Patterns show where and when targets differ: over the back of the head, at 0.3 s. What
# is faint in the front is chance, where noise is strong. Patterns are in the units of
# the samples, volts. Weights also cancel noise: cosines with the planted map tell.

train = blocks < 5
X, y = tensor.data[train], tensor.target[train]
pipeline.fit(X, y, tensorcrpcv__groups=blocks[train])
how = {"mode_names": ["channel", "time (s)"], "mode_values": tensor.mode_values}
how |= {"kind": "patterns", "X": X, "positions": tensor.info}
display = ProjectionDisplay.from_estimator(pipeline, **how)
found = Patterns.from_estimator(pipeline, X)
planted = np.delete(topography, 4)
for name, maps in {"pattern": found.patterns_, "weights": found.filters_}.items():
    near = maps[0] @ planted / np.linalg.norm(maps[0]) / np.linalg.norm(planted)
    print(f"{name}: {abs(near):.2f}")

# %%
# The saved model, in another process, decides window by window.

with tempfile.TemporaryDirectory() as folder:
    save(pipeline, Path(folder) / "targets.crp")
    online = load(Path(folder) / "targets.crp")
answers = np.concatenate([online.predict(x[None]) for x in tensor.data[~train]])
print("same as all at once:", (answers == pipeline.predict(tensor.data[~train])).all())
