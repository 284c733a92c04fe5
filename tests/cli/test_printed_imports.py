"""What commands print of imports, schemas and statistics that are given, whole."""

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

from builder.cli.analysis import _flatten_dict
from builder.cli.collection import _print_schema
from builder.cli.json_output import import_plan_to_json, import_report_to_json
from builder.cli.options import OutputFormat
from builder.cli.release import _print_import_plan, _print_import_report
from builder.collection.imports.files import SnapshotFiles
from builder.collection.imports.plan import ImportPlan
from builder.collection.imports.release import ImportReport
from builder.collection.imports.unread import UnreadFiles
from builder.runtime.ledger import RowLedger
from tests.cli.test_cli import Captured


def _plan(unread: dict[str, UnreadFiles], outside: list[str], missing: list[str]) -> ImportPlan:
    snapshots = [
        SimpleNamespace(name="2022-06", queries=[1], qrels=[1, 2], documents={"fr": [1, 2, 3]}),
        SimpleNamespace(name="2022-07", queries=[1], qrels=[], documents={"fr": [1], "en": [1]}),
    ]
    rows: list[SnapshotFiles] = snapshots  # type: ignore[assignment]
    return ImportPlan(Path("r"), Path("out/1.0.0"), rows, unread, outside, missing)


UNREAD = {
    "a\x1b": UnreadFiles("not a table", 1),
    "b": UnreadFiles("hidden", 1200),
    "c": UnreadFiles("not a table", 2),
}
FEW = _plan(UNREAD, ["x\x1b", "y"], ["p"])
MANY = _plan(
    {f"f{n:02}": UnreadFiles("hidden", 1) for n in range(12)},
    [f"l{n:02}" for n in range(11)],
    [f"m{n:02}" for n in range(10)],
)
SKIPPED = [
    "skipped files (not a table): a\\x1b, c (2 files)",
    "skipped files (hidden): b (1,200 files)",
    "skipped links to files outside the release: x\\x1b, y",
    "prior datasets not found: p",
]


def test_an_import_plan_counts_files(capsys: Captured) -> None:
    _print_import_plan(FEW, OutputFormat.TEXT)
    assert capsys.readouterr().out.splitlines() == [
        "snapshot  query files  qrels files  document files",
        "2022-06             1            2               3",
        "2022-07             1            0               2",
        *SKIPPED,
        "would write out/1.0.0",
    ]
    _print_import_plan(FEW, OutputFormat.JSON)
    found = json.loads(capsys.readouterr().out)
    assert (
        found
        == import_plan_to_json(FEW)
        == {
            "version": "out/1.0.0",
            "files": {
                "2022-06": {"queries": 1, "qrels": 2, "documents": 3},
                "2022-07": {"queries": 1, "qrels": 0, "documents": 2},
            },
            "unread": {"a\x1b": 1, "b": 1200, "c": 2},
            "unread_reasons": {"a\x1b": "not a table", "b": "hidden", "c": "not a table"},
            "outside": ["x\x1b", "y"],
            "missing": ["p"],
        }
    )


def test_ten_skipped_files_are_named(capsys: Captured) -> None:
    _print_import_plan(MANY, OutputFormat.TEXT)
    files, links, datasets = (", ".join(f"{letter}{n:02}" for n in range(10)) for letter in "flm")
    assert capsys.readouterr().out.splitlines()[3:] == [
        f"skipped files (hidden): {files} and 2 more",
        f"skipped links to files outside the release: {links} and 1 more",
        f"prior datasets not found: {datasets}",
        "would write out/1.0.0",
    ]
    _print_import_plan(_plan({}, [], []), OutputFormat.TEXT)
    assert capsys.readouterr().out.splitlines()[3:] == ["would write out/1.0.0"]


def test_an_import_counts_records_and_rejects(capsys: Captured) -> None:
    ledgers = {
        "2022-06": RowLedger("records", 1500, 1497, Counter({"b": 2, "a": 1}), ["odd\x1b"]),
        "2022-07": RowLedger("records", 7, 7),
    }
    rows = {
        "2022-06": {"queries": 1000, "qrels": 400, "documents": 97},
        "2022-07": {"queries": 1, "qrels": 2, "documents": 4},
    }
    report = ImportReport(Path("out/1.0.0"), ledgers, rows, FEW)
    _print_import_report(report)
    assert capsys.readouterr().out.splitlines() == [
        "snapshot  queries  judgements  documents  records   kept",
        "2022-06     1,000         400         97    1,500  1,497",
        "2022-07         1           2          4        7      7",
        "",
        "snapshot  reject reason  records",
        "2022-06   a                    1",
        "2022-06   b                    2",
        "note: 2022-06: odd\\x1b",
        *SKIPPED,
        "wrote out/1.0.0; check it with: longeval validate out/1.0.0",
    ]
    assert import_report_to_json(report) == {
        "version": "out/1.0.0",
        "rows": rows,
        "accounts": {
            "2022-06": {
                "unit": "records",
                "rows_in": 1500,
                "rows_out": 1497,
                "rejected": {"a": 1, "b": 2},
                "notes": ["odd\x1b"],
            },
            "2022-07": {
                "unit": "records",
                "rows_in": 7,
                "rows_out": 7,
                "rejected": {},
                "notes": [],
            },
        },
        "unread": {"a\x1b": 1, "b": 1200, "c": 2},
        "unread_reasons": {"a\x1b": "not a table", "b": "hidden", "c": "not a table"},
        "outside": ["x\x1b", "y"],
        "missing": ["p"],
    }
    _print_import_report(ImportReport(Path("v"), {"2022-07": ledgers["2022-07"]}, rows, MANY))
    assert "reject reason" not in capsys.readouterr().out


def test_a_schema_is_printed_as_a_table(capsys: Captured) -> None:
    columns = [
        {"name": "id", "type": "String", "nullable": False, "rules": "key", "description": "Id"},
        {"name": "n", "type": "UInt8", "nullable": True, "rules": "", "description": "Number"},
    ]
    rules = [{"name": "odd", "description": "No even number."}]
    _print_schema("t", {"description": "D", "columns": columns, "rules": rules, "order": ["id"]})
    assert capsys.readouterr().out == (
        "t: D\n"
        "column  type    rules  meaning\n"
        "id      String  key    Id\n"
        "n       UInt8?         Number\n"
        "rule odd: No even number.\n"
        "order: id\n\n"
    )


def test_nested_statistics_are_flattened_without_lists() -> None:
    nested = {"a": {"b": 1, "c": [1, 2], "d": {"e": 0.123456789, "f": None}}, "g": "x"}
    assert list(_flatten_dict(nested)) == [
        ("a.b", 1),
        ("a.d.e", "0.123457"),
        ("a.d.f", None),
        ("g", "x"),
    ]
