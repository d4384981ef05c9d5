"""``tensorcrp predict MODEL DATA``: labels of new files."""

import csv
import io

from tensorcrp.commands.reading_options import (
    STDOUT,
    add_model,
    add_reading,
    as_request,
    check_no_input,
    check_output_file,
    given_data,
    list_skipped,
    load_model,
    nothing_kept,
    with_options,
    write_output,
)
from tensorcrp.experiments.options import how_many, say

CSV = "write the rows to a CSV file, or to standard output by -"


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
    parser.add_argument("--csv", metavar="FILE", help=CSV)
    add_reading(parser, fitting=False)
    parser.set_defaults(run=run, kept=nothing_kept)


def run(args):
    """Run the command; returns the exit code."""
    from tensorcrp.commands.printed import print_predictions

    if args.csv is not None:
        check_output_file(args.csv, "--csv", streams=True)
    model, data = with_options(load_model(args.model), args), given_data(args.data)
    if args.csv is not None:
        check_no_input(args.csv, "--csv", args.model, data)
    with as_request(fitted=True):
        predictions = model.predict_files(data, args.groups)
        list_skipped(predictions.skipped)
        if args.csv is not None:
            _write_csv(args.csv, predictions)
    if args.csv is None:
        print_predictions(predictions)
    elif args.csv not in STDOUT:  # which then has the rows and nothing else
        n = len(predictions.files)
        print(f"{how_many(n, 'row')} {'is' if n == 1 else 'are'} in {args.csv}")
    _say_accuracy(predictions, model.reader_["kind"])
    return 0


def _write_csv(path, predictions):
    text, rows = io.StringIO(), predictions.rows()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_output(path, text.getvalue().encode("utf-8", "surrogateescape"))


def _say_accuracy(predictions, kind):
    """Accuracy on stderr, where folders are classes of the model."""
    from tensorcrp.files.samples import NOUNS

    noun = NOUNS[kind]
    known = [each for each in predictions.truth if each is not None]
    if not known:
        return
    files = how_many(len(known), f"labelled {noun}")
    say(f"accuracy: {100 * predictions.accuracy:.1f} % of {files}")
    if len(known) < len(predictions.files):
        others = [
            file
            for file, label in zip(predictions.files, predictions.truth, strict=True)
            if label is None
        ]
        place = "not in a folder" if noun == "file" else "not"
        classes = ", ".join(map(str, predictions.classes))
        say(
            f"{how_many(len(others), noun)} {place} of a known class, e.g. "
            f"{others[0]};\nthe model knows {classes}"
        )
