"""What `set_fit_request` and its relatives set, in a model file.

In: an estimator that asks for metadata, such as ``sample_weight`` or ``groups``. Out: a
dict ``{method: {argument: True, False, None or another name}}``, and from it the same
requests. A file may ask for arguments that methods of the class have, and no others.
"""

from sklearn.utils.metadata_routing import MetadataRequest

from tensorcrp.persistence._json import ModelFormatError

NAME = "_metadata_request"


def state_of(estimator, params):
    """Attributes of an estimator that are neither parameters nor requests."""
    others = {*params, NAME}
    return {k: v for k, v in vars(estimator).items() if k not in others}


def with_requests(parts, estimator):
    """Parts of an estimator with its requests among the state, if it has any."""
    requests = vars(estimator).get(NAME)
    if not isinstance(requests, MetadataRequest):
        return parts
    asked = {m: dict(each) for m, each in requests._serialize().items()}
    return {**parts, "state": {**parts["state"], NAME: asked}}


def with_requests_from(parts, rebuild):
    """The estimator that `rebuild` makes of the parts, with their requests."""
    state = parts.get("state") if type(parts) is dict else None
    if type(state) is not dict or NAME not in state:
        return rebuild(parts)
    rest = {name: value for name, value in state.items() if name != NAME}
    estimator = rebuild({**parts, "state": rest})
    setattr(estimator, NAME, _requests_of(estimator, state[NAME]))
    return estimator


def _requests_of(estimator, asked):
    """Requests of an estimator, if all of them are for arguments that it has."""
    requests = estimator._get_metadata_request()
    known = requests._serialize()
    if type(asked) is not dict or not set(asked) <= set(known):
        raise ModelFormatError(f"requests that a {type(estimator).__name__} has not.")
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
