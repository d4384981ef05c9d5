"""The ``tensorcrp`` command: hands over to the module of each of its commands.

A module in `COMMANDS` has ``add_command(commands)``, which adds a parser whose default
``run`` is a function from parsed arguments to an exit code.
"""

import argparse
import sys

from tensorcrp import __version__, bench
from tensorcrp.experiments import compare, reproduce

COMMANDS = (compare, reproduce, bench)


def main(argv=None):
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="tensorcrp",
        description="Compound rank-k projections of matrices and tensors.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    for module in COMMANDS:
        module.add_command(commands)
    args = parser.parse_args(argv)
    try:
        return args.run(args)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
