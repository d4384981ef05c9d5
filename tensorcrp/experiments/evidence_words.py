"""Accuracy on real sets in sentences: who leads, who is ahead of us, what was run.

In: rows of ``tensorcrp compare --preset real``. Out: sentences for `evidence_page`.
"""

import statistics

from tensorcrp.base.results import size_words
from tensorcrp.experiments.classifiers import COMPARED
from tensorcrp.experiments.evidence import PART, REFERENCE, Evidence, evidence_sizes


def numbers_of_splits(rows):
    """How many splits the tables are means of: as a rule, and where not."""
    cells = {}
    for data in rows.data():
        for train in rows.sizes(data):
            for method in rows.methods():
                if n := len(rows.cell(data, train, method)):
                    cells.setdefault(method, {})[data, train] = n
    usual = statistics.mode(n for mine in cells.values() for n in mine.values())
    others = [
        f"{method} ({words})"
        for method, mine in cells.items()
        if (words := _other_numbers(mine, usual))
    ]
    but = f"; other numbers of splits: {'; '.join(others)}" if others else ""
    return f'An entry "-" was not run. Figures are means of {usual} splits{but}.'


def _other_numbers(cells, usual):
    """Of one method, {(data, size): splits}: the numbers that are not usual."""
    if len(set(cells.values())) == 1:
        n = next(iter(cells.values()))
        return "" if n == usual else str(n)
    return ", ".join(
        f"{n} on {data} with {size_words(train)}"
        for (data, train), n in cells.items()
        if n != usual
    )


def in_short(rows):
    """A list of the sentences of `verdicts`."""
    return "\n".join(f"- {line}" for line in verdicts(rows))


def verdicts(rows):
    """Sentences: where the reference leads, and where it loses."""
    lines = [_verdict(Evidence(rows, train)) for train in evidence_sizes(rows)]
    failed = rows.constant()
    if failed:
        names = ", ".join(sorted({method for _, _, method, _, _ in failed}))
        lines.append(
            f"Failed fits are among the figures of {names}: see the list below."
        )
    return [line for line in lines if line]


def _verdict(found):
    """One sentence for one training size."""
    others = [m for m in found.complete() if not m.startswith(REFERENCE)]
    if REFERENCE not in found.complete() or not others:
        return ""
    best, n = others[0], len(found.sets)
    gap, same = found.mean_difference(REFERENCE, best), _same_classifier(found)
    ranks = sorted(found.ranks().values())
    place = 1 + ranks.index(found.ranks()[REFERENCE])
    words = f"{size_words(found.train)}, {n} sets: {REFERENCE} "
    return (
        f"{words}{found.mean(REFERENCE):.1f}, mean rank {found.ranks()[REFERENCE]:.1f} "
        f"(place {place} of {len(ranks)}); the best other method is {best} with "
        f"{found.mean(best):.1f} (difference {gap}). {same}{_losses(found)}"
    )


def _same_classifier(found):
    """A sentence: how far its features are ahead, each kind of classifier on all.

    Of other methods, those that give features, the one with the best mean.
    """
    gaps = []
    for classifier in COMPARED:
        one = Evidence(found.rows, found.train, classifier)
        known = [m for m in one.complete() if _gives_features(one, m)]
        others = [m for m in known if not m.startswith(REFERENCE)]
        if REFERENCE in known and others:
            gap = one.mean_difference(REFERENCE, others[0])
            gaps.append(f"{gap} by {classifier} ({others[0]})")
    words = "Its features, with the same classifier, against the next best"
    return f"{words}: {', '.join(gaps)}. " if gaps else ""


def _gives_features(found, method):
    """Whether its rows count features; a classifier itself has none."""
    return "features" in found.rows.cell(found.sets[0], found.train, method)[0]


def _losses(found):
    """A sentence: on which sets the reference is behind which methods.

    The reference with a part switched off is no other method.
    """
    lost = {}
    for method in (m for m in found.methods if not m.startswith(PART)):
        for data in found.losses(REFERENCE, method):
            lost.setdefault(data, []).append(method)
    if not lost:
        return "Behind no method by more than one standard error on any set."
    each = [f"{data} ({'; '.join(lost[data])})" for data in found.sets if data in lost]
    return f"Behind by more than one standard error on {', '.join(each)}."
