"""Formats numbers for reports; None is shown as a dash."""

MIN_FIXED_SCORE = 5e-5
"""Smallest positive number that four decimals show."""
DASH = "\N{EN DASH}"


def format_count(value: int | None) -> str:
    """Format an integer with thousands separators: `12,345`."""
    return DASH if value is None else f"{value:,}"


def format_signed(value: int | None) -> str:
    """Format an integer with its sign: `+12`."""
    return DASH if value is None else f"{value:+,}".replace("-", "\N{MINUS SIGN}")


def format_percent(value: float | None, digits: int = 1) -> str:
    """Format a fraction as a percentage such as `34.2 %`; only exact values become 0 % or 100 %."""
    if value is None:
        return DASH
    least = 10**-digits
    if 0 < value * 100 < least:
        return f"< {least:.{digits}f} %"
    if 100 - least < value * 100 < 100:
        return f"> {100 - least:.{digits}f} %"
    return f"{100 * value:.{digits}f} %"


def format_decimal(value: float | None, digits: int = 3) -> str:
    """Format a number with a fixed number of decimals: `0.843`."""
    return DASH if value is None else f"{value:.{digits}f}"


def pluralize(number: int, one: str, many: str | None = None) -> str:
    """Format a count with its noun in the singular or plural: `1 page`, `2 pages`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def format_score(value: float) -> str:
    """Format a score with four decimals, or in scientific notation if it would round to 0."""
    return f"{value:.1e}" if 0 < abs(value) < MIN_FIXED_SCORE else f"{value:.4f}"
