"""Made data: the truth is planted where the docstrings say it is."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp import TensorCRP
from tensorcrp.datasets import (
    load_digits,
    make_moving_shapes,
    make_multichannel,
    make_tensor_classification,
)

FIELDS = {"data", "target", "target_names", "mode_names", "DESCR"}
MAKERS = {
    "digits": load_digits,
    "planted": lambda **kw: make_tensor_classification(random_state=0, **kw),
    "shapes": lambda **kw: make_moving_shapes(2, random_state=0, **kw),
    "multichannel": lambda **kw: make_multichannel(random_state=0, **kw),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_bunch_or_pair(make):
    bunch = make()
    assert set(bunch) >= FIELDS
    assert len(bunch.mode_names) == bunch.data.ndim - 1
    assert len(bunch.target_names) == len(np.unique(bunch.target))
    assert isinstance(bunch.DESCR, str) and bunch.DESCR
    X, y = make(return_X_y=True)  # and the same seed gives the same data
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)


def test_digits_are_scikit_learns():
    from sklearn.datasets import load_digits as original

    np.testing.assert_array_equal(load_digits().data, original().images)


@pytest.mark.parametrize("shape, rank", [((12,), 1), ((9, 8), 2), ((6, 5, 7), 2)])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_planted_factors_are_the_components(shape, rank, n_classes):
    made = make_tensor_classification(shape, n_classes, rank, random_state=1)
    letters = "abc"[: len(shape)]
    formula = ",".join(f"p{m}k" for m in letters) + f"->p{letters}"
    dense = np.einsum(formula, *made.factors)
    np.testing.assert_allclose(dense, made.components, atol=1e-12)
    norms = np.linalg.norm(made.components.reshape(n_classes - 1, -1), axis=1)
    np.testing.assert_allclose(norms, 1)
    unfolded = made.components.reshape(n_classes - 1, shape[0], -1)
    assert np.linalg.matrix_rank(unfolded).max() <= rank


def test_class_means_are_as_far_apart_as_asked():
    made = make_tensor_classification((20, 20), 4, 2, separation=7.0, random_state=0)
    flat = made.means.reshape(4, -1)
    gaps = np.linalg.norm(flat[:, None] - flat, axis=2)
    np.testing.assert_allclose(gaps[~np.eye(4, dtype=bool)], 7.0)


def test_planted_subspace_is_found_again():
    made = make_tensor_classification(
        (8, 6, 5), 3, 1, n_samples=600, separation=6.0, random_state=0
    )
    crp = TensorCRP(2, rank=2).fit(made.data, made.target)
    found = np.linalg.qr(crp.components_.reshape(2, -1).T)[0]
    planted = np.linalg.qr(made.components.reshape(2, -1).T)[0]
    cosines = np.linalg.svd(found.T @ planted, compute_uv=False)
    assert cosines.min() > 0.95


@pytest.mark.parametrize("snr_db", [-20.0, 0.0, 15.0])
@pytest.mark.parametrize("phase", ["locked", "random"])
def test_signal_to_noise_ratio_is_as_asked(snr_db, phase):
    noisy = make_multichannel(phase=phase, snr_db=snr_db, random_state=3)
    clean = make_multichannel(phase=phase, snr_db=np.inf, random_state=3)
    noise = noisy.data - clean.data
    ratio = 10 * np.log10(np.mean(clean.data**2) / np.mean(noise**2))
    assert ratio == pytest.approx(snr_db, abs=1e-6)


def test_clean_recordings_are_pattern_times_burst():
    made = make_multichannel(snr_db=np.inf, frequency=(8.0, 12.0, 20.0), random_state=0)
    np.testing.assert_allclose(np.linalg.norm(made.patterns, axis=1), 1)
    for x, label in zip(made.data, made.target, strict=True):
        u, s, vt = np.linalg.svd(x, full_matrices=False)
        assert s[1] < 1e-12 * s[0]
        assert abs(u[:, 0] @ made.patterns[label]) == pytest.approx(1)
        peak = np.fft.rfftfreq(128, 1 / made.fs)[np.abs(np.fft.rfft(vt[0])).argmax()]
        assert peak == made.frequencies[label]


def test_random_phase_leaves_no_class_mean():
    locked, random = (
        make_multichannel(600, phase=phase, snr_db=np.inf, random_state=0)
        for phase in ("locked", "random")
    )
    strength = [
        np.linalg.norm(made.data[made.target == 0].mean(axis=0))
        for made in (locked, random)
    ]
    assert strength[1] < 0.2 * strength[0]


@pytest.mark.parametrize("n_classes", [2, 6])
def test_all_motions_visit_the_same_places(n_classes):
    """Without scene and noise: over all frames, the light is anywhere as often."""
    made = make_moving_shapes(
        150, n_classes, frames=8, clutter=0, noise=0, random_state=0
    )
    light = made.data.mean(axis=2) - made.data.min()  # (n, frames, columns)
    by_class = np.stack(
        [light[made.target == c].mean(axis=0) for c in range(n_classes)]
    )
    by_class /= by_class.mean(axis=(1, 2), keepdims=True)
    anywhere = by_class.mean(axis=1)
    assert np.abs(anywhere - anywhere[0]).max() < 0.1 * anywhere.max()
    for c in range(1, n_classes):  # and yet they move differently
        assert np.abs(by_class[c] - by_class[0]).max() > anywhere.max()


def test_a_frame_out_of_a_clip_says_nothing_about_its_class():
    train, test = (
        make_moving_shapes(100, frames=4, noise=0, clutter=0, random_state=s)
        for s in (0, 1)
    )
    flat = [made.data.reshape(-1, 32 * 32) for made in (train, test)]
    labels = [np.repeat(made.target, 4) for made in (train, test)]
    # Nearest neighbour even sees the light without any scene around it.
    score = KNeighborsClassifier(1).fit(flat[0], labels[0]).score(flat[1], labels[1])
    assert abs(score - 0.25) < 0.05


def test_the_scene_stands_still_and_is_new_in_every_clip():
    made = make_moving_shapes(4, noise=0, random_state=0)
    corner = made.data[:, :, :4]  # above the way of the light
    np.testing.assert_array_equal(corner, np.broadcast_to(corner[:, :1], corner.shape))
    scenes = corner[:, 0].reshape(16, -1)
    assert np.abs(np.corrcoef(scenes) - np.eye(16)).max() < 0.9


def test_colour_and_odd_sizes():
    made = make_moving_shapes(
        2, 2, color="rgb", size=(21, 33), frames=5, random_state=0
    )
    assert made.data.shape == (4, 5, 21, 33, 3)
    assert made.mode_names == ("time", "row", "column", "color")
    assert made.data.dtype == np.float32
    assert 0 <= made.data.min() and made.data.max() <= 1
    assert made.data.std(axis=-1).mean() > 0.01


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: make_tensor_classification(n_classes=1), "n_classes.*at least 2"),
        (lambda: make_tensor_classification((3, 0)), r"shape\[1\].*at least 1, got 0"),
        (lambda: make_tensor_classification(n_samples=2), "n_samples.*at least 3"),
        (lambda: make_moving_shapes(n_classes=7), "n_classes must be 2 to 6, got 7"),
        (lambda: make_moving_shapes(color="cmyk"), "color.*'gray', 'rgb', got 'cmyk'"),
        (lambda: make_moving_shapes(size=(4, 4)), r"size\[0\] .* at least 8, got 4"),
        (lambda: make_moving_shapes(size=16), r"size must be \(height, width\).* 16"),
        (lambda: make_moving_shapes(size="16"), r"size\[0\] must be an integer"),
        (lambda: make_multichannel(phase="odd"), "phase.*'locked', 'random'"),
        (lambda: make_multichannel(frequency=64.0), "between 0 and fs / 2 = 64.0"),
    ],
)
def test_errors_name_the_value(call, words):
    with pytest.raises(ValueError, match=words):
        call()
