"""Writes a pool with its query and document texts as a TSV judging sheet or judging web page.

Assessors see no rank, run, score or click, and the documents of a query are shuffled by a keyed
hash. Query and document texts are untrusted. The self-contained page receives them as escaped JSON
and shows them as plain text only; its content security policy permits only its own script and style
and forbids connections. Cells of the sheet are escaped against formula injection.
"""

import json
import re
from pathlib import Path

import polars as pl
from markupsafe import Markup

from builder.errors import UsageError
from builder.reporting.render import render_html_document
from builder.text.keys import key64
from schemas import GRADES

EXCERPT_CHARS = 600
MAX_TEXT_CHARS = 20_000
FORMULA_STARTS = ("=", "+", "-", "@")
SHEET_COLUMNS = ("query_id", "doc_id", "assessor", "grade", "query", "title", "url", "text")
PAIR = ("query_id", "doc_id")
POLICY = (
    "default-src 'none'; connect-src 'none'; form-action 'none'; base-uri 'none'; style-src {style}"
)
"""Content security policy of a judging page; `render_html_document` adds `script-src`."""


def write_sheet(
    pairs: pl.DataFrame,
    out: Path,
    *,
    queries: pl.LazyFrame,
    documents: pl.LazyFrame,
    assessor: str = "",
) -> int:
    """Write a judging sheet or page for one assessor.

    Args:
        pairs: Query-document pairs (`query_id` and `doc_id`), such as a pool.
        out: `.tsv`: a sheet with an empty column `grade`; `.html`: a keyboard-driven judging page
            that saves judgements in the browser and exports them as a TSV sheet.
        queries: `query_id` and `text` of the queries.
        documents: `doc_id`, `url`, `title` and `text` of the documents.
        assessor: Name of the assessor; if empty, the page asks for it.

    Returns:
        Number of pairs written.

    Raises:
        UsageError: The file suffix is unsupported, or the query or document of a pair has no text.
    """
    writers = {".tsv": _write_tsv, ".html": _write_judging_page}
    if out.suffix not in writers:
        raise UsageError(f"--out: expected a file name ending in .tsv or .html, found {out}")
    rows = _join_texts(pairs, queries, documents)
    out.parent.mkdir(parents=True, exist_ok=True)
    writers[out.suffix](rows, out, assessor)
    return rows.height


def _join_texts(
    pairs: pl.DataFrame, queries: pl.LazyFrame, documents: pl.LazyFrame
) -> pl.DataFrame:
    """Add query and document texts to the pairs, and shuffle each query's documents by hash."""
    rows = (
        pairs.lazy()
        .select(PAIR)
        .join(queries.select("query_id", pl.col("text").alias("query")), on="query_id")
        .join(documents.select("doc_id", "url", "title", "text"), on="doc_id")
        .collect()
    )
    if rows.height != pairs.height:
        raise UsageError(
            f"expected texts for all {pairs.height} pairs, found texts for {rows.height}; use the "
            "queries and documents of the snapshot from which the pool was drawn"
        )
    shuffled = [key64(f"{query} {doc}") for query, doc in rows.select(PAIR).rows()]
    ordered = rows.with_columns(order=pl.Series(shuffled, dtype=pl.UInt64))
    return ordered.sort("query_id", "order").drop("order")


def _write_tsv(rows: pl.DataFrame, out: Path, assessor: str) -> None:
    """Write a TSV sheet with one line per query-document pair and an excerpt of each document."""
    plain = [
        _escape_for_spreadsheet(pl.col(name)).alias(name) for name in ("query", "title", "url")
    ]
    excerpt = _escape_for_spreadsheet(pl.col("text").str.slice(0, EXCERPT_CHARS)).alias("text")
    sheet = rows.with_columns(*plain, excerpt, assessor=pl.lit(assessor), grade=pl.lit(""))
    sheet.select(SHEET_COLUMNS).write_csv(out, separator="\t", quote_style="never")


def _escape_for_spreadsheet(text: pl.Expr) -> pl.Expr:
    """Return an expression that escapes text for a spreadsheet cell.

    Line breaks become spaces, double quotes become double primes, and text that a spreadsheet would
    evaluate as a formula is preceded by an apostrophe.
    """
    flat = text.fill_null("").str.replace_all(r"[\p{Cc}\u2028\u2029]+", " ").str.strip_chars(" ")
    flat = flat.str.replace_all('"', "″")
    return pl.when(flat.str.head(1).is_in(FORMULA_STARTS)).then("'" + flat).otherwise(flat)


def _write_judging_page(rows: pl.DataFrame, out: Path, assessor: str) -> None:
    """Write the judging web page: an HTML template with the pool as embedded JSON."""
    pool = json.dumps(
        {
            "pool": _pool_id(rows),
            "assessor": assessor,
            "grades": {str(grade): label for grade, label in GRADES.items()},
            "pairs": rows.with_columns(pl.col("text").str.slice(0, MAX_TEXT_CHARS)).to_dicts(),
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )
    page = render_html_document(
        "judge.html", "judge", POLICY, title="Relevance judging", pool=_escape_json(pool)
    )
    out.write_text(page, encoding="utf-8", newline="\n")


def _escape_json(data: str) -> Markup:
    """Escape `<`, `>`, `&` and line separators in JSON that is embedded in a script element."""
    escaped = re.sub(r"[<>&\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", data)
    return Markup(escaped)  # noqa: S704 - no character can close the element


def _pool_id(rows: pl.DataFrame) -> str:
    """Return a hash of the query-document pairs, as the key of the judgements in the browser."""
    lines = [f"{query} {doc}" for query, doc in rows.select(PAIR).rows()]
    return f"{key64('|'.join(lines)):016x}"
