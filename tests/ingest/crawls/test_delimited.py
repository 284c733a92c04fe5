"""Crawls as CSV and TSV, and Parquet, CSV and JSON lines that end early."""

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builder.errors import FormatError
from builder.ingest.crawls.formats import detect_format, read_pages
from builder.io.sources import Interval, Source
from builder.parameters import CrawlParameters, PageFields
from builder.runtime.limits import ResourceLimits

ROWS = [
    {"url": f"https://a.example/{n}", "timestamp": str(1500 + n), "title": f"T{n}", "text": text}
    for n, text in enumerate(("un", 'deux, "trois"\nlignes\n\nen tout', "quatre ; cinq", "six"))
]


def _csv(rows: list[dict[str, str]], **options: Any) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n", **options)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _read(path: Path, **params: Any) -> tuple[list[tuple[int, str, str, str]], list[Any]]:
    source = Source(path, path.name)
    parameters = CrawlParameters(**{"interval": "ignore"} | params)
    blocks = list(read_pages(source, Interval(0, 2**33), parameters, ResourceLimits(path.parent)))
    pages = pl.concat(block.pages for block in blocks)
    rejects = [reject for block in blocks for reject in block.rejects]
    assert sum(block.records for block in blocks) == pages.height + len(rejects)
    return pages.select("line", "url", "title", "text").rows(), rejects


@pytest.mark.parametrize("given", ["auto", "csv"])
@pytest.mark.parametrize("delimiter", [",", ";", "|"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_csv(tmp_path: Path, given: str, delimiter: str, pack: Any) -> None:
    path = tmp_path / "crawl"
    path.write_bytes(pack(_csv(ROWS, delimiter=delimiter).encode()))
    pages, rejects = _read(path, format=given)
    assert rejects == []
    lines = (2, 3, 7, 8)
    assert pages == [
        (line, row["url"], row["title"], row["text"]) for line, row in zip(lines, ROWS, strict=True)
    ]


def test_tsv_under_other_names(tmp_path: Path) -> None:
    path = tmp_path / "crawl.tsv"
    path.write_text("adresse\tcorps\nhttps://a.example/\tDes mots.\nhttps://b.example/\t\n")
    fields = PageFields(url="adresse", text="corps")
    pages, rejects = _read(path, fields=fields, undated="start")
    assert pages == [(2, "https://a.example/", "", "Des mots.")]
    assert rejects == [(3, "empty_text")]


def test_faulty_rows_are_rejects(tmp_path: Path) -> None:
    lines = [
        "url,timestamp,text",
        "https://a.example/1,1500,un",
        "https://a.example/2,gestern,deux",
        "https://a.example/3,1500",
        'https://a.example/4,1500,"quatre',
        "https://a.example/5,1500,cinq",
        ",1500,six",
        "",
    ]
    path = tmp_path / "crawl.csv"
    path.write_text("\n".join(lines))
    pages, rejects = _read(path)
    assert [page[0] for page in pages] == [2, 6]
    assert sorted(rejects) == [
        (3, "bad_time"),
        (4, "wrong_number_of_cells"),
        (5, "bad_quotes"),
        (7, "bad_url"),
    ]


def test_a_file_without_the_columns_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "crawl.csv"
    path.write_text("address,body\nhttps://a.example/,text\n")
    with pytest.raises(FormatError, match=r"expected a header with url.*found address, body"):
        _read(path, format="csv")
    assert detect_format(Source(path, "crawl.csv"), CrawlParameters()) == "jsonl"


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_cuts_of_csv(tmp_path: Path, quoting: int) -> None:
    """A cut within the last, unquoted cell of a row cannot be told from a shorter one."""
    whole = _csv(ROWS, quoting=quoting)
    path = tmp_path / "crawl.csv"
    path.write_text(whole)
    every, _ = _read(path)
    starts = [whole.index(row["url"]) - (quoting == csv.QUOTE_ALL) for row in ROWS]
    boundaries = {*starts, *(end - 1 for end in (*starts[1:], len(whole)))}
    for offset in range(starts[0], len(whole)):
        path.write_text(whole[:offset])
        pages, rejects = _read(path, format="csv")
        before = sum(end <= offset + 1 for end in [*starts[1:], len(whole)])
        assert pages[:before] == every[:before], offset
        assert len(pages) - before + len(rejects) == (offset not in boundaries)
        assert {reason for _, reason in rejects} <= {"file_truncated", "empty_text"}


def test_a_cut_parquet_file_is_one_reject(tmp_path: Path) -> None:
    whole = io.BytesIO()
    pl.DataFrame(ROWS).write_parquet(whole)
    data = whole.getvalue()
    for offset in (4, 5, 7, 50, len(data) // 2, len(data) - 1):
        (tmp_path / "crawl.parquet").write_bytes(data[:offset])
        assert _read(tmp_path / "crawl.parquet") == ([], [(1, "file_truncated")])


@pytest.mark.parametrize("cut", [1, 3, 30])
def test_a_cut_line_of_json_is_told_from_a_wrong_one(tmp_path: Path, cut: int) -> None:
    line = '{"url": "https://a.example/1", "timestamp": 1500, "text": "été"}'.encode()
    (tmp_path / "a.jsonl").write_bytes(line + b"\n" + line[:-40] + b"\n" + line[:-cut])
    _, rejects = _read(tmp_path / "a.jsonl")
    assert rejects == [(2, "not_json"), (3, "file_truncated")]


@pytest.mark.parametrize("header", ["url,time", "time,text", "url,text"])
def test_a_header_without_address_text_or_time_is_not_a_crawl(tmp_path: Path, header: str) -> None:
    path = tmp_path / "crawl.csv"
    path.write_text(f"{header}\nhttps://a.example/,1700000000\n")
    with pytest.raises(FormatError, match=f"expected a header with .*found {header[:3]}"):
        _read(path, format="csv")


def test_a_parquet_file_has_at_least_twelve_bytes(tmp_path: Path) -> None:
    path = tmp_path / "crawl"
    for data, expected in (
        (b"rubbish 123", [(1, "file_truncated")]),
        (b"", [(1, "file_truncated")]),
    ):
        path.write_bytes(data)
        assert _read(path, format="parquet") == ([], expected)
    for data in (b"rubbish 1234", b"PAR1" + bytes(4) + b"PAR1"):
        path.write_bytes(data)
        with pytest.raises(FormatError, match="cannot be read as Parquet"):
            _read(path, format="parquet")


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a", b"WARC/1.0\r\n", "warc"),
        ("a", b"WARC", "jsonl"),
        ("a.warc", b"WARC", "warc"),
        ("a.wet.gz", b"", "warc"),
        ("a.warc", b'{"url": 1}', "jsonl"),
        ("a.warc", b"rubbish", "warc"),
        ("a", b"PAR1", "parquet"),
        ("a", b"\n [{", "jsonl"),
        ("a", b"url,timestamp,text\n", "csv"),
        ("a", b"url\ttimestamp\ttext\n", "tsv"),
        ("a", b"url,timestamp\n", "jsonl"),
    ],
)
def test_formats_are_detected_by_first_bytes_and_archives_also_by_name(
    tmp_path: Path, name: str, data: bytes, kind: str
) -> None:
    (tmp_path / name).write_bytes(data)
    assert detect_format(Source(tmp_path / name, name), CrawlParameters()) == kind


def test_a_table_with_texts_but_no_times_is_a_crawl_if_times_may_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("url,text\nhttps://a.example/,Un\n")
    assert detect_format(Source(path, "a"), CrawlParameters(undated="start")) == "csv"
    path.write_text("timestamp,text\n5,Un\n")
    assert detect_format(Source(path, "a"), CrawlParameters(undated="start")) == "jsonl"


def test_a_text_may_have_ten_thousand_line_breaks(tmp_path: Path) -> None:
    path = tmp_path / "crawl.csv"
    for breaks, pages in ((10_000, 2), (10_001, 1)):
        text = "a" + "\n" * breaks + "b"
        path.write_text(
            f'url,timestamp,text\nhttps://a.example/,5,"{text}"\nhttps://b.example/,5,c\n'
        )
        found, rejects = _read(path)
        assert len(found) == pages
        assert bool(rejects) is (pages == 1)


def test_the_columns_in_a_message_are_cut(tmp_path: Path) -> None:
    path, names = tmp_path / "crawl.csv", [f"column{n:02}" for n in range(30)]
    path.write_text(",".join(names) + "\n")
    with pytest.raises(FormatError) as caught:
        _read(path, format="csv")
    assert str(caught.value) == (
        "crawl.csv, line 1: expected a header with url, timestamp or last_updated_at or "
        f"created_at (time) and text or content (text), found {', '.join(names)[:200]}; name the "
        "columns in [crawl.fields]"
    )
