"""Formats untrusted text as Markdown code spans, so that markup in it has no effect."""

GRAVE = "`"
APOSTROPHE = "'"


def code_span(text: str) -> str:
    """Return a text as a Markdown code span on a single line."""
    return f"`{' '.join(text.split()).replace(GRAVE, APOSTROPHE) or ' '}`"


def table_cell(text: str) -> str:
    """Return a text as a code span that is safe in a cell of a Markdown table."""
    return code_span(text).replace("|", "\\|")
