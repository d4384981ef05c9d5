"""Rows as a data frame: in, rows; out, one line per classifier (needs pandas)."""

from tensorcrp.base.results import chosen, selected

FIELDS = ("data", "train", "split", "method")
MORE = ("n_classes", "n_train", "n_test", "features", "fit_seconds", "tune_seconds")


def rows_frame(rows):
    """A pandas DataFrame of the settings chosen on the training samples.

    Columns: data, train, split, method, classifier, accuracy (in %), setting, numbers
    of classes, samples and features, seconds, and the reason where a run was skipped.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas: pip install pandas, or take the rows."
        ) from error
    lines = [line for row in rows for line in _lines(row)]
    return pandas.DataFrame(lines)


def _lines(row):
    place = {name: row[name] for name in FIELDS}
    if "classifiers" not in row:
        return [{**place, "skipped": row.get("skipped", "")}]
    more = {name: row.get(name) for name in MORE}
    settings, lines = row["parameters"]["settings"], []
    for name in row["classifiers"]:
        accuracy = selected([row], name, "honest")
        if accuracy is not None:
            setting = settings[chosen([row], name, "honest")[0]]
            figures = {"accuracy": float(accuracy[0]), "setting": setting}
            lines.append({**place, "classifier": name, **figures, **more})
    return lines
