"""Options of every command that reads files, and errors in their words.

In: an argparse parser, or parsed arguments. Out: options, parameters of a
`FileClassifier`, or a `BadRequest` that names an option and not a Python argument.
"""

import os
import re
import sys
from contextlib import contextmanager
from itertools import chain

from tensorcrp.base.files import check_replaceable, replacing
from tensorcrp.experiments.errors import BadRequest
from tensorcrp.experiments.options import (
    MOTIONS,
    add_settings,
    cores,
    given_settings,
    given_variables,
    how_many,
    say,
    whole_number,
)

# Python's words in messages of the readers -> those of the command line.
OPTION_WORDS = (
    (r'(pass )?on_error="skip"', "--on-error skip"),
    (r'samples="(\w+)"', r"--samples \1"),
    (r"size=\(height, width\)", "--size HEIGHT WIDTH"),
    (r"frames=(\d+)", r"--frames \1"),
    (r'sampling="(\w+)"', r"--sampling \1"),
    (r"stride=(\d+)", r"--stride \1"),
    (r'read_tensors\(path, data="(\w+)", target="(\w+)"\)', r"--data \1 --target \2"),
    (r"\bdata=(?=[ .;,]|$)", "--data"),
    (r"\btarget=(?=[ .;,]|$)", "--target"),
    (r"^size=\((\d+), (\d+)\) is for", r"--size \1 \2 is for"),
    (r"^(\w+)='?([^']+?)'? is for", r"--\1 \2 is for"),
    (r"(^|: )groups '", r"\1--groups '"),
    (r"^motion must", "--motion must"),
    (
        r"^kind='(\w+)' (needs two times.*); take \"none\"",
        r"--motion \1 \2; take --motion none",
    ),
    (r"^classifier must", "--classifier must"),
    (r", or pass a list of files to read them without labels", ""),
)


# What only tensorcrp fit offers -> what the user of a model can do.
OF_A_MODEL = (
    (
        r"fewer than --frames (\d+): pass --frames \d+ or less",
        r"fewer than the \1 of the model: remove it",
    ),
)


def add_reading(parser, fitting):
    """Options of the readers; those that a model knows need not be given again."""
    words = None if fitting else READ_AS_FITTED
    group = parser.add_argument_group("reading of files", words)
    add_settings(group, ("auto", *MOTIONS), defaults=fitting)
    words = GROUPS_HELP if fitting else f"a column with the group of each file: {RULES}"
    group.add_argument("--groups", metavar="RULE", help=words)
    group.add_argument(
        "--jobs",
        type=whole_number(1),
        default=cores(),
        metavar="N",
        help="threads and processes (default: one per core)",
    )
    group.add_argument(
        "--cache", metavar="DIR", help="keep decoded clips here for the next command"
    )


READ_AS_FITTED = (
    "Files are read as the model was fitted. Frames, size, colour, sampling, stride "
    "and motion may be given, and are then compared with the model."
)
RULES = (
    "parent (folder/class/GROUP/file), FILE.csv:COLUMN, a regular expression on the "
    "path, or an array of the file"
)
GROUPS_HELP = f"what stays together in every split: {RULES}"


def settings(args):
    """Parameters of a FileClassifier from parsed arguments."""
    check_output_folder(args.cache, "--cache")
    how = {"n_jobs": args.jobs, "cache": args.cache, "verbose": 1}
    return given_settings(args) | how


def in_options(text, fitted=False):
    """A message of the readers with options in place of Python's arguments.

    `fitted`: a model says how files are read, so that no option can change it.
    """
    for pattern, words in OPTION_WORDS + (OF_A_MODEL if fitted else ()):
        text = re.sub(pattern, words, text)
    return text


@contextmanager
def as_request(fitted=False):
    """Turn errors that the user can correct into one sentence and exit code 2."""
    try:
        yield
    except BadRequest:
        raise
    except OSError as error:
        if error.strerror is not None and error.errno == 28:  # a full disk
            raise
        raise BadRequest(in_options(_path_words(error), fitted)) from error
    except (ValueError, TypeError, ImportError) as error:
        raise BadRequest(in_options(str(error), fitted)) from error


def _path_words(error, repair="check the path"):
    if error.strerror is None:
        return str(error)
    if isinstance(error, FileNotFoundError):
        return f"{error.filename} does not exist; {repair}."
    return f"{error.strerror}: {error.filename}"


# Names of standard output. A second handle on it would have a place of its own in the
# file that a shell redirects it to, so that rows and words overwrite each other.
STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def check_output_file(path, option, streams=False):
    """Find out now whether a file, or a stream if it may be one, can be written."""
    if path in STDOUT and streams:
        return
    try:
        check_replaceable(path, streams=streams)
    except (OSError, ValueError) as error:
        repair = "make that folder, or check the path"
        words = _path_words(error, repair) if isinstance(error, OSError) else error
        raise BadRequest(f"{option} {path} cannot be written: {words}") from error


# Files that commands write: in a folder of samples they are none of these.
WRITTEN = (".csv", ".parquet", ".safetensors")


def check_no_input(path, option, *inputs):
    """Reject a file to write that is one of the inputs: paths, or lists of paths."""
    if path in STDOUT or not os.path.isfile(path):
        return
    from tensorcrp.video import files_below

    lists = ([each] if isinstance(each, str) else each for each in inputs)
    for given in chain.from_iterable(lists):
        below = files_below(given) if os.path.isdir(given) else [given]
        for file in below:
            known = file is given or not file.lower().endswith(WRITTEN)
            if known and os.path.exists(file) and os.path.samefile(path, file):
                raise BadRequest(
                    f"{option} {path} is one of the files that are read; name another."
                )


def check_output_folder(path, option):
    """Find out now whether files can be written to a folder later, if one is given."""
    if path is not None and os.path.exists(path) and not os.path.isdir(path):
        raise BadRequest(f"{option} {path} is a file; give the path of a folder.")


def write_output(path, data):
    """Write bytes to a file, to standard output if it is ``-``, or to a device."""
    if path not in STDOUT:
        with replacing(path, streams=True) as file:
            file.write(data)
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def given_data(paths):
    """The path, the paths, or those that stdin lists, one per line (``-``)."""
    if paths == ["-"]:
        paths = [line for line in sys.stdin.read().splitlines() if line.strip()]
        if not paths:
            raise BadRequest("nothing to read: stdin lists no files.")
        return list(dict.fromkeys(paths))
    if "-" in paths:
        raise BadRequest("give - alone to read the names of files from stdin.")
    paths = list(dict.fromkeys(paths))  # rows name their files: once is enough
    return paths[0] if len(paths) == 1 else paths


def list_skipped(skipped):
    """All files that could not be read, at once, on stderr."""
    if skipped:
        from tensorcrp.files.samples import why_skipped

        say(f"{how_many(len(skipped), 'file')} could not be read:")
        for path, words in skipped:
            say(f"  {path}: {why_skipped(path, words)}")


def load_model(path):
    """A FileClassifier from a model file."""
    from tensorcrp.files import FileClassifier
    from tensorcrp.persistence import load

    with as_request():
        try:
            model = load(path)
        except ValueError as error:
            text = str(error)
            named = text if str(path) in text else f"{path}: {text}"
            raise BadRequest(named) from error
    if not isinstance(model, FileClassifier) or not hasattr(model, "model_"):
        raise BadRequest(
            f"{path} holds a {type(model).__name__}, which does not know how files are "
            "read. Use a file that tensorcrp fit wrote, or tensorcrp.persistence.load."
        )
    return model


def add_model(parser):
    """The argument MODEL, and DATA to use it on."""
    parser.add_argument(
        "model", metavar="MODEL", help="a file that tensorcrp fit wrote"
    )
    parser.add_argument(
        "data",
        nargs="+",
        metavar="DATA",
        help="files, a folder with or without subfolders, or - for names on stdin",
    )


def with_options(model, args):
    """The model, reading as the options of this command say."""
    check_output_folder(args.cache, "--cache")
    _check_as_fitted(model, args)
    how = {"on_error": args.on_error, "n_jobs": args.jobs, "cache": args.cache}
    return model.set_params(**how, **given_variables(args), verbose=1)


def _check_as_fitted(model, args):
    """Reject options that differ from what the model was fitted with."""
    from tensorcrp.files.reading import check_options

    given, reader = given_settings(args), model.reader_
    with as_request():
        check_options(reader["kind"], reader | given, reader)
    fitted = reader | {"motion": model.model_[0].kind}
    if reader["sampling"] == "windows":  # side by side, unless it is said
        fitted["stride"] = reader["stride"] or reader["frames"]
    for name in ("frames", "size", "color", "sampling", "stride", "motion"):
        value = given.get(name)
        if value not in (None, "auto", fitted[name]):
            raise BadRequest(
                f"{_option(name, value)}, but the model was fitted with "
                f"{_option(name, fitted[name])}, and reads new files in the same way: "
                "leave the option out, or fit another model."
            )


def _option(name, value):
    """An option as it is written on the command line."""
    values = value if isinstance(value, tuple) else (value,)
    if value is None:
        return f"no --{name}"
    return " ".join(["--" + name, *map(str, values)])


def nothing_kept(args):
    """What is left of a command that ended early."""
    return "nothing was written"
