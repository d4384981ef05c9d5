"""What a user can correct: rejected in one sentence before any work starts."""

from difflib import get_close_matches


class BadRequest(ValueError):
    """A request that cannot be met; the message names the value and the repair."""


def check_names(what, given, known):
    """Reject names that are not known and offer the nearest ones."""
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=3, cutoff=0.5)
            offer = f"Did you mean {' or '.join(near)}? " if near else ""
            between = "; " if any("," in each for each in known) else ", "
            raise BadRequest(
                f"unknown {what} {name!r}. {offer}Known are: {between.join(known)}."
            )
