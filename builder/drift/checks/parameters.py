"""Checks that both snapshots were built with the same parameters.

The parameters come from the manifest, if it records them. They are kept in the DuckDB tables
`recorded_from` and `recorded_to`, with the columns `key` (dotted, such as `clicks.prior`) and
`value` (JSON).
"""

import json
from collections.abc import Mapping
from typing import Any

import duckdb
import polars as pl

from builder.drift.checks.outcome import Check, Outcome, undecided_outcome
from builder.io.engine import append_rows
from builder.parameters import StageParameters

SnapshotParameters = Mapping[str, Any]
"""Parameters recorded for a snapshot: values by dotted key, such as `clicks.prior`."""

FORMAT_KEYS = frozenset(
    f"{name}.{key}" for name, section in StageParameters() for key in section.format_keys
)
"""Dotted keys of the parameters that describe the format of raw files."""


def store_recorded_parameters(
    connection: duckdb.DuckDBPyConnection, side: str, parameters: SnapshotParameters | None
) -> None:
    """Store the parameters of a snapshot in the table `recorded_from` or `recorded_to`.

    Args:
        connection: Connection in which the table is created.
        side: `from` for the earlier snapshot, `to` for the later one.
        parameters: Values by dotted key; None if none are recorded.
    """
    connection.execute(f"CREATE OR REPLACE TEMP TABLE recorded_{side} (key VARCHAR, value VARCHAR)")
    rows = [(key, json.dumps(value)) for key, value in sorted((parameters or {}).items())]
    if rows:
        append_rows(
            connection,
            f"recorded_{side}",
            pl.DataFrame(rows, schema=("key", "value"), orient="row"),
        )


def load_recorded_parameters(connection: duckdb.DuckDBPyConnection, side: str) -> dict[str, Any]:
    """Return the recorded parameters of a snapshot by dotted key; empty if none are recorded.

    Args:
        connection: Connection with the tables `recorded_from` and `recorded_to`.
        side: `from` for the earlier snapshot, `to` for the later one.
    """
    rows = connection.execute(f"FROM recorded_{side} ORDER BY key").fetchall()
    return {key: json.loads(value) for key, value in rows}


def check_parameters(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the parameters recorded for the two snapshots."""
    before, after = (load_recorded_parameters(connection, side) for side in ("from", "to"))
    if not (before and after):
        return undecided_outcome("no parameters are recorded")
    changed = _find_changed_values(before, after)
    if not changed:
        says = f"all {len(before)} recorded parameters are equal"
        return Outcome(False, says, {}, "any change in a recorded parameter")
    sentence = "; ".join(f"{key} {v['from']} -> {v['to']}" for key, v in changed.items())
    if all(".".join(key.split(".")[:2]) in FORMAT_KEYS for key in changed):
        says = "the raw files are read differently, which is right only if their format changed"
        return Outcome(None, f"{says}: {sentence}", {"changed": changed})
    return Outcome(True, f"recorded parameters differ: {sentence}", {"changed": changed})


def _find_changed_values(
    before: SnapshotParameters, after: SnapshotParameters
) -> dict[str, dict[str, Any]]:
    """Return the earlier (`from`) and later (`to`) value of each parameter that differs.

    Dictionaries are compared key by key; their keys are appended to the dotted key.
    """
    absent = object()
    changed: dict[str, dict[str, Any]] = {}
    for key in sorted({*before, *after}):
        old, new = before.get(key, absent), after.get(key, absent)
        if isinstance(old, dict) and isinstance(new, dict):
            tables = ({f"{key}.{k}": v for k, v in table.items()} for table in (old, new))
            changed |= _find_changed_values(*tables)
        elif old != new:
            changed[key] = {"from": before.get(key), "to": after.get(key)}
    return changed


CHECKS = (Check("parameters_agree", "Are the recorded parameters equal?", check_parameters),)
