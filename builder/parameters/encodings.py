"""Text encodings of raw files."""

PROBE = bytes(range(1, 128)) + b"\\u0041"


def extends_ascii(encoding: str) -> bool:
    """Whether an encoding reads ASCII as ASCII, so that lines can be split before decoding.

    Raises:
        LookupError: no such text encoding exists.
    """
    try:
        return PROBE.decode(encoding) == PROBE.decode("ascii")
    except (UnicodeError, TypeError):
        return False
