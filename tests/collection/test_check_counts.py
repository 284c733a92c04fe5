"""Checks of what steps counted, and what a check says of a file that may not be read."""

from pathlib import Path
from typing import Any

from builder.collection.checks import Check, ValidationContext
from tests.collection.literal import CURRENT, JUNE, Row, find, write_version


def test_a_check_stops_at_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    def read(context: ValidationContext) -> Any:
        yield "a", "first", 1, ()
        yield "b", "second", 2, ("x",), "another fix"
        raise PermissionError(13, "Permission denied", str(context.collection.path / "c/d.txt"))

    check = Check("XY101", "t", "warning", "w", "fix", read)
    context = ValidationContext(write_version(tmp_path, {}))
    denied = "cannot read the file: Permission denied"
    permissions = "correct the permissions of the file, or copy the version again"
    assert [
        (f.severity, f.where, f.message, f.count, f.examples, f.fix, f.version)
        for f in check.run(context)
    ] == [
        ("warning", "a", "first", 1, (), "fix", str(tmp_path)),
        ("warning", "b", "second", 2, ("x",), "another fix", str(tmp_path)),
        ("warning", "c/d.txt", denied, 1, (), permissions, str(tmp_path)),
    ]
    assert {finding.severity for finding in check.run(context, "error")} == {"error"}


def test_rejects_are_those_that_the_stages_counted(tmp_path: Path) -> None:
    rejects = [
        {"stage": "log", "reason": "bad_line", "rows": 2, "line": 1},
        {"stage": "log", "reason": "bad_line", "rows": 3, "line": 2},
        {"stage": "select", "reason": "no_topic", "rows": 4},
        {"stage": "crawl", "reason": "empty", "rows": 1},
    ]

    def ledger(**rejected: int) -> Row:
        total = sum(rejected.values())
        return {"ledger": {"rows_in": total + 1, "rows_out": 1, "rejected": rejected}}

    units = {
        "log 2022-06": ledger(bad_line=5),
        "log 2022-07": ledger(bad_line=9),
        "select 2022-06": ledger(no_topic=4, too_few_users=0),
        "crawl 2022-06": ledger(empty=1),
        "maps all": {},
    }
    tables = {f"{JUNE}/rejects": rejects}
    assert find("LB123", write_version(tmp_path / "a", tables, units=units)) == []
    units["log 2022-06"] = ledger(bad_line=3)
    units["crawl 2022-06"] = ledger(empty=1, gone=1)
    units["select 2022-06"] = ledger(adult=4)
    message = "the rejects do not match the reject counts in the manifest"
    examples = ("crawl gone", "log bad_line", "select adult")
    version = write_version(tmp_path / "b", tables, units=units)
    assert find("LB123", version) == [(f"{JUNE}/rejects", message, 4, examples)]
    assert find("LB123", write_version(tmp_path / "c", tables, units=units, imported={})) == []


def test_rows_of_a_step_add_up(tmp_path: Path) -> None:
    counts = [(9, 4, {"a": 2, "b": 3}), (9, 4, {"a": 3}), (9, 4, {"a": 2, "b": 4}), (4, 4, {})]
    counts += [(4, 5, {}), (0, 1, {})]
    units: dict[str, Any] = {
        f"{9 - n} x": {"ledger": {"rows_in": read, "rows_out": kept, "rejected": rejected}}
        for n, (read, kept, rejected) in enumerate(counts)
    }
    units |= {"0 x": {}, "1 x": {"ledger": None}}
    message = "rows kept and rejected by a step do not add up to the rows that it read"
    assert find("LB123", write_version(tmp_path, {}, units=units)) == [
        ("manifest.json", message, 4, ("4 x", "5 x", "7 x"))
    ]


def test_funnels_are_those_of_the_stage(tmp_path: Path) -> None:
    ledger = {"rows_in": 10, "rows_out": 6, "rejected": {"max_words": 3, "adult": 1}}
    units = {f"select {name}": {"ledger": ledger} for name in ("2022-06", "2022-07")}
    rules = [
        *("only_left_out_users", "too_few_users", "personal_email", "personal_phone"),
        *("personal_iban", "personal_nir", "personal_card", "personal_ip", "too_few_impressions"),
        *("too_few_clicks", "too_many_words", "too_many_characters", "search_operator"),
        *("url_like", "navigational", "stop_list"),
    ]
    steps = [{"rule": rule, "left_out": 0, "remaining": 10} for rule in rules]
    steps += [
        {"rule": "adult", "left_out": 1, "remaining": 9},
        {"rule": "max_words", "left_out": 3, "remaining": 6},
        {"rule": "no_topic", "left_out": 0, "remaining": 6},
    ]
    funnels = {"2022-06": steps, "2022-07": steps[:-1]}
    entries = {"units": units, "selection": funnels, "tools": CURRENT}
    message = "`selection` of 2022-07 does not match the counts of step `select 2022-07`"
    found = [("manifest.json", message, 1, ())]
    version = write_version(tmp_path, {}, **entries)
    assert find("LB123", version) == found
    del version.manifest["selection"]["2022-07"]
    assert find("LB123", version) == found
    version.manifest["units"].pop("select 2022-07")
    assert find("LB123", version) == []
    del version.manifest["selection"]
    assert [message for _, message, *_ in find("LB123", version)] == [
        "`selection` of 2022-06 does not match the counts of step `select 2022-06`"
    ]
    version.manifest["tools"] = {"longeval-builder": "0.1"}
    assert find("LB123", version) == []
    version.manifest["tools"] = CURRENT
    version.manifest["definition"]["imported"] = {"layout": "longeval-web"}
    assert find("LB123", version) == []
