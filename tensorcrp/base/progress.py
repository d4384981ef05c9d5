"""The progress bar of the package: on a terminal, and only where tqdm is installed.

In: an iterable and a label. Out: the same items, counted on stderr as they come. A log
file or a pipe gets nothing, since a bar there is a line per item.
"""

import sys


def progress(items, label, shown=True, total=None, unit="it"):
    """Iterate over items with a progress bar on stderr.

    Parameters
    ----------
    items : iterable
    label : str
        Printed before the bar.
    shown : bool, default=True
        False returns `items` as they are.
    total : int, default=None
        Number of items; None takes ``len(items)`` where there is one.
    unit : str, default="it"
        What an item is called in the rate.

    Returns
    -------
    iterable
        `items`, or tqdm's iterator over them (extra ``cli``).
    """
    if not shown or not _on_terminal(sys.stderr):
        return items
    try:
        from tqdm import tqdm
    except ImportError:
        return items
    return tqdm(items, desc=label, total=total, unit=unit, leave=False)


def _on_terminal(stream):
    """Whether a stream is a terminal; a closed stream is None."""
    return stream is not None and not stream.closed and stream.isatty()
