"""Do the recorded parameters agree?

In: the parameters that each snapshot was built with, by dotted key, where a manifest records them.
"""

from collections.abc import Mapping
from typing import Any

from builder.drift.checks.outcome import Outcome, unknown

Recorded = Mapping[str, Any]


def parameters_agree(before: Recorded | None, after: Recorded | None) -> Outcome:
    """Compare the recorded parameters of two snapshots.

    Args:
        before: Earlier parameters by dotted key, or None where nothing is recorded.
        after: Later ones.
    """
    if before is None or after is None:
        return unknown("no parameters are recorded")
    absent = object()
    changed = {
        key: {"from": before.get(key), "to": after.get(key)}
        for key in sorted({*before, *after})
        if before.get(key, absent) != after.get(key, absent)
    }
    if not changed:
        return Outcome(False, f"all {len(before)} recorded parameters agree", {})
    sentence = "; ".join(f"{key} {v['from']} -> {v['to']}" for key, v in changed.items())
    return Outcome(True, f"recorded parameters differ: {sentence}", {"changed": changed})
