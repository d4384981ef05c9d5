"""The first problems of the long run ``python tests/fuzz_problems.py``."""

import fuzz_problems
import numpy as np
import pytest

from tensorcrp.solver import objective
from tensorcrp.solver.linalg import ridge_lda


@pytest.mark.slow
def test_the_first_problems():
    tally = fuzz_problems.run(150)
    assert not tally.failures, tally.report()
    assert tally.total == 150
    assert tally.kept == (0.0, None)
    assert tally.counts["fitted"] > 75
    # What was looked at is more than what the solver lets through.
    assert 0 < tally.updates["refused"] < tally.updates["all"] / 10
    assert 0 < tally.proposed[0] < 1e-8


def test_a_problem_is_the_same_every_time():
    one, other = fuzz_problems.make(7), fuzz_problems.make(7)
    assert one.X.tobytes() == other.X.tobytes()
    assert str(one.model) == str(other.model)


def test_ranges_add_up(monkeypatch):
    whole = fuzz_problems.run(15)
    monkeypatch.setattr(fuzz_problems, "RANGE", 4)
    assert fuzz_problems.run(15) == whole
    assert fuzz_problems.run(3, first=12).total == 3


@pytest.mark.slow
def test_an_update_that_is_not_exact_is_found(monkeypatch):
    """Another vector than the maximiser: the solver refuses it, the tally sees it."""
    monkeypatch.setattr(objective, "ridge_lda", lambda *a: np.roll(ridge_lda(*a), 1, 1))
    tally = fuzz_problems.run(20)
    assert tally.kept == (0.0, None)
    assert any("loses" in words for _, words in tally.failures)
