"""Determines the text encoding of a log file, from `log.encoding` or from its first bytes."""

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
    """Return the text encoding of a file, with a note for the user if it was detected.

    With `log.encoding = "auto"`, UTF-8 is used unless more than half of the sampled lines with
    non-ASCII bytes are invalid UTF-8. The encoding is then detected from those lines; a detected
    single-byte encoding is replaced by windows-1252 if all non-ASCII bytes of the lines are French
    letters or punctuation in it. Lines that are valid UTF-8 are then still read as UTF-8: in
    windows-1252, unlike in other encodings, they would make no sense.

    Args:
        source: The file.
        params: Section `[log]` of the definition.

    Returns:
        Python codec name or `UTF8_OR_WINDOWS_1252`, and a note to the user, empty unless an
        encoding was detected.

    Raises:
        FormatError: the file cannot be opened.
    """
    if params.encoding != "auto":
        return codecs.lookup(params.encoding).name, ""
    lines = read_head(source, SAMPLE_BYTES).split(b"\n")[:-1] or [b""]
    foreign = [line for line in lines if not line.isascii()]
    invalid = [line for line in foreign if not is_utf8(line)]
    if len(invalid) * 2 <= len(foreign):
        return UTF8, ""
    text = b"\n".join(invalid)
    found = str(detect_encoding(text)).lower()
    if found.startswith(SINGLE_BYTE) and _is_french(text):
        found = WINDOWS_1252
    if found == UTF8 or not extends_ascii(found):
        return UTF8, "not valid UTF-8, and encoding detection failed; set log.encoding"
    name = found.replace("cp125", "windows-125")
    note = f"detected encoding {name}; set log.encoding to confirm"
    if name != WINDOWS_1252:
        return name, note
    if len(invalid) < len(foreign):
        note = f"some lines are in {name} and others in UTF-8; each is read in its own encoding"
    return UTF8_OR_WINDOWS_1252, note


def _is_french(text: bytes) -> bool:
    """Whether all non-ASCII bytes are French letters or punctuation in windows-1252."""
    return FRENCH_BYTES.issuperset(byte for byte in set(text) if byte > 127)
