"""The page of ``tensorcrp fit --report``.

In: a fitted `FileClassifier`. Out: ``report.html``: data, accuracy to expect beside
chance, confusion matrix, wrongly labelled files with pictures, projections.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from tensorcrp.base.files import check_replaceable, replacing
from tensorcrp.base.types import AnyPath
from tensorcrp.files import FileClassifier
from tensorcrp.files.found import Found
from tensorcrp.files.reading import read
from tensorcrp.files.scoring import interval, is_near_chance, surprising
from tensorcrp.report.html_page import (
    Part,
    confusion_table,
    dots,
    film,
    page,
    rows_table,
    tiles,
)

NAME = "report.html"
WRONG = 8  # files with a picture
SHOWN = 4  # projections


def check_report(folder: AnyPath) -> Path:
    """Make the folder of a report; reject one that cannot be written to.

    Parameters
    ----------
    folder : path
        It need not exist.

    Returns
    -------
    Path
        Of the page that is to be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.report import check_report
    >>> with TemporaryDirectory() as folder:
    ...     check_report(folder).name
    'report.html'
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    check_replaceable(folder / NAME)
    return folder / NAME


def write_fit_report(
    model: FileClassifier, folder: AnyPath, *, command: str = ""
) -> Path:
    """Write the report of a fit.

    Parameters
    ----------
    model : FileClassifier
        As `fit` leaves it, with ``held_out_``; a model from a file has none.
    folder : path
        Gets ``report.html``: one file, which works offline.
    command : str, default=""
        Shown below the title.

    Returns
    -------
    Path
        Of the page.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from tensorcrp import TensorCRPCV
    >>> from tensorcrp.files import FileClassifier
    >>> from tensorcrp.report import write_fit_report
    >>> rng, y = np.random.default_rng(0), np.arange(20) % 2
    >>> grid = TensorCRPCV(ranks=(1,), regs=(1.0,))
    >>> with TemporaryDirectory() as folder:
    ...     X = rng.standard_normal((20, 4, 5)) + y[:, None, None]
    ...     np.savez(f"{folder}/a.npz", X=X, y=y)
    ...     model = FileClassifier(search=grid, cv=2).fit(f"{folder}/a.npz")
    ...     write_fit_report(model, folder).name
    'report.html'
    """
    path = check_report(folder)
    parts = [
        _accuracy(model),
        _data(model),
        Part(
            "Confusion of held-out files",
            '<p class="soft">True class down, predicted class across.</p>'
            + confusion_table(model.classes_, model.scores_["confusion"]),
        ),
        _wrong(model),
        _projections(model),
        _settings(model),
    ]
    text = page("Fit of a file classifier", parts, command)
    with replacing(path) as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    return path


def _accuracy(model):
    scores = model.scores_
    low, high = interval(scores["accuracy"], scores["files"])
    numbers = [
        (f"{100 * scores['accuracy']:.1f} %", "expected accuracy"),
        (f"{100 * scores['chance']:.1f} %", "chance"),
        (f"{100 * scores['majority']:.1f} %", "most frequent class"),
    ]
    if scores["test_accuracy"] is not None:
        words = f"{scores['test_files']} files of test/"
        numbers.append((f"{100 * scores['test_accuracy']:.1f} %", words))
    rows = [("all files", 100 * scores["accuracy"], 100 * low, 100 * high)]
    for name, row in zip(model.classes_, scores["confusion"], strict=True):
        right, n = int(row[len(rows) - 1]), int(row.sum())
        ends = interval(right / n, n)
        rows.append((str(name), 100 * right / n, 100 * ends[0], 100 * ends[1]))
    guesses = [("chance", 100 * scores["chance"])]
    warning = ""
    if is_near_chance(scores):
        warning = (
            '<p class="bad">Guessing the most frequent class could do as well. Try '
            "more files, more frames, a larger size, colour, or another motion.</p>"
        )
    note = (
        f'<p class="soft">Held-out files in {scores["folds"]} folds; all choices were '
        "made without them. Lines are 95 % intervals.</p>"
    )
    return Part("Accuracy", tiles(numbers) + warning + dots(rows, guesses) + note)


def _data(model):
    counts = model.scores_["confusion"].sum(axis=1)
    rows = list(zip(model.classes_, counts, strict=True))
    examples = []
    for name in model.classes_[:12]:
        first = model.held_out_.truth.index(str(name))
        examples.append(_picture(model, first, str(name)))
    skipped = ""
    if model.skipped_:
        skipped = f"<h3>Files that could not be read: {len(model.skipped_)}</h3>"
        reasons = [(file, _reason(file, words)) for file, words in model.skipped_]
        skipped += rows_table(["file", "reason"], reasons)
    table = rows_table(["class", "files"], rows)
    return Part("Data", table + "<h3>Examples</h3>" + "".join(examples) + skipped)


def _reason(file, words):
    """Why a file was skipped, without its name and without what would skip it."""
    words = words.removeprefix(file).removesuffix(', or pass on_error="skip".')
    return words.split(": ")[0].strip(" .")


def _wrong(model):
    held_out = model.held_out_
    found = surprising(held_out, len(held_out.files))
    if not found:
        return Part("Wrongly labelled", "<p>No held-out file was labelled wrongly.</p>")
    drawn = []
    for i in found[:WRONG]:
        share = held_out.probability[i]
        sure = "" if share is None else f" ({100 * share:.0f} %)"
        words = f"{held_out.truth[i]} taken for {held_out.labels[i]}{sure}"
        drawn.append(_picture(model, i, words))
    more = [
        (held_out.files[i], held_out.truth[i], held_out.labels[i])
        for i in found[WRONG:]
    ]
    table = rows_table(["file", "class", "taken for"], more) if more else ""
    title = f"Wrongly labelled: {len(found)} of {len(held_out.files)}"
    return Part(title, "".join(drawn) + table)


def _picture(model, i, words):
    """A film strip of a training file, or its name alone."""
    file, kind = model.held_out_.files[i], model.reader_["kind"]
    caption = f"{words}: {file}"
    if kind not in ("clips", "images"):
        return f'<p class="soft">{escape(caption)}</p>'
    sample = read(Found(kind, [file], [None]), model.reader_).X[0]
    return film(sample, caption)


def _projections(model):
    """The first projections as film strips, or as channel by time images."""
    components = model.model_[-1].components_[:SHOWN]
    names = model.reader_["mode_names"]
    if components.ndim < 3 or (components.ndim > 4 and names[-1] != "color"):
        return Part("Projections", "<p>Not shown: samples are not pictures.</p>")
    pictures = [
        film(each, f"projection {p}: dark is negative, bright is positive", signed=True)
        for p, each in enumerate(components, start=1)
    ]
    return Part("Projections", "".join(pictures))


def _settings(model):
    search = model.model_[-1]
    reader = model.reader_
    rows = [(name, reader[name]) for name in ("kind", "shape", "dtype", "range")]
    if reader["kind"] == "clips":
        rows += [(n, reader[n]) for n in ("frames", "size", "color", "sampling")]
    rows += [("motion", model.model_[0].kind), *search.best_params_.items()]
    rows += [("classifier", " ".join(str(search.estimator_).split()))]
    tried = {k: v for k, v in model.scores_["motion"].items() if v == v}
    rows += [(f"score with motion {k}", f"{100 * v:.1f} %") for k, v in tried.items()]
    return Part("Settings", rows_table(["setting", "value"], rows))
