"""All pairs of values meet, in far fewer cases; a loop says where it failed."""

import inspect
from itertools import combinations, product

import pytest
from pairs import all_pairs, together


@pytest.mark.parametrize("sizes", [(2, 3), (3, 3, 2, 2), (6, 2, 2, 2), (1, 4, 4)])
def test_all_pairs(sizes):
    cases = all_pairs(list(sizes))
    for i, j in combinations(range(len(sizes)), 2):
        found = {(case[i], case[j]) for case in cases}
        assert found == set(product(range(sizes[i]), range(sizes[j])))
    largest, second = sorted(sizes)[-1:-3:-1]
    assert largest * second <= len(cases) <= 1.5 * largest * second
    assert len(set(cases)) == len(cases)


def test_a_loop_runs_every_case_and_names_the_one_that_fails():
    seen = []

    @together("a", [1, 2])
    @together("b, c", [(3, 4), (5, 6)])
    def test(given, a, b, c):
        seen.append((given, a, b, c))
        assert (a, b) != (2, 5), "this one"

    with pytest.raises(AssertionError, match="this one") as caught:
        test(given=0)
    assert caught.value.__notes__ == [
        "in the case {'b': 5, 'c': 6}",
        "in the case {'a': 2}",
    ]
    assert seen == [(0, 1, 3, 4), (0, 1, 5, 6), (0, 2, 3, 4), (0, 2, 5, 6)]
    assert list(inspect.signature(test).parameters) == ["given"]
