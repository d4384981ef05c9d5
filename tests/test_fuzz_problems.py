"""The first problems of the long run ``python tests/fuzz_problems.py``."""

import fuzz_problems
import numpy as np

from tensorcrp._ascent import Ascent


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
    whole = fuzz_problems.run(40)
    monkeypatch.setattr(fuzz_problems, "RANGE", 7)
    assert fuzz_problems.run(40) == whole
    assert fuzz_problems.run(33, first=7).total == 33


def test_an_update_that_is_not_exact_is_found(monkeypatch):
    """Another vector than the maximiser: the solver refuses it, the tally sees it."""
    keep = Ascent._keep

    def worse(self, active, mode, u, white, blocks, coordinates):
        if self.history[active[0]]:
            u = np.roll(u, 1, axis=1)
        keep(self, active, mode, u, white, blocks, u)

    monkeypatch.setattr(Ascent, "_keep", worse)
    tally = fuzz_problems.run(20)
    assert any("loses" in words for _, words in tally.failures)
