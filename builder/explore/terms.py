"""The page of terms."""

from builder.explore.asked import Asked
from builder.explore.glossary import TERMS
from builder.explore.render import Page, macro
from builder.explore.source import Source


def terms(source: Source, asked: Asked) -> Page:  # noqa: ARG001 - every page takes both
    """The page `/terms`."""
    lead = "The words of these pages, as the field uses them."
    return Page("Terms", lead, macro("terms", list(TERMS.items())), "/terms")
