"""Multichannel recordings as tensors.

In: epochs (n, channels, times), MNE's epochs in time, frequency or both, or one long
recording (channels, times). Out: samples of order 2, channel x time, or of order 3,
channel x frequency x time, and transformers that put channels on one scale and fill
those that are missing.
"""

from tensorcrp.signals._epochs import epochs_to_tensor
from tensorcrp.signals._imputer import ChannelImputer
from tensorcrp.signals._scaler import ChannelScaler
from tensorcrp.signals._spectra import spectrogram_tensor
from tensorcrp.signals._windows import Windows, window

__all__ = [
    "ChannelImputer",
    "ChannelScaler",
    "Windows",
    "epochs_to_tensor",
    "spectrogram_tensor",
    "window",
]
