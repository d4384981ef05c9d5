"""``tensorcrp predict MODEL DATA``: labels of new files."""

import csv
import io

from tensorcrp.commands.reading_options import (
    add_model,
    add_reading,
    as_request,
    check_output_file,
    given_data,
    list_skipped,
    load_model,
    nothing_kept,
    with_options,
)
from tensorcrp.experiments.options import say

COLUMNS = ("file", "label", "probability", "second")


def add_command(commands):
    """Add the command to the parser of ``tensorcrp``."""
    parser = commands.add_parser(
        "predict",
        description="Labels of files by a model of tensorcrp fit: one line per file "
        "with label, probability, second choice and path. Files are read as the model "
        "was fitted. If they lie in folders with names of classes, the accuracy is "
        "printed.",
    )
    add_model(parser)
    parser.add_argument("--csv", metavar="FILE", help="write the rows to a CSV file")
    add_reading(parser, fitting=False)
    parser.set_defaults(run=run, error=parser.error, kept=nothing_kept)


def run(args):
    """Run the command; returns the exit code."""
    from tensorcrp.commands.printed import print_predictions

    if args.csv is not None:
        check_output_file(args.csv, "--csv")
    model = with_options(load_model(args.model), args)
    with as_request():
        predictions = model.predict_files(given_data(args.data))
        list_skipped(predictions.skipped)
        if args.csv is not None:
            _write_csv(args.csv, predictions)
    if args.csv is None:
        print_predictions(predictions)
    else:
        print(f"{len(predictions.files)} rows are in {args.csv}")
    _say_accuracy(predictions)
    return 0


def _write_csv(path, predictions):
    from tensorcrp.base.files import replacing

    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(predictions.rows())
    with replacing(path) as file:
        file.write(text.getvalue().encode("utf-8", "surrogateescape"))


def _say_accuracy(predictions):
    """Accuracy on stderr, where folders are classes of the model."""
    known = [each for each in predictions.truth if each is not None]
    if not known:
        return
    say(f"accuracy: {100 * predictions.accuracy:.1f} % of {len(known)} labelled files")
    if len(known) < len(predictions.files):
        others = [
            file
            for file, label in zip(predictions.files, predictions.truth, strict=True)
            if label is None
        ]
        classes = ", ".join(map(str, predictions.classes))
        say(
            f"{len(others)} files are not in a folder of a known class, e.g. "
            f"{others[0]}; the model knows {classes}"
        )
