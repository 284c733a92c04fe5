"""Which steps and values a stage gets, for each kind of annotation."""

from datetime import date
from typing import Any, get_args

import pytest

from builder.definition.model import Workflow
from builder.io.sources import Interval
from builder.runtime import references
from builder.runtime.references import TableInput
from builder.runtime.scope import Scope, split_pair_key
from schemas import LogUrls

NAMES = ("2022-06", "2022-07", "2022-09")
BOTH = ("2022-06_2022-07", "2022-07_2022-09")


@pytest.fixture
def workflow() -> Workflow:
    """Three snapshots, of which the first and the third are for training."""
    filters = [
        {"name": "adult", "kind": "query", "label": "adult"},
        {"name": "spam", "kind": "document", "label": "spam"},
    ]
    return Workflow.model_validate(
        {
            "collection": {
                "name": "small",
                "version": "1.0.0",
                "topics": "topics.tsv",
                "train": ["2022-09", "2022-06"],
                "languages": ["fr"],
            },
            "verdicts": {"filters": filters},
            "snapshots": [
                {
                    "name": name,
                    "start": date.fromisoformat(f"{name}-01"),
                    "end": date.fromisoformat(f"{name}-02"),
                    "log": ["log"],
                    "crawl": ["crawl"],
                }
                for name in NAMES
            ],
        }
    )


def test_steps_of_each_scope(workflow: Workflow) -> None:
    assert Scope.SNAPSHOT.keys(workflow) == NAMES
    assert Scope.PAIR.keys(workflow) == BOTH
    assert Scope.COLLECTION.keys(workflow) == ("all",)
    assert split_pair_key("2022-06_2022-07") == ("2022-06", "2022-07")
    assert split_pair_key("2022-06") == ("2022-06", "2022-06")


@pytest.mark.parametrize(
    ("annotation", "key", "expected"),
    [
        (references.Same, "2022-07", ("2022-07",)),
        (references.Collection, "2022-07", ("all",)),
        (references.Before, "2022-06", ()),
        (references.Before, "2022-09", ("2022-06", "2022-07")),
        (references.Before, BOTH[1], ("2022-06",)),
        (references.Until, BOTH[0], ("2022-06",)),
        (references.Until, BOTH[1], ("2022-06", "2022-07")),
        (references.From, BOTH[0], ("2022-06",)),
        (references.To, BOTH[0], ("2022-07",)),
        (references.Training, "2022-06", ()),
        (references.Training, "2022-07", ("2022-06", "2022-09")),
        (references.Training, "2022-09", ("2022-06",)),
        (references.All, "all", NAMES),
        (references.Pairs, "all", BOTH),
    ],
)
def test_steps_whose_tables_a_stage_reads(
    workflow: Workflow, annotation: Any, key: str, expected: tuple[str, ...]
) -> None:
    (mark,) = annotation.__metadata__
    read = TableInput("rows", LogUrls, mark.step_keys)
    assert read.resolve_keys(workflow, key) == expected
    assert read.table_name == "log_urls"


def test_tables_of_many_steps_have_the_names_of_their_snapshots(workflow: Workflow) -> None:
    found = [
        annotation.__metadata__[0].step_keys(workflow, BOTH[1])  # type: ignore[attr-defined]
        for annotation in (references.Until, references.All, references.Pairs)
    ]
    assert found == [
        {"2022-06": "2022-06", "2022-07": "2022-07"},
        {"2022-06": "2022-06", "2022-07": "2022-07", "2022-09": "2022-09"},
        {("2022-06", "2022-07"): BOTH[0], ("2022-07", "2022-09"): BOTH[1]},
    ]


def test_values_that_a_stage_gets_from_the_definition(workflow: Workflow) -> None:
    def value(annotation: Any, key: str) -> Any:
        return get_args(annotation)[1].value(workflow, key)

    june = Interval(1_654_041_600, 1_654_128_000)
    assert value(references.SnapshotInterval, "2022-06") == june
    assert value(references.FromName, BOTH[1]) == "2022-07"
    assert value(references.ToName, BOTH[1]) == "2022-09"
    assert value(references.HasFrench, "all") is True
    assert [f.name for f in value(references.Filters, "all")] == ["adult", "spam"]
    assert [f.name for f in value(references.DocumentFilters, "all")] == ["spam"]
