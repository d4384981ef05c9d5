"""``tensorcrp reproduce`` under its public name; see `tensorcrp.experiments.paper`."""

from tensorcrp.experiments.paper.run import (
    add_command,
    page_from,
    protocols_from,
    run,
    write_page,
)

__all__ = ["add_command", "page_from", "protocols_from", "run", "write_page"]
