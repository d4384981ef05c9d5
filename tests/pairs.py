"""Cases in which every pair of values meets, instead of every combination.

Most errors need one value or two to meet. A product of four lists of three has 81
combinations, while nine cases or so hold all pairs::

    @pairs(shape=SHAPES, n=[90, 17], max_memory=[None, 0])
    def test_something(shape, n, max_memory): ...
"""

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
