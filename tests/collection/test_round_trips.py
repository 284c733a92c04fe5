"""Import, export and import again: every column that the layout can hold comes back."""

import json
from pathlib import Path

import polars as pl
import pytest

from builder.collection.compare import compare
from builder.collection.export import export
from builder.collection.imports.release import ImportReport
from tests.collection.releases import imported, opened, write
from tests.thorough import ALL

TREC = "<DOC>\n<DOCNO>{id}</DOCNO>\n<TEXT>\n{text}\n</TEXT>\n</DOC>\n"
TEXTS = (
    "Une page sur l'eau. \n\n  Deux lignes\tet une tabulation \n fin.",
    "Du pain &lt;TEXT> et <b>du</b> sel.",
)
PARTS = ("documents", "judgements")
MONTHS = ("2022-06", "2022-07")


def _write_2023(root: Path, parts: tuple[str, ...]) -> None:
    for label, month in (("publish", "0622"), ("test-collection/B-2022-07", "0722")):
        for language in ("French", "English"):
            home = root / label / language
            pages = "".join(
                TREC.format(id=f"doc{month}{n}", text=f"{language} {text}")
                for n, text in enumerate(TEXTS)
            )
            if "documents" in parts:
                write(home / "Documents/Trec/collector_1.txt", pages)
            split = "train" if label == "publish" else "test"
            lines = (f"q{month}{n}\t{language} {n}\n" for n in range(3))
            write(home / f"Queries/{split}.tsv", "".join(lines))
    write(root / "publish/French/Queries/heldout.tsv", "q06229\tEau\n")
    write(root / "publish/French/Qrels/train.txt", "q06220 0 doc06220 2\nq06221 0 doc06221 0\n")
    write(root / "longeval-relevance-judgements/heldout-test.txt", "q06229 0 doc06221 1\n")
    if "judgements" in parts:
        write(root / "longeval-relevance-judgements/b-2022-07.txt", "q07220 0 doc07220 1\n")


def _write_web(root: Path, parts: tuple[str, ...], months: tuple[str, ...] = MONTHS) -> None:
    home = root / "French/LongEval Train Collection"
    for month in months:
        pages = "".join(
            TREC.format(id=f"doc{n}", text=f"{month} {text}") for n, text in enumerate(TEXTS)
        )
        if "documents" in parts:
            write(home / f"Trec/{month}_fr/a.trec", pages)
        write(home / f"queries/{month}_queries.txt", "5\teau potable\n6\tÉau potable\n")
        if month == "2022-06" or "judgements" in parts:
            write(home / f"qrels/{month}_fr/qrels_processed.txt", "5 0 1 2\n6 0 2 1\n6 0 1 0\n")


def _write_sci(root: Path, parts: tuple[str, ...]) -> None:
    papers = [
        {"id": str(11 + n), "title": f"On water {n}", "abstract": text}
        for n, text in enumerate(TEXTS)
    ]
    for month in ("2024-11", "2025-01"):
        if "documents" in parts:
            lines = "".join(json.dumps(paper) + "\n" for paper in papers)
            write(root / f"{month}/documents/documents_000001.jsonl", lines)
        write(root / f"{month}/queries.txt", "aa-1\twater\naa-2\tWater\n")
        if month == "2024-11" or "judgements" in parts:
            write(root / f"{month}/qrels.txt", "aa-1 0 11 2\naa-1 0 99 0\n")


RELEASES = {
    "longeval-2023": _write_2023,
    "longeval-web": _write_web,
    "longeval-sci": _write_sci,
}


def _tables(report: ImportReport) -> dict[str, pl.DataFrame]:
    """Every table of an import but the lines of its files that were odd."""
    return {
        path.relative_to(report.version).as_posix(): pl.read_parquet(path)
        for path in sorted(report.version.rglob("*.parquet"))
        if path.stem not in ("irregularities", "rejects")
    }


@pytest.mark.parametrize("parts", [*([PARTS] if ALL else []), ("documents",), ("judgements",)])
@pytest.mark.parametrize("layout", RELEASES)
def test_no_column_differs(layout: str, parts: tuple[str, ...], tmp_path: Path) -> None:
    """Also where a month has no judgements, or no month has documents."""
    RELEASES[layout](tmp_path / "r", parts)
    first = imported(tmp_path / "r", layout)
    out = export(first.version, layout, tmp_path / "again/r")
    second = imported(out, layout)
    assert second.rows == first.rows
    assert opened(second).languages == opened(first).languages
    before, after = _tables(first), _tables(second)
    assert list(after) == list(before)
    for name, table in before.items():
        assert after[name].equals(table), name
    assert compare(first.version, second.version).is_empty
    assert all(not ledger.rejected for ledger in second.ledgers.values())


@pytest.mark.parametrize("layout", RELEASES)
def test_a_table_without_rows_has_no_file(layout: str, tmp_path: Path) -> None:
    """An empty file was taken for a damaged one, and refused when it was imported again."""
    RELEASES[layout](tmp_path / "r", ())
    report = imported(tmp_path / "r", layout)
    out = export(report.version, layout, tmp_path / "export")
    documents = [
        p for p in out.rglob("*") if p.suffix in (".trec", ".jsonl") or "kodicare" in p.name
    ]
    assert [path for path in documents if path.parent.name != "Queries"] == []
    qrels = [
        p for p in out.rglob("*.txt") if "qrels" in p.name or p.parent.name.startswith("longe")
    ]
    assert all(path.stat().st_size for path in qrels)
    later = opened(report).snapshots[1]
    assert not [path for path in qrels if later in path.relative_to(out).as_posix()]


def test_markup_and_quotes_of_an_export_at_any_depth(tmp_path: Path) -> None:
    """Only a description in the folder of the release counted, and quotes were removed."""
    _write_web(tmp_path / "r", PARTS, MONTHS[:1])
    home = tmp_path / "r/French/LongEval Train Collection"
    page = TREC.format(id="doc3", text="<DOC> et &lt;DOC> ici")
    write(home / "Trec/2022-06_fr/b.trec", page)
    write(home / "queries/2022-06_queries.txt", '5\t "phrase exacte"\n6\t"Éau"\n7\ta "b" ""c\n')
    first = imported(tmp_path / "r", "longeval-web")
    queries = opened(first).snapshot("2022-06").queries.collect()
    assert queries["text"].to_list() == ['"phrase exacte"', "Éau", 'a "b" ""c']
    for name, folders in (("again", "r"), ("deep", "r/deeper/web")):
        export(first.version, "longeval-web", tmp_path / name / folders)
        second = imported(tmp_path / name / "r", "longeval-web")
        assert compare(first.version, second.version).is_empty
        documents = opened(second).snapshot("2022-06").documents.collect()
        assert documents["text"].to_list()[-1] == "<DOC> et &lt;DOC> ici"


def test_a_part_of_an_export_is_recognized(tmp_path: Path) -> None:
    _write_web(tmp_path / "r", PARTS, MONTHS[:1])
    first = imported(tmp_path / "r", "longeval-web")
    out = export(first.version, "longeval-web", tmp_path / "again/export")
    second = imported(out / "French", "longeval-web")
    assert compare(first.version, second.version).is_empty
