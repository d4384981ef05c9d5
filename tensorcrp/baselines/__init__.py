"""Rivals of compound rank-k projections, for samples of any order.

Every method is a scikit-learn estimator that takes samples ``(n, l_1, ..., l_N)``, or
flattened ones with ``sample_shape=``, and treats bad input as `tensorcrp.TensorCRP`
does. With c classes, P entries in a sample and core sizes ``r_m <= l_m``:

============== ========== ====================== =================== ======== =======
method         supervised projection             features            monotone streams
============== ========== ====================== =================== ======== =======
RidgeLDA       yes        full tensors           up to c - 1         exact    yes
MPCA           no         one factor per mode    r_1 ... r_N         yes      yes
TwoDPCA        no         factor of last mode    l_1 ... l_{N-1} r_N exact    yes
MultilinearLDA yes        one factor per mode    r_1 ... r_N         no       yes
TwoDLDA        yes        one factor per mode    r_1 ... r_N         no       yes
SelectiveLDA   yes        one factor per mode    r_1 ... r_N         one pass yes
ParallelLDA    yes        one factor per mode    r_1 ... r_N         one pass yes
TensorLPP      or not     one factor per mode    r_1 ... r_N         no       no
CMDA           yes        orthonormal factors    r_1 ... r_N         no       yes
DGTDA          yes        orthonormal factors    r_1 ... r_N         one pass yes
HODA           yes        orthonormal factors    r_1 ... r_N         yes      yes
UMLDA          yes        tensors of CP rank one up to min(l_m)      no       yes
BilinearSVC    yes        tensors of CP rank k   a classifier        yes      no
============== ========== ====================== =================== ======== =======

`TwoDLDA` is `MultilinearLDA` by its order-2 name.
*Monotone* says whether the recorded objective gets better with every step; *exact* and
*one pass* have no steps. *Streams* says whether ``partial_fit`` on batches gives what
one ``fit`` on all samples gives, because class statistics (`tensorcrp.ClassScatter`)
are all that the method needs.

A method with one factor per mode is a pair of forms, a rule and a schedule:

============== ================================= ==================== ===============
method         numerator, denominator            rule                 schedule
============== ================================= ==================== ===============
MPCA           all samples                       leading eigenvectors alternate
TwoDPCA        all samples                       leading eigenvectors last mode alone
MultilinearLDA class means, samples within       W^{-1} B             alternate
SelectiveLDA   class means, samples within       W^{-1} B             best single pass
ParallelLDA    class means, samples within       W^{-1} B             parallel
TensorLPP      graph Laplacian, degrees          smallest of W^{-1} B alternate
CMDA           class means, samples within       singular vectors     alternate
DGTDA          class means, samples within       B - phi W            parallel
HODA           class means, samples within       B - phi W            alternate
============== ================================= ==================== ===============
"""

from tensorcrp.baselines._later import CMDA, DGTDA, HODA
from tensorcrp.baselines._lda import MultilinearLDA, ParallelLDA, SelectiveLDA, TwoDLDA
from tensorcrp.baselines._lpp import TensorLPP
from tensorcrp.baselines._pca import MPCA, TwoDPCA
from tensorcrp.baselines._svc import BilinearSVC
from tensorcrp.baselines._umlda import UMLDA
from tensorcrp.baselines._vectors import RidgeLDA

__all__ = [
    "CMDA",
    "DGTDA",
    "HODA",
    "MPCA",
    "UMLDA",
    "BilinearSVC",
    "MultilinearLDA",
    "ParallelLDA",
    "RidgeLDA",
    "SelectiveLDA",
    "TensorLPP",
    "TwoDLDA",
    "TwoDPCA",
]
