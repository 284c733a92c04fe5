"""Why a step runs again, in words."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import dataframely as dy

from builder.definition.model import Workflow
from builder.io.sources import Source
from builder.parameters import ClickParameters, DocumentParameters
from builder.runtime.fingerprint import (
    MAX_VALUE_LENGTH,
    fingerprint,
    step_identity,
    step_identity_changes,
    table_hash,
)
from builder.runtime.ledger import RowLedger
from builder.runtime.references import FileReference, Same, SettingReference
from builder.runtime.stage import stage
from schemas import TableSchema


def identity(**context: Any) -> dict[str, Any]:
    """An identity that differs from others in its context alone."""
    return {"version": "1", "parameters": {}, "context": context, "contracts": {}, "inputs": {}}


def test_values_are_compared_where_they_differ() -> None:
    before = identity(recorded={"2022-06": {"a.b": 1, "a.c": {"d": None}}, "2022-07": {"a.b": 1}})
    now = identity(recorded={"2022-06": {"a.b": 2, "a.c": {"d": "e"}}, "2022-07": {"d": 1}})
    assert step_identity_changes(before, now) == (
        "parameters of 2022-06 a.b 1 -> 2",
        "parameters of 2022-06 a.c.d not set -> e",
        "parameters of 2022-07 a.b 1 -> absent",
        "parameters of 2022-07 d absent -> 1",
    )


def test_long_values_are_cut() -> None:
    (reason,) = step_identity_changes(identity(files=["x" * 1000]), identity(files="y"))
    assert reason.startswith("files ['xxx")
    assert reason.endswith("... -> y")
    assert len(reason) == len("files  -> y") + MAX_VALUE_LENGTH


def test_settings_that_are_new_or_gone_are_named_without_their_content() -> None:
    none, new = identity(), identity(sampling={"share": 0.2}, near="together")
    assert step_identity_changes(none, new) == ("near absent -> together", "sampling added")
    assert step_identity_changes(new, none) == ("near together -> absent", "sampling removed")


def test_parameters_are_named_as_in_the_definition() -> None:
    before = identity() | {"parameters": {"crawl.fields": {"text": None, "url": "url"}}}
    now = identity() | {"parameters": {"crawl.fields": {"text": "contenu", "url": "url"}}}
    assert step_identity_changes(before, now) == ("crawl.fields.text not set -> contenu",)


def test_every_kind_of_change_is_a_reason() -> None:
    before = identity() | {
        "contracts": {"a": "A/1", "b": "B/1"},
        "inputs": {"log": {"x": "1", "y": "1", "z": "1"}},
    }
    now = identity() | {
        "version": "2",
        "contracts": {"a": "A/1", "b": "B/2", "c": "C/1"},
        "inputs": {"log": {"w": "1", "x": "1", "y": "2"}, "topics": {"t": "1"}},
    }
    assert step_identity_changes(None, now) == ("not built yet",)
    assert step_identity_changes(now, now) == ()
    assert step_identity_changes(before, now) == (
        "stage version 1 -> 2",
        "schema of b changed",
        "schema of c changed",
        "input log w added",
        "input log y changed",
        "input log z removed",
        "input topics t added",
    )


def test_a_value_of_sixty_characters_is_not_cut() -> None:
    (reason,) = step_identity_changes(identity(a="x" * 60), identity(a="y" * 61))
    assert reason == f"a {'x' * 60} -> {'y' * 57}..."


def test_a_fingerprint_does_not_depend_on_the_order_of_keys() -> None:
    assert fingerprint({"b": 1, "a": [2]}) == fingerprint({"a": [2], "b": 1})
    assert fingerprint({"a": [2], "b": 1}) != fingerprint({"a": [2], "b": 2})
    assert len(fingerprint({})) == 16


def _table_hash(files: dict[str, str] | None) -> str | None:
    record = None
    if files is not None:
        record = {"files": {name: {"sha256": sha} for name, sha in files.items()}}
    return table_hash(SimpleNamespace(read_record=lambda *_: record), "log", "2022-06", "t")  # type: ignore[arg-type]


def test_the_hash_of_a_table_is_that_of_its_own_files() -> None:
    assert _table_hash(None) is None
    whole = _table_hash({"t.parquet": "a", "t2.parquet": "b", "rejects.parquet": "c"})
    assert whole == _table_hash({"t2.parquet": "x", "t.parquet": "a"})
    assert whole != _table_hash({"t.parquet": "b"})
    parts = _table_hash({"t/part-1": "b", "t/part-0": "a", "u/part-0": "c"})
    assert parts == _table_hash({"t/part-0": "a", "t/part-1": "b"})
    assert len({whole, parts, _table_hash({"t/part-0": "a"}), _table_hash({})}) == 4


class Names(TableSchema):
    """Names."""

    name = dy.String(primary_key=True)


@dataclass
class Note:
    """A value of a setting."""

    text: str


def name_notes(
    out: Path,
    *,
    names: Same[Names],
    log: Annotated[Sequence[Source], FileReference(lambda w, key: w.snapshot(key).log)],
    notes: Annotated[
        Any, SettingReference(lambda _, key: (Note(key), 1, ClickParameters(prior_alpha=2)))
    ],
    params: DocumentParameters,
) -> RowLedger:
    """A stage with an argument of every kind."""
    raise NotImplementedError


def test_the_identity_of_a_step_has_all_that_its_output_depends_on(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("a\n")
    snapshot = {"name": "2022-06", "start": date(2022, 6, 1), "end": date(2022, 6, 2)}
    collection = {"name": "x", "version": "1.0.0", "topics": "topics.tsv"}
    workflow = Workflow.model_validate(
        {
            "collection": collection,
            "snapshots": [{**snapshot, "log": ["log"], "crawl": ["log"]}],
            "documents": {"sample_share": 0.5},
        }
    )
    writer = stage("names", version="1", writes=(Names,))(name_notes)
    named = stage(
        "notes", version="7", writes=(Names,), plugins=lambda _: {"mine": "my-package 1.0"}
    )(name_notes)
    record = {"files": {"names.parquet": {"sha256": "ab"}}}
    store = SimpleNamespace(
        input_hashes=lambda sources: dict.fromkeys(sources, "12"),
        read_record=lambda stage, key: record if (stage, key) == ("names", "2022-06") else None,
    )
    definition = SimpleNamespace(
        workflow=workflow, expand_sources=lambda patterns: [f"{name}.gz" for name in patterns]
    )
    producers = {"names": writer}
    found = step_identity(definition, store, named, "2022-06", producers)  # type: ignore[arg-type]
    clicks = found["context"]["notes"][2]
    assert clicks["prior_alpha"] == 2.0
    assert found == {
        "stage": "notes",
        "version": "7",
        "contracts": {"names": Names.signature()},
        "parameters": found["parameters"],
        "context": {
            "notes": [{"text": "2022-06"}, 1, clicks],
            "plug-in mine": "my-package 1.0",
        },
        "inputs": {
            "log": {"log.gz": "12"},
            "names": {"2022-06": hashlib.sha256(b"names.parquet:ab").hexdigest()},
        },
    }
    assert found["parameters"]["documents.sample_share"] == 0.5
    assert {name.split(".")[0] for name in found["parameters"]} == {"documents"}
    assert fingerprint(found) == fingerprint(json.loads(json.dumps(found)))
