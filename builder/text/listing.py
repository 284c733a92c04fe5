"""Lists names in notes and messages."""

from collections.abc import Sequence

MAX_NAMES = 10
"""Maximum number of names that a note lists."""


def join_names(names: Sequence[str], limit: int = MAX_NAMES, separator: str = "; ") -> str:
    """Join at most `limit` names, followed by the number of omitted names: `a; b; and 3 more`."""
    more = [f"and {len(names) - limit:,} more"] if len(names) > limit else []
    return separator.join([*names[:limit], *more])
