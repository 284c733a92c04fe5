"""Text encoding of a log file: as defined, or detected from its first bytes."""

import codecs

from resiliparse.parse.encoding import detect_encoding

from builder.ingest.unpacking import first_bytes
from builder.io.sources import Source
from builder.parameters import LogParameters
from builder.parameters.encodings import extends_ascii

UTF8 = "utf-8"
SAMPLE_BYTES = 2**20


def resolve_encoding(source: Source, params: LogParameters) -> tuple[str, str]:
    """The file's Python codec name, and a note that asks to confirm a detected one.

    `log.encoding = "auto"` is UTF-8, unless more than half of the lines with non-ASCII bytes at the
    start of the file are not valid UTF-8; then it is detected from those.

    Args:
        source: The file.
        params: `[log]`.

    Returns:
        Encoding and note; the note is empty where nothing was detected.

    Raises:
        FormatError: the file cannot be opened.
    """
    if params.encoding != "auto":
        return codecs.lookup(params.encoding).name, ""
    lines = first_bytes(source, SAMPLE_BYTES).split(b"\n")[:-1] or [b""]
    foreign = [line for line in lines if not line.isascii()]
    invalid = [line for line in foreign if not _is_utf8(line)]
    if len(invalid) * 2 <= len(foreign):
        return UTF8, ""
    found = str(detect_encoding(b"\n".join(invalid))).lower()
    if found == UTF8 or not extends_ascii(found):
        return UTF8, "not valid UTF-8, and no other encoding could be detected; set log.encoding"
    name = found.replace("cp125", "windows-125")
    return name, f"read as {name}, detected; set log.encoding to be sure"


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode(UTF8)
    except UnicodeDecodeError:
        return False
    return True
