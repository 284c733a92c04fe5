"""Fingerprints of steps, which determine whether a step must run again.

A step is a stage applied to a snapshot, a pair of snapshots or the collection. Its identity
consists of its stage and version, the schemas of its outputs, its parameters, its settings and the
hashes of its inputs. Runs with equal identities write equal bytes. If the identity differs from
that of the last run, the step runs again, and the differences are reported as the reasons.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from pydantic import BaseModel

from builder.definition.model import Definition, Workflow
from builder.runtime.publisher import canonical_json
from builder.runtime.stage import Stage
from builder.runtime.store import Store

Identity = dict[str, Any]
MAX_VALUE_LENGTH = 60
"""Maximum number of characters of a value quoted in a reason to run a step again."""
CONTEXT_NAMES = {"recorded": "parameters of"}
"""Display names of stage arguments in reasons to run a step again; others are shown unchanged."""


def step_identity(
    definition: Definition,
    store: Store,
    stage: Stage,
    key: str,
    producer_by_table: Mapping[str, Stage],
) -> Identity:
    """Compute the identity of a step, which determines whether the step must run again.

    The input tables of the step must have been published.

    Args:
        definition: Definition of the collection.
        store: Store of the tables.
        stage: Stage of the step.
        key: Key of the step.
        producer_by_table: Stage that writes each table, by table name.
    """
    workflow = definition.workflow
    inputs: dict[str, Any] = {}
    for files in stage.raw_files:
        sources = definition.expand_sources(files.patterns(workflow, key))
        inputs[files.argument] = store.input_hashes(sources)
    for table in stage.signature.tables:
        inputs[table.argument] = {
            input_key: table_hash(
                store, producer_by_table[table.table_name].name, input_key, table.table_name
            )
            for input_key in table.resolve_keys(workflow, key)
        }
    return {
        "stage": stage.name,
        "version": stage.version,
        "contracts": {name: schema.signature() for name, schema in stage.output_schemas.items()},
        "parameters": stage_parameters(stage, workflow, key),
        "context": {
            **{
                name: _to_json_types(s(workflow, key))
                for name, s in stage.signature.settings.items()
            },
            **{f"plug-in {name}": origin for name, origin in stage.plugins(workflow).items()},
        },
        "inputs": inputs,
    }


def stage_parameters(stage: Stage, workflow: Workflow, key: str) -> dict[str, Any]:
    """Return the parameters on which a step depends, including defaults, by `section.key`."""
    name = stage.signature.section
    if name is None:
        return {}
    section = workflow.section(name, key)
    return {f"{name}.{k}": v for k, v in section.model_dump(mode="json").items()}


def table_hash(store: Store, stage: str, key: str, table: str) -> str | None:
    """Return a hash of the files of a published table; None if the table is not published yet."""
    record = store.read_record(stage, key)
    if record is None:
        return None
    parts = [
        f"{name}:{entry['sha256']}"
        for name, entry in sorted(record["files"].items())
        if name == f"{table}.parquet" or name.startswith(f"{table}/")
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def fingerprint(identity: Identity) -> str:
    """Return the fingerprint of a step's identity: 16 hexadecimal digits."""
    return hashlib.sha256(canonical_json(identity).encode()).hexdigest()[:16]


def step_identity_changes(before: Identity | None, now: Identity) -> tuple[str, ...]:
    """Return what changed in a step's identity since its last run, as reasons to run it again."""
    if before is None:
        return ("not built yet",)
    reasons = []
    if before["version"] != now["version"]:
        reasons.append(f"stage version {before['version']} -> {now['version']}")
    reasons += _describe_value_changes("", before["parameters"], now["parameters"], ".")
    reasons += _describe_value_changes(
        "",
        _replace_argument_names(before["context"]),
        _replace_argument_names(now["context"]),
        " ",
    )
    reasons += [
        f"schema of {name} changed"
        for name, signature in now["contracts"].items()
        if before["contracts"].get(name) != signature
    ]
    reasons += _describe_input_changes(before["inputs"], now["inputs"])
    return tuple(reasons)


def _replace_argument_names(context: Mapping[str, Any]) -> dict[str, Any]:
    """Replace each argument name that has a readable name in `CONTEXT_NAMES`."""
    return {CONTEXT_NAMES.get(name, name): value for name, value in context.items()}


def _describe_value_changes(
    prefix: str, before: Mapping[str, Any], now: Mapping[str, Any], separator: str
) -> list[str]:
    reasons = []
    for name in sorted({*before, *now}):
        old, new = before.get(name, "absent"), now.get(name, "absent")
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            inner = f"{prefix}{name}{'.' if '.' in name else separator}"
            reasons += _describe_value_changes(inner, old, new, separator)
        elif isinstance(new, Mapping) and name not in before:
            reasons.append(f"{prefix}{name} added")
        elif isinstance(old, Mapping) and name not in now:
            reasons.append(f"{prefix}{name} removed")
        elif old != new:
            reasons.append(f"{prefix}{name} {_format_value(old)} -> {_format_value(new)}")
    return reasons


def _format_value(value: Any) -> str:
    text = "not set" if value is None else str(value)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[: MAX_VALUE_LENGTH - 3]}..."


def _describe_input_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    reasons = []
    for argument in sorted({*before, *now}):
        old, new = before.get(argument, {}), now.get(argument, {})
        for name in sorted({*old, *new}):
            if name not in old or name not in new:
                verb = "added" if name in new else "removed"
                reasons.append(f"input {argument} {name} {verb}")
            elif old[name] != new[name]:
                reasons.append(f"input {argument} {name} changed")
    return reasons


def _to_json_types(value: Any) -> Any:
    """Convert Pydantic models, data classes and tuples to dicts and lists, as JSON requires."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, tuple):
        return [_to_json_types(item) for item in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
