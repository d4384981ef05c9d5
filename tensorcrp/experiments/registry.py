"""Methods by name: what an experiment can run, and how others add to it.

In: a name and a factory of estimators. Out: a `Method`, which fits one model per
setting. `register_method` is the only way in, for the methods of this package (see
`tensorcrp.experiments.methods`) and for any other.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

from tensorcrp.experiments.errors import BadRequest, check_names


@dataclass(frozen=True)
class Method:
    """How to fit, over which settings, and how the choice is described.

    Attributes
    ----------
    fit : callable
        ``fit(X, y, settings, n_features, folds)`` -> list of fitted models, one per
        setting, with ``transform`` or ``predict``. `n_features` is what the protocol
        asks for, 0 for the method's own number; `folds` are for methods with a
        cross-validation of their own.
    parameter : str
        What the settings are values of; "" if there is one model only.
    settings : tuple
        From the weakest to the strongest regularisation.
    tuned : bool
        Whether a setting is also chosen by cross-validation on the training samples.
    details : str
        All else that a row has to say about the parameters.
    outcome : callable or None
        ``outcome(run, data, train)`` -> what a row holds, for experiments that do not
        count right answers; `fit` is None then.
    compared : bool
        Whether ``tensorcrp compare`` runs it.
    on_request : bool
        Whether ``tensorcrp compare`` runs it where it is named.
    classifiers : tuple of str
        Classifiers of its features.
    refit : callable or None
        Of a method that searches by itself: ``refit(model)`` -> a function like `fit`
        for the folds that choose the C of the SVM, without another search.
    ties : {"strongest", "middle"}
        Which of equally good settings is taken: the last, or the one in the middle.
    home : str or None
        Module of this package that registers the method; None for other methods.
    origin : str
        Class and checksum of the source of other methods, parameters of a search: rows
        of another source, or of other parameters, are not reused.
    """

    fit: Callable[..., Any] | None
    parameter: str = ""
    settings: tuple[Any, ...] = (None,)
    tuned: bool = True
    details: str = ""
    outcome: Callable[..., Any] | None = None
    compared: bool = True
    on_request: bool = False
    classifiers: tuple[str, ...] = ("1-NN", "SVM")
    refit: Callable[..., Any] | None = None
    ties: str = "strongest"
    home: str | None = None
    origin: str = ""

    def describe(self) -> dict[str, Any]:
        """Parameters as they stand in a row and in its key."""
        settings = {"parameter": self.parameter, "settings": _lists(self.settings)}
        more = {"details": self.details, "origin": self.origin}
        if self.ties != "strongest":
            more["ties"] = self.ties
        return settings | {name: text for name, text in more.items() if text}

    @property
    def choice(self) -> str:
        """How the setting comes about under honest selection, in words."""
        if len(self.settings) > 1:
            return f"{self.parameter} by CV"
        return self.details or "default"


def _lists(value):
    """Tuples as lists, which is what JSON gives back."""
    return [_lists(each) for each in value] if isinstance(value, tuple) else value


_METHODS = {}


def register_method(
    name: str,
    factory: Callable[[], Any] | Method,
    *,
    parameter: str | None = None,
    values: Sequence[Any] | None = None,
    home: str | None = None,
) -> Method:
    """Add a method to what ``tensorcrp compare`` and `compare_methods` run.

    Parameters
    ----------
    name : str
        Name of the method in rows, tables and figures. A name that was registered
        before is replaced; names of this package's methods are rejected.
    factory : callable or Method
        Called without arguments, it returns an unfitted scikit-learn estimator (a class
        is such a callable). Its ``fit(X, y)`` gets samples (n, l_1, ..., l_N), and it
        has ``transform``, whose features are classified by 1-NN and a linear SVM, or
        ``predict``. For several processes it has to be importable.
    parameter : str, default=None
        Parameter of the estimator whose value is chosen by cross-validation on the
        training samples.
    values : sequence, default=None
        Values to choose from, from the weakest to the strongest regularisation.
    home : str, default=None
        Only for this package: the module that registers the method.

    Returns
    -------
    Method
        What was registered.

    Examples
    --------
    >>> from functools import partial
    >>> from tensorcrp.baselines import MPCA
    >>> from tensorcrp.experiments import register_method
    >>> register_method("MPCA, 3 each", partial(MPCA, sizes=3)).choice
    'default'
    >>> register_method("MPCA by CV", MPCA, parameter="sizes", values=(5, 3)).choice
    'sizes by CV'
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"name must be a non-empty string, got {name!r}.")
    known = _METHODS.get(name)
    if home is None and known is not None and known.home is not None:
        raise ValueError(f"{name!r} is a method of tensorcrp; give another name.")
    if isinstance(factory, Method):
        method = factory
    else:
        method = _from_factory(name, factory, parameter, values, home)
    _METHODS[name] = replace(method, home=home)
    return _METHODS[name]


def _from_factory(name, factory, parameter, values, home):
    """A `Method` that fits one estimator per value."""
    estimator = _made_by(name, factory)
    if (parameter is None) != (values is None):
        raise ValueError(f"{name}: parameter and values go together; give both.")
    if parameter is not None and parameter not in estimator.get_params():
        check = ", ".join(sorted(estimator.get_params()))
        raise ValueError(f"{name}: no parameter {parameter!r}; there are: {check}.")
    settings = (None,) if values is None else tuple(values)
    if not settings:
        raise ValueError(f"{name}: values must not be empty.")
    fit = partial(_fit_each, factory, parameter)
    origin = "" if home else _origin(estimator)
    return Method(fit, parameter or "", settings, origin=origin)


def _made_by(name, factory):
    """An estimator of the factory, checked."""
    try:
        estimator = factory()
    except TypeError as error:
        raise ValueError(
            f"{name}: {factory!r} cannot be called without arguments ({error}); give "
            "a class whose parameters have defaults, or functools.partial."
        ) from error
    wanted = all(callable(getattr(estimator, n, None)) for n in ("fit", "set_params"))
    if not wanted or not any(hasattr(estimator, n) for n in ("transform", "predict")):
        raise ValueError(
            f"{name}: {factory!r} makes {type(estimator).__name__}, which is no "
            "scikit-learn estimator with fit, and transform or predict."
        )
    return estimator


def _fit_each(factory, parameter, X, y, settings, n_features, folds):
    """A model for each value of one parameter."""
    estimators = [factory() for _ in settings]
    if parameter is not None:
        for estimator, value in zip(estimators, settings, strict=True):
            estimator.set_params(**{parameter: value})
    return [estimator.fit(X, y) for estimator in estimators]


def _origin(estimator):
    """The class of an estimator, its parameters, and a checksum of its source."""
    cls = type(estimator)
    try:
        with open(inspect.getsourcefile(cls), "rb") as file:
            digest = sha256(file.read()).hexdigest()[:16]
    except (OSError, TypeError):  # typed at a prompt
        digest = "unknown source"
    parameters = sorted(estimator.get_params(deep=False).items())
    return f"{cls.__module__}.{cls.__qualname__} {parameters!r} {digest}"


def method(name):
    """The method of that name."""
    return _METHODS[name]


def all_methods():
    """Dictionary of name -> `Method`, in the order of registration."""
    return dict(_METHODS)


def compared_methods():
    """Those that ``tensorcrp compare`` runs."""
    return {name: each for name, each in _METHODS.items() if each.compared}


def offered_methods():
    """Those that ``tensorcrp compare`` runs, and those that it runs where named."""
    found = _METHODS.items()
    return {name: each for name, each in found if each.compared or each.on_request}


def chosen_methods(names=None, default=None):
    """Names of the methods to compare.

    Parameters
    ----------
    names : sequence of str, default=None
        ``NAME`` of a registered method, or ``MODULE:CLASS``, which is imported and
        registered as ``CLASS``. Without a ``NAME``, the default methods are chosen.
    default : sequence of str, default=None
        Names; None for all that ``tensorcrp compare`` runs.
    """
    added = [register_class(name) for name in names or () if ":" in name]
    known = [name for name in names or () if ":" not in name]
    check_names("method", known, list(offered_methods()))
    default = compared_methods() if default is None else default
    return list(dict.fromkeys([*(known or default), *added]))


def register_class(spec):
    """Import ``MODULE:CLASS``, register it as ``CLASS``; returns that name."""
    module, _, name = spec.partition(":")
    if os.getcwd() not in sys.path:  # where a user's own module is, as for `python -m`
        sys.path.insert(0, os.getcwd())
    try:
        register_method(name, getattr(importlib.import_module(module), name))
    except Exception as error:  # the module is the user's: anything can happen
        reason = f"{type(error).__name__}: {error}"
        raise BadRequest(f"cannot use {spec} as a method ({reason}).") from error
    return name


def for_workers(names):
    """What other processes need in order to know these methods, picklable.

    Returns
    -------
    (modules, methods) : list of str, dict
        Modules to import, and methods to add.
    """
    modules = {each.home for each in _METHODS.values() if each.home is not None}
    others = {name: _METHODS[name] for name in names if _METHODS[name].home is None}
    for name, each in others.items():
        try:
            pickle.dumps(each)
        except Exception as error:
            raise BadRequest(
                f"the method {name} cannot be sent to other processes ({error}). "
                "Define it in a module that can be imported, or use one process "
                "(--jobs 1)."
            ) from error
    return sorted(modules), others


def in_worker(modules, methods):
    """Make the methods of another process known to this one."""
    for module in modules:
        importlib.import_module(module)
    _METHODS.update(methods)
