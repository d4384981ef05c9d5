"""What parameters of TensorCRP and TensorCRPCV mean for given samples, checked.

In: values of parameters, the number of classes, the shape ``(l_1, ..., l_N)`` of a
sample. Out: a number of projections, a metric, what the solver is asked for, or one
error that names the value.
"""

from math import prod

from tensorcrp.base.parameters import (
    check_choice,
    check_flag,
    check_function,
    check_integer,
    check_metrics,
    check_real,
    check_shape,
    check_strengths,
    random_source,
    with_argument,
)
from tensorcrp.base.shrinkage import oas_reg
from tensorcrp.base.targets import check_class_weight
from tensorcrp.solver.full_rank import is_full
from tensorcrp.solver.given import NAMED, given_starts
from tensorcrp.solver.metric import Euclidean, GivenMetric, Smoothness
from tensorcrp.solver.objective import DiscriminantRatio
from tensorcrp.solver.spec import Spec

# With few classes, 3 (c - 1) projections of low rank are too few: four classes of clips
# differ in more than nine ways.
LEAST_COMPONENTS = 27


def count_components(given, n_classes, shape, rank=1):
    """The number of projections h for a number of classes and a sample shape.

    The least number is for low ranks: of vectors, and at full rank, later projections
    have little but rounding left to separate.
    """
    n_features, others = prod(shape), n_classes - 1
    if given is None:
        least = 1 if is_full(rank, shape) else LEAST_COMPONENTS
        return min(max(3 * others, least), n_features)
    if given == "paper":
        return max(1, min(others**2, n_features))
    if given > n_features:
        raise ValueError(
            f"n_components={given} is more than the {n_features} entries of a sample "
            f"of shape {tuple(shape)}; ask for at most {n_features}."
        )
    return given


def metric_of(smooth, metrics, shape):
    """The metric that `smooth` or `metrics` mean for a sample shape, or an error."""
    if metrics is None:
        strengths = check_strengths("smooth", smooth, shape)
        return Smoothness(strengths) if any(strengths) else Euclidean()
    if smooth is not None:
        raise ValueError(
            f"smooth={smooth!r} and metrics exclude each other; leave one of them out."
        )
    return GivenMetric(check_metrics("metrics", metrics, shape))


def check_start(init, shape, rank, n_components):
    """Reject arrays or CP tensors that cannot be starts of samples of this shape."""
    if isinstance(init, str) or callable(init):
        return
    if rank == "full":
        raise ValueError('init as arrays has no effect with rank="full"; leave it out.')
    given_starts(init, shape, rank, n_components)


def check_earlier_shape(earlier, shape):
    """Reject a warm start from a fit to samples of another shape."""
    if earlier is not None and [f.shape[1] for f in earlier] != list(shape):
        old = tuple(factor.shape[1] for factor in earlier)
        raise ValueError(
            "warm_start=True starts from the last fit, whose samples had shape "
            f"{old}, but these have shape {tuple(shape)}. Set warm_start=False, or fit "
            "a new estimator."
        )


def printed_components(n_components, callback):
    """A callback that prints a line per projection, and then asks another one."""
    told = callback and with_argument(callback, "factors")

    def line(p, objective, n_iter, factors):
        print(
            f"[TensorCRP] projection {p + 1}/{n_components}: "
            f"J = {objective[0]:.4g} after {n_iter[0]} sweeps",
            flush=True,
        )
        return told and told(p, objective, n_iter, factors)

    return line


def check_search_parameters(estimator):
    """Reject bad values of the parameters that TensorCRP and TensorCRPCV share."""
    check_real("tol", estimator.tol)
    check_choice("reg_scale", estimator.reg_scale, ("relative", "absolute"))
    check_choice("between", estimator.between, ("classes", "samples"))
    check_class_weight(estimator.class_weight)
    check_integer("n_init", estimator.n_init)
    check_integer("max_iter", estimator.max_iter)
    random_source("random_state", estimator.random_state)
    if estimator.max_memory is not None:
        check_real("max_memory", estimator.max_memory)
    if isinstance(estimator.init, str):
        check_choice("init", estimator.init, NAMED)
    if estimator.sample_shape is not None:
        check_shape("sample_shape", estimator.sample_shape)


# --- TensorCRP --------------------------------------------------------------------


def check_parameters(crp):
    """Reject bad values of the parameters of a TensorCRP."""
    if crp.n_components is not None:
        check_integer("n_components", crp.n_components, also=("paper",))
    check_integer("rank", crp.rank, also=("full",))
    if crp.reg != "auto":
        check_real("reg", crp.reg)
    check_flag("white", crp.white)
    check_flag("warm_start", crp.warm_start)
    check_function("callback", crp.callback)
    if crp.max_rows is not None:
        check_integer("max_rows", crp.max_rows, least=2)
    check_search_parameters(crp)


def check_sizes(crp, n_classes, earlier):
    """Reject what samples of ``sample_shape_`` and a number of classes do not allow."""
    shape = crp.sample_shape_
    h = count_components(crp.n_components, n_classes, shape, crp.rank)
    metric_of(crp.smooth, crp.metrics, shape)
    check_start(crp.init, shape, crp.rank, h)
    check_earlier_shape(earlier, shape)


def spec_of(crp, scatter, earlier):
    """What a TensorCRP asks the solver for, given class statistics and a warm start."""
    shape, n_classes = crp.sample_shape_, len(scatter.classes)
    h = count_components(crp.n_components, n_classes, shape, crp.rank)
    metric, auto = metric_of(crp.smooth, crp.metrics, shape), crp.reg == "auto"
    return Spec(
        h,
        ranks=(crp.rank,),
        regs=(oas_reg(scatter, metric) if auto else crp.reg,),
        reg_scale="relative" if auto else crp.reg_scale,
        metrics=(metric,),
        objective=DiscriminantRatio(crp.between),
        init=crp.init,
        n_init=crp.n_init,
        max_iter=crp.max_iter,
        tol=crp.tol,
        random_state=crp.random_state,
        callback=printed_components(h, crp.callback) if crp.verbose else crp.callback,
        warm=earlier,
    )
