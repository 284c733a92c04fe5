"""Lines of JSON that are parsed together: which of them, and how they are split after a failure."""

import numpy as np
import pyarrow as pa
import pytest

from builder.ingest import line_columns as module
from builder.ingest.line_columns import ColumnSchema, parse_lines
from builder.ingest.lines import LineChunk

NUMBERS = ColumnSchema(pa.schema({"a": pa.int64()}), has_other_fields=False)
AMONG_OTHERS = ColumnSchema(pa.schema({"a": pa.int64()}), has_other_fields=True)


def _parsed(lines: list[bytes], schema: ColumnSchema) -> tuple[list[object], list[int]]:
    """The values that are parsed together, and the indices of their lines."""
    columns, rows = parse_lines(LineChunk(1, b"\n".join(lines), 50), schema)
    return [] if columns is None else columns["a"].to_pylist(), rows.tolist()


def test_lines_before_and_after_faulty_lines_are_parsed_together() -> None:
    lines = [b'{"a":1}', b'{"a":"x"}', b'{"a":3}', b"rubbish", b'{"a":null}', b"{}"]
    assert _parsed(lines, NUMBERS) == ([1, 3, None, None], [0, 2, 4, 5])
    assert _parsed([b"rubbish"], NUMBERS) == ([], [])


def test_texts_that_are_not_utf8_are_left_to_the_other_parser() -> None:
    texts = ColumnSchema(pa.schema({"a": pa.string()}), has_other_fields=False)
    assert _parsed([b'{"a":"\xc3\xa9"}'], texts) == (["é"], [0])
    assert _parsed([b'{"a":"\xff"}'], texts) == ([], [])


def test_the_number_of_attempts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [b'{"a":1}', b'{"a":"x"}', b'{"a":3}', b'{"a":"x"}', b'{"a":5}']
    for most, rows in ((0, []), (1, []), (2, [0]), (3, [0, 2, 4])):
        monkeypatch.setattr(module, "MAX_FAILURES", most)
        assert _parsed(lines, NUMBERS)[1] == rows


def test_a_part_with_an_ignored_field_that_is_no_json_is_left_to_the_other_parser() -> None:
    """The faulty line is unknown; parts have 16 lines."""
    lines = [b'{"a":1,"b":2}'] * 40
    assert _parsed(lines, AMONG_OTHERS)[1] == list(range(40))
    lines[20] = b'{"a":1,"b":NaN}'
    assert _parsed(lines, AMONG_OTHERS)[1] == [*range(16), *range(32, 40)]
    lines[20] = b'{"a":1,"b":"\xff"}'
    assert _parsed(lines, AMONG_OTHERS)[1] == [*range(16), *range(32, 40)]


@pytest.mark.parametrize(
    ("lines", "faulty_line", "parts"),
    [
        ((0, 10), 3, [(0, 3), (4, 10)]),
        ((5, 8), 0, [(6, 8)]),
        ((5, 8), 2, [(5, 7)]),
        ((5, 6), 0, []),
        ((5, 8), 3, []),
        ((4, 44), 40, [(4, 20), (20, 36), (36, 44)]),
        ((0, 16), None, []),
        ((2, 19), None, [(2, 18), (18, 19)]),
        ((0, 256), None, [(start, start + 16) for start in range(0, 256, 16)]),
        ((0, 257), None, [*((start, start + 17) for start in range(0, 255, 17)), (255, 257)]),
    ],
)
def test_a_range_that_failed_is_split(
    lines: tuple[int, int], faulty_line: int | None, parts: list[tuple[int, int]]
) -> None:
    assert module._split_range(*lines, faulty_line) == parts


def test_only_whole_objects_of_one_line_are_parsed_together() -> None:
    lines = [b'{"a":1}', b"{}\r", b"{", b"}", b"", b"\r", b" {}", b"{} ", b'{"a":23}', b"[]", b""]
    for starts_mid_line, first in ((False, [0, 1]), (True, [1])):
        chunk = LineChunk(1, b"\n".join(lines), 7, starts_mid_line)
        assert np.flatnonzero(module._object_line_mask(chunk)).tolist() == first
    assert module._object_line_mask(LineChunk(1, b"", 7)).tolist() == [False]
    assert module._object_line_mask(LineChunk(1, None, 7)).tolist() == []
    mask = np.array([True, True, False, True, False, False, True])
    assert module._true_ranges(mask) == [(0, 2), (3, 4), (6, 7)]


@pytest.mark.parametrize(
    ("data", "is_needed"),
    [
        (b'{"a": NaN}', True),
        (b'{"a": -Infinity }', True),
        (b'{"a": [Inf, 1]}', True),
        (b'{"a": "NaN"}', False),
        (b'{"a": "Infinity", "b": 1}', False),
        (b'{"a":[[[]]]}', False),
        (b'{"a":[[[[]]]]}', True),
        (b'{"a":{"b":{"c":{"d":{}}}}}', True),
        (b'{"a":[[]]}\n{"a":[[]]}', False),
        (b"[[[[", False),
    ],
)
def test_numbers_that_are_no_json_and_deep_nesting_need_the_other_parser(
    data: bytes, is_needed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BRACKETS", 4)
    assert module._needs_line_by_line_parser(data) is is_needed
