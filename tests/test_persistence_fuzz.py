"""A short run of the fuzz harness, and a search by hypothesis for loads that fail."""

import random
import re
import subprocess
import sys

import fuzz_models
import pytest
from crafted_models import CRAFTED
from fuzz_models import Fuzzer
from hypothesis import given, settings
from hypothesis import strategies as st
from model_files import crp_file, model_file, resigned, split_file
from mutated_models import MUTATIONS


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory):
    fuzzer = Fuzzer(tmp_path_factory.mktemp("models"))
    yield fuzzer
    sys.path.remove(str(fuzzer.folder))


@pytest.mark.parametrize("mutate", dict.fromkeys(MUTATIONS), ids=lambda m: m.__name__)
def test_every_mutation(mutate, fuzzer):
    rng = random.Random(mutate.__name__)
    for _ in range(15):
        content = mutate(rng.choice(fuzzer.contents), rng)
        fuzzer.attempt(content, mutate.__name__)
    assert not fuzzer.failures


@pytest.mark.parametrize("name", CRAFTED)
def test_crafted_files_with_a_correct_checksum(name, fuzzer):
    """Rejected, and before memory is asked for: the promise of SECURITY.md."""
    rng = random.Random(name)
    before = fuzzer.counts["refused"]
    for _ in range(5):
        fuzzer.attempt(CRAFTED[name](rng), name)
    assert not fuzzer.failures
    assert fuzzer.counts["refused"] == before + 5


def test_what_crafted_files_are_made_of_is_sound(fuzzer):
    before = fuzzer.counts["loaded"]
    for content in (crp_file(), model_file()):
        fuzzer.attempt(content, "sound")
    assert fuzzer.counts["loaded"] == before + 2


@pytest.mark.slow
def test_a_short_run_of_the_command():
    """Time is printed by the command; a test on a busy machine asserts none."""
    command = [sys.executable, fuzz_models.__file__, "--count", "200", "--seed", "test"]
    out = subprocess.run(command, capture_output=True, text=True)
    found = re.search(SUMMARY, out.stdout, re.S)
    assert found, out.stdout + out.stderr
    refused, loaded, megabytes = map(int, found.groups())
    assert refused + loaded == 200
    assert refused > 0 and loaded > 0
    assert megabytes <= 200


SUMMARY = r"""200 files: (\d+) refused, (\d+) loaded, 0 failures
slowest .*
peak memory above the baseline (\d+) MB
canary: silent"""


def test_sound_files_still_load(fuzzer):
    before = fuzzer.counts["loaded"]
    for content in fuzzer.contents:
        fuzzer.attempt(content, "sound")
    assert fuzzer.counts["loaded"] == before + len(fuzzer.contents)


@settings(max_examples=150)
@given(st.data())
def test_any_bytes_in_any_place(fuzzer, data):
    """Bytes overwritten in a sound file, signed again or not."""
    content = bytearray(data.draw(st.sampled_from(fuzzer.contents)))
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.integers(0, len(content) - 1))
        new = data.draw(st.binary(min_size=1, max_size=16))
        content[where : where + len(new)] = new
    content = bytes(content)
    if data.draw(st.booleans()) and len(content) > 8:
        content = resigned(*split_file(content))
    fuzzer.attempt(content, "hypothesis")
    assert not fuzzer.failures


@settings(max_examples=100)
@given(st.binary(max_size=400), st.booleans())
def test_any_bytes_at_all(fuzzer, content, signed):
    if signed and len(content) > 8:
        content = resigned(*split_file(content))
    fuzzer.attempt(content, "hypothesis")
    assert not fuzzer.failures
