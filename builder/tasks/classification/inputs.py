"""Finds, hashes and reads the input files of a classification collection."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builder.definition.source_files import find_matching_files, find_source_files
from builder.errors import DefinitionError
from builder.io.sources import Source
from builder.runtime.publisher import sha256
from builder.tasks.classification.annotations import read_annotations
from builder.tasks.classification.definition import ClassificationDefinition


@dataclass(frozen=True, slots=True)
class InputFiles:
    """Input files listed in a collection definition: posts, marker list and human labels."""

    posts: tuple[Source, ...]
    markers: tuple[Source, ...]
    annotations: tuple[Source, ...]

    @classmethod
    def from_definition(
        cls, definition: ClassificationDefinition, definition_file: Path
    ) -> "InputFiles":
        """Find the input files listed in a definition.

        Args:
            definition: Definition of the collection.
            definition_file: TOML file of the definition; its folder is the base of relative paths.

        Raises:
            DefinitionError: no file matches a path or pattern, a file is listed twice, or there
                are several marker lists.
        """
        labels = definition.labels
        markers = []
        if labels.markers is not None:
            markers = find_matching_files(definition_file, labels.markers, "labels.markers")
        if len(markers) > 1:
            names = ", ".join(source.name for source in markers)
            message = f"expected one marker list, found {names}"
            raise DefinitionError(message, definition_file, "labels.markers")
        return cls(
            find_source_files(definition_file, definition.posts, "posts"),
            tuple(markers),
            find_source_files(definition_file, labels.annotations, "labels.annotations"),
        )

    def sha256_by_name(self) -> dict[str, str]:
        """Return the SHA-256 hash of each input file, keyed by path relative to the definition."""
        sources = (*self.posts, *self.markers, *self.annotations)
        return {source.name: sha256(source.path) for source in sources}

    def read_human_labels(self) -> pl.DataFrame:
        """Read the human labels into a table with the columns id, annotator and label."""
        return read_annotations([source.path for source in self.annotations])
