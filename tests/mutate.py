"""Mutation testing of the numerics: which errors would the tests notice?

    pip install cosmic-ray
    python tests/mutate.py scatter solver.ascent --jobs 2
    python tests/mutate.py solver.linalg solver.cp solver.path --sample 120 --seed 0

A mutant is one module with one small error in it, made by cosmic-ray's operators. A
fast choice of tests runs on each up to the first failure, in a child of this process,
which has the libraries loaded but nothing of tensorcrp: importing them takes longer
than most tests. (By fork: not on Windows.) A mutant that needs far more processor time
than the module itself counts as killed.

Outcomes are lines of a file in ``.mutants`` with the module's checksum in its name: an
interrupted run goes on where it was, a module that has changed starts anew, and
``--survivors`` runs those that survived once more, on tests that have changed. Prints,
per module, the share killed and the survivors, which are to be covered or explained.
"""

import argparse
import ast
import hashlib
import importlib
import json
import os
import random
import re
import resource
import sys
import time
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_loader
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SESSIONS = ROOT / ".mutants"
# Sharp and fast tests first.
SHRINK = "test_streaming.py::test_error_of_fewer_rows_is_within_its_bound"
LOST = "test_whitening.py::test_a_lost_trace_counts_as_lost_alike_in_all_directions"
TESTS = {
    "scatter": f"test_scatter.py {SHRINK} {LOST}",
    "storage.centred": "test_scatter.py test_sources.py",
    "storage.merging": f"test_scatter.py {SHRINK}",
    **dict.fromkeys(
        ("solver.cp", "solver.cp_form"),
        "test_algebra.py test_ascent.py test_rows.py test_solver.py "
        "test_full_rank.py test_devices.py",
    ),
    **dict.fromkeys(
        (
            *("solver.path", "solver.solve_rows", "solver.ascent", "solver.starts"),
            *("solver.directions", "solver.full_rank", "solver.lane_rows"),
        ),
        "test_solve_checks.py test_ascent.py test_rows.py test_solver.py "
        "test_full_rank.py test_starts.py test_fit_paths.py test_extending.py",
    ),
    **dict.fromkeys(
        (
            *("solver.rows", "solver.array_rows", "solver.row_products"),
            *("solver.blocks", "solver.linalg", "solver.products"),
        ),
        "test_algebra.py test_ascent.py test_rows.py test_solver.py",
    ),
    **dict.fromkeys(
        ("solver.metric", "solver.model", "solver.objective", "solver.deflation"),
        "test_ascent.py test_metrics.py test_extending.py test_solver.py",
    ),
}
LIBRARIES = """numpy scipy.linalg tensorly tensorly.cp_tensor tensorly.tenalg hypothesis
    threadpoolctl sklearn.base sklearn.discriminant_analysis sklearn.model_selection
    sklearn.neighbors sklearn.svm sklearn.utils.estimator_checks numpy.testing"""
# Without tests that take seconds and check what a quicker one in the list does too.
# The usual options name plugins, which are not loaded.
PYTEST = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
PYTEST += ["-o", "addopts=--strict-markers --import-mode=importlib"]
PYTEST += ["-k", "not algorithm_1 and not sequential_deflation"]
# Eleven replacements of every operator say little more than two: keep + - * /.
EXCLUDED = re.compile(
    "core/ReplaceBinaryOperator_.*_(Mod|LShift|RShift|BitOr|BitAnd|BitXor|FloorDiv|Pow)"
    "|core/ReplaceComparisonOperator_.*_(Is|IsNot)"
    "|core/RemoveDecorator|core/ExceptionReplacer|core/NoOp"
)


# What changes nothing: numpy takes any negative size for -1, lengths that `strict`
# compares are equal, no test writes to a frozen class, flags of LAPACK are true or
# false, a sample has at least one mode; and annotations, which are not evaluated.
EQUIVALENT = [
    (re.compile(r"(?<=[(, ])(- ?2|~ ?1)(?=[,)])"), "-1"),
    (re.compile(r"(strict|frozen)=False"), r"\1=True"),
    (re.compile(r"(overwrite_\w)= ?2"), r"\1=1"),
    (re.compile(r"len\(shape\) <= 1"), "len(shape) == 1"),
]


def unannotated(source):
    """The syntax tree of a module, as text, without annotations."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for name in {"annotation", "returns"} & set(node._fields):
            setattr(node, name, None)
    return ast.dump(tree)


class Module:
    """A module, its mutants and what became of them so far."""

    def __init__(self, name):
        self.name = name
        self.path = (ROOT / "tensorcrp").joinpath(*name.split(".")).with_suffix(".py")
        self.source = self.path.read_text()
        checksum = hashlib.sha256(self.source.encode()).hexdigest()[:12]
        self.session = SESSIONS / f"{name}-{checksum}.jsonl"
        self.tests = [f"tests/{each}" for each in TESTS[name].split()]
        lines = self.session.read_text().splitlines() if self.session.exists() else ()
        self.outcomes = {
            (operator, occurrence): killed
            for operator, occurrence, killed in map(json.loads, lines)
        }

    def mutants(self):
        """All pairs of an operator's name and an occurrence."""
        from cosmic_ray.ast import ast_nodes, get_ast
        from cosmic_ray.plugins import get_operator, operator_names

        nodes = list(ast_nodes(get_ast(self.source)))
        for name in operator_names():
            kind = get_operator(name)
            if EXCLUDED.fullmatch(name) or kind.arguments():
                continue
            operator = kind()
            found = sum(len(list(operator.mutation_positions(node))) for node in nodes)
            yield from ((name, occurrence) for occurrence in range(found))

    def mutated(self, mutant):
        from cosmic_ray.mutating import mutate_code
        from cosmic_ray.plugins import get_operator

        name, occurrence = mutant
        return mutate_code(self.source, get_operator(name)(), occurrence)

    def difference(self, mutant):
        """Number, old and new text of the line that a mutant changes."""
        before, after = self.source.splitlines(), self.mutated(mutant).splitlines()
        pairs = enumerate(zip(before, after, strict=False), 1)
        line, (old, new) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
        return line, old.strip(), new.strip()

    def is_equivalent(self, mutant):
        """Whether a mutant is one of those that change nothing."""
        if unannotated(self.mutated(mutant)) == unannotated(self.source):
            return True
        _, old, new = self.difference(mutant)
        for pattern, text in EQUIVALENT:
            old, new = pattern.sub(text, old), pattern.sub(text, new)
        return old.replace(" ", "") == new.replace(" ", "")

    def record(self, mutant, killed):
        self.outcomes[mutant] = killed
        with self.session.open("a") as file:
            file.write(json.dumps([*mutant, killed]) + "\n")


class MutantLoader(SourceFileLoader):
    """Finds and loads one module from a changed source; first in `sys.meta_path`."""

    def __init__(self, module, source):
        super().__init__(f"tensorcrp.{module.name}", str(module.path))
        self.source = source

    def find_spec(self, name, path=None, target=None):
        return spec_from_loader(name, self) if name == self.name else None

    def get_code(self, fullname):
        return compile(self.source, self.path, "exec", dont_inherit=True)


def start(module, source, seconds, output=os.devnull):
    """A child that runs the tests on a source; exits with 0 if they pass."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        sys.meta_path.insert(0, MutantLoader(module, source))
        status = pytest.main([*PYTEST, *module.tests])
    finally:
        os._exit(int(status))


def run(module, mutants, jobs):
    """Try the mutants that have no outcome yet, `jobs` at a time."""
    log = SESSIONS / "unchanged.log"
    _, status, usage = os.wait4(start(module, module.source, 10_000, log), 0)
    if status:
        raise SystemExit(f"{module.name} itself does not pass its tests: see {log}")
    seconds = int(5 + 3 * (usage.ru_utime + usage.ru_stime))
    running, done, begun = {}, 0, time.monotonic()
    left = list(mutants)
    while left or running:
        while left and len(running) < jobs:
            mutant = left.pop(0)
            running[start(module, module.mutated(mutant), seconds)] = mutant
        child, status = os.wait()
        module.record(running.pop(child), bool(status))
        done += 1
        minutes = (time.monotonic() - begun) / 60
        words = f"\r{module.name}: {done}/{len(mutants)} in {minutes:.1f} minutes"
        print(words, end="", file=sys.stderr, flush=True)


def report(module, chosen, total):
    """The share killed of those that ran, and the survivors."""
    ran = [mutant for mutant in chosen if mutant in module.outcomes]
    alive = [mutant for mutant in ran if not module.outcomes[mutant]]
    survivors = [mutant for mutant in alive if not module.is_equivalent(mutant)]
    same = len(alive) - len(survivors)
    killed, count = len(ran) - len(alive), len(ran) - same
    what = "all" if len(ran) == total else "a random sample"
    print(
        f"\n{module.name}: {killed} of {count} mutants killed "
        f"({100 * killed / max(1, count):.0f} %), {same} more change nothing; "
        f"{what} of {total}"
    )
    for mutant in survivors:
        line, old, new = module.difference(mutant)
        print(f"  line {line}: {old}  ->  {new}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="+", choices=sorted(TESTS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sample", type=int, help="so many mutants of each, at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--survivors", action="store_true", help="run them again")
    options = parser.parse_args()
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # they take a second each time
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    SESSIONS.mkdir(exist_ok=True)
    for library in LIBRARIES.split():
        importlib.import_module(library)
    for module in map(Module, options.modules):
        mutants = list(module.mutants())
        random.Random(options.seed).shuffle(mutants)  # a part of a run is a sample
        chosen = mutants[: options.sample]
        try:
            wanted = False if options.survivors else None  # survived, or not yet run
            left = [m for m in chosen if module.outcomes.get(m) is wanted]
            run(module, left, options.jobs)
        except KeyboardInterrupt:
            pass
        report(module, chosen, len(mutants))


if __name__ == "__main__":
    main()
