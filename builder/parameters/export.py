"""Section `[export]`: additional file formats in which a version is published."""

from pydantic import Field

from builder.parameters.section import Section


class ExportParameters(Section):
    """Section `[export]`: additional file formats in which a version is published."""

    trec: bool = Field(default=True, description="Write documents, topics and qrels in TREC format")
    max_file_bytes: int = Field(
        default=2**28,
        ge=2**10,
        description="Target size of a TREC document file in bytes; a new file starts after the "
        "document that reaches it",
    )
