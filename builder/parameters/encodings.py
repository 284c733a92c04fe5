"""Validation of the text encodings of raw files."""

ASCII_PROBE = bytes(range(1, 128)) + b"\\u0041"


def extends_ascii(encoding: str) -> bool:
    """Return whether an encoding extends ASCII, so that lines can be split before decoding.

    Raises:
        LookupError: The text encoding is unknown.
    """
    try:
        return ASCII_PROBE.decode(encoding) == ASCII_PROBE.decode("ascii")
    except (UnicodeError, TypeError):
        return False
