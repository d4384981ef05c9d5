"""All pairs of values meet, in far fewer cases than there are combinations."""

from itertools import combinations, product

import pytest
from pairs import all_pairs


@pytest.mark.parametrize("sizes", [(2, 3), (3, 3, 2, 2), (6, 2, 2, 2), (1, 4, 4)])
def test_all_pairs(sizes):
    cases = all_pairs(list(sizes))
    for i, j in combinations(range(len(sizes)), 2):
        found = {(case[i], case[j]) for case in cases}
        assert found == set(product(range(sizes[i]), range(sizes[j])))
    largest, second = sorted(sizes)[-1:-3:-1]
    assert largest * second <= len(cases) <= 1.5 * largest * second
    assert len(set(cases)) == len(cases)
