"""Explorer page that defines the terms used in the explorer."""

from builder.explore.glossary import TERMS
from builder.explore.page_request import PageRequest
from builder.explore.render import Page, render_macro
from builder.explore.source import CollectionSource


def terms_page(source: CollectionSource, request: PageRequest) -> Page:  # noqa: ARG001 - every page takes both
    """Build the page `/terms`, which contains the glossary."""
    lead = "Terms used in the explorer and in reports."
    return Page("Terms", lead, render_macro("terms", list(TERMS.items())), "/terms")
