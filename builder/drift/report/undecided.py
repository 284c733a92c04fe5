"""Lists the checks in `drift.json` that could not be decided, with the reasons."""

from collections.abc import Sequence

from builder.drift.report.findings import Drift
from builder.reporting.numbers import pluralize

MAX_NAMES = 3
"""Maximum number of snapshots or pairs of snapshots that are listed for a reason in full."""


def list_undecided_checks(drift: Drift) -> list[str]:
    """Return one sentence per question that the checks could not decide, with the reasons."""
    found: dict[str, dict[str, list[str]]] = {}
    for check in drift["checks"]:
        if check["verdict"] == "cannot tell":
            reasons = found.setdefault(check["asks"], {})
            names = reasons.setdefault(check["sees"] or check["evidence"], [])
            names.append(" to ".join(check["snapshots"]))
    return [
        f"{asks} {'; '.join(f'{_join_names(names)}: {why}' for why, names in reasons.items())}."
        for asks, reasons in found.items()
    ]


def summarize_undecided_checks(drift: Drift) -> list[str]:
    """Return one text that lists all checks that could not be decided, without the reasons.

    This is meant for imported releases, for which most checks have the same reason: the releases
    lack the data that the checks need.
    """
    names = dict.fromkeys(c["check"] for c in drift["checks"] if c["verdict"] == "cannot tell")
    text = (
        f"{pluralize(len(names), 'check')}, mostly because releases lack the data that the checks "
        f"need (--html and --format json give each reason): {', '.join(names)}"
    )
    return [text] if names else []


def _join_names(names: Sequence[str]) -> str:
    """Join names of snapshots or pairs; list one name and a count if there are over `MAX_NAMES`."""
    if len(names) <= MAX_NAMES:
        return ", ".join(names)
    return f"{names[0]} and {len(names) - 1} more"
