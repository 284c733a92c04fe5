"""Selects one pair of consecutive snapshots from `drift.json`."""

from collections.abc import Mapping
from typing import Any


def select_pair(drift: Mapping[str, Any], pair: tuple[str, str]) -> dict[str, Any]:
    """Return the content of `drift.json`, reduced to one pair of consecutive snapshots.

    Args:
        drift: Content of `drift.json`.
        pair: Names of the earlier and the later snapshot.
    """

    def is_in_pair(entry: Mapping[str, Any]) -> bool:
        return (entry["from"], entry["to"]) == pair

    vocabulary = {
        label: [entry for entry in entries if is_in_pair(entry)]
        for label, entries in drift["vocabulary"].items()
    }
    return {
        **drift,
        "pairs": [entry for entry in drift["pairs"] if is_in_pair(entry)],
        "vocabulary": vocabulary,
        "checks": [check for check in drift["checks"] if {*check["snapshots"]} <= {*pair}],
    }
