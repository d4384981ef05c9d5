"""Times of a cell: in, rows; out, seconds."""

import numpy as np


def seconds_of(rows):
    """Median seconds of fit (choice of settings included) and of transform."""
    fit = [row["fit_seconds"] + row.get("tune_seconds", 0.0) for row in rows]
    return float(np.median(fit)), float(
        np.median([row["transform_seconds"] for row in rows])
    )
