"""Checks of the files that describe a version: its card, metadata, drift and report."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder.collection.card import render_card
from builder.collection.checks import descriptions
from builder.collection.croissant import croissant_metadata
from builder.drift import measure_drift, measure_pair
from tests.collection.literal import CURRENT, JULY, JUNE, Found, Row, find, write_version

SIZES = {
    f"{JUNE}/documents": {"rows": 1200},
    f"{JUNE}/queries": {"rows": 2},
    f"{JUNE}/qrels": {"rows": 3},
    f"{JULY}/queries": {"rows": 4},
}
CARD = "# tiny 0.1.0\n| 2022-06 | June | 1,200 | 2 | 3 |\n|2022-07|0|4|0|\n"
NO_FORMAT = "the file does not have the expected format"


@pytest.mark.parametrize(
    ("card", "message", "count"),
    [
        (CARD, None, 0),
        (CARD.replace("# tiny", "## tiny"), "expected the heading '# tiny 0.1.0'", 1),
        (
            CARD.replace("1,200", "1200"),
            "expected a row for snapshot 2022-06 that ends with | 1,200 | 2 | 3 |",
            1,
        ),
        (
            CARD.replace("2022-07", "2022-08"),
            "expected a row for snapshot 2022-07 that ends with | 0 | 4 | 0 |",
            1,
        ),
        (
            CARD.replace("|4|0|", "|4|0|1|"),
            "expected a row for snapshot 2022-07 that ends with | 0 | 4 | 0 |",
            1,
        ),
        ("", "expected the heading '# tiny 0.1.0'", 3),
    ],
)
def test_a_card_has_the_sizes_of_the_manifest(
    card: str, message: str | None, count: int, tmp_path: Path
) -> None:
    version = write_version(tmp_path, {}, tables=SIZES, tools={"longeval-builder": "0.1"})
    (tmp_path / "README.md").write_text(card)
    found: list[Found] = [("README.md", message, count, ())] if message else []
    assert find("LB123", version) == found


RELEASED = {
    "collection": {
        "name": "tiny",
        "version": "0.1.0",
        "languages": ["fr"],
        "licence": "CC0-1.0",
        "citation": "",
        "url": "",
    },
    "snapshots": [{"name": "2022-06", "start": "2022-06-01", "end": "2022-07-01"}],
    "parameters": {},
    "imported": {"layout": "longeval-web"},
}
RELEASED_TABLES = {f"{JUNE}/{kind}": {"rows": 7} for kind in ("documents", "queries", "qrels")}
X = "x" * 60
AFTER = " changes and drift use keys derived"
LISTED: list[Row] = [
    {"contentUrl": f"{JUNE}/documents/part-0.parquet", "sha256": "1"},
    {"contentUrl": f"{JUNE}/qrels.parquet", "sha256": "2"},
]


@pytest.mark.parametrize(
    ("old", "new", "message", "count"),
    [
        ("", "", None, 0),
        ("## Prov", "## Prov", None, 0),
        ("\n\n## Prov", "\n\n\n \n## Prov", None, 0),
        (
            "---\n\n# tiny",
            f"---\n{'x' * 61}\n# tiny",
            f"line 21 does not match the manifest: {X!r}",
            1,
        ),
        (
            "|---|---|---|---|",
            "|---|---|---|---|\n|---|---|---|---|",
            "line 45 does not match the manifest: '|---|---|---|---|'",
            2,
        ),
        (
            "## Provenance",
            "## Sources",
            "line 42 does not match the manifest: '## Sources'",
            2,
        ),
        (
            "## Provenance",
            "",
            "the line '## Provenance', expected from the manifest, is missing",
            1,
        ),
        (
            "Documents, queries and qrels keep the ids of the release. Maps,",
            "",
            f"line 38 does not match the manifest: {AFTER[:60]!r}",
            2,
        ),
    ],
)
def test_a_card_of_this_version_is_rendered_again(
    old: str, new: str, message: str | None, count: int, tmp_path: Path
) -> None:
    version = write_version(
        tmp_path, {}, definition=RELEASED, tables=RELEASED_TABLES, tools=CURRENT
    )
    card = render_card(tmp_path, RELEASED, RELEASED_TABLES, {})
    assert old in card
    (tmp_path / "README.md").write_text(card.replace(old, new))
    found: list[Found] = [("README.md", message, count, ())] if message else []
    assert find("LB123", version) == found


BUILT: dict[str, Any] = {
    **{key: value for key, value in RELEASED.items() if key != "imported"},
    "parameters": {"select": {"min_users": 5, "anonymity": "users"}, "export": {"trec": False}},
}
FUNNELS = {"2022-06": [{"rule": "url_like", "left_out": 1, "remaining": 2}]}


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        ({}, None),
        ({}, ["other"]),
        ({"min_users": None}, None),
        ({"min_users": "five"}, None),
        ({"min_users": 5}, None),
    ],
)
def test_a_card_that_cannot_be_rendered_is_not_compared(
    select: Row, columns: list[str] | None, tmp_path: Path
) -> None:
    """Click diagnostics are missing or of other columns, or a parameter is no number."""
    parameters = {**BUILT["parameters"], "select": {**BUILT["parameters"]["select"], **select}}
    if select == {"min_users": 5}:
        parameters["select"].pop("anonymity")
    version = write_version(
        tmp_path,
        {},
        definition={**BUILT, "parameters": parameters},
        tables=RELEASED_TABLES,
        tools=CURRENT,
        selection=FUNNELS,
    )
    if columns is not None:
        path = tmp_path / JUNE / "click_diagnostics.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({name: [1] for name in columns}), path)
    (tmp_path / "README.md").write_text("# tiny 0.1.0\n| 2022-06 | 7 | 7 | 7 |\nfree text\n")
    assert find("LB123", version) == []


def _metadata(**changes: Any) -> dict[str, Any]:
    return {"name": "tiny", "version": "0.1.0", "distribution": LISTED, **changes}


@pytest.mark.parametrize(
    ("metadata", "message", "count"),
    [
        (_metadata(), None, 0),
        (_metadata(name="huge"), "expected the name 'tiny', found 'huge'", 1),
        (
            _metadata(name="huge", version="0.2.0"),
            "expected the name 'tiny', found 'huge'",
            2,
        ),
        (
            _metadata(distribution=[]),
            f"the hash of {JUNE}/documents/part-0.parquet differs from the manifest",
            2,
        ),
        (
            _metadata(distribution=[*LISTED, {"contentUrl": "README.md", "sha256": "5"}]),
            "the hash of README.md differs from the manifest",
            1,
        ),
        ({"name": "tiny"}, NO_FORMAT, 1),
        ([], NO_FORMAT, 1),
        ({"name": "tiny", "version": "0.1.0", "distribution": ["a"]}, NO_FORMAT, 1),
        (None, NO_FORMAT, 1),
    ],
)
def test_metadata_have_the_hashes_of_the_manifest(
    metadata: Any, message: str | None, count: int, tmp_path: Path
) -> None:
    names = {
        f"{JUNE}/documents/part-0.parquet": "1",
        f"{JUNE}/qrels.parquet": "2",
        f"{JUNE}/coverage.parquet": "3",
        f"{JUNE}/qrels2.parquet": "4",
        "README.md": "5",
    }
    files = {name: {"sha256": digest} for name, digest in names.items()}
    version = write_version(tmp_path, {}, files=files, tools={"longeval-builder": "0.1"})
    text = "{" if metadata is None else json.dumps(metadata)
    (tmp_path / "croissant.json").write_text(text)
    found: list[Found] = [("croissant.json", message, count, ())] if message else []
    assert find("LB123", version) == found


def test_metadata_of_this_version_are_written_again(tmp_path: Path) -> None:
    version = write_version(
        tmp_path, {}, definition=RELEASED, tables=RELEASED_TABLES, tools=CURRENT
    )
    metadata = croissant_metadata(tmp_path, RELEASED, RELEASED_TABLES, {})
    path = tmp_path / "croissant.json"
    path.write_text(json.dumps({**metadata, "recordSet": ["another"], "more": 1}))
    assert find("LB123", version) == []
    del metadata["url"]
    path.write_text(json.dumps({**metadata, "citeAs": "x"}))
    message = "expected the citeAs 'tiny 0.1.0', found 'x'"
    assert find("LB123", version) == [("croissant.json", message, 2, ())]
    version.manifest["tools"]["longeval-builder"] = "0.1"
    assert find("LB123", version) == []


def _drift(*sizes: tuple[int, int, list[int]], pairs: int = 1) -> dict[str, Any]:
    snapshots = [
        {"snapshot": name, "documents": documents, "queries": {"listed": queries}, "grades": grades}
        for name, (documents, queries, grades) in zip(("2022-06", "2022-07"), sizes, strict=False)
    ]
    return {"snapshots": snapshots, "judgements": [{}] * pairs}


AS_LISTED = ((1200, 2, [1, 0, 2]), (0, 4, []))


@pytest.mark.parametrize(
    ("drift", "message", "count"),
    [
        (_drift(*AS_LISTED), None, 0),
        (
            _drift((12, 2, [1, 2]), (0, 4, [])),
            "expected 1,200 documents in snapshot 2022-06, found 12",
            1,
        ),
        (
            _drift((1200, 2, [1, 2]), (0, 4000, [1])),
            "expected 4 queries in snapshot 2022-07, found 4,000",
            2,
        ),
        (
            _drift((1200, 2, [1, 1]), (0, 4, [])),
            "expected 3 qrels in snapshot 2022-06, found 2",
            1,
        ),
        (
            _drift(AS_LISTED[0]),
            "expected snapshots 2022-06, 2022-07, found ['2022-06']",
            1,
        ),
        (
            _drift(*AS_LISTED, pairs=2),
            "expected comparisons of judgements for 1 snapshot pairs, found 2",
            1,
        ),
        ({}, NO_FORMAT, 1),
        ({"snapshots": {}}, "expected snapshots 2022-06, 2022-07, found []", 1),
        ({"snapshots": [1]}, NO_FORMAT, 1),
        ([], NO_FORMAT, 1),
    ],
)
def test_drift_has_the_sizes_of_the_manifest(
    drift: Any, message: str | None, count: int, tmp_path: Path
) -> None:
    version = write_version(tmp_path, {}, tables=SIZES)
    (tmp_path / "drift.json").write_text(json.dumps(drift))
    found: list[Found] = [("drift.json", message, count, ())] if message else []
    assert find("LB123", version) == found


def test_drift_of_a_release_may_have_other_sizes(tmp_path: Path) -> None:
    """It compares keys, of which several ids may share one."""
    names = ("2022-06", "2022-07", "2022-08")
    version = write_version(tmp_path, {}, tables=SIZES, imported={}, snapshots=names)
    drift = _drift(*AS_LISTED, pairs=3)
    drift["snapshots"].append({**drift["snapshots"][0], "snapshot": "2022-08"})
    drift["snapshots"][0]["documents"] = 1
    (tmp_path / "drift.json").write_text(json.dumps(drift))
    assert find("LB123", version) == []
    version.manifest["definition"].pop("imported")
    ((_, message, count, _),) = find("LB123", version)
    assert message == "expected 1,200 documents in snapshot 2022-06, found 1"
    assert count == 4


def test_reports_of_this_version_are_rendered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another version of the stages computed the drift, the report may be another one."""
    monkeypatch.setattr(descriptions, "render_report", lambda drift: f"<p>{drift['a']}")
    units = {
        "drift all": {"version": measure_drift.version},
        "pair_drift 2022-06_2022-07": {"version": measure_pair.version},
        "drifted 2022-06": {"version": "0"},
    }
    message = "the report does not show the statistics in drift.json"
    found: list[Found] = [("report.html", message, 1, ())]

    def check(
        folder: str, report: str | None, drift: str = '{"a": 1}', **entries: Any
    ) -> list[Found]:
        entries = {"units": units, "tools": CURRENT, **entries}
        version = write_version(tmp_path / folder, {}, **entries)
        (tmp_path / folder / "drift.json").write_text(drift)
        if report is not None:
            (tmp_path / folder / "report.html").write_text(report)
        return [each for each in find("LB123", version) if each[0] == "report.html"]

    assert check("a", "<p>1") == []
    assert check("b", "<p>2") == found
    assert check("c", None) == []
    assert check("d", "<p>2", tools={"longeval-builder": "0.1"}) == []
    assert check("e", "<p>2", units={}) == []
    older = {**units, "pair_drift 2022-07_2022-08": {"version": "0"}}
    assert check("f", "<p>2", units=older) == []
    assert check("g", "<p>2", "{}") == check("h", "<p>2", "[]") == []
