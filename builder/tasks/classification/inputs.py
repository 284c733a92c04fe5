"""The files that a classification collection is made from."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.io.sources import Source
from builder.runtime.publisher import sha256
from builder.tasks.classification.annotations import read_annotations
from builder.tasks.classification.definition import ClassificationDefinition, expand


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files that a definition names."""

    posts: list[Source]
    markers: list[Source]
    annotations: list[Source]

    @classmethod
    def of(cls, definition: ClassificationDefinition, file: Path) -> "Inputs":
        """The files that a definition names, relative to the folder of its file.

        Raises:
            DefinitionError: a path or pattern names no file.
        """
        labels = definition.labels
        own = (labels.markers,) if labels.markers is not None else ()
        return cls(
            expand(definition.posts, file, "posts"),
            expand(own, file, "labels.markers"),
            expand(labels.annotations, file, "labels.annotations"),
        )

    def hashes(self) -> dict[str, str]:
        """sha256 of each file, by its name in the definition."""
        sources = (*self.posts, *self.markers, *self.annotations)
        return {source.name: sha256(source.path) for source in sources}

    def human_labels(self) -> pl.DataFrame:
        """The human labels; see `annotations`."""
        return read_annotations([source.path for source in self.annotations])
