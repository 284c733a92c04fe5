"""HTML tables for notebooks; cell contents are escaped."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str | int]]) -> str:
    """An HTML table; integers have thousands separators."""

    def row(kind: str, cells: Sequence[str | int]) -> str:
        texts = (f"{cell:,}" if isinstance(cell, int) else escape(cell) for cell in cells)
        return f"<tr>{''.join(f'<{kind}>{text}</{kind}>' for text in texts)}</tr>"

    body = "".join(row("td", cells) for cells in rows)
    return f"<table><caption>{escape(caption)}</caption>{row('th', header)}{body}</table>"
