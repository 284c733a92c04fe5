r"""Decodes the backslash escapes of TSV files, such as `\n` for a line break.

MySQL (`mysql -B`), PostgreSQL (`COPY`) and ClickHouse write these escapes so that no cell contains
a tab or a line break. Cells with `\N`, which means a missing value, have already been removed (see
`delimited`).
"""

import re
from collections.abc import Iterable

ESCAPES = dict(zip("ntr\\'bfv0", "\n\t\r\\'\b\f\v\0", strict=True))
"""Maps the character after a backslash to the decoded character."""
COMMON = frozenset("nt\\")
"""Common escapes; a file without any of them is not considered escaped."""
_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)


def are_escaped(cells: Iterable[str]) -> bool:
    """Return whether the cells use backslash escapes.

    They do if they contain at least one common escape and no unknown ones.
    """
    found = {escape for cell in cells if "\\" in cell for escape in _ESCAPE.findall(cell)}
    return found <= ESCAPES.keys() and not found.isdisjoint(COMMON)


def decode_escapes(cell: str) -> str:
    """Decode the backslash escapes in a cell; leave unknown escapes unchanged."""
    if "\\" not in cell:
        return cell
    return _ESCAPE.sub(lambda escape: ESCAPES.get(escape[1], escape[0]), cell)
