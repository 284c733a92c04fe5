"""Checks that the TREC files of a collection contain what its tables contain."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from builder.collection.checks.context import ValidationContext
from builder.collection.checks.finding import Check, Defect
from builder.collection.export.files import qrel_line_expr, query_line_expr, trec_topic_expr
from builder.collection.export.numeric_ids import assign_query_numbers, replace_ids_with_numbers

DOCNO = re.compile(rb"^<DOCNO>(.*)</DOCNO>$", re.MULTILINE)


def _find_export_differences(context: ValidationContext) -> Iterator[Defect]:
    """Report documents, queries and judgements that only the export or only the table contains.

    Document texts and URLs are not compared.
    """
    for name, (queries, qrels) in context.scan_snapshots("queries", "qrels"):
        folder = context.collection.path / "trec" / name
        texts = {
            language: queries.select("query_id", text=f"text{suffix}").drop_nulls("text")
            for language, suffix in context.collection.languages.items()
        }
        for path, rows in _expected_rows(queries, texts, qrels).items():
            if (folder / path).is_file():
                where = f"trec/{name}/{path}"
                yield from _compare_rows(_read_rows(folder / path), rows.collect(), where)
    for name, documents in context.scan_snapshots("documents"):
        yield from _compare_document_ids(context, name, documents)


def _expected_rows(
    queries: pl.LazyFrame, texts: Mapping[str, pl.LazyFrame], qrels: pl.LazyFrame
) -> dict[str, pl.LazyFrame]:
    """Return the expected rows of each query and qrels file, as the column `row`.

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


def _compare_document_ids(
    context: ValidationContext, snapshot: str, documents: pl.LazyFrame
) -> Iterator[Defect]:
    for language, suffix in context.collection.languages.items():
        folder = context.collection.path / "trec" / snapshot / language / "documents"
        if folder.is_dir():
            count, ids = _read_document_ids(folder)
            wanted = documents.drop_nulls(f"text{suffix}").select(row="doc_id").collect()
            where = folder.relative_to(context.collection.path).as_posix()
            yield from _compare_rows(ids, wanted, where, "documents")
            if count != wanted.height:
                message = f"the export has {count} documents, but the table has {wanted.height}"
                yield where, message, 1, ()


def _read_document_ids(folder: Path) -> tuple[int, pl.DataFrame]:
    """Return the number of `<DOC>` tags in a folder, and the document ids as the column `row`."""
    count, ids = 0, []
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        count += data.count(b"<DOC>\n")
        ids += [docno.decode(errors="replace") for docno in DOCNO.findall(data)]
    return count, pl.DataFrame({"row": ids}, schema={"row": pl.String})


def _compare_rows(
    exported: pl.DataFrame, expected: pl.DataFrame, where: str, kind: str = "lines"
) -> Iterator[Defect]:
    """Report rows that only the export or only the table contains; the order is ignored."""
    for first, second, reason in (
        (exported, expected, f"{kind} do not match a row of the table"),
        (expected, exported, "rows of the table are missing"),
    ):
        different = first.join(second, on="row", how="anti", maintain_order="left")
        if different.height:
            yield where, reason, different.height, tuple(different["row"].head(3))


CHECKS = (
    Check(
        "LB219",
        "TREC exports contain the same document ids, queries and judgements as the tables",
        "error",
        "document texts with <DOC> or </TEXT>, which TREC parsers cannot read",
        "export the version again",
        _find_export_differences,
    ),
)
