r"""Cells of a missing value, and TSV with backslash escapes, as databases export both."""

from pathlib import Path

import pytest

from builder.ingest.crawls.delimited import MAX_SPANNED_LINES, read_delimited_pages
from builder.ingest.delimited import TableLayout, detect_quoting
from builder.ingest.escapes import are_escaped, decode_escapes
from builder.io.sources import Source
from builder.parameters import CrawlParameters, LogParameters, PageFields
from tests.ingest.logs.log_files import INTERVAL, read_impressions

PAGE = "https://a.example/1"


def _texts(path: Path, rows: list[str], fields: PageFields | None = None) -> list[object]:
    """Title and text of each page of a crawl, or the reason why there is none."""
    path.write_text("".join(f"{row}\n" for row in rows))
    params = CrawlParameters(fields=fields or PageFields())
    pages = read_delimited_pages(Source(path, path.name), path.suffix[1:], params)
    return [page if isinstance(page, str) else (page.title, page.text) for _, page in pages]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([r"a\nb", "c"], True),
        ([r"a\tb"], True),
        ([r"C:\\temp", r"\0\b\f\v\r\'"], True),
        ([r"C:\temp", r"C:\windows"], False),
        ([r"a\\wb"], True),
        ([r"a\nb\\", "\\"], False),  # the second cell ends within an escape
        ([r"it\'s"], False),  # none that an escaped file would not lack
        ([r'["https:\/\/a.example\n"]'], False),
        (["a", ""], False),
    ],
)
def test_escapes_are_detected_from_the_cells(cells: list[str], expected: bool) -> None:
    assert are_escaped(cells) is expected


def test_unknown_escapes_remain() -> None:
    assert decode_escapes(r"a\\nb\n\w\\\t" + "\\") == "a\\nb\n\\w\\\t\\"
    assert decode_escapes("a") == "a"


@pytest.mark.parametrize(("row", "is_escaped"), [(r"1\n2" + "\t3", True), ('"1\\n""2"\t3', False)])
def test_quoted_cells_are_not_escaped(tmp_path: Path, row: str, is_escaped: bool) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(f"a\tb\n{row}\n")
    layout = TableLayout(["a", "b"], "\t", is_quoted=False)
    found = detect_quoting(Source(path, "a.tsv"), layout, 2**20, MAX_SPANNED_LINES)
    assert (found.is_escaped, found.is_quoted) == (is_escaped, not is_escaped)


def test_escapes_of_a_crawl_are_decoded(tmp_path: Path) -> None:
    r"""A paragraph that follows `\n` began with the letter n."""
    rows = [
        "url\ttimestamp\ttitle\ttext",
        f"{PAGE}\t5\tEau\tPremier.\\nSecond\\tavec C:\\\\temp",
        f"{PAGE}\t5\t\\N\tUn \\\\N",
        f"{PAGE}\t5\tNULL\t\\N",
    ]
    assert _texts(tmp_path / "a.tsv", rows) == [
        ("Eau", "Premier.\nSecond\tavec C:\\temp"),
        ("", "Un \\N"),
        "bad_text",
    ]


@pytest.mark.parametrize("null", ["\\N", "NULL", "null", "None", "NaN", "nan", "NA"])
def test_missing_texts_of_a_crawl(tmp_path: Path, null: str) -> None:
    """The word NULL became the text, although the next field had one."""
    rows = ["url,timestamp,title,full,abstract", f"{PAGE},5,{null},{null},Un texte"]
    rows += [f"{PAGE},5,Eau,{null},{null}", f"{null},5,Eau,Un,Deux", f"{PAGE},{null},Eau,Un,Deux"]
    fields = PageFields(text=("full", "abstract"))
    found = [
        ("", "Un texte"),
        "bad_text",
        "bad_url" if null == "\\N" else ("Eau", "Un"),
        "bad_time",
    ]
    assert _texts(tmp_path / "a.csv", rows, fields) == found


def test_missing_queries_and_escapes_of_a_log(tmp_path: Path) -> None:
    r"""The query `\N` was folded to n; `NULL` is a word that users search for."""
    path = tmp_path / "log.tsv"
    rows = [
        "time\tuser\tquery\tresults\tclicks",
        *(f"5\tu\t{q}\t{PAGE}\t1" for q in ("\\N", "NULL")),
    ]
    rows.append(f"5\tu\teau\\\\gaz\\tbois\t{PAGE}\t\\N")
    path.write_text("".join(f"{row}\n" for row in rows))
    (records,) = read_impressions(Source(path, "log.tsv"), INTERVAL, LogParameters())
    assert records.impressions["query"].to_pylist() == ["NULL", "eau\\gaz bois"]
    assert records.impressions["clicks"].to_pylist() == [[1], []]
    assert records.rejects == [(2, "bad_query")]
