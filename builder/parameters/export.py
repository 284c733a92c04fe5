"""`[export]`: what a published version carries."""

from pydantic import Field

from builder.parameters.section import Section


class ExportParameters(Section):
    """`[export]`: which layouts a published version carries."""

    trec: bool = Field(default=True, description="Write TREC documents, topics and qrels")
    max_file_bytes: int = Field(
        default=2**28, ge=2**10, description="A file of documents ends with the one that fills it"
    )
