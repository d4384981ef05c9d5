"""The part of a report that shows the data sets of a comparison.

In: rows of ``tensorcrp compare``, and the data sets once more. Out: a part of a page:
of every set its classes, how many samples they have, and what some of them look like.
"""

from html import escape

import numpy as np

from tensorcrp.base.results import size_words
from tensorcrp.experiments.data import Skip, known_names, load
from tensorcrp.experiments.errors import BadRequest
from tensorcrp.experiments.folder_cache import decoded, has_pictures
from tensorcrp.experiments.tables import printable
from tensorcrp.report.class_samples import class_examples, class_table, is_picture
from tensorcrp.report.html_page import Part


def same_data(row):
    """The data set of a row, or None if it is not there as it was."""
    try:
        data = load(row["data"], row.get("groups", ""))
    except (Skip, BadRequest):
        return None
    return data if data.checksum == row.get("checksum") else None


def data_part(rows):
    """Classes, counts and examples of every data set.

    Parameters
    ----------
    rows : ResultRows

    Returns
    -------
    Part
    """
    return Part("Data", "".join(_one_set(rows, name) for name in rows.data()))


def _one_set(rows, name):
    cells = (rows.cell(name, rows.sizes(name)[0], m) for m in rows.methods())
    row = next((cell[0] for cell in cells if cell), None)
    head = f"<h3>{escape(printable(name))}</h3>"
    if row is None:
        return head + '<p class="soft">Nothing was run on it.</p>'
    data = same_data(row)
    if data is None:
        words = f"{row['n_classes']} classes, {size_words(row['train'])} to train"
        return f'{head}<p class="soft">{words}. The data are not here any more.</p>'
    return head + _classes(data)


def _classes(data):
    """The table of a data set, and examples from its pixels or its samples."""
    names = [printable(data.class_name(c)) for c in range(data.n_classes)]
    members = [np.flatnonzero(data.y == c).tolist() for c in range(data.n_classes)]
    X, files = data.X, None
    if data.name not in known_names() and has_pictures(data.name):
        found = decoded(data.name)  # pictures are of the pixels, whatever the motion
        X, files = found.data, found.files
    drawn = class_examples(
        names,
        members,
        lambda i: X[i] if is_picture(X.shape[1:]) else None,
        lambda i: "" if files is None else printable(str(files[i])),
    )
    return class_table(names, map(len, members), "samples") + drawn
