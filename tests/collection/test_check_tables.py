"""Checks of single tables on a few literal rows: files, columns, order, keys, rules and rejects."""

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder.collection.checks import ValidationContext, table_summary
from builder.collection.checks.table_summary import TableSummary, fill_table_summary
from builder.collection.checks.tables import UNCHECKED_TABLES
from builder.io.tables import TableWriter
from schemas import Documents, Queries, Rejects, Topics
from tests.collection.literal import JULY, JUNE, Row, find, write_rows, write_version


def _summary(path: Path, *ids: list[str]) -> TableSummary:
    """The summary of a table of topics with these ids in each of its files."""
    paths = tuple(path / f"part-{number}.parquet" for number in range(len(ids)))
    for file, names in zip(paths, ids, strict=True):
        rows = [{"topic_id": name, "label": name, "language": "fr"} for name in names]
        write_rows(file, Topics, rows)
    return fill_table_summary(TableSummary(Topics, paths), "topics")


@pytest.mark.parametrize(
    ("ids", "rows", "is_sorted", "duplicates"),
    [
        ([["a", "b"], ["b", "c"]], 4, True, (2, ("b",))),
        ([["a", "a", "b", "c", "c", "c", "d", "d", "e", "e"]], 10, True, (9, ("a", "c", "d"))),
        ([["a", "b"], ["a", "c"]], 4, False, (2, ("a",))),
        ([["c", "a", "c", "b"]], 4, False, (2, ("c",))),
        ([["a"], [], ["b"]], 2, True, (0, ())),
    ],
)
def test_keys_are_compared_across_files(
    ids: list[list[str]],
    rows: int,
    is_sorted: bool,
    duplicates: tuple[int, tuple[str, ...]],
    tmp_path: Path,
) -> None:
    found = _summary(tmp_path, *ids)
    assert (found.rows, found.is_sorted, found.duplicate_keys) == (rows, is_sorted, duplicates)
    assert (found.is_readable, found.problems) == (True, [])


def test_order_and_texts_are_compared_across_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runaway translations are looked for in every second of five rows."""
    monkeypatch.setattr(table_summary, "SAMPLE_ROWS", 2)
    rows = [
        {"doc_id": name, "text": "a", "text_en": "leg " * 9, "text_hash": "0"} for name in "abcde"
    ]
    write_rows(tmp_path / "one.parquet", Documents, rows)
    frame = pl.read_parquet(tmp_path / "one.parquet")
    orders = {"sorted": [0, 1, 2, 3, 4], "unsorted": [0, 2, 1, 3, 4]}
    found = {}
    for name, order in orders.items():
        with TableWriter(path := tmp_path / f"{name}.parquet", Documents, rows_per_group=2) as file:
            file.append(frame[order])
        summary = fill_table_summary(TableSummary(Documents, (path,)), f"{JUNE}/documents")
        faults = summary.text_faults
        found[name] = (summary.is_sorted, faults.counts["other_text_hash"], faults.examples)
    examples = {"other_text_hash": ["a", "b", "c"], "runaway_english": ["a", "c", "e"]}
    assert found["sorted"] == (True, 5, examples)
    assert found["unsorted"][:2] == (False, 5)


def test_every_translation_of_a_small_table_is_looked_at(tmp_path: Path) -> None:
    rows = [{"doc_id": name, "text_en": "leg " * 9} for name in "ab"]
    write_rows(path := tmp_path / "documents.parquet", Documents, rows)
    found = {
        name: fill_table_summary(TableSummary(Documents, (path,)), name).text_faults.counts
        for name in (f"{JUNE}/documents", "changes/documents", "documents")
    }
    assert [counts["runaway_english"] for counts in found.values()] == [2, 0, 0]


ORDER = ("order: label, topic_id, aliases, language, source",)
UNCHECKED = "; the rows of the table are not checked"


NUMBERS = pa.array([1])


@pytest.mark.parametrize(
    ("change", "readable", "examples"),
    [
        (lambda t: t, True, ()),
        (lambda t: t.append_column("more", NUMBERS), True, ("more: unexpected",)),
        (lambda t: t.select(["label", "topic_id", "aliases", "language", "source"]), True, ORDER),
        (
            lambda t: t.set_column(1, "label", t["label"].cast(pa.large_string())),
            True,
            ("label: large_string instead of string",),
        ),
        (lambda t: t.set_column(1, "label", NUMBERS), False, ("label: int64 instead of string",)),
        (lambda t: t.drop_columns("source"), False, ("source: missing",)),
        (
            lambda t: (
                t.drop_columns(["label", "source"])
                .append_column("more", NUMBERS)
                .append_column("other", NUMBERS)
            ),
            False,
            ("label: missing", "source: missing", "more: unexpected"),
        ),
    ],
)
def test_columns_that_differ_are_named(
    change: Callable[[pa.Table], pa.Table],
    readable: bool,
    examples: tuple[str, ...],
    tmp_path: Path,
) -> None:
    write_rows(path := tmp_path / "a.parquet", Topics, [{"topic_id": "a", "label": "b"}])
    pq.write_table(change(pq.read_table(path)), path)
    found = fill_table_summary(TableSummary(Topics, (path,)), "topics")
    assert (found.is_readable, found.rows) == (readable, int(readable))
    message = f"columns of a.parquet differ from schema {Topics.signature()}"
    message += "" if readable else UNCHECKED
    assert found.problems == ([(message, examples)] if examples else [])
    if readable:
        columns = ["topic_id", "label", "aliases", "language", "source"]
        assert found.scan().collect_schema().names() == columns


def test_a_table_is_read_as_far_as_its_columns_fit(tmp_path: Path) -> None:
    """One of the files has a column more; the other one is a table of other columns."""
    write_rows(first := tmp_path / "a.parquet", Topics, [{"topic_id": "a"}])
    pq.write_table(pq.read_table(first).append_column("more", NUMBERS), tmp_path / "b.parquet")
    summary = TableSummary(Topics, (first, tmp_path / "b.parquet"))
    assert fill_table_summary(summary, "topics").scan().collect().height == 2
    pq.write_table(pa.table({"x": [1]}), tmp_path / "b.parquet")
    found = fill_table_summary(TableSummary(Topics, summary.paths), "topics")
    assert (found.is_readable, found.rows) == (False, 0)
    assert TableSummary(Topics, ()).is_readable is False


def test_unreadable_files_are_named_with_the_first_line_of_the_error(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"")
    (tmp_path / "b.parquet").write_text("version https://git-lfs.github.com/spec/v1\n")
    paths = (tmp_path / "a.parquet", tmp_path / "b.parquet")
    found = fill_table_summary(TableSummary(Topics, paths), "topics")
    assert found.problems == [
        (f"cannot read a.parquet: Parquet file size is 0 bytes{UNCHECKED}", ()),
        (f"cannot read b.parquet: the file is a Git LFS pointer{UNCHECKED}", ()),
    ]


def test_damaged_pages_are_a_problem_of_the_table(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_rows(path, Topics, [{"topic_id": "a", "label": "b"}])
    data = path.read_bytes()
    footer = int.from_bytes(data[-8:-4], "little") + 8
    path.write_bytes(data[:4] + bytes(len(data) - footer - 4) + data[-footer:])
    found = fill_table_summary(TableSummary(Topics, (path,)), "topics")
    ((message, examples),) = found.problems
    assert message.startswith("cannot read a file of the table: ")
    assert message.endswith(UNCHECKED)
    assert (found.is_readable, examples) == (False, ())


def test_every_table_that_a_build_publishes_is_expected(tmp_path: Path) -> None:
    version = write_version(tmp_path / "a", {}, snapshots=("2022-06",))
    schemas = (
        "Documents",
        "Queries",
        "Sentences",
        "Translations",
        "QueryCollisions",
        "Qrels",
        "ClickEstimates",
        "ClickDiagnostics",
        "Coverage",
        "HostCoverage",
        "GradeCuts",
        "GradeSensitivity",
        "Rejects",
    )
    snapshot = [(f"{JUNE}/{re.sub('(?<!^)(?=[A-Z])', '_', s).lower()}", s) for s in schemas]
    whole = [
        ("topics", "Topics"),
        ("documents_map", "DocumentsMap"),
        ("queries_map", "QueriesMap"),
        ("near_leaks", "NearLeaks"),
        ("changes/documents", "DocumentChanges"),
        ("changes/queries", "QueryChanges"),
        ("changes/qrels", "QrelChanges"),
    ]
    assert find("LB101", version) == [
        (where, f"the table is missing ({schema})", 1, ()) for where, schema in whole + snapshot
    ]


def test_tables_that_no_check_has_read_are_not_reported(tmp_path: Path) -> None:
    rows: list[Row] = [{"query_id": "1"}]
    tables = {f"{JUNE}/queries": rows, f"{JUNE}/release_ids": []}
    version = write_version(tmp_path, tables, snapshots=("2022-06",), imported={})
    path = tmp_path / JUNE / "queries.parquet"
    pq.write_table(pq.read_table(path).append_column("more", NUMBERS), path)
    (tmp_path / JUNE / "release_ids.parquet").write_bytes(b"PAR1")
    context = ValidationContext(version)
    assert UNCHECKED_TABLES.run(context) == []
    assert context.scan_table(f"{JUNE}/queries") is not None
    assert context.scan_table(f"{JUNE}/release_ids") is None
    assert context.scan_table("none") is None
    assert [finding.where for finding in UNCHECKED_TABLES.run(context)] == [f"{JUNE}/release_ids"]


def test_broken_rules_are_counted_by_file(tmp_path: Path) -> None:
    version = write_version(tmp_path, {}, snapshots=("2022-06",))
    good = {"text": "eau", "split": "test", "variant_set": "v0000000000000001"}
    rows = [
        {**good, "query_id": "q0000000000000001", "split": "dev"},
        {**good, "query_id": "q0000000000000002", "split": "dev"},
        {**good, "query_id": "q0000000000000003", "text": ""},
        {**good, "query_id": "q0000000000000003"},
    ]
    write_rows(tmp_path / JUNE / "queries.parquet", Queries, rows)
    rejects = {"stage": "log", "reason": "No", "rows": 0}
    write_rows(tmp_path / JUNE / "rejects.parquet", Rejects, [rejects, rejects])
    assert find("LB102", version) == [
        (f"{JUNE}/queries", "rows of queries.parquet violate the rule split|regex", 2, ()),
        (f"{JUNE}/queries", "rows of queries.parquet violate the rule text|min_length", 1, ()),
        (f"{JUNE}/rejects", "rows of rejects.parquet violate the rule reason|regex", 2, ()),
        (f"{JUNE}/rejects", "rows of rejects.parquet violate the rule rows|min", 2, ()),
    ]
    assert find("LB103", version) == [
        (f"{JUNE}/queries", "rows have a duplicate key (query_id)", 2, ("q0000000000000003",))
    ]
    assert find("LB104", version) == []


def test_rows_are_sorted_by_the_columns_of_the_schema(tmp_path: Path) -> None:
    collisions = [
        {"folded_en": "bread", "query_id": "q2"},
        {"folded_en": "bread", "query_id": "q1"},
    ]
    version = write_version(
        tmp_path,
        {f"{JUNE}/query_collisions": collisions, f"{JULY}/query_collisions": collisions[::-1]},
    )
    message = "rows are not sorted by folded_en, query_id"
    assert find("LB104", version) == [(f"{JUNE}/query_collisions", message, 1, ())]


def test_ids_are_hashes_of_urls_and_folded_texts(tmp_path: Path) -> None:
    """The first 16 digits of `printf https://a.example/ | md5sum`, and of `printf "l eau"`."""
    url = "https://a.example/"
    right = [{"doc_id": "de2d259d7a2eb32a9", "url_key": url}]
    queries = [{"query_id": "q47ee93a162f57e91", "text": "L'Eau !"}, {"query_id": "q", "text": "?"}]
    tables = {
        f"{JUNE}/documents": right + [{"doc_id": f"d{n}", "url_key": url} for n in range(4)],
        f"{JUNE}/queries": queries + [{"query_id": f"q{n}", "text": "eau"} for n in range(4)],
    }
    version = write_version(tmp_path / "a", tables)
    assert find("LB107", version) == [
        (
            f"{JUNE}/documents",
            "document ids are not derived from canonical URLs",
            4,
            ("d0", "d1", "d2"),
        )
    ]
    assert find("LB108", version) == [
        (
            f"{JUNE}/queries",
            "query ids are not derived from normalized (folded) texts",
            4,
            ("q0", "q1", "q2"),
        )
    ]
    release = write_version(tmp_path / "b", tables, imported={})
    assert find("LB107", release) == find("LB108", release) == []


def test_grades_are_those_of_their_source(tmp_path: Path) -> None:
    qrels = [
        {"source": source, "grade": grade, "click_grade": clicked, "manual_grade": manual}
        for source, grade, clicked, manual in (
            ("click", 1, 1, 2),
            ("click", 2, 1, 2),
            ("click", 1, None, 2),
            ("manual", 2, 1, 2),
            ("manual", 1, 1, 2),
            ("manual", 1, 2, None),
            ("release", 1, 2, 2),
            ("click", 0, 1, None),
            ("click", 0, 2, None),
        )
    ]
    rows = [{"query_id": "q1", "doc_id": f"d{n}", **row} for n, row in enumerate(qrels)]
    message = "grades differ from the click or manual grade named by the column `source`"
    assert find("LB116", write_version(tmp_path, {f"{JUNE}/qrels": rows})) == [
        (f"{JUNE}/qrels", message, 4, ("q1 d1", "q1 d4", "q1 d7"))
    ]


def _rejects(reason: str, *lines: int, stage: str = "import", rows: int = 2) -> list[Row]:
    return [
        {"stage": stage, "reason": reason, "file": "a.txt", "line": line, "rows": rows}
        for line in lines
    ]


def test_records_that_an_import_rejected_are_counted_by_reason(tmp_path: Path) -> None:
    rejects = [
        *_rejects("repeated_judgement", 4, 5, 6, 7),
        *_rejects("grade_unknown", 9),
        *_rejects("repeated_query_id", 3),
        *_rejects("repeated_judgement", 8, stage="log"),
    ]
    version = write_version(tmp_path, {f"{JULY}/rejects": rejects}, imported={})
    assert find("LB201", version) == [
        (JULY, "judgements are listed more than once", 8, ("a.txt:4", "a.txt:5", "a.txt:6")),
        (JULY, "query ids are listed more than once", 2, ("a.txt:3",)),
    ]
    assert find("LB205", version) == [(JULY, "grades are not 0, 1 or 2", 2, ("a.txt:9",))]


def test_irregular_lines_are_named_with_the_first(tmp_path: Path) -> None:
    kinds = ("crlf", "leaked_quotes", "mixed_line_ends", "control_character_in_id", "unread_fields")
    rows = [
        {"file": f"{n}.txt", "kind": kind, "lines": 5 + n, "first": n, "example": "e"}
        for n, kind in enumerate(kinds, 1)
    ]
    queries = [{"query_id": f"{n}", "text": text} for n, text in enumerate(["a  b", "c", "d  e"])]
    tables = {f"{JUNE}/irregularities": rows, f"{JUNE}/queries": queries}
    version = write_version(tmp_path, tables, imported={})
    crlf = "lines end with CRLF; some readers keep the CR in the text"
    assert find("LB203", version) == [
        (JUNE, f"1.txt: {crlf}", 6, ("1.txt:1",)),
        (JUNE, "3.txt: the file mixes CRLF and LF line endings", 8, ("3.txt:3",)),
    ]
    quotes = "texts contain stray quotation marks, which CSV readers misinterpret"
    assert find("LB204", version) == [
        (JUNE, f"2.txt: {quotes}", 7, ("2.txt:2",)),
        (JUNE, "4.txt: ids contain control characters", 9, ("4.txt:4",)),
        (f"{JUNE}/queries", "texts contain repeated spaces", 2, ("0", "2")),
    ]
    ((_, message, count, examples),) = find("LB206", version)
    assert message.startswith("5.txt: documents have content that is not imported: ")
    assert (count, examples) == (10, ("5.txt:5",))
