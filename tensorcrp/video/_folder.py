"""Many video files to one array.

In: ``folder/class/clip.mp4``. Out: `Clips`, its data filled in place, in memory or in
a ``.npy`` file, by one thread or several.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tensorcrp.base.files import check_replaceable
from tensorcrp.base.notebook import samples_html, samples_lines
from tensorcrp.base.parameters import check_choice, check_integer
from tensorcrp.base.progress import progress
from tensorcrp.base.types import AnyPath, Array, Integers
from tensorcrp.base.validation import nothing_read
from tensorcrp.video._decode import Plan, count_frames, read_into
from tensorcrp.video._listing import listed
from tensorcrp.video._opening import ClipError, import_av
from tensorcrp.video._room import close_gaps, room_for


@dataclass(frozen=True, repr=False)
class Clips:
    """Clips read from files; unpacks as ``X, y, files``.

    Parameters
    ----------
    data : ndarray of shape (n, frames, height, width) or (n, frames, height, width, 3)
        The clips.
    target : ndarray of int, shape (n,)
        Index into `target_names`; None for files that were given without classes.
    files : list of n str
        The file of each clip.
    target_names : list of str
        Names of the subfolders.
    starts : ndarray of int, shape (n,)
        Number of the first frame of each clip in its file.
    mode_names : tuple of str
        "time", "row", "column" and, of colour clips, "color".
    skipped : list of (str, str)
        Files that gave no clip, each with the reason.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.datasets import make_moving_shapes
    >>> from tensorcrp.video import read_clips
    >>> with TemporaryDirectory() as folder:
    ...     made = make_moving_shapes(1, 2, random_state=0, folder=folder)
    ...     clips = read_clips(folder, frames=8, size=(16, 16))
    >>> clips.target_names, clips.mode_names
    (['left', 'right'], ('time', 'row', 'column'))
    """

    data: Array
    target: Integers | None
    files: list[str]
    target_names: list[str]
    starts: Integers
    mode_names: tuple[str, ...]
    skipped: list[tuple[str, str]]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.data, self.target, self.files))

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return samples_html(self._lines(), self.data, self.mode_names)

    def _lines(self):
        more = [f"{len(set(self.files))} files, {len(self.skipped)} skipped"]
        named = (self.data, self.target, self.target_names, self.mode_names)
        return samples_lines("Clips", *named, more)


def read_clips(
    folder: AnyPath | Sequence[AnyPath],
    frames: int = 16,
    size: tuple[int, int] = (32, 32),
    *,
    color: Literal["gray", "rgb"] = "gray",
    sampling: Literal["uniform", "center", "windows"] = "uniform",
    stride: int | None = None,
    dtype: Literal["float32", "uint8"] = "float32",
    on_error: Literal["raise", "skip"] = "raise",
    memmap: AnyPath | None = None,
    n_jobs: int | None = 1,
    progress: bool = True,
) -> Clips:
    """Read a folder with one subfolder of video files per class.

    Parameters
    ----------
    folder : path, or list of paths
        ``folder/class/clip.mp4``; hidden files are ignored. A list of files gives clips
        without labels.
    frames : int, default=16
        Frames of a clip. A file with fewer is an error.
    size : (int, int), default=(32, 32)
        Height and width to which frames are resized; a pixel is the mean of its area.
    color : {"gray", "rgb"}, default="gray"
        One value per pixel, or three as a last mode.
    sampling : {"uniform", "center", "windows"}, default="uniform"
        One clip per file of equally spaced frames, first and last included; one of the
        frames in the middle; or all clips of successive frames that a file holds.
    stride : int, default=None
        Frames between the starts of successive windows; None for `frames`: windows do
        not overlap. Only for "windows".
    dtype : {"float32", "uint8"}, default="float32"
        float32 values lie in [0, 1], uint8 values in 0 to 255. Video of more than 8
        bits keeps up to 16 of them in float32 and is rounded to 8 in uint8.
    on_error : {"raise", "skip"}, default="raise"
        What to do with a file that cannot be read. "skip" leaves it out, lists it in
        `Clips.skipped` and warns once.
    memmap : path, default=None
        Build the result in this ``.npy`` file, for arrays larger than memory. Its room
        on the disk is reserved before anything is decoded; it is written under
        another name and renamed when it is complete.
    n_jobs : int, default=1
        Files decoded at a time, in threads; -1 for one per processor.
    progress : bool, default=True
        Show a progress bar if tqdm is installed and the output is a terminal.

    Returns
    -------
    Clips
        Unpacks as ``X, y, files``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from tensorcrp.datasets import make_moving_shapes
    >>> from tensorcrp.video import read_clips
    >>> with TemporaryDirectory() as folder:
    ...     made = make_moving_shapes(2, random_state=0, folder=folder)
    ...     X, y, files = read_clips(folder, frames=8, size=(16, 16))
    >>> X.shape, y.tolist()
    ((8, 8, 16, 16), [0, 0, 1, 1, 2, 2, 3, 3])
    """
    plan = Plan(frames, size, color, sampling, stride, dtype)
    check_choice("on_error", on_error, ("raise", "skip"))
    import_av()
    if memmap is not None:
        check_replaceable(memmap)
    files, codes, names = listed(folder)
    places = np.cumsum([0, *(_room(path, plan) for path in files)])
    with room_for(memmap, (int(places[-1]), *plan.shape), dtype) as result:

        def job(i):
            return _attempt(files[i], result.array[places[i] : places[i + 1]], plan)

        # Closed here, whatever happens: a generator with a pool of threads must not be
        # left to the garbage collector, which may run while a thread is starting.
        with closing(_in_order(job, len(files), n_jobs, progress)) as outcomes:
            starts, skipped = _sort_out(outcomes, files, on_error)
        kept = [len(each) for each in starts]
        owner = np.repeat(np.arange(len(files)), kept)
        target = None if codes is None else codes[owner]
        _check_left(owner, target, names, skipped)
        result.finish(close_gaps(result.array, places, kept))
    starts, modes = np.concatenate(starts), plan.mode_names
    owners = [files[i] for i in owner]
    return Clips(result.data(), target, owners, names, starts, modes, skipped)


def _room(path, plan):
    """Places for the clips of a file: exact, or what its packets promise."""
    if plan.sampling != "windows":
        return 1
    try:
        return len(plan.index(path, count_frames(path)))
    except ClipError:
        return 0  # said again, and dealt with, when the file is read


def _attempt(path, out, plan):
    """Numbers of the first frames of the clips, or the error."""
    try:
        return read_into(path, out, plan)
    except ClipError as error:
        return error


def _in_order(job, n, n_jobs, shown):
    """Outcomes of ``job(0), ..., job(n - 1)``, in order, with a progress bar."""
    if n_jobs != -1:
        check_integer("n_jobs", n_jobs)
    threads = min(n, (os.cpu_count() or 1) if n_jobs == -1 else n_jobs)
    if threads == 1:
        yield from progress(map(job, range(n)), "clips", shown, n, "file")
        return
    pool = ThreadPoolExecutor(threads)
    try:
        yield from progress(pool.map(job, range(n)), "clips", shown, n, "file")
    finally:  # also after an error or Ctrl-C: start nothing more
        pool.shutdown(cancel_futures=True)


# Advice that does not help where files are skipped already.
SKIP_ADVICE = re.compile(r',? or (pass )?on_error="skip"( to leave it out)?')


def _sort_out(outcomes, files, on_error):
    """First frames of the clips of each file, and the files without any."""
    starts, skipped = [], []
    for path, outcome in zip(files, outcomes, strict=True):
        bad = isinstance(outcome, ClipError)
        if bad and on_error == "raise":
            raise outcome
        if bad:
            skipped.append((path, SKIP_ADVICE.sub("", str(outcome))))
        starts.append(np.empty(0, int) if bad else outcome)
    if skipped:
        few = ", ".join(path for path, _ in skipped[:3])
        more = ", ..." if len(skipped) > 3 else ""
        warnings.warn(
            f"skipped {len(skipped)} of {len(files)} files: {few}{more}; the reasons "
            "are in .skipped.",
            stacklevel=3,
        )
    return starts, skipped


def _check_left(owner, target, names, skipped):
    """Reject a result in which skipping left fewer than two classes."""
    if not len(owner):
        raise nothing_read(skipped)
    if target is not None and len(np.unique(target)) < 2:
        left = names[target[0]]
        first = f" First reason: {skipped[0][1]}" if skipped else ""
        raise ValueError(f"only files of the class {left!r} could be read.{first}")
