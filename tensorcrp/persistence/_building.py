"""Classes of the tables, called with the parameters of a file.

In: a dict with "class", "params" and "state", and a table of classes by name. Out: the
three of them, checked, or an instance of the class.
"""

import inspect
import warnings

from tensorcrp.persistence._json import ModelFormatError


def three(parts, classes):
    """Class name, parameters and state of a dict that should have them."""
    good = type(parts) is dict and set(parts) == {"class", "params", "state"}
    good = good and type(parts["class"]) is str and type(parts["params"]) is dict
    if not good or parts["class"] not in classes or type(parts["state"]) is not dict:
        raise ModelFormatError(f"an object that is none of {', '.join(classes)}.")
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
