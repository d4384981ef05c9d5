"""A fit at a glance, for notebooks.

In: a fitted estimator, lines on it and scikit-learn's own representation of it, by MIME
type. Out: the same with these lines added, as text and as HTML; for a `TensorCRP` with
one small curve of J (SVG) per component. No drawing library is needed.
"""

from html import escape

import numpy as np

from tensorcrp.base.pixels import png_address, strip

FILMS = 3  # samples with a film strip
CURVES = 6  # components with a curve
CURVE_WIDTH, CURVE_HEIGHT = 90, 22


def with_summary(lines, bundle, history=()):
    """Scikit-learn's texts by MIME type, each with the lines {name: words} below."""
    added = dict(bundle)
    added["text/plain"] = "\n".join(
        [bundle["text/plain"], *(f"  {name}: {value}" for name, value in lines.items())]
    )
    if "text/html" in bundle:
        added["text/html"] = bundle["text/html"] + _html(lines, history)
    return added


def fit_summary(estimator):
    """What was fitted, as {name: words}."""
    shape, h = estimator.sample_shape_, len(estimator.components_)
    sizes = " x ".join(map(str, shape))
    rank = estimator.factors_[0].shape[2]
    curves = estimator.history_
    return {
        "samples": f"{sizes} (order {len(shape)}), {len(estimator.classes_)} classes",
        "projections": f"{h} of rank {rank}, lambda = {estimator.lambda_:.3g}",
        "objective J": f"{curves[0][-1]:.3g} (first) to {curves[-1][-1]:.3g} (last)",
        "convergence": _convergence(estimator),
    }


def _convergence(estimator):
    """Sweeps that were taken, and what the last one still gained."""
    sweeps, most = estimator.n_iter_, estimator.max_iter
    words = f"at most {sweeps} of max_iter={most} sweeps"
    gains = last_gains(estimator.history_, len(estimator.sample_shape_))
    if not gains:
        return words
    return f"{words}, the last raised J by at most {100 * max(gains):.2g} %"


def last_gains(history, updates):
    """Share by which the last `updates` raised J, of components that had more."""
    pairs = [
        (curve[-1 - updates], curve[-1]) for curve in history if len(curve) > updates
    ]
    return [float(last / before - 1) for before, last in pairs if before > 0]


def search_summary(search):
    """What a search has chosen, as {name: words}."""
    best = ", ".join(f"{k}={v}" for k, v in search.best_params_.items())
    n_points, n_folds = len(search.cv_results_["params"]), search.n_splits_
    return {
        "best point": f"{best}: {search.best_score_:.3f}",
        "searched": f"{n_points} points on {n_folds} folds",
        "average": f"{len(search.members_)} points, "
        f"{len(search.projections_)} features",
        "classifier": f"{search.estimator_}, {search.distances_.distance} distance",
    }


def _html(lines, curves):
    cells = {name: escape(value) for name, value in lines.items()}
    if curves:
        some = enumerate(curves[:CURVES], start=1)
        drawn = "".join(_curve(p, curve) for p, curve in some)
        more = f"and {len(curves) - CURVES} more" if len(curves) > CURVES else ""
        cells["J over block updates"] = drawn + more
    rows = "".join(
        f"<tr><th style='text-align:left'>{name}</th>"
        f"<td style='text-align:left'>{cell}</td></tr>"
        for name, cell in cells.items()
    )
    return f"<table class='tensorcrp-fit'>{rows}</table>"


def _curve(number, curve):
    """One history of J as an inline image that takes the colour of the text."""
    values = np.asarray(curve, float)
    low, span = values.min(), np.ptp(values) or 1.0
    if len(values) == 1:
        values = np.repeat(values, 2)
    x = np.linspace(1, CURVE_WIDTH - 1, len(values))
    y = CURVE_HEIGHT - 2 - (CURVE_HEIGHT - 4) * (values - low) / span
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    words = f"projection {number}: J from {values[0]:.3g} to {values[-1]:.3g}"
    return (
        f"<svg width='{CURVE_WIDTH}' height='{CURVE_HEIGHT}' role='img' "
        f"aria-label='{words}' style='margin-right:.6em'><title>{words}</title>"
        f"<polyline points='{points}' fill='none' stroke='currentColor' "
        "stroke-width='1.5'/></svg>"
    )


# --- samples ----------------------------------------------------------------------


def samples_lines(kind, X, y, target_names, mode_names, more=()):
    """A data set in five lines or so."""
    modes = zip(mode_names, X.shape[1:], strict=True)
    sizes = " x ".join(f"{size} ({name})" for name, size in modes)
    lines = [f"{kind}: {len(X)} samples", f"  {sizes}, {X.dtype}"]
    if y is not None:
        labels, counts = np.unique(y, return_counts=True)
        names = target_names if len(target_names or ()) == len(labels) else labels
        pairs = zip(names, counts, strict=True)
        words = ", ".join(f"{name} {n}" for name, n in pairs)
        words = words if len(words) < 70 else f"{words[:66]} ..."
        lines.append(f"  {len(labels)} classes: {words}")
    return [*lines, *(f"  {each}" for each in more)]


def samples_html(lines, X, mode_names):
    """The lines, and film strips of the first samples if they are pictures."""
    text = f"<pre>{escape(chr(10).join(lines))}</pre>"
    if tuple(mode_names)[:3] != ("time", "row", "column"):
        if tuple(mode_names)[:2] != ("row", "column") or X.ndim > 3 + (
            X.shape[-1] == 3
        ):
            return text
    picked = np.unique(np.linspace(0, len(X) - 1, FILMS).astype(int))
    drawn = "".join(
        f"<img style='image-rendering:pixelated;display:block;margin:.2em 0' "
        f"alt='sample {i}' src='{png_address(strip(X[i]))}'>"
        for i in picked
    )
    return text + drawn
