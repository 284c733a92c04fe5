"""Checks that the TREC files of a collection agree with its tables."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import polars as pl

from builder.collection.checks.context import ValidationContext
from builder.collection.checks.finding import Check, Defect
from builder.collection.export.files import (
    qrel_line_expr,
    query_line_expr,
    render_trec_documents,
    trec_topic_expr,
    url_line_expr,
)
from builder.collection.export.numeric_ids import assign_query_numbers, replace_ids_with_numbers
from builder.runtime.progress import NoProgress
from builder.runtime.publisher import sha256

MISSING = "the export is missing, although the definition sets export.trec"
DOCNO = re.compile(rb"^<DOCNO>(.*)</DOCNO>$", re.MULTILINE)


def _find_export_differences(context: ValidationContext) -> Iterator[Defect]:
    """Report documents, queries and judgements that differ between TREC files and tables."""
    for name, (queries, qrels) in context.scan_snapshots("queries", "qrels"):
        texts = {
            language: queries.select("query_id", text=f"text{suffix}").drop_nulls("text")
            for language, suffix in context.collection.languages.items()
        }
        for path, rows in _expected_rows(queries, texts, qrels).items():
            yield from _compare_file(context, f"trec/{name}/{path}", rows)
    for name, documents in context.scan_snapshots("documents"):
        urls = documents.select(row=url_line_expr())
        yield from _compare_file(context, f"trec/{name}/urls.tsv", urls)
        yield from _compare_documents(context, name, documents)


def _compare_file(context: ValidationContext, where: str, rows: pl.LazyFrame) -> Iterator[Defect]:
    """Report an exported file that is missing or differs from the expected rows."""
    path = context.collection.path / where
    if path.is_file():
        yield from _compare_rows(_read_rows(path), rows.collect(), where)
        yield from _find_crlf_line_endings(context, path, b"\r\n")
    elif _has_exports(context):
        yield where, MISSING, 1, ()


def _find_crlf_line_endings(
    context: ValidationContext, path: Path, line: bytes
) -> Iterator[Defect]:
    """Report a file with CRLF line endings, unless LB003 reports the file as changed."""
    where = path.relative_to(context.collection.path).as_posix()
    entry = context.manifest["files"].get(where, {})
    if line in path.read_bytes() and sha256(path) == entry.get("sha256"):
        yield where, "lines end with CRLF", 1, ()


def _has_exports(context: ValidationContext) -> bool:
    """Whether the version was built with `export.trec`."""
    return bool(context.manifest["definition"]["parameters"].get("export", {}).get("trec"))


def _expected_rows(
    queries: pl.LazyFrame,
    texts: Mapping[str, pl.LazyFrame],
    qrels: pl.LazyFrame,
) -> dict[str, pl.LazyFrame]:
    """Return the expected rows (column `row`) of each query and qrels file, by file path.

    Args:
        queries: Queries of the snapshot.
        texts: Columns `query_id` and `text` of the queries, by language.
        qrels: Judgements of the snapshot.
    """
    ids = pl.concat([rows.select("query_id") for rows in (queries, qrels)])
    numbers = assign_query_numbers(ids.unique().collect()["query_id"])
    numbered = replace_ids_with_numbers(qrels, "query_id", numbers)
    expected = {
        "qrels.txt": qrels.select(row=qrel_line_expr()),
        "qrels.numbers.txt": numbered.select(row=qrel_line_expr()),
        "query_numbers.tsv": numbers.lazy().select(row=pl.format("{}\t{}", "number", "id")),
    }
    for language, topics in texts.items():
        expected[f"{language}/topics.tsv"] = topics.select(row=query_line_expr())
        plain = replace_ids_with_numbers(topics, "query_id", numbers)
        expected[f"{language}/topics.trec"] = plain.select(row=trec_topic_expr("query_id"))
    return expected


def _read_rows(path: Path) -> pl.DataFrame:
    """Return the lines of a file, or the topics of a `.trec` file, as the column `row`."""
    text = path.read_text("utf-8", errors="replace")
    rows = re.split(r"(?<=</top>)\n", text) if path.suffix == ".trec" else text.split("\n")
    return pl.DataFrame({"row": rows}, schema={"row": pl.String}).filter(pl.col("row") != "")


def _compare_documents(
    context: ValidationContext, snapshot: str, documents: pl.LazyFrame
) -> Iterator[Defect]:
    """Report documents whose exported text in any language differs from the table."""
    for language, suffix in context.collection.languages.items():
        folder = context.collection.path / "trec" / snapshot / language / "documents"
        where = folder.relative_to(context.collection.path).as_posix()
        expected = _render_documents(context, snapshot, documents, suffix)
        if not any(folder.glob("*")):
            if _has_exports(context) and expected.height:
                yield where, MISSING, 1, ()
            continue
        exported = _read_documents(folder)
        for path in sorted(folder.iterdir()):
            yield from _find_crlf_line_endings(context, path, b"<DOC>\r\n")
        yield from _compare_rows(exported, expected, where, "documents")
        if exported.height != expected.height:
            message = f"the export has {exported.height} documents, but the table has "
            yield where, f"{message}{expected.height}", 1, ()
        changed = exported.join(expected, on="row").filter(pl.col("hash") != pl.col("hash_right"))
        if changed.height:
            message = "documents have a different text or title in the table"
            yield where, message, changed.height, tuple(changed["row"].head(3))


def _render_documents(
    context: ValidationContext, snapshot: str, documents: pl.LazyFrame, suffix: str
) -> pl.DataFrame:
    """Return the id (`row`) of each document, and the expected hash (`hash`) of its TREC form.

    The hash is null if another program has rewritten the table with other column types.
    """
    where = f"snapshots/{snapshot}/documents"
    if context.table_summaries[where].problems:
        ids = documents.drop_nulls(f"text{suffix}").select(
            row="doc_id", hash=pl.lit(None, pl.String)
        )
        return ids.collect()
    texts = render_trec_documents(context.open_table(where), suffix, NoProgress())
    return _hash_documents(map(str.encode, batch) for batch in texts)


def _read_documents(folder: Path) -> pl.DataFrame:
    """Return the id (`row`) and the hash (`hash`) of each exported document.

    CRLF line endings are read as LF.
    """
    files = (path.read_bytes() for path in sorted(folder.iterdir()))
    unix = (d.replace(b"\r\n", b"\n") if d.startswith(b"<DOC>\r\n") else d for d in files)
    starts = (data.split(b"<DOC>\n") for data in unix)
    return _hash_documents(
        (b"<DOC>\n" * (index > 0) + part for index, part in enumerate(parts) if index or part)
        for parts in starts
    )


def _hash_documents(batches: Iterable[Iterable[bytes]]) -> pl.DataFrame:
    """Return the DOCNO (`row`) and the MD5 hash of the text (`hash`) of each document."""
    schema = {"row": pl.String, "hash": pl.String}
    frames = [pl.DataFrame(map(_hash_document, texts), schema, orient="row") for texts in batches]
    return pl.concat([pl.DataFrame(schema=schema), *frames])


def _hash_document(text: bytes) -> tuple[str, str]:
    docno = DOCNO.search(text)
    digest = hashlib.md5(text, usedforsecurity=False).hexdigest()
    return docno[1].decode(errors="replace") if docno else "", digest


def _compare_rows(
    exported: pl.DataFrame, expected: pl.DataFrame, where: str, kind: str = "lines"
) -> Iterator[Defect]:
    """Report rows that are only in the export or only in the table, and repeated rows.

    The order of rows is ignored.
    """
    for first, second, reason in (
        (exported, expected, f"{kind} do not match a row of the table"),
        (expected, exported, "rows of the table are missing"),
    ):
        different = first.join(second, on="row", how="anti", maintain_order="left")
        if different.height:
            yield where, reason, different.height, tuple(different["row"].head(3))
    repeated = exported.filter(pl.col("row").is_first_distinct().not_())
    if repeated.height:
        yield where, f"{kind} are repeated", repeated.height, tuple(repeated["row"].head(3))


CHECKS = (
    Check(
        "LB219",
        "TREC exports contain the same documents, URLs, queries and judgements as the tables",
        "error",
        "document texts with <DOC> or </TEXT>, which TREC parsers cannot read",
        "export the version again",
        _find_export_differences,
    ),
)
