"""A short run of the fuzz harness, and a search by hypothesis for loads that fail."""

import random
import sys

import pytest
from fuzz_models import LIMIT_BYTES, MUTATIONS, Fuzzer, peak_bytes
from hypothesis import given, settings
from hypothesis import strategies as st
from model_files import resigned, split_file


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


def test_a_short_run(fuzzer):
    """Time is printed by the command; a test on a busy machine asserts none."""
    fuzzer.run(120, seed=1)
    text, _ = fuzzer.report()
    assert "0 failures" in text and "canary: silent" in text, text
    assert peak_bytes() - fuzzer.baseline <= LIMIT_BYTES


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
