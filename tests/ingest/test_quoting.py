"""Which TSV files are read with quoted cells."""

import io
from pathlib import Path

import polars as pl
import pytest

from builder.ingest.crawls.delimited import MAX_SPANNED_LINES, read_delimited_pages
from builder.ingest.delimited import TableLayout, detect_quoting
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
