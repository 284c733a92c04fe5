"""Defines `ReleaseDocument`, a document read from a file of a release."""

from typing import NamedTuple

MAX_DOCUMENT_BYTES = 64 * 2**20
"""Maximum size of a document in bytes."""


class ReleaseDocument(NamedTuple):
    """Document read from a file of a release.

    Args:
        doc_id: Document id in the release.
        title: Title; empty if the document has no separate title.
        text: Text of the document.
        number: 1-based position of the document in the file.
        url: URL of the document; empty if the file has none.
    """

    doc_id: str
    title: str
    text: str
    number: int
    url: str = ""
