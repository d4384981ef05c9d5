"""The page of ``tensorcrp fit --report``.

In: a fitted `FileClassifier`. Out: ``report.html``: data, accuracy to expect beside
chance, confusion matrix, wrongly labelled files with pictures, projections.
"""

from __future__ import annotations

from pathlib import Path

from sklearn.pipeline import Pipeline

from tensorcrp.base.files import check_replaceable, replacing
from tensorcrp.base.types import AnyPath
from tensorcrp.files import FileClassifier
from tensorcrp.files.found import FoundFiles
from tensorcrp.files.reading import read_files
from tensorcrp.files.samples import NOUNS, why_skipped
from tensorcrp.files.scoring import interval, is_near_chance, surprising
from tensorcrp.patterns import Patterns
from tensorcrp.report.class_samples import (
    class_examples,
    class_table,
    is_picture,
    picture,
)
from tensorcrp.report.html_page import (
    Part,
    confusion_table,
    film,
    page,
    rows_table,
    tiles,
)
from tensorcrp.report.plots import curve, dots, signed_bars

REPORT_NAME = "report.html"
WRONG = 8  # files with a picture
DRAWN = 4  # projections
CHANNELS = 16  # of a pattern
PICTURES = ("clips", "images")
NEAR_CHANCE = (
    '<p class="bad">Guessing the most frequent class could do as well. Try more {}s, '
    "of clips more frames, a larger size, colour, or another motion.</p>"
)
TITLES = {"reg": "ridge", "n_components": "projections", "smooth": "smoothness"}


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
    check_replaceable(folder / REPORT_NAME)
    return folder / REPORT_NAME


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
    path, pixels = check_report(folder), _pictures(model)
    parts = [
        _accuracy(model),
        _data(model, pixels),
        Part(
            f"Confusion of held-out {NOUNS[model.reader_['kind']]}s",
            '<p class="soft">True class down, predicted class across.</p>'
            + confusion_table(model.classes_, model.scores_["confusion"]),
        ),
        _wrong(model, pixels),
        _projections(model),
        _settings(model),
    ]
    text = page("Fit of a file classifier", parts, command)
    with replacing(path) as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    return path


def _accuracy(model):
    scores, noun = model.scores_, NOUNS[model.reader_["kind"]]
    shares = {name: 100 * scores[name] for name in ("accuracy", "chance", "majority")}
    numbers = [
        (f"{shares['accuracy']:.1f} %", "expected accuracy"),
        (f"{shares['chance']:.1f} %", "chance"),
        (f"{shares['majority']:.1f} %", "most frequent class"),
    ]
    if scores["test_accuracy"] is not None:
        words = f"{scores['test_files']} {noun}s of test/"
        numbers.append((f"{100 * scores['test_accuracy']:.1f} %", words))
    guesses = [("chance", shares["chance"]), ("largest class", shares["majority"])]
    note = (
        f'<p class="soft">Held-out {noun}s in {scores["folds"]} folds; all choices '
        "were made without them. Lines are 95 % intervals.</p>"
    )
    warning = NEAR_CHANCE.format(noun) if is_near_chance(scores) else ""
    plot = dots(_accuracies(model, f"all {noun}s"), guesses)
    return Part("Accuracy", tiles(numbers) + warning + plot + note)


def _accuracies(model, name):
    """Accuracy in % and its interval: of all files under `name`, and of each class."""
    scores = model.scores_
    found = [(name, scores["accuracy"], scores["files"])]
    for c, row in enumerate(scores["confusion"]):
        found.append((str(model.classes_[c]), row[c] / row.sum(), int(row.sum())))
    rows = [(name, share, *interval(share, n)) for name, share, n in found]
    return [(name, *(100 * each for each in numbers)) for name, *numbers in rows]


def _data(model, pixels):
    counts = model.scores_["confusion"].sum(axis=1)
    names, held_out = [str(name) for name in model.classes_], model.held_out_
    members = [[i for i, t in enumerate(held_out.truth) if t == n] for n in names]
    table = class_table(names, counts, f"{NOUNS[model.reader_['kind']]}s")
    examples, skipped = "", ""
    if pixels(0) is not None:
        examples = class_examples(names, members, pixels, held_out.files.__getitem__)
    if model.skipped_:
        skipped = f"<h3>Files that could not be read: {len(model.skipped_)}</h3>"
        reasons = [(file, why_skipped(file, words)) for file, words in model.skipped_]
        skipped += rows_table(["file", "reason"], reasons)
    return Part("Data", table + examples + skipped)


def _wrong(model, pixels):
    held_out = model.held_out_
    order = surprising(held_out, len(held_out.files))
    found = [i for i in order if held_out.labels[i] != held_out.truth[i]]
    noun = NOUNS[model.reader_["kind"]]
    if not found:
        text = f"<p>No held-out {noun} was labelled wrongly.</p>"
        return Part("Wrongly labelled", text)
    drawn = []
    for i in found[:WRONG]:
        share = held_out.probability[i]
        sure = "" if share is None else f" ({100 * share:.0f} %)"
        words = f"{held_out.truth[i]} taken for {held_out.labels[i]}{sure}"
        drawn.append(picture(pixels(i), f"{words}: {held_out.files[i]}"))
    more = [
        (held_out.files[i], held_out.truth[i], held_out.labels[i])
        for i in found[WRONG:]
    ]
    table = rows_table(["file", "class", "taken for"], more) if more else ""
    title = f"Wrongly labelled: {len(found)} of {len(held_out.files)}"
    return Part(title, "".join(drawn) + table)


def _pictures(model):
    """A function: number of a training file -> pixels, None if they are no picture."""
    kind, reader, files = model.reader_["kind"], model.reader_, model.held_out_.files
    if kind in PICTURES:
        return lambda i: read_files(FoundFiles(kind, [files[i]], [None]), reader).X[0]
    if kind == "arrays" and is_picture(model.reader_["shape"]):
        return _samples(model).__getitem__
    return lambda i: None


def _samples(model):
    """All samples of files of arrays or of epochs, read again."""
    files = dict.fromkeys(f.rpartition("[")[0] for f in model.held_out_.files)
    found = FoundFiles(model.reader_["kind"], list(files), [None] * len(files))
    return read_files(found, model.reader_).X


def _projections(model):
    """Patterns of epochs; else projections as film strips or images."""
    if model.reader_["kind"] == "epochs":
        return Part("Patterns", _patterns(model))
    components = model.model_[-1].components_[:DRAWN]
    names = model.reader_["mode_names"]
    if components.ndim < 3 or (components.ndim > 4 and names[-1] != "color"):
        return Part("Projections", "<p>Not shown: samples are not pictures.</p>")
    pictures = [
        film(each, f"projection {p}: dark is negative, bright is positive", signed=True)
        for p, each in enumerate(components, start=1)
    ]
    return Part("Projections", "".join(pictures))


def _patterns(model):
    """Channels by name and a course over time, of each column of a projection."""
    X, pipeline = _samples(model), model.model_
    if model.model_[0].output_shape(X.shape[1:]) != X.shape[1:]:
        X, pipeline = pipeline[0].transform(X), pipeline[1:]
    factors = Patterns.from_estimator(pipeline, X).factors
    drawn = [
        "<p>How an epoch changes where a feature is large, in shares of the largest "
        "change. All signs of a feature may be reversed together.</p>"
    ]
    for p, (channels, times) in enumerate(zip(*factors, strict=True)):
        for r in range(channels.shape[1] if p < DRAWN else 0):
            drawn.append(_pattern(model.reader_, p, channels[:, r], times[:, r]))
    return "".join(drawn)


def _pattern(reader, p, channels, times):
    """The strongest channels and the course over time of one column."""
    order = sorted(range(len(channels)), key=lambda c: -abs(channels[c]))[:CHANNELS]
    names = [reader["channel_names"][c] for c in order]
    places = reader["times"][-len(times) :]  # differences have one time fewer
    which = f"feature {p + 1}"
    few = len(order) < len(channels)
    words = f"the {len(order)} strongest of {len(channels)} channels" if few else ""
    return (
        f"<h3>Pattern of {which}</h3>"
        + signed_bars(names, channels[order], f"channels of {which}")
        + (f'<p class="soft">{words}</p>' if words else "")
        + curve(times, places, f"course of {which} over time")
        + '<p class="soft">time in seconds</p>'
    )


# --- settings in words ------------------------------------------------------------


def _settings(model):
    search, reader = model.model_[-1], model.reader_
    low, high = reader["range"]
    rows = [
        ("kind", reader["kind"]),
        ("shape of a sample", _shape_words(reader)),
        ("values", f"{reader['dtype']}, from {low:.4g} to {high:.4g}"),
    ]
    if reader["kind"] == "clips":
        rows += [("colour", reader["color"]), ("frames are taken", reader["sampling"])]
    rows += [("motion", model.model_[0].kind)]
    rows += [(TITLES.get(k, k), v) for k, v in search.best_params_.items()]
    if len(search.members_) > 1:
        rows += [("averaged settings", f"{len(search.members_)}; the best is above")]
    rows += [("features", len(search.get_feature_names_out()))]
    rows += [("classifier", _estimator_words(search.estimator_))]
    tried = {k: v for k, v in model.scores_["motion"].items() if v == v}
    rows += [(f"score with motion {k}", f"{100 * v:.1f} %") for k, v in tried.items()]
    return Part("Settings", rows_table(["setting", "value"], rows))


def _shape_words(reader):
    """Sizes of the modes with their names: 16 (time) x 32 (row) x 32 (column)."""
    pairs = zip(reader["shape"], reader["mode_names"], strict=True)
    return " x ".join(f"{size} ({name})" for size, name in pairs)


def _estimator_words(estimator):
    """An estimator with its parameters other than defaults, without Python's signs."""
    if isinstance(estimator, Pipeline):
        return ", then ".join(_estimator_words(step) for _, step in estimator.steps)
    name, _, inside = " ".join(str(estimator).split()).partition("(")
    inside = inside.removesuffix(")").replace("=", " ").replace("'", "")
    return f"{name} ({inside})" if inside else name
