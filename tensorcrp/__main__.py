"""The command ``tensorcrp`` as ``python -m tensorcrp``."""

import sys

from tensorcrp.cli import main

if __name__ == "__main__":  # not again in the processes that it starts
    sys.exit(main())
