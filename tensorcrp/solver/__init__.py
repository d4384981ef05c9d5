"""Block ascent on compound rank-k projections, with deflation, in lanes.

The solver knows projections and no labels. Its nouns are `Rows` (where the numbers
live), `Metric` (the norm of the ridge), `Objective` (what is maximised) and `Deflation`
(what is subtracted once a projection is known); `fit_path` puts them together, and
`solve` does so on plain rows. Each noun can be implemented outside of the package.

Words that have one meaning here:

- *lane*: one metric, rank, ridge and start; B lanes run side by side, and the lane is
  the first axis of their arrays. Of the starts of one metric, rank and ridge the best
  is kept: what it has found so far is a *sequence* of projections (A of them).
- *block*: the factor of one mode, flattened to d numbers, and the rows contracted with
  all other factors, (n, d). A *block update* maximises J over one block.
- *white* coordinates of a block: those in which the norm of W is that of the block.
  (White *features*, in `tensorcrp.base.shrinkage`, are uncorrelated within classes.)
- *root* of a metric: ``S_m = R_m^{-1/2}``, see `metric`. (The *root* of a scatter, in
  `tensorcrp.scatter`, are rows A with ``A^T A`` equal to it.)
- *overlap*: an inner product of a projection with an earlier one, in a block.
"""

from tensorcrp.solver.array_rows import ArrayRows
from tensorcrp.solver.ascent import SmallGain
from tensorcrp.solver.deflation import Deflation, PaperDeflation
from tensorcrp.solver.metric import Euclidean, GivenMetric, Metric, Smoothness
from tensorcrp.solver.model import Model, Result
from tensorcrp.solver.objective import DiscriminantRatio, Objective
from tensorcrp.solver.path import fit_path, fit_paths
from tensorcrp.solver.rows import Rows
from tensorcrp.solver.solve_rows import solve
from tensorcrp.solver.spec import Spec

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
    "fit_paths",
    "solve",
]
