"""The change log of two versions, and its summary."""

import pytest

from builder.collection.compare import VersionDifference
from builder.collection.compare.changelog import format_changelog, summary_lines
from builder.collection.compare.judgements import JudgementDifference
from builder.collection.compare.tables import TableDifference


def _difference(lines: int = 0) -> VersionDifference:
    causes = {"parameters": 1, "inputs": 2000}
    parameters = tuple(f"a.{n}" for n in range(1006))
    judged = JudgementDifference("2022-06", 3000, causes, parameters, 2000, 1001, "inputs")
    return VersionDifference(
        "tiny 0.1.0|content a",
        "tiny 0.2.0|content b",
        tuple(f"k{n}: 1 -> 2" for n in range(lines)),
        ("polars: 1 -> 2",),
        ("click counts",),
        (
            TableDifference("topics", 1000, 2000, 3000, ()),
            TableDifference("x", 0, 0, 1, (), ("a: added", "b: removed")),
        ),
        (judged,),
        ("checks", "pairs"),
    )


LABELS = [
    "2022-06: 1 grade changed (cause: parameters)",
    "2022-06: 2,000 grades changed (cause: inputs)",
    "2022-06: changed parameters that affect grades: a.0, a.1, a.2, a.3, a.4 and 1,001 more",
    (
        "2022-06: 1,001 of 2,000 comparable judgements of the old version (50%) are missing from "
        "the new version, which judges the same documents for other queries (cause: inputs); 1,000 "
        "others cannot be compared, because the query has no text or the document is not judged in "
        "both versions"
    ),
]


def test_a_change_log_has_a_section_for_each_kind() -> None:
    assert format_changelog(_difference(1)).splitlines() == [
        "# tiny 0.2.0",
        "",
        "Since tiny 0.1.0.",
        "",
        "## Rows",
        "",
        "- `topics`: 1,000 added, 2,000 removed, 3,000 changed",
        "- `x`: 0 added, 0 removed, 1 changed (columns: `a: added`; `b: removed`)",
        "",
        "## Labels",
        "",
        *(f"- {line}" for line in LABELS),
        "",
        "## Drift statistics",
        "",
        "- `checks`",
        "- `pairs`",
        "",
        "## Definition",
        "",
        "- `k0: 1 -> 2`",
        "",
        "## Tools",
        "",
        "- `polars: 1 -> 2`",
        "",
        "## Not compared",
        "",
        "- click counts",
    ]
    nothing = VersionDifference("a|", "b|", (), (), (), (), (), ())
    assert format_changelog(nothing) == "# b\n\nSince a.\n\nNo differences.\n"


@pytest.mark.parametrize(("lines", "more"), [(40, []), (41, ["- and 1 more"])])
def test_a_section_has_at_most_forty_lines(lines: int, more: list[str]) -> None:
    log = format_changelog(_difference(lines)).splitlines()
    start = log.index("## Definition")
    expected = [f"- `k{n}: 1 -> 2`" for n in range(40)]
    assert log[start + 2 : log.index("## Tools") - 1] == [*expected, *more]


def test_a_summary_has_a_line_for_each_difference_but_rows() -> None:
    assert summary_lines(_difference(41)) == [
        "x: columns differ (a: added; b: removed)",
        *LABELS,
        "drift.json differs: checks, pairs",
        *(f"k{n}: 1 -> 2" for n in range(40)),
        "polars: 1 -> 2",
    ]
    assert summary_lines(VersionDifference("a|", "b|", (), (), (), (), (), ())) == []
