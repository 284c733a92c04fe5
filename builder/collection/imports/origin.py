"""Defines `Release`, which holds the properties that all snapshots of a release share."""

from dataclasses import dataclass
from pathlib import Path

from builder.collection.imports.layouts import LAYOUTS
from builder.trec.released import strip_doc_prefix


@dataclass(frozen=True)
class Release:
    """Properties that all snapshots of a release share.

    Args:
        root: Folder of the release.
        layout: One of `LAYOUTS`.
        source_language: Code of the original language of the documents, such as `fr`.
    """

    root: Path
    layout: str
    source_language: str

    def id_scope(self, snapshot: str, *, is_stable: bool = True) -> str:
        """Return the scope in which ids are unique, either the layout or one of its snapshots.

        Stable ids, which are the same in all snapshots, are unique across all releases of a layout.
        """
        is_valid_everywhere = is_stable and LAYOUTS[self.layout].has_stable_ids
        return self.layout if is_valid_everywhere else f"{self.layout} {snapshot}"

    def to_qrels_doc_id(self, doc_id: str) -> str:
        """Return a document id as written in qrels; `longeval-web` omits the prefix `doc`."""
        return strip_doc_prefix(doc_id) if LAYOUTS[self.layout].qrels_omit_doc_prefix else doc_id
