"""Baselines of compound rank-k projections, for samples of any order.

Every method is a scikit-learn estimator that takes samples ``(n, l_1, ..., l_N)``, or
flattened ones with ``sample_shape=``, and treats bad input as `tensorcrp.TensorCRP`
does. With c classes, P entries in a sample and core sizes ``r_m <= l_m``:

$methods

`TwoDLDA` is `MultilinearLDA` by its order-2 name.
*Monotone* says whether the recorded objective gets better with every step; *exact* and
*one pass* have no steps. *Streams* says whether ``partial_fit`` on batches gives what
one ``fit`` on all samples gives, because class statistics (`tensorcrp.ClassScatter`)
are all that the method needs.

A method with one factor per mode is a pair of forms, a rule and a schedule:

$parts

The same parts make new methods: see `TuckerDiscriminant`.
"""

from string import Template

from tensorcrp.baselines.bilinear_svc import BilinearSVC
from tensorcrp.baselines.catalogue import (
    ASCENT,
    CENTRED,
    DISCRIMINANT,
    HISTORIES,
    ITERATES,
    LABELLED,
    PROJECTIONS,
    RATIOS,
    RIDGE,
    Baseline,
    rst_tables,
)
from tensorcrp.baselines.catch import CATCH, covariate_effect
from tensorcrp.baselines.cp_logistic import CPLogistic
from tensorcrp.baselines.cptda import CPTDA
from tensorcrp.baselines.forms import Form, Ridge, Sum
from tensorcrp.baselines.lda import MultilinearLDA, ParallelLDA, SelectiveLDA, TwoDLDA
from tensorcrp.baselines.lpp import TensorLPP
from tensorcrp.baselines.manpda import ManPDA
from tensorcrp.baselines.mode_rules import (
    difference,
    fisher,
    leading,
    singular,
    trace_ratio,
)
from tensorcrp.baselines.modes import (
    ModesResult,
    alternate,
    eye_factors,
    one_pass,
    ones_factors,
    parallel,
    varying_factors,
)
from tensorcrp.baselines.orthonormal import CMDA, DGTDA, HODA
from tensorcrp.baselines.pca import MPCA, TwoDPCA
from tensorcrp.baselines.ridge_lda import RidgeLDA
from tensorcrp.baselines.stda import STDA
from tensorcrp.baselines.toeplitz_lda import ToeplitzLDA
from tensorcrp.baselines.tucker import TuckerDiscriminant
from tensorcrp.baselines.umlda import UMLDA

# A literal list, because type checkers read it.
__all__ = [
    "BASELINES",
    "CATCH",
    "CMDA",
    "CPTDA",
    "DGTDA",
    "HODA",
    "MPCA",
    "STDA",
    "UMLDA",
    "BilinearSVC",
    "CPLogistic",
    "Form",
    "ManPDA",
    "ModesResult",
    "MultilinearLDA",
    "ParallelLDA",
    "Ridge",
    "RidgeLDA",
    "SelectiveLDA",
    "Sum",
    "TensorLPP",
    "ToeplitzLDA",
    "TuckerDiscriminant",
    "TwoDLDA",
    "TwoDPCA",
    "alternate",
    "covariate_effect",
    "difference",
    "eye_factors",
    "fisher",
    "leading",
    "one_pass",
    "ones_factors",
    "parallel",
    "singular",
    "trace_ratio",
    "varying_factors",
]

_CLASSES = "class means, samples within"
_ORTHONORMAL = "orthonormal factors"
_WEIGHTS = {"coef_": "array h *", "intercept_": "array h"}
_MANPDA = {"factors_": "modes h l", "objective_": "number"}

# Every method, in the order of tables and figures.
BASELINES = (
    Baseline(
        RidgeLDA,
        PROJECTIONS | RATIOS | RIDGE | LABELLED,
        projection="full tensors",
        features="up to c - 1",
        monotone="exact",
    ),
    Baseline(
        ToeplitzLDA,
        PROJECTIONS | RATIOS | RIDGE | LABELLED,
        projection="full tensors",
        features="up to c - 1",
        monotone="exact",
    ),
    Baseline(
        MPCA,
        CENTRED | ITERATES,
        supervised="no",
        monotone="yes",
        parts=("all samples", "leading eigenvectors", "alternate"),
    ),
    Baseline(
        TwoDPCA,
        CENTRED,
        supervised="no",
        projection="factor of the last mode",
        features="l_1 ... l_{N-1} r_N",
        monotone="exact",
        parts=("all samples", "leading eigenvectors", "last mode alone"),
    ),
    Baseline(
        MultilinearLDA,
        DISCRIMINANT | ITERATES,
        parts=(_CLASSES, "W^{-1} B", "alternate"),
        aliases=("TwoDLDA",),
    ),
    Baseline(
        SelectiveLDA,
        DISCRIMINANT | {"order_": "permutation"},
        monotone="one pass",
        parts=(_CLASSES, "W^{-1} B", "best single pass"),
        known_as="S2DLDA",
    ),
    Baseline(
        ParallelLDA,
        DISCRIMINANT,
        monotone="one pass",
        parts=(_CLASSES, "W^{-1} B", "parallel"),
        known_as="P2DLDA",
    ),
    Baseline(
        TensorLPP,
        CENTRED | ITERATES,
        supervised="or not",
        streams=False,
        parts=("graph Laplacian, degrees", "smallest of W^{-1} B", "alternate"),
    ),
    Baseline(
        CMDA,
        DISCRIMINANT | ITERATES,
        projection=_ORTHONORMAL,
        parts=(_CLASSES, "singular vectors", "alternate"),
    ),
    Baseline(
        DGTDA,
        DISCRIMINANT,
        projection=_ORTHONORMAL,
        monotone="one pass",
        parts=(_CLASSES, "B - phi W", "parallel"),
    ),
    Baseline(
        HODA,
        DISCRIMINANT | ITERATES,
        projection=_ORTHONORMAL,
        monotone="yes",
        parts=(_CLASSES, "B - phi W", "alternate"),
    ),
    Baseline(
        STDA,
        PROJECTIONS | RATIOS | ITERATES | LABELLED | {"factors_": "modes l _"},
        projection="a core of one factor per mode",
        features="up to c - 1",
    ),
    Baseline(
        UMLDA,
        PROJECTIONS | ASCENT | RATIOS | HISTORIES | {"factors_": "modes h l"},
        projection="tensors of CP rank one",
        features="up to min(l_m)",
    ),
    Baseline(
        ManPDA,
        PROJECTIONS | ITERATES | RIDGE | LABELLED | _MANPDA,
        projection="tensors of CP rank one",
        features="up to min(l_m)",
        monotone="yes",
    ),
    Baseline(
        CPTDA,
        PROJECTIONS | ASCENT | RATIOS | HISTORIES,
        projection="tensors of CP rank k",
        features="up to c - 1",
        monotone="yes",
        known_as="CP-TDA",
    ),
    Baseline(
        CATCH,
        PROJECTIONS | RATIOS | ITERATES | LABELLED | {"support_": "array *"},
        projection="sparse tensors",
        features="up to c - 1",
        monotone="yes",
    ),
    Baseline(
        BilinearSVC,
        _WEIGHTS | ASCENT | HISTORIES,
        projection="tensors of CP rank k",
        features="a classifier",
        monotone="yes",
        streams=False,
    ),
    Baseline(
        CPLogistic,
        _WEIGHTS | ASCENT | ITERATES | {"objective_": "number"},
        projection="tensors of CP rank k",
        features="a classifier",
        monotone="yes",
        streams=False,
    ),
)

if __doc__:  # python -OO has none
    __doc__ = Template(__doc__).substitute(rst_tables(BASELINES))
