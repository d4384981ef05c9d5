"""What the commands print: 80 columns, plain text.

In: a fitted `FileClassifier` or `Predictions`. Out: lines on stdout.
"""

import os

from tensorcrp.experiments.tables import printable
from tensorcrp.files.scoring import interval, is_near_chance, surprising

WIDTH = 80
ADVICE = (
    "This is near chance: guessing the most frequent class could do as well. Try more "
    "files, --frames 32, --size 64 64, --color rgb, --sampling windows, or another "
    "--motion; and check that the files of each class do differ."
)


def print_fit(model):
    """Accuracy to expect, confusion matrix, and surprising files."""
    scores, classes = model.scores_, model.classes_
    shape = " x ".join(map(str, model.reader_["shape"]))
    print(f"{scores['files']} files of {len(classes)} classes, samples of {shape}")
    for line in settings_lines(model):
        print(line)
    for line in accuracy_lines(scores):
        print(line)
    if is_near_chance(scores):
        print(wrapped(ADVICE))
    print("\nHeld-out files, true class by predicted class:\n")
    print(confusion_text(classes, scores["confusion"]))
    _print_surprises(model.held_out_)


def settings_lines(model):
    """What was chosen."""
    search = model.model_[-1]
    chosen = ", ".join(f"{k} {v}" for k, v in search.best_params_.items())
    tried = model.scores_["motion"]
    words = ", ".join(f"{k} {100 * v:.0f} %" for k, v in tried.items() if v == v)
    yield f"motion: {model.model_[0].kind}" + (f" (of {words})" if words else "")
    yield f"projections: {chosen}"


def accuracy_lines(scores):
    """Accuracy with its interval, and what guessing gives."""
    low, high = interval(scores["accuracy"], scores["files"])
    kept = scores["groups"]
    how = f"{scores['folds']} folds" + (
        f", {kept} groups kept together" if kept else ""
    )
    yield f"expected accuracy: {100 * scores['accuracy']:.1f} %"
    span = f"95 % interval {100 * low:.0f} to {100 * high:.0f} %"
    yield f"  {span}; held-out files, {how}"
    yield (
        f"  chance {100 * scores['chance']:.1f} %, always the most frequent class "
        f"{100 * scores['majority']:.1f} %"
    )
    if scores["test_accuracy"] is not None:
        yield (
            f"test/ folder: {100 * scores['test_accuracy']:.1f} % of "
            f"{scores['test_files']} files"
        )


def confusion_text(classes, confusion):
    """A table with names of classes; numbers in place of names that are too wide."""
    names = [shortened(printable(str(each)), 18) for each in classes]
    side = max(map(len, names))
    heads = names
    if side + sum(max(len(h), 5) + 2 for h in heads) > WIDTH:
        heads = [str(i + 1) for i in range(len(names))]
        names = [f"{i + 1} {name}" for i, name in enumerate(names)]
        side = max(map(len, names))
    widths = [max(len(h), len(str(confusion[:, j].max()))) for j, h in enumerate(heads)]
    lines = [" " * side + "  " + "  ".join(map(str.rjust, heads, widths))]
    for name, row in zip(names, confusion, strict=True):
        cells = [str(n) if n else "." for n in row]
        lines.append(f"{name:<{side}}  " + "  ".join(map(str.rjust, cells, widths)))
    return "\n".join(line.rstrip() for line in lines)


def _print_surprises(held_out):
    found = surprising(held_out)
    if not found:
        print("\nNo held-out file was labelled wrongly.")
        return
    print("\nMost surprising files (label of the folder, label by the other files):\n")
    for i in found:
        share = held_out.probability[i]
        sure = "" if share is None else f" ({100 * share:.0f} %)"
        name = shortened(printable(held_out.files[i]), 44)
        print(f"  {name}  {held_out.truth[i]} -> {held_out.labels[i]}{sure}")


def print_predictions(predictions):
    """One line per file: label, probability, second choice, path."""
    rows = predictions.rows()
    labels = max([5, *(len(row["label"]) for row in rows)])
    seconds = max([6, *(len(row["second"]) for row in rows)])
    print(f"{'label':<{labels}}  prob    {'second':<{seconds}}  file")
    for row in rows:
        share = row["probability"] or "-"
        line = (
            f"{row['label']:<{labels}}  {share:<6}  {row['second'] or '-':<{seconds}}"
        )
        print(f"{line}  {printable(row['file'])}")


def shortened(text, width):
    """The end of a text that is too long: it says more than the beginning."""
    return text if len(text) <= width else "..." + text[3 - width :]


def wrapped(text):
    """Lines of at most 80 columns."""
    from textwrap import fill

    return fill(text, WIDTH)


def file_size(path):
    """The size of a file in words."""
    n = os.path.getsize(path)
    return f"{n:,} bytes"
