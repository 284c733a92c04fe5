"""What is refused before a page is parsed, at its bounds."""

import pytest

from builder.ingest.crawls.html_bounds import (
    MAX_ATTRIBUTES,
    MAX_DEPTH,
    has_too_many_attributes,
    is_nested_too_deeply,
)

ATTRIBUTES = (" a", "/a", " =", "\n<", ' a=">"', "a='>'", ' a="" b', "a=''>"[:-1])
AROUND = (("<p ", ">"), ("<p>Un texte.</p>" * 2000 + "<P ", "> et la suite"), ("<p ", ""))


@pytest.mark.parametrize(("before", "after"), AROUND)
@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_one_attribute_too_many(before: str, after: str, attribute: str) -> None:
    each = 2 if attribute.endswith("b") else 1
    most = before + attribute * (MAX_ATTRIBUTES // each) + after
    more = before + attribute * (MAX_ATTRIBUTES // each + 1) + after
    assert not has_too_many_attributes(most)
    assert has_too_many_attributes(more)


@pytest.mark.parametrize("filler", ["a b ", "<a b ", "i<a&&b ", "='", '="', "\n"])
def test_much_that_is_no_tag_is_let_pass(filler: str) -> None:
    page = f"<p>{filler * MAX_ATTRIBUTES}</p>" if "<" not in filler else filler * 40
    assert not has_too_many_attributes(page)


@pytest.mark.parametrize(("depth", "expected"), [(MAX_DEPTH, False), (MAX_DEPTH + 1, True)])
@pytest.mark.parametrize("closed", [0, 10_000])
def test_tags_within_tags(depth: int, closed: int, expected: bool) -> None:
    page = "<b>oui</b>" * closed + "<div>" * depth + "</div>" * depth
    assert is_nested_too_deeply(page) is expected
