"""What the commands print: 80 columns, plain text.

In: a fitted `FileClassifier` or `Predictions`. Out: lines on stdout.
"""

import os

import numpy as np

from tensorcrp.experiments.tables import TERMINAL, padded, printable, text_width
from tensorcrp.files.samples import NOUNS
from tensorcrp.files.scoring import interval, is_near_chance, surprising

# What may help where nothing is learnt.
_WAYS_OUT = {
    "clips": "more files, --frames 32, --size 64 64, --color rgb, --sampling windows, "
    "or another --motion",
    "images": "more files, --size 64 64 or --color rgb",
    "arrays": "more samples, or --motion difference if the first mode is time",
    "epochs": "more epochs, --motion difference, or another band or time of the epochs",
}


def print_fit(model):
    """Accuracy to expect, confusion matrix, and surprising files."""
    scores, classes = model.scores_, model.classes_
    noun = NOUNS[model.reader_["kind"]]
    shape = " x ".join(map(str, model.reader_["shape"]))
    paths = {file.rpartition("[")[0] for file in model.held_out_.files}
    where = f" in {len(paths)} files" if noun != "file" and len(paths) > 1 else ""
    said = f"{scores['files']} {noun}s{where} of {len(classes)} classes"
    print(f"{said}, samples of {shape}")
    for line in (*settings_lines(model), *accuracy_lines(scores, noun)):
        print(line)
    if is_near_chance(scores):
        print(paragraph(advice(model.reader_["kind"])))
    print(f"\nHeld-out {noun}s, true class by predicted class:\n")
    print(confusion_text(classes, scores["confusion"]))
    print_surprises(model.held_out_, noun)


def advice(kind):
    """What to try if the accuracy is near chance."""
    return (
        "This is near chance: guessing the most frequent class could do as well. Try "
        f"{_WAYS_OUT[kind]}; and check that the {NOUNS[kind]}s of each class do differ."
    )


def settings_lines(model):
    """What was chosen."""
    search = model.model_[-1]
    chosen = ", ".join(f"{k} {v}" for k, v in search.best_params_.items())
    tried = model.scores_["motion"]
    words = ", ".join(f"{k} {100 * v:.0f} %" for k, v in tried.items() if v == v)
    yield f"motion: {model.model_[0].kind}" + (f" (of {words})" if words else "")
    yield f"projections: {chosen}"
    if len(search.members_) > 1:
        n = len(search.get_feature_names_out())
        yield f"  the best of {len(search.members_)} averaged settings; {n} features"


def accuracy_lines(scores, noun="file"):
    """Accuracy with its interval, and what guessing gives."""
    low, high = interval(scores["accuracy"], scores["files"])
    kept = scores["groups"]
    how = f"{scores['folds']} folds" + (
        f", {kept} groups kept together" if kept else ""
    )
    yield f"expected accuracy: {100 * scores['accuracy']:.1f} %"
    span = f"95 % interval {100 * low:.0f} to {100 * high:.0f} %"
    yield f"  {span}; held-out {noun}s, {how}"
    if scores["folds"] == scores.get("fewest"):  # absent from older model files
        yield f"  as many folds as the smallest class has {'group' if kept else noun}s"
    yield (
        f"  chance {100 * scores['chance']:.1f} %, always the most frequent class "
        f"{100 * scores['majority']:.1f} %"
    )
    if scores["test_accuracy"] is not None:
        yield (
            f"test/ folder: {100 * scores['test_accuracy']:.1f} % of "
            f"{scores['test_files']} {noun}s"
        )
        for name in scores.get("left_out", ()):  # absent from older model files
            yield f"{name}/ folder: left out; score it by tensorcrp predict"


def confusion_text(classes, confusion):
    """A table with names of classes, or numbers if they are too wide, else a list."""
    names = [shortened(printable(str(each)), 18) for each in classes]
    numbers = [str(i + 1) for i in range(len(names))]
    numbered = [" ".join(pair) for pair in zip(numbers, names, strict=True)]
    for heads, sides in ((names, names), (numbers, numbered)):
        lines = _square(heads, sides, confusion)
        if max(map(text_width, lines)) <= TERMINAL:
            return "\n".join(lines)
    return "\n".join(_mistaken(names, confusion))


def _square(heads, names, confusion):
    """Lines of a table with one column per class."""
    side = max(map(text_width, names))
    counts = [len(str(most)) for most in confusion.max(axis=0)]
    heads = [" " * (n - text_width(h)) + h for h, n in zip(heads, counts, strict=True)]
    widths = list(map(text_width, heads))
    lines = [" " * side + "  " + "  ".join(heads)]
    for name, row in zip(names, confusion, strict=True):
        cells = [str(n) if n else "." for n in row]
        cells = map(str.rjust, cells, widths)
        lines.append("  ".join([padded(name, side), *cells]))
    return lines


def _mistaken(names, confusion):
    """Of each class how many are right, and for which others the rest are taken."""
    side = max(map(text_width, [*names, "class"]))
    yield f"{padded('class', side)}  right   of  taken for"
    for c, (name, row) in enumerate(zip(names, confusion, strict=True)):
        others = sorted((-n, i) for i, n in enumerate(row) if n and i != c)
        words = ", ".join(f"{names[i]} {-n}" for n, i in others)
        start = f"{padded(name, side)}  {row[c]:5}  {row.sum():3}  "
        room = TERMINAL - text_width(start)
        while text_width(words) > room:  # the rarest go
            words = words.removesuffix(", ...").rpartition(", ")[0] + ", ..."
        yield (start + words).rstrip()


def print_surprises(held_out, noun):
    """The five that fit their own class least, and what the others make of them."""
    found = surprising(held_out)
    wrong = sum(held_out.labels != np.array(held_out.truth))
    print(f"\n{wrong} of {len(held_out.files)} held-out {noun}s were labelled wrongly.")
    shares = held_out.are_probabilities
    what = "probability of the own class, class" if shares else "class"
    print(f"Most surprising {noun}s: {what} (-> wrong label)\n")
    rows = [_surprise(held_out, i) for i in found]
    side = max(text_width(words) for words, _ in rows)
    for words, file in rows:
        name = shortened(printable(file), max(TERMINAL - side - 4, 20))
        print(f"  {padded(words, side)}  {name}")


def _surprise(held_out, i):
    """How likely the own class is, the class, the label if it is wrong; the file."""
    names = dict.fromkeys((str(held_out.truth[i]), str(held_out.labels[i])))
    words = " -> ".join(shortened(printable(each), 18) for each in names)
    if held_out.are_probabilities:
        own = np.searchsorted(held_out.classes, held_out.truth[i])
        words = f"{100 * held_out.scores[i, own]:5.1f} %  {words}"
    return words, held_out.files[i]


def print_predictions(predictions):
    """One line per file: label, probability, second choice, group if any, path."""
    heads = {"label": "label", "probability": "prob", "second": "second"}
    heads |= {} if predictions.groups is None else {"group": "group"}
    rows = [heads | {"file": "file"}, *predictions.rows()]
    texts = {name: [printable(row[name]) for row in rows] for name in heads}
    widths = {name: max(map(text_width, found)) for name, found in texts.items()}
    widths["probability"] = 6
    for row in rows:
        cells = [padded(printable(row[k]) or "-", n) for k, n in widths.items()]
        print("  ".join([*cells, printable(row["file"])]))


def shortened(text, width):
    """The end of a text that is too long: it says more than the beginning."""
    if text_width(text) <= width:
        return text
    while text_width(text) > width - 3:
        text = text[1:]
    return f"...{text}"


def paragraph(text):
    """Lines of at most 80 columns."""
    from textwrap import fill

    return fill(text, TERMINAL)


def file_size(path):
    """The size of a file in words."""
    n = os.path.getsize(path)
    return f"{n:,} bytes"
