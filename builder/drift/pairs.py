"""One pair of snapshots out of `drift.json`."""

from collections.abc import Mapping
from typing import Any

from builder.errors import UsageError


def of_pair(drift: Mapping[str, Any], start: str | None, end: str | None) -> dict[str, Any]:
    """What `drift.json` says of some pairs; what is about all snapshots stays.

    Args:
        drift: The content of `drift.json`.
        start: Earlier snapshot of the pairs that stay; None: any.
        end: Later snapshot of the pairs that stay; None: any.

    Raises:
        UsageError: no such pair.
    """

    def stays(entry: Mapping[str, Any]) -> bool:
        return start in (None, entry["from"]) and end in (None, entry["to"])

    vocabulary = {
        label: [entry for entry in entries if stays(entry)]
        for label, entries in drift["vocabulary"].items()
    }
    pairs = [entry for entry in drift["pairs"] if stays(entry)]
    if (start or end) and not pairs and not any(vocabulary.values()):
        known = ", ".join(f"{p['from']} to {p['to']}" for p in drift["pairs"]) or "none"
        raise UsageError(
            f"no change from {start or 'any snapshot'} to {end or 'any'}; consecutive pairs are "
            f"{known}"
        )
    checks = [
        check
        for check in drift["checks"]
        if len(check["snapshots"]) == 1
        or stays(dict(zip(("from", "to"), check["snapshots"], strict=True)))
    ]
    return {**drift, "pairs": pairs, "vocabulary": vocabulary, "checks": checks}
