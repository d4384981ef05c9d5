"""``tensorcrp transform MODEL DATA -o FILE``: features of files."""

import csv
import io
from pathlib import Path

from tensorcrp.commands.reading_options import (
    add_model,
    add_reading,
    as_request,
    check_no_input,
    check_output_file,
    given_data,
    list_skipped,
    load_model,
    nothing_kept,
    with_options,
    write_output,
)
from tensorcrp.experiments.errors import BadRequest


def add_command(commands):
    """Add the command to the parser of ``tensorcrp``."""
    parser = commands.add_parser(
        "transform",
        description="Features of files by a model of tensorcrp fit, with names: one "
        "row per file, or per window of a file.",
    )
    add_model(parser)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="ends in .npz, .csv or .parquet",
    )
    add_reading(parser, fitting=False)
    parser.set_defaults(run=run, kept=nothing_kept)


def run(args):
    """Run the command; returns the exit code."""
    suffix = Path(args.output).suffix.lower()
    if suffix not in WRITERS:
        raise BadRequest(f"-o {args.output} must end in {', '.join(WRITERS)}.")
    check_output_file(args.output, "-o", streams=True)
    if suffix == ".parquet":
        _check_pandas()
    model, data = with_options(load_model(args.model), args), given_data(args.data)
    check_no_input(args.output, "-o", args.model, data)
    with as_request(fitted=True):
        features = model.features(data, args.groups)
        list_skipped(features.skipped)
        WRITERS[suffix](args.output, features)
    n, h = features.data.shape
    print(f"{n} rows of {h} features are in {args.output}")
    return 0


def _write_npz(path, features):
    import numpy as np

    names = np.array(features.feature_names)
    arrays = {"X": features.data, "files": np.array(features.files)}
    if features.groups is not None:
        arrays["groups"] = np.array(features.groups)
    out = io.BytesIO()
    np.savez(out, **arrays, feature_names=names)
    write_output(path, out.getvalue())


def _write_csv(path, features):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = _columns(features)
    writer.writerow([*columns, *features.feature_names])
    for *names, row in zip(*columns.values(), features.data.tolist(), strict=True):
        writer.writerow([*names, *row])
    write_output(path, text.getvalue().encode("utf-8", "surrogateescape"))


def _columns(features):
    """What a table has before the features: the file, and the group if there is one."""
    groups = {} if features.groups is None else {"group": features.groups}
    return {"file": features.files} | groups


def _write_parquet(path, features):
    import pandas as pd

    frame = pd.DataFrame(features.data, columns=features.feature_names)
    for place, (name, values) in enumerate(_columns(features).items()):
        frame.insert(place, name, values)
    out = io.BytesIO()
    frame.to_parquet(out, index=False)
    write_output(path, out.getvalue())


def _check_pandas():
    try:
        import pandas as pd
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise BadRequest(
            '.parquet files need pandas and pyarrow: pip install "tensorcrp[parquet]"; '
            "or write .npz or .csv."
        ) from error
    return pd


WRITERS = {".npz": _write_npz, ".csv": _write_csv, ".parquet": _write_parquet}
