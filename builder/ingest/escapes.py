r"""Decodes the backslash escapes of TSV files, such as `\n` for a line break.

MySQL (`mysql -B`), PostgreSQL (`COPY`) and ClickHouse write these escapes so that no cell contains
a tab or a line break. Cells `\N`, which mark missing values, are removed before (see `delimited`).
"""

import re
from collections.abc import Iterable

ESCAPES = dict(zip("ntr\\'bfv0", "\n\t\r\\'\b\f\v\0", strict=True))
"""Character that each escape stands for."""
COMMON = frozenset("nt\\")
"""Escapes, at least one of which occurs in an escaped file."""
_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)


def are_escaped(cells: Iterable[str]) -> bool:
    """Whether cells contain a common escape, and no backslash that does not start an escape."""
    found = {escape for cell in cells if "\\" in cell for escape in _ESCAPE.findall(cell)}
    return found <= ESCAPES.keys() and not found.isdisjoint(COMMON)


def decode_escapes(cell: str) -> str:
    """Decode the backslash escapes in a cell; unknown escapes remain unchanged."""
    if "\\" not in cell:
        return cell
    return _ESCAPE.sub(lambda escape: ESCAPES.get(escape[1], escape[0]), cell)
