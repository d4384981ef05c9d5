"""What a fit warns of: constant features, unfinished iterations, lost digits.

In: class statistics or samples ``(n, l_1, ..., l_N)``, and a fitted linear map. Out: a
warning that says what is amiss and what to do.

Whether a feature varies is seen on *probes*: sums of the deviations of all samples,
each divided by its size, with random weights. A constant feature is zero on all of
them, up to rounding; others are not. Probes are few, so that features of large samples
are checked at the cost of a few samples, and they are sums, so that samples may be
anywhere.
"""

import warnings
from dataclasses import dataclass
from math import prod

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tensorcrp.solver.linalg import EPS
from tensorcrp.solver.row_sums import unit_rows
from tensorcrp.solver.rows import BLOCK_BYTES

PROBES = 4  # of deviations within classes, and as many of class means
# A feature is constant if it is less than this share of what its weights would give if
# none cancelled: its variance is rounding.
ONLY_ROUNDING = 1e-8
# Rows of a triangular root that are smaller, beside the largest, are rounding alone.
NO_ROW = 1e-12
MINORITY = 0.4  # share of constant features that is no reason for a warning
CONSTANT = (
    "{} of {} are constant on the training samples, up to rounding, and tell a "
    "classifier nothing: their weights are on entries that never vary, or cancel on "
    "entries that repeat each other. Remove entries such as the border of an image or "
    "repeated frames, ask for fewer features, or choose other parameters or another "
    "start."
)


@dataclass(frozen=True)
class Probes:
    """Sums of deviations, and how many deviations there are.

    Attributes
    ----------
    groups : list of ndarray (q, l_1, ..., l_N)
        Each of one scale.
    freedom : int
        Features of so few samples that are not constant, at most, where each is new.
    """

    groups: list
    freedom: int


def entry_deviations(scatter):
    """How far each entry varies within classes: (P,), zero where it is rounding.

    The root of the diagonal of the within-class scatter; squares may underflow. Known
    from the trace, without another pass.
    """
    squares, largest = scatter.spread
    return np.maximum(np.sqrt(squares), largest)


def class_probes(scatter):
    """Probes of a `ClassScatter`: deviations within classes, and those of means.

    Zero where an entry varies by rounding alone. Costs one pass over the rows.
    """
    varies, means = entry_deviations(scatter) > 0, scatter.means
    rounding = 16 * EPS * np.abs(means).max(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        ranges = np.ptp(means, axis=0)
        between = _differences(means, NO_ROW * ranges.max())
        weights, least = _weights(len(scatter.root)), NO_ROW * scatter.largest
        within = scatter.within.unit_sums(weights, least)
    groups = [
        np.where(varies, within, 0.0),
        np.where((ranges > rounding).ravel(), between, 0.0),
    ]
    inside = len(scatter.root) if varies.any() else 0
    groups = [each.reshape(-1, *means.shape[1:]) for each in groups]
    return Probes(groups, inside + len(means) - 1)


def sample_probes(X):
    """Probes of samples (n, l_1, ..., l_N)."""
    return Probes([_differences(X).reshape(-1, *X.shape[1:])], len(X) - 1)


def _differences(X, least=0.0):
    """Sums (q, P) of the differences of successive samples, in blocks.

    Entries that never vary are exactly zero, and an outlier is in two of them only.
    """
    weights, step = _weights(len(X)), max(1, BLOCK_BYTES // (8 * X[0].size))
    sums = np.zeros((PROBES, X[0].size))
    for start in range(0, len(X) - 1, step):
        block = np.diff(X[start : start + step + 1].astype(float), axis=0)
        part = slice(start, start + len(block))
        sums += weights[:, part] @ unit_rows(block.reshape(len(block), -1), least)
    return sums


def _weights(n):
    """The same numbers every time, so that a fit is."""
    return np.random.default_rng(0).standard_normal((PROBES, n))


def warn_if_constant(estimator, probes):
    """Warn of features that are equal for all training samples.

    Called by a method that users call. ``_linear_features`` of the estimator gives the
    features of tensors as they are, by its weights or by their magnitudes. One that
    keeps a mode as it is (``_keeps_a_mode``) has the constant entries of the samples
    among its features, and more features than samples leave nothing for the last ones:
    neither is a reason, nor is a minority, unless no feature varies.
    """
    varying = [_varying(estimator, each) for each in probes.groups]
    constant = ~np.any(varying, axis=0)
    usual = len(constant) - probes.freedom
    if getattr(estimator, "_keeps_a_mode", False):
        usual = len(constant)
    # A few are usual too: a row of pixels that is black in all images is one of them.
    usual = max(usual, MINORITY * len(constant))
    if constant.all() or constant.sum() > usual:
        number = f"{constant.sum()} of {len(constant)} features"
        words = CONSTANT.format(number, type(estimator).__name__)
        warnings.warn(words, stacklevel=3)


def _varying(estimator, probes):
    """Whether each feature varies on probes (q, l_1, ..., l_N): (h,)."""
    unit = np.abs(probes).max()  # products neither overflow nor underflow for its scale
    with np.errstate(over="ignore", invalid="ignore"):
        probes = probes / (unit if unit > 0 else 1.0)
        features = np.abs(estimator._linear_features(probes))
        most = estimator._linear_features(np.abs(probes), magnitudes=True)
    return (features > ONLY_ROUNDING * most).any(axis=0)


# --- numbers and iterations ---


def warn_of_unfinished(converged, tol, max_iter):
    """Warn of projections (h,) that were still gaining in their last sweep."""
    unfinished = int((~converged).sum())
    if unfinished and tol > 0:
        warnings.warn(
            f"{unfinished} of {len(converged)} projections still gained more than "
            f"tol={tol} in sweep max_iter={max_iter}; their features are usable. Raise "
            "max_iter or tol, or set tol=0 for a fixed number of sweeps.",
            ConvergenceWarning,
            stacklevel=4,
        )


def warn_if_unfinished(estimator, result, stacklevel=5):
    """Warn of a method that gets better with every sweep and was not done.

    The caller of `fit` is `stacklevel` calls away.
    """
    if not result.converged and estimator.tol > 0:
        warnings.warn(
            f"the objective still gained more than tol={estimator.tol} in sweep "
            f"max_iter={estimator.max_iter}; the features are usable. Raise max_iter "
            "or tol, or set tol=0 for a fixed number of sweeps.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


def warn_of_an_offset(scatter):
    """Warn if float32 features would lose the deviations behind the means."""
    deviation = np.sqrt(scatter.trace / (scatter.counts.sum() * prod(scatter.shape)))
    offset = np.abs(scatter.means).max()
    if offset > 1e4 * deviation > 0:
        warnings.warn(
            f"the means of X are up to {offset / deviation:.0e} times its deviations: "
            "features in float32 lose digits to them. Pass X.astype(float), or "
            "subtract one tensor from all samples, e.g. their mean.",
            stacklevel=5,
        )


def warn_of_a_new_start(estimator):
    if estimator.__sklearn_is_fitted__():
        warnings.warn(
            "partial_fit starts over: fit keeps no statistics of its samples. "
            "Give every batch to partial_fit to add them up.",
            stacklevel=3,
        )
