"""Text encodings of raw files."""


def ends_lines_as_ascii(encoding: str) -> bool:
    """Whether an encoding writes line ends and braces as ASCII does, so that lines can be split.

    Raises:
        LookupError: no such text encoding exists.
    """
    try:
        return "\n{".encode(encoding) == b"\n{" and b"\n".decode(encoding) == "\n"
    except (UnicodeError, TypeError):
        return False
