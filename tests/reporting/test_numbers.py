"""Numbers as readers see them."""

import pytest

from builder.reporting import numbers

DASH = "\N{EN DASH}"


def test_missing_numbers_are_dashes() -> None:
    formats = (
        numbers.format_count,
        numbers.format_signed_integer,
        numbers.format_signed_decimal,
        numbers.format_percent,
        numbers.format_decimal,
    )
    assert [text(None) for text in formats] == [DASH] * 5


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567, "+1,234,567"), (-1234, "\N{MINUS SIGN}1,234"), (0, "+0")],
)
def test_signed(value: int, text: str) -> None:
    assert numbers.format_signed_integer(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "+0.2500"),
        (-0.25, "\N{MINUS SIGN}0.2500"),
        (0.0, "0.0000"),
        (-0.0, "0.0000"),
        (-0.00001, "0.0000"),
        (10.0, "+10.0000"),
    ],
)
def test_signed_decimals(value: float, text: str) -> None:
    assert numbers.format_signed_decimal(value) == text


def test_zero_has_no_sign() -> None:
    assert numbers.format_decimal(-0.0, 2) == "0.00"


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.00005, 2, "< 0.01 %"),
        (0.0001, 2, "0.01 %"),
        (0.9999, 2, "99.99 %"),
        (0.99995, 2, "> 99.99 %"),
        (0.005, 0, "< 1 %"),
        (0.991, 0, "> 99 %"),
        (0.5, 0, "50 %"),
        (0.001, 1, "0.1 %"),
        (0.999, 1, "99.9 %"),
        (0.0, 1, "0.0 %"),
        (1.0, 1, "100.0 %"),
        (-0.25, 1, "-25.0 %"),
        (1.25, 1, "125.0 %"),
    ],
)
def test_percentages(value: float, digits: int, text: str) -> None:
    assert numbers.format_percent(value, digits) == text
    assert numbers.format_percent(0.3421) == "34.2 %"


def test_decimals() -> None:
    assert numbers.format_decimal(0.84352) == "0.844"
    assert numbers.format_decimal(2, 1) == "2.0"


@pytest.mark.parametrize(
    ("number", "plural", "text"),
    [
        (0, None, "0 pages"),
        (1, None, "1 page"),
        (2, None, "2 pages"),
        (1234, None, "1,234 pages"),
        (1, "pages were", "1 page"),
        (3, "pages were", "3 pages were"),
    ],
)
def test_nouns(number: int, plural: str | None, text: str) -> None:
    assert numbers.pluralize(number, "page", plural) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0000"),
        (-0.0, "0.0000"),
        (0.00005, "0.0001"),
        (0.000049, "4.9e-05"),
        (1.0, "1.0000"),
        (-0.00001, "-1.0e-05"),
    ],
)
def test_scores(value: float, text: str) -> None:
    assert numbers.format_score(value) == text
