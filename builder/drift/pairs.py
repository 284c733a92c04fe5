"""Selects one pair of consecutive snapshots from `drift.json`."""

from collections.abc import Mapping
from typing import Any


def select_pair(drift: Mapping[str, Any], pair: tuple[str, str]) -> dict[str, Any]:
    """Return the content of `drift.json`, reduced to one pair of consecutive snapshots.

    Args:
        drift: Content of `drift.json`.
        pair: Names of the earlier and the later snapshot.
    """
    vocabulary = {
        label: [entry for entry in entries if _is_entry_of_pair(entry, pair)]
        for label, entries in drift["vocabulary"].items()
    }
    return {
        **drift,
        "pairs": [entry for entry in drift["pairs"] if _is_entry_of_pair(entry, pair)],
        "vocabulary": vocabulary,
        "checks": [check for check in drift["checks"] if {*check["snapshots"]} <= {*pair}],
    }


def _is_entry_of_pair(entry: Mapping[str, Any], pair: tuple[str, str]) -> bool:
    """Whether an entry of `drift.json` compares the two snapshots of a pair."""
    return (entry["from"], entry["to"]) == pair
