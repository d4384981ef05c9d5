"""An estimator and its parts: a class, its parameters, its state, its requests.

In: an estimator. Out: what of it is state, and what `set_fit_request` and its relatives
have set, ``{method: {argument: True, False, None or another name}}``. Or in: a dict
with "class", "params" and "state", and a table of classes by name. Out: the three of
them, checked, or an instance of the class. A file may ask for metadata, such as
``sample_weight``, that methods of the class take as arguments, and for no others.
"""

import inspect
import warnings

from sklearn.utils.metadata_routing import MetadataRequest

from tensorcrp.persistence._json import ModelFormatError

REQUESTS = "_metadata_request"


def three(parts, classes):
    """Class name, parameters and state of a dict that should have them."""
    good = type(parts) is dict and set(parts) == {"class", "params", "state"}
    good = good and type(parts["class"]) is str and type(parts["params"]) is dict
    if not good or parts["class"] not in classes or type(parts["state"]) is not dict:
        raise ModelFormatError(f"an object of a class other than {', '.join(classes)}.")
    for name in [*parts["params"], *parts["state"]]:
        if type(name) is not str:
            raise ModelFormatError("a parameter or attribute without a name.")
    return parts["class"], parts["params"], parts["state"]


def call(cls, params, newer=False):
    """The class with its parameters; scikit-learn's constructors only keep them."""
    known = inspect.signature(cls).parameters
    unknown = sorted(set(params) - set(known))
    if unknown and not newer:
        raise ModelFormatError(f"{cls.__name__} has no parameters {unknown}."[:300])
    if unknown:
        warnings.warn(
            f"the file has parameters of {cls.__name__} that this version does not "
            f"know and leaves out: {str(unknown)[:200]}. Upgrade tensorcrp.",
            stacklevel=2,
        )
    return cls(**{name: params[name] for name in params if name in known})


# --- state and requests -------------------------------------------------------------


def state_of(estimator, params):
    """Attributes of an estimator that are neither parameters nor requests."""
    others = {*params, REQUESTS}
    return {k: v for k, v in vars(estimator).items() if k not in others}


def with_requests(parts, estimator):
    """Parts of an estimator with its requests among the state, if it has any."""
    requests = vars(estimator).get(REQUESTS)
    if not isinstance(requests, MetadataRequest):
        return parts
    asked = {m: dict(each) for m, each in requests._serialize().items()}
    return {**parts, "state": {**parts["state"], REQUESTS: asked}}


def with_requests_from(parts, rebuild):
    """The estimator that `rebuild` makes of the parts, with their requests."""
    state = parts.get("state") if type(parts) is dict else None
    if type(state) is not dict or REQUESTS not in state:
        return rebuild(parts)
    rest = {name: value for name, value in state.items() if name != REQUESTS}
    estimator = rebuild({**parts, "state": rest})
    setattr(estimator, REQUESTS, _requests_of(estimator, state[REQUESTS]))
    return estimator


def _requests_of(estimator, asked):
    """Requests of an estimator, if all of them are for arguments that it has."""
    requests = estimator._get_metadata_request()
    known = requests._serialize()
    if type(asked) is not dict or not set(asked) <= set(known):
        raise ModelFormatError(
            f"metadata requests that a {type(estimator).__name__} does not have."
        )
    for method, each in asked.items():
        good = type(each) is dict and set(each) <= set(known[method])
        good = good and all(map(_is_request, each.values()))
        if not good:
            raise ModelFormatError(f"requests for other arguments than {method} has.")
        for param, alias in each.items():
            getattr(requests, method).add_request(param=param, alias=alias)
    return requests


def _is_request(alias):
    named = type(alias) is str and alias.isidentifier()
    return alias is None or type(alias) is bool or named
