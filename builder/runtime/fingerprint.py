"""What a unit of work is made of, so that "the same" and "changed" have one meaning.

The identity of a unit names its stage and version, the contracts of what it writes, its
parameters, its context and the hashes of its inputs. Two runs with equal identities write equal
bytes; what differs between two identities is the reason why a stage runs again.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from pydantic import BaseModel

from builder.definition.model import Definition, Workflow
from builder.runtime.publisher import canonical_json
from builder.runtime.stage import CONTRACTS, Places, Raw, Read, Stage
from builder.runtime.store import Store

Identity = dict[str, Any]
LONGEST = 60
"""Characters of a value in a reason."""


def identity(
    definition: Definition, store: Store, stage: Stage, key: str, producers: Mapping[str, Stage]
) -> Identity:
    """The identity of one unit; every table it reads has been published.

    Args:
        definition: The definition being built.
        store: Where tables are.
        stage: The stage.
        key: The unit's key.
        producers: The stage that writes each table.
    """
    workflow = definition.workflow
    inputs: dict[str, Any] = {}
    for read in stage.reads:
        if isinstance(read, Raw):
            files = definition.sources(read.patterns(workflow, key))
            inputs[read.argument] = store.input_hashes(files)
        else:
            inputs[read.argument] = {
                place: table_hash(store, producers[read.table].name, place, read.table)
                for place in places(read, workflow, key)
            }
    return {
        "stage": stage.name,
        "version": stage.version,
        "contracts": {name: CONTRACTS[name].signature() for name in stage.writes},
        "parameters": parameters(stage, workflow, key),
        "context": {
            **{name: _plain(v) for name, v in stage.context(workflow, key).items()},
            **{f"plug-in {name}": origin for name, origin in stage.plugins(workflow).items()},
        },
        "inputs": inputs,
    }


def parameters(stage: Stage, workflow: Workflow, key: str) -> dict[str, Any]:
    """The parameters of a unit by dotted key, defaults included."""
    if stage.section is None:
        return {}
    section = workflow.section(stage.section, key)
    return {f"{stage.section}.{k}": v for k, v in section.model_dump(mode="json").items()}


def places(read: Read, workflow: Workflow, key: str) -> tuple[str, ...]:
    """The units whose table is read, in order."""
    found: Places = read.places(workflow, key)
    if isinstance(found, str):
        return (found,)
    return tuple(found.values()) if isinstance(found, dict) else found


def table_hash(store: Store, stage: str, key: str, table: str) -> str | None:
    """One hash for the bytes of a published table; None where it is not published."""
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
    """Sixteen hexadecimal digits of an identity."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:16]


def differences(before: Identity | None, now: Identity) -> tuple[str, ...]:
    """Why a unit must run: each difference in words; empty when nothing differs."""
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
    """A value as JSON knows it: parameters and intervals as objects."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
