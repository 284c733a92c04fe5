import gzip
import os
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from builder.errors import FormatError, UsageError
from builder.trec import lines
from builder.trec.bounded import read_decompressed_bytes
from builder.trec.lines import QRELS, RUN, SCORES, parse_trec

FILE = Path("some.run")
LINES = b"q1 Q0 d1 1 2.5 bm25\nq1 Q0 d2 2 -1e-3 bm25\nq2 Q0 d1 1 .5 bm25\n"
ROWS = [("q1", "d1", 2.5), ("q1", "d2", -0.001), ("q2", "d1", 0.5)]


@pytest.mark.parametrize(
    "data",
    [
        LINES,
        LINES.replace(b" ", b"\t"),
        LINES.replace(b"\n", b"\r\n"),
        LINES.replace(b" ", b"  \t"),
        LINES.rstrip(b"\n"),
        b"\n \n" + LINES.replace(b"\n", b"\n\n"),
        b"  " + LINES.replace(b"\n", b" \n"),
        LINES.replace(b"q2 Q0 d1 1 .5", b"q2\tQ0 d1 1 .5"),
    ],
)
def test_white_space_does_not_matter(data: bytes) -> None:
    assert parse_trec(data, RUN, FILE).rows() == ROWS


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (b"q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 t\n", 2, "expected the 6 columns .* found 5"),
        (b"q1 Q0 d1 1 2.5 t\n\nq1 Q0 d2 2 2 t t\n", 3, "expected the 6 columns .* found 7"),
        (b"q1 Q0 d1 1 2.5 t\nq1 Q0  2 2.5 t\n", 2, "found 5"),
        (b"q1 Q0 d1 1 nan t\n", 1, "expected a number as score, found 'nan'"),
        (b"q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 NaN t\n", 2, "expected a number"),
        (b"q1 Q0 d1 1 high t\n", 1, "expected a number as score, found 'high'"),
        (b"q1 Q0 d1 1 1,5 t\n", 1, "expected a number"),
        (b"q1 Q0 d1 1 1_0 t\n", 1, "expected a number"),
        (b"q1 Q0 d1 1 0x1A t\n", 1, "expected a number"),
        (b"q1 Q0 d1 1 NA t\n", 1, "expected a number"),
        (b"q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\nq1 Q0 d1 3 0 t\n", 3, r"'d1' for query 'q1' .* 1"),
        (b"q1 Q0 d\xff 1 2 t\n", 1, "UTF-8"),
        (b"q1 Q0 d\x00e 1 2 t\n", 1, "NUL"),
        (b"query Q0 doc rank score tag\n", 1, "expected a number as score, found 'score'"),
    ],
)
def test_a_malformed_run_names_its_line(lines: bytes, line: int, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        parse_trec(lines, RUN, FILE)
    assert (caught.value.file, caught.value.line) == ("some.run", line)


@pytest.mark.parametrize("separator", [" ", "\t"])
@pytest.mark.parametrize(
    "grade", ["1.0", "x", "12345678901", "2147483648", "-2147483649", "", "1e0", "NA", "0x1", "0X1"]
)
def test_a_grade_is_an_integer(grade: str, separator: str) -> None:
    text = f"q1 0 d1 1\nq1 0 d2 {grade}\n".replace(" ", separator)
    with pytest.raises(FormatError) as caught:
        parse_trec(text.encode(), QRELS, FILE)
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"q1 Q0 d1 1 2.5 " + b"t" * 70 + b" x",
            "some.run, line 1: expected the 6 columns of a TREC run (query_id Q0 doc_id rank score "
            "tag), found 7 columns: 'q1 Q0 d1 1 2.5 " + "t" * 65 + "'",
        ),
        (
            b"q1 Q0 d1 1 2 t\nq1 Q0 d2 2 " + b"9" * 39 + b"xyz t",
            "some.run, line 2: expected a number as score, found '" + "9" * 39 + "x'",
        ),
        (
            b"q1 Q0 d1 1 2 t\n\nq1 Q0 d2 2 1 t\nq1 Q0 d1 3 0 t",
            (
                "some.run, line 4: duplicate document 'd1' for query 'q1' (first seen in line 1); "
                "remove one of the two lines"
            ),
        ),
        (
            b"q1 Q0 d1 1 2 t\nq1 Q0 d\xff 1 2 t\n",
            "some.run, line 2: expected UTF-8 text: invalid start byte",
        ),
        (b"q1 Q0 d\x00e 1 2 t\n", "some.run, line 1: expected text, found a NUL byte"),
    ],
)
def test_whole_messages(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_trec(data, RUN, FILE)
    assert str(caught.value) == message


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_separators_are_counted_across_parts_of_a_file(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_CACHED_BYTES", size)
    assert lines._count_single_separators(b"a b\tc\nd e f\n") == 6
    assert lines._count_single_separators(b"a b\tc\nd e f") == 5
    for data in (b"", b" a b", b"\na b", b"a  b c", b"a b \tc", b"a b c\n\nd", b"a b c d \n"):
        assert lines._count_single_separators(data) is None


@pytest.mark.parametrize(
    ("data", "line"),
    [(b"\n \n a b \nc", b"a b "), (b"a", b"a"), (b"a\n", b"a"), (b" \n", b""), (b"", b"")],
)
def test_the_first_line_that_is_not_blank(data: bytes, line: bytes) -> None:
    assert lines.first_nonblank_line(data) == line


def test_tabs_in_a_later_line_separate_columns_too() -> None:
    data = b"q1 Q0 d1 1 2 t\nq1\tQ0\td2\t2\t1\tt\n"
    assert parse_trec(data, RUN, FILE).rows() == [("q1", "d1", 2.0), ("q1", "d2", 1.0)]
    odd = b"q1 Q0 d\x011 1 2 t\n"
    assert parse_trec(odd, RUN, FILE).rows() == [("q1", "d\x011", 2.0)]
    mixed = b"1 0x12 3\n2 0X1 0\n"
    assert parse_trec(mixed, SCORES, FILE).rows() == [("1", "0x12", 3.0), ("2", "0X1", 0.0)]
    assert parse_trec(b'"1 0 "a" 2\n', QRELS, FILE).rows() == [('"1', '"a"', 2)]


@pytest.mark.parametrize(
    ("trec_format", "data", "schema"),
    [
        (RUN, b"q Q0 d 1 2 t", {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}),
        (QRELS, b"q 0 d 1", {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Int32}),
        (SCORES, b"q d 1", {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}),
    ],
)
@pytest.mark.parametrize("separator", [b" ", b"  "])
def test_types_of_columns(
    trec_format: lines.TrecFormat,
    data: bytes,
    schema: dict[str, type[pl.DataType]],
    separator: bytes,
) -> None:
    frame = parse_trec(data.replace(b" ", separator), trec_format, FILE)
    assert dict(frame.schema) == schema


def test_signed_grades_and_infinite_scores_are_read() -> None:
    for separator in (b" ", b"  "):
        line = separator.join([b"q", b"0", b"d", b"2147483647\n"])
        assert parse_trec(line, QRELS, FILE).rows() == [("q", "d", 2**31 - 1)]
    assert parse_trec(b"q 0 d -1\nq 0 e +2\n", QRELS, FILE).rows() == [
        ("q", "d", -1),
        ("q", "e", 2),
    ]
    scores = parse_trec(b"q d inf\nq e -Infinity\nq f 1e999\n", SCORES, FILE)["score"].to_list()
    assert scores == [float("inf"), float("-inf"), float("inf")]


@pytest.mark.parametrize("data", [b"", b"\n", b"  \n\r\n"])
def test_an_empty_file_has_no_rows(data: bytes) -> None:
    frame = parse_trec(data, RUN, FILE)
    assert frame.is_empty()
    assert frame.schema == pl.Schema(RUN.schema())


token = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=4)


@given(
    st.lists(
        st.tuples(token, token, st.floats(allow_nan=False)),
        unique_by=lambda row: row[:2],
        max_size=8,
    ),
    st.sampled_from([" ", "\t"]),
)
def test_both_parsers_read_the_same(rows: list[tuple[str, str, float]], separator: str) -> None:
    text = [separator.join((q, "Q0", d, "1", repr(score), "t")) for q, d, score in rows]
    data = "\n".join(text).encode()
    quick, strict = parse_trec(data, RUN, FILE), lines._parse_line_by_line(data, RUN, FILE)
    assert quick.equals(strict)
    assert quick.rows() == rows


@pytest.mark.parametrize(
    "compress",
    [
        bytes,
        gzip.compress,
        zstandard.compress,
        lambda b: gzip.compress(b[:30]) + gzip.compress(b[30:]),
    ],
)
def test_compression_is_read_from_the_content(tmp_path: Path, compress: object) -> None:
    path = tmp_path / "run.txt"
    path.write_bytes(compress(LINES))  # type: ignore[operator]
    assert read_decompressed_bytes(path) == LINES


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_bytes(b"\xef\xbb\xbf" + LINES)
    assert parse_trec(read_decompressed_bytes(path), RUN, path).rows() == ROWS


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_a_cut_file_is_an_error(tmp_path: Path, compress: object) -> None:
    path = tmp_path / "run.gz"
    path.write_bytes(compress(LINES * 100)[:-5])  # type: ignore[operator]
    with pytest.raises(FormatError, match="intact"):
        read_decompressed_bytes(path)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
def test_decompression_is_bounded(tmp_path: Path, compress: object) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(compress(b"\n" * 5_000))  # type: ignore[operator]
    assert len(read_decompressed_bytes(path, 5_000)) == 5_000
    with pytest.raises(FormatError) as caught:
        read_decompressed_bytes(path, 4_999)
    assert str(caught.value) == (
        f"{path}: expected at most 4999 bytes after decompression, found more; split the file, or "
        "raise the limit (parameter max_bytes) if you trust the file"
    )


def test_a_path_that_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot open file"):
        read_decompressed_bytes(tmp_path / "absent.txt")
    with pytest.raises(UsageError, match="expected a file, found a folder; pass a file"):
        read_decompressed_bytes(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="expected a regular file, found a special file"):
        read_decompressed_bytes(tmp_path / "pipe")


def test_arrow_reads_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow freed bytes of Python in a thread while the program exited, which aborted it."""
    data = b"1 0 a 2\n"
    read_csv, given = pyarrow.csv.read_csv, []

    def read(source: pa.Buffer, *options: object) -> pa.Table:
        given.append(source.address)
        return read_csv(source, *options)

    monkeypatch.setattr(pyarrow.csv, "read_csv", read)
    assert parse_trec(data, QRELS, Path("q")).rows() == [("1", "a", 2)]
    assert len(given) == 1
    assert given[0] != pa.py_buffer(data).address
