"""Format untrusted text as Markdown code, so that it cannot contain markup."""

GRAVE = "`"
APOSTROPHE = "'"


def code_span(text: str) -> str:
    """Return a text as an inline code span, with white space collapsed and backticks replaced."""
    return f"`{' '.join(text.split()).replace(GRAVE, APOSTROPHE) or ' '}`"


def table_cell(text: str) -> str:
    """Return a text as a code span for a table cell, with pipe characters escaped."""
    return code_span(text).replace("|", "\\|")
