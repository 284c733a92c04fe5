"""Texts from elsewhere as code in Markdown, where nothing in them is markup."""

GRAVE = "`"
APOSTROPHE = "'"


def as_code(text: str) -> str:
    """A text as code within a line: white space is one space, no character ends the code."""
    return f"`{' '.join(text.split()).replace(GRAVE, APOSTROPHE) or ' '}`"


def as_cell(text: str) -> str:
    """`as_code` in a table, of which no character ends the cell."""
    return as_code(text).replace("|", "\\|")
