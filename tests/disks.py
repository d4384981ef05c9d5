"""Disks that are soon full, for tests: a small one, and a limit for everyone."""

import resource
import subprocess
from contextlib import contextmanager


@contextmanager
def small_disk(folder, size):
    """Mount a disk of `size` bytes, for root on Linux; False where it cannot be.

    It goes when nobody uses it any more, as a killed process may for a while.
    """
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        mounted = not subprocess.run(command, capture_output=True).returncode
    except OSError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def small_files(size):
    """Files of this process may have at most `size` bytes; needs no rights."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
