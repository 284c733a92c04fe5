"""Lists names in notes and messages."""

from collections.abc import Sequence

MAX_NAMES = 10
"""Maximum number of names in a note."""


def list_first(names: Sequence[str], limit: int = MAX_NAMES, separator: str = "; ") -> str:
    """Join the first names, and say how many more there are: `a; b; and 3 more`."""
    more = [f"and {len(names) - limit:,} more"] if len(names) > limit else []
    return separator.join([*names[:limit], *more])
