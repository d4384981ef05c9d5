"""The ``tensorcrp`` command: hands over to the module of each of its commands.

Only the module of the command that runs is loaded: ``--version`` and ``--help`` answer
at once. Such a module has ``add_command(commands)``, which adds a parser with two
defaults: ``run``, a function from parsed arguments to an exit code; ``kept``, a
function from parsed arguments to a sentence on what is left of a command that ended
early.

Everything that ends a command early becomes a sentence and an exit code here.
"""

import argparse
import os
import re
import shlex
import sys
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module

from tensorcrp import __version__
from tensorcrp.experiments.errors import BadRequest

# Name: its module, and what it does.
COMMANDS = {
    "fit": (
        "tensorcrp.commands.fit_command",
        "a folder of clips, images or recordings in, a model file out",
    ),
    "predict": ("tensorcrp.commands.predict_command", "labels of new files"),
    "transform": ("tensorcrp.commands.transform_command", "features of new files"),
    "inspect": ("tensorcrp.commands.inspect_command", "what is in a model file"),
    "compare": (
        "tensorcrp.experiments.compare",
        "every method on your data, or on digits and synthetic clips",
    ),
    "reproduce": (
        "tensorcrp.experiments.paper.run",
        "the paper's experiments beside its published numbers",
    ),
    "bench": (
        "tensorcrp.experiments.bench",
        "speed and memory beside baselines and the machine's limits",
    ),
}
FAILED = 1
BAD_REQUEST = 2  # as argparse ends
INTERRUPTED = 130  # as a shell reports Ctrl-C
UNREAD = 141  # as a shell reports a command whose reader has gone
ENDINGS = (KeyboardInterrupt, OSError, MemoryError, BrokenProcessPool)


def main(argv=None):
    """Run the command; returns the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    args = _parsed(list(map(str, argv)))
    args.command_line = shlex.join(["tensorcrp", *map(str, argv)])
    _print_any_text()
    try:
        code = args.run(args)
        _flush()
        return code
    except BadRequest as error:
        from tensorcrp.commands.reading_options import in_options
        from tensorcrp.experiments.options import say

        # The usage helps with options; argparse prints it with its own errors.
        say(f"tensorcrp {args.command}: error: {in_options(str(error))}")
        raise SystemExit(BAD_REQUEST) from error
    except ENDINGS as error:
        return _ended(error, args)


def _parsed(argv):
    """Parsed arguments; what is unknown is an error of the command, not of all."""
    parser, commands = _parser(argv[:1])
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        own = commands.choices[args.command]
        known = re.findall(r"--[\w-]+", own.format_help())
        near = get_close_matches(unknown[0].partition("=")[0], known, n=1)
        offer = f"; did you mean {near[0]}?" if near else ""
        own.error(f"unrecognized arguments: {' '.join(unknown)}{offer}")
    return args


def _parser(chosen):
    """A parser that knows the options of the chosen command, and the others' names.

    Beside it the parsers of the commands.
    """
    parser = argparse.ArgumentParser(
        prog="tensorcrp",
        description="Compound rank-k projections of matrices and tensors.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, (module, what) in COMMANDS.items():
        if [name] == list(chosen):
            import_module(module).add_command(commands)
        else:
            commands.add_parser(name, help=what)
    return parser, commands


def _print_any_text():
    """Escape what the terminal's encoding lacks, e.g. in the name of a file."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def _flush():
    if sys.stdout is not None:  # closed by the caller
        sys.stdout.flush()


def _ended(error, args):
    """Say why the command ended early and what is left of it; the exit code."""
    try:
        _flush()
    except OSError:  # nor can the interpreter's own flush succeed: it gets a sink
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return UNREAD
    with suppress(OSError):
        print(f"\n{_reason(error, args)}; {args.kept(args)}.", file=sys.stderr)
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAILED


def _reason(error, args):
    fewer = " (--jobs 1 needs less)" if getattr(args, "jobs", 1) > 1 else ""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, BrokenProcessPool):
        return f"error: a process was killed, often because memory ran out{fewer}"
    if isinstance(error, MemoryError):
        return f"error: memory ran out{fewer}"
    if error.strerror is None:
        return f"error: {str(error).rstrip('.')}"
    place = "" if error.filename is None else f": {os.fsdecode(error.filename)}"
    return f"error: {error.strerror}{place}"
