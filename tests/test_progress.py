"""The progress bar: on a terminal alone, and the items are untouched."""

import io
import sys

import pytest

from tensorcrp.base.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def closed():
    stream = Terminal()
    stream.close()
    return stream


def test_a_terminal_sees_a_bar(monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert list(progress(iter("abc"), "letters", total=3)) == list("abc")
    assert "letters" in sys.stderr.getvalue()
    assert "3/3" in sys.stderr.getvalue() or "0/3" in sys.stderr.getvalue()


@pytest.mark.parametrize("stream", [io.StringIO(), None, closed()])
def test_what_is_no_terminal_gets_nothing(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    items = [1, 2]
    assert progress(items, "numbers") is items
    assert not isinstance(stream, io.StringIO) or stream.closed or not stream.tell()


def test_it_is_silent_on_request_and_without_tqdm(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    items = [1, 2]
    assert progress(items, "numbers", shown=False) is items
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert progress(items, "numbers") is items
