"""Selects which variant of the judgements to import if a release has several variants.

The name of a file contains its variant, such as `raw` in `qrels-snapshot-2-raw.txt`. Files of
judgements without a variant in their names are always read.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from builder.collection.imports.files import SnapshotFiles
from builder.collection.imports.files_sci import FILE_KIND
from builder.errors import UsageError, suggest

QRELS_VARIANTS = ("dctr", "raw", "llm")
"""Qrels variants in order of preference: DCTR click model, raw clicks, LLM assessments."""
VARIANT_SUFFIX = re.compile(rf"-({'|'.join(QRELS_VARIANTS)})(?=\.|$)")
OTHER_VARIANT = "judgements of a variant that is not imported"


def detect_qrels_variant(path: Path) -> str | None:
    """Return the qrels variant in a file name, such as `dctr`; None if the name contains none."""
    kind, variant = FILE_KIND.match(path.name.lower()), VARIANT_SUFFIX.search(path.name.lower())
    return variant[1] if variant and kind and kind[1] == "qrels" else None


def check_qrels_variant(files: Iterable[Path], qrels_variant: str) -> None:
    """Raise an error if a release has no qrels files of the given variant.

    Raises:
        UsageError: There are no such files.
    """
    variants = sorted(_list_variants(files))
    if qrels_variant not in variants:
        hint = "this release has no qrels variants"
        if variants:
            hint = suggest(qrels_variant, variants)
        raise UsageError(f"--qrels: no qrels variant {qrels_variant!r} in this release; {hint}")


def select_qrels_variant(snapshots: Collection[SnapshotFiles], qrels_variant: str | None) -> None:
    """Reduce the qrels files of each snapshot to one variant; keep files without a variant.

    Args:
        snapshots: Snapshots whose `qrels` are reduced.
        qrels_variant: Variant to keep. If None, keep the first of `QRELS_VARIANTS` that all
            snapshots with variants have in common or, if there is none, the first in each snapshot.
    """
    variants = [found for s in snapshots if (found := _list_variants(s.qrels))]
    shared = set.intersection(*variants) if variants else set()
    for snapshot in snapshots:
        candidates = shared or _list_variants(snapshot.qrels)
        preferred = next((name for name in QRELS_VARIANTS if name in candidates), None)
        kept = (None, qrels_variant or preferred)
        dropped = [path for path in snapshot.qrels if detect_qrels_variant(path) not in kept]
        snapshot.qrels = [path for path in snapshot.qrels if path not in dropped]
        snapshot.skip(dropped, OTHER_VARIANT)


def qrels_variant_warnings(snapshots: Sequence[SnapshotFiles]) -> list[str]:
    """Return warnings if snapshots have different qrels variants or lack the selected one."""
    used = {s.name: ", ".join(sorted(_list_variants(s.qrels))) for s in snapshots if s.qrels}
    skipped = {
        s.name: ", ".join(sorted(_list_variants(s.skipped))) for s in snapshots if not s.qrels
    }
    missing = {name: variants for name, variants in skipped.items() if variants}
    warnings = []
    if len({*used.values()}) > 1:
        warnings.append(
            "the snapshots have judgements of different variants, so their scores are not "
            f"comparable: {_format_variants(used)}; use --qrels to import only one variant"
        )
    if missing:
        warnings.append(
            "snapshots that do not have the selected qrels variant are imported without "
            f"judgements; available variants: {_format_variants(missing)}"
        )
    return warnings


def _list_variants(paths: Iterable[Path]) -> set[str]:
    return {variant for path in paths if (variant := detect_qrels_variant(path))}


def _format_variants(variants: dict[str, str]) -> str:
    return ", ".join(f"{name} ({found or 'not named'})" for name, found in variants.items())
