"""Which TSV files are read with quoted cells."""

import io
from pathlib import Path

import polars as pl
import pytest

from builder.ingest.crawls.delimited import MAX_SPANNED_LINES, read_delimited_pages
from builder.ingest.delimited import (
    TableLayout,
    candidate_layouts,
    detect_quoting,
    read_rows,
    split_into_cells,
)
from builder.io.sources import Source
from builder.parameters import CrawlParameters

HEADER = "url\ttimestamp\ttext\n"
URL = "https://a.example/"


def layout_of(path: Path, text: str) -> bool:
    path.write_text(text, encoding="utf-8")
    layout = TableLayout(["url", "timestamp", "text"], "\t", is_quoted=False)
    return detect_quoting(Source(path, path.name), layout, 2**20, MAX_SPANNED_LINES).is_quoted


@pytest.mark.parametrize(
    ("rows", "is_quoted"),
    [
        (["a\t1\tplain", "b\t2\ttext"], False),
        (['a\t1\t"two', 'lines"'], True),
        (['a\t1\t"he said ""yes"""'], True),
        (['a\t1\t"a title in quotes"'], False),  # quotes of the text, as far as anyone can tell
        (['a\t1\t"Bonjour" dit-il', "b\t2\tshort", "c\t3"], False),
        (['a\t1\tdit "oui" ""', "b\t2"], False),
        (["a\t1\tplain", "b\t2"], False),  # a row lacks a cell in both readings
        (['a\t1\t"two', 'lines"', "b\t2"], False),
        (["a\t1\tplain", "", "b\t2\ttext"], False),  # a blank line lacks no cells
        (['a\t"two', 'lines"\ttext'], True),
        ([], False),
    ],
)
def test_quoting_is_detected_from_the_rows(
    tmp_path: Path, rows: list[str], is_quoted: bool
) -> None:
    text = HEADER + "".join(f"{row}\n" for row in rows)
    assert layout_of(tmp_path / "a.tsv", text) is is_quoted


def test_a_crawl_that_polars_wrote_as_tsv_keeps_its_texts(tmp_path: Path) -> None:
    """The header is not quoted; each further line of a text was once a row of too few cells."""
    texts = ["Une ligne.", "Deux\nlignes.", 'Il dit "oui".\n\nPuis "non".', "une\ttabulation"]
    frame = pl.DataFrame({"url": [f"{URL}{n}" for n in range(4)], "timestamp": 1, "text": texts})
    buffer = io.BytesIO()
    frame.write_csv(buffer, separator="\t")
    path = tmp_path / "crawl.tsv"
    path.write_bytes(buffer.getvalue())
    pages = list(read_delimited_pages(Source(path, path.name), "tsv", CrawlParameters()))
    assert [page if isinstance(page, str) else page.text for _, page in pages] == texts


def _rows(path: Path, text: str, max_lines: int = 2, max_bytes: int = 99) -> list[object]:
    """Line number and cells, or reject reason, of each row of a CSV file with two columns."""
    path.write_bytes(text.encode())
    layout = TableLayout(["a", "b"], ",", is_quoted=True)
    return [
        (number, row if isinstance(row, str) else "|".join(row.values()))
        for number, row in read_rows(Source(path, "f"), layout, max_bytes, max_lines)
    ]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('1,"x\ny\nz"\n2,w\n', [(2, "1|x\ny\nz"), (5, "2|w")]),
        (
            '1,"x\n2,y\nz\n3,w"\n4,v\n',
            [
                (2, "bad_quotes"),
                (3, "2|y"),
                (4, "wrong_number_of_cells"),
                (5, '3|w"'),
                (6, "4|v"),
            ],
        ),
        ('1,"x\n2,y"z\n3,w\n', [(2, "bad_quotes"), (3, '2|y"z'), (4, "3|w")]),
        ('1,"x\n2","y"\n', [(2, "bad_quotes"), (3, '2"|y')]),
        ('1,"x\n2,y\n', [(2, "bad_quotes"), (3, "2|y")]),
        ('1,"x\ny\n', [(2, "file_truncated")]),
        ('1,"x\ny', [(2, "file_truncated")]),
        ('1,"x', [(2, "file_truncated")]),
        ("1,x\n2", [(2, "1|x"), (3, "file_truncated")]),
        ("1\n2,x", [(2, "wrong_number_of_cells"), (3, "2|x")]),
        ("1,\\N\n\n  \n\xff,x\n", [(2, "1"), (3, "blank_line"), (4, "blank_line"), (5, "ÿ|x")]),
    ],
)
def test_a_quoted_cell_spans_a_limited_number_of_lines(
    tmp_path: Path, text: str, rows: list[object]
) -> None:
    assert _rows(tmp_path / "f", "a,b\n" + text) == rows


@pytest.mark.parametrize("width", [8, 9, 10, 11, 12, 13, 14, 15, 18, 20, 21])
def test_a_rejected_line_is_no_row_of_as_many_cells_as_its_reason_has_letters(
    tmp_path: Path, width: int
) -> None:
    (tmp_path / "f").write_text("1" + "," * (width - 1) + '"x\n\ny')
    names = [f"c{n}" for n in range(width)]
    layout = TableLayout(names, ",", is_quoted=True, first_row_line=1)
    rows = list(read_rows(Source(tmp_path / "f", "f"), layout, 99, 5))
    assert rows == [(1, "file_truncated")]


def test_a_row_of_several_lines_has_a_maximum_length(tmp_path: Path) -> None:
    """Two lines of 4 and 3 bytes."""
    text = 'a,b\n1,"x\nyz"\n'
    assert _rows(tmp_path / "f", text, max_bytes=4) == [(2, "1|x\nyz")]
    text = 'a,b\n1,"xx\nyzz\nv"\n'
    assert _rows(tmp_path / "f", text, max_bytes=8) == [(2, "1|xx\nyzz\nv")]
    assert _rows(tmp_path / "f", text, max_bytes=7) == [
        (2, "bad_quotes"),
        (3, "wrong_number_of_cells"),
        (4, "wrong_number_of_cells"),
    ]
    assert _rows(tmp_path / "f", 'a,b\n1,"x\n234567890\n', max_bytes=8) == [
        (2, "bad_quotes"),
        (3, "line_too_long"),
    ]


def test_delimiters_are_tried_in_order() -> None:
    found = [
        (layout.delimiter, layout.is_quoted, layout.names)
        for kind in ("csv", "tsv")
        for layout in candidate_layouts(b' "a" ;b', kind)
    ]
    assert found == [
        (",", True, ['"a" ;b']),
        (";", True, ['"a"', "b"]),
        ("|", True, ['"a" ;b']),
        ("\t", False, ['"a" ;b']),
        ("\t", True, ['"a" ;b']),
    ]
    assert list(candidate_layouts(None, "csv")) == []
    layout = next(candidate_layouts(b"a", "csv"))
    assert (layout.first_row_line, layout.is_escaped) == (2, False)
    assert split_into_cells(b"a,b", ",", is_quoted=True) == ["a", "b"]
    assert split_into_cells(None, ",", is_quoted=True) == "line_too_long"
    assert split_into_cells(b"\xff", ",", is_quoted=True) == "not_utf8"
