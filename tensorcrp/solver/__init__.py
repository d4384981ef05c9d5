"""Block ascent on compound rank-k projections, with deflation, in lanes.

The solver knows projections and no labels. Its nouns are `Rows` (where the numbers
live), `Metric` (the norm of the ridge), `Objective` (what is maximised) and `Deflation`
(what is subtracted once a projection is known); `fit_path` puts them together, and
`solve` does so on plain rows. Each noun can be implemented outside of the package.
"""

from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.ascent import SmallGain
from tensorcrp.solver.deflation import Deflation, PaperDeflation
from tensorcrp.solver.metric import Euclidean, GivenMetric, Metric, Smoothness
from tensorcrp.solver.model import Model, Result
from tensorcrp.solver.objective import DiscriminantRatio, Objective
from tensorcrp.solver.path import Spec, fit_path, solve
from tensorcrp.solver.rows import Rows

__all__ = [
    "ArrayRows",
    "Deflation",
    "DiscriminantRatio",
    "Euclidean",
    "GivenMetric",
    "Metric",
    "Model",
    "Objective",
    "PaperDeflation",
    "Result",
    "Rows",
    "SmallGain",
    "Smoothness",
    "Spec",
    "fit_path",
    "solve",
]
