"""Which checks run on which versions, and how their findings are written."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builder.collection import validate as validation
from builder.collection.checks import CHECKS, Check, Finding, ValidationContext
from builder.collection.findings import format_github, format_json, format_summary, format_text
from builder.collection.validate import (
    find_versions_to_validate,
    parse_severities,
    read_snapshot_names,
    validate,
    validate_all_versions,
)
from builder.errors import UsageError
from tests.collection.literal import Row, write_version

JUNE = "snapshots/2022-06"
EAU = "d7ebc8bdcc77816f7c12054d257ba82c"
"""MD5 of `eau`."""
REBUILD = "rebuild the version from its definition, or download it again"


def _plugin(identity: object, find: Callable[[ValidationContext], Any] = lambda _: ()) -> Check:
    return Check(str(identity), "title", "warning", "why", "fix", find)


def _install(monkeypatch: pytest.MonkeyPatch, **checks: object) -> None:
    monkeypatch.setattr(validation, "find_plugins", lambda group: checks)
    monkeypatch.setattr(validation, "load_plugin", lambda group, name: checks[name])


def _ran(monkeypatch: pytest.MonkeyPatch, folder: Path, **options: Any) -> list[str]:
    """Ids of the checks that ran; those of the package are replaced by ones that find nothing."""
    ran: list[str] = []

    def run(self: Check, context: ValidationContext, severity: str | None = None) -> list[Finding]:
        ran.append(self.id if severity is None else f"{self.id}={severity}")
        return []

    monkeypatch.setattr(Check, "run", run)
    assert validate(folder, **options) == []
    return ran


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"select": ("LB11",)}, "LB111 LB112 LB113 LB114 LB115 LB116 LB117 LB118 LB119 LB101"),
        (
            {"select": ("LB11",), "ignore": ("LB115", "LB118")},
            "LB111 LB112 LB113 LB114 LB116 LB117 LB119 LB101",
        ),
        ({"select": ("LB101", "LB00")}, "LB001 LB002 LB003 LB004 LB101"),
        ({"select": ("LB004",), "ignore": ("LB1",)}, "LB004"),
        ({"select": ("XY",)}, "XY101 LB101"),
        ({"select": ("LB004",), "severities": {"LB004": "warning"}}, "LB004=warning LB101"),
        ({"ignore": ("LB", "XY")}, ""),
        ({"ignore": ("LB0", "LB1", "LB2")}, "XY101"),
    ],
)
def test_checks_are_chosen_by_prefix(
    options: dict[str, Any], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LB101 runs last, unless it is chosen or ignored."""
    write_version(tmp_path, {})
    _install(monkeypatch, mine=_plugin("XY101"))
    assert " ".join(_ran(monkeypatch, tmp_path, **options)) == expected


def test_all_checks_run_in_order_of_their_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_version(tmp_path, {})
    _install(monkeypatch, b=_plugin("XZ001"), a=_plugin("XY101"))
    ids = [check.id for check in CHECKS]
    assert ids == sorted(set(ids))
    assert _ran(monkeypatch, tmp_path) == [*ids, "XZ001", "XY101"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"select": ("LB9",)},
            "no check matches 'LB9'; expected a check id such as LB001, or a prefix such as LB1",
        ),
        (
            {"ignore": ("LB1", "")},
            "no check matches ''; expected a check id such as LB001, or a prefix such as LB1",
        ),
        (
            {"severities": {"LB1": "error"}},
            (
                "--severity: unknown check 'LB1'; use the full check id, for example --severity "
                "LB001=error"
            ),
        ),
        (
            {"severities": {"LB101": "fatal"}},
            "--severity: expected error or warning for LB101, found 'fatal'",
        ),
    ],
)
@pytest.mark.parametrize("run", [validate, validate_all_versions])
def test_unknown_checks_are_refused(
    run: Callable[..., Any], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as raised:
        run(write_version(tmp_path, {}).path, **options)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    "identity", ["LB301", "LB101", "xy101", "X101", "XY10", "XY1011", "ABCDEFGHI101", "XY101"]
)
def test_ids_of_plugins_are_unique(
    identity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(monkeypatch, first=_plugin("XY101"), second=_plugin(identity))
    with pytest.raises(UsageError) as raised:
        validate(write_version(tmp_path, {}).path)
    assert str(raised.value) == (
        "checks: plug-in 'second' must be a Check with a unique id such as XY101 (the prefix LB is "
        "reserved)"
    )


def test_a_plugin_has_to_be_a_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, mine="XY101")
    with pytest.raises(UsageError, match="plug-in 'mine' must be a Check"):
        validate(write_version(tmp_path, {}).path)


@pytest.mark.parametrize("identity", ["XY101", "ABCDEFGH999"])
def test_findings_of_plugins_are_among_the_others(
    identity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(monkeypatch, mine=_plugin(identity, lambda _: [("a", "b", 2, ("c",))]))
    write_version(tmp_path, {f"{JUNE}/rejects": []})
    select = (identity,)
    expected = Finding(identity, "warning", "a", "b", 2, ("c",), "fix", str(tmp_path))
    assert validate(tmp_path, select=select, ignore=("LB",)) == [expected]
    (found,) = validate_all_versions(
        tmp_path, select=select, ignore=("LB",), severities={identity: "error"}
    )
    assert found.severity == "error"


def _place(root: Path, *names: str, files: tuple[str, ...] = ("manifest.json",)) -> None:
    """Folders of versions, which have a folder of snapshots and these files."""
    for name in names:
        (root / name / "snapshots").mkdir(parents=True)
        for file in files:
            (root / name / file).write_text("{}")


def test_the_highest_version_and_incomplete_ones_are_validated(tmp_path: Path) -> None:
    _place(tmp_path, "0.1.0", "0.10.0", "0.9.0")
    _place(tmp_path, "0.2.0", files=("SHA256SUMS",))
    (tmp_path / "0.9.0/manifest.json").write_text('{"kind": "classification"}')
    assert find_versions_to_validate(tmp_path) == [tmp_path / "0.10.0", tmp_path / "0.2.0"]
    assert find_versions_to_validate(tmp_path / "0.9.0") == [tmp_path / "0.9.0"]
    assert find_versions_to_validate(tmp_path / "0.2.0") == [tmp_path / "0.2.0"]
    assert find_versions_to_validate(tmp_path, all_versions=True) == [
        tmp_path / name for name in ("0.1.0", "0.10.0", "0.2.0")
    ]
    with pytest.raises(UsageError) as raised:
        find_versions_to_validate(tmp_path / "0.9.0", all_versions=True)
    assert str(raised.value) == (
        f"{tmp_path / '0.9.0'}: no published version found at or below this folder"
    )
    with pytest.raises(UsageError, match="no such folder"):
        find_versions_to_validate(tmp_path / "none")


def test_snapshots_of_a_version_that_cannot_be_read_are_unknown(tmp_path: Path) -> None:
    assert read_snapshot_names(write_version(tmp_path / "a", {}).path) == ("2022-06", "2022-07")
    assert read_snapshot_names(tmp_path) == ()


@pytest.mark.parametrize(
    ("content", "message", "fix"),
    [
        ("{}", "invalid manifest: name: Field required", REBUILD),
        ("[]", "invalid manifest: expected a JSON object, found list", REBUILD),
        (
            "version https://git-lfs.github.com/spec/v1\n",
            "cannot read the manifest: the file is a Git LFS pointer",
            "fetch the file with `git lfs pull`; in GitHub Actions, check out with `lfs: true`",
        ),
    ],
)
def test_a_manifest_that_cannot_be_read_is_the_only_finding(
    content: str, message: str, fix: str, tmp_path: Path
) -> None:
    """It is an error whatever the checks that are selected."""
    version = write_version(tmp_path, {})
    (tmp_path / "manifest.json").write_text(content)
    options: dict[str, Any] = {"select": ("LB1",), "severities": {"LB004": "warning"}}
    expected = Finding("LB004", "error", "manifest.json", message, 1, (), fix, str(version.path))
    assert validate(tmp_path, **options) == [expected]


def test_severities_are_parsed() -> None:
    options = ["LB205=warning", "LB206=error", "LB205=error"]
    assert parse_severities(options) == {"LB205": "error", "LB206": "error"}
    with pytest.raises(UsageError) as raised:
        parse_severities(["LB205=warning", "LB206=fatal"])
    assert str(raised.value) == (
        "--severity: expected CHECK=error or CHECK=warning, such as LB205=warning, found "
        "'LB206=fatal'"
    )


def _finding(severity: Any = "error", **values: Any) -> Finding:
    given = {"where": "topics", "message": "rows differ.", "count": 1, "examples": (), **values}
    return Finding(check="LB105", severity=severity, fix="rebuild", version="v/0.1.0", **given)


@pytest.mark.parametrize(
    ("finding", "expected"),
    [
        (_finding(), "LB105 error: v/0.1.0/topics: rows differ. Fix: rebuild."),
        (
            _finding("warning", count=2000, examples=("a", "b"), message="rows differ"),
            "LB105 warning: v/0.1.0/topics: rows differ (2,000). First: a, b. Fix: rebuild.",
        ),
        (
            _finding(count=2, examples=("a",)),
            "LB105 error: v/0.1.0/topics: rows differ (2). First: a. Fix: rebuild.",
        ),
    ],
)
def test_a_finding_is_a_paragraph(finding: Finding, expected: str) -> None:
    assert format_text(finding) == expected


def test_findings_are_counted_by_version() -> None:
    versions: dict[str, tuple[str, ...]] = {"a": ("2022-06", "2022-07"), "b": ()}
    said = "in a (2022-06, 2022-07); b (cannot read manifest.json)"
    assert format_summary([_finding(), _finding()], versions) == f"2 findings {said}"
    assert format_summary([_finding()], {"a": ("2022-06",)}) == "1 finding in a (2022-06)"
    assert format_summary([], versions) == f"no findings {said}"


def test_only_errors_make_a_version_invalid() -> None:
    warning = _finding("warning", examples=("é",))
    text = format_json([warning], {"a": ["2022-06"]})
    assert json.loads(text) == {
        "valid": True,
        "versions": {"a": ["2022-06"]},
        "findings": [
            {
                "check": "LB105",
                "severity": "warning",
                "where": "topics",
                "message": "rows differ.",
                "count": 1,
                "examples": ["é"],
                "fix": "rebuild",
                "version": "v/0.1.0",
            }
        ],
    }
    assert '\n "valid": true,' in text
    assert '"é"' in text
    assert json.loads(format_json([warning, _finding()], {}))["valid"] is False
    assert json.loads(format_json([], {}))["valid"] is True


def test_annotations_are_escaped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    finding = _finding("warning", where="a%,:b", message="50 %\r\nof the rows")
    assert format_github(finding) == (
        "::warning file=v/0.1.0/a%25%2C%3Ab,title=longeval validate::LB105 warning: "
        "v/0.1.0/a%25,:b: 50 %25%0D%0Aof the rows. Fix: rebuild."
    )
    (tmp_path / "v/0.1.0/topics").mkdir(parents=True)
    for name in ("part-2.parquet", "part-1.parquet"):
        (tmp_path / "v/0.1.0/topics" / name).touch()
    assert format_github(_finding()).startswith("::error file=v/0.1.0/topics/part-1.parquet,")
    (tmp_path / "v/0.1.0/topics.parquet").touch()
    assert format_github(_finding()).startswith("::error file=v/0.1.0/topics.parquet,")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "v"))
    assert format_github(_finding()).startswith("::error file=0.1.0/topics.parquet,")


def test_a_release_without_clicks_is_valid(tmp_path: Path) -> None:
    """It has no topics, users, impressions or click counts, and ids of its own."""
    keys = [("document", "1", "d00000000000000aa"), ("query", "7", "q00000000000000ab")]
    tables: dict[str, list[Row]] = {
        f"{JUNE}/documents": [
            {
                "doc_id": "1",
                "url": "a",
                "url_key": "a",
                "text": "eau",
                "shown": True,
                "text_hash": EAU,
                "token_hash": EAU,
            }
        ],
        f"{JUNE}/queries": [
            {"query_id": "7", "text": "eau", "split": "train", "judged": 1, "relevant": 1}
        ],
        f"{JUNE}/qrels": [{"query_id": "7", "doc_id": "1", "grade": 1, "source": "release"}],
        f"{JUNE}/release_ids": [
            {"kind": kind, "id": name, "key": key, "text_key": key if kind == "query" else None}
            for kind, name, key in keys
        ],
        f"{JUNE}/rejects": [],
        "documents_map": [
            {"doc_id": "d00000000000000aa", "url": "a", "url_key": "a", "snapshots": ["2022-06"]}
        ],
        "queries_map": [
            {
                "query_id": "q00000000000000ab",
                "text": "eau",
                "snapshots": ["2022-06"],
                "impressions": [0],
            }
        ],
    }
    write_version(tmp_path, tables, snapshots=("2022-06",), imported={})
    assert validate(tmp_path, ignore=("LB0",)) == []
