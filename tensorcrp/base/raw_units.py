"""Patterns of a pipeline, in the units of the samples that enter it.

In: the fitted steps before the projections, the model (h, P) of the last one, and
samples X (n, l_1, ..., l_N) as they enter the first. Out: ``Cov(X, s_p) / Var(s_p)``
(h, P) of these samples and the features of what the steps make of them, and CP factors
for samples in these units. Samples are read in blocks.
"""

import numpy as np

from tensorcrp.base.estimator import flat_features
from tensorcrp.base.gate import check_tensor
from tensorcrp.base.validation import reject_unusable
from tensorcrp.scatter import ClassScatter
from tensorcrp.storage.sources import source_of

PIPELINE_BLOCK = 256  # samples in memory that pass the steps of a pipeline at a time


def pipeline_covariances(earlier, model, X):
    """``Cov(X, s_p) / Var(s_p)`` (h, P) of samples X before the earlier steps.

    And how much these steps enlarge the deviation of each entry, (P,): NaN for an entry
    that is constant.
    """
    sums = None
    for raw, seen in _before_and_after(earlier, X):
        seen = check_tensor(model, seen)
        if sums is None:
            sums = _Sums(raw, seen, model.projections_)
        sums.add(raw, seen)
    return sums.covariances(), sums.gains()


def _before_and_after(earlier, X):
    """Blocks of samples as they enter a pipeline, and after its earlier steps."""
    if isinstance(X, ClassScatter):
        raise TypeError(
            "patterns of a pipeline need samples: class statistics cannot pass its "
            f"{len(earlier)} earlier steps."
        )
    reject_unusable(X)
    source = source_of(X if hasattr(X, "shape") else np.asarray(X))
    size = PIPELINE_BLOCK if source.in_memory else source.step
    for start in range(0, len(source), size):
        raw = seen = source.read(start, start + size)
        for number, step in enumerate(earlier):
            seen = np.asarray(step.transform(seen))
            _check_kept(step, raw, seen)
            if number == 0 and np.isnan(raw).any():
                raw = seen
        yield raw, seen


def _check_kept(step, raw, seen):
    """Reject a step that changes the shape of a sample."""
    if seen.shape != raw.shape:
        raise ValueError(
            f"{type(step).__name__} makes samples of shape {seen.shape[1:]} of samples "
            f"of shape {raw.shape[1:]}, so patterns have no units to go back to. Pass "
            "the later steps, e.g. pipeline[1:], and X as they get it."
        )


class _Sums:
    """Moments of samples before (x) and after (z) some steps, and of features s.

    All are shifted by the means of the first block, which keeps the digits of small
    deviations.
    """

    def __init__(self, raw, seen, projections):
        self.projections, self.n = projections, 0
        self.shifts = [_flat(each).mean(axis=0) for each in (raw, seen)]
        self.first = np.zeros((2, projections.shape[1]))
        self.second = np.zeros_like(self.first)
        self.features = np.zeros((2, len(projections)))
        self.products = np.zeros(projections.shape)

    def add(self, raw, seen):
        """Count a block (b, ...) of samples before and after."""
        x, z = (_flat(a) - b for a, b in zip((raw, seen), self.shifts, strict=True))
        s = flat_features(self.projections, z)
        self.n += len(x)
        self.first += [x.sum(axis=0), z.sum(axis=0)]
        self.second += [np.square(x).sum(axis=0), np.square(z).sum(axis=0)]
        self.features += [s.sum(axis=0), np.square(s).sum(axis=0)]
        self.products += s.T @ x

    def covariances(self):
        """``Cov(x, s_p) / Var(s_p)``: (h, P)."""
        mean, square = self.features / self.n
        variances = (square - mean**2)[:, None]
        shared = self.products / self.n - np.outer(mean, self.first[0] / self.n)
        return shared / np.where(variances > 0, variances, 1.0)

    def gains(self):
        """Deviation of each entry of z in units of that of x; NaN if one is 0: (P,)."""
        variances = self.second / self.n - (self.first / self.n) ** 2
        rounding = (1e-12 * np.abs(self.shifts)) ** 2
        deviations = np.sqrt(np.where(variances > rounding, variances, np.nan))
        return deviations[1] / deviations[0]


def _flat(X):
    return X.reshape(len(X), -1).astype(float)


def in_raw_units(filters, gains, shape):
    """CP factors (h, l_m, k) for samples before steps that multiply entries by gains.

    The logarithm of the gains (P,) is split into one term per mode: exact for steps
    that multiply the entries of a mode by numbers, as `ChannelScaler` does. Contracted
    with factors in other units, samples would show what is large in those units.
    """
    if filters is None:
        return None
    left, converted = np.log(gains).reshape(shape), []
    for mode, factor in enumerate(filters):
        term = _mode_term(left, mode)
        left = left - term
        converted.append(factor * np.exp(term.reshape(-1, 1)))
    return converted


def _mode_term(values, mode):
    """Means over all other modes, without NaN: (1, ..., l_m, ..., 1)."""
    how = {"axis": tuple(m for m in range(values.ndim) if m != mode), "keepdims": True}
    known = ~np.isnan(values)
    sums = np.where(known, values, 0.0).sum(**how)
    return sums / np.maximum(known.sum(**how), 1)
