"""Judging sheets: a pool and the texts in, a TSV file or a one-file offline web page out.

Assessors see neither ranks, runs, scores nor clicks, and the documents of a query in an order that
only its keys decide. All text comes from queries and pages that anybody may have written: the page
receives it as escaped data that its program only ever shows as text, under a content security
policy that allows this one program and no connection; the sheet disarms what spreadsheets take for
formulas.
"""

import base64
import hashlib
import json
import re
from importlib import resources
from pathlib import Path

import polars as pl

from builder.errors import UsageError
from builder.text.keys import key64
from schemas import GRADES

EXCERPT_CHARS = 600
PAGE_CHARS = 20_000
FORMULA_STARTS = ("=", "+", "-", "@")
SHEET_COLUMNS = ("query_id", "doc_id", "assessor", "grade", "query", "title", "url", "text")
KEYS = ("query_id", "doc_id")


def write_sheet(
    pairs: pl.DataFrame,
    out: Path,
    *,
    queries: pl.LazyFrame,
    documents: pl.LazyFrame,
    assessor: str = "",
) -> int:
    """Write the pairs to judge for one assessor.

    Args:
        pairs: Pairs with `query_id` and `doc_id`, such as those of a pool.
        out: `.tsv`: a sheet with an empty column `grade`; `.html`: a page to judge on, with the
            keyboard, that keeps what was judged and exports such a sheet.
        queries: `query_id` and `text` of the queries.
        documents: `doc_id`, `url`, `title` and `text` of the documents.
        assessor: Written into the sheet; asked for by the page.

    Returns:
        Pairs written.

    Raises:
        UsageError: another kind of file, or a pair whose query or document has no text.
    """
    writers = {".tsv": _write_tsv, ".html": _write_page}
    if out.suffix not in writers:
        raise UsageError(f"--out: expected a name that ends in .tsv or .html, found {out}")
    rows = _with_texts(pairs, queries, documents)
    out.parent.mkdir(parents=True, exist_ok=True)
    writers[out.suffix](rows, out, assessor)
    return rows.height


def _with_texts(
    pairs: pl.DataFrame, queries: pl.LazyFrame, documents: pl.LazyFrame
) -> pl.DataFrame:
    """Pairs with their texts, by query, the documents of a query in the order of a keyed hash."""
    rows = (
        pairs.lazy()
        .select(KEYS)
        .join(queries.select("query_id", pl.col("text").alias("query")), on="query_id")
        .join(documents.select("doc_id", "url", "title", "text"), on="doc_id")
        .collect()
    )
    if rows.height != pairs.height:
        raise UsageError(
            f"expected a text for all {pairs.height} pairs, found one for {rows.height}; give the "
            "queries and documents of the snapshot that the pool was drawn from"
        )
    shuffled = [key64(f"{query} {doc}") for query, doc in rows.select(KEYS).rows()]
    ordered = rows.with_columns(order=pl.Series(shuffled, dtype=pl.UInt64))
    return ordered.sort("query_id", "order").drop("order")


def _write_tsv(rows: pl.DataFrame, out: Path, assessor: str) -> None:
    plain = [_spreadsheet_safe(pl.col(name)).alias(name) for name in ("query", "title", "url")]
    excerpt = _spreadsheet_safe(pl.col("text").str.slice(0, EXCERPT_CHARS)).alias("text")
    sheet = rows.with_columns(*plain, excerpt, assessor=pl.lit(assessor), grade=pl.lit(""))
    sheet.select(SHEET_COLUMNS).write_csv(out, separator="\t", quote_style="never")


def _spreadsheet_safe(text: pl.Expr) -> pl.Expr:
    """Text on one line, without quotes at its start, that no spreadsheet takes for a formula."""
    flat = text.fill_null("").str.replace_all(r"[\p{Cc}\u2028\u2029]+", " ").str.strip_chars(" ")
    flat = flat.str.replace_all('"', "″")
    return pl.when(flat.str.head(1).is_in(FORMULA_STARTS)).then("'" + flat).otherwise(flat)


def _write_page(rows: pl.DataFrame, out: Path, assessor: str) -> None:
    pool = json.dumps(
        {
            "pool": _digest(rows),
            "assessor": assessor,
            "grades": {str(grade): label for grade, label in GRADES.items()},
            "pairs": rows.with_columns(pl.col("text").str.slice(0, PAGE_CHARS)).to_dicts(),
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )
    template = resources.files("builder.judging").joinpath("judge.html").read_text(encoding="utf-8")
    policy = (
        "default-src 'none'; connect-src 'none'; form-action 'none'; base-uri 'none'; "
        f"script-src {_hash_of(template, 'script')}; style-src {_hash_of(template, 'style')}"
    )
    page = template.replace("{{policy}}", policy).replace("{{pool}}", _escaped(pool))
    out.write_text(page, encoding="utf-8", newline="\n")


def _escaped(data: str) -> str:
    """JSON that cannot end its element nor begin another, and is still the same JSON."""
    return re.sub(r"[<>&\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", data)


def _hash_of(template: str, element: str) -> str:
    """The source expression of the one inline script or style, for the security policy."""
    found = re.search(rf"<{element}>(.*?)</{element}>", template, re.DOTALL)
    text = found[1] if found else ""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _digest(rows: pl.DataFrame) -> str:
    """Names the pool, so that a browser keeps the judgements of several pools apart."""
    lines = [f"{query} {doc}" for query, doc in rows.select(KEYS).rows()]
    return f"{key64('|'.join(lines)):016x}"
