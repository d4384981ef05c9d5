"""What the commands of this package share: options, and what is left of them.

In: an argparse parser, or parsed arguments. Out: options, or a sentence.
"""

import argparse
import os
import sys
from shutil import get_terminal_size
from textwrap import fill


def add_common(parser):
    """Options of every command that runs a plan."""
    parser.add_argument(
        "--seed", type=whole_number(0), default=0, metavar="N", help="of the splits"
    )
    parser.add_argument(
        "--jobs",
        type=whole_number(1),
        default=cores(),
        metavar="N",
        help="processes (default: one per core)",
    )


MOTIONS = ("none", "centred", "difference", "root")


def add_settings(group, motions=MOTIONS, defaults=True):
    """Options of the readers of files, and of what is done along time."""
    number = whole_number(1)

    def add(name, words=None, **how):
        group.add_argument(name, help=words, **how)

    clip, size = (" (default: 16)", " (default of clips: 32 32)") if defaults else "  "
    add("--frames", f"of a clip{clip}".rstrip(), type=number, metavar="N")
    sizes = {"type": number, "nargs": 2, "metavar": ("HEIGHT", "WIDTH")}
    add("--size", f"of frames and images{size}".rstrip(), **sizes)
    add("--color", choices=("gray", "rgb"))
    add("--sampling", choices=("uniform", "center", "windows"))
    add("--stride", "frames between windows", type=number, metavar="N")
    add("--motion", "transformation along time", choices=motions)
    add_on_error(group)
    add_variables(group)


def add_variables(group):
    """Which arrays of a file are the samples and the labels."""
    words = "samples in a file of arrays"
    group.add_argument("--data", metavar="NAME", dest="data_name", help=words)
    words = "labels in a file of arrays"
    group.add_argument("--target", metavar="NAME", help=words)
    words = "the axis of an array that counts samples"
    group.add_argument("--samples", choices=("first", "last"), help=words)


def add_on_error(group):
    """What becomes of files that cannot be read."""
    group.add_argument(
        "--on-error",
        choices=("skip", "raise"),
        default="skip",
        help="list and skip files that cannot be read, or end (default: skip)",
    )


def given_settings(args):
    """The options of `add_settings` that were given, by the names of the readers."""
    names = ("frames", "color", "sampling", "stride", "motion", "on_error")
    found = {name: getattr(args, name) for name in names}
    found["size"] = None if args.size is None else tuple(args.size)
    found = {name: value for name, value in found.items() if value is not None}
    return found | given_variables(args)


def given_variables(args):
    """The options of `add_variables` that were given."""
    found = {"data": args.data_name, "target": args.target, "samples": args.samples}
    return {name: value for name, value in found.items() if value is not None}


def cores():
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def whole_number(least):
    """Type of an option: an integer of at least `least`."""

    def number(text):
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(
                f"needs a whole number of at least {least}, got {text!r}"
            )
        return int(text)

    return number


def training_size(text):
    """Type of an option: samples per class (3), or a share of all (0.8, 80%)."""
    if text.isdecimal() and int(text) >= 3:
        return int(text)
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(
            "needs a number of training samples per class of at least 3, or a share "
            f"between 0 and 1 such as 0.8 or 80%, got {text!r}"
        )
    return share


def how_many(n, noun):
    """A number and its noun: 1 file, 2 files."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def say(sentence):
    """Print beside the results, on stderr; on a terminal, lines end between words."""
    if sys.stderr.isatty():
        width = get_terminal_size().columns
        how = {"break_long_words": False, "break_on_hyphens": False}
        lines = [fill(line, width, **how) for line in sentence.split("\n")]
        sentence = "\n".join(lines)
    print(sentence, file=sys.stderr)


def kept_runs(args):
    """What is left of a command that ended early."""
    if args.out is None:
        return "nothing was kept. With --out DIR, finished runs are, and can be resumed"
    return (
        f"finished runs are in {os.path.join(args.out, 'rows.jsonl')}: the same "
        "command resumes there"
    )
