"""One pair of snapshots, selected from a drift.json of three snapshots."""

from typing import Any

from builder.drift.pairs import select_pair
from tests.drift.handwritten import handwritten

JULY, AUGUST = "2022-07", "2022-08"


def drift() -> dict[str, Any]:
    """Three snapshots; of their queries, each two have another number in common."""
    whole = handwritten()
    listed = {
        "snapshots": ["2022-06", JULY, AUGUST],
        "common": [[9, 4, 1], [4, 8, 3], [1, 3, 3]],
        "jaccard": [],
    }
    whole["queries"]["listed"] = {"ids": 14, "core": 1, "overlap": listed, "intersections": []}
    whole["queries"]["topics"]["mix"] = [
        {"topic": "pain", "queries": [3, 1, 2], "impressions": [10, 60, 50]},
        {"topic": "eau", "queries": [6, 0, 0], "impressions": [30, 0, 0]},
        {"topic": "loi", "queries": [0, 0, 7], "impressions": [0, 0, 70]},
        {"topic": "air", "queries": [5, 3, 0], "impressions": [5, 30, 0]},
    ]
    pairs = (("2022-06", JULY), ("2022-06", AUGUST), (JULY, AUGUST))
    whole["judgements"] = [{"from": first, "to": last, "kept": 7} for first, last in pairs]
    whole["clicks"] += [whole["clicks"][0] | {"snapshot": AUGUST}]
    stays = {"check": "pages_stay", "snapshots": [JULY], "verdict": "clear"}
    both = {"check": "four", "snapshots": [AUGUST], "verdict": "clear"}
    whole["checks"] += [stays, both]
    return whole


def test_entries_of_one_pair_of_three_snapshots() -> None:
    whole = drift()
    found = select_pair(whole, (JULY, AUGUST))
    assert found.keys() == whole.keys()
    assert (found["format"], found["parameters"]) == (whole["format"], whole["parameters"])
    assert found["snapshots"] == whole["snapshots"][1:]
    assert found["pairs"] == whole["pairs"][1:]
    assert found["judgements"] == [{"from": JULY, "to": AUGUST, "kept": 7}]
    assert [entry["snapshot"] for entry in found["clicks"]] == [AUGUST]
    assert found["vocabulary"] == {"all": whole["vocabulary"]["all"][2:], "core": []}
    assert [(check["check"], check["snapshots"]) for check in found["checks"]] == [
        ("three", [JULY]),
        ("three", [JULY, AUGUST]),
        ("four", [AUGUST]),
    ]


def test_documents_of_one_pair_of_three_snapshots() -> None:
    """Of 1,100 and 1,200 pages, 850 are in both."""
    found = select_pair(drift(), (JULY, AUGUST))["documents"]
    assert (found["ids"], found["core"], found["returning"]) == (1450, 850, 0)
    assert found["overlap"]["common"] == [[1100, 850], [850, 1200]]
    assert found["intersections"] == [
        {"snapshots": [JULY, AUGUST], "ids": 850},
        {"snapshots": [AUGUST], "ids": 350},
        {"snapshots": [JULY], "ids": 250},
    ]
    assert [row["present"] for row in found["survival"]] == [1100, 850]


def test_queries_of_one_pair_of_three_snapshots() -> None:
    """All later queries are in both; topics that neither snapshot has are left out."""
    queries = select_pair(drift(), (JULY, AUGUST))["queries"]
    assert queries["listed"] == {
        "ids": 8,
        "core": 3,
        "overlap": {
            "snapshots": [JULY, AUGUST],
            "common": [[8, 3], [3, 3]],
            "jaccard": [[1.0, 3 / 8], [3 / 8, 1.0]],
        },
        "intersections": [
            {"snapshots": [JULY], "ids": 5},
            {"snapshots": [JULY, AUGUST], "ids": 3},
        ],
    }
    assert queries["judged"]["overlap"]["common"] == [[1100, 850], [850, 1200]]
    assert [row["snapshot"] for row in queries["lengths"]] == [JULY, AUGUST]
    assert queries["topics"] == {
        "snapshots": [JULY, AUGUST],
        "mix": [
            {"topic": "loi", "queries": [0, 7], "impressions": [0, 70]},
            {"topic": "air", "queries": [3, 0], "impressions": [30, 0]},
            {"topic": "pain", "queries": [1, 2], "impressions": [60, 50]},
        ],
        "js_bits": [0.02],
        "js_bits_impressions": [0.2],
    }
    first = select_pair(drift(), ("2022-06", JULY))["queries"]["topics"]
    assert (first["js_bits"], first["js_bits_impressions"]) == ([0.01], [0.3])
    assert [row["topic"] for row in first["mix"]] == ["air", "eau", "pain"]


def test_a_collection_of_two_snapshots_is_its_only_pair() -> None:
    whole = drift()
    whole["snapshots"] = whole["snapshots"][:2]
    assert select_pair(whole, ("2022-06", JULY)) == whole
