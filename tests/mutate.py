"""Mutation testing of the numerics with cosmic-ray: which errors would tests notice?

    pip install cosmic-ray
    python tests/mutate.py scatter solver _algebra

A mutant is one module with one small error in it. A fast choice of tests runs on each,
up to the first failure, in a copy of the repository. The session of a module is a file
in ``.mutants`` that has the module's checksum in its name: an interrupted run goes on
where it was, and a module that has changed starts anew. Prints, per module, the share
of mutants killed and the survivors, which are to be covered or explained.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
SESSIONS = ROOT / ".mutants"
TESTS = {
    "scatter": "test_scatter test_streaming",
    "solver": "test_solver test_bilinear test_properties",
    "_algebra": "test_algebra test_solver test_scatter",
    "_ascent": "test_solver test_bilinear test_properties",
    "_starts": "test_solver test_bilinear test_properties",
}
# Eleven replacements of every operator say little more than two: keep + - * /.
CONFIGURATION = """
[cosmic-ray]
module-path = "tensorcrp/{module}.py"
timeout = 300.0
excluded-modules = []
test-command = "{python} -m pytest -x -q -p no:cacheprovider {tests}"

[cosmic-ray.distributor]
name = "local"

[cosmic-ray.filters.operators-filter]
exclude-operators = [
    "core/ReplaceBinaryOperator_.*_(Mod|LShift|RShift|BitOr|BitAnd|BitXor|FloorDiv|Pow)",
    "core/ReplaceComparisonOperator_.*_(Is|IsNot)",
    "core/RemoveDecorator",
    "core/ExceptionReplacer",
]
"""


def run(*command, folder, **options):
    """A tool of cosmic-ray, on the copy of the package and not on the installed one."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder)}
    scripts = Path(sys.executable).parent
    return subprocess.run(
        [str(scripts / command[0]), *map(str, command[1:])],
        cwd=folder,
        env=environment,
        check=True,
        **options,
    )


def mutate(module):
    """Run what is left to run; returns the session."""
    source = (ROOT / "tensorcrp" / f"{module}.py").read_bytes()
    session = SESSIONS / f"{module}-{hashlib.sha256(source).hexdigest()[:12]}.sqlite"
    SESSIONS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in ("tensorcrp", "tests"):
            shutil.copytree(ROOT / name, folder / name)
        shutil.copy(ROOT / "pyproject.toml", folder)
        tests = " ".join(f"tests/{name}.py" for name in TESTS[module].split())
        text = CONFIGURATION.format(module=module, tests=tests, python=sys.executable)
        tomllib.loads(text)
        (folder / "mutate.toml").write_text(text)
        run("cosmic-ray", "baseline", "mutate.toml", folder=folder)
        if not session.exists():
            run("cosmic-ray", "init", "mutate.toml", session, folder=folder)
            run("cr-filter-operators", session, "mutate.toml", folder=folder)
        run("cosmic-ray", "exec", "mutate.toml", session, folder=folder)
    return session


def report(module, session):
    """The share killed of those that ran, and the survivors."""
    dump = run(
        "cosmic-ray", "dump", session, folder=ROOT, capture_output=True, text=True
    )
    pairs = [json.loads(line) for line in dump.stdout.splitlines()]
    ran = [(item, result) for item, result in pairs if result and _outcome(result)]
    survivors = [(i, r) for i, r in ran if _outcome(r) == "survived"]
    share = 100 * (1 - len(survivors) / max(1, len(ran)))
    left = sum(result is None for _, result in pairs)
    print(f"{module}: {share:.0f} % of {len(ran)} mutants killed, {left} still to run")
    for item, result in survivors:
        (mutation,) = item["mutations"]
        lines = (result["diff"] or "").splitlines()
        changed = [d for d in lines if d[:1] in "+-" and d[:3] not in ("+++", "---")]
        print(f"  line {mutation['start_pos'][0]}:", "  ->  ".join(changed))


def _outcome(result):
    """None for mutants that were filtered out."""
    skipped = result["worker_outcome"] == "skipped"
    return None if skipped else result["test_outcome"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="+", choices=sorted(TESTS))
    for module in parser.parse_args().modules:
        try:
            session = mutate(module)
        except KeyboardInterrupt:
            session = max(SESSIONS.glob(f"{module}-*.sqlite"), key=os.path.getmtime)
        report(module, session)


if __name__ == "__main__":
    main()
