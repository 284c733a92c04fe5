"""What the snapshots of a release have in common."""

from dataclasses import dataclass
from pathlib import Path

from builder.collection.imports.found import LAYOUTS
from builder.trec.released import strip_doc_prefix


@dataclass(frozen=True)
class Release:
    """What the snapshots of a release have in common.

    Args:
        root: Its folder.
        layout: One of `found.LAYOUTS`.
        source: The language that its pages were found in.
        is_escaped: Whether markup in texts is escaped.
    """

    root: Path
    layout: str
    source: str
    is_escaped: bool

    def place_of(self, snapshot: str, *, is_stable: bool = True) -> str:
        """Where the ids of a snapshot are valid: in all of the release, or in it alone."""
        everywhere = is_stable and LAYOUTS[self.layout].has_stable_ids
        return self.layout if everywhere else f"{self.layout} {snapshot}"

    def document_alias(self, alias: str) -> str:
        """A document id as the judgements of the layout write it."""
        return strip_doc_prefix(alias) if LAYOUTS[self.layout].has_plain_numbers else alias
