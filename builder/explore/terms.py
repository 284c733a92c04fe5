"""The page that defines the terms of the explorer."""

from builder.explore.glossary import TERMS
from builder.explore.page_request import PageRequest
from builder.explore.render import Page, render_macro
from builder.explore.source import Source


def terms_page(source: Source, request: PageRequest) -> Page:  # noqa: ARG001 - every page takes both
    """Build the page `/terms`, the glossary."""
    lead = "Terms used in the explorer and in reports."
    return Page("Terms", lead, render_macro("terms", list(TERMS.items())), "/terms")
