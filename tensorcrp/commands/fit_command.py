"""``tensorcrp fit DATA -o MODEL``: labelled files in, one model file out."""

import os
import shlex
from contextlib import contextmanager, suppress
from time import perf_counter

from tensorcrp.commands.reading_options import (
    STDOUT,
    add_reading,
    as_request,
    check_no_input,
    check_output_file,
    check_output_folder,
    list_skipped,
    nothing_kept,
    settings,
)
from tensorcrp.experiments.errors import BadRequest
from tensorcrp.experiments.options import whole_number


def add_command(commands):
    """Add the command to the parser of ``tensorcrp``."""
    parser = commands.add_parser(
        "fit",
        description="Fit a classifier to a folder with one subfolder of clips or "
        "images per class, or to a file of arrays or epochs. Motion, rank, ridge and "
        "number of components are chosen by cross-validation; the accuracy to expect "
        "is that of files held out from all choices.",
    )
    parser.add_argument(
        "data",
        metavar="DATA",
        help="folder/class/file, folder/train and folder/test, or a .npz, .mat, .h5, "
        ".zarr or .fif file",
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="MODEL", help="the model file to write"
    )
    parser.add_argument("--report", metavar="DIR", help="write DIR/report.html")
    parser.add_argument(
        "--classifier",
        choices=("lda", "logistic", "nearest-mean", "1-nn", "linear-svm", "rbf-svm"),
        default="lda",
        metavar="NAME",  # the choices would make the usage wider than 80 columns
        help="of the features: %(choices)s (default: lda)",
    )
    parser.add_argument(
        "--folds",
        type=whole_number(2),
        default=5,
        metavar="N",
        help="at most (default: 5); of a class of five files or groups, or fewer, one "
        "at a time is left out",
    )
    parser.add_argument(
        "--seed", type=whole_number(0), default=0, metavar="N", help="of the folds"
    )
    add_reading(parser, fitting=True)
    parser.set_defaults(run=run, kept=nothing_kept)


def run(args):
    """Run the command; returns the exit code."""
    from tensorcrp.commands.printed import print_fit
    from tensorcrp.files import FileClassifier
    from tensorcrp.persistence import save

    start = perf_counter()
    if args.output in STDOUT:
        raise BadRequest(
            f"-o {args.output} is standard output, where the results go; name a file."
        )
    check_output_file(args.output, "-o")
    check_no_input(args.output, "-o", args.data)
    model = FileClassifier(
        args.classifier, cv=args.folds, random_state=args.seed, **settings(args)
    )
    with as_request(), _report_folder(args):
        model.fit(args.data, groups=args.groups)
        list_skipped(model.skipped_)
        save(model, args.output)
    print_fit(model)
    if args.report is not None:
        _report(model, args)
    print(f"\n{args.output} written in {perf_counter() - start:.0f} s; use it by")
    print(f"  tensorcrp predict {shlex.quote(args.output)} FILES")
    return 0


@contextmanager
def _report_folder(args):
    """The folder of the report, made now; a new one is gone if the fit ends early."""
    new = args.report is not None and not os.path.exists(args.report)
    _check_report(args)
    try:
        yield
    except BaseException:
        if new:
            with suppress(OSError):
                os.rmdir(args.report)
        raise


def _check_report(args):
    """Find out now whether the report can be written later."""
    if args.report is None:
        return
    from tensorcrp.report import check_report

    check_output_folder(args.report, "--report")
    if os.path.abspath(args.report) == os.path.abspath(args.output):
        raise BadRequest(
            f"-o {args.output} is the model file, and --report {args.report} a folder: "
            "give two paths."
        )
    check_report(args.report)


def _report(model, args):
    from tensorcrp.report import write_fit_report

    path = write_fit_report(model, args.report, command=args.command_line)
    print(f"\nreport: {path}")
