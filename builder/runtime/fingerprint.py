"""The fingerprint of a unit, which decides whether it has to run again.

The identity of a unit consists of its stage and version, the contracts of its outputs, its
parameters, its settings and the hashes of its inputs. Runs with equal identities write equal bytes;
the differences between two identities are the reasons why a unit runs again.
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
LONGEST = 60
"""Characters of a value in a reason."""


def identity(
    definition: Definition, store: Store, stage: Stage, key: str, producers: Mapping[str, Stage]
) -> Identity:
    """The identity of one unit; the tables that it reads must have been published.

    Args:
        definition: The definition being built.
        store: Store of the tables.
        stage: The stage.
        key: The unit's key.
        producers: The stage that writes each table.
    """
    workflow = definition.workflow
    inputs: dict[str, Any] = {}
    for files in stage.files:
        found = definition.expand_sources(files.patterns(workflow, key))
        inputs[files.argument] = store.input_hashes(found)
    for table in stage.signature.tables:
        inputs[table.argument] = {
            unit: table_hash(store, producers[table.table].name, unit, table.table)
            for unit in table.keys(workflow, key)
        }
    return {
        "stage": stage.name,
        "version": stage.version,
        "contracts": {name: contract.signature() for name, contract in stage.outputs.items()},
        "parameters": parameters(stage, workflow, key),
        "context": {
            **{name: _plain(s(workflow, key)) for name, s in stage.signature.settings.items()},
            **{f"plug-in {name}": origin for name, origin in stage.plugins(workflow).items()},
        },
        "inputs": inputs,
    }


def parameters(stage: Stage, workflow: Workflow, key: str) -> dict[str, Any]:
    """The parameters of a unit by dotted key, defaults included."""
    name = stage.signature.section
    if name is None:
        return {}
    section = workflow.section(name, key)
    return {f"{name}.{k}": v for k, v in section.model_dump(mode="json").items()}


def table_hash(store: Store, stage: str, key: str, table: str) -> str | None:
    """Hash over the files of a published table; None if it is not published."""
    record = store.record(stage, key)
    if record is None:
        return None
    parts = [
        f"{name}:{entry['sha256']}"
        for name, entry in sorted(record["files"].items())
        if name == f"{table}.parquet" or name.startswith(f"{table}/")
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def digest(value: Identity) -> str:
    """Fingerprint of an identity: 16 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:16]


def differences(before: Identity | None, now: Identity) -> tuple[str, ...]:
    """Reasons why a unit must run, one per difference; empty if there is none."""
    if before is None:
        return ("not built yet",)
    reasons = []
    if before["version"] != now["version"]:
        reasons.append(f"stage version {before['version']} -> {now['version']}")
    reasons += _changed("", before["parameters"], now["parameters"])
    reasons += _changed("", before["context"], now["context"])
    reasons += [
        f"contract of {name} changed"
        for name, signature in now["contracts"].items()
        if before["contracts"].get(name) != signature
    ]
    reasons += _changed_inputs(before["inputs"], now["inputs"])
    return tuple(reasons)


def _changed(prefix: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    reasons = []
    for name in sorted({*before, *now}):
        old, new = before.get(name, "absent"), now.get(name, "absent")
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            reasons += _changed(f"{prefix}{name} ", old, new)
        elif old != new:
            reasons.append(f"{prefix}{name} {_short(old)} -> {_short(new)}")
    return reasons


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _changed_inputs(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    reasons = []
    for argument in sorted({*before, *now}):
        old, new = before.get(argument, {}), now.get(argument, {})
        for place in sorted({*old, *new}):
            if place not in old or place not in new:
                verb = "added" if place in new else "removed"
                reasons.append(f"input {argument} {place} {verb}")
            elif old[place] != new[place]:
                reasons.append(f"input {argument} {place} changed")
    return reasons


def _plain(value: Any) -> Any:
    """Convert parameters and intervals to JSON objects."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
