"""Parts of a report: where the best method errs, and on which files.

In: rows of ``tensorcrp compare``, and the data sets once more, for class names and
pictures. Out: parts of a page. Of every data set, the largest training size is shown,
all splits together. Rows of earlier versions have no record of mistakes: the page says
so, and shows all else.
"""

from collections import Counter
from html import escape

import numpy as np

from tensorcrp.base.results import chosen, size_words
from tensorcrp.experiments.data import known_names
from tensorcrp.experiments.data_page import same_data
from tensorcrp.experiments.folder_cache import decoded, has_pictures
from tensorcrp.experiments.mistakes import FIELD, MOST_CLASSES, MOST_WRONG
from tensorcrp.experiments.summaries import headline, score
from tensorcrp.experiments.tables import printable
from tensorcrp.report.html_page import Part, confusion_table, film

SHOWN = 8  # files with a picture, of one data set


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
    scores = [(score(c, headline(c), "honest"), c) for c in cells if c]
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
    head = _heading(cell, f"{headline(cell)}, {n} split{'s' * (n > 1)} together")
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
    for (i, true, guess), times in found[:SHOWN]:
        words = f"{data.class_name(true)} taken for {data.class_name(guess)}"
        words += f" in {times} splits" if times > 1 else ""
        drawn.append(film(bunch.data[i], printable(f"{words}: {bunch.files[i]}")))
    total = f"{_count_wrong(cell)} wrong answers in {len(cell)} splits"
    note = f"The most frequent first, of at most {MOST_WRONG} kept of each split."
    head = _heading(cell, f"{headline(cell)}: {total}")
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
    name = headline(cell)
    right = [
        row["classifiers"][name]["right"][index]
        for row, index in zip(cell, chosen(cell, name, "honest"), strict=True)
    ]
    return sum(row["n_test"] for row in cell) - sum(right)
