"""Checks that the TREC files of a collection contain what its tables contain."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from builder.collection.checks.context import ValidationContext
from builder.collection.checks.finding import Check, Defect
from builder.collection.export.files import qrel_line, query_line


def _find_export_differences(context: ValidationContext) -> Iterator[Defect]:
    """Report documents, queries and judgements that only the export or only the table contains."""
    for name in context.collection.snapshots:
        folder = context.collection.path / "trec" / name
        yield from _compare_document_counts(context, name, folder)
        expected = {folder / "qrels.txt": _scan_lines(context, name, "qrels", qrel_line())}
        for language, suffix in context.collection.languages.items():
            text = pl.col(f"text{suffix}").alias("text")
            queries = _scan_lines(context, name, "queries", query_line(), text)
            expected[folder / language / "topics.tsv"] = queries
        for path, lines in expected.items():
            if lines is not None and path.is_file():
                where = path.relative_to(context.collection.path).as_posix()
                yield from _compare_lines(path, lines, where)


def _compare_document_counts(
    context: ValidationContext, snapshot: str, folder: Path
) -> Iterator[Defect]:
    documents = context.table_summaries.get(f"snapshots/{snapshot}/documents")
    for documents_folder in sorted(folder.glob("*/documents")):
        found = sum(path.read_bytes().count(b"<DOC>\n") for path in documents_folder.iterdir())
        if documents and documents.is_readable and found != documents.rows:
            where = documents_folder.relative_to(context.collection.path).as_posix()
            message = f"the export has {found} documents, but the table has {documents.rows}"
            yield where, message, 1, ()


def _scan_lines(
    context: ValidationContext, snapshot: str, table: str, line: pl.Expr, *columns: pl.Expr
) -> pl.LazyFrame | None:
    """Return the lines of an exported table as the column `line`; None if it cannot be read."""
    rows = context.scan_table(f"snapshots/{snapshot}/{table}")
    if rows is None:
        return None
    return rows.with_columns(*columns).select(line.alias("line")).drop_nulls()


def _compare_lines(path: Path, expected: pl.LazyFrame, where: str) -> Iterator[Defect]:
    lines = path.read_text("utf-8", errors="replace").split("\n")
    found = pl.DataFrame({"line": lines}, schema={"line": pl.String})
    found = found.filter(pl.col("line") != "")
    wanted = expected.collect(engine="streaming")
    for first, second, reason in (
        (found, wanted, "lines do not match a row of the table"),
        (wanted, found, "rows of the table are missing"),
    ):
        different = first.join(second, on="line", how="anti", maintain_order="left")
        if different.height:
            yield where, reason, different.height, tuple(different["line"].head(3))


CHECKS = (
    Check(
        "LB219",
        "TREC exports contain the same documents, queries and judgements as the tables",
        "error",
        "document texts with <DOC> or </TEXT>, which TREC parsers cannot read",
        "export the version again",
        _find_export_differences,
    ),
)
