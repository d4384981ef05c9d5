"""What a classifier of files learns from labelled files.

In: `FoundFiles`, labels, groups and the parameters of a `FileClassifier`. Out: its
fitted attributes.
"""

import os
from collections import Counter
from dataclasses import replace

import numpy as np
from sklearn.utils import check_random_state

from tensorcrp.base.parameters import check_choice
from tensorcrp.base.targets import is_missing
from tensorcrp.files.choosing import BY_NAME, Choice, chosen_and_held_out, motions
from tensorcrp.files.found import MANY, find_files
from tensorcrp.files.grouping import check_apart, check_groups, file_groups
from tensorcrp.files.predictions import Predictions, per_file
from tensorcrp.files.reading import SIZE, described, read_files
from tensorcrp.files.recordings import label_texts
from tensorcrp.files.samples import NOUNS, why_skipped
from tensorcrp.files.scoring import best_share, held_out_scores, temperatures, tempered
from tensorcrp.video import train_test_folders

LEAST = 4  # files of a class: one is held out, two of the others train, one tests
_OPTIONS = ("frames", "size", "color", "sampling", "stride", "data", "target")


def learnt(params, found, y, groups):
    """Fitted attributes by name.

    Parameters
    ----------
    params : dict
        Parameters of a `FileClassifier`.
    found : FoundFiles
    y, groups
        As in `FileClassifier.fit`.
    """
    of_files = found.kind in ("clips", "images")
    if y is not None and of_files:
        found = replace(found, folders=_one_each(y, found.files, "y"))
    options = {name: params[name] for name in (*_OPTIONS, "samples")}
    options["size"] = SIZE if params["size"] is None else tuple(params["size"])
    samples = read_files(found, options, **reading_parameters(params))
    _check_none_lost(found, samples)
    if y is not None and not of_files:
        samples = replace(samples, labels=_one_each(y, samples.files, "y"))
    classes, codes = _classes(samples, NOUNS[found.kind])
    reader = described(found.kind, samples, options)
    numbers = _group_numbers(groups, found, samples)
    choice = _choice(params, reader)
    model, held_out, scores = _chosen(choice, samples, classes, codes, numbers, params)
    return {
        "classes_": classes,
        "reader_": reader,
        "skipped_": samples.skipped,
        "model_": model,
        "held_out_": held_out,
        "scores_": scores,
    }


def reading_parameters(params):
    """Arguments of `read` that are not settings of the reader."""
    how = {name: params[name] for name in ("on_error", "n_jobs", "cache")}
    return how | {"progress": bool(params["verbose"])}


def _choice(params, reader):
    names = reader["mode_names"]
    mode = names.index("time") if "time" in names else 0
    return Choice(
        chosen_classifier(params["classifier"]),
        motions(params["motion"], reader["kind"], reader["shape"], mode),
        mode,
        params["search"],
        params["cv"],
        _one_seed(params["random_state"]),
    )


def _one_seed(random_state):
    """One number for every search: each makes its folds anew."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return check_random_state(random_state).randint(2**31)
    return random_state


def _chosen(choice, samples, classes, codes, groups, params):
    """The fitted pipeline, predictions of held-out files, and their summary."""
    y, owner, n = codes[samples.owner], samples.owner, len(samples.files)
    inside = owner if len(owner) > n else None  # windows of a file stay together
    inside = inside if groups is None else groups[owner]
    chosen = chosen_and_held_out(
        choice, samples.X, y, inside, params["n_jobs"], params["verbose"]
    )
    values, probabilities, temperature = chosen.scores, chosen.are_probabilities, 1.0
    truth = [str(each) for each in classes[codes]]
    if probabilities:
        share = best_share(values, chosen.spreads, owner, codes)
        temperature = float(temperatures(share, chosen.spread))
        values = tempered(values, temperatures(share, chosen.spreads))
    scores = per_file(values, owner, n)
    held_out = Predictions(samples.files, scores, classes, probabilities, truth)
    found = held_out_scores(held_out, codes, chosen.screened, chosen.n_folds, groups)
    return chosen.model, held_out, found | {"temperature": temperature}


def chosen_classifier(classifier):
    """A classifier by its name, or itself."""
    if isinstance(classifier, str):
        check_choice("classifier", classifier, tuple(BY_NAME))
        return BY_NAME[classifier]()
    return classifier


def _group_numbers(groups, found, samples):
    """Numbers (n,) of the groups of the files that were read, or None."""
    if groups is None:
        return whole_files(found, samples)
    if isinstance(groups, str):
        given = named_groups(groups, samples)
    else:
        whole = found.kind in ("arrays", "epochs")
        of_all = samples.files if whole else found.files
        known = dict(zip(of_all, _one_each(groups, of_all, "groups"), strict=True))
        given = np.array([known[file] for file in samples.files])
    check_groups(groups, given, samples.labels)
    return np.unique(given, return_inverse=True)[1]


def whole_files(found, samples):
    """Numbers (n,) of the files that samples are in, where files have classes, or None.

    Then samples of a file share more than the class, as windows of a clip do. That
    takes `LEAST` files of each class, one of them with several samples.
    """
    paths = [file.rpartition("[")[0] for file in samples.files]
    pairs = set(zip(paths, samples.labels, strict=True))
    folders = dict(zip(found.files, found.folders, strict=True))
    fewest = min(Counter(label for _, label in pairs).values())
    several = len(pairs) < len(paths) and fewest >= LEAST
    if found.kind not in MANY or not several or pairs - set(folders.items()):
        return None
    return np.unique(paths, return_inverse=True)[1]


def named_groups(rule, samples):
    """Groups by an array of the file, a column of its table, or a rule for paths."""
    n = len(samples.files)
    columns = {
        name: values for name, values in samples.more.items() if len(values) == n
    }
    if rule in columns:
        return np.asarray(columns[rule])
    try:
        return file_groups(rule, samples.files)
    except ValueError as error:
        known = ", ".join(sorted(set(columns) - {"data", "target"}))
        words = f" Arrays or columns of the files are: {known}." if known else ""
        raise ValueError(f"{error}{words}") from error


def halves_of(data):
    """The training and the test folder, if a folder has the two."""
    if isinstance(data, (str, os.PathLike)) and os.path.isdir(data):
        return train_test_folders(data)
    return None


def check_halves(halves, found, groups):
    """Reject groups in both halves, and classes that only the test has.

    Of files that hold arrays nobody knows them yet.
    """
    if halves is None or found.kind in MANY:
        return
    test = find_files(halves[1], labelled=False)
    unknown = sorted(set(test.folders) - {*found.folders, None})
    if unknown:
        raise ValueError(
            f"{halves[1]} has the class {unknown[0]}, which {halves[0]} lacks. Add "
            "training files of that class, or leave its folder out of the test."
        )
    if isinstance(groups, str):
        check_apart(groups, found.files, test.files)


def check_rule(groups, found):
    """Reject a rule that no file could follow, before any file is read."""
    if isinstance(groups, str) and found.kind not in MANY:
        file_groups(groups, [])


def left_out_of(data, halves):
    """Names of folders beside the two halves, such as ``val``."""
    return [
        entry.name
        for entry in sorted(os.scandir(data), key=lambda entry: entry.name)
        if entry.is_dir() and entry.name[0] != "." and entry.path not in halves
    ]


def _one_each(values, files, name):
    values = [each.item() if hasattr(each, "item") else each for each in values]
    if len(values) != len(files):
        raise ValueError(f"{name} has {len(values)} entries for {len(files)} files.")
    for file, value in zip(files, values, strict=True):
        if is_missing(value):
            what = "label" if name == "y" else "group"
            raise ValueError(
                f"{name} has no {what} for {file}: leave that one out, or give it one."
            )
    return label_texts(np.asarray(values))


def _check_none_lost(found, samples):
    """Reject class folders of which no file could be read: a class would be gone."""
    reasons = dict(samples.skipped)
    pairs = list(zip(found.files, found.folders, strict=True))
    left = {folder for file, folder in pairs if file not in reasons}
    for file, folder in pairs:
        if folder not in left and set(samples.labels) <= left:
            raise ValueError(
                f"no file of the class {folder} can be read, first {file}: "
                f"{why_skipped(file, reasons[file])}. Replace its files, or remove the "
                "class."
            )


def _classes(samples, noun):
    """Names of the classes, and the number of each file's class."""
    _check_all_labelled(samples, noun)
    classes, codes, counts = np.unique(
        samples.labels, return_inverse=True, return_counts=True
    )
    if len(classes) < 2:
        raise ValueError(
            f"there is one class, {classes[0]}; a classifier needs two or more."
        )
    if counts.max() == 1:
        raise ValueError(
            f"every {noun} has a label of its own, such as {classes[0]}: labels must "
            f"be classes, which several {noun}s share, not measured values or names."
        )
    if counts.min() < LEAST:
        least = f"{counts.min()} readable {noun}{'s' if counts.min() > 1 else ''}"
        raise ValueError(
            f"the class {classes[counts.argmin()]} has {least}; at least {LEAST} are "
            f"needed, some to choose settings and some to test them. Add {noun}s, or "
            "remove the class."
        )
    return classes, codes


def _check_all_labelled(samples, noun):
    """Reject files without a label, whether some or all."""
    pairs = zip(samples.files, samples.labels, strict=True)
    missing = [file for file, label in pairs if label is None]
    if 0 < len(missing) < len(samples.files):
        raise ValueError(
            f"{len(missing)} of {len(samples.files)} {noun}s have no label, first "
            f"{missing[0]}: leave them out, or give them one."
        )
    if missing:
        raise ValueError(
            f"{missing[0]} has no label: put the files of each class into a subfolder "
            "of its own, folder/class/file, or pass target= for a file of arrays."
        )
