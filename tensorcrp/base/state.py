"""Atomic changes of the fitted state, for every estimator of the package.

In: an estimator that several threads may use while one of them refits it.
Out: a fit works on a twin and hands its state over by one assignment, or not at all;
a method that reads the fitted attributes works on one snapshot of them. Every answer
is that of one model, the old or the new one.
"""

from contextlib import contextmanager
from functools import wraps

from tensorcrp.base.resources import release_lost

READERS = (
    *("transform", "inverse_transform", "predict", "decision_function"),
    *("predict_proba", "get_feature_names_out", "cp_tensor"),
    *("to_xarray", "to_pandas", "_repr_mimebundle_"),
)


class OneState:
    """Mixin, first of the bases: methods that read a model read one state of it.

    The methods named in `READERS` run on a snapshot. They are wrapped when their class
    is made, after scikit-learn has wrapped them for ``set_output``, so that the names
    of the columns belong to the same model as the columns.
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name in READERS:
            if name in vars(cls):
                setattr(cls, name, _of_one_state(vars(cls)[name]))


def _of_one_state(method):
    @wraps(method)
    def on_snapshot(self, *args, **kwargs):
        return method(snapshot(self), *args, **kwargs)

    return on_snapshot


def snapshot(estimator):
    """An estimator of the same class with the present attributes: a shallow copy."""
    twin = object.__new__(type(estimator))
    twin.__dict__ = dict(vars(estimator))
    return twin


@contextmanager
def replaced_at_once(estimator):
    """Fit a twin of the estimator; the estimator takes its state over at the end.

    After an error or Ctrl-C the estimator is unchanged.

    Yields
    ------
    object
        The twin, in the state of the estimator.
    """
    twin, before = snapshot(estimator), dict(vars(estimator))
    try:
        yield twin
    except BaseException:
        release_lost()
        raise
    # One assignment: other threads see all of it or nothing. Parameters set meanwhile
    # by another thread stay.
    estimator.__dict__ = {
        **{k: v for k, v in vars(estimator).items() if not is_learnt(k)},
        **{k: v for k, v in vars(twin).items() if is_learnt(k) or k not in before},
    }


def forget(estimator):
    """Drop everything learnt, so that no state is a mixture of two fits."""
    for name in [name for name in vars(estimator) if is_learnt(name)]:
        delattr(estimator, name)


def is_learnt(name):
    """Whether an attribute comes from a fit: its name ends with an underscore.

    So do the statistics that `partial_fit` keeps.
    """
    return name.endswith("_") or name == "_scatter"
