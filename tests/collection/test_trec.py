"""TREC formats: markup in texts is escaped and comes back."""

import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.collection.export.markup import escape_markup, join_lines_expr, unescape_markup
from builder.collection.export.trec import export_trec
from builder.io.tables import table_at, write_frame
from builder.parameters import ExportParameters
from builder.runtime.ledger import RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from schemas import Documents, Qrels, Queries

PIECES = st.lists(
    st.sampled_from(
        [
            "<",
            ">",
            "/",
            "&",
            "amp;",
            "lt;",
            "LT;",
            "DOC",
            "doc",
            "</TEXT>",
            "DOCNO",
            "top",
            " ",
            "é",
        ]
    ),
    max_size=12,
).map("".join)


@given(st.one_of(st.text(), PIECES))
def test_escaping_comes_back(text: str) -> None:
    escaped = escape_markup(text)
    assert unescape_markup(escaped) == text
    assert not re.search(r"</?(doc|docno|docid|text|top|title)[\s>]", escaped, re.IGNORECASE)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a </TEXT></DOC> b", "a &lt;/TEXT>&lt;/DOC> b"),
        ("&lt;DOC>", "&amp;lt;DOC>"),
        ("R&D, 1 < 2, <b>gras</b>", "R&D, 1 < 2, <b>gras</b>"),
        ("<documents>", "<documents>"),
    ],
)
def test_escape_examples(text: str, escaped: str) -> None:
    assert escape_markup(text) == escaped


def test_one_line_a_sentence() -> None:
    texts = pl.DataFrame(
        {"title": [" Titre", ""], "text": ["Une.\r\nDeux.\u2028\n  \n Trois ", "\n"]}
    )
    found = texts.select(join_lines_expr(pl.col("title"), pl.col("text")))
    assert found.to_series().to_list() == ["Titre\nUne.\nDeux.\nTrois", ""]


def _blank(contract: type, rows: int, **columns: object) -> pl.DataFrame:
    """Rows of a contract with the given columns and plain values elsewhere."""
    plain = {pl.String: "", pl.Boolean: True, pl.Float64: 0.5}
    frame = pl.DataFrame(columns)
    missing = [
        pl.lit(None if c.nullable else plain.get(type(c.dtype), plain.get(c.dtype, 1)))
        .cast(c.dtype)
        .alias(name)
        for name, c in contract.columns().items()
        if name not in columns and c.dtype != pl.List(pl.String)
    ]
    lists = [
        pl.lit(pl.Series([["t"]])).implode().list.first().alias(name)
        for name, c in contract.columns().items()
        if name not in columns and c.dtype == pl.List(pl.String)
    ]
    return frame.with_columns(*missing, *lists)


IDS = ["d" + "0" * 15 + "1", "d" + "0" * 15 + "2"]
QUERY = "q" + "0" * 16


def _export(tmp_path: Path, texts: list[str | None], text: str | None) -> tuple[RowLedger, Path]:
    """A snapshot of two documents and a query, with these texts in English."""
    documents = _blank(
        Documents,
        2,
        doc_id=IDS,
        url=["https://a.example/1", "https://a.example/2"],
        title=["Un", "Deux"],
        text=["Texte un.", "Texte deux."],
        title_en=["One", "Two"],
        text_en=texts,
    )
    queries = _blank(Queries, 1, query_id=[QUERY], text=["deux\tmots"], text_en=[text])
    qrels = _blank(Qrels, 1, query_id=[QUERY], doc_id=[IDS[1]], grade=[2])
    write_frame(documents, tmp_path / "documents/part-00000.parquet", Documents)
    write_frame(queries, tmp_path / "queries.parquet", Queries)
    write_frame(qrels, tmp_path / "qrels.parquet", Qrels)
    out = tmp_path / "out"
    out.mkdir()
    ledger = export_trec(
        out,
        documents=table_at(tmp_path, "documents", Documents),
        queries=table_at(tmp_path, "queries", Queries),
        qrels=table_at(tmp_path, "qrels", Qrels),
        params=ExportParameters(),
        limits=ResourceLimits(tmp_path),
        progress=NoProgress(),
        languages=("fr", "en"),
    )
    return ledger, out


def test_a_snapshot_in_both_languages(tmp_path: Path) -> None:
    ledger, out = _export(tmp_path, ["Text one.", "Text two."], "two words")
    assert (ledger.rows_in, ledger.rows_out) == (2, 2)
    assert (out / "qrels.txt").read_text() == f"{QUERY} 0 {IDS[1]} 2\n"
    assert (out / "fr/topics.tsv").read_text() == f"{QUERY}\tdeux mots\n"
    assert (out / "en/topics.tsv").read_text() == f"{QUERY}\ttwo words\n"
    topics = (out / "en/topics.trec").read_text()
    number = int(QUERY[1:], 16) >> 33
    assert topics.startswith(f"<top>\n<num> Number: {number}\n<title> Topic: two words\n<desc>")
    assert (out / "qrels.numbers.txt").read_text() == f"{number} 0 {IDS[1]} 2\n"
    assert (out / "query_numbers.tsv").read_text() == f"{number}\t{QUERY}\n"
    english = (out / "en/documents/part-00000.trec").read_text()
    assert english.count("<DOC>\n") == 2
    assert "Text two." in english
    assert (out / "urls.tsv").read_text().splitlines()[1] == f"{IDS[1]}\thttps://a.example/2"


def test_what_has_no_english_is_not_in_it(tmp_path: Path) -> None:
    """As in releases that lack translations: no empty document stands for a missing one."""
    ledger, out = _export(tmp_path, ["Text one.", None], None)
    assert (ledger.rows_in, ledger.rows_out) == (2, 2)
    counts = [
        (out / f"{n}/documents/part-00000.trec").read_text().count("<DOC>") for n in ("fr", "en")
    ]
    assert counts == [2, 1]
    assert (out / "fr/topics.tsv").read_text() == f"{QUERY}\tdeux mots\n"
    assert (out / "en/topics.tsv").read_text() == ""
