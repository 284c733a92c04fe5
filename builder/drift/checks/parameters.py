"""Do the recorded parameters agree?

In: the parameters that each snapshot was built with, by dotted key, where a manifest records them.
They are kept in a DuckDB connection as `recorded_from` and `recorded_to`: `key`, `value` (JSON).
"""

import json
from collections.abc import Mapping
from typing import Any

import duckdb
import polars as pl

from builder.drift.checks.outcome import Check, Outcome, unknown
from builder.io.engine import append_rows

Recorded = Mapping[str, Any]


def record(connection: duckdb.DuckDBPyConnection, side: str, parameters: Recorded | None) -> None:
    """Create `recorded_from` or `recorded_to`, empty where nothing is recorded."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE recorded_{side} (key VARCHAR, value VARCHAR)")
    rows = [(key, json.dumps(value)) for key, value in sorted((parameters or {}).items())]
    if rows:
        append_rows(
            connection,
            f"recorded_{side}",
            pl.DataFrame(rows, schema=("key", "value"), orient="row"),
        )


def recorded(connection: duckdb.DuckDBPyConnection, side: str) -> dict[str, Any]:
    """The parameters of a side; empty where nothing is recorded."""
    rows = connection.execute(f"FROM recorded_{side} ORDER BY key").fetchall()
    return {key: json.loads(value) for key, value in rows}


def parameters_agree(connection: duckdb.DuckDBPyConnection) -> Outcome:
    """Compare the recorded parameters of two snapshots."""
    before, after = (recorded(connection, side) for side in ("from", "to"))
    if not (before and after):
        return unknown("no parameters are recorded")
    absent = object()
    changed = {
        key: {"from": before.get(key), "to": after.get(key)}
        for key in sorted({*before, *after})
        if before.get(key, absent) != after.get(key, absent)
    }
    if not changed:
        says = f"all {len(before)} recorded parameters agree"
        return Outcome(False, says, {}, "any recorded parameter")
    sentence = "; ".join(f"{key} {v['from']} -> {v['to']}" for key, v in changed.items())
    return Outcome(True, f"recorded parameters differ: {sentence}", {"changed": changed})


CHECKS = (Check("parameters_agree", "Do recorded parameters agree?", parameters_agree),)
