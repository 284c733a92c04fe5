"""Determines the text encoding of a log file from `log.encoding` or from its first bytes."""

import codecs

from resiliparse.parse.encoding import detect_encoding

from builder.ingest.decompression import read_head
from builder.ingest.lines import UTF8_OR_WINDOWS_1252
from builder.io.sources import Source
from builder.parameters import LogParameters
from builder.parameters.encodings import extends_ascii
from builder.text.text_bytes import is_utf8

UTF8 = "utf-8"
WINDOWS_1252 = "windows-1252"
SAMPLE_BYTES = 2**20
SINGLE_BYTE = ("cp125", "windows-125", "iso-8859-")
FRENCH_BYTES = frozenset("àâäçéèêëîïôöùûüÿœæÀÂÄÇÉÈÊËÎÏÔÖÙÛÜŸŒÆ«»‘’“”–—…€°\u00a0".encode("cp1252"))
"""Bytes of French letters and punctuation in windows-1252."""


def resolve_encoding(source: Source, params: LogParameters) -> tuple[str, str]:
    """Determine the text encoding of a log file, and return a note for the user if it was detected.

    With `log.encoding = "auto"`, UTF-8 is used unless more than half of the sampled lines with
    non-ASCII bytes are invalid UTF-8. In that case, the encoding is detected from the invalid
    lines. A detected single-byte encoding is replaced with windows-1252 if all non-ASCII bytes of
    these lines are French letters or punctuation in windows-1252. In windows-1252 files, lines that
    are valid UTF-8 are still read as UTF-8, because they would make no sense in windows-1252.

    Args:
        source: The log file.
        params: Section `[log]` of the definition.

    Returns:
        Python codec name or `UTF8_OR_WINDOWS_1252`; note for the user, empty if the encoding is
        configured or the text is UTF-8.

    Raises:
        FormatError: the file cannot be opened.
    """
    if params.encoding != "auto":
        return codecs.lookup(params.encoding).name, ""
    foreign = sample_non_ascii_lines(source)
    invalid = [line for line in foreign if not is_utf8(line)]
    if len(invalid) * 2 <= len(foreign):
        return UTF8, ""
    text = b"\n".join(invalid)
    found = str(detect_encoding(text)).lower()
    if found.startswith(SINGLE_BYTE) and _has_only_french_non_ascii_bytes(text):
        found = WINDOWS_1252
    if found == UTF8 or not extends_ascii(found):
        return UTF8, "not valid UTF-8, and the encoding cannot be detected; set log.encoding"
    name = found.replace("cp125", "windows-125")
    note = f"detected encoding {name}; set log.encoding to confirm"
    if name != WINDOWS_1252:
        return name, note
    if len(invalid) < len(foreign):
        note = f"some lines are in {name} and others in UTF-8; each is read in its own encoding"
    return UTF8_OR_WINDOWS_1252, note


def sample_non_ascii_lines(source: Source) -> list[bytes]:
    """Return the lines with non-ASCII bytes at the start of a log file.

    The last line of the sample may be cut off, so it is used only if there is no other.
    """
    lines = read_head(source, SAMPLE_BYTES).split(b"\n")
    return [line for line in lines[:-1] or lines if not line.isascii()]


def _has_only_french_non_ascii_bytes(text: bytes) -> bool:
    """Whether all non-ASCII bytes of a text are French letters or punctuation in windows-1252."""
    return FRENCH_BYTES.issuperset(byte for byte in set(text) if byte > 127)
