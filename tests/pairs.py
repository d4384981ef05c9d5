"""Fewer cases: every pair of values instead of every combination; loops in one case.

Most errors need one value or two to meet. A product of four lists of three has 81
combinations, while nine cases or so hold all pairs::

    @pairs(shape=SHAPES, n=[90, 17], max_memory=[None, 0])
    def test_something(shape, n, max_memory): ...

A case costs five milliseconds of two processes, whatever it does. Values that take less
than that are looped over in one case, which says where it failed::

    @together("rank", [1, 2, 3])
    def test_something_small(rank): ...
"""

import inspect
from functools import wraps
from itertools import combinations, product

import pytest


def pairs(indirect=(), **lists):
    """Mark of a test with a case for every pair of values of two of its arguments.

    Parameters
    ----------
    indirect : sequence of str
        Arguments whose values go to fixtures of the same names.
    **lists : list
        Values of each argument.
    """
    cases = [
        tuple(values[i] for values, i in zip(lists.values(), case, strict=True))
        for case in all_pairs([len(values) for values in lists.values()])
    ]
    return pytest.mark.parametrize(list(lists), cases, indirect=list(indirect))


def all_pairs(sizes):
    """Indices of cases in which any two positions take all of their pairs of values.

    Greedy: of all combinations, the one that has most of the pairs still missing.
    """
    everything = list(product(*map(range, sizes)))
    missing = {pair for case in everything for pair in _pairs_of(case)}
    chosen = []
    while missing:
        best = max(everything, key=lambda case: len(missing & _pairs_of(case)))
        missing -= _pairs_of(best)
        chosen.append(best)
    return chosen


def _pairs_of(case):
    return set(combinations(enumerate(case), 2))


def together(names, values):
    """Decorator: what `pytest.mark.parametrize` does, as one test that loops.

    For tests without fixtures that a case changes, such as `monkeypatch`.

    Parameters
    ----------
    names : str
        An argument of the test, or several separated by commas.
    values : sequence
        Its values; tuples of them if there are several.
    """
    names, values = [name.strip() for name in names.split(",")], list(values)
    assert values, "there is nothing to loop over"

    def decorate(test):
        @wraps(test)
        def loop(*args, **given):
            for value in values:
                case = dict(zip(names, value if names[1:] else [value], strict=True))
                try:
                    test(*args, **given, **case)
                except BaseException as error:
                    error.add_note(f"in the case {case}")
                    raise

        signature = inspect.signature(test)
        kept = [p for name, p in signature.parameters.items() if name not in names]
        loop.__signature__ = signature.replace(parameters=kept)
        return loop

    return decorate
