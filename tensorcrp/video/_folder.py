"""Many video files to one array.

In: ``folder/class/clip.mp4``. Out: `Clips`, its data filled in place, in memory or in
a ``.npy`` file, by one thread or several.
"""

import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tensorcrp.video._decode import (
    ClipError,
    Plan,
    check_choice,
    check_count,
    count_frames,
    import_av,
    read_into,
)
from tensorcrp.video._listing import listed


@dataclass(frozen=True)
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

    data: np.ndarray
    target: np.ndarray | None
    files: list
    target_names: list
    starts: np.ndarray
    mode_names: tuple
    skipped: list

    def __iter__(self):
        return iter((self.data, self.target, self.files))


def read_clips(
    folder,
    frames=16,
    size=(32, 32),
    *,
    color="gray",
    sampling="uniform",
    stride=None,
    dtype="float32",
    on_error="raise",
    memmap=None,
    n_jobs=1,
    progress=True,
):
    """Read a folder with one subfolder of video files per class.

    Parameters
    ----------
    folder : path, or list of paths
        ``folder/class/clip.mp4``; hidden files are passed over. A list of files gives
        clips without labels.
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
        Frames between the starts of successive windows; None for `frames`, windows
        side by side. Only for "windows".
    dtype : {"float32", "uint8"}, default="float32"
        float32 values lie in [0, 1], uint8 values in 0 to 255.
    on_error : {"raise", "skip"}, default="raise"
        What to do about a file that gives no clip. "skip" leaves it out, lists it in
        `Clips.skipped` and warns once.
    memmap : path, default=None
        Build the result in this ``.npy`` file, for arrays larger than memory. It is
        written under another name and renamed when it is complete.
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
    files, codes, names = listed(folder)
    places = np.cumsum([0, *(_room(path, plan) for path in files)])
    with _Result(memmap, (int(places[-1]), *plan.shape), dtype) as result:

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
        data = result.finish(places, kept)
    starts, modes = np.concatenate(starts), plan.mode_names
    owners = [files[i] for i in owner]
    return Clips(data, target, owners, names, starts, modes, skipped)


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


def _in_order(job, n, n_jobs, progress):
    """Outcomes of ``job(0), ..., job(n - 1)``, in order, with a progress bar."""
    if n_jobs != -1:
        check_count("n_jobs", n_jobs)
    threads = min(n, (os.cpu_count() or 1) if n_jobs == -1 else n_jobs)
    if threads == 1:
        yield from _bar(map(job, range(n)), n, progress)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        yield from _bar(pool.map(job, range(n)), n, progress)
    finally:  # also after an error or Ctrl-C: start nothing more
        pool.shutdown(cancel_futures=True)


def _bar(outcomes, n, progress):
    try:
        from tqdm import tqdm
    except ImportError:
        return outcomes
    off = None if progress else True  # None: off unless the output is a terminal
    return tqdm(outcomes, total=n, desc="clips", unit="file", disable=off)


def _sort_out(outcomes, files, on_error):
    """First frames of the clips of each file, and the files without any."""
    starts, skipped = [], []
    for path, outcome in zip(files, outcomes, strict=True):
        bad = isinstance(outcome, ClipError)
        if bad and on_error == "raise":
            raise outcome
        if bad:
            skipped.append((path, str(outcome)))
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
    """Refuse a result in which skipping left nothing to tell apart."""
    first = f" First reason: {skipped[0][1]}" if skipped else ""
    if not len(owner):
        raise ValueError(f"no file could be read.{first}")
    if target is not None and len(np.unique(target)) < 2:
        left = names[target[0]]
        raise ValueError(f"only files of the class {left!r} could be read.{first}")


class _Result:
    """The array to fill, in memory or in a ``.npy`` file that appears when whole."""

    def __init__(self, path, shape, dtype):
        self.path = None if path is None else Path(path)
        if self.path is None:
            self.array = np.empty(shape, dtype)
            return
        self.part = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        self.array = np.lib.format.open_memmap(self.part, "w+", dtype, shape)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.array = None
        if self.path is not None:
            self.part.unlink(missing_ok=True)  # there only after an error

    def finish(self, places, kept):
        """Close the gaps that skipped clips left; the array as it is handed out."""
        end = 0
        for place, n in zip(places, kept, strict=False):
            if end < place:
                for i in range(n):  # clip by clip: a gap can be shorter than n
                    self.array[end + i] = self.array[place + i]
            end += n
        if self.path is None:
            return self.array[:end]
        self._cut(end)
        os.replace(self.part, self.path)
        return np.load(self.path, mmap_mode="r", allow_pickle=False)

    def _cut(self, n):
        """Flush the file and shorten it to n clips, header included."""
        shape, dtype = self.array.shape, self.array.dtype
        offset, clip = self.array.offset, self.array[:1].nbytes
        self.array.flush()
        self.array = None
        header = {
            "descr": np.lib.format.dtype_to_descr(dtype),
            "fortran_order": False,
            "shape": (n, *shape[1:]),
        }
        with open(self.part, "r+b") as file:
            # numpy pads headers so that the first size can grow or shrink in place.
            np.lib.format.write_array_header_1_0(file, header)
            if file.tell() != offset:
                raise OSError(f"cannot shorten {self.part}: its header changed size.")
            file.truncate(offset + n * clip)
            file.flush()
            os.fsync(file.fileno())
