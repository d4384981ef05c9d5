"""Parts of a report that show samples: the data sets, and where the best method errs.

In: rows of ``tensorcrp compare``, and the data sets once more, for class names and
pictures. Out: parts of a page. Of every data set, its classes, how many samples they
have and what some of them look like; and of the largest training size the confusion of
the best method, all splits together, and which files it gets wrong. Rows of earlier
versions have no record of mistakes: the page says so, and shows all else.
"""

from collections import Counter
from html import escape

import numpy as np

from tensorcrp.base.results import chosen, size_words
from tensorcrp.experiments.data import Skip, known_names, load_data
from tensorcrp.experiments.errors import BadRequest
from tensorcrp.experiments.folder_cache import decoded, has_pictures
from tensorcrp.experiments.mistakes import FIELD, MOST_CLASSES, MOST_WRONG
from tensorcrp.experiments.summaries import rated_by, score
from tensorcrp.experiments.tables import printable
from tensorcrp.report.class_samples import class_examples, class_table, is_picture
from tensorcrp.report.html_page import Part, confusion_table, film

SHOWN_FILES = 8  # files with a picture, of one data set


def same_data(row):
    """The data set of a row, or None if it is not there as it was."""
    try:
        data = load_data(row["data"], row.get("groups", ""))
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


# --- mistakes -----------------------------------------------------------------------


def mistake_parts(rows):
    """Confusion matrices of all data sets, and misclassified files of folders.

    Parameters
    ----------
    rows : ResultRows

    Returns
    -------
    list of Part
    """
    confusions, files = [], []
    for data in rows.data():
        cell = best_cell(rows, data)
        if cell:
            known = same_data(cell[0])
            confusions.append(_confusion(cell, known))
            files.append("" if known is None else _files(cell, known))
    parts = {"Confusion of the best method": confusions, "Misclassified files": files}
    return [Part(title, "".join(each)) for title, each in parts.items() if any(each)]


def best_cell(rows, data):
    """Rows of the best method by 1-NN or its own predictions; largest training size."""
    train = rows.sizes(data)[-1]
    cells = [rows.cell(data, train, name) for name in rows.methods()]
    scores = [(score(c, rated_by(c), "honest"), c) for c in cells if c]
    found = [(each.mean, cell) for each, cell in scores if each is not None]
    return max(found, key=lambda pair: pair[0], default=(0.0, []))[1]


def _heading(cell, words):
    row = cell[0]
    title = f"{row['data']}, {size_words(row['train'])}, {row['method']}, {words}"
    return f"<h3>{escape(printable(title))}</h3>"


def _confusion(cell, data):
    """A confusion matrix with class names, or codes, summed over the splits."""
    records, n = [row.get(FIELD, {}) for row in cell], len(cell)
    c = cell[0]["n_classes"]
    head = _heading(cell, f"{rated_by(cell)}, {n} split{'s' * (n > 1)} together")
    if not all("confusion" in record for record in records):
        why = "the rows do not hold it; a new folder with --out makes new rows"
        if c > MOST_CLASSES:
            why = f"there are {c} classes, more than {MOST_CLASSES}"
        return f'{head}<p class="soft">Not shown: {why}.</p>'
    total = np.sum([record["confusion"] for record in records], axis=0)
    name = str if data is None else data.class_name
    words = '<p class="soft">True class down, predicted class across.</p>'
    return head + words + confusion_table([printable(name(i)) for i in range(c)], total)


def _files(cell, data):
    """Misclassified files of a folder with pictures: first, the most often wrong."""
    found = often_wrong(cell)
    if not found or data.name in known_names() or not has_pictures(data.name):
        return ""
    bunch, drawn = decoded(data.name), []
    for (i, true, guess), times in found[:SHOWN_FILES]:
        words = f"{data.class_name(true)} taken for {data.class_name(guess)}"
        words += f" in {times} splits" if times > 1 else ""
        drawn.append(film(bunch.data[i], printable(f"{words}: {bunch.files[i]}")))
    total = f"{_count_wrong(cell)} wrong answers in {len(cell)} splits"
    note = f"The most frequent first, of at most {MOST_WRONG} kept of each split."
    head = _heading(cell, f"{rated_by(cell)}: {total}")
    return f'{head}<p class="soft">{note}</p>{"".join(drawn)}'


def often_wrong(cell):
    """Recorded wrong answers of all splits, the most frequent first.

    Of equally frequent ones every class has its turn.

    Returns
    -------
    list of ((index, true code, predicted code), number of splits)
    """
    records = [row.get(FIELD, {}).get("wrong", []) for row in cell]
    times = Counter(tuple(each) for wrong in records for each in wrong)
    turns, order = Counter(), []
    for each in sorted(times, key=lambda each: (-times[each], each)):
        place = times[each], each[1]
        order.append((-times[each], turns[place], each))
        turns[place] += 1
    return [(each, times[each]) for *_, each in sorted(order)]


def _count_wrong(cell):
    name = rated_by(cell)
    right = [
        row["classifiers"][name]["right"][index]
        for row, index in zip(cell, chosen(cell, name, "honest"), strict=True)
    ]
    return sum(row["n_test"] for row in cell) - sum(right)
