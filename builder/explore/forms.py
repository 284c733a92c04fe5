"""HTML filter forms whose values are stored in the URL, so that users can share filtered pages."""

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from builder.explore.page_request import PageRequest
from builder.explore.render import render_macro

ALL = ("", "all")
"""Option that disables the filter of a drop-down list."""


@dataclass(frozen=True)
class FilterField:
    """Input field of an HTML filter form.

    Args:
        name: Name of the URL parameter.
        label: Label of the field.
        value: Current value.
        options: Values and labels of a drop-down list; None for a text field.
    """

    name: str
    label: str
    value: str
    options: tuple[tuple[str, str], ...] | None = None


def create_search_field(name: str, label: str, value: str) -> FilterField:
    """Create a text field for a search term."""
    return FilterField(name, label, value)


def create_select_field(
    name: str, label: str, value: str, options: Iterable[tuple[str, str] | str]
) -> FilterField:
    """Create a drop-down list; an option without a label is labeled with its value."""
    pairs = ((option, option) if isinstance(option, str) else option for option in options)
    return FilterField(name, label, value, tuple(pairs))


def render_filter_form(request: PageRequest, *fields: FilterField, anchor: str = "") -> Markup:
    """Render an HTML form that reloads the current page with its field values as URL parameters.

    Args:
        request: Request for the current page.
        fields: Fields of the form.
        anchor: Id of the page section to jump to after submission; if set, URL parameters without a
            field are kept.
    """
    names = {field.name for field in fields}
    kept = {n: v for n, v in request.parameters.items() if anchor and n not in names}
    target = f"{request.path}#{anchor}" if anchor else request.path
    return render_macro("filters", target, fields, kept, bool(request.parameters) and not anchor)
