"""Finds changes to the definition, the input files and the program that can affect judgements.

Reads the manifests of two versions. Parameters and hashes of list files are taken from the records
of stages, because these include the overrides of a snapshot and the contents of list files.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from builder.collection.compare.definitions import diff_code_versions, diff_values
from builder.collection.compare.judgements import JudgementAffectingChanges
from builder.collection.manifest import (
    LISTS,
    STAGE_PREFIX,
    code_versions,
    hashes_of_list_files,
    snapshot_parameters,
)

Manifest = Mapping[str, Any]
Manifests = tuple[Manifest, Manifest]


@dataclass(frozen=True)
class DefinitionPart:
    """Part of a collection definition that affects the judgements of a snapshot.

    Args:
        sections: Names of parameter sections, such as `select`.
        files: Kinds of raw files of the snapshot, such as `log`.
        lists: Dotted keys of parameters that name list files, such as `select.stop_lists`.
    """

    sections: tuple[str, ...]
    files: tuple[str, ...]
    lists: tuple[str, ...] = ()


EVIDENCE = DefinitionPart(
    ("log", "verdicts", "select", "variants", "clicks"),
    ("log",),
    ("select.stop_lists", "verdicts.files", "variants.files"),
)
"""Part of a definition that determines click counts and scores."""
DOCUMENTS = DefinitionPart(
    ("crawl", "documents"), ("crawl",), ("documents.deny", "documents.allow")
)
"""Part of a definition that determines the documents of a snapshot, and so what can be judged."""
GRADING = DefinitionPart(("qrels",), ("judgements",))
"""Part of a definition that determines how grades follow from scores and manual judgements."""

STAGES = frozenset(
    ("topics", "log", "verdicts", "select", "variants", "clicks", "grades", "qrels")
) | {"crawl", "page_verdicts", "shown", "documents"}
"""Stages that affect judgements."""

SAMPLE_KEYS = frozenset(
    f"documents.{key}"
    for key in ("sample_share", "sample_seed", "duplicates", "near_duplicates", "near_threshold")
)
"""Parameters that affect judgements only if duplicate documents are dropped, because only then can
they remove documents that were shown in result lists."""


def find_definition_changes(
    manifests: Manifests, snapshot: str, *parts: DefinitionPart
) -> JudgementAffectingChanges:
    """Return the changes between two versions in the given parts of a snapshot's definition.

    A snapshot takes over the variant sets (groups of variants of a query) of earlier snapshots. If
    its variant sets differ, the logs and list files of earlier snapshots are compared as well.

    Args:
        manifests: Manifests of the old and the new version.
        snapshot: Name of a snapshot that both versions contain.
        parts: Parts of the definition to compare.
    """
    before, after = (_snapshot_inputs(manifest, snapshot, parts) for manifest in manifests)
    if _variant_sets_hash(manifests[0], snapshot) != _variant_sets_hash(manifests[1], snapshot):
        for found, manifest in zip((before, after), manifests, strict=True):
            found += [
                _snapshot_inputs(manifest, name, (EVIDENCE,))
                for name in _earlier_snapshots(manifest, snapshot)
            ]
    upstream = tuple(s for part in parts if part is not GRADING for s in part.sections)
    versions = (
        {
            name: version
            for name, version in code_versions(manifest).items()
            if not name.startswith(STAGE_PREFIX) or name.removeprefix(STAGE_PREFIX) in STAGES
        }
        for manifest in manifests
    )
    return JudgementAffectingChanges(
        _changed_parameters(manifests, snapshot, upstream),
        _changed_parameters(manifests, snapshot, GRADING.sections),
        inputs=before != after,
        code=bool(diff_code_versions(*versions)),
    )


def find_grading_changes(
    manifests: Manifests, snapshot: str, documents_differ: Mapping[str, bool]
) -> JudgementAffectingChanges:
    """Return the differences between two versions that can change a grade despite equal scores.

    These are differences in parameters, input files and code that can change the grade of a
    query-document pair even though its click counts and score are the same.

    Under the policy `target_shares`, thresholds are fitted to the scores of the first snapshot, so
    changes to that snapshot and to the set of judged documents are included.

    Args:
        manifests: Manifests of the old and the new version.
        snapshot: Name of a snapshot that both versions contain.
        documents_differ: For each snapshot that both versions contain, whether documents judged in
            one version are missing from the other.
    """
    if snapshot_parameters(manifests[1], snapshot).get("qrels.policy") != "target_shares":
        return find_definition_changes(manifests, snapshot, EVIDENCE, GRADING)
    firsts = {manifest["definition"]["snapshots"][0]["name"] for manifest in manifests}
    names = dict.fromkeys((snapshot, *(firsts & documents_differ.keys())))
    found = [
        find_definition_changes(
            manifests, name, *definition_parts_affecting_judged_pairs(documents_differ[name])
        )
        for name in names
    ]
    return JudgementAffectingChanges(
        tuple(dict.fromkeys(key for changes in found for key in changes.evidence)),
        found[0].thresholds,
        inputs=len(firsts) > 1 or any(changes.inputs for changes in found),
        code=found[0].code,
    )


def definition_parts_affecting_judged_pairs(documents_differ: bool) -> tuple[DefinitionPart, ...]:
    """Return the parts of a definition that can change the set of judged query-document pairs.

    Args:
        documents_differ: Whether documents judged in one version are missing from the other.
    """
    return (EVIDENCE, DOCUMENTS, GRADING) if documents_differ else (EVIDENCE, GRADING)


def _changed_parameters(
    manifests: Manifests, snapshot: str, sections: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the dotted keys of changed parameters in these sections that affect judgements."""
    before, after = (snapshot_parameters(manifest, snapshot) for manifest in manifests)
    old_lists, new_lists = (hashes_of_list_files(manifest) for manifest in manifests)
    ignored = {
        key
        for key in LISTS
        if _sorted_file_hashes(old_lists, key) == _sorted_file_hashes(new_lists, key)
    }
    if not (_drops_duplicate_documents(before) or _drops_duplicate_documents(after)):
        ignored |= SAMPLE_KEYS
    return tuple(
        line.partition(":")[0].removesuffix(" changed")
        for section in sections
        for key in sorted({*before, *after} - ignored)
        if key.startswith(f"{section}.")
        for line in diff_values(before.get(key), after.get(key), key)
    )


def _drops_duplicate_documents(parameters: Mapping[str, Any]) -> bool:
    values = (parameters.get(f"documents.{key}") for key in ("duplicates", "near_duplicates"))
    return any(value in ("keep_first", "drop") for value in values)


def _snapshot_inputs(
    manifest: Manifest, snapshot_name: str, parts: tuple[DefinitionPart, ...]
) -> list[Any]:
    """Return the interval of a snapshot and the hashes of its input files, without file names."""
    definition = manifest["definition"]
    (snapshot,) = (s for s in definition["snapshots"] if s["name"] == snapshot_name)
    lists = hashes_of_list_files(manifest)
    return [
        snapshot["start"],
        snapshot["end"],
        _sorted_file_hashes(definition, "topics"),
        *(_sorted_file_hashes(snapshot, kind) for part in parts for kind in part.files),
        *(_sorted_file_hashes(lists, key) for part in parts for key in part.lists),
    ]


def _sorted_file_hashes(hashes_by_kind: Mapping[str, Any], kind: str) -> list[str]:
    """Return the sorted hashes of all files of one kind, such as `log`, without file names."""
    return sorted(hashes_by_kind.get(kind, {}).values())


def _variant_sets_hash(manifest: Manifest, snapshot: str) -> Any:
    """Return the hash of the groups of query variants in a snapshot; None if not recorded."""
    return manifest["units"].get(f"clicks {snapshot}", {}).get("inputs", {}).get("variants")


def _earlier_snapshots(manifest: Manifest, snapshot: str) -> list[str]:
    names = [s["name"] for s in manifest["definition"]["snapshots"]]
    return names[: names.index(snapshot)]
