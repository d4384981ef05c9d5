"""``tensorcrp inspect MODEL``: what is in a model file."""

from tensorcrp.commands.reading_options import as_request, nothing_kept


def add_command(commands):
    """Add the command to the parser of ``tensorcrp``."""
    parser = commands.add_parser(
        "inspect",
        description="What is in a model file: classes, how samples are read, "
        "parameters, scores at fit, versions and checksum. Any file of "
        "tensorcrp.persistence.save will do.",
    )
    parser.add_argument("model", metavar="MODEL")
    parser.set_defaults(run=run, kept=nothing_kept)


def run(args):
    """Run the command; returns the exit code."""
    from tensorcrp.commands.printed import file_size
    from tensorcrp.experiments.errors import BadRequest
    from tensorcrp.persistence import describe, load

    with as_request():
        try:
            model, header = load(args.model), describe(args.model)
        except ValueError as error:
            text = str(error)
            named = text if args.model in text else f"{args.model}: {text}"
            raise BadRequest(named) from error
    print(f"{args.model}: {header['class']}, {file_size(args.model)}")
    print(f"format {header['format']}, sha256 {header['checksum'][:32]}...")
    versions = ", ".join(f"{k} {v}" for k, v in header["versions"].items())
    print(f"written with {versions}")
    if hasattr(model, "reader_"):
        _print_files(model)
    else:
        print(f"samples: {header['sample_shape']}")
        print(model)
    return 0


def _print_files(model):
    from tensorcrp.commands.printed import accuracy_lines, paragraph, settings_lines
    from tensorcrp.files.samples import NOUNS

    print(paragraph(f"classes: {', '.join(map(str, model.classes_))}"))
    for line in reader_lines(model.reader_):
        print(paragraph(line))
    for line in settings_lines(model):
        print(line)
    print(f"classifier: {model.model_[-1].estimator_}")
    for line in accuracy_lines(model.scores_, NOUNS[model.reader_["kind"]]):
        print(line)


def reader_lines(reader):
    """How samples are read, one setting per line."""
    modes = zip(reader["mode_names"], reader["shape"], strict=True)
    yield "samples: " + " x ".join(f"{size} ({name})" for name, size in modes)
    low, high = reader["range"]
    yield f"values: {reader['dtype']} from {low:g} to {high:g}"
    names = {
        "clips": ("frames", "size", "color", "sampling", "stride"),
        "images": ("size", "color"),
        "arrays": ("data", "target", "samples"),
        "epochs": (),
    }[reader["kind"]]
    pairs = [f"{n} {reader[n]}" for n in names if reader[n] is not None]
    yield f"read from: {reader['kind']}" + (f", {', '.join(pairs)}" if pairs else "")
    if reader["channel_names"] is not None:
        yield f"channels: {', '.join(reader['channel_names'])}"
    if reader["times"] is not None:
        yield f"times: {reader['times'][0]:g} to {reader['times'][-1]:g} s"
