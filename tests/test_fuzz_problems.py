"""The first problems of the long run ``python tests/fuzz_problems.py``."""

import fuzz_problems


def test_the_first_problems():
    tally = fuzz_problems.run(150)
    assert not tally.failures, tally.report()
    assert tally.worst[0] <= fuzz_problems.ROUNDING
    assert tally.counts["fitted"] > 75


def test_a_problem_is_the_same_every_time():
    one, other = fuzz_problems.make(7), fuzz_problems.make(7)
    assert one.X.tobytes() == other.X.tobytes()
    assert str(one.model) == str(other.model)
