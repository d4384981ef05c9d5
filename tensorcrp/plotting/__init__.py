"""Plots as scikit-learn Displays: compute, hold, draw (extra ``plot``).

In: a fitted estimator, features, or rows of an experiment. Out: an object that holds
what is drawn as arrays and draws it, as often as asked, into axes of its own or given
ones: ``from_estimator(..., ax=None)`` or ``from_rows``, then ``plot(ax=None)``.

Colours are told apart by colour-blind readers and, with markers, line styles and
hatches, in gray. No global setting of matplotlib is changed and nothing is shown
unasked. A figure that a Display makes for itself belongs to pyplot:
``matplotlib.pyplot.close(display.figure_)`` gives it back.
"""

from tensorcrp.plotting._comparison import ComparisonDisplay
from tensorcrp.plotting._convergence import ConvergenceDisplay
from tensorcrp.plotting._embedding import EmbeddingDisplay
from tensorcrp.plotting._path import PathDisplay
from tensorcrp.plotting._projection import ProjectionDisplay

__all__ = [
    "ComparisonDisplay",
    "ConvergenceDisplay",
    "EmbeddingDisplay",
    "PathDisplay",
    "ProjectionDisplay",
]
