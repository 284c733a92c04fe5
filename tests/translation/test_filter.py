"""Translation as a filter: lines as they arrive, each a text of its own."""

import os
from pathlib import Path

import pytest

from builder.errors import FormatError
from builder.parameters import TranslationParameters
from builder.runtime.limits import ResourceLimits
from builder.translation import translate_stream
from builder.translation.filter import read_line_blocks


def _blocks(*written: bytes) -> list[list[str]]:
    """The blocks that a reader sees who reads after each write to a pipe."""
    reader, writer = os.pipe()
    blocks = []
    with os.fdopen(reader, "rb") as stream:
        found = read_line_blocks(stream)
        for chunk in written:
            os.write(writer, chunk)
            if b"\n" in chunk:
                blocks.append(next(found))
        os.close(writer)
        return blocks + list(found)


def test_lines_are_given_out_as_soon_as_they_arrive() -> None:
    assert _blocks(b"a\n", b"b\n\nc\n", b"d") == [["a"], ["b", "", "c"], ["d"]]


def test_a_line_may_arrive_in_parts() -> None:
    accent = "é".encode()
    assert _blocks(b"caf" + accent[:1], accent[1:] + b"\nx") == [["café"], ["x"]]


def test_a_byte_order_mark_is_dropped_and_bad_lines_are_named() -> None:
    assert _blocks("\ufeffa\n".encode()) == [["a"]]
    with pytest.raises(FormatError, match="standard input, line 3"):
        _blocks(b"a\nb\n", b"\xff\n")


def test_as_many_lines_come_out(model: Path, tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_bytes("le chat\n\n- un chien\r\n\vle\u2028chat".encode())
    params = TranslationParameters(model=model, compute_type="float32")
    with source.open("rb") as stream:
        blocks = translate_stream(stream, params, ResourceLimits(tmp_path, threads=1))
        texts = [translation.text for block in blocks for translation in block]
    assert texts == ["the cat", "", "- a dog\r", "\vthe\u2028cat"]
