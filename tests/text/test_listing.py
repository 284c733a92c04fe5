"""Lists of names in notes."""

import pytest

from builder.text.listing import join_names


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, ""), (1, "a"), (2, "a; b"), (3, "a; b; and 1 more"), (1003, "a; b; and 1,001 more")],
)
def test_two_names_and_the_number_of_the_others(count: int, expected: str) -> None:
    assert join_names(["a", "b", *["c"] * (count - 2)][:count], limit=2) == expected


def test_ten_names_are_listed_by_default() -> None:
    names = list("abcdefghijk")
    assert join_names(names[:10], separator=", ") == "a, b, c, d, e, f, g, h, i, j"
    assert join_names(names, separator=", ") == "a, b, c, d, e, f, g, h, i, j, and 1 more"
