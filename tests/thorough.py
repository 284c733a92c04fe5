"""How much is tried: a fair part of it in `make test`, all of it in `make thorough`."""

import os

ALL = bool(os.environ.get("LONGEVAL_THOROUGH"))
SHARE, LEAST = 5, 20


def examples(count: int) -> int:
    """Random examples of a property test that tries so many where all are tried."""
    return count if ALL else max(count // SHARE, min(count, LEAST))
